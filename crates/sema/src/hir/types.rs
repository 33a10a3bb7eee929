//! Types of the language, interned, with generic parameters in them.

use super::{AssocId, EnumId, FuncRef, GenericParamId, InterfaceId, InterfaceRef, Measure, StructId};
use cotangent_base::{Entity, Map, Scalar, entity};
use std::hash::Hash;
use std::ops::Index;
use std::sync::Arc;

entity!(
    /// An interned type.
    Ty,
    "ty"
);
entity!(
    /// An interned compile-time integer.
    Val,
    "val"
);
entity!(
    /// An interned list of generic arguments.
    Args,
    "args"
);

/// What a type is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TyKind {
    /// The type of something wrong that was reported. Compatible with everything.
    Error,
    /// No value.
    Void,
    /// A scalar.
    Scalar(Scalar),
    /// `vector<T, N>`; `T` may be a parameter.
    Vector(Ty, Val),
    /// `matrix<T, R, C>`.
    Matrix(Ty, Val, Val),
    /// `T[N]`.
    Array(Ty, Val),
    /// `T[]`.
    UnsizedArray(Ty),
    /// A structure with its generic arguments. Buffers, pairs and optionals are structures of the library.
    Struct(StructId, Args),
    /// An enumeration.
    Enum(EnumId),
    /// A value of some type that conforms to the interface.
    Interface(InterfaceId, Args),
    /// A generic parameter; inside an interface also its `This`.
    Param(GenericParamId),
    /// `T.A`: the associated type of a type not yet known, through the interface (with its arguments) that
    /// requires it.
    Assoc(Ty, AssocId, Args),
    /// `Tuple<..>`. Packs among its members stand for their elements.
    Tuple(Args),
    /// A pack: any number of types or values. Packs among them stand for their elements.
    Pack(Args),
    /// `expand pattern`: a pack of what the pattern is for each element of the pack behind it.
    Expand(Arg, Ty),
    /// `each P`: the element of a pack that the `expand` around it is at.
    Each(Ty),
    /// An element or a part of a pack not yet known.
    Part(PackPart, Ty),
    /// A string.
    String,
    /// The type of `none` and `nullptr` before they are converted.
    None,
}

/// What can be taken of a pack.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PackPart {
    /// `__first(p)`: its first element.
    First,
    /// `__last(p)`: its last element.
    Last,
    /// `__trimFirst(p)`: all but the first.
    TrimFirst,
    /// `__trimLast(p)`: all but the last.
    TrimLast,
}

impl PackPart {
    /// How it is written.
    pub fn name(self) -> &'static str {
        match self {
            PackPart::First => "__first",
            PackPart::Last => "__last",
            PackPart::TrimFirst => "__trimFirst",
            PackPart::TrimLast => "__trimLast",
        }
    }
}

/// What a compile-time integer is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ValKind {
    /// Known. Truth values are 0 and 1, enumerators their value.
    Int(i64),
    /// A generic value parameter.
    Param(GenericParamId),
    /// Arithmetic on what is not known yet, in the type of the operands (for a shift, of the left one).
    Binary(cotangent_syntax::ast::BinaryOp, Scalar, Val, Val),
    /// The size or alignment of a type not known yet.
    Measure(Measure, Ty),
    /// `each N`: the element of a pack of values that the `expand` around it is at.
    Each(Ty),
    /// `countof(P)`: how many elements a pack has.
    Count(Ty),
    /// `__first(P)` or `__last(P)` of a pack of values.
    Part(PackPart, Ty),
    /// `c ? a : b`.
    Choice(Val, Val, Val),
    /// `T.N`: what a type not known yet has for a constant that its interface requires.
    Required(FuncRef),
    /// Whether a type parameter of an alias conforms. This is known only where the alias is used.
    Conforms(Ty, InterfaceRef),
    /// Something wrong that was reported.
    Error,
}

/// A generic argument.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Arg {
    /// For a type parameter, and for a pack of types or values.
    Ty(Ty),
    /// For a value parameter.
    Val(Val),
    /// For the element of a resource: a matrix, or an array of matrices, that lies in memory row by row (true) or column by
    /// column, otherwise than all do. A value of it is one of the type, without the word.
    Laid(Ty, bool),
}

impl Arg {
    /// The type, if it is one.
    pub fn ty(self) -> Option<Ty> {
        match self {
            Arg::Ty(ty) | Arg::Laid(ty, _) => Some(ty),
            Arg::Val(_) => None,
        }
    }
}

/// All types, values and argument lists.
#[derive(Clone, Default, Debug)]
pub struct Types {
    types: Interner<Ty, TyKind>,
    vals: Interner<Val, ValKind>,
    args: Interner<Args, Box<[Arg]>>,
}

