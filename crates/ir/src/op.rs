//! The table of operations.
//!
//! Operands and results are written `name: type`. A *number* is a scalar, vector or matrix; element-wise operations act on
//! each scalar of it. Only calls and control operations can have several results.
//!
//! Three columns say what a pass may do with an operation that it does not know: [`Effect`] (may it be removed, repeated,
//! moved?), [`Linear`] (in which operands is the result linear?) and, derived from the effect, [`Again`] (may a backward pass
//! recompute it instead of storing its result?).

use crate::math::Math;
use crate::memory::{Atomic, Barrier};
use crate::screen::Screen;
use crate::texture::Sampling;
use crate::wave::Wave;
use crate::{FuncId, Global, InputMask, OutputMask, math_group, op_group};
use cotangent_base::Symbol;
use smallvec::SmallVec;

/// What running an operation does besides giving results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Nothing: may be removed, repeated and moved.
    None,
    /// Reads memory: may be removed; may be recomputed only if nothing in between writes.
    Read,
    /// Writes memory or may trap on purpose: stays, once, in order.
    Write,
    /// Whatever its regions or its callee do.
    Inner,
    /// Ends a region.
    Exit,
}

/// Whether an operation may run again, later, on the same operands: it must give the same result and have no effect, although
/// other threads may be active by then. A backward pass recomputes only such operations and keeps the results of all others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Again {
    /// It may.
    Same,
    /// It reads the memory of its first operand, and may run again if that was not written in between.
    Unwritten,
    /// It must not: it has an effect, or its results depend on which threads are active.
    Never,
    /// It may if everything in its regions or its callee may.
    Inner,
}

/// In which operands the results are linear. What is linear can be transposed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linear {
    /// In none.
    No,
    /// In all (value) operands together: `add`, `extract`. Indices and conditions do not count.
    Jointly,
    /// In each alone, the others fixed: `mul`, `dot`.
    Each,
    /// In the first: `div`.
    First,
    /// As its regions or callee are.
    Inner,
}

