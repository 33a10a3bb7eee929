//! Lowers interface types to sums, and determines their members.
//!
//! An interface value holds one of the conforming types. In the IR it is a sum. Its members are the types that the program
//! actually converts to the interface, in the order in which lowering first sees a conversion. The set grows as instances are
//! lowered. Functions that depend on the whole set (calls through a value, conversions to another interface, `as`) are
//! written last, and rewritten if the set has grown since: see `dispatch`.
//!
//! ```text
//! IShape s = Circle(2);          sum $IShape { Circle: $Circle }        %s: $IShape = inject 0 %circle
//! s.area()                       call @IShape.area(%s)                  one call per member, by the tag
//! ```
//!
//! **Differentials.** The differential of an interface that extends `IDifferentiable` is a value of the interface
//! `IDifferentiable`. The first member of its sum is `NullDifferential`, which means that no derivative has been added yet.
//! The differentials of all members of all such interfaces follow.
//!
//! **Members from outside.** A value from a buffer or from `createDynamicObject` may have any conforming type of the program,
//! so all of them are members. The host identifies them by numbers: see `conformance`.
//!
//! **Associated types.** Let `i` be an interface value and `i.key()` return the associated type `Key`. The type of the result
//! depends on the type of `i`. If the interface has no constraint on `Key`, the result is also a sum, of the types that such
//! calls return. A method of `i` that takes it converts it back, and traps on a value from an object of another type.
//!
//! A type that contains a value of an interface that it is itself a member of would have infinite size, and is refused.

use crate::codes;
use crate::instance::Lowerer;
use cotangent_base::{Diagnostic, Map, Set, Span, Symbol};
use cotangent_ir::layout::Rules;
use cotangent_ir::{self as ir, DiffRow, StructField, StructId, Type};
use cotangent_sema::hir::{InterfaceRef, Ty, TyKind};
use cotangent_sema::kind_group;

/// The types of members may nest this deep. Real programs stay below five.
const MAX_NESTING: u32 = 8;

/// How much room a type takes where the host sees it. Interface values take room for every type that conforms, all of which must be
/// members already; the numbers that the host knows these by come later, and do not matter here.
pub(crate) fn seen_layout(types: &ir::Types, ty: ir::Ty) -> Option<ir::layout::Layout> {
    let unnumbered = |def: &ir::StructDef| def.sum && def.ids.is_empty() && !def.fields.is_empty();
    let sums: Vec<StructId> = types.structs().filter(|(_, def)| unnumbered(def)).map(|(id, _)| id).collect();
    if sums.is_empty() {
        return ir::layout::layout(types, ty);
    }
    let mut types = types.clone();
    for id in sums {
        let numbers = 0..types.struct_def(id).fields.len() as u32;
        types.set_ids(id, numbers.collect());
    }
    ir::layout::layout(&types, ty)
}

/// The interface types that became sums.
#[derive(Default)]
pub(crate) struct Sums {
    all: Map<Ty, Sum>,
    /// The same, in the order they were made.
    order: Vec<Ty>,
}

/// An interface type and its members.
struct Sum {
    id: StructId,
    /// The member types, by number.
    members: Vec<Ty>,
    numbers: Map<Ty, u32>,
    /// Whether the host sees values of it.
    exposed: bool,
}

