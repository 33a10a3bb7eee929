//! Replaces the accesses of a kernel by calls of accessors: functions with custom derivatives that use the shadows.
//!
//! There is one accessor for each memory, path and kind of access. Uniforms are read once, at the beginning of a function, so that
//! what its loops contribute is added up before the shadow is touched.

use super::accesses::{Accesses, is_handle, memory, used};
use super::shadow::{Place, Shadows};
use cotangent_base::{Map, Set, Span, Symbol};
use cotangent_ir::{
    Atomic, AtomicKind, Barrier, Builder, Const, Dir, Func, FuncId, Global, GlobalKind, Inline, Inst,
    InstData, Memory, Mode, Module, Op, Param, Path, Ret, Signature, StructField, Ty, Type, Value,
};

/// What is done to a part of memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Kind {
    Load,
    Store,
    Add,
    Uniform,
    Texel,
    StoreTexel,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Kind::Load => "load",
            Kind::Store => "store",
            Kind::Add => "add",
            Kind::Uniform => "read",
            Kind::Texel => "texel",
            Kind::StoreTexel => "store_texel",
        }
    }

    /// Whether a value is given to it.
    const fn takes_value(self) -> bool {
        matches!(self, Kind::Store | Kind::Add | Kind::StoreTexel)
    }

    /// How many operands stand before the indices: the memory and perhaps the value.
    const fn before_indices(self) -> usize {
        match self {
            Kind::Store | Kind::Add => 2,
            Kind::Load | Kind::Uniform | Kind::Texel | Kind::StoreTexel => 1,
        }
    }
}

/// Which part of which memory is accessed.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    kind: Kind,
    global: Global,
    path: Path,
    /// The types of the indices.
    indices: Vec<Ty>,
    /// The type of the part.
    part: Ty,
}

/// Constant operands, with their types.
type Constants = Vec<(Const, Ty)>;

/// The accessors of a kernel.
pub(super) struct Accessors<'a> {
    mode: Mode,
    accesses: &'a Accesses,
    known: Map<Key, FuncId>,
    /// What waits: the operation, the constants that it takes, and the function.
    waits: Vec<(Op, Constants, FuncId)>,
    /// The types of pairs of a value and its derivative.
    pairs: Map<Ty, Ty>,
}

impl<'a> Accessors<'a> {
    /// None yet.
    pub fn new(mode: Mode, accesses: &'a Accesses) -> Self {
        let (known, pairs) = (Map::default(), Map::default());
        Accessors { mode, accesses, known, waits: vec![], pairs }
    }

    /// The buffers that the derivative writes as the kernel does.
    pub fn copies(&self, module: &Module) -> Vec<Global> {
        let params = module.globals.iter().filter(|(_, data)| data.kind == GlobalKind::Param);
        params.map(|(global, _)| global).filter(|global| self.runs_stores(*global)).collect()
    }

    /// Whether stores to a buffer are part of the backward kernel: what it reads must be there.
    fn runs_stores(&self, global: Global) -> bool {
        self.mode == Mode::Backward && self.accesses.done_to(global).is_some_and(|d| d.read && d.written)
    }

    /// Replaces the accesses of one function.
    pub fn rewrite(&mut self, module: &mut Module, shadows: &Shadows, id: FuncId) {
        self.rewrite_uniforms(module, shadows, id);
        let used = used(&module.funcs[id]);
        for region in module.funcs[id].regions.keys() {
            for inst in std::mem::take(&mut module.funcs[id].regions[region].insts) {
                if self.replace(module, shadows, id, inst, &used) {
                    module.funcs[id].regions[region].insts.push(inst);
                }
            }
        }
    }