macro_rules! ops {
    ($($(#[$doc:meta])* $name:ident $(($payload:ty))? $text:literal $effect:ident $linear:ident;)*) => {
        /// An operation, with what it needs besides operands.
        #[derive(Clone, PartialEq, Eq, Hash, Debug)]
        pub enum Op {
            /// Element-wise arithmetic; see [`Math`].
            Math(Math),
            $($(#[$doc])* $name $(($payload))?,)*
        }

        impl Op {
            /// The operation of that name, if its name says all: element-wise ones and those without payload.
            pub fn named(name: &str) -> Option<Op> {
                $(ops!(@named name $name $(($payload))? $text);)*
                Math::ALL.iter().find(|math| math.name() == name).map(|math| Op::Math(*math))
            }
            /// The name in IR text.
            pub const fn name(&self) -> &'static str {
                match self {
                    Op::Math(math) => math.name(),
                    $(ops!(@pattern $name $(($payload))?) => $text,)*
                }
            }
            /// What it does besides giving results.
            pub const fn effect(&self) -> Effect {
                match self {
                    Op::Math(_) => Effect::None,
                    $(ops!(@pattern $name $(($payload))?) => Effect::$effect,)*
                }
            }
            /// In which operands it is linear.
            pub const fn linear(&self) -> Linear {
                match self {
                    Op::Math(math) => math.linear(),
                    $(ops!(@pattern $name $(($payload))?) => Linear::$linear,)*
                }
            }
        }
    };
    (@named $given:ident $name:ident $text:literal) => {
        if $given == $text {
            return Some(Op::$name);
        }
    };
    (@named $given:ident $name:ident ($payload:ty) $text:literal) => {};
    (@pattern $name:ident) => { Op::$name };
    (@pattern $name:ident ($payload:ty)) => { Op::$name(_) };
}

ops! {
    // Values from nothing.

    /// `() -> scalar`. A constant of the result's type.
    Const(Const) "const" None No;
    /// `() -> any`. All zero; of a differential, its additive identity.
    Zero "zero" None Jointly;
    /// `() -> any`. An undefined value, which must not be read: a slot not yet written, a variable not yet assigned.
    Undef "undef" None Jointly;

    // Numbers.

    /// `(cond: bool or vector or matrix of bool, a: T, b: T) -> T`. `a` where `cond` holds. `T` may be any type
    /// if `cond` is one `bool`; both sides are evaluated.
    Select "select" None Jointly;
    /// `(a: number) -> number`. Converts each scalar: towards zero to integers, saturating, NaN to 0; nearest to
    /// floats; `!= 0` to booleans. Linear between floats.
    Convert "convert" None Jointly;
    /// `(a: number) -> number`. The same bits, read as another type of the same size.
    Bitcast "bitcast" None No;
    /// `(a: scalar) -> vector or matrix`. Every element `a`. Also `(a: T) -> [T; n]`.
    Splat "splat" None Jointly;
    /// `(a: vector, matrix or array) -> element`. The sum of what a splat of that shape writes.
    Sum "sum" None Jointly;
    /// `(a: vector) -> scalar or vector`. The selected components.
    Swizzle(SmallVec<[u8; 4]>) "swizzle" None Jointly;
    /// `(a: vector, b: vector) -> scalar`.
    Dot "dot" None Each;
    /// `(m: r x c, v: c) -> r`.
    MatVec "matvec" None Each;
    /// `(v: r, m: r x c) -> c`.
    VecMat "vecmat" None Each;
    /// `(a: r x k, b: k x c) -> r x c`.
    MatMat "matmat" None Each;
    /// `(a: r, b: c) -> r x c`. Every product.
    Outer "outer" None Each;
    /// `(m: r x c) -> c x r`.
    Transpose "transpose" None Jointly;

    // Aggregates. Parts of a vector are lanes, of a matrix rows, of an array elements, of a structure fields.

    /// `(part..) -> aggregate`. All parts, in order.
    Pack "pack" None Jointly;
    /// `(a: aggregate, index..) -> part`. An index outside traps.
    Extract(Path) "extract" None Jointly;
    /// `(a: aggregate, v: part, index..) -> aggregate`. `a` with that part replaced. An index outside traps.
    Insert(Path) "insert" None Jointly;
    /// `(a: aggregate, v: part, index..) -> aggregate`. `a` with `v` added to that part. An index outside traps.
    InsertAdd(Path) "insert_add" None Jointly;

    // Sums.

    /// `(v: member) -> sum`. A value of a sum type that is the member of that number.
    Inject(u32) "inject" None Jointly;
    /// `(s: sum) -> member`. What `s` holds if it is the member of that number, and zero if it is another. Traps as `tag` does.
    Project(u32) "project" None Jointly;
    /// `(s: sum) -> i32`. The number of the member that `s` is. A value from outside may be none of them, which traps.
    Tag "tag" None No;

    // Derivatives.

    /// `(a: T) -> T`. `a`, with no derivative.
    Detach "detach" None No;
    /// `(input.., tangent..) -> (output.., tangent..)`. A call beside its derivative; only between `linearize`
    /// and `unzip`.
    DiffCall(DiffCall) "diff_call" Inner Inner;
    /// `(context?, primal.., tangent..) -> (tangent..)`. The linear half of a call; only between `unzip` and
    /// `transpose`.
    LinCall(LinCall) "lin_call" Inner Inner;

    // Memory.

    /// `() -> handle or value`. A global: the handle of a buffer or variable, the value of a uniform.
    Global(Global) "global" None No;
    /// `(handle, index..) -> part`. The path of a buffer begins with the element. An index outside traps.
    Load(Path) "load" Read No;
    /// `(handle, v: part, index..) -> ()`. An index outside traps.
    Store(Path) "store" Write No;
    /// `(handle, v: part.., index..) -> part`. Reads a part and writes it in one step, of which no other thread sees the middle;
    /// gives what was there. An index outside traps. Where the part is a word (`u32`) of a buffer and `v` has 64 bits, what is
    /// read and written is that word and the next, the low bits first.
    Atomic(Atomic) "atomic" Write No;
    /// `() -> ()`. Orders what the threads of a group do to memory, and may make them wait for each other.
    Barrier(Barrier) "barrier" Write No;
    /// `(value..) -> value`. What threads that run side by side make of their values together; [`Wave`] says which. It stays
    /// where it is, since who takes part depends on where that is.
    Wave(Wave) "wave" Write No;
    /// `(value..) -> ()`. Writes text, in the form of C's `printf`.
    Print(Symbol) "print" Write No;
    /// `(value..) -> any or ()`. Text in the language of the target, in which `$0` is the first value.
    TargetText(Symbol) "target_text" Write No;
    /// `(handle, index..) -> ref<part>`. Points to a part; one of a buffer without elements is null. An index outside traps when
    /// the pointer is used.
    Point(Path) "point" None No;
    /// `(p: ref<T>, n: integer) -> ref<T>`. The pointer moved by `n` elements.
    Offset "offset" None No;
    /// `(p: ref<T> or buffer) -> u64`. A number that tells places apart and orders those of one array; 0 for the null pointer,
    /// which is `zero`.
    Address "address" None No;
    /// `(a: u64 or ref<U>) -> ref<T>`. A pointer to the address that a number encodes, or that another pointer has, whatever the
    /// type of the data there. It moves along all of that memory. A number that no `address` gave is null.
    Pointer "pointer" None No;
    /// `(handle) -> u32`. How many elements a buffer has.
    Length "length" None No;
    /// `(texture, sampler, coordinates: vector of f32, ..) -> texel, f32 or vector of 4`. What the sampler makes of the texels
    /// around a place; [`Sampling`] says which operands follow.
    Sample(Sampling) "sample" Read No;
    /// `(texture, position: vector of i32 or u32, level: i32) -> texel`, of a texture that is written without the level.
    /// One texel; outside there is zero.
    Texel "texel" Read No;
    /// `(texture, position: vector of i32 or u32, texel) -> ()`. Writes one texel; outside nothing happens.
    StoreTexel "store_texel" Write No;
    /// `(texture, level: u32) -> u32x4`. Width, height, depth (or for arrays the number of layers), number of levels.
    Dimensions "dimensions" None No;
    /// `(cond: bool) -> ()`. Traps unless `cond` holds.
    Assert(Trap) "assert" Write No;

    // Pixels: in fragment shaders only, where threads run in quads of neighbours.

    /// `() -> ()`. The pixel is not written, and what the thread writes to memory from here on has no effect.
    Discard "discard" Write No;
    /// `(a: floats) -> floats`. How much `a` changes from pixel to pixel.
    Screen(Screen) "screen" Read No;

    // Control.

    /// `(input..) -> (output..)`. Runs a function.
    Call(FuncId) "call" Inner Inner;
    /// `(cond: bool) -> (result..)`, regions *then* and *else*, without arguments.
    If "if" Inner Inner;
    /// `(selector: integer) -> (result..)`, one region per case and a last one for all other values.
    Switch(Vec<i64>) "switch" Inner Inner;
    /// `(init: T..) -> (result: T..)`, regions *condition* `(T..)` yielding one `bool` and *body* `(T..)` yielding
    /// `T..`. The results are the arguments with which the condition failed, or those of a `break`. The condition is
    /// left by its `yield` only: no other exit leads out of it.
    While(LoopInfo) "while" Inner Inner;
    /// `(n: i32, init: T..) -> (result: T..)`, region *body* `(k: i32, T..)` yielding `T..`, run with `k` from 0 to
    /// `n - 1`, or from `n - 1` to 0 if reversed.
    For(LoopInfo) "for" Inner Inner;

    // Exits: the last instruction of every region, and nowhere else.

    /// `(value..)`. Ends the region normally.
    Yield "yield" Exit Inner;
    /// `(value..)`. Leaves the loop that number of loops out (0 is the innermost) with these results.
    Break(u32) "break" Exit Inner;
    /// `(value..)`. Starts the next iteration of that loop with these arguments.
    Continue(u32) "continue" Exit Inner;
    /// `(output..)`. Leaves the function.
    Return "return" Exit Inner;
}

impl Op {
    /// Whether it may run again.
    pub const fn again(&self) -> Again {
        match self.effect() {
            Effect::None => Again::Same,
            Effect::Read if self.asks_neighbours() => Again::Never,
            Effect::Read => Again::Unwritten,
            Effect::Write if self.is_harmless() => Again::Same,
            Effect::Write => Again::Never,
            Effect::Inner | Effect::Exit => Again::Inner,
        }
    }

    /// Whether what it reads depends on which other threads run it.
    const fn asks_neighbours(&self) -> bool {
        match self {
            Op::Screen(_) => true,
            Op::Sample(kind) => kind.asks_neighbours(),
            Op::Texel | Op::StoreTexel | Op::Dimensions | Op::Discard => false,
            op_group!(pure | memory | pointer | threads | host | call | control | exit) => false,
        }
    }

    /// Whether it may run again although it counts as a write: an assertion that held once holds again, and the index of a lane
    /// does not change.
    const fn is_harmless(&self) -> bool {
        match self {
            Op::Assert(_) => true,
            Op::Wave(kind) => kind.is_alone(),
            Op::Barrier(_) | Op::Print(_) | Op::TargetText(_) => false,
            op_group!(pure | memory | pointer | texture | pixel | call | control | exit) => false,
        }
    }

    /// The path of an operation that has one: its last operands are the indices.
    pub const fn path(&self) -> Option<&Path> {
        if let Op::Extract(path)
        | Op::Insert(path)
        | Op::InsertAdd(path)
        | Op::Load(path)
        | Op::Store(path)
        | Op::Atomic(Atomic { path, .. })
        | Op::Point(path) = self
        {
            Some(path)
        } else {
            None
        }
    }
}

/// A constant. Its type is the type of the instruction's result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Const {
    /// A truth value.
    Bool(bool),
    /// An integer, extended to 64 bits by the sign its type has; a `u64` is the same bits. Sign-extended unsigned ones
    /// are accepted too: [`eval`](crate::eval) takes any value modulo the width.
    Int(i64),
    /// The bits of a binary64, which a narrower type rounds.
    Float(u64),
}

impl Const {
    /// A floating-point constant.
    pub const fn float(value: f64) -> Self {
        Const::Float(value.to_bits())
    }
}

/// The way to a part of an aggregate.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Path(pub SmallVec<[Step; 2]>);

/// One step of a path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// The part of that number.
    Part(u32),
    /// The part whose number is the next index operand.
    Index,
}

impl Step {
    /// The number of the part, unless only an operand knows it.
    pub fn known(self) -> Option<u32> {
        match self {
            Step::Part(index) => Some(index),
            Step::Index => None,
        }
    }
}

impl Path {
    /// The path of one known part.
    pub fn part(index: u32) -> Self {
        Path(SmallVec::from_slice(&[Step::Part(index)]))
    }
    /// The path of one dynamic index.
    pub fn index() -> Self {
        Path(SmallVec::from_slice(&[Step::Index]))
    }
    /// How many index operands it takes.
    pub fn indices(&self) -> usize {
        self.0.iter().filter(|s| matches!(s, Step::Index)).count()
    }
}

/// What a loop is known to do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct LoopInfo {
    /// The most iterations. A program that runs more traps in derivatives.
    pub max_iters: Option<u32>,
    /// Whether to unroll it.
    pub unroll: Unroll,
    /// Counted loops only: run from the last iteration to the first.
    pub reversed: bool,
    /// How reverse mode cuts it into segments.
    pub segments: Segments,
}

