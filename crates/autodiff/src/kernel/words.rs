//! Memory of integers that holds the bits of floats: byte-address buffers, and buffers and variables of `uint`.
//!
//! ```text
//! %w: u32 = load %bytes [%i]          becomes     %x: f32 = load %bytes [%i]
//! %x: f32 = bitcast %w
//! ```
//!
//! Such memory becomes memory of floats while accesses get their derivatives, and is what it was afterwards ([`Words::back`]): the
//! accessors convert bits. Words that are integers to the program are read as floats and converted back, detached where the program
//! computes with them. What remains a loss, such as a half in a part of a word, [`losses`](super::losses) finds.
//!
//! Memory becomes floats if some load of it leads to a float of the same bits, or some float's bits are stored to it. It cannot if
//! integers in it are changed by atomic operations, or pointers lead into it; then this pass reports the accesses.

use super::accesses::{is_handle, memory};
use crate::codes;
use cotangent_base::{Diagnostic, Diagnostics, Map, Scalar, Set, Span};
use cotangent_ir::{
    Func, FuncId, FuncKind, Global, GlobalKind, Inst, InstData, Math, Module, Op, Ty, Type, Types, Value,
};

/// How many calls deep bits are followed.
const DEPTH: u32 = 4;

/// The memory that became floats, with the types that it had.
#[derive(Default)]
pub(super) struct Words(Map<Global, Ty>);

/// Makes memory that holds the bits of floats memory of floats. Accesses must name their memory. `is_asked` says whether somebody wants
/// to know the derivatives of a global.
pub(super) fn words(
    module: &mut Module,
    funcs: &[FuncId],
    is_asked: &dyn Fn(Global) -> bool,
    diagnostics: &mut Diagnostics,
) -> Words {
    refuse(module, funcs, is_asked, diagnostics);
    let candidates = candidates(module);
    if candidates.is_empty() {
        return Words::default();
    }
    let found = Found::of(module, funcs, &candidates);
    let mut was = Words::default();
    for (&global, &ty) in candidates.iter().filter(|(global, _)| found.floats.contains(global)) {
        if let Some(&span) = found.fixed.get(&global) {
            let name = module.globals[global].name;
            let message =
                format!("`{name}` holds the bits of floats, and this operation on it has no derivative");
            let help = "keep the floats in a buffer of floats, or `detach` them";
            if is_asked(global) {
                diagnostics.push(Diagnostic::new(codes::KERNEL, span, message).help(help));
            }
            continue;
        }
        was.0.insert(global, module.globals[global].ty);
        module.globals[global].ty = ty;
    }
    for id in defined(module) {
        let mut func = module.detach(id);
        Rewrite { module: &mut *module, func: &mut func, was: &was, twins: Map::default(), loaded: vec![] }
            .run();
        module.funcs[id] = func;
    }
    was
}

/// Reports texels and uniforms that are integers and become floats of the same bits.
fn refuse(
    module: &Module,
    funcs: &[FuncId],
    is_asked: &dyn Fn(Global) -> bool,
    diagnostics: &mut Diagnostics,
) {
    for func in funcs.iter().map(|id| &module.funcs[*id]) {
        let mut readers = None;
        for inst in func.all_insts() {
            let data = &func.insts[inst];
            let global = if let Op::Global(global) = data.op {
                (!is_handle(module, module.globals[global].ty)).then_some(global)
            } else if data.op == Op::Texel && !is_float(module, func, data.results[0]) {
                memory(func, inst)
            } else {
                None
            };
            let Some(global) = global.filter(|global| is_asked(*global)) else { continue };
            let readers = readers.get_or_insert_with(|| Readers::of(func));
            if becomes_float(module, func, readers, data.results[0], DEPTH) {
                let name = module.globals[global].name;
                let message = format!("`{name}` holds the bits of floats, which have no derivative there");
                let help = "use a type of floats, or `detach` the floats";
                let span = if data.span.is_none() { func.span } else { data.span };
                diagnostics.push(Diagnostic::new(codes::KERNEL, span, message).help(help));
            }
        }
    }
}

/// Whether some memory may hold the bits of floats.
pub(super) fn is_possible(module: &mut Module) -> bool {
    !candidates(module).is_empty()
}

