//! Computes the effects of functions: the memory they read and write, and other observable actions.
//!
//! ```text
//! fn bump(b: rw_buffer f32, i: i32)      reads, writes any buffer of that type
//!   x = load b [i]; store b x+1 [i]
//! fn twice(..)  call bump; call bump     the same, through its calls
//! fn sq(x)      return x*x               nothing
//! ```
//!
//! [`Effects::of`] walks every body once and propagates summaries from callees to callers until nothing changes, so recursion
//! is no special case. Each function has two summaries: the effects of running it, and the effects of running *a derivative*
//! of it, which include the custom derivatives of everything it calls. The second applies to derivatives that are requested
//! but not written yet, and to an [`Op::DiffCall`].
//!
//! A function with a custom derivative, or that calls one, is a *source*: its derivative may have a result even if no tangent
//! or cotangent arrives, and need not be linear. While derivatives may still be taken, calls of sources are not removed,
//! merged or moved, even if they have no effect. [`Effects::of`] is for the time after that and ignores sources.
//!
//! Memory is compared by global. A handle that is not itself a global (a parameter, a choice between two) may be any resource
//! of its type. A pointer of unknown origin may point anywhere. At a barrier, other threads may have written any memory.
//!
//! [`Effects::below`] analyses only some functions and their callees, for queries about a few of many functions.
//!
//! The analysis ignores element indices and does not follow handles from arguments to parameters. A function that did not
//! exist when the analysis ran is assumed to have every effect.

use crate::consts;
use cotangent_base::{EntityMap, EntitySet, Map, Scalar, Set};
use cotangent_ir::texture::{Opaque, Texture};
use cotangent_ir::{
    Access, Const, Control, Effect, Func, FuncId, FuncKind, Global, Inst, InstData, Math, Module, Op, Region,
    TrapCause, Ty, Type, Types, Value,
};

/// The memory effects of functions of a module.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    summaries: Map<Node, Summary>,
    globals: EntityMap<Global, Ty>,
    /// Whether all derivatives have been taken.
    last: bool,
}

/// What an instruction or a function does besides giving results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Does {
    /// It reads memory.
    pub reads: bool,
    /// It writes memory.
    pub writes: bool,
    /// It may trap on purpose. Indices outside and division by zero do not count: whatever has no other effect
    /// may be removed together with its trap.
    pub asserts: bool,
    /// It is a source, and derivatives may still be taken.
    pub sources: bool,
}

impl Does {
    /// Nothing at all.
    pub const NOTHING: Does = Does { reads: false, writes: false, asserts: false, sources: false };
    /// All there is, for what is not known.
    pub const EVERYTHING: Does = Does { reads: true, writes: true, asserts: true, sources: true };

    /// Whether it must stay even if nobody uses its results.
    pub fn stays(self) -> bool {
        self.writes || self.asserts || self.sources
    }

    /// Whether nothing but its results and their derivatives depends on how often it runs.
    pub fn is_pure(self) -> bool {
        self == Does::NOTHING
    }

    /// What doing both does.
    pub fn and(self, other: Does) -> Does {
        Does {
            reads: self.reads || other.reads,
            writes: self.writes || other.writes,
            asserts: self.asserts || other.asserts,
            sources: self.sources || other.sources,
        }
    }
}

/// What may be written: globals, anything of these types, or any memory at all.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Writes {
    globals: Vec<Global>,
    types: Vec<Ty>,
    anything: bool,
}

/// Which resources a handle may stand for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// Exactly this one.
    Global(Global),
    /// Any of this type.
    AnyOf(Ty),
    /// Any at all.
    Any,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Summary {
    does: Does,
    globals: EntitySet<Global>,
    types: EntitySet<Ty>,
    /// Any memory at all.
    anything: bool,
}

impl Summary {
    /// Adds `other`; says whether that was new.
    fn absorb(&mut self, other: &Summary) -> bool {
        let (does, anything) = (self.does.and(other.does), self.anything || other.anything);
        let mut new = (does, anything) != (self.does, self.anything);
        (self.does, self.anything) = (does, anything);
        other.globals.iter().for_each(|global| new |= self.globals.insert(global));
        other.types.iter().for_each(|ty| new |= self.types.insert(ty));
        new
    }