/// How reverse mode cuts a loop into segments. The values that the loop carries are stored where a segment starts; the backward
/// pass runs each segment again before it goes back through it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Segments {
    /// As the module says.
    #[default]
    Auto,
    /// Not at all.
    Whole,
    /// Into segments of so many iterations: `[Checkpoint(n)]`.
    Of(u32),
    /// Into segments of the square root of the most iterations: `[Checkpoint(sqrt)]`.
    Sqrt,
    /// Into segments of segments, as many levels as the logarithm of the iterations: `[Checkpoint(log)]`.
    Log,
}

impl Segments {
    /// This, or the other where this says nothing.
    pub fn or(self, other: Segments) -> Segments {
        match self {
            Segments::Auto => other,
            Segments::Whole | Segments::Of(_) | Segments::Sqrt | Segments::Log => self,
        }
    }
}

/// Whether to unroll a loop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Unroll {
    /// As the compiler sees fit.
    #[default]
    Auto,
    /// It must be, before derivatives are taken: `[ForceUnroll]`.
    Force,
    /// It must not be: `[loop]`.
    Never,
}

/// Why a program stops.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Trap {
    /// An index is out of bounds.
    OutOfBounds,
    /// A loop exceeded its bound.
    LoopBound,
    /// An integer was divided by zero.
    DivisionByZero,
    /// The limit on steps was reached.
    StepLimit,
    /// Calls nested too deeply.
    CallDepth,
    /// Arrays would take more memory than the program may have.
    OutOfMemory,
    /// A null pointer was followed.
    NullPointer,
    /// An address is not a multiple of what it must be one of.
    Misaligned,
    /// Not all threads of a group came to a barrier.
    Barrier,
    /// The program said so.
    Abort,
    /// The value of an empty `Optional` was read.
    NoValue,
    /// A value of interface type from outside says that it is of a type nobody knows.
    UnknownType,
    /// Something was done that only pixels can.
    NoPixel,
    /// The limit on time was reached.
    TimeLimit,
    /// The host stopped it.
    Interrupted,
}

