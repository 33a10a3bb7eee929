//! Expressions of checked bodies.

use super::{
    Args, BinaryOp, CodeKind, DiffMode, Dir, ExprId, FuncRef, GlobalId, LocalId, PackPart, Platform, Ty,
    TyKind, Types, Val,
};
use cotangent_base::{Entity, Span, Symbol};
use std::sync::Arc;

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Its number in its body: [`Body::new`] gives each expression its own, those around others first. Before that it
    /// means nothing.
    pub id: ExprId,
    /// What it is.
    pub kind: ExprKind,
    /// Its type.
    pub ty: Ty,
    /// Where it stands.
    pub span: Span,
}

/// What can be asked about a type in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Measure {
    /// `sizeof`.
    Size,
    /// `alignof`.
    Align,
}

/// Kinds of expressions. Unless said otherwise operands have exactly the type that is needed; the checker has
/// written out conversions.
///
/// Operands are shared, so that a copy costs a node and not the tree under it: choosing what a call means tries arguments on
/// many candidates, and in a chain `a.f().f()` each link has all before it as its argument.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A constant of scalar or enumeration type.
    Const(Const),
    /// A compile-time integer that depends on generic parameters.
    Val(Val),
    /// The size or alignment in bytes of a type in memory.
    Measure(Measure, Ty),
    /// `static_assert(condition, message)`: nothing, unless the condition turns out to be zero.
    Assert(Val, Symbol),
    /// A string.
    String(Symbol),
    /// All zero, of any type.
    Zero,
    /// A value that was not written yet, of any type.
    Undef,

    /// The number of the target or stage the program is compiled for. Only a `switch` asks for it.
    Platform(Platform),

    // Places.
    /// A variable.
    Local(LocalId),
    /// A global, with arguments for the generic parameters around it.
    Global(GlobalId, Args),
    /// The field of that number.
    Field(Arc<Expr>, u32),
    /// An element of an array, a lane of a vector, a row of a matrix, an element of a buffer. The index is any
    /// integer type. Constant indices are in range.
    Element(Arc<Expr>, Arc<Expr>),
    /// Lanes of a vector; a scalar if it is one lane. On a scalar, lane 0 repeated.
    Swizzle(Arc<Expr>, Vec<u8>),
    /// Elements of a matrix as (row, column).
    MatrixSwizzle(Arc<Expr>, Vec<(u8, u8)>),
    /// A property or subscript with accessors. Read, it is a call of `get` with `this` and `args`; assigned, of `set`
    /// with `this`, `args` and the value. `this` is a place if the setter mutates.
    Property {
        /// The object; absent for a static property.
        this: Option<Arc<Expr>>,
        /// The indices of a subscript.
        args: Vec<Expr>,
        /// Reads.
        get: Option<FuncRef>,
        /// Writes.
        set: Option<FuncRef>,
        /// Whether `get` or `set` takes `this` as `inout`.
        mutating: bool,
        /// Whether `get` does.
        changes: bool,
    },

    // Operators on built-in numbers. Both sides have one type, save that a shift's amount has the shape of the left.
    /// `-`, `!`, `~`.
    Unary(UnaryOp, Arc<Expr>),
    /// Arithmetic, bits, comparisons (giving booleans of the shape), and `&&`, `||`, which on scalars evaluate the
    /// right side only if needed. Never `Comma`.
    Binary(BinaryOp, Arc<Expr>, Arc<Expr>),
    /// `c ? a : b` with a scalar condition: evaluates one side.
    Cond(Arc<Expr>, Arc<Expr>, Arc<Expr>),
    /// Lane-wise choice: condition, value if true, value if false; all are evaluated.
    Select(Arc<Expr>, Arc<Expr>, Arc<Expr>),
    /// `a, b`.
    Sequence(Arc<Expr>, Arc<Expr>),

    // Conversions and construction.
    /// Each scalar converted, the shape kept; also between an enumeration and integers, between `T` and a vector
    /// of one lane, and between a structure and its base.
    Convert(Arc<Expr>),
    /// A scalar in every lane of a vector or matrix.
    Splat(Arc<Expr>),
    /// A vector of the lanes of scalars and vectors, in order; a matrix of scalars row by row, or of row vectors.
    Concat(Vec<Expr>),
    /// The upper left part of a matrix.
    Truncate(Arc<Expr>),
    /// All fields, elements, lanes or rows, in order.
    Construct(Vec<Expr>),

    /// `x is T`. Known for a value of known type; else it depends on which of the types that conform the value is.
    Is(Arc<Expr>, Ty),
    /// `x as T`: an optional `T`.
    As(Arc<Expr>, Ty),

    // Packs. In lists of arguments and parts they stand for their elements.
    /// A pack of values.
    Pack(Vec<Expr>),
    /// `expand e`: a pack of what the expression is for each element of the packs under `each` in it.
    Expand(Arc<Expr>),
    /// `each e`: the element of a pack or tuple that the `expand` around it is at.
    Each(Arc<Expr>),
    /// An element or a part of a pack.
    Part(PackPart, Arc<Expr>),

    // Effects.
    /// `place = value`; gives the value.
    Assign(Arc<Expr>, Arc<Expr>),
    /// Evaluates the place once and then `right`, if there is one, binds what the place holds after that to `old`,
    /// assigns `new`, which may mention both; gives the new value, or the old one if `post`. All compound assignments
    /// and increments.
    Modify {
        /// What is changed.
        place: Arc<Expr>,
        /// The right side, where evaluating it may change the place, and the variable it is bound to.
        right: Option<(LocalId, Arc<Expr>)>,
        /// Its value before.
        old: LocalId,
        /// Its value after.
        new: Arc<Expr>,
        /// Whether the expression is the old value.
        post: bool,
    },
    /// A call.
    Call(Arc<Call>),
    /// `printf(format, ..)`: a format that fits the values.
    Print(Symbol, Vec<Expr>),
    /// Code of a target, with the parameters of the function: its text, or the name of an operation.
    TargetCode(CodeKind, Symbol, Vec<Expr>),
    /// `&place`: a pointer to something in memory.
    AddressOf(Arc<Expr>),
    /// `no_diff f(x)`.
    NoDiff(Arc<Expr>),
    /// Something wrong that was reported; never reaches lowering.
    Error,
}