    /// Makes an instruction a call, if it is an access with a derivative. Says whether it stays.
    fn replace(
        &mut self,
        module: &mut Module,
        shadows: &Shadows,
        id: FuncId,
        inst: Inst,
        used: &Set<Value>,
    ) -> bool {
        let data = module.funcs[id].insts[inst].clone();
        if let Some(given) = waits(module, &module.funcs[id], &data, used) {
            let gives: Vec<Ty> = data.results.iter().map(|result| module.funcs[id].ty(*result)).collect();
            let wait = self.wait(module, shadows, &data, &given, &gives);
            let inst = &mut module.funcs[id].insts[inst];
            inst.op = Op::Call(wait);
            inst.operands.clear();
            inst.results.clear();
            return true;
        }
        let Some(global) = memory(&module.funcs[id], inst) else { return true };
        let Some((kind, path)) = access_of(&data.op) else {
            let writes = matches!(data.op, Op::Atomic(_));
            return !(writes && self.is_left_out(module, global));
        };
        let value = match kind {
            Kind::Store | Kind::Add => Some(data.operands[1]),
            Kind::StoreTexel => Some(data.operands[2]),
            Kind::Load | Kind::Uniform | Kind::Texel => None,
        };
        let part = module.funcs[id].ty(value.unwrap_or_else(|| data.results[0]));
        if shadows.place(&module.types, &module.diff, global, &path).is_none() {
            return !(kind.takes_value() && self.is_left_out(module, global));
        }
        let mut indices = &data.operands[kind.before_indices()..];
        if kind == Kind::StoreTexel {
            indices = &indices[..1];
        }
        let types = indices.iter().map(|index| module.funcs[id].ty(*index)).collect();
        let key = Key { kind, global, path, indices: types, part };
        let accessor = self.accessor(module, shadows, key);
        let inst = &mut module.funcs[id].insts[inst];
        inst.operands = indices.iter().copied().chain(value).collect();
        inst.op = Op::Call(accessor);
        if kind == Kind::Add {
            inst.results.clear();
        }
        true
    }

    /// Whether what is written there is left out: a backward kernel does not write the results of the kernel again.
    fn is_left_out(&self, module: &Module, global: Global) -> bool {
        let is_param = module.globals[global].kind == GlobalKind::Param;
        self.mode == Mode::Backward && is_param && !self.runs_stores(global)
    }

    /// Reads uniforms, and parts of them, by accessors at the beginning of the function.
    fn rewrite_uniforms(&mut self, module: &mut Module, shadows: &Shadows, id: FuncId) {
        let func = &module.funcs[id];
        let mut uniforms: Map<Value, Global> = Map::default();
        let mut reads: Vec<(Value, Global, Path, Span)> = vec![];
        for inst in func.all_insts() {
            let data = &func.insts[inst];
            if let Op::Global(global) = data.op
                && !is_handle(module, module.globals[global].ty)
                && shadows.has(global)
            {
                uniforms.insert(data.results[0], global);
                reads.push((data.results[0], global, Path::default(), data.span));
            } else if let Op::Extract(path) = &data.op
                && let Some(global) = uniforms.get(&data.operands[0])
                && path.indices() == 0
            {
                reads.push((data.results[0], *global, path.clone(), data.span));
            }
        }
        let mut known: Map<(Global, Path), Value> = Map::default();
        let mut renamed: Map<Value, Value> = Map::default();
        let mut calls = vec![];
        for (value, global, path, span) in reads {
            if shadows.place(&module.types, &module.diff, global, &path).is_none() {
                continue;
            }
            let key = (global, path.clone());
            let read = known.get(&key).copied().unwrap_or_else(|| {
                let part = module.funcs[id].ty(value);
                let key = Key { kind: Kind::Uniform, global, path, indices: vec![], part };
                let accessor = self.accessor(module, shadows, key);
                let call = module.funcs[id].new_inst(Op::Call(accessor), &[], &[part], span);
                calls.push(call);
                module.funcs[id].insts[call].results[0]
            });
            known.insert(key, read);
            renamed.insert(value, read);
        }
        let func = &mut module.funcs[id];
        func.replace_uses(|value| renamed.get(&value).copied());
        let body = func.body;
        // A uniform of which only parts are used is not read as a whole.
        let used: Vec<Value> =
            func.all_insts().into_iter().flat_map(|inst| func.insts[inst].operands.clone()).collect();
        calls.retain(|call| used.contains(&func.insts[*call].results[0]));
        func.regions[body].insts.splice(0..0, calls);
    }

    /// The function that waits, in all modes.
    fn wait(
        &mut self,
        module: &mut Module,
        shadows: &Shadows,
        data: &InstData,
        given: &[(Const, Ty)],
        gives: &[Ty],
    ) -> FuncId {
        let known = self.waits.iter().find(|(op, with, _)| *op == data.op && *with == given);
        if let Some((.., known)) = known {
            return *known;
        }
        let wait = |module: &mut Module, name: &str, op: Op| {
            let mut func = Func::new(Symbol::new(name), Signature::default(), Span::none());
            let mut b = Builder::new(&mut module.types, &mut func);
            let operands: Vec<Value> = given.iter().map(|(value, ty)| b.constant(*value, *ty)).collect();
            b.emit(op, &operands, gives);
            b.emit(Op::Return, &[], &[]);
            module.add_func(func)
        };
        let op = if let Op::Barrier(barrier) = data.op
            && shadows.leave_the_group()
        {
            Op::Barrier(Barrier { memory: Memory::All, ..barrier })
        } else {
            data.op.clone()
        };
        let derivative = wait(module, "wait.derivative", op);
        let func = wait(module, "wait", data.op.clone());
        module.funcs[func].diff.forward = Some(derivative);
        module.funcs[func].diff.backward = Some(derivative);
        self.waits.push((data.op.clone(), given.to_vec(), func));
        func
    }

