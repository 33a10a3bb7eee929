//! Bit fields: `uint a : 4;`.
//!
//! Adjacent bit fields share a hidden field of an unsigned type, the first in its lowest bits. A bit field that does not fit
//! into the widest type of its group starts the next one. Each bit field becomes a property that reads and writes its bits. A
//! structure without constructors gets one that takes all members in order, so that initializer lists work as for other
//! fields:
//!
//! ```text
//! struct P { uint a : 4; int b : 12; float x; }
//!
//! struct P
//! {
//!     uint __bits0;
//!     property uint a { get { return (__bits0 << 28) >> 28; } set { __bits0 = __bits0 & ~15 | (newValue & 15) << 0; } }
//!     property int b { get { return int(__bits0 << 16) >> 20; } set { .. } }
//!     float x;
//!     __init(uint a = 0, int b = 0, float x = {}) { this.a = a; this.b = b; this.x = x; }
//! }
//! ```

use crate::codes;
use crate::collect::Collector;
use crate::facts::Rules;
use crate::tables::{Item, ScopeId};
use cotangent_base::{Diagnostic, Scalar, Span, Symbol};
use cotangent_syntax::ast::{
    Accessor, AccessorKind, Attribute, BinaryOp, Block, Decl, DeclKind, Expr, ExprKind, FuncDecl, FuncKind,
    Generics, Ident, Modifier, ModifierKind, Param, PropertyDecl, Stmt, StmtKind, StructDecl, UnaryOp,
    VarDecl,
};
use std::sync::Arc;

/// The integer types, by the names that a bit field may be declared with.
const TYPES: &[(&str, Scalar)] = &[
    ("int", Scalar::I32),
    ("uint", Scalar::U32),
    ("int8_t", Scalar::I8),
    ("uint8_t", Scalar::U8),
    ("int16_t", Scalar::I16),
    ("uint16_t", Scalar::U16),
    ("int32_t", Scalar::I32),
    ("uint32_t", Scalar::U32),
    ("int64_t", Scalar::I64),
    ("uint64_t", Scalar::U64),
];

/// A bit field with its place.
struct Bits {
    /// The group, and where in it the lowest bit is.
    group: usize,
    shift: u32,
    width: u32,
    ty: Scalar,
}

/// Bit fields that share a hidden field.
struct Group {
    used: u32,
    bits: u32,
}