/// The memory of words, with the types that it would have as memory of floats.
fn candidates(module: &mut Module) -> Map<Global, Ty> {
    let globals: Vec<Global> = module.globals.keys().collect();
    globals.into_iter().filter_map(|global| Some((global, floats_in(module, global)?))).collect()
}

impl Words {
    /// Gives the memory the types that it had. Accesses convert.
    pub fn back(self, module: &mut Module) {
        if self.0.is_empty() {
            return;
        }
        for (global, ty) in &self.0 {
            module.globals[*global].ty = *ty;
        }
        for id in defined(module) {
            let mut func = module.detach(id);
            for region in func.regions.keys() {
                let mut insts = vec![];
                for inst in std::mem::take(&mut func.regions[region].insts) {
                    self.convert(&mut module.types, &mut func, inst, &mut insts);
                }
                func.regions[region].insts = insts;
            }
            module.funcs[id] = func;
        }
    }

    fn convert(&self, types: &mut Types, func: &mut Func, inst: Inst, insts: &mut Vec<Inst>) {
        let data = func.insts[inst].clone();
        if let Op::Global(global) = data.op
            && let Some(ty) = self.0.get(&global)
        {
            func.values[data.results[0]].ty = *ty;
        }
        let was = memory(func, inst).and_then(|global| self.0.get(&global));
        if let (Some(was), Op::Load(path)) = (was, &data.op)
            && let Some(ty) = types.part_at(*was, path)
        {
            insts.push(instead(func, inst, ty));
        } else if let (Some(was), Op::Store(path)) = (was, &data.op)
            && let Some(ty) = types.part_at(*was, path)
        {
            let word = func.new_inst(Op::Bitcast, &data.operands[1..2], &[ty], data.span);
            insts.push(word);
            func.insts[inst].operands[1] = func.insts[word].results[0];
        }
        insts.push(inst);
    }
}

/// Makes a load the conversion of a load of another type, which comes before it.
fn instead(func: &mut Func, inst: Inst, ty: Ty) -> Inst {
    let data = func.insts[inst].clone();
    let load = func.new_inst(data.op, &data.operands, &[ty], data.span);
    let loaded = func.insts[load].results[0];
    func.insts[inst].op = Op::Bitcast;
    func.insts[inst].operands = [loaded].into_iter().collect();
    load
}

fn defined(module: &Module) -> Vec<FuncId> {
    module.funcs.keys().filter(|id| module.funcs[*id].kind == FuncKind::Defined).collect()
}

/// The type that a global of words has as memory of floats.
fn floats_in(module: &mut Module, global: Global) -> Option<Ty> {
    let data = &module.globals[global];
    let (ty, types) = (data.ty, &mut module.types);
    let of = match (&data.kind, types.get(ty)) {
        (GlobalKind::Param, Type::Buffer(elem, access)) => {
            let elem = floats_of(types, elem)?;
            Type::Buffer(elem, access)
        }
        (GlobalKind::Shared | GlobalKind::Static(None), Type::Ref(inner)) => {
            Type::Ref(floats_of(types, inner)?)
        }
        _ => return None,
    };
    Some(types.intern(of))
}

/// Words as floats, in scalars, vectors and arrays.
fn floats_of(types: &mut Types, ty: Ty) -> Option<Ty> {
    let is_word = |scalar| matches!(scalar, Scalar::U32 | Scalar::I32);
    if let Type::Array(elem, n) = types.get(ty) {
        let elem = floats_of(types, elem)?;
        return Some(types.intern(Type::Array(elem, n)));
    }
    let is_plain = matches!(types.get(ty), Type::Scalar(_) | Type::Vector(..));
    let is_words = is_plain && types.scalar_of(ty).is_some_and(is_word);
    is_words.then(|| types.with_scalar(ty, Scalar::F32))
}

/// What the functions do to memory of words.
#[derive(Default)]
struct Found {
    /// The memory from which or to which bits of floats go.
    floats: Set<Global>,
    /// Where something happens to memory that keeps it from becoming floats.
    fixed: Map<Global, Span>,
}

