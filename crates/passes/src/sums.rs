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
//! Types keep their numbers, so only these three operations change. A sum in host memory has a different layout, which this
//! pass does not produce: [`in_memory`] finds such sums, and the emitters refuse them.

use cotangent_base::{Scalar, Set, Symbol};
use cotangent_ir::{
    Builder, Const, Func, Global, GlobalData, GlobalKind, Inst, InstData, Module, Op, Path, Region,
    StructField, StructId, Ty, Type, Types,
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
            func.insts[inst].op = Op::Extract(Path::part(0));
        } else if let Op::Project(member) = func.insts[inst].op {
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

/// A shader parameter that holds a value of a sum type, if there is one.
pub fn in_memory(module: &Module) -> Option<Global> {
    let mut seen = Set::default();
    let param = |(id, data): (Global, &GlobalData)| {
        (matches!(data.kind, GlobalKind::Param) && holds_sum(&module.types, data.ty, &mut seen)).then_some(id)
    };
    module.globals.iter().find_map(param)
}

/// Whether there is a sum in a type; in the structures that were `seen` there is none, or it is known by now.
fn holds_sum(types: &Types, ty: Ty, seen: &mut Set<StructId>) -> bool {
    match types.get(ty) {
        Type::Sum(_) => true,
        Type::Array(inner, _) | Type::Buffer(inner, _) | Type::Ref(inner) => holds_sum(types, inner, seen),
        Type::Struct(id) => {
            seen.insert(id) && types.struct_def(id).fields.iter().any(|f| holds_sum(types, f.ty, seen))
        }
        Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) | Type::Opaque(_) => false,
    }
}
