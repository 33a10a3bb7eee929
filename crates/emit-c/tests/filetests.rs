//! IR in, C++ out, without what stands before the first function.

use cotangent_emit_c::{Options, cpp};
use cotangent_filetest::{Case, Pass, run};

fn main() {
    let emit = |case: &mut Case| {
        let options = Options { name: "test", file: "", place: &|_| None, lines: false };
        match cpp(&case.module, &Default::default(), options) {
            Ok(text) => functions(&text),
            Err(diagnostic) => format!("{}: {}", diagnostic.code.name, diagnostic.message),
        }
    };
    run("tests/filetests", &[Pass::new("cpp", emit)]);
}

/// The definitions of functions.
fn functions(text: &str) -> String {
    let mut out = Vec::new();
    for line in text.lines().skip_while(|l| !l.starts_with("struct Thread")) {
        let definition = line.starts_with("static ") && line.ends_with('{');
        if definition || (!out.is_empty() && !line.starts_with("} // namespace")) {
            out.push(line);
        }
    }
    out.join("\n").trim_end().to_string() + "\n"
}