impl Collector<'_> {
    /// A structure in which bit fields are properties. One without bit fields stays as it is.
    pub(super) fn spread_bits(&mut self, decl: &mut StructDecl, scope: ScopeId) {
        if !decl.members.iter().any(is_bit_field) {
            return;
        }
        let mut groups: Vec<Group> = vec![];
        let mut open = false;
        let mut all = vec![];
        for member in &decl.members {
            let DeclKind::Var(var) = &member.kind else {
                all.push(None);
                continue;
            };
            let ty = var.ty.as_ref().and_then(|ty| self.bits_type(ty, &decl.members, scope));
            if let (Some((0, _)), Some(_)) = (var.bits, ty) {
                // A field of no bits ends its group.
                open = false;
                all.push(None);
                continue;
            }
            let bits = self.place_bits(var, ty, &mut groups, open);
            if var.bits.is_some() && bits.is_none() {
                return forget_bits(decl);
            }
            open = bits.is_some();
            all.push(bits);
        }
        let members = std::mem::take(&mut decl.members);
        let constructs =
            |d: &Decl| matches!(&d.kind, DeclKind::Func(func) if func.kind == FuncKind::Constructor);
        if !members.iter().any(constructs) {
            let constructor = memberwise(decl, &members);
            decl.members.push(constructor);
        }
        let differentiable = !decl.bases.is_empty();
        let mut declared = 0;
        for (member, bits) in members.into_iter().zip(all) {
            let Some(bits) = bits else {
                if !is_bit_field(&member) {
                    decl.members.push(member);
                }
                continue;
            };
            if bits.group == declared {
                decl.members.push(hidden_field(bits.group, groups[bits.group].bits, member.span));
                declared += 1;
            }
            decl.members.push(property(member, &bits, groups[bits.group].bits, differentiable));
        }
    }

    /// The integer type that a type is by its name, or by aliases among `members` and in the scopes around. Types are not resolved yet, so an
    /// alias is seen only where it stands before the structure.
    fn bits_type(&self, ty: &Expr, members: &[Decl], scope: ScopeId) -> Option<Scalar> {
        let mut ty = ty;
        // As many aliases as anybody writes; a cycle is reported elsewhere.
        for _ in 0..64 {
            let ExprKind::Name(name) = &ty.kind else { return None };
            if let Some(scalar) = scalar(ty) {
                return Some(scalar);
            }
            let own = members.iter().find_map(|member| match &member.kind {
                DeclKind::Alias(alias) if alias.name.name == *name => alias.ty.as_ref(),
                _ => None,
            });
            ty = own.or_else(|| self.aliased_before(*name, scope))?;
        }
        None
    }

    /// What an alias stands for that was met before, from the inside out.
    fn aliased_before(&self, name: Symbol, scope: ScopeId) -> Option<&Expr> {
        let mut next = Some(scope);
        while let Some(scope) = next {
            let scope = &self.tables.scopes[scope];
            let imported = scope.imports().iter().map(|import| &self.tables.scopes[*import]);
            let mut all = std::iter::once(scope).chain(imported).map(|scope| scope.items(name));
            if let Some(items) = all.find(|items| !items.is_empty()) {
                return items.iter().find_map(|item| match item {
                    Item::Alias(id) => self.tables.aliases[*id].decl.ty.as_ref(),
                    _ => None,
                });
            }
            next = scope.parent();
        }
        None
    }

    /// Finds the place of a bit field: in the last group, if that is still open and has room.
    fn place_bits(
        &mut self,
        var: &VarDecl,
        ty: Option<Scalar>,
        groups: &mut Vec<Group>,
        open: bool,
    ) -> Option<Bits> {
        let (width, span) = var.bits?;
        let Some(ty) = ty else {
            let message = format!("the bit field `{}` must be of a built-in integer type", var.name.name);
            self.diagnostics.push(
                Diagnostic::new(codes::BAD_BIT_FIELD, var.ty.as_ref().map_or(span, |ty| ty.span), message)
                    .help("use `uint`, `int16_t` or another integer type, or an alias of one"),
            );
            return None;
        };
        if width == 0 || width > u64::from(ty.bits()) {
            let message = format!("a bit field of `{}` has 1 to {} bits", ty_name(ty), ty.bits());
            self.diagnostics.push(Diagnostic::new(codes::BAD_BIT_FIELD, span, message));
            return None;
        }
        let width = width as u32;
        let fits = |group: &Group| group.used + width <= group.bits.max(ty.bits());
        if !open || !groups.last().is_some_and(fits) {
            groups.push(Group { used: 0, bits: 0 });
        }
        let index = groups.len() - 1;
        let group = &mut groups[index];
        let shift = group.used;
        group.used += width;
        group.bits = group.bits.max(ty.bits());
        Some(Bits { group: index, shift, width, ty })
    }
}

impl Rules<'_> {
    /// Reports a bit field that is no member of a structure.
    pub(crate) fn no_bit_field(&mut self, var: &VarDecl) {
        if let Some((_, span)) = var.bits {
            let message =
                format!("`{}` is not a field of a structure, so it cannot be a bit field", var.name.name);
            self.diagnostics.push(Diagnostic::new(codes::BAD_BIT_FIELD, span, message));
        }
    }
}

/// Something is wrong with a bit field, and was reported: all are taken for ordinary fields.
fn forget_bits(decl: &mut StructDecl) {
    for member in &mut decl.members {
        if let DeclKind::Var(var) = &mut member.kind {
            Arc::make_mut(var).bits = None;
        }
    }
}