    fn accessor(&mut self, module: &mut Module, shadows: &Shadows, key: Key) -> FuncId {
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let place = shadows.place(&module.types, &module.diff, key.global, &key.path);
        let place = place.expect("accessors are made for what has a shadow");
        let primal = self.primal(module, &key);
        let derivative = match self.mode {
            Mode::Forward => self.forward(module, &key, &place),
            Mode::Backward => self.backward(module, &key, &place),
        };
        let diff = &mut module.funcs[primal].diff;
        match self.mode {
            Mode::Forward => diff.forward = Some(derivative),
            Mode::Backward => diff.backward = Some(derivative),
        }
        self.known.insert(key, primal);
        primal
    }

    /// The access itself.
    fn primal(&mut self, module: &mut Module, key: &Key) -> FuncId {
        let mut sig = Signature { params: indices(key), ret: None };
        if key.kind.takes_value() {
            sig.params.push(param("value", key.part, Dir::In, true));
        } else {
            sig.ret = Some(Ret { ty: key.part, diff: true });
        }
        let is_left_out = self.is_left_out(module, key.global);
        let mut func = start(module, key, "", sig);
        let mut b = Builder::new(&mut module.types, &mut func);
        b.span = Span::none();
        let inputs = b.func.inputs().to_vec();
        let (indices, value) = inputs.split_at(key.indices.len());
        let handle = b.emit1(Op::Global(key.global), &[], module.globals[key.global].ty);
        match key.kind {
            Kind::Load | Kind::Uniform | Kind::Texel => {
                let value = access(&mut b, key, handle, indices);
                b.emit(Op::Return, &[value], &[]);
            }
            Kind::Store | Kind::Add | Kind::StoreTexel => {
                if !is_left_out {
                    write(&mut b, key, handle, indices, value[0]);
                }
                b.emit(Op::Return, &[], &[]);
            }
        }
        module.add_func(func)
    }

    /// The access together with that of the tangent.
    fn forward(&mut self, module: &mut Module, key: &Key, place: &Place) -> FuncId {
        let pair = self.pair(module, key.part, place.ty);
        let mut sig = Signature { params: indices(key), ret: None };
        if key.kind.takes_value() {
            sig.params.push(param("value", pair, Dir::In, false));
        } else {
            sig.ret = Some(Ret { ty: pair, diff: false });
        }
        let mut func = start(module, key, ".fwd", sig);
        let mut b = Builder::new(&mut module.types, &mut func);
        let inputs = b.func.inputs().to_vec();
        let (indices, value) = inputs.split_at(key.indices.len());
        let handle = b.emit1(Op::Global(key.global), &[], module.globals[key.global].ty);
        match key.kind {
            Kind::Load | Kind::Uniform | Kind::Texel => {
                let value = access(&mut b, key, handle, indices);
                let tangent = place.load(&mut b, &module.globals, indices);
                let pair = b.pack(&[value, tangent], pair);
                b.emit(Op::Return, &[pair], &[]);
            }
            Kind::Store | Kind::Add | Kind::StoreTexel => {
                let (primal, tangent) = (b.part(value[0], 0), b.part(value[0], 1));
                write(&mut b, key, handle, indices, primal);
                match key.kind {
                    Kind::Add => place.add(&mut b, &module.globals, indices, tangent),
                    Kind::Store | Kind::Load | Kind::Uniform | Kind::Texel | Kind::StoreTexel => {
                        place.store(&mut b, &module.globals, indices, tangent);
                    }
                }
                b.emit(Op::Return, &[], &[]);
            }
        }
        module.add_func(func)
    }

    /// What happens to the cotangent.
    fn backward(&mut self, module: &mut Module, key: &Key, place: &Place) -> FuncId {
        let pair = self.pair(module, key.part, place.ty);
        let mut params = indices(key);
        params.push(if key.kind.takes_value() {
            param("value", pair, Dir::InOut, false)
        } else {
            param("d", place.ty, Dir::In, false)
        });
        let mut func = start(module, key, ".bwd", Signature { params, ret: None });
        let mut b = Builder::new(&mut module.types, &mut func);
        let inputs = b.func.inputs().to_vec();
        let (indices, given) = inputs.split_at(key.indices.len());
        match key.kind {
            Kind::Load | Kind::Uniform | Kind::Texel => {
                place.add(&mut b, &module.globals, indices, given[0]);
                b.emit(Op::Return, &[], &[]);
            }
            Kind::Store | Kind::Add | Kind::StoreTexel => {
                let d = place.load(&mut b, &module.globals, indices);
                if key.kind != Kind::Add {
                    let zero = b.zero(place.ty);
                    place.store(&mut b, &module.globals, indices, zero);
                }
                let primal = b.part(given[0], 0);
                let pair = b.pack(&[primal, d], pair);
                b.emit(Op::Return, &[pair], &[]);
            }
        }
        module.add_func(func)
    }

