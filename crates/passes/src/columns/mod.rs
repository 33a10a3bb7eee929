//! Transposes matrices that the host stores column-major.
//!
//! A column-major matrix with `r` rows and `c` columns has the bytes of a row-major matrix with `c` rows and `r` columns. So
//! in memory that the host sees, such matrices become their transposes, and loads and stores transpose values. After this
//! pass, all matrices are row-major on every target.
//!
//! ```text
//! global @m: buffer<f32x2x3> param
//! func @f(%i: u32, out z: f32) -> f32x2x3 {
//!   %b: buffer<f32x2x3> = global @m
//!   %y: f32x2x3 = load %b [%i]
//!   %z: f32 = load %b [%i, 1, %i]
//!   return %y, %z
//! }
//! ```
//!
//! becomes
//!
//! ```text
//! global @m: buffer<f32x3x2> param
//! func @f(%i: u32, out z: f32) -> f32x2x3 {
//!   %b: buffer<f32x3x2> = global @m
//!   %t: f32x3x2 = load %b [%i]
//!   %y: f32x2x3 = transpose %t
//!   %z: f32 = load %b [%i, %i, 1]
//!   return %y, %z
//! }
//! ```
//!
//! A field may set the layout of its own matrix. A structure with such matrices gets a second structure for memory, and loads
//! and stores convert between the two. Group-shared and thread memory does not change, since only the program sees it.
//!
//! The pass does not follow pointers; it runs after [`pointers`](mod@crate::pointers). If a pointer to such a matrix or to a
//! part of it remains, the pass reports an error at that line. It also refuses interface values in memory that contain such
//! matrices.

mod accesses;
mod memory;
mod paths;

use cotangent_base::{Span, Symbol};
use cotangent_ir::layout::Matrices;
use cotangent_ir::shader::ShaderParams;
use cotangent_ir::{DiffRow, GlobalData, GlobalKind, Module, Op, Type};
use memory::Memory;
use paths::End;

/// What was turned.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Turned {
    /// Whether code may have changed: something is in memory that parameters hold or that functions are given.
    pub any: bool,
    /// The parameters with matrices that were.
    pub params: Vec<Symbol>,
}

/// Turns matrices that lie column by column; `matrices` says how those lie that say nothing themselves. `Err` tells where
/// something is that it cannot turn.
pub fn columns(module: &mut Module, params: &mut ShaderParams, matrices: Matrices) -> Result<Turned, Span> {
    let mut memory = Memory::new(&module.types, matrices);
    check(&memory, module)?;
    let turned = affected(&memory, module);
    for func in module.funcs.values_mut().filter(|_| turned.any) {
        accesses::function(&mut memory, &mut module.types, func, &module.globals);
    }
    // Those are turned too that no code uses: the host sees them.
    for data in module.globals.values_mut().filter(|g| g.kind == GlobalKind::Param) {
        data.ty = memory.stored(&mut module.types, data.ty);
    }
    let entries = params.entries.iter_mut().flat_map(|(_, params)| params);
    for param in params.globals.iter_mut().chain(entries) {
        memory.shape(&mut module.types, &mut param.shape);
    }
    // Which fields of a structure have a derivative does not depend on its layout.
    for (of, turned) in memory.turned_structs(&module.types) {
        if let Some(row) = module.diff.get(of).cloned() {
            module.diff.set(turned, DiffRow { zero: None, add: None, ..row });
        }
    }
    Ok(turned)
}

/// Finds what cannot be turned.
fn check(memory: &Memory, module: &Module) -> Result<(), Span> {
    let types = &module.types;
    if let Some(data) = shader_params(module).find(|g| memory.is_beyond(types, g.ty)) {
        return Err(data.span);
    }
    let variables = module.globals.values().filter(|g| g.kind != GlobalKind::Param);
    for data in variables {
        if let Type::Ref(held) = types.get(data.ty)
            && memory.holds_buffer(types, held)
        {
            return Err(data.span);
        }
    }
    for func in module.funcs.values() {
        for inst in func.all_insts() {
            let data = &func.insts[inst];
            let Op::Point(path) = &data.op else { continue };
            match memory.way(types, func, inst, path, 1).map(|way| way.end) {
                Some(End::Row | End::Whole(_)) => return Err(data.span),
                Some(End::Element) | None => {}
            }
        }
    }
    Ok(())
}

/// What there is to turn.
fn affected(memory: &Memory, module: &Module) -> Turned {
    let differs = |ty| memory.differs(&module.types, ty);
    let params: Vec<Symbol> = shader_params(module).filter(|g| differs(g.ty)).map(|g| g.name).collect();
    let mut given = module.funcs.values().flat_map(|func| &func.sig.params);
    let any = !params.is_empty() || given.any(|param| memory.holds_buffer(&module.types, param.ty));
    Turned { any, params }
}

fn shader_params(module: &Module) -> impl Iterator<Item = &GlobalData> {
    module.globals.values().filter(|g| g.kind == GlobalKind::Param)
}