impl Found {
    fn of(module: &Module, funcs: &[FuncId], candidates: &Map<Global, Ty>) -> Found {
        let mut found = Found::default();
        for func in funcs.iter().map(|id| &module.funcs[*id]) {
            let readers = Readers::of(func);
            for inst in func.all_insts() {
                let Some(global) = memory(func, inst).filter(|global| candidates.contains_key(global)) else {
                    continue;
                };
                let data = &func.insts[inst];
                let value = if let Op::Load(_) = data.op {
                    data.results[0]
                } else if let Op::Store(_) = data.op {
                    data.operands[1]
                } else if data.op == Op::Length {
                    continue;
                } else {
                    found.fixed.entry(global).or_insert(data.span);
                    if data.operands.iter().any(|value| was_float(module, func, *value, DEPTH, &[])) {
                        found.floats.insert(global);
                    }
                    continue;
                };
                if let Type::Array(..) = module.types.get(func.ty(value)) {
                    found.fixed.entry(global).or_insert(data.span);
                }
                let is_float = if let Op::Load(_) = data.op {
                    becomes_float(module, func, &readers, value, DEPTH)
                } else {
                    was_float(module, func, value, DEPTH, &[])
                };
                if is_float {
                    found.floats.insert(global);
                }
            }
        }
        found
    }
}

/// The instructions that take each value of a function.
struct Readers(Map<Value, Vec<Inst>>);

impl Readers {
    fn of(func: &Func) -> Readers {
        let mut readers: Map<Value, Vec<Inst>> = Map::default();
        for inst in func.all_insts() {
            func.insts[inst].operands.iter().for_each(|value| readers.entry(*value).or_default().push(inst));
        }
        Readers(readers)
    }

    fn of_value(&self, value: Value) -> &[Inst] {
        self.0.get(&value).map_or(&[], Vec::as_slice)
    }
}

fn is_float(module: &Module, func: &Func, value: Value) -> bool {
    module.types.scalar_of(func.ty(value)).is_some_and(Scalar::is_float)
}

/// Whether the bits of an integer, or some of them, are read as a float. Calls are followed to a depth.
fn becomes_float(module: &Module, func: &Func, readers: &Readers, value: Value, depth: u32) -> bool {
    readers.of_value(value).iter().any(|inst| reads_float(module, func, readers, *inst, value, depth))
}

/// Whether an instruction makes a float of the bits of an integer, or an integer of which something else makes one. Bits that meet a
/// constant in an `or` are no longer those of a number.
fn reads_float(
    module: &Module,
    func: &Func,
    readers: &Readers,
    inst: Inst,
    value: Value,
    depth: u32,
) -> bool {
    let InstData { op, operands, results, .. } = &func.insts[inst];
    if casts(module, op) && is_float(module, func, results[0]) {
        let is_held = |inst: &Inst| detaches(module, &func.insts[*inst].op);
        return !readers.of_value(results[0]).iter().all(is_held);
    }
    if let Op::Call(callee) = op {
        let (callee, place) = (&module.funcs[*callee], operands.iter().position(|part| *part == value));
        let leads = |place: usize| {
            let input = callee.inputs()[place];
            becomes_float(module, callee, &Readers::of(callee), input, depth - 1)
        };
        return depth > 0 && callee.kind == FuncKind::Defined && place.is_some_and(leads);
    }
    let goes_on = if let Op::Extract(_) | Op::Convert = op {
        !is_float(module, func, results[0])
    } else if let Op::Math(Math::And | Math::Shr | Math::Shl) = op {
        operands[0] == value
    } else if *op == Op::Math(Math::Or) {
        !operands.iter().any(|part| matches!(func.op(*part), Some(Op::Const(_))))
    } else if *op == Op::Select {
        operands[0] != value
    } else {
        matches!(op, Op::Bitcast | Op::Pack)
    };
    goes_on && becomes_float(module, func, readers, results[0], depth)
}

/// Whether a function does nothing but read a number as one of another type.
fn is_cast(func: &Func) -> bool {
    let ops: Vec<&Op> = func.regions[func.body].insts.iter().map(|inst| &func.insts[*inst].op).collect();
    func.kind == FuncKind::Defined && matches!(ops[..], [Op::Bitcast, Op::Return])
}

