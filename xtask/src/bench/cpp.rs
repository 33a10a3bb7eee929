//! Gradients as C++: ours, a peer's and those written by hand, built with the same flags.

use super::Figures;
use super::kernels::Kernel;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// What every form is built with.
pub const FLAGS: [&str; 4] = ["-std=c++17", "-O3", "-march=native", "-w"];

/// Instructions are counted without those that valgrind does not know.
const COUNTED: [&str; 4] = ["-std=c++17", "-O3", "-march=x86-64-v3", "-w"];

/// Whose C++ it is.
#[derive(Clone, Copy)]
pub enum Form<'a> {
    /// Of the compiler at this path, which is ours.
    Ours(&'a str),
    /// Of the compiler at this path, with slangc's command line.
    Peer(&'a str),
    /// That of `bench/hand`.
    Hand,
}

/// A program that runs a gradient.
pub struct Built {
    program: PathBuf,
    counted: PathBuf,
    folder: PathBuf,
    compile_ms: Option<f64>,
    gradient: usize,
}

/// Builds a gradient. The folder has `numbers`, which it is given.
pub fn build(root: &Path, folder: &Path, kernel: &Kernel, form: Form<'_>) -> Result<Built, String> {
    let name = match form {
        Form::Ours(_) => "ours",
        Form::Peer(_) => "peer",
        Form::Hand => "hand",
    };
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let (compile_ms, header) = match form {
        Form::Ours(compiler) | Form::Peer(compiler) => {
            let header = folder.join("kernel.h");
            let is_peer = matches!(form, Form::Peer(_));
            (Some(compile_ms(root, kernel, compiler, is_peer, "cpp", &header)?), header)
        }
        Form::Hand => (None, root.join(format!("bench/hand/{}.h", kernel.hand))),
    };
    let driver = folder.join("driver.cpp");
    std::fs::write(&driver, self::driver(kernel, form, &header)).map_err(|e| e.to_string())?;
    let build = |flags: &[&str], to: &str| {
        let program = folder.join(to);
        let mut command = Command::new("g++");
        command.args(flags);
        if let Form::Hand = form {
            command.args(kernel.defines.iter().map(|define| format!("-D{define}")));
        }
        let built = command.arg("-o").args([&program, &driver]).output().map_err(|e| e.to_string())?;
        let errors = String::from_utf8_lossy(&built.stderr);
        let first = || errors.lines().take(5).collect::<Vec<_>>().join("\n");
        if built.status.success() { Ok(program) } else { Err(first()) }
    };
    let (program, counted) = (build(&FLAGS, "driver")?, build(&COUNTED, "counted")?);
    Ok(Built { program, counted, folder, compile_ms, gradient: kernel.gradient })
}

/// The least time that a compiler takes for a target.
pub fn compile_ms(
    root: &Path,
    kernel: &Kernel,
    compiler: &str,
    is_peer: bool,
    target: &str,
    output: &Path,
) -> Result<f64, String> {
    let source = root.join(format!("bench/kernels/{}.slang", kernel.file));
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let mut command = Command::new(compiler);
        match is_peer {
            // Without what the kernels say to go round, slangc's gradient of one of them writes past its array.
            true => command
                .arg(&source)
                .args(["-target", target, "-entry", "gradMain", "-stage", "compute", "-DSLANGC_WORKAROUND"])
                .arg("-o"),
            false => command
                .arg("compile")
                .arg(&source)
                .args(["--target", target, "--entry", "gradMain"])
                .arg("-o"),
        };
        command.arg(output).args(kernel.defines.iter().flat_map(|define| ["-D", define]));
        let start = Instant::now();
        let ended = command.output().map_err(|e| e.to_string())?;
        best = best.min(start.elapsed().as_secs_f64() * 1000.0);
        if !ended.status.success() {
            let errors = String::from_utf8_lossy(&ended.stderr);
            return Err(errors.lines().next().unwrap_or("the compiler failed").to_string());
        }
    }
    Ok(best)
}

