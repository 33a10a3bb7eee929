//! Programs in `tests/run`, run on a graphics processor, or Mesa's lavapipe in its place, as WGSL and as SPIR-V, and compared
//! with the buffers in their headers, as on the interpreter.
//!
//! By default every eighth program is taken; with `COTANGENT_CONFORM` set (`cargo xtask conform --target gpu`) all are. What a
//! GPU cannot run is listed in `tests/gpu.refused` for WGSL and in `tests/spirv.refused` for SPIR-V, each program with what it is
//! told; a program that is refused and not listed is as wrong as one that is listed and not refused. What a GPU may compute
//! otherwise (threads that race, a NaN that nobody promised) is in `tests/gpu.differs` and `tests/spirv.differs`, with the reason;
//! such a program must run to its end all the same. `BLESS=1` together with `COTANGENT_CONFORM` rewrites the lists of what is
//! refused. Where there is no Vulkan device the test says that it was skipped.

mod support;

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use support::expect::{arguments, compare};
use support::folder::Folder;
use support::lists::{list, write_list};
use support::{bless, cotangent, folder, header, programs};

/// How a run ended.
enum End {
    Right,
    /// With the message.
    Refused(String),
    /// It ran to its end, but not to the expected one.
    Different(String),
    Wrong(String),
}

fn check(path: &Path, target: &str) -> End {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let Ok(mut args) = arguments(path, &text) else { return End::Wrong("its header is no header".into()) };
    args.extend(["--backend", "gpu", "--target", target].map(String::from));
    let output = cotangent(&args);
    let said = String::from_utf8_lossy(&output.stderr);
    match (output.status.code(), &header(&text, "trap")[..]) {
        // 1 is a mistake of the program: it calls what says that it is for another target.
        (Some(1 | 5), _) => End::Refused(refusal(&said)),
        (Some(4), [message]) if said.contains(message) => End::Right,
        (Some(0), []) => {
            let result: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            match header(&text, "expect").iter().try_for_each(|line| compare(line, &result)) {
                Ok(()) => End::Right,
                Err(difference) => End::Different(difference),
            }
        }
        (Some(0), [message, ..]) => End::Different(format!("it does not stop: {message}")),
        (code, _) => End::Wrong(format!("exit code {code:?}\n{said}")),
    }
}

/// The message of the first error, as JSON or as text, without what Mesa has to say.
fn refusal(said: &str) -> String {
    let message = |line: &str| {
        if let Ok(line) = serde_json::from_str::<Value>(line) {
            return (line["severity"] == "error")
                .then(|| line["message"].as_str().map(String::from))
                .flatten();
        }
        let text = line.strip_prefix("error").filter(|_| !line.contains("XDG_RUNTIME_DIR"))?;
        Some(text.split_once(": ")?.1.to_string())
    };
    said.lines().find_map(message).unwrap_or_default()
}

/// Whether there is a device to run on.
fn device() -> bool {
    let devices = cotangent(&["devices".into()]);
    let found = String::from_utf8_lossy(&devices.stdout).contains("Vulkan");
    if !found {
        eprintln!("skipped: there is no Vulkan device");
    }
    found
}

/// Runs a program on the interpreter and on a GPU, which must end alike: gives what was printed and what was said.
fn both(name: &str, program: &str, sets: &[&str]) -> (String, String) {
    let folder = Folder::new(&format!("gpu-{name}"));
    let mut args = vec!["run".to_string(), folder.file("program.slang", program)];
    args.extend(sets.iter().flat_map(|set| ["--set".to_string(), set.to_string()]));
    let run = |args: &[String]| {
        let output = cotangent(args);
        let said = String::from_utf8_lossy(&output.stderr);
        let said: String = said.lines().filter(|l| !l.contains("XDG_RUNTIME_DIR")).collect();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned(), said)
    };
    let here = run(&args);
    args.extend(["--backend".into(), "gpu".into()]);
    let there = run(&args);
    assert_eq!(here, there, "{name}");
    (there.1, there.2)
}

#[test]
fn a_buffer_may_be_called_as_ours() {
    if !device() {
        return;
    }
    let program = "RWStructuredBuffer<float> first_failure; StructuredBuffer<int> at;
        [numthreads(1, 1, 1)] void main() { first_failure[at[0]] = 5; }";
    let (printed, _) = both("flag", program, &["first_failure=f32[1, 2, 3]", "at=i32[1]"]);
    assert_eq!(printed, "first_failure = f32[1, 5, 3]\n");
}

