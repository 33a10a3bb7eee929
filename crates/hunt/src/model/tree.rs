//! The syntax trees of the model's programs, which are printed as Slang and run by [`super::eval`].
//!
//! Variables are scalars. The trees cover what makes derivatives hard: memory of every kind, atomics, waves, exits, and custom
//! derivatives.

/// The type of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ty {
    Float,
    Int,
    Bool,
}

impl Ty {
    pub fn name(self) -> &'static str {
        match self {
            Ty::Float => "float",
            Ty::Int => "int",
            Ty::Bool => "bool",
        }
    }
}

/// Memory. Each thread has [`CELLS`] cells of its own in each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mem {
    /// `RWStructuredBuffer<float>`.
    Buffer,
    /// The gradients that custom derivatives bring in.
    Source,
    /// The gradients that custom derivatives add up.
    Sum,
    /// `RWStructuredBuffer<int>`.
    Count,
    /// `RWStructuredBuffer<Atomic<int>>`.
    Atomic,
    /// `RWByteAddressBuffer`, words of it.
    Bytes,
    /// Floats in a byte buffer.
    ByteFloats,
    /// `RWTexture2D<float>`.
    Texture,
    /// `groupshared float`.
    Shared,
    /// `groupshared int`.
    SharedCount,
    /// A `static` array of floats.
    Static,
    /// A `static` array of integers.
    StaticCount,
}

/// How many cells of a memory belong to one thread.
pub const CELLS: usize = 4;

impl Mem {
    pub const ALL: [Mem; 12] = [
        Mem::Buffer,
        Mem::Source,
        Mem::Sum,
        Mem::Count,
        Mem::Atomic,
        Mem::Bytes,
        Mem::ByteFloats,
        Mem::Texture,
        Mem::Shared,
        Mem::SharedCount,
        Mem::Static,
        Mem::StaticCount,
    ];

    pub fn ty(self) -> Ty {
        match self {
            Mem::Buffer
            | Mem::Source
            | Mem::Sum
            | Mem::ByteFloats
            | Mem::Texture
            | Mem::Shared
            | Mem::Static => Ty::Float,
            Mem::Count | Mem::Atomic | Mem::Bytes | Mem::SharedCount | Mem::StaticCount => Ty::Int,
        }
    }

    /// Whether the host can see it.
    pub fn is_parameter(self) -> bool {
        !matches!(self, Mem::Shared | Mem::SharedCount | Mem::Static | Mem::StaticCount)
    }

    pub fn name(self) -> &'static str {
        match self {
            Mem::Buffer => "buf",
            Mem::Source => "src",
            Mem::Sum => "acc",
            Mem::Count => "cnt",
            Mem::Atomic => "atm",
            Mem::Bytes => "raw",
            Mem::ByteFloats => "rawf",
            Mem::Texture => "tex",
            Mem::Shared => "grp",
            Mem::SharedCount => "grpi",
            Mem::Static => "sta",
            Mem::StaticCount => "stai",
        }
    }
}

/// What an operator does. [`super::ops`] says how it is written and what it means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Neg,
    Sin,
    Cos,
    Tanh,
    Exp,
    Sqrt,
    Max,
    Min,
    Clamp,
    ToFloat,
    Floor,
    IntAdd,
    IntSub,
    IntMul,
    IntAnd,
    IntXor,
    Less,
    Greater,
    IntLess,
    IntEqual,
    IsOdd,
    Not,
}

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    Float(f64),
    Int(i64),
    Bool(bool),
    Var(String),
    Op(Op, Vec<Expr>),
    /// Only one side is computed.
    Select(Box<[Expr; 3]>),
    /// Only as much is computed as decides.
    And(Box<[Expr; 2]>),
    Or(Box<[Expr; 2]>),
    Detach(Box<Expr>),
    Read(Mem, Box<Expr>),
    Call(Call),
}