impl Built {
    /// Runs the gradients. Keeps the least time of this and earlier runs in the figures.
    pub fn measure(&self, figures: &mut Figures) -> Result<(), String> {
        let values = self.folder.join("gradient");
        // What slangc keeps of a long loop does not fit on a stack of the usual size.
        let output = Command::new("sh")
            .args(["-c", "ulimit -s unlimited; exec \"$0\" time \"$1\" \"$2\""])
            .arg(&self.program)
            .args([&self.folder.join("../numbers"), &values])
            .output()
            .map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        let ns = text.trim().parse().map_err(|_| format!("it ended with {}", output.status))?;
        figures.ns = figures.ns.min(ns);
        figures.compile_ms = self.compile_ms;
        let bytes = std::fs::read(&values).map_err(|e| e.to_string())?;
        let float = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        figures.gradient = bytes.chunks_exact(4).map(float).collect();
        if figures.gradient.is_empty() || !figures.gradient.len().is_multiple_of(self.gradient) {
            return Err("it wrote no gradients".into());
        }
        Ok(())
    }

    /// Instructions per gradient, where callgrind is installed: those of two groups without those of one.
    pub fn instructions(&self) -> Option<u64> {
        let count = |groups: &str| {
            let output = Command::new("valgrind")
                .args([
                    "--tool=callgrind",
                    "--callgrind-out-file=/dev/null",
                    "--toggle-collect=run(Raw*, unsigned int)",
                    "--main-stacksize=268435456",
                ])
                .arg(&self.counted)
                .arg(groups)
                .arg(self.folder.join("../numbers"))
                .output()
                .ok()?;
            let text = String::from_utf8(output.stderr).ok().filter(|_| output.status.success())?;
            text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse::<u64>().ok())
        };
        Some(count("2")?.saturating_sub(count("1")?) / super::kernels::THREADS as u64)
    }
}

/// A program that runs the kernel on the numbers of a file: `time` prints nanoseconds per gradient and writes the gradients to
/// another file; a number runs so many groups.
fn driver(kernel: &Kernel, form: Form<'_>, header: &Path) -> String {
    let Kernel { file, input, gradient, .. } = kernel;
    let call = match form {
        Form::Peer(_) => "ComputeVaryingInput in = {}; in.endGroupID.x = groups; in.endGroupID.y = 1; in.endGroupID.z = 1; gradMain(&in, nullptr, params);".to_string(),
        Form::Ours(_) => format!(
            "{file}::gradMain(*reinterpret_cast<{file}::Params*>(params), ct::Groups{{{{0, 0, 0}}, {{groups, 1, 1}}}});"
        ),
        Form::Hand => format!(
            "for (std::size_t i = 0; i < groups * 64; i++) gradient(params[0].data + i * {input}, params[2].data + i * {gradient});"
        ),
    };
    let groups = kernel.groups();
    format!(
        r#"#include "{header}"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
struct Raw {{ float* data; std::size_t count; }};
__attribute__((noinline)) void run(Raw* params, unsigned groups) {{ {call} }}
int main(int, char** args) {{
    const bool times = args[1][0] == 't';
    const unsigned groups = times ? {groups} : std::atoi(args[1]), threads = groups * 64;
    std::vector<float> in(threads * {input}), out(threads), grad(threads * {gradient});
    std::FILE* numbers = std::fopen(args[2], "rb");
    if (!numbers || std::fread(in.data(), sizeof(float), in.size(), numbers) != in.size()) return 1;
    Raw params[3] = {{{{in.data(), in.size()}}, {{out.data(), out.size()}}, {{grad.data(), grad.size()}}}};
    if (!times) {{ run(params, groups); return 0; }}
    double best = 1e300, total = 0;
    for (int i = 0; i < 3 || total < 1e8; i++) {{
        std::memset(grad.data(), 0, grad.size() * sizeof(float));
        auto start = std::chrono::steady_clock::now();
        run(params, groups);
        double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
        total += ns;
        if (ns < best) best = ns;
    }}
    std::printf("%.2f\n", best / threads);
    std::FILE* file = std::fopen(args[3], "wb");
    std::fwrite(grad.data(), sizeof(float), grad.size(), file);
    std::fclose(file);
}}
"#,
        header = header.display()
    )
}
