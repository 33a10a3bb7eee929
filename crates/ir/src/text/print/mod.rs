//! Prints modules. It never fails: malformed parts print as `?`, because the verifier quotes them.

mod func;
mod pieces;

pub(super) use func::{func, inst};
pub(super) use pieces::{TypeText, differentiable, mode_name};

use super::LinearValues;
use crate::layout::Matrices;
use crate::{DiffRow, GlobalKind, Module, StructId, Type};
use cotangent_base::EntitySet;
use pieces::{Braces, List, Name, Quoted, func_name};
use std::fmt::Write;

/// Appends formatted text; a `String` never refuses it.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => { write!($out, $($arg)*).expect("a string takes any text") };
}
use put;

/// A whole module.
pub(super) fn module(module: &Module, linear: &LinearValues) -> String {
    let mut out = String::new();
    for (_, def) in module.types.structs() {
        let field = |f: &crate::StructField| format!("{}: {}", Name(f.name), TypeText(&module.types, f.ty));
        let word = if def.sum { "sum" } else { "struct" };
        put!(out, "{word} ${} {}", Name(def.name), Braces(def.fields.iter().map(field)));
        if !def.ids.is_empty() {
            put!(out, " ids({})", List(def.ids.iter()));
        }
        if let Some(room) = def.room {
            put!(out, " room({room})");
        }
        for (word, way) in [("rows", Matrices::Rows), ("columns", Matrices::Columns)] {
            let of = || def.matrices.iter().filter(|(_, matrices)| *matrices == way).map(|(field, _)| field);
            if of().next().is_some() {
                put!(out, " {word}({})", List(of()));
            }
        }
        out.push('\n');
    }
    for (id, row) in module.diff.iter() {
        put!(out, "{}\n", diff_row(module, id, row));
    }
    for global in module.globals.values() {
        let kind = match &global.kind {
            GlobalKind::Param => "param".to_string(),
            GlobalKind::Shared => "shared".to_string(),
            GlobalKind::Static(None) => "static".to_string(),
            GlobalKind::Static(Some(init)) => format!("static({})", func_name(module, *init)),
        };
        put!(out, "global @{}: {} {kind}\n", Name(global.name), TypeText(&module.types, global.ty));
    }
    for text in &module.preludes {
        put!(out, "prelude {}\n", Quoted(*text));
    }
    let none = EntitySet::new();
    for (id, f) in module.funcs.iter() {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&func(module, f, linear.get(&id).unwrap_or(&none)));
    }
    out
}

fn diff_row(module: &Module, id: StructId, row: &DiffRow) -> String {
    let def = module.types.struct_def(id);
    let targets = match module.types.get(row.differential) {
        Type::Struct(d) | Type::Sum(d) => &module.types.struct_def(d).fields[..],
        Type::Unit
        | Type::Scalar(_)
        | Type::Vector(..)
        | Type::Matrix(..)
        | Type::Array(..)
        | Type::Buffer(..)
        | Type::Opaque(_)
        | Type::Ref(_) => &[],
    };
    let target = |to: Option<u32>| {
        let Some(to) = to else { return "-".to_string() };
        let Some(field) = targets.get(to as usize) else {
            return to.to_string();
        };
        let first = targets.iter().position(|f| f.name == field.name) == Some(to as usize);
        if first { Name(field.name).to_string() } else { to.to_string() }
    };
    let pairs = def.fields.iter().zip(&row.fields);
    let pairs = pairs.map(|(field, to)| format!("{} -> {}", Name(field.name), target(*to)));
    let differential = TypeText(&module.types, row.differential);
    let mut out = format!("diff ${} = {differential} {}", Name(def.name), Braces(pairs));
    for (word, func) in [("zero", row.zero), ("add", row.add)] {
        if let Some(func) = func {
            put!(out, " {word} {}", func_name(module, func));
        }
    }
    out
}