impl Trap {
    /// All of them, with their names in IR text.
    pub const ALL: [(&str, Trap); 15] = [
        ("out_of_bounds", Trap::OutOfBounds),
        ("loop_bound", Trap::LoopBound),
        ("division_by_zero", Trap::DivisionByZero),
        ("step_limit", Trap::StepLimit),
        ("call_depth", Trap::CallDepth),
        ("out_of_memory", Trap::OutOfMemory),
        ("null_pointer", Trap::NullPointer),
        ("misaligned", Trap::Misaligned),
        ("barrier", Trap::Barrier),
        ("abort", Trap::Abort),
        ("no_value", Trap::NoValue),
        ("unknown_type", Trap::UnknownType),
        ("no_pixel", Trap::NoPixel),
        ("time_limit", Trap::TimeLimit),
        ("interrupted", Trap::Interrupted),
    ];

    /// What a program says when it stops for this reason. Programs in C++ and CUDA contain the text.
    pub const fn text(self) -> &'static str {
        match self {
            Trap::OutOfBounds => "index out of bounds",
            Trap::LoopBound => "loop exceeded its bound",
            Trap::DivisionByZero => "division by zero",
            Trap::StepLimit => "step limit reached",
            Trap::CallDepth => "calls nest too deeply",
            Trap::OutOfMemory => "memory limit reached",
            Trap::NullPointer => "null pointer dereference",
            Trap::Misaligned => "misaligned address",
            Trap::Barrier => "barrier not reached by all threads of the group",
            Trap::Abort => "the program aborted",
            Trap::NoValue => "value of an empty optional",
            Trap::UnknownType => "unknown type of an interface value",
            Trap::NoPixel => "pixel operation outside a fragment shader",
            Trap::TimeLimit => "time limit reached",
            Trap::Interrupted => "interrupted",
        }
    }

    /// The reason of that text.
    pub fn said(text: &str) -> Option<Trap> {
        Trap::ALL.iter().map(|(_, trap)| *trap).find(|trap| trap.text() == text)
    }
}