#[test]
fn a_buffer_may_end_within_a_word() {
    if !device() {
        return;
    }
    let program = "StructuredBuffer<half> h; StructuredBuffer<int> at; RWStructuredBuffer<float> result;
        [numthreads(1, 1, 1)] void main()
        { uint n, s; h.GetDimensions(n, s); result[0] = h[at[0]]; result[1] = n; }";
    let run = |at: &str| both("half", program, &["h=f16[1, 2, 3]", at, "result=zeros(f32, 2)"]);
    assert_eq!(run("at=i32[2]").0, "result = f32[3, 3]\n");
    let (_, said) = run("at=i32[3]");
    assert!(said.contains("the index is 3, the length 3"), "{said}");
}

#[test]
fn a_large_index_is_told_as_it_is() {
    if !device() {
        return;
    }
    let run = |scalar: &str, at: &str| {
        let program = format!(
            "StructuredBuffer<{scalar}> at; RWStructuredBuffer<float> result;
            [numthreads(1, 1, 1)] void main() {{ result[at[0]] = 1; }}"
        );
        both(scalar, &program, &[at, "result=zeros(f32, 2)"]).1
    };
    let said = run("uint", "at=u32[3000000000]");
    assert!(said.contains("the index is 3000000000,"), "{said}");
    let said = run("int", "at=i32[-5]");
    assert!(said.contains("the index is -5,"), "{said}");
}