/// Whether a declaration is a structure with bit fields.
pub(super) fn has_bit_fields(decl: &Decl) -> bool {
    matches!(&decl.kind, DeclKind::Struct(decl) if decl.members.iter().any(is_bit_field))
}

fn is_bit_field(decl: &Decl) -> bool {
    matches!(&decl.kind, DeclKind::Var(var) if var.bits.is_some())
}

/// The integer type that a type is by its name.
fn scalar(ty: &Expr) -> Option<Scalar> {
    let ExprKind::Name(name) = &ty.kind else { return None };
    TYPES.iter().find(|(known, _)| name.as_str() == *known).map(|(_, scalar)| *scalar)
}

fn ty_name(ty: Scalar) -> &'static str {
    TYPES.iter().find(|(_, scalar)| *scalar == ty).map_or("int", |(name, _)| name)
}

/// The integer type of that many bits.
fn integer(bits: u32, signed: bool) -> Scalar {
    let fits = |s: &Scalar| s.bits() == bits && s.is_signed() == signed;
    TYPES.iter().map(|(_, scalar)| *scalar).find(fits).unwrap_or(Scalar::U32)
}

fn hidden_name(group: usize) -> Symbol {
    Symbol::new(&format!("__bits{group}"))
}

fn hidden_field(group: usize, bits: u32, span: Span) -> Decl {
    let name = Ident { name: hidden_name(group), span };
    let ty = Some(named(ty_name(integer(bits, false)), span));
    let var = VarDecl { name, ty, init: None, semantic: None, bits: None, is_let: false };
    Decl { attributes: vec![], modifiers: vec![], kind: DeclKind::Var(var.into()), span }
}

/// The property that stands for a bit field in a group of `total` bits.
fn property(member: Decl, bits: &Bits, total: u32, differentiable: bool) -> Decl {
    let Decl { attributes, modifiers, kind, span } = member;
    let DeclKind::Var(var) = kind else {
        return Decl { attributes, modifiers, kind, span };
    };
    let name = var.name;
    let ty = named(ty_name(bits.ty), span);
    let accessor = |kind, stmt: StmtKind| {
        let mut attributes = vec![attribute("ForceInline", span)];
        if differentiable {
            attributes.push(attribute("Differentiable", span));
        }
        let stmts = vec![Stmt { attributes: vec![], kind: stmt, span }];
        Accessor { attributes, kind, value: None, body: Some(Block { stmts, span }.into()), span }
    };
    let accessors = vec![
        accessor(AccessorKind::Get, StmtKind::Return(Some(read(bits, total, span)))),
        accessor(AccessorKind::Set, StmtKind::Expr(write(bits, total, span))),
    ];
    let kind = DeclKind::Property(Box::new(PropertyDecl { name, ty, accessors }));
    Decl { attributes, modifiers, kind, span }
}

/// The bits of a group as a value: shifted to the top, and back with the sign.
fn read(bits: &Bits, total: u32, span: Span) -> Expr {
    let group = integer(total, false);
    let up = total - bits.shift - bits.width;
    let top = binary(BinaryOp::Shl, name(hidden_name(bits.group), span), number(up.into(), group, span));
    let top = if bits.ty.is_signed() { cast(integer(total, true), top) } else { top };
    let value = binary(BinaryOp::Shr, top, number((total - bits.width).into(), group, span));
    cast(bits.ty, value)
}

