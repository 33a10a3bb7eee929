//! Replaces sums by structures, for targets without sums.
//!
//! A sum becomes a structure with the index of the member, followed by every member. One member is set and the others are
//! zero. This takes more space than one member needs, but registers that are never read cost nothing.
//!
//! ```text
//! struct $A { k: f32 }
//! sum $I { A: $A, n: i32 }
//! func @f(%n: i32, out t: i32) -> $A {
//!   %s: $I = inject 1 %n
//!   %a: $A = project 0 %s
//!   %t: i32 = tag %s
//!   return %a, %t
//! }
//! ```
//!
//! becomes
//!
//! ```text
//! struct $A { k: f32 }
//! struct $I { tag: i32, A: $A, n: i32 }
//! func @f(%n: i32, out t: i32) -> $A {
//!   %tag: i32 = const 1
//!   %other: $A = zero
//!   %s: $I = pack %tag, %other, %n
//!   %a: $A = extract %s [1]
//!   %t: i32 = extract %s [0]
//!   return %a, %t
//! }
//! ```
//!
//! Types keep their numbers, so only these three operations change. A sum that lies in memory the host sees keeps the layout that it
//! has there: the structure has its `ids`, and the emitter converts when it reads and writes. What was read has a negative `tag` if
//! the number in memory is that of no member; the program stops where it asks for the tag, or for the only member.

use cotangent_base::{Scalar, Symbol};
use cotangent_ir::{
    Builder, Const, Func, Inst, InstData, Math, Module, Op, Path, Region, StructField, Trap, Type, Types,
};

/// Turns every sum of the module into a structure.
pub fn sums(module: &mut Module) {
    let int = module.types.scalar(Scalar::I32);
    let ids: Vec<_> = module.types.structs().filter(|(_, def)| def.sum).map(|(id, _)| id).collect();
    for id in ids {
        let mut fields = vec![StructField { name: Symbol::new("tag"), ty: int }];
        fields.extend(module.types.struct_def(id).fields.iter().cloned());
        module.types.sum_to_struct(id, fields);
    }
    for func in module.funcs.values_mut() {
        for region in func.regions.keys() {
            lower(&mut module.types, func, region);
        }
    }
}

/// Rewrites the operations on sums in one region.
fn lower(types: &mut Types, func: &mut Func, region: Region) {
    for inst in std::mem::take(&mut func.regions[region].insts) {
        if let Op::Tag = func.insts[inst].op {
            known_type(types, func, region, inst);
            func.insts[inst].op = Op::Extract(Path::part(0));
        } else if let Op::Project(member) = func.insts[inst].op {
            known_type(types, func, region, inst);
            func.insts[inst].op = Op::Extract(Path::part(member + 1));
        } else if let Op::Inject(member) = func.insts[inst].op {
            inject(types, func, region, inst, member);
        }
        func.regions[region].insts.push(inst);
    }
}

/// All members but one are zero.
fn inject(types: &mut Types, func: &mut Func, region: Region, inst: Inst, member: u32) {
    let InstData { ref operands, ref results, span, .. } = func.insts[inst];
    let (value, whole) = (operands[0], func.ty(results[0]));
    let count = types.arity(whole).unwrap_or(0);
    let mut parts = Vec::new();
    for part in 0..count {
        let ty = types.part(whole, Some(part)).expect("it has that many parts");
        let mut b = Builder { types, func, region, span };
        parts.push(match part {
            0 => b.constant(Const::Int(member.into()), ty),
            _ if part == member + 1 => value,
            _ => b.zero(ty),
        });
    }
    func.insts[inst].op = Op::Pack;
    func.insts[inst].operands = parts.into();
}

/// Tests that a value has one of the types that are known, if it may come from outside. With several types the program asks for the
/// tag before it asks for a member.
fn known_type(types: &mut Types, func: &mut Func, region: Region, inst: Inst) {
    let InstData { ref op, ref operands, span, .. } = func.insts[inst];
    let (is_tag, value) = (matches!(op, Op::Tag), operands[0]);
    let Type::Struct(id) = types.get(func.ty(value)) else { return };
    let def = types.struct_def(id);
    let (members, seen) = (def.members().len(), !def.ids.is_empty());
    if members > 0 && (!seen || members > 1 && !is_tag) {
        return;
    }
    let mut b = Builder { types, func, region, span };
    let known = if members == 0 {
        b.bool(false)
    } else {
        let (tag, zero) = (b.part(value, 0), b.int(0));
        b.math(Math::Ge, &[tag, zero])
    };
    b.emit(Op::Assert(Trap::UnknownType), &[known], &[]);
}
