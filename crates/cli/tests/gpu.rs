//! Programs in `tests/run`, run on a graphics processor, or Mesa's lavapipe in its place, and compared with the buffers in
//! their headers, as on the interpreter.
//!
//! By default every eighth program is taken; with `COTANGENT_CONFORM` set (`cargo xtask conform --target gpu`) all are. What a
//! GPU cannot run is listed in `tests/gpu.refused`, each program with what it is told; a program that is refused and not listed
//! is as wrong as one that is listed and not refused. What a GPU may compute otherwise (threads that race, a NaN that nobody
//! promised) is in `tests/gpu.differs`, with the reason. `BLESS=1` together with `COTANGENT_CONFORM` rewrites the list. Where there is
//! no Vulkan device the test says that it was skipped.

mod support;

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use support::expect::{arguments, compare};
use support::{bless, cotangent, folder, header, programs};

/// How a run ended.
enum End {
    Right,
    /// With the message.
    Refused(String),
    Wrong(String),
}

fn check(path: &Path) -> End {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let Ok(mut args) = arguments(path, &text) else { return End::Wrong("its header is no header".into()) };
    args.extend(["--backend".into(), "gpu".into()]);
    let output = cotangent(&args);
    let said = String::from_utf8_lossy(&output.stderr);
    match (output.status.code(), &header(&text, "trap")[..]) {
        (Some(1), _) => End::Refused(refusal(&said)),
        (Some(4), [message]) if said.contains(message) => End::Right,
        (Some(0), []) => {
            let result: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            match header(&text, "expect").iter().try_for_each(|line| compare(line, &result)) {
                Ok(()) => End::Right,
                Err(difference) => End::Wrong(difference),
            }
        }
        (code, _) => End::Wrong(format!("exit code {code:?}\n{said}")),
    }
}

/// The first line of what is said, without what Mesa has to say.
fn refusal(said: &str) -> String {
    let line = said.lines().find(|l| l.starts_with("error") && !l.contains("XDG_RUNTIME_DIR"));
    let line = line.unwrap_or_default();
    line.split_once(": ").map_or(line, |(_, message)| message).to_string()
}

/// The programs in a list, with what is said of them.
fn list(file: &str) -> BTreeMap<String, String> {
    let list = std::fs::read_to_string(folder(file)).unwrap_or_default();
    let entry = |line: &str| line.split_once(": ").map(|(name, why)| (name.to_string(), why.to_string()));
    list.lines().filter(|line| !line.starts_with('#')).filter_map(entry).collect()
}

fn write_list(refused: &BTreeMap<String, String>) {
    let head = "# Programs of tests/run that cannot run on a GPU, and what their users are told; see crates/cli/tests/gpu.rs.\n";
    let lines: String = refused.iter().map(|(name, why)| format!("{name}: {why}\n")).collect();
    std::fs::write(folder("gpu.refused"), head.to_string() + &lines).unwrap();
}

#[test]
fn a_gpu_computes_what_the_interpreter_does() {
    let devices = cotangent(&["devices".into()]);
    if !String::from_utf8_lossy(&devices.stdout).contains("Vulkan") {
        eprintln!("skipped: there is no Vulkan device");
        return;
    }
    let all = std::env::var("COTANGENT_CONFORM").is_ok();
    let (listed, differs, mut refused) = (list("gpu.refused"), list("gpu.differs"), BTreeMap::new());
    let (mut right, mut wrong) = (0, String::new());
    let root = folder("run");
    for path in programs(&root).into_iter().step_by(if all { 1 } else { 8 }) {
        let name = path.strip_prefix(&root).unwrap_or(&path).with_extension("").display().to_string();
        match check(&path) {
            End::Right if listed.contains_key(&name) && !bless() => {
                wrong += &format!("{name} runs, but is listed as refused\n");
            }
            End::Right => right += 1,
            End::Refused(why) => {
                if listed.get(&name) != Some(&why) && !bless() {
                    wrong += &format!("{name} is refused, but not so listed: {why}\n");
                }
                refused.insert(name, why);
            }
            End::Wrong(_) if differs.contains_key(&name) => {}
            End::Wrong(how) => wrong += &format!("{name}: {how}\n"),
        }
    }
    if bless() && all {
        write_list(&refused);
    }
    eprintln!("{right} programs are right, {} are refused", refused.len());
    assert!(wrong.is_empty(), "{wrong}");
    assert!(right > 20, "only {right} programs ran");
}