    /// The type of pairs of a value and its derivative.
    fn pair(&mut self, module: &mut Module, value: Ty, derivative: Ty) -> Ty {
        *self.pairs.entry(value).or_insert_with(|| {
            let field = |name: &str, ty| StructField { name: Symbol::new(name), ty };
            let fields = vec![field("value", value), field("derivative", derivative)];
            let id = module.types.add_struct(Symbol::new("WithDerivative"), fields);
            module.types.intern(Type::Struct(id))
        })
    }
}

/// The constants that an instruction takes which makes threads wait: a barrier, or an operation on waves that computes nothing, as
/// the one in `GroupMemoryBarrierWithWaveSync`.
fn waits(module: &Module, func: &Func, data: &InstData, used: &Set<Value>) -> Option<Constants> {
    let is_wave = |op: &Op| matches!(op, Op::Wave(_));
    let computes = if let Op::Call(callee) = data.op {
        let callee = &module.funcs[callee];
        let [first, exit] = callee.regions[callee.body].insts[..] else { return None };
        !is_wave(&callee.insts[first].op) || callee.insts[exit].op != Op::Return
    } else {
        !is_wave(&data.op) && !matches!(data.op, Op::Barrier(_))
    };
    if computes || data.results.iter().any(|result| used.contains(result)) {
        return None;
    }
    let constant = |value: &Value| {
        if let Some(Op::Const(constant)) = func.op(*value) {
            Some((*constant, func.ty(*value)))
        } else {
            None
        }
    };
    data.operands.iter().map(constant).collect()
}

fn param(name: &str, ty: Ty, dir: Dir, diff: bool) -> Param {
    Param { name: Symbol::new(name), ty, dir, diff }
}

fn indices(key: &Key) -> Vec<Param> {
    key.indices.iter().enumerate().map(|(i, ty)| param(&format!("i{i}"), *ty, Dir::In, false)).collect()
}

/// A function for an access, without a body.
fn start(module: &Module, key: &Key, ending: &str, sig: Signature) -> Func {
    let global = module.globals[key.global].name;
    let name = Symbol::new(&format!("{}.{global}{ending}", key.kind.name()));
    let mut func = Func::new(name, sig, module.globals[key.global].span);
    func.inline = Inline::Auto;
    func
}

/// What an operation does to which part of its memory, if that can have a derivative.
fn access_of(op: &Op) -> Option<(Kind, Path)> {
    if let Op::Load(path) = op {
        Some((Kind::Load, path.clone()))
    } else if let Op::Store(path) = op {
        Some((Kind::Store, path.clone()))
    } else if let Op::Atomic(Atomic { kind: AtomicKind::Add, path }) = op {
        Some((Kind::Add, path.clone()))
    } else if *op == Op::Texel {
        Some((Kind::Texel, Path::default()))
    } else if *op == Op::StoreTexel {
        Some((Kind::StoreTexel, Path::default()))
    } else {
        None
    }
}

/// Reads the part of memory that an access is about.
fn access(b: &mut Builder<'_>, key: &Key, handle: Value, indices: &[Value]) -> Value {
    match key.kind {
        Kind::Uniform if key.path.0.is_empty() => handle,
        Kind::Uniform => b.extract(handle, key.path.clone(), indices),
        Kind::Texel => b.emit1(Op::Texel, &[&[handle], indices].concat(), key.part),
        Kind::Load | Kind::Store | Kind::Add | Kind::StoreTexel => b.load(handle, key.path.clone(), indices),
    }
}

/// Writes it.
fn write(b: &mut Builder<'_>, key: &Key, handle: Value, indices: &[Value], value: Value) {
    match key.kind {
        Kind::Add => {
            let add = Atomic { kind: AtomicKind::Add, path: key.path.clone() };
            let ty = b.ty(value);
            b.emit(Op::Atomic(add), &[&[handle, value], indices].concat(), &[ty]);
        }
        Kind::StoreTexel => {
            b.emit(Op::StoreTexel, &[handle, indices[0], value], &[]);
        }
        Kind::Store | Kind::Load | Kind::Uniform | Kind::Texel => {
            b.store(handle, value, key.path.clone(), indices);
        }
    }
}
