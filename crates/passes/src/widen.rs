//! Replaces half and float by binary64, for finite differences as native code: the interpreter's wide mode as a program.
//!
//! ```text
//! global @x: buffer<f32> param
//!
//! func @f(%i: u32, %h: f16) -> u32 {
//!   %x: buffer<f32> = global @x
//!   %a: f32 = load %x [%i]
//!   %b: f32 = convert %h
//!   %c: f32 = add %a, %b
//!   %bits: u32 = bitcast %c
//!   return %bits
//! }
//! ```
//!
//! becomes
//!
//! ```text
//! global @x: buffer<f64> param
//!
//! func @f(%i: u32, %h: f64) -> u32 {
//!   %x: buffer<f64> = global @x
//!   %a: f64 = load %x [%i]
//!   %b: f64 = convert %h
//!   %c: f64 = add %a, %b
//!   %float: f32 = convert %c
//!   %bits: u32 = bitcast %float
//!   return %bits
//! }
//! ```
//!
//! So memory does not round either: the host gives and takes binary64. Bits are those of the narrow float, as in wide mode. Textures
//! stay as they are, and so do atomic operations on bits: [`refused`] finds what this pass cannot express. Derivatives must be
//! written before.

use cotangent_base::Scalar;
use cotangent_ir::{
    AtomicKind, Builder, DiffRow, Func, FuncId, Inst, Module, Op, Region, StructId, Ty, Type, Types, Value,
};

/// Why `widen` cannot express these functions, if it cannot.
pub fn refused(module: &Module, funcs: &[FuncId]) -> Option<&'static str> {
    let funcs = funcs.iter().map(|id| &module.funcs[*id]);
    funcs.into_iter().find_map(|func| {
        let mut ops = func.all_insts().into_iter().map(|inst| (inst, &func.insts[inst].op));
        ops.find_map(|(inst, op)| refused_op(module, func, inst, op))
    })
}

fn refused_op(module: &Module, func: &Func, inst: Inst, op: &Op) -> Option<&'static str> {
    if let Op::Sample(_) | Op::Texel | Op::StoreTexel = op {
        return Some("textures");
    }
    let Op::Atomic(atomic) = op else { return None };
    let data = &func.insts[inst];
    let (memory, result) = (func.ty(data.operands[0]), func.ty(data.results[0]));
    let is_float = module.types.scalar_of(result).is_some_and(Scalar::is_float);
    let is_same = module.types.part_at(memory, &atomic.path) == Some(result);
    (is_float && (!is_same || atomic.kind == AtomicKind::CompareExchange))
        .then_some("atomic operations on bits")
}

/// Replaces half and float everywhere.
pub fn widen(module: &mut Module) {
    let narrow = module.types.clone();
    let new = module.types.widen();
    module.types.wide = false;
    let rows: Vec<(StructId, DiffRow)> = module.diff.iter().map(|(id, row)| (id, row.clone())).collect();
    for (id, row) in rows {
        module.diff.set(id, DiffRow { differential: new[row.differential], ..row });
    }
    module.globals.values_mut().for_each(|global| global.ty = new[global.ty]);
    for func in module.funcs.values_mut() {
        let before: Vec<Ty> = func.values.values().map(|value| value.ty).collect();
        func.values.values_mut().for_each(|value| value.ty = new[value.ty]);
        func.sig.params.iter_mut().for_each(|param| param.ty = new[param.ty]);
        func.sig.ret.iter_mut().for_each(|ret| ret.ty = new[ret.ty]);
        let old_type = |value: Value| narrow.get(before[cotangent_base::Entity::index(value)]);
        for region in func.regions.keys() {
            for inst in std::mem::take(&mut func.regions[region].insts) {
                if func.insts[inst].op == Op::Bitcast {
                    bitcast(&mut module.types, func, region, inst, &old_type);
                }
                func.regions[region].insts.push(inst);
            }
        }
    }
}

/// The bits of a narrow float are taken of one, and made one: conversions come before and after.
fn bitcast(
    types: &mut Types,
    func: &mut Func,
    region: Region,
    inst: Inst,
    old_type: &impl Fn(Value) -> Type,
) {
    let (operand, result, span) =
        (func.insts[inst].operands[0], func.insts[inst].results[0], func.insts[inst].span);
    let is_narrow = |ty: &Type| matches!(ty.scalar(), Some(Scalar::F16 | Scalar::F32));
    let [from, to] = [operand, result].map(|value| Some(old_type(value)).filter(is_narrow));
    let mut b = Builder { types, func, region, span };
    let mut given = operand;
    if let Some(narrow) = from {
        let narrow = b.types.intern(narrow);
        given = b.emit1(Op::Convert, &[operand], narrow);
    }
    if let Some(narrow) = to {
        let narrow = b.types.intern(narrow);
        given = b.emit1(Op::Bitcast, &[given], narrow);
        b.func.insts[inst].op = Op::Convert;
    }
    b.func.insts[inst].operands[0] = given;
}
