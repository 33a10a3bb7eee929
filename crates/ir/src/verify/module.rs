//! Verifies a module, apart from the bodies of its functions.

use super::{Check, ensure};
use crate::layout::Rules;
use crate::{
    DiffRow, Func, FuncId, FuncKind, GlobalKind, Link, Module, Stage, StructDef, StructId, Ty, Type,
};
use cotangent_base::{Scalar, Set};

/// Checks types, globals, derivative rows and names.
pub(super) fn check(module: &Module) -> Check {
    for (id, def) in module.types.structs() {
        ensure!(!contains(module, id, id, &mut Set::default()), "structure ${} contains itself", def.name);
        ensure!(
            def.ids.is_empty() || def.ids.len() == def.members().len(),
            "the members of ${} have other numbers of numbers",
            def.name
        );
        ensure!(def.room.is_none_or(|room| fits(module, def, room)), "a member of ${} has no room", def.name);
    }
    for (id, row) in module.diff.iter() {
        let name = module.types.struct_def(id).name;
        diff_row(module, id, row).map_err(|rule| format!("differential of ${name}: {rule}"))?;
    }
    let mut names = Set::default();
    for global in module.globals.values() {
        ensure!(names.insert(global.name), "there are two globals @{}", global.name);
        check_global(module, global).map_err(|rule| format!("global @{}: {rule}", global.name))?;
    }
    names.clear();
    for func in module.funcs.values() {
        ensure!(names.insert(func.name), "there are two functions @{}", func.name);
    }
    Ok(())
}

/// Whether a definition is that of a sum whose members take no more bytes than `room`, where they have bytes at all.
fn fits(module: &Module, def: &StructDef, room: u32) -> bool {
    let mut sizes = def.members().iter().filter_map(|f| Rules::HELD.layout(&module.types, f.ty));
    (def.sum || !def.ids.is_empty()) && sizes.all(|layout| layout.size <= room)
}

/// Whether `inner` is among the structures that `outer` holds by value.
fn contains(module: &Module, outer: StructId, inner: StructId, seen: &mut Set<StructId>) -> bool {
    let fields = &module.types.struct_def(outer).fields;
    fields.iter().any(|f| {
        let mut ty = module.types.get(f.ty);
        while let Type::Array(elem, _) = ty {
            ty = module.types.get(elem);
        }
        match ty {
            Type::Struct(id) | Type::Sum(id) => {
                id == inner || (seen.insert(id) && contains(module, id, inner, seen))
            }
            Type::Unit
            | Type::Scalar(_)
            | Type::Vector(..)
            | Type::Matrix(..)
            | Type::Array(..)
            | Type::Buffer(..)
            | Type::Opaque(_)
            | Type::Ref(_) => false,
        }
    })
}

fn diff_row(module: &Module, id: StructId, row: &DiffRow) -> Check {
    let fields = module.types.struct_def(id).fields.len();
    ensure!(row.fields.len() == fields, "it must say of every field where its derivative is");
    let differential = module.types.get(row.differential);
    let is_sum = module.types.struct_def(id).sum;
    ensure!(
        is_sum == matches!(differential, Type::Sum(_)),
        "a sum has a sum for a differential, and only a sum"
    );
    let members = module.types.members(row.differential).map(|m| m.len() as u32);
    let arity = members.or(module.types.arity(row.differential)).unwrap_or(0);
    ensure!(row.fields.iter().flatten().all(|to| *to < arity), "it has no such field");
    let d = row.differential;
    ensure!(
        row.zero.is_none_or(|f| has_signature(module, f, &[], d)),
        "its zero is not `() -> differential`"
    );
    ensure!(row.add.is_none_or(|f| has_signature(module, f, &[d, d], d)), "its add does not add two of them");
    Ok(())
}

fn has_signature(module: &Module, func: FuncId, inputs: &[Ty], output: Ty) -> bool {
    module.funcs.get(func).is_some_and(|f| {
        f.sig.inputs().map(|p| p.ty).eq(inputs.iter().copied()) && f.sig.outputs().map(|r| r.ty).eq([output])
    })
}

fn check_global(module: &Module, global: &crate::GlobalData) -> Check {
    let ty = module.types.get(global.ty);
    match &global.kind {
        GlobalKind::Param => ensure!(!matches!(ty, Type::Ref(_)), "the host cannot set a variable"),
        GlobalKind::Shared => ensure!(matches!(ty, Type::Ref(_)), "a variable has the type `ref<..>`"),
        GlobalKind::Static(init) => {
            let Type::Ref(inner) = ty else {
                return Err("a variable has the type `ref<..>`".into());
            };
            let fits = |f| has_signature(module, f, &[], inner);
            ensure!(init.is_none_or(fits), "its first value is not what the function gives");
        }
    }
    Ok(())
}

/// Checks what a function says about itself.
pub(super) fn check_func(module: &Module, func: &Func) -> Check {
    let diff = &func.diff;
    let of = match func.kind {
        FuncKind::Defined => None,
        FuncKind::Request(_, of) => Some(of),
    };
    for link in diff.links().chain(of) {
        ensure!(module.funcs.get(link).is_some(), "it refers to a function that does not exist");
    }
    if let Some(entry) = &func.entry {
        let ty = |ty| module.types.get(ty);
        let fits = |links: &[Link], types: Vec<Type>| {
            links.len() == types.len() && links.iter().zip(types).all(|(link, ty)| connects(*link, ty))
        };
        let inputs = func.sig.inputs().map(|p| ty(p.ty)).collect();
        ensure!(fits(&entry.inputs, inputs), "the inputs of an entry point are not what the host gives");
        let outputs = func.sig.outputs().map(|o| ty(o.ty)).collect();
        ensure!(fits(&entry.outputs, outputs), "the outputs of an entry point are not what the host takes");
        let compute = entry.stage == Stage::Compute;
        ensure!(!compute || entry.outputs.is_empty(), "an entry point for computing gives nothing");
    }
    Ok(())
}

/// Whether a value of that type can come from or go to there.
fn connects(link: Link, ty: Type) -> bool {
    match link {
        Link::System(value) => ty == value.ty(),
        Link::Location(_) => matches!(ty, Type::Scalar(s) | Type::Vector(s, _) if s != Scalar::Bool),
    }
}