/// Whether an operation reads a number as one of another type.
fn casts(module: &Module, op: &Op) -> bool {
    *op == Op::Bitcast || matches!(op, Op::Call(callee) if is_cast(&module.funcs[*callee]))
}

/// Whether a value is what another was, without its derivative.
fn detaches(module: &Module, op: &Op) -> bool {
    let is_detach = |func: &Func| {
        let ops: Vec<&Op> = func.regions[func.body].insts.iter().map(|inst| &func.insts[*inst].op).collect();
        func.kind == FuncKind::Defined && matches!(ops[..], [Op::Detach, Op::Return])
    };
    *op == Op::Detach || matches!(op, Op::Call(callee) if is_detach(&module.funcs[*callee]))
}

/// Whether an integer has the bits of a float that carries a derivative, or is made of such. `given` says this of the inputs.
fn was_float(module: &Module, func: &Func, value: Value, depth: u32, given: &[bool]) -> bool {
    let Some(data) = func.def(value) else {
        let place = func.inputs().iter().position(|input| *input == value);
        return place.and_then(|place| given.get(place)).is_some_and(|given| *given);
    };
    let from = |part: &Value| was_float(module, func, *part, depth, given);
    let is_held = |value: &Value| func.op(*value).is_some_and(|op| detaches(module, op));
    let operands = &data.operands;
    if let Op::Call(callee) = data.op {
        let callee = &module.funcs[callee];
        let is_plain = depth > 0 && callee.kind == FuncKind::Defined;
        let Some(place) = data.results.iter().position(|result| *result == value).filter(|_| is_plain) else {
            return false;
        };
        let given: Vec<bool> = operands.iter().map(from).collect();
        let is_constant = operands.iter().all(is_held);
        let result = callee.exit(callee.body).operands.get(place);
        return !is_constant
            && result.is_some_and(|result| was_float(module, callee, *result, depth - 1, &given));
    }
    if let Op::Bitcast | Op::Convert = data.op
        && is_float(module, func, operands[0])
    {
        return data.op == Op::Bitcast && !is_held(&operands[0]);
    }
    if let Op::Bitcast | Op::Convert | Op::Extract(_) | Op::Math(Math::And | Math::Shl | Math::Shr) = data.op
    {
        from(&operands[0])
    } else if data.op == Op::Math(Math::Or) {
        operands.iter().all(from)
    } else if data.op == Op::Select {
        operands[1..].iter().any(from)
    } else {
        data.op == Op::Pack && operands.iter().any(from)
    }
}

/// Makes the accesses of one function those of floats.
struct Rewrite<'a> {
    module: &'a mut Module,
    func: &'a mut Func,
    was: &'a Words,
    /// The float of the same bits.
    twins: Map<Value, Value>,
    /// The words that come from memory.
    loaded: Vec<Value>,
}