/// llvmpipe runs 8 lanes at once, also where a group has fewer threads. What such a lane does in a loop must not end the loops of the
/// threads beside it.
#[test]
fn lanes_without_a_thread_use_up_no_iterations() {
    if !device() {
        return;
    }
    let first = [
        ("3, 1, 1", "int step = id.x < 3 ? 1 : 0; for (int i = 0; i < 10; i += step) s += 1;"),
        ("3, 1, 1", "int step = o[id.x]; [MaxIters(100)] while (s < 10) s += step;"),
        ("3, 1, 1", "int step = int(id.x) - 3; while (s > -10) s += step;"),
        ("3, 1, 1", "int step = 3 - int(at), k = 0; while (k != 6) { k += step; s++; }"),
        ("3, 2, 1", "int step = 3 - int(id.x), k = 0; while (k != 6) { k += step; s++; }"),
        ("3, 1, 2", "int k = 0; do { k += at < 6 ? 1 : 0; s++; } while (k < 6);"),
        ("1, 1, 1", "int old = 0; while (true) { InterlockedAdd(o[3], 1, old); if (old >= 3) break; s++; }"),
        ("1, 4, 1", "int old = 0; do { InterlockedAdd(o[4 + id.y], 1, old); s++; } while (old < 2);"),
        ("1, 2, 2", "int old = 0; do { InterlockedAdd(o[4 + at], 1, old); s++; } while (old < 2);"),
        ("5, 1, 1", "for (int i = 0; ; i++) { if (id.x < 5 && i == 3) break; s += turns(int(id.x)); }"),
    ];
    for (threads, first) in first {
        let program = format!(
            "RWStructuredBuffer<int> o; RWStructuredBuffer<int> counts;
            [noinline] int turns(int x) {{ int n = 0; while (x < 5) {{ x++; n++; }} return n; }}
            [numthreads({threads})] void main(uint3 id : SV_DispatchThreadID, uint at : SV_GroupIndex)
            {{
                int s = 0;
                {first}
                int c = 0;
                for (int i = 0; i < 10 * o[0]; i++) c += o[0];
                counts[2 * at] = s;
                counts[2 * at + 1] = c;
            }}"
        );
        let folder = Folder::new("gpu-idle");
        let path = folder.file("program.slang", &program);
        let sets = ["--set", "o=i32[1, 1, 1, 0, 0, 0, 0, 0]", "--set", "counts=zeros(i32, 16)"];
        let run = |more: &[&str]| {
            let all = ["run", &path].into_iter().chain(sets).chain(more.iter().copied());
            let output = cotangent(&all.map(String::from).collect::<Vec<_>>());
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let here = run(&[]);
        assert!(here.contains(", 10,"), "{here}");
        for target in ["wgsl", "spirv"] {
            assert_eq!(here, run(&["--backend", "gpu", "--target", target]), "{first} {target}");
        }
    }
}

/// Where lanes without a thread cannot leave, and where all loops together may be too long, a note says so.
#[test]
fn llvmpipe_warns_of_loops_that_may_end_early() {
    let devices = cotangent(&["devices".into()]);
    if !String::from_utf8_lossy(&devices.stdout).contains("llvmpipe") {
        eprintln!("skipped: there is no llvmpipe");
        return;
    }
    let said = |threads: u32, body: &str| {
        let folder = Folder::new("gpu-warns");
        let program =
            format!("RWStructuredBuffer<int> o; [numthreads({threads}, 1, 1)] void main() {{ {body} }}");
        let path = folder.file("program.slang", &program);
        let all = ["run", &path, "--set", "o=i32[1, 2]", "--backend", "gpu", "--device", "llvmpipe"];
        String::from_utf8_lossy(&cotangent(&all.map(String::from)).stderr).into_owned()
    };
    let (long, lanes) = ("65,535 iterations", "lanes without a thread");
    let short = "for (int i = 0; i < 10; i++) o[0] *= o[1];";
    let wait = "GroupMemoryBarrierWithGroupSync();";
    assert!(!said(16, short).contains("note"));
    assert!(!said(3, short).contains("note"));
    assert!(said(3, &format!("{short} {wait}")).contains(lanes));
    assert!(!said(16, &format!("{short} {wait}")).contains("note"));
    let two = "for (int i = 0; i < 40000; i++) o[0] *= o[1]; for (int i = 0; i < 40000; i++) o[1] *= o[0];";
    assert!(said(16, two).contains(long));
    let nested = "for (int i = 0; i < 300; i++) for (int j = 0; j < 300; j++) o[0] *= o[1] + j;";
    assert!(said(16, nested).contains(long));
}

#[test]
fn a_program_that_does_not_end_is_left_after_its_time() {
    if !device() {
        return;
    }
    let folder = Folder::new("gpu-endless");
    // No loop may be long: lavapipe ends it. So there are many threads.
    let program = "RWStructuredBuffer<int> o;
        [numthreads(64, 1, 1)] void main(uint3 id : SV_DispatchThreadID)
        {
            int x = o[0];
            for (int i = 0; i < 60000; i++)
                x = x * 3 + (i ^ int(id.x));
            o[id.x % 4] = x;
        }";
    let file = folder.file("endless.slang", program);
    let args = [
        "run",
        &file,
        "--set",
        "o=i32[1, 2, 3, 4]",
        "--backend",
        "gpu",
        "--groups",
        "60000,1000",
        "--max-seconds",
        "1",
    ];
    let start = std::time::Instant::now();
    let output = cotangent(&args.map(String::from));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("did not finish within 1 seconds"), "{said}");
    // It would run for hours.
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn loops_that_llvmpipe_would_cut_short_are_noted() {
    let devices = cotangent(&["devices".into()]);
    if !String::from_utf8_lossy(&devices.stdout).starts_with("0  llvmpipe") {
        eprintln!("skipped: the first device is not llvmpipe");
        return;
    }
    let folder = Folder::new("gpu-long");
    let run = |name: &str, count: &str| {
        let program = format!(
            "RWStructuredBuffer<int> o;
            [numthreads(1, 1, 1)] void main() {{ for (int i = 0; i < {count}; i++) o[0] = o[0] * 3 + i; }}"
        );
        let file = folder.file(name, program);
        let output = cotangent(&["run", &file, "--set", "o=i32[7]", "--backend", "gpu"].map(String::from));
        String::from_utf8_lossy(&output.stderr).contains("65,535")
    };
    assert!(run("long.slang", "70000"));
    assert!(run("unknown.slang", "o[0]"));
    assert!(!run("short.slang", "9000"));
}

#[test]
fn a_gpu_computes_what_the_interpreter_does() {
    compare_all("wgsl", "gpu");
}

#[test]
fn spirv_computes_what_the_interpreter_does() {
    compare_all("spirv", "spirv");
}

/// Runs the programs in the language of `target`; what it cannot and what differs is in the lists of that name.
fn compare_all(target: &str, lists: &str) {
    if !device() {
        return;
    }
    let all = std::env::var("COTANGENT_CONFORM").is_ok();
    let [refusals, differences] = ["refused", "differs"].map(|list| format!("{lists}.{list}"));
    let (listed, differs, mut refused) = (list(&refusals), list(&differences), BTreeMap::new());
    let (mut right, mut wrong) = (0, String::new());
    let root = folder("run");
    for path in programs(&root).into_iter().step_by(if all { 1 } else { 8 }) {
        let name = path.strip_prefix(&root).unwrap_or(&path).with_extension("").display().to_string();
        match check(&path, target) {
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
            End::Different(_) if differs.contains_key(&name) => {}
            End::Different(how) | End::Wrong(how) => wrong += &format!("{name}: {how}\n"),
        }
    }
    if bless() && all {
        write_list(&refusals, &refused, "run on a GPU", "gpu");
    }
    eprintln!("{right} programs are right, {} are refused", refused.len());
    assert!(wrong.is_empty(), "{wrong}");
    assert!(right > 20, "only {right} programs ran");
}
