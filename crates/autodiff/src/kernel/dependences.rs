//! How values of a kernel depend on one another, as far as derivatives go. Input: the functions that are differentiated. Output: a
//! graph of values, what begins and ends in memory with a shadow, and the *losses*: instructions that drop a derivative.
//!
//! ```text
//! %a = load w [i]          begins
//! %b = mul %a, %k          %a -> %b
//! %c = wave sum %b         a loss, from %b to %c
//! store y, %c [i]          ends
//! ```
//!
//! Only floats carry derivatives, but the bits of a float are followed through integers until they become a float again.
//!
//! They are followed through memory too: whatever is stored to a buffer of integers may be what is loaded from it. The body of a
//! function with a custom derivative matters only for what it reads from memory ([`by_hand`](mod@crate::by_hand)).
//!
//! A function of the program is analyzed once, a function of the library at each call, so that arguments of one call of `asuint` do
//! not reach the result of another.

mod in_memory;

use super::shadow::Shadows;
use crate::callee::{Callee, resolve};
use crate::linearize::{counters, passes_tangents};
use crate::tangent::differential_path;
use cotangent_base::{EntityMap, Map, Set};
use cotangent_ir::{
    DiffTable, Func, FuncId, FuncKind, Global, Inst, InstData, Module, Op, Path, Region, StructId, Ty, Type,
    Types, Value,
};

/// A call of a function that is looked at for this call alone; none for all calls of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Site(Option<u32>);

/// A value of a function, or what the function returns at a place among its outputs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Node {
    Value(Site, FuncId, Value),
    Output(Site, FuncId, usize),
    /// The integers in some memory; none is memory without a name.
    Memory(Option<Global>),
}

/// Why an instruction drops a derivative.
#[derive(Clone, Copy, Debug)]
pub(super) enum Why {
    /// The operation has no derivative.
    Operation,
    /// Bits of a float become a number again.
    Bits,
    /// The program leaves data of this type out of the derivative.
    Data(Ty),
    /// The custom derivative of this function leaves an argument of this type out.
    Custom(FuncId, Ty),
    /// The custom derivative of this function says nothing of what the function reads from memory.
    Memory(FuncId),
}

/// An instruction that drops a derivative.
#[derive(Clone, Debug)]
pub(super) struct Loss {
    pub why: Why,
    pub at: Place,
    pub takes: Vec<Node>,
    pub gives: Vec<Node>,
}

/// An instruction of a function, where that is called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub site: Site,
    pub func: FuncId,
    pub inst: Inst,
}

/// The most calls of library functions that are analyzed separately.
const MOST_SITES: usize = 1 << 16;

/// The graph.
#[derive(Default)]
pub(super) struct Dependences {
    edges: Vec<(Node, Node)>,
    begins: Vec<Node>,
    ends: Vec<Node>,
    /// The calls that are looked at alone.
    sites: Vec<Place>,
    /// The instructions that drop a derivative.
    pub losses: Vec<Loss>,
}

impl Dependences {
    /// Looks at the functions in `followed`. `caring` have a custom derivative that takes care of memory, `made` are the structures that carry derivatives in kernels only. `is_own` says which
    /// functions are those of the program.
    pub fn of(
        module: &mut Module,
        followed: &[FuncId],
        (shadows, caring, made): (&Shadows, &Set<FuncId>, &Set<StructId>),
        is_own: &dyn Fn(&Func) -> bool,
    ) -> Self {
        let mut found = Dependences::default();
        let Module { types, diff, funcs, .. } = module;
        let has_shadow = |global| shadows.has(global);
        for &id in followed.iter().filter(|id| is_own(&funcs[**id])) {
            let site = Site(None);
            let func = &funcs[id];
            let (types, has_shadow, found) = (&mut *types, &has_shadow, &mut found);
            let inside = vec![];
            let mut scan = Scan {
                types,
                diff,
                funcs,
                func,
                id,
                site,
                made,
                caring,
                has_shadow,
                is_own,
                inside,
                by_hand: None,
                found,
            };
            scan.region(func.body, None, &mut vec![]);
        }
        found
    }

    /// The call that a site is, unless it is all.
    pub fn call(&self, site: Site) -> Option<Place> {
        site.0.map(|site| self.sites[site as usize])
    }

    /// What depends on memory with a shadow.
    pub fn varied(&self) -> Set<Node> {
        reach(&self.begins, self.edges.iter().copied())
    }