/// A call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The function.
    pub callee: FuncRef,
    /// Derivatives to take of it, innermost first: `fwd_diff(bwd_diff(f))` is `[Backward, Forward]`.
    pub diff: Vec<DiffMode>,
    /// `this` first, if there is one; in the order of the (derived) signature. An `out` or `inout` argument is a place.
    pub args: Vec<(Dir, Expr)>,
    /// The value of interface type that a static requirement is called through: its type, whichever it is, is meant.
    pub through: Option<Expr>,
}

/// Lists what stands directly inside an expression, to be read or to be changed: the same list twice. `$reach` goes to what
/// is shared.
macro_rules! operands {
    ($name:ident, $iter:ident, $reach:path, $(#[$doc:meta])* $($mutable:ident)?) => {
        $(#[$doc])*
        pub fn $name(&$($mutable)? self) -> Vec<&$($mutable)? Expr> {
            match &$($mutable)? self.kind {
                ExprKind::Const(_)
                | ExprKind::Val(_)
                | ExprKind::Measure(..)
                | ExprKind::Assert(..)
                | ExprKind::String(_)
                | ExprKind::Zero
                | ExprKind::Undef
                | ExprKind::Platform(_)
                | ExprKind::Local(_)
                | ExprKind::Global(..)
                | ExprKind::Error => vec![],
                ExprKind::Field(a, _)
                | ExprKind::Swizzle(a, _)
                | ExprKind::MatrixSwizzle(a, _)
                | ExprKind::Unary(_, a)
                | ExprKind::Convert(a)
                | ExprKind::Splat(a)
                | ExprKind::Truncate(a)
                | ExprKind::Is(a, _)
                | ExprKind::As(a, _)
                | ExprKind::Expand(a)
                | ExprKind::Each(a)
                | ExprKind::Part(_, a)
                | ExprKind::AddressOf(a)
                | ExprKind::NoDiff(a) => vec![$reach(a)],
                ExprKind::Element(a, b)
                | ExprKind::Binary(_, a, b)
                | ExprKind::Sequence(a, b)
                | ExprKind::Assign(a, b) => vec![$reach(a), $reach(b)],
                ExprKind::Cond(a, b, c) | ExprKind::Select(a, b, c) => vec![$reach(a), $reach(b), $reach(c)],
                ExprKind::Concat(parts)
                | ExprKind::Construct(parts)
                | ExprKind::Pack(parts)
                | ExprKind::TargetCode(_, _, parts)
                | ExprKind::Print(_, parts) => {
                    parts.$iter().collect()
                }
                ExprKind::Property { this, args, .. } => {
                    this.$iter().map($reach).chain(args.$iter()).collect()
                }
                ExprKind::Modify { place, right, new, .. } => {
                    let mut all = vec![$reach(place)];
                    all.extend(right.$iter().map(|(_, right)| $reach(right)));
                    all.push($reach(new));
                    all
                }
                ExprKind::Call(call) => {
                    let call = $reach(call);
                    call.through.$iter().chain(call.args.$iter().map(|(_, arg)| arg)).collect()
                }
            }
        }
    };
}

impl Expr {
    /// An expression of this kind and type that stands at `span`.
    pub fn new(kind: ExprKind, ty: Ty, span: Span) -> Self {
        Expr { id: ExprId::new(0), kind, ty, span }
    }

    operands!(operands, iter, AsRef::as_ref, /// The expressions that stand directly inside this one, as written.
    );
    operands!(operands_mut, iter_mut, Arc::make_mut, /// The expressions that stand directly inside this one, to be changed.
    mut);

    /// The variable that a place is part of.
    pub fn root_local(&self, types: &Types) -> Option<LocalId> {
        match &self.kind {
            ExprKind::Local(local) => Some(*local),
            // What a pointer or a resource leads to lies elsewhere.
            ExprKind::Element(base, _) if matches!(types.kind(base.ty), TyKind::Struct(..)) => None,
            ExprKind::Element(base, _)
            | ExprKind::Field(base, _)
            | ExprKind::Swizzle(base, _)
            | ExprKind::MatrixSwizzle(base, _) => base.root_local(types),
            _ => None,
        }
    }

    /// The elements of an argument that is a pack; of any other, itself.
    pub fn elements(&self) -> &[Expr] {
        match &self.kind {
            ExprKind::Pack(elements) => elements,
            _ => std::slice::from_ref(self),
        }
    }
}

/// A constant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Const {
    /// A truth value.
    Bool(bool),
    /// An integer; unsigned ones are the same bits.
    Int(i64),
    /// A floating-point number, not yet rounded to its type.
    Float(f64),
}

/// Operators with one operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub enum UnaryOp {
    Neg,
    Not,
    BitNot,
}

/// Hosts compute the same numbers to look texts up, so this is part of the language.
const HASH_FACTOR: u32 = 65599;

/// The hash of a text.
pub fn hash_of(text: Symbol) -> u32 {
    let add = |hash: u32, byte: u8| hash.wrapping_mul(HASH_FACTOR).wrapping_add(u32::from(byte));
    text.as_str().bytes().fold(0, add)
}