/// Interned values in two layers: those that clones share, and those that were added since. A clone copies only the latter.
#[derive(Clone, Debug)]
struct Interner<K: Entity, V> {
    shared: Arc<Layer<K, V>>,
    own: Layer<K, V>,
}

#[derive(Clone, Debug)]
struct Layer<K, V> {
    list: Vec<V>,
    numbers: Map<V, K>,
}

impl<K, V> Default for Layer<K, V> {
    fn default() -> Self {
        Self { list: vec![], numbers: Map::default() }
    }
}

impl<K: Entity, V> Default for Interner<K, V> {
    fn default() -> Self {
        Self { shared: Arc::default(), own: Layer::default() }
    }
}

impl<K: Entity, V: Clone + Eq + Hash> Interner<K, V> {
    fn intern(&mut self, value: V) -> K {
        let known = self.own.numbers.get(&value).or_else(|| self.shared.numbers.get(&value));
        if let Some(&key) = known {
            return key;
        }
        let key = K::new(self.shared.list.len() + self.own.list.len());
        self.own.list.push(value.clone());
        self.own.numbers.insert(value, key);
        key
    }

    fn share(&mut self) {
        if self.own.list.is_empty() {
            return;
        }
        let shared = Arc::make_mut(&mut self.shared);
        shared.list.append(&mut self.own.list);
        shared.numbers.extend(self.own.numbers.drain());
    }
}

impl<K: Entity, V> Index<K> for Interner<K, V> {
    type Output = V;
    fn index(&self, key: K) -> &V {
        match key.index().checked_sub(self.shared.list.len()) {
            None => &self.shared.list[key.index()],
            Some(own) => &self.own.list[own],
        }
    }
}

impl Types {
    /// Lets clones share all that is there.
    pub(crate) fn share(&mut self) {
        self.types.share();
        self.vals.share();
        self.args.share();
    }
    /// The type `kind`.
    pub fn ty(&mut self, kind: TyKind) -> Ty {
        self.types.intern(kind)
    }
    /// The type of a scalar.
    pub fn scalar(&mut self, scalar: Scalar) -> Ty {
        self.ty(TyKind::Scalar(scalar))
    }
    /// The value `kind`.
    pub fn val(&mut self, kind: ValKind) -> Val {
        self.vals.intern(kind)
    }
    /// The argument list `args`.
    pub fn args(&mut self, args: &[Arg]) -> Args {
        self.args.intern(args.into())
    }
    /// What `ty` is.
    pub fn kind(&self, ty: Ty) -> TyKind {
        self.types[ty]
    }
    /// What `val` is.
    pub fn val_kind(&self, val: Val) -> ValKind {
        self.vals[val]
    }
    /// The arguments in a list.
    pub fn list(&self, args: Args) -> &[Arg] {
        &self.args[args]
    }
    /// The value, if it is known.
    pub fn known(&self, val: Val) -> Option<i64> {
        match self.val_kind(val) {
            ValKind::Int(n) => Some(n),
            ValKind::Param(_)
            | ValKind::Binary(..)
            | ValKind::Measure(..)
            | ValKind::Each(_)
            | ValKind::Count(_)
            | ValKind::Part(..)
            | ValKind::Choice(..)
            | ValKind::Required(_)
            | ValKind::Conforms(..)
            | ValKind::Error => None,
        }
    }
}

/// Kinds of types of some groups, as a pattern: `number`, `list` (arrays, tuples and packs), `named` (structures, enumerations,
/// interfaces), `open` (what generic arguments replace), `special` (all others).
#[macro_export]
macro_rules! kind_group {
    (number) => { $crate::hir::TyKind::Scalar(_) | $crate::hir::TyKind::Vector(..) | $crate::hir::TyKind::Matrix(..) };
    (list) => {
        $crate::hir::TyKind::Array(..)
            | $crate::hir::TyKind::UnsizedArray(_)
            | $crate::hir::TyKind::Tuple(_)
            | $crate::hir::TyKind::Pack(_)
    };
    (named) => {
        $crate::hir::TyKind::Struct(..) | $crate::hir::TyKind::Enum(_) | $crate::hir::TyKind::Interface(..)
    };
    (open) => {
        $crate::hir::TyKind::Param(_)
            | $crate::hir::TyKind::Assoc(..)
            | $crate::hir::TyKind::Expand(..)
            | $crate::hir::TyKind::Each(_)
            | $crate::hir::TyKind::Part(..)
    };
    (special) => {
        $crate::hir::TyKind::Error
            | $crate::hir::TyKind::Void
            | $crate::hir::TyKind::String
            | $crate::hir::TyKind::None
    };
    ($($group:ident)|+) => { $($crate::kind_group!($group))|+ };
}
