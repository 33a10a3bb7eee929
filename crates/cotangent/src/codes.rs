//! Every diagnostic code there is.

use cotangent_base::Code;

cotangent_base::codes! {
    /// An `import` names a module for which no file was found.
    ///
    /// `import scene.lights;` looks for `scene/lights.slang`, and an underscore in the name may be a hyphen in
    /// the file's. The file is searched beside the importing one and in the directories given with `-I`.
    E0901 NO_MODULE = "imported module not found";

    /// Modules import each other in a circle, or one imports itself.
    ///
    /// Move what several of them need into a module of its own, which imports none of them. Parts of one module, which are
    /// joined by `__include`, see each other in any order.
    E0902 IMPORT_CYCLE = "modules import each other";

    /// A file that begins with `implementing m;` is a part of module `m`: `m` names it with `__include`, and nobody
    /// imports it. A file that is included says so in that way.
    E0903 BAD_PART = "a part of a module out of place";
}

/// Whether a diagnostic of this code is a fault of the compiler's, not of the program's.
pub fn is_internal(code: Code) -> bool {
    [cotangent_lower::codes::INTERNAL, cotangent_emit_naga::codes::INVALID].contains(&code)
}

/// Whether a diagnostic of this code is about a function or conformance that was asked for by name, and not about the program.
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
        cotangent_interp::CODES,
    ];
    stages.into_iter().flatten().copied()
}

/// The code of that name, in either case, from any stage.
pub fn explain(name: &str) -> Option<Code> {
    all().find(|code| code.name.eq_ignore_ascii_case(name))
}