/// What an operation without effect may trap on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrapCause {
    /// An integer divisor of zero, or of minus one.
    Divisor,
    /// An index.
    Index,
    /// The tag of a sum.
    Tag,
}

impl Op {
    /// What the operation may trap on, if it has no effect and may trap at all.
    pub fn trap_cause(&self) -> Option<TrapCause> {
        match self {
            Op::Math(Math::Div | Math::Rem) => Some(TrapCause::Divisor),
            Op::Extract(path) | Op::Insert(path) | Op::InsertAdd(path) => {
                (path.indices() > 0).then_some(TrapCause::Index)
            }
            Op::Tag | Op::Project(_) => Some(TrapCause::Tag),
            Op::Math(
                Math::Add
                | Math::Sub
                | Math::Mul
                | Math::Neg
                | Math::Abs
                | Math::Sign
                | Math::Min
                | Math::Max,
            ) => None,
            Op::Math(Math::Fma | math_group!(logic | bits | compare | test | round | elementary)) => None,
            Op::Select | Op::Convert | Op::Bitcast | Op::Splat | Op::Sum | Op::Swizzle(_) => None,
            Op::Dot | Op::MatVec | Op::VecMat | Op::MatMat | Op::Outer | Op::Transpose => None,
            Op::Pack | Op::Inject(_) | Op::Detach | op_group!(constant) => None,
            op_group!(memory | pointer | texture | threads | host | pixel | call | control | exit) => None,
        }
    }
}

/// A call beside its derivative.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DiffCall {
    /// The function called.
    pub func: FuncId,
    /// Which inputs have a tangent operand.
    pub inputs: InputMask,
    /// Which outputs have a tangent result.
    pub outputs: OutputMask,
}

/// The linear half of a [`DiffCall`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LinCall {
    /// The call it is half of.
    pub call: DiffCall,
    /// How many operands precede the tangents.
    pub primals: u32,
}