    fn write(&mut self, place: Place) {
        match place {
            Place::Global(global) => _ = self.globals.insert(global),
            Place::AnyOf(ty) => _ = self.types.insert(ty),
            Place::Any => self.anything = true,
        }
    }
}

/// Whose summary: of running a function, of its derivatives, or of being called where derivatives are taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Node {
    Run(FuncId),
    Derivative(FuncId),
    Source(FuncId),
}

impl Node {
    fn func(self) -> FuncId {
        match self {
            Node::Run(id) | Node::Derivative(id) | Node::Source(id) => id,
        }
    }
}

impl Effects {
    /// The effects of every function of `module`, after all derivatives have been taken.
    pub fn of(module: &Module) -> Effects {
        Effects::below(module, module.funcs.keys()).without_sources()
    }

    /// The same effects without sources, for code that is not differentiated any more.
    pub fn without_sources(self) -> Effects {
        Effects { last: true, ..self }
    }

    /// The effects of `roots` and of all that they, or their derivatives, may call, while derivatives are taken.
    pub fn below(module: &Module, roots: impl IntoIterator<Item = FuncId>) -> Effects {
        let globals = module.globals.values().map(|g| g.ty).collect();
        let mut effects = Effects { summaries: Map::default(), globals, last: false };
        let mut users: Map<Node, Vec<Node>> = Map::default();
        let mut open: Vec<FuncId> = roots.into_iter().collect();
        let mut seen: Set<FuncId> = open.iter().copied().collect();
        while let Some(id) = open.pop() {
            let func = &module.funcs[id];
            let (own, needs) = local(&module.types, func);
            effects.summaries.insert(Node::Run(id), own.clone());
            effects.summaries.insert(Node::Derivative(id), own);
            effects.summaries.insert(Node::Source(id), source(func));
            let calls = needs.into_iter().flat_map(|need| need.links(id, func));
            for (user, used) in calls.chain(custom(id, func)) {
                users.entry(used).or_default().push(user);
                open.extend(seen.insert(used.func()).then_some(used.func()));
            }
        }
        effects.flow(&users);
        effects
    }

    /// Lets summaries flow to those who use them, until nothing changes.
    fn flow(&mut self, users: &Map<Node, Vec<Node>>) {
        let mut list: Vec<Node> = users.keys().copied().collect();
        while let Some(node) = list.pop() {
            let summary = self.summaries[&node].clone();
            for user in &users[&node] {
                let absorbs = self.summaries.get_mut(user).is_some_and(|s| s.absorb(&summary));
                list.extend((absorbs && users.contains_key(user)).then_some(*user));
            }
        }
    }

    fn summary(&self, node: Node) -> Option<&Summary> {
        self.summaries.get(&node)
    }

    /// What running a function does, and whether it is a source.
    pub fn func(&self, id: FuncId) -> Does {
        self.does(Node::Run(id))
    }

    /// What running any derivative of a function may do, and whether it is a source.
    pub fn derivative(&self, id: FuncId) -> Does {
        self.does(Node::Derivative(id))
    }

    fn does(&self, node: Node) -> Does {
        let does = |node| self.summary(node).map_or(Does::EVERYTHING, |s| s.does);
        let sources = !self.last && does(Node::Source(node.func())).sources;
        Does { sources, ..does(node) }
    }

    /// Whether running a function may write `place`.
    pub fn may_write(&self, id: FuncId, place: Place) -> bool {
        self.summary(Node::Run(id)).is_none_or(|s| self.touches(s, place))
    }

    /// Whether running any derivative of a function may write `place`.
    pub fn derivative_may_write(&self, id: FuncId, place: Place) -> bool {
        self.summary(Node::Derivative(id)).is_none_or(|s| self.touches(s, place))
    }