    /// What such memory depends on.
    pub fn useful(&self) -> Set<Node> {
        reach(&self.ends, self.edges.iter().map(|(from, to)| (*to, *from)))
    }
}

/// The nodes that edges lead to from `start`.
fn reach(start: &[Node], edges: impl Iterator<Item = (Node, Node)>) -> Set<Node> {
    let mut next: Map<Node, Vec<Node>> = Map::default();
    edges.for_each(|(from, to)| next.entry(from).or_default().push(to));
    let mut open = start.to_vec();
    let mut seen: Set<Node> = start.iter().copied().collect();
    while let Some(node) = open.pop() {
        let reached = next.get(&node).into_iter().flatten();
        open.extend(reached.copied().filter(|node| seen.insert(*node)));
    }
    seen
}

/// What a type is to derivatives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carries {
    Derivatives,
    /// Integers, which may be the bits of floats.
    Bits,
    Nothing,
}

/// A look at one function.
struct Scan<'a> {
    types: &'a mut Types,
    diff: &'a DiffTable,
    funcs: &'a EntityMap<FuncId, Func>,
    func: &'a Func,
    id: FuncId,
    site: Site,
    made: &'a Set<StructId>,
    caring: &'a Set<FuncId>,
    has_shadow: &'a dyn Fn(Global) -> bool,
    is_own: &'a dyn Fn(&Func) -> bool,
    /// The functions of the library around.
    inside: Vec<FuncId>,
    /// The function around that has a custom derivative.
    by_hand: Option<FuncId>,
    found: &'a mut Dependences,
}