impl Lowerer<'_> {
    /// The sum of an interface type. It begins without members.
    pub fn lower_interface(&mut self, ty: Ty) -> ir::Ty {
        let name = Symbol::new(&self.types.name(self.queries, ty));
        let id = self.module.types.add_sum(name, vec![]);
        if let Some(room) = self.stated_room(ty) {
            self.module.types.set_room(id, room);
        }
        let sum = Sum { id, members: vec![], numbers: Map::default(), exposed: false };
        self.sums.all.insert(ty, sum);
        self.sums.order.push(ty);
        self.module.types.defined(id)
    }

    /// The bytes that `[anyValueSize(n)]` before an interface gives what its values hold.
    fn stated_room(&self, ty: Ty) -> Option<u32> {
        let size = self.queries.program.interfaces[self.interface(ty)?.interface].any_value_size?;
        self.queries.program.types.known(size).and_then(|size| u32::try_from(size).ok())
    }

    /// The first member of a differential: nothing was added yet.
    pub fn begin_interface(&mut self, ty: Ty, span: Span) {
        if let Some(null) = self.queries.program.lang.null_differential.filter(|_| self.is_differential(ty)) {
            let args = self.queries.args(&[]);
            let null = self.queries.ty(TyKind::Struct(null, args));
            self.member(ty, null, span);
        }
    }

    /// Whether a type is `IDifferentiable`, values of which are differentials.
    pub fn is_differential(&self, ty: Ty) -> bool {
        if let TyKind::Interface(id, _) = self.queries.program.types.kind(ty) {
            self.queries.program.lang.differentiable == Some(id)
        } else {
            false
        }
    }

    /// The interface of an interface type.
    pub fn interface(&self, ty: Ty) -> Option<InterfaceRef> {
        if let TyKind::Interface(interface, args) = self.queries.program.types.kind(ty) {
            Some(InterfaceRef { interface, args })
        } else {
            None
        }
    }

    /// Whether a type is a sum: an interface type, or an associated type of one.
    pub fn is_sum(&self, ty: Ty) -> bool {
        match self.queries.program.types.kind(ty) {
            TyKind::Interface(..) => true,
            TyKind::Assoc(of, ..) => self.is_sum(of),
            kind_group!(number | list | named | open | special) => false,
        }
    }

    /// The number of a member of an interface type, which it becomes if it was none.
    pub fn member(&mut self, sum: Ty, member: Ty, span: Span) -> u32 {
        self.lower_ty(sum, span);
        if let Some(&number) = self.sums.all.get(&sum).and_then(|s| s.numbers.get(&member)) {
            return number;
        }
        if self.types.depth(self.queries, member) > MAX_NESTING {
            self.endless_growth(sum, member, span);
            return 0;
        }
        let mut ty = self.lower_ty(member, span);
        let name = Symbol::new(&self.types.name(self.queries, member));
        let id = self.sums.all[&sum].id;
        if self.holds(ty, id) {
            self.endless_member(sum, member, span);
            ty = self.module.types.intern(Type::Unit);
        }
        let mut fields = self.module.types.struct_def(id).fields.clone();
        fields.push(StructField { name, ty });
        self.module.types.set_fields(id, fields);
        let Some(sum) = self.sums.all.get_mut(&sum) else { return 0 };
        let number = sum.members.len() as u32;
        sum.members.push(member);
        sum.numbers.insert(member, number);
        number
    }

    /// The members of an interface type so far, by number.
    pub fn members(&mut self, sum: Ty, span: Span) -> Vec<Ty> {
        self.lower_ty(sum, span);
        self.sums.all.get(&sum).map(|s| s.members.clone()).unwrap_or_default()
    }

    /// Makes all types of the program that conform members: values come from outside, as bytes.
    pub fn expose(&mut self, sum: Ty) {
        for member in self.conformers(sum) {
            match self.without_bytes(member) {
                Some(part) => self.unpackable_member(sum, member, part),
                None => {
                    self.member(sum, member, Span::none());
                }
            }
        }
    }

    /// The same for a value that the host sets. It cannot set one that holds resources.
    fn expose_set(&mut self, sum: Ty) {
        for member in self.conformers(sum) {
            self.member(sum, member, Span::none());
        }
    }

    /// The first part of a type that no bytes stand for, as those from outside must.
    fn without_bytes(&mut self, ty: Ty) -> Option<Ty> {
        match self.queries.program.types.kind(ty) {
            TyKind::String | TyKind::UnsizedArray(_) => Some(ty),
            TyKind::Array(element, _) => self.without_bytes(element),
            TyKind::Struct(id, args) => {
                let definition = &self.queries.program.structs[id];
                match definition.magic {
                    Some(magic) if magic == *"ptr" => None,
                    Some(_) => Some(ty),
                    None if definition.opaque => Some(ty),
                    None => {
                        let fields = self.queries.field_types(id, args);
                        fields.into_iter().find_map(|field| self.without_bytes(field))
                    }
                }
            }
            kind_group!(number | list | named | open | special) => None,
        }
    }

    fn unpackable_member(&mut self, sum: Ty, member: Ty, part: Ty) {
        let span = if let TyKind::Struct(id, _) = self.queries.program.types.kind(member) {
            self.queries.program.structs[id].span
        } else {
            Span::none()
        };
        let [sum, member, part] = [sum, member, part].map(|ty| self.queries.show(ty));
        let message = format!("`{member}` cannot be made from bytes, but values of `{sum}` are");
        self.diagnostics.push(
            Diagnostic::new(codes::UNPACKABLE, span, message)
                .note(format!("it contains a `{part}`"))
                .help("pass the resource to the methods, or do not make the interface value from data"),
        );
    }

    /// Exposes every interface type inside the type of something that the host sets.
    pub fn expose_inside(&mut self, ty: ir::Ty) {
        self.expose_unseen(ty, &mut Set::default());
    }

    /// The same, but for what is inside `seen`: structures may hold one another many times, and point to themselves.
    fn expose_unseen(&mut self, ty: ir::Ty, seen: &mut Set<StructId>) {
        match self.module.types.get(ty) {
            Type::Array(inner, _) | Type::Buffer(inner, _) | Type::Ref(inner) => {
                self.expose_unseen(inner, seen);
            }
            Type::Struct(id) => {
                if seen.insert(id) {
                    self.expose_fields(id, seen);
                }
            }
            Type::Sum(id) => {
                let found = self.sums.order.iter().copied().find(|ty| self.sums.all[ty].id == id);
                let Some(sum) = found.filter(|sum| !self.sums.all[sum].exposed) else { return };
                if let Some(sum) = self.sums.all.get_mut(&sum) {
                    sum.exposed = true;
                }
                self.expose_set(sum);
                self.expose_fields(id, seen);
            }
            Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) | Type::Opaque(_) => {}
        }
    }

    fn expose_fields(&mut self, id: StructId, seen: &mut Set<StructId>) {
        for field in self.module.types.struct_def(id).fields.clone() {
            self.expose_unseen(field.ty, seen);
        }
    }

    /// Reports members that take more room than their interface allows.
    pub fn check_sizes(&mut self) {
        for ty in self.sums.order.clone() {
            let Some(limit) = self.stated_room(ty) else { continue };
            let members = self.sums.all[&ty].members.clone();
            for member in members {
                let lowered = self.lower_ty(member, Span::none());
                let size = Rules::HELD.layout(&self.module.types, lowered).map_or(0, |l| l.size);
                if size > limit {
                    self.too_large_member(ty, member, size, limit);
                }
            }
        }
    }

    fn too_large_member(&mut self, sum: Ty, member: Ty, size: u32, limit: u32) {
        let span = if let TyKind::Struct(id, _) = self.queries.program.types.kind(member) {
            self.queries.program.structs[id].span
        } else {
            Span::none()
        };
        let [sum, member] = [sum, member].map(|ty| self.queries.show(ty));
        let message = format!("`{member}` takes {size} bytes, but `{sum}` allows {limit}");
        let diagnostic = Diagnostic::new(codes::TOO_LARGE_MEMBER, span, message).help(format!(
            "write `[anyValueSize({size})]` before the interface, or remove the attribute to let the compiler compute the size"
        ));
        self.diagnostics.push(diagnostic);
    }

    /// Tells memory the numbers of the members, once all are known. Who has none by the program or the user gets the next
    /// that is free.
    pub fn number_members(&mut self) {
        for ty in self.sums.order.clone() {
            let Sum { id, members, exposed, .. } = &self.sums.all[&ty];
            let (id, members, exposed) = (*id, members.clone(), *exposed);
            if !exposed {
                continue;
            }
            let known = |member: Ty| self.conformance_id(ty, member);
            let mut ids: Vec<Option<u32>> = members.into_iter().map(known).collect();
            let free = ids.iter().flatten().max().map_or(0, |id| id + 1)..;
            for (id, free) in ids.iter_mut().filter(|id| id.is_none()).zip(free) {
                *id = Some(free);
            }
            self.module.types.set_ids(id, ids.into_iter().flatten().collect());
        }
    }

    /// Whether a type holds a value of this sum.
    fn holds(&self, ty: ir::Ty, sum: StructId) -> bool {
        match self.module.types.get(ty) {
            Type::Array(elem, _) => self.holds(elem, sum),
            Type::Struct(id) | Type::Sum(id) => {
                id == sum || self.module.types.struct_def(id).fields.iter().any(|f| self.holds(f.ty, sum))
            }
            Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => false,
            Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => false,
        }
    }

    /// Each value of the interface is made into one of a larger type.
    fn endless_growth(&mut self, sum: Ty, member: Ty, span: Span) {
        let [sum, member] = [sum, member].map(|ty| self.queries.show(ty));
        let message = format!("values of `{sum}` can nest without end");
        let start: String = member.chars().take(60).collect();
        let diagnostic = Diagnostic::new(codes::ENDLESS_INSTANCES, span, message)
            .note(format!("such as `{start}..`"))
            .help("store values in an array, and combine them when they are used");
        self.diagnostics.push(diagnostic);
    }

    fn endless_member(&mut self, sum: Ty, member: Ty, span: Span) {
        let [sum, member] = [sum, member].map(|ty| self.queries.show(ty));
        let message = format!("`{member}` contains a `{sum}`, which can be a `{member}` again");
        let diagnostic = Diagnostic::new(codes::ENDLESS_MEMBER, span, message)
            .help("store the inner values in a buffer or an array, and use an index");
        self.diagnostics.push(diagnostic);
    }

    /// Writes the rows of all differentiable sums. Says whether that made new members.
    pub fn sum_rows(&mut self) -> bool {
        let before = self.member_count();
        let mut next = 0;
        while let Some(&ty) = self.sums.order.get(next) {
            next += 1;
            if let Some(differential) = self.queries.differential(ty) {
                self.sum_row(ty, differential);
            }
        }
        self.member_count() > before
    }

    fn member_count(&self) -> usize {
        self.sums.all.values().map(|sum| sum.members.len()).sum()
    }

    fn sum_row(&mut self, ty: Ty, differential: Ty) {
        let span = Span::none();
        let mut fields = Vec::new();
        let mut number = 0;
        // The list may grow while it is gone through: the differential of an interface may be that interface.
        while let Some(&member) = self.sums.all[&ty].members.get(number) {
            number += 1;
            let inner = self.queries.differential(member);
            fields.push(inner.map(|inner| self.member(differential, inner, span)));
        }
        let differential = self.lower_ty(differential, span);
        let id = self.sums.all[&ty].id;
        self.module.diff.set(id, DiffRow { differential, fields, zero: None, add: None });
    }
}
