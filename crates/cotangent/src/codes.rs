//! Collects the diagnostic codes of all stages, for `cotangent explain`.

use cotangent_base::Code;

cotangent_base::codes! {
    /// The compiler found no file for an imported module.
    ///
    /// `import scene.lights;` looks for `scene/lights.slang`; an underscore in the name also matches a hyphen in the file name.
    /// The compiler searches the folder of the importing file and the folders given with `-I`.
    E0901 NO_MODULE = "imported module not found";

    /// Modules import each other in a cycle, or a module imports itself.
    ///
    /// Move what several of them need into a separate module that imports none of them. The parts of one module, joined by
    /// `__include`, can use each other in any order.
    E0902 IMPORT_CYCLE = "cyclic import";

    /// A file that begins with `implementing m;` is a part of module `m`. Module `m` must name it with `__include`, and no other
    /// module can import it. A file that is included must begin with `implementing`.
    E0903 BAD_PART = "misplaced part of a module";
}

/// Whether a diagnostic of this code reports a bug in the compiler, not in the program.
pub fn is_internal(code: Code) -> bool {
    [cotangent_lower::codes::INTERNAL, cotangent_emit_naga::codes::INVALID].contains(&code)
}

/// Whether a diagnostic of this code is about a name on the command line, and not about the program.
pub fn is_about_names_asked_for(code: Code) -> bool {
    use cotangent_lower::codes::{BAD_CONFORMANCE, GENERIC_ROOT, NO_SUCH_FUNCTION};
    [NO_SUCH_FUNCTION, GENERIC_ROOT, BAD_CONFORMANCE].contains(&code)
}

/// The codes of every stage.
pub fn all() -> impl Iterator<Item = Code> {
    let stages = [
        CODES,
        cotangent_syntax::codes::CODES,
        cotangent_syntax::parser_codes::CODES,
        cotangent_sema::codes::CODES,
        cotangent_sema::derive::codes::CODES,
        cotangent_lower::codes::CODES,
        cotangent_autodiff::codes::CODES,
        cotangent_emit_c::codes::CODES,
        cotangent_emit_naga::codes::CODES,
        cotangent_emit_slang::codes::CODES,
        cotangent_interp::CODES,
        cotangent_jit::CODES,
    ];
    stages.into_iter().flatten().copied()
}

/// The code of that name, in either case, from any stage.
pub fn explain(name: &str) -> Option<Code> {
    all().find(|code| code.name.eq_ignore_ascii_case(name))
}
