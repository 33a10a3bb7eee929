//! Attributes and names that the checker handles specially.

use cotangent_base::Symbol;
use cotangent_syntax::ast::{Attribute, ExprKind, Modifier, ModifierKind};

/// The operation a bodiless function of the library stands for.
pub(crate) const INTRINSIC: &str = "__intrinsic";
/// What a structure of the library is to the compiler.
pub(crate) const MAGIC: &str = "__magic";
/// A declaration of the library that the language speaks of.
pub(crate) const LANG: &str = "__lang";
/// The intrinsic of accessors that denote an element as a place.
pub(crate) const ELEMENT: &str = "element";
/// The method of a type of the library that reads an element, for interfaces that ask for a subscript.
pub(crate) const ELEMENT_GET: &str = "__elementGet";
/// The method that writes one.
pub(crate) const ELEMENT_SET: &str = "__elementSet";
/// The name under which constructors are found.
pub(crate) const INIT: &str = "__init";
/// What marks constructors that convert implicitly, with the cost of doing so.
pub(crate) const IMPLICIT: &str = "__implicit_conversion";
/// The name under which subscripts are found.
pub(crate) const SUBSCRIPT: &str = "__subscript";

/// The attribute of that name. Names of attributes are compared without regard to case, as `[NumThreads]` is common.
pub(crate) fn find<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a Attribute> {
    all(attributes, name).next()
}

/// All attributes of that name.
pub(crate) fn all<'a>(attributes: &'a [Attribute], name: &str) -> impl Iterator<Item = &'a Attribute> {
    attributes.iter().filter(move |a| a.name.name.as_str().eq_ignore_ascii_case(name))
}

/// Whether there is an attribute of that name.
pub(crate) fn has(attributes: &[Attribute], name: &str) -> bool {
    find(attributes, name).is_some()
}

/// The string in `[name("string")]`.
pub(crate) fn string(attributes: &[Attribute], name: &str) -> Option<Symbol> {
    match find(attributes, name)?.args.first()?.kind {
        ExprKind::String(text) => Some(text),
        _ => None,
    }
}

/// The name under which the `++` or `--` of one side is found: a function marked `__prefix` or `__postfix` is that alone.
pub(crate) fn step_name(text: &str, post: bool) -> Symbol {
    operator_name(&format!("{text}{}", if post { " after a value" } else { " before a value" }))
}

/// The name under which an operator function is found, whether or not the word `operator` is part of `text`.
pub(crate) fn operator_name(text: &str) -> Symbol {
    let symbol = text.strip_prefix("operator").unwrap_or(text).trim();
    Symbol::new(&format!("operator{symbol}"))
}

/// What modifiers say about how a matrix lies in memory.
pub(crate) fn row_major(modifiers: &[Modifier]) -> Option<bool> {
    modifiers.iter().rev().find_map(|m| match m.kind {
        ModifierKind::RowMajor => Some(true),
        ModifierKind::ColumnMajor => Some(false),
        _ => None,
    })
}
