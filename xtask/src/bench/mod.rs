//! How fast gradients are: native code in process, our C++, a peer's C++ and adjoints written by hand, side by side in one run.
//!
//! For each kernel of `bench/kernels` and each form: time per gradient on one core (the best of several runs, which take turns, since
//! a machine is not always equally fast), the same as a share of the adjoint by hand, instructions (counted by callgrind, where it is
//! installed), and how long it took to compile. Besides, the bytes that the backward pass stores, and how long C++ and WGSL take
//! from a cold start. All gradients are compared number by number; if they disagree, or something fails, so does the command.

mod cpp;
mod kernels;
mod native;

use cotangent::jit::LaneChoice;
use cpp::{Built, Form};
use kernels::{KERNELS, Kernel};
use native::Native;
use std::path::Path;
use std::process::{Command, ExitCode};

/// How often each form takes its turn.
const TURNS: usize = 5;

/// What was measured of one form.
pub struct Figures {
    compile_ms: Option<f64>,
    ns: f64,
    instructions: Option<u64>,
    gradient: Vec<f32>,
}

impl Default for Figures {
    fn default() -> Self {
        Figures { compile_ms: None, ns: f64::INFINITY, instructions: None, gradient: vec![] }
    }
}

/// What to measure.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Options {
    /// The path of a compiler with slangc's command line.
    pub peer: Option<String>,
    /// Only kernels whose name contains this.
    pub only: String,
    /// Whether to take the build at hand, though it may be one for debugging, and to count no instructions.
    pub is_quick: bool,
}

/// Reads `--peer SLANGC --only NAME --quick`, in any order.
pub fn options(mut args: &[&str]) -> Option<Options> {
    let mut options = Options::default();
    while !args.is_empty() {
        args = match args {
            ["--peer", peer, rest @ ..] => {
                options.peer = Some(peer.to_string());
                rest
            }
            ["--only", only, rest @ ..] => {
                options.only = only.to_string();
                rest
            }
            ["--quick", rest @ ..] => {
                options.is_quick = true;
                rest
            }
            _ => return None,
        };
    }
    Some(options)
}