    /// What running any derivative of a function may write.
    pub fn derivative_writes(&self, id: FuncId) -> Writes {
        match self.summary(Node::Derivative(id)) {
            Some(s) => Writes {
                globals: s.globals.iter().collect(),
                types: s.types.iter().collect(),
                anything: s.anything,
            },
            None => Writes { globals: vec![], types: vec![], anything: true },
        }
    }

    /// The globals a function may write, handles of unknown origin taken for all of their type, in order.
    pub fn written(&self, id: FuncId) -> Vec<Global> {
        let may = |g: &Global| self.may_write(id, Place::Global(*g));
        self.globals.keys().filter(may).collect()
    }

    fn touches(&self, summary: &Summary, place: Place) -> bool {
        if summary.anything {
            return true;
        }
        match place {
            Place::Any => !summary.globals.is_empty() || !summary.types.is_empty(),
            Place::Global(global) => {
                summary.globals.contains(global)
                    || self.globals.get(global).is_none_or(|ty| summary.types.contains(*ty))
            }
            Place::AnyOf(ty) => {
                summary.types.contains(ty) || summary.globals.iter().any(|g| self.globals.get(g) == Some(&ty))
            }
        }
    }

    /// What an operation does by itself or through its callee, not counting its regions.
    pub fn shallow(&self, op: &Op) -> Does {
        match op.effect() {
            Effect::None | Effect::Exit => Does::NOTHING,
            Effect::Read => Does { reads: true, ..Does::NOTHING },
            Effect::Write if matches!(op, Op::Assert(_)) => Does { asserts: true, ..Does::NOTHING },
            Effect::Write => Does { writes: true, ..Does::NOTHING },
            Effect::Inner => match need(op) {
                Some(Need::Call(id)) => self.func(id),
                Some(Need::Derivative(id)) => self.derivative(id),
                // A loop without a bound may never end, which is something to see.
                None if matches!(op, Op::While(info) if info.max_iters.is_none()) => {
                    Does { asserts: true, ..Does::NOTHING }
                }
                None => Does::NOTHING,
            },
        }
    }

    /// What an instruction does, its regions included. Exits are no effect: whether control leaves is a
    /// question of structure.
    pub fn op(&self, func: &Func, inst: Inst) -> Does {
        let data = &func.insts[inst];
        let inner = data.regions.iter().map(|r| self.region(func, *r));
        inner.fold(self.shallow(&data.op), Does::and)
    }

    /// What the instructions of a region do.
    pub fn region(&self, func: &Func, region: Region) -> Does {
        let mut does = Does::NOTHING;
        func.walk(region, &mut |inst| does = does.and(self.shallow(&func.insts[inst].op)));
        does
    }
}

/// Which resources `handle` may stand for.
pub fn place(types: &Types, func: &Func, handle: Value) -> Place {
    match func.def(handle) {
        Some(InstData { op: Op::Global(global), .. }) => Place::Global(*global),
        Some(InstData { op: Op::Point(_) | Op::Offset, operands, .. }) => place(types, func, operands[0]),
        _ if matches!(types.get(func.ty(handle)), Type::Ref(_)) => Place::Any,
        _ => Place::AnyOf(func.ty(handle)),
    }
}

/// Whether the type of `handle` is that of a read-only resource, which no program writes.
pub fn is_read_only(types: &Types, func: &Func, handle: Value) -> bool {
    match types.get(func.ty(handle)) {
        Type::Buffer(_, access) | Type::Opaque(Opaque::Texture(Texture { access, .. })) => {
            access == Access::Read
        }
        Type::Unit
        | Type::Scalar(_)
        | Type::Vector(..)
        | Type::Matrix(..)
        | Type::Array(..)
        | Type::Struct(_)
        | Type::Sum(_)
        | Type::Opaque(_)
        | Type::Ref(_) => false,
    }
}