/// A call.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// The name of a [`Func`].
    pub func: String,
    /// For what is passed `inout` or `out`, a variable.
    pub args: Vec<Expr>,
    /// Whether `no_diff` stands before it.
    pub no_diff: bool,
}

/// What an atomic operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Atomic {
    Add,
    Max,
    Min,
    Or,
    Exchange,
}

/// What the active lanes do together; all with an integer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wave {
    Sum,
    Max,
    CountOdd,
    PrefixSum,
    First,
}

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    Let(Ty, String, Expr),
    Set(String, Expr),
    Store(Mem, Expr, Expr),
    /// `old` is a new variable for what was there before.
    Atomic {
        mem: Mem,
        op: Atomic,
        at: Expr,
        value: Expr,
        old: Option<String>,
    },
    Wave {
        name: String,
        op: Wave,
        value: Expr,
    },
    /// A call whose result is not used.
    Do(Call),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// A counter from zero to less than the bound.
    For {
        label: String,
        counter: String,
        bound: Expr,
        unroll: bool,
        body: Vec<Stmt>,
    },
    /// At most so many iterations.
    While {
        label: String,
        counter: String,
        most: i64,
        condition: Expr,
        body: Vec<Stmt>,
    },
    /// `do { .. } while (false);`
    Once {
        label: String,
        body: Vec<Stmt>,
    },
    /// Leaves the loop of this label.
    Break(String),
    /// Continues the innermost loop.
    Continue,
    Return(Option<Expr>),
}

/// How a parameter is passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    In,
    InOut,
    /// A float without a derivative.
    NoDiff,
}

/// A parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    pub ty: Ty,
    pub name: String,
    pub way: Way,
}

impl Param {
    /// Whether it has a derivative.
    pub fn varies(&self) -> bool {
        self.ty == Ty::Float && self.way != Way::NoDiff
    }
}

/// Where a function stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home {
    Module,
    /// A method of a structure with a constant field `w`, which is 0.5.
    Method,
    /// With a generic value `N`, which is 3.
    Generic,
}

/// Whether calls are inlined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inline {
    Default,
    Never,
    Always,
}

/// How a derivative is attached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attach {
    /// `[BackwardDerivative(g)]` on the function.
    Named,
    /// `[BackwardDerivativeOf(f)]` on the derivative.
    Of,
}

/// A custom derivative.
///
/// For a parameter `x` that has a derivative, the body reads its value from `x_v`.
///
/// - Backward: reads the cotangent of an `inout` output from `x_d` and that of the result from `d`; writes that of `x` to `x_g`.
/// - Forward: reads the tangent from `x_d`; writes the outputs of `inout` to `x_v` and `x_d`, and the result to `r_v` and `r_d`.
#[derive(Clone, PartialEq, Debug)]
pub struct Derivative {
    pub attach: Attach,
    pub body: Vec<Stmt>,
}

/// A function.
#[derive(Clone, PartialEq, Debug)]
pub struct Func {
    pub name: String,
    pub ret: Option<Ty>,
    pub params: Vec<Param>,
    pub body: Vec<Stmt>,
    pub home: Home,
    pub inline: Inline,
    /// Whether it is marked `[Differentiable]`.
    pub marked: bool,
    pub backward: Option<Derivative>,
    pub forward: Option<Derivative>,
    /// The name of the function that is differentiated in its place.
    pub substitute: Option<String>,
}

/// A program. The function that is differentiated is the last.
#[derive(Clone, PartialEq, Debug)]
pub struct Tree {
    pub funcs: Vec<Func>,
    /// How many threads run it.
    pub threads: usize,
}

impl Tree {
    pub fn func(&self, name: &str) -> Option<&Func> {
        self.funcs.iter().find(|f| f.name == name)
    }

    /// The function that is differentiated.
    pub fn root(&self) -> &Func {
        self.funcs.last().expect("a program has a function")
    }
}
