//! IR in, C++ or CUDA out, without what stands before the first function.

use cotangent_emit_c::{Language, Options, emit};
use cotangent_filetest::{Case, Pass, run};

fn main() {
    let cpp = Pass::new("cpp", |case| in_language(Language::Cpp, case));
    let cuda = Pass::new("cuda", |case| in_language(Language::Cuda, case));
    run("tests/filetests", &[cpp, cuda]);
}

fn in_language(language: Language, case: &mut Case) -> String {
    let options = Options { language, name: "test", file: "", place: &|_| None, lines: false };
    match emit(&case.module, &Default::default(), options) {
        Ok(text) => functions(&text),
        Err(diagnostic) => format!("{}: {}", diagnostic.code.name, diagnostic.message),
    }
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