impl Rewrite<'_> {
    fn run(mut self) {
        for region in self.func.regions.keys() {
            let mut insts = vec![];
            for inst in std::mem::take(&mut self.func.regions[region].insts) {
                self.access(inst, &mut insts);
            }
            self.func.regions[region].insts = insts;
        }
        if self.loaded.is_empty() {
            return;
        }
        let twins = &self.twins;
        let same: Map<Value, Value> = self
            .func
            .all_insts()
            .into_iter()
            .map(|inst| &self.func.insts[inst])
            .filter(|data| casts(self.module, &data.op))
            .filter_map(|data| Some((data.results[0], *twins.get(&data.operands[0])?)))
            .filter(|(result, twin)| self.func.ty(*result) == self.func.ty(*twin))
            .collect();
        self.func.replace_uses(|value| same.get(&value).copied());
        self.detach();
    }

    fn access(&mut self, inst: Inst, insts: &mut Vec<Inst>) {
        let data = self.func.insts[inst].clone();
        if let Op::Global(global) = data.op
            && self.was.0.contains_key(&global)
        {
            self.func.values[data.results[0]].ty = self.module.globals[global].ty;
        }
        let changed = memory(self.func, inst).filter(|global| self.was.0.contains_key(global));
        if changed.is_some()
            && let Op::Load(_) = data.op
        {
            let Some(ty) = floats_of(&mut self.module.types, self.func.ty(data.results[0])) else { return };
            let load = instead(self.func, inst, ty);
            insts.push(load);
            self.twins.insert(data.results[0], self.func.insts[load].results[0]);
            self.loaded.push(data.results[0]);
        } else if changed.is_some()
            && let Op::Store(_) = data.op
        {
            let float = self.twin(data.operands[1], data.span, insts);
            self.func.insts[inst].operands[1] = float;
        } else {
            self.follow(inst, insts);
        }
        insts.push(inst);
    }

    /// The float with the bits of a word.
    fn twin(&mut self, word: Value, span: Span, insts: &mut Vec<Inst>) -> Value {
        if let Some(twin) = self.twins.get(&word) {
            return *twin;
        }
        let ty =
            floats_of(&mut self.module.types, self.func.ty(word)).expect("what is stored there is words");
        let inst = self.func.new_inst(Op::Bitcast, &[word], &[ty], span);
        insts.push(inst);
        self.func.insts[inst].results[0]
    }

    /// What is done to words is done to the floats with their bits, as far as it keeps the bits of each.
    fn follow(&mut self, inst: Inst, insts: &mut Vec<Inst>) {
        let data = self.func.insts[inst].clone();
        let &[result] = &data.results[..] else { return };
        let Some(ty) = floats_of(&mut self.module.types, self.func.ty(result)) else { return };
        let twin_of = |value: &Value| self.twins.get(value).copied();
        if casts(self.module, &data.op) {
            let from = data.operands[0];
            if self.func.ty(from) == ty {
                self.twins.insert(result, from);
            } else if let Some(twin) = twin_of(&from).filter(|twin| self.func.ty(*twin) == ty) {
                self.twins.insert(result, twin);
                self.loaded.push(result);
            }
            return;
        }
        let twins: Option<Vec<Value>> = if let Op::Extract(_) = data.op {
            twin_of(&data.operands[0]).map(|whole| [&[whole], &data.operands[1..]].concat())
        } else if data.op == Op::Pack {
            data.operands.iter().map(twin_of).collect()
        } else if data.op == Op::Select {
            let sides: Option<Vec<Value>> = data.operands[1..].iter().map(twin_of).collect();
            sides.map(|sides| [&data.operands[..1], &sides].concat())
        } else {
            None
        };
        if let Some(operands) = twins {
            let inst = self.func.new_inst(data.op, &operands, &[ty], data.span);
            insts.push(inst);
            self.twins.insert(result, self.func.insts[inst].results[0]);
            self.loaded.push(result);
        }
    }

    /// Detaches words that are integers to the program.
    fn detach(&mut self) {
        let readers = Readers::of(self.func);
        let mut given: Map<Inst, Vec<Value>> = Map::default();
        for &word in &self.loaded {
            for inst in readers.of_value(word) {
                let op = &self.func.insts[*inst].op;
                if matches!(op, Op::Math(_) | Op::Convert | Op::Call(_))
                    && !reads_float(self.module, self.func, &readers, *inst, word, DEPTH)
                {
                    given.entry(*inst).or_default().push(word);
                }
            }
        }
        for region in self.func.regions.keys() {
            let mut insts = vec![];
            for inst in std::mem::take(&mut self.func.regions[region].insts) {
                for &word in given.get(&inst).into_iter().flatten() {
                    let (span, ty) = (self.func.insts[inst].span, self.func.ty(word));
                    let float = self.twins[&word];
                    let held = self.func.new_inst(Op::Detach, &[float], &[self.func.ty(float)], span);
                    let held_value = self.func.insts[held].results[0];
                    let bits = self.func.new_inst(Op::Bitcast, &[held_value], &[ty], span);
                    let bits_value = self.func.insts[bits].results[0];
                    insts.extend([held, bits]);
                    let operands = &mut self.func.insts[inst].operands;
                    operands
                        .iter_mut()
                        .filter(|operand| **operand == word)
                        .for_each(|operand| *operand = bits_value);
                }
                insts.push(inst);
            }
            self.func.regions[region].insts = insts;
        }
    }
}