/// Whether running an operation where it did not run before could stop the program or keep it from ending.
pub fn may_trap(types: &Types, func: &Func, inst: Inst) -> bool {
    let data = &func.insts[inst];
    match data.op.trap_cause() {
        Some(TrapCause::Divisor) => {
            !types.scalar_of(func.ty(data.operands[1])).is_some_and(Scalar::is_float)
                && !divides_safely(func, data.operands[1])
        }
        Some(TrapCause::Index) => true,
        // Where a sum is, there is a tag.
        Some(TrapCause::Tag) => false,
        None => has_trapping_effect(&data.op),
    }
}

/// Whether an operation that has an effect may stop the program, or must not happen where it did not.
fn has_trapping_effect(op: &Op) -> bool {
    match op {
        Op::Math(_) | Op::Extract(_) | Op::Insert(_) | Op::InsertAdd(_) => false,
        Op::Const(_) | Op::Zero | Op::Undef | Op::Select | Op::Convert | Op::Bitcast | Op::Splat => false,
        Op::Sum | Op::Swizzle(_) | Op::Dot | Op::MatVec | Op::VecMat | Op::MatMat | Op::Outer => false,
        Op::Transpose | Op::Pack | Op::Inject(_) | Op::Project(_) | Op::Tag => false,
        Op::Detach | Op::Global(_) | Op::Length | Op::Point(_) | Op::Offset | Op::Address | Op::Pointer => {
            false
        }
        // Outside a texture nothing happens.
        Op::Sample(_) | Op::Texel | Op::StoreTexel | Op::Dimensions => false,
        Op::Load(_) | Op::Store(_) | Op::Assert(_) => true,
        // Where a quad has parted, pixels have no neighbours any more.
        Op::Atomic(_)
        | Op::Barrier(_)
        | Op::Print(_)
        | Op::TargetText(_)
        | Op::Discard
        | Op::Screen(_)
        | Op::Wave(_) => true,
        Op::DiffCall(_) | Op::LinCall(_) | Op::Call(_) => true,
        Op::If | Op::Switch(_) | Op::While(_) | Op::For(_) => true,
        Op::Yield | Op::Break(_) | Op::Continue(_) | Op::Return => true,
    }
}

/// Whether dividing an integer by `divisor` cannot trap: it is a constant other than zero and minus one, by
/// which the least number overflows.
fn divides_safely(func: &Func, divisor: Value) -> bool {
    let Some(data) = func.def(divisor) else {
        return false;
    };
    if let Op::Splat = data.op {
        return divides_safely(func, data.operands[0]);
    }
    matches!(data.op, Op::Const(Const::Int(n)) if !matches!(n, 0 | -1))
}

/// What an operation needs from another function.
enum Need {
    Call(FuncId),
    Derivative(FuncId),
}

impl Need {
    /// Which summaries of the user `id` grow with which of the function needed.
    fn links(self, id: FuncId, user: &Func) -> Vec<(Node, Node)> {
        let (used, run) = match self {
            Need::Call(used) => (used, Node::Run(used)),
            Need::Derivative(used) => (used, Node::Derivative(used)),
        };
        let mut links = vec![(Node::Run(id), run), (Node::Derivative(id), Node::Derivative(used))];
        links.extend(user.is_differentiated_from_body().then_some((Node::Source(id), Node::Source(used))));
        links
    }
}

fn need(op: &Op) -> Option<Need> {
    match op.control() {
        Control::Call(id) => Some(Need::Call(id)),
        Control::DiffCall(call) => Some(Need::Derivative(call.func)),
        Control::LinCall(call) => Some(Need::Derivative(call.call.func)),
        Control::Plain | Control::If | Control::Switch(_) => None,
        Control::While(_) | Control::For(_) | Control::Exit(_) => None,
    }
}