/// The group with other bits.
fn write(bits: &Bits, total: u32, span: Span) -> Expr {
    let group = integer(total, false);
    let low = u64::MAX >> (64 - bits.width);
    let field = || name(hidden_name(bits.group), span);
    let mask = number(low << bits.shift, group, span);
    let mask = Expr { kind: ExprKind::Unary(UnaryOp::BitNot, Box::new(mask)), span };
    let kept = binary(BinaryOp::BitAnd, field(), mask);
    let value = cast(group, name(Symbol::new("newValue"), span));
    let value = binary(BinaryOp::BitAnd, value, number(low, group, span));
    let value = binary(BinaryOp::Shl, value, number(bits.shift.into(), group, span));
    let whole = binary(BinaryOp::BitOr, kept, value);
    Expr { kind: ExprKind::Assign(None, Box::new(field()), Box::new(whole)), span }
}

/// A constructor that takes all fields in order, each of which may be left out.
fn memberwise(decl: &StructDecl, members: &[Decl]) -> Decl {
    let span = decl.name.span;
    let (mut params, mut stmts) = (vec![], vec![]);
    let is_static = |d: &Decl| d.modifiers.iter().any(|m| m.kind == ModifierKind::Static);
    let mut public = None;
    for member in members.iter().filter(|d| !is_static(d)) {
        let DeclKind::Var(var) = &member.kind else { continue };
        if matches!(var.bits, Some((0, _))) {
            continue;
        }
        if params.iter().any(|p: &Param| p.name.is_some_and(|n| n.name == var.name.name)) {
            // Who collects the fields says so.
            continue;
        }
        let marked = member.modifiers.iter().find(|m| m.kind == ModifierKind::Public).copied();
        public = if params.is_empty() { marked } else { public.and(marked) };
        let zero = || match var.bits {
            Some(_) => number(0, Scalar::I32, span),
            None => Expr { kind: ExprKind::List(vec![]), span },
        };
        let no_diff = member.modifiers.iter().filter(|m| m.kind == ModifierKind::NoDiff);
        params.push(Param {
            attributes: vec![],
            modifiers: no_diff.copied().collect(),
            name: Some(var.name),
            ty: var.ty.clone().unwrap_or_else(|| named("int", span)),
            default: Some(var.init.clone().unwrap_or_else(zero)),
            semantic: None,
            span: var.name.span,
        });
        let this = Box::new(Expr { kind: ExprKind::This, span });
        let place = Expr { kind: ExprKind::Member(this, var.name), span };
        let value = Box::new(name(var.name.name, span));
        let kind = StmtKind::Expr(Expr { kind: ExprKind::Assign(None, Box::new(place), value), span });
        stmts.push(Stmt { attributes: vec![], kind, span });
    }
    let func = FuncDecl {
        kind: FuncKind::Constructor,
        name: Ident { name: crate::declarations::attrs::INIT.into(), span },
        generics: Generics::default(),
        params,
        result: None,
        no_diff_result: false,
        throws: None,
        semantic: None,
        body: Some(Block { stmts, span }.into()),
        extends: None,
    };
    let mut attributes = vec![attribute("ForceInline", span)];
    if !decl.bases.is_empty() {
        attributes.push(attribute("Differentiable", span));
    }
    let modifiers: Vec<Modifier> = public.into_iter().collect();
    Decl { attributes, modifiers, kind: DeclKind::Func(func.into()), span }
}

fn attribute(name: &str, span: Span) -> Attribute {
    Attribute { name: Ident { name: Symbol::new(name), span }, args: vec![], span }
}

fn name(name: Symbol, span: Span) -> Expr {
    Expr { kind: ExprKind::Name(name), span }
}

fn named(text: &str, span: Span) -> Expr {
    name(Symbol::new(text), span)
}

fn number(value: u64, ty: Scalar, span: Span) -> Expr {
    Expr { kind: ExprKind::Int(value, ty), span }
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    let span = a.span;
    Expr { kind: ExprKind::Binary(op, Box::new(a), Box::new(b)), span }
}

fn cast(to: Scalar, value: Expr) -> Expr {
    let span = value.span;
    Expr { kind: ExprKind::Cast(Box::new(named(ty_name(to), span)), Box::new(value)), span }
}