impl Scan<'_> {
    /// `owner` takes what the region yields, unless that is a condition; `loops` are those around, innermost last.
    fn region(&mut self, region: Region, owner: Option<Inst>, loops: &mut Vec<Inst>) {
        for &inst in &self.func.regions[region].insts {
            let data = &self.func.insts[inst];
            if data.op.is_exit() {
                self.exit(data, owner, loops);
            } else if data.op.is_loop() {
                self.arrive(inst, &data.operands[counters(&data.op)..]);
                let last = data.regions.len() - 1;
                loops.push(inst);
                for (i, &region) in data.regions.iter().enumerate() {
                    self.region(region, Some(inst).filter(|_| i == last), loops);
                }
                loops.pop();
            } else if !data.regions.is_empty() {
                data.regions.iter().for_each(|region| self.region(*region, Some(inst), loops));
            } else if let Op::Call(callee) = data.op {
                self.call(inst, data, callee);
            } else {
                self.plain(inst, data);
            }
        }
    }

    fn exit(&mut self, data: &InstData, owner: Option<Inst>, loops: &[Inst]) {
        if data.op == Op::Return {
            for (i, &value) in data.operands.iter().enumerate() {
                self.edge(self.value(value), Node::Output(self.site, self.id, i));
            }
        } else if let Op::Break(n) | Op::Continue(n) = data.op {
            self.arrive(loops[loops.len() - 1 - n as usize], &data.operands);
        } else if let Some(owner) = owner {
            self.arrive(owner, &data.operands);
        }
    }

    /// `values` become results of `inst`; if it is a loop, its arguments too.
    fn arrive(&mut self, inst: Inst, values: &[Value]) {
        let data = &self.func.insts[inst];
        for (i, &value) in values.iter().enumerate() {
            let Some(&result) = data.results.get(i) else { return };
            self.flow(value, result);
            if data.op.is_loop() {
                let slot = counters(&data.op) + i;
                let args = data.regions.iter().map(|region| self.func.regions[*region].args[slot]);
                args.collect::<Vec<_>>().into_iter().for_each(|arg| self.flow(value, arg));
            }
        }
    }

    fn value(&self, value: Value) -> Node {
        Node::Value(self.site, self.id, value)
    }

    fn edge(&mut self, from: Node, to: Node) {
        self.found.edges.push((from, to));
    }

    fn flow(&mut self, from: Value, to: Value) {
        self.edge(self.value(from), self.value(to));
    }

    fn carries(&mut self, value: Value) -> Carries {
        let ty = self.func.ty(value);
        if self.diff.differential(self.types, ty).is_some() {
            Carries::Derivatives
        } else if self.types.scalar_of(ty).is_some_and(|scalar| scalar.is_int()) {
            Carries::Bits
        } else {
            Carries::Nothing
        }
    }

    /// The nodes of those of `values` that carry something.
    fn nodes(&mut self, values: &[Value], what: Carries) -> Vec<Node> {
        let mut carrying: Vec<Value> = values.to_vec();
        carrying.retain(|value| self.carries(*value) == what);
        carrying.into_iter().map(|value| self.value(value)).collect()
    }

    fn lose(&mut self, inst: Inst, takes: Vec<Node>, gives: Vec<Node>, why: Why) {
        if self.by_hand.is_some() {
            // Nothing is differentiated here. What depends on memory is lost with the function.
            let edges = takes.iter().flat_map(|from| gives.iter().map(|to| (*from, *to)));
            return self.found.edges.extend(edges);
        }
        let at = Place { site: self.site, func: self.id, inst };
        self.found.losses.push(Loss { why, at, takes, gives });
    }

    fn plain(&mut self, inst: Inst, data: &InstData) {
        if self.memory(inst, data) || data.op == Op::Detach {
            return;
        }
        let &[result] = &data.results[..] else { return };
        let to = self.carries(result);
        if let Some(value) = self.part_left_out(data) {
            if self.is_made(value) {
                let [takes, gives] =
                    [&data.operands[..], &[result]].map(|v| self.nodes(v, Carries::Derivatives));
                let ty = self.func.ty(value);
                self.lose(inst, takes, gives, Why::Data(ty));
            }
            // The rest of what is inserted into stays.
            if let (Op::Insert(_), &[whole, ..]) = (&data.op, &data.operands[..]) {
                self.flow(whole, result);
            }
            return;
        }
        if let Op::Bitcast | Op::Convert = data.op {
            return self.conversion(inst, data, result, to);
        }
        let operands = values_of(data);
        let takes = self.nodes(operands, to);
        if to == Carries::Nothing || takes.is_empty() {
            return;
        }
        let stepwise = matches!(data.op, Op::Math(_));
        if to == Carries::Bits || passes_tangents(&data.op) {
            takes.into_iter().for_each(|from| self.edge(from, self.value(result)));
        } else if !stepwise {
            self.lose(inst, takes, vec![self.value(result)], Why::Operation);
        }
    }

    /// A number of one type made a number of another, or read as one.
    fn conversion(&mut self, inst: Inst, data: &InstData, result: Value, to: Carries) {
        let value = data.operands[0];
        match (self.carries(value), to) {
            (Carries::Nothing, _) | (_, Carries::Nothing) => {}
            (Carries::Bits, Carries::Bits) => self.flow(value, result),
            (Carries::Derivatives, Carries::Derivatives) if data.op == Op::Convert => {
                self.flow(value, result)
            }
            // The integer below a float is constant between its steps; its bits are not.
            (Carries::Derivatives, Carries::Bits) if data.op == Op::Convert => {}
            (Carries::Derivatives, Carries::Bits) => self.flow(value, result),
            (Carries::Bits | Carries::Derivatives, Carries::Derivatives) => {
                let [takes, gives] = [value, result].map(|value| vec![self.value(value)]);
                self.lose(inst, takes, gives, Why::Bits);
            }
        }
    }

    /// The value that goes into a place of a structure, or comes from one, that the derivative of the structure leaves out although
    /// it carries derivatives itself.
    fn part_left_out(&mut self, data: &InstData) -> Option<Value> {
        let (whole, value, path) = match (&data.op, &data.operands[..]) {
            (Op::Extract(path), &[whole, ..]) => (whole, data.results[0], path.clone()),
            (Op::Insert(path) | Op::InsertAdd(path), &[whole, value, ..]) => (whole, value, path.clone()),
            (Op::Pack, parts) => {
                let left_out = |(i, _): &(usize, &Value)| {
                    let ty = self.func.ty(data.results[0]);
                    differential_path(self.types, self.diff, ty, &Path::part(*i as u32)).is_none()
                };
                let parts: Vec<Value> =
                    parts.iter().enumerate().filter(left_out).map(|(_, part)| *part).collect();
                let carries = self.carries(data.results[0]) == Carries::Derivatives;
                return parts.into_iter().find(|part| carries && self.is_made(*part));
            }
            _ => return None,
        };
        let ty = self.func.ty(whole);
        let left_out = differential_path(self.types, self.diff, ty, &path).is_none();
        (left_out && self.carries(value) == Carries::Derivatives).then_some(value)
    }

    /// Whether a value carries derivatives in kernels only.
    fn is_made(&self, value: Value) -> bool {
        let mut ty = self.func.ty(value);
        while let Type::Array(elem, _) = self.types.get(ty) {
            ty = elem;
        }
        matches!(self.types.get(ty), Type::Struct(id) | Type::Sum(id) if self.made.contains(&id))
    }

    fn call(&mut self, inst: Inst, data: &InstData, callee: FuncId) {
        let (callee, kind) = resolve(self.funcs, callee);
        let func = &self.funcs[callee];
        let is_own = func.diff.is_custom() || matches!(func.kind, FuncKind::Request(..));
        let [takes, gives]: [Vec<Node>; 2] = [
            data.operands.iter().zip(func.sig.inputs()).filter(|(_, p)| p.diff).map(|(x, _)| *x).collect(),
            data.results.iter().zip(func.sig.outputs()).filter(|(_, o)| o.diff).map(|(y, _)| *y).collect(),
        ]
        .map(|values: Vec<Value>| values.into_iter().map(|value| self.value(value)).collect());
        match kind {
            Callee::Rule(_) => {
                for &from in &takes {
                    gives.iter().for_each(|to| self.edge(from, *to));
                }
            }
            _ if self.by_hand.is_some() && func.kind == FuncKind::Defined && !func.diff.constant => {
                self.enter(inst, data, callee);
            }
            Callee::Constant => {}
            Callee::Derived if is_own => {
                self.found.ends.extend(takes);
                self.found.begins.extend(&gives);
                self.left_out_by_hand(inst, data, callee, gives.clone());
                if func.kind == FuncKind::Defined && !self.caring.contains(&callee) {
                    self.memory_left_out(inst, callee, gives);
                }
            }
            Callee::Derived => self.enter(inst, data, callee),
        }
    }

    fn new_site(&mut self, inst: Inst) -> Site {
        self.found.sites.push(Place { site: self.site, func: self.id, inst });
        Site(Some(self.found.sites.len() as u32 - 1))
    }

    /// What goes into a function that is differentiated from its body, and what comes out.
    fn enter(&mut self, inst: Inst, data: &InstData, callee: FuncId) {
        let func = &self.funcs[callee];
        let is_apart = self.by_hand.is_some();
        let alone = (is_apart || !(self.is_own)(func))
            && !self.inside.contains(&callee)
            && self.found.sites.len() < MOST_SITES;
        let site = if alone { self.new_site(inst) } else { Site(None) };
        for ((&value, &input), param) in data.operands.iter().zip(func.inputs()).zip(func.sig.inputs()) {
            if is_apart || param.diff || self.carries(value) == Carries::Bits {
                self.edge(self.value(value), Node::Value(site, callee, input));
            }
        }
        for (i, (&value, output)) in data.results.iter().zip(func.sig.outputs()).enumerate() {
            if is_apart || output.diff || self.carries(value) == Carries::Bits {
                self.edge(Node::Output(site, callee, i), self.value(value));
            }
        }
        if alone {
            self.inside_of(site, callee);
        }
    }

    /// Looks at a function for one call of it.
    fn inside_of(&mut self, site: Site, callee: FuncId) {
        self.inside.push(callee);
        let Scan { diff, funcs, made, caring, has_shadow, is_own, by_hand, .. } = *self;
        let (types, found) = (&mut *self.types, &mut *self.found);
        let (func, id, inside) = (&funcs[callee], callee, self.inside.clone());
        let mut scan = Scan {
            types,
            diff,
            funcs,
            func,
            id,
            site,
            made,
            caring,
            has_shadow,
            is_own,
            inside,
            by_hand,
            found,
        };
        scan.region(func.body, None, &mut vec![]);
        self.inside.pop();
    }

    /// A custom derivative gives none for arguments of types that are not differentiable elsewhere.
    fn left_out_by_hand(&mut self, inst: Inst, data: &InstData, callee: FuncId, gives: Vec<Node>) {
        let func = &self.funcs[callee];
        for (&value, param) in data.operands.iter().zip(func.sig.inputs()) {
            if !param.diff && !func.diff.held.contains(&param.name) && self.is_made(value) {
                let takes = self.nodes(&[value], Carries::Derivatives);
                self.lose(inst, takes, gives.clone(), Why::Custom(callee, param.ty));
            }
        }
    }
}

/// The operands that are values, without indices and conditions.
fn values_of(data: &InstData) -> &[Value] {
    if let Op::Extract(_) | Op::Offset = data.op {
        &data.operands[..1]
    } else if let Op::Insert(_) | Op::InsertAdd(_) = data.op {
        &data.operands[..2]
    } else if data.op == Op::Select {
        &data.operands[1..]
    } else {
        &data.operands
    }
}