/// What a body does by itself, and what it needs of others.
fn local(types: &Types, func: &Func) -> (Summary, Vec<Need>) {
    let (mut own, mut needs) = (Summary::default(), Vec::new());
    if let FuncKind::Request(_, of) = func.kind {
        needs.push(Need::Derivative(of));
    }
    let alone = Effects::default();
    func.walk(func.body, &mut |inst| {
        let data = &func.insts[inst];
        if let Some(need) = need(&data.op) {
            needs.push(need);
        } else {
            own.does = own.does.and(alone.shallow(&data.op));
        }
        if let Op::Store(_) | Op::StoreTexel | Op::Atomic(_) = data.op {
            own.write(place(types, func, data.operands[0]));
        } else if let Op::Barrier(_) = data.op {
            own.write(Place::Any);
        }
    });
    (own, needs)
}

/// A derivative of a function runs it, its custom derivatives, and derivatives of its substitute.
fn custom(id: FuncId, func: &Func) -> Vec<(Node, Node)> {
    let me = Node::Derivative(id);
    let substitute = func.diff.substitute;
    let mut links = vec![(me, Node::Run(id))];
    for used in func.diff.links().filter(|link| Some(*link) != substitute) {
        links.extend([(me, Node::Run(used)), (me, Node::Derivative(used))]);
    }
    links.extend(substitute.map(|used| (me, Node::Derivative(used))));
    links.extend(substitute.map(|used| (Node::Source(id), Node::Source(used))));
    links
}

/// Whether a function is a source by itself.
fn source(func: &Func) -> Summary {
    let sources = func.diff.is_custom() && !func.diff.constant;
    Summary { does: Does { sources, ..Does::NOTHING }, ..Summary::default() }
}

/// Whether the derivative of an operation may be infinite or NaN although its operands are finite.
pub fn is_steep(types: &Types, func: &Func, inst: Inst) -> bool {
    let data = &func.insts[inst];
    let is_float = |v: &Value| types.scalar_of(func.ty(*v)).is_some_and(Scalar::is_float);
    let Op::Math(math) = data.op else { return false };
    has_steep_places(math)
        && data.results.iter().any(is_float)
        && !(math == Math::Div && is_nonzero(types, func, data.operands[1]))
}

/// Whether a divisor is a constant other than zero, or where it would be zero such a constant is taken in its place.
fn is_nonzero(types: &Types, func: &Func, divisor: Value) -> bool {
    let constant = |value| match consts::uniform(types, func, value) {
        Some(Const::Float(bits)) => Some(f64::from_bits(bits)),
        Some(Const::Int(_) | Const::Bool(_)) | None => None,
    };
    let is_other = |value| constant(value).is_some_and(|number| number != 0.0);
    let is_zero_test = |test: Value, of: Value| {
        let test = func.def(test).filter(|test| test.op == Op::Math(Math::Eq));
        test.is_some_and(|test| test.operands[0] == of && constant(test.operands[1]) == Some(0.0))
    };
    is_other(divisor)
        || matches!(func.def(divisor), Some(InstData { op: Op::Select, operands, .. })
            if is_zero_test(operands[0], operands[2]) && is_other(operands[1]))
}

fn has_steep_places(math: Math) -> bool {
    match math {
        Math::Div | Math::Rem | Math::Pow | Math::Sqrt | Math::Rsqrt => true,
        Math::Exp | Math::Exp2 | Math::Log | Math::Log2 | Math::Log10 => true,
        Math::Tan | Math::Asin | Math::Acos | Math::Atan2 => true,
        Math::Sinh | Math::Cosh | Math::Acosh | Math::Atanh => true,
        Math::Add | Math::Sub | Math::Mul | Math::Neg | Math::Abs | Math::Sign | Math::Min | Math::Max => {
            false
        }
        Math::Fma | Math::Sin | Math::Cos | Math::Atan | Math::Tanh | Math::Asinh => false,
        Math::Floor | Math::Ceil | Math::Round | Math::RoundEven | Math::Trunc => false,
        Math::And | Math::Or | Math::Xor | Math::Not | Math::Shl | Math::Shr => false,
        Math::CountBits | Math::FirstBitLow | Math::FirstBitHigh | Math::ReverseBits => false,
        Math::Eq | Math::Ne | Math::Lt | Math::Le | Math::Gt | Math::Ge => false,
        Math::IsNan | Math::IsInf => false,
    }
}