/// Measures and prints tables. A build for debugging builds one for release, which does it, unless there is no time for that: native
/// code is the same in both, but compile times are not.
pub fn print(root: &Path, options: &Options) -> ExitCode {
    if cfg!(debug_assertions) && !options.is_quick {
        return as_release(root);
    }
    let Some(ours) = compiler(root, options.is_quick) else { return ExitCode::FAILURE };
    let folder = std::env::temp_dir().join(format!("cotangent-bench-{}", std::process::id()));
    println!("C++ by g++ {}; per gradient, on one core if nothing else is said", cpp::FLAGS.join(" "));
    let mut fine = true;
    for kernel in KERNELS.iter().filter(|kernel| kernel.name().contains(&options.only)) {
        let compared = std::fs::create_dir_all(&folder)
            .map_err(|e| e.to_string())
            .and_then(|()| compare(root, &folder, kernel, &ours, options));
        let _ = std::fs::remove_dir_all(&folder);
        match compared {
            Ok(agree) => fine &= agree,
            Err(error) => {
                println!("{} failed: {error}", kernel.name());
                fine = false;
            }
        }
    }
    if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the same command in the release profile.
fn as_release(root: &Path) -> ExitCode {
    let mut command = Command::new("cargo");
    command.args(["run", "--quiet", "--release", "--package", "xtask", "--"]).current_dir(root);
    let ended = command.args(std::env::args().skip(1)).status();
    if ended.is_ok_and(|status| status.success()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The path of the command beside this one, which is built first unless the build at hand is to be taken.
fn compiler(root: &Path, is_quick: bool) -> Option<String> {
    let mut command = Command::new("cargo");
    command.args(["build", "--quiet", "--release", "--bin", "cotangent"]).current_dir(root);
    let is_built = is_quick || command.status().is_ok_and(|status| status.success());
    let beside = std::env::current_exe().ok()?.with_file_name("cotangent");
    is_built.then(|| beside.display().to_string())
}

/// A form of a gradient.
struct Row<'n> {
    name: String,
    runs: Runs<'n>,
    figures: Figures,
}

/// How it runs.
enum Runs<'n> {
    Cpp(Built),
    Native(&'n Native, Box<cotangent::jit::Program>, usize),
}

impl Row<'_> {
    fn measure(&mut self) -> Result<(), String> {
        match &self.runs {
            Runs::Cpp(built) => built.measure(&mut self.figures),
            Runs::Native(native, program, cores) => native.measure(program, *cores, &mut self.figures),
        }
    }
}

/// Measures all forms of a kernel. Says whether their gradients agree.
fn compare(
    root: &Path,
    folder: &Path,
    kernel: &Kernel,
    ours: &str,
    options: &Options,
) -> Result<bool, String> {
    let numbers = kernel.numbers();
    let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    std::fs::write(folder.join("numbers"), bytes).map_err(|e| e.to_string())?;
    let native = Native::new(root, kernel, &numbers)?;
    let mut rows = Vec::new();
    let mut forms = vec![("by hand", Form::Hand), ("our C++", Form::Ours(ours))];
    forms.extend(options.peer.as_deref().map(|peer| ("peer's C++", Form::Peer(peer))));
    for (name, form) in forms {
        let runs = Runs::Cpp(cpp::build(root, folder, kernel, form)?);
        rows.push(Row { name: name.into(), runs, figures: Figures::default() });
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for (name, choice, cores) in [
        ("native, scalar", LaneChoice::Never, 1),
        ("native, lanes", LaneChoice::Always, 1),
        ("native", LaneChoice::Auto, 1),
        ("native", LaneChoice::Auto, cores),
    ] {
        let mut figures = Figures::default();
        let program = native.compile(choice, &mut figures)?;
        let refused = program.no_lanes().map(|why| why.what.clone());
        if let (LaneChoice::Always, Some(why)) = (choice, refused) {
            println!("{} does not run in lanes: {why}", kernel.name());
            continue;
        }
        let chosen = if program.lanes() > 1 { "lanes" } else { "scalar" };
        let name = match choice {
            LaneChoice::Auto if cores > 1 => format!("native, {cores} cores"),
            LaneChoice::Auto => format!("native ({chosen})"),
            LaneChoice::Never | LaneChoice::Always => name.to_string(),
        };
        rows.push(Row { name, runs: Runs::Native(&native, Box::new(program), cores), figures });
    }
    for _ in 0..TURNS {
        rows.iter_mut().try_for_each(Row::measure)?;
    }
    if !options.is_quick {
        for row in &mut rows {
            if let Runs::Cpp(built) = &row.runs {
                row.figures.instructions = built.instructions();
            }
        }
    }
    let wgsl = |compiler: &str, is_peer: bool| {
        cpp::compile_ms(root, kernel, compiler, is_peer, "wgsl", &folder.join("kernel.wgsl")).ok()
    };
    let wgsl = [wgsl(ours, false), options.peer.as_deref().and_then(|peer| wgsl(peer, true))];
    let context = context(root, ours, kernel);
    Ok(print_kernel(kernel, context, wgsl, &rows))
}

fn print_kernel(kernel: &Kernel, context: Option<u64>, wgsl: [Option<f64>; 2], rows: &[Row<'_>]) -> bool {
    let ms = |time: Option<f64>| time.map_or("-".to_string(), |ms| format!("{ms:.1}"));
    let count = |n: Option<u64>| n.map_or("-".to_string(), |n| n.to_string());
    println!(
        "\n{}: stores {} bytes; WGSL in {} ms, peer {} ms",
        kernel.name(),
        count(context),
        ms(wgsl[0]),
        ms(wgsl[1])
    );
    println!(
        "  {:<18} {:>10} {:>8} {:>13} {:>11}  gradients",
        "form", "ns", "by hand", "instructions", "compile ms"
    );
    let hand = &rows[0].figures;
    let mut fine = true;
    for row in rows {
        let figures = &row.figures;
        let verdict = verdict(figures, hand);
        fine &= verdict.is_ok();
        println!(
            "  {:<18} {:>10.1} {:>8.2} {:>13} {:>11}  {}",
            row.name,
            figures.ns,
            figures.ns / hand.ns,
            count(figures.instructions),
            ms(figures.compile_ms),
            verdict.unwrap_or_else(|why| why),
        );
    }
    fine
}

/// Whether two gradients are the same, to three digits of the largest number.
fn verdict(mine: &Figures, other: &Figures) -> Result<String, String> {
    let largest = mine.gradient.iter().fold(0.0f32, |most, x| most.max(x.abs()));
    let apart = |(a, b): (&f32, &f32)| (a - b).is_nan() || (a - b).abs() > 1e-3 * largest;
    let pairs = || mine.gradient.iter().zip(&other.gradient);
    match pairs().position(apart) {
        _ if mine.gradient.len() != other.gradient.len() => Err("differ in length".into()),
        Some(at) => Err(format!("differ: {} / {} at {at}", mine.gradient[at], other.gradient[at])),
        None => Ok("agree".into()),
    }
}

/// How many bytes the backward pass stores.
fn context(root: &Path, ours: &str, kernel: &Kernel) -> Option<u64> {
    let file = format!("bench/kernels/{}.slang", kernel.file);
    let mut command = Command::new(ours);
    command.current_dir(root).args(["report", &file, "--fn", kernel.function]);
    command.args(kernel.defines.iter().flat_map(|define| ["-D", define]));
    let output = command.output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split("stores ").nth(1)?.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_in_any_order() {
        let expected = Options { peer: Some("slangc".into()), only: "k3".into(), is_quick: true };
        assert_eq!(options(&["--quick", "--only", "k3", "--peer", "slangc"]), Some(expected));
        assert_eq!(options(&["--peer"]), None);
    }
}
