//! Replaces samples of textures by functions that compute them from texels.
//!
//! ```text
//! sample<level>(t, s, at, level)     becomes     call sample.t(at, level), which reads texels of t
//! ```
//!
//! The functions are ordinary: differentiated like others, they have derivatives by the texels, the coordinates and the level. What a
//! sampler does is known to the host only. So each sampler gets a parameter beside it, [`State`], an integer that the host sets:
//!
//! | bits | meaning |
//! | --- | --- |
//! | 0, 1, 2 | whether magnification, minification, and the change between levels are linear |
//! | 4 and 5, 6 and 7, 8 and 9 | outside the texture, for each axis: 0 clamp, 1 repeat, 2 mirror, 3 border |
//!
//! A gather takes the texels that would be mixed. Functions that have a custom derivative keep their samples. Cubes, comparisons and
//! samples with given derivatives stay, and [`accesses`](super::accesses) refuses them.

use super::accesses::memory;
use cotangent_base::{Map, Scalar, Span, Symbol};
use cotangent_ir::texture::{Dim, Opaque, Sampling, Texture};
use cotangent_ir::{
    Builder, Const, Dir, Func, FuncId, Global, GlobalData, GlobalKind, Inst, Math, Module, Op, Param, Path,
    Ret, Signature, Ty, Type, Value,
};

/// The parameter that says what a sampler does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State {
    /// The sampler.
    pub of: Global,
    /// The parameter, a `u32`.
    pub global: Global,
}

/// Whether samples of this kind have derivatives.
pub(super) fn is_supported(texture: Texture, how: Sampling) -> bool {
    texture.dim != Dim::Cube
        && texture.scalar.is_float()
        && matches!(how, Sampling::Implicit | Sampling::Bias | Sampling::Level | Sampling::Gather(_))
}

/// The type of a texture.
pub(super) fn texture_of(module: &Module, global: Global) -> Option<Texture> {
    let Type::Opaque(Opaque::Texture(texture)) = module.types.get(module.globals[global].ty) else {
        return None;
    };
    Some(texture)
}

/// Replaces the samples in these functions. Gives the parameters that say what the samplers do.
pub(super) fn samples(module: &mut Module, funcs: &[FuncId]) -> Vec<State> {
    let mut samples = Samples::default();
    for &id in funcs {
        for inst in module.funcs[id].all_insts() {
            samples.replace(module, id, inst);
        }
    }
    samples.states
}

/// A texture, its sampler, and whether the location is moved by texels.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    texture: Global,
    state: Global,
    moved: bool,
}

#[derive(Default)]
struct Samples {
    states: Vec<State>,
    filters: Map<Key, FuncId>,
    known: Map<(Key, Sampling), FuncId>,
}

impl Samples {
    fn replace(&mut self, module: &mut Module, id: FuncId, inst: Inst) {
        let func = &module.funcs[id];
        let data = &func.insts[inst];
        let Op::Sample(how) = data.op else { return };
        let (Some(texture), Some(Op::Global(sampler))) = (memory(func, inst), func.op(data.operands[1]))
        else {
            return;
        };
        let sampler = *sampler;
        let operands = data.operands[2..].to_vec();
        let Some(ty) = texture_of(module, texture).filter(|ty| is_supported(*ty, how)) else { return };
        let moved = operands.len() > 1 + how.operands();
        let key = Key { texture, state: self.state(module, sampler), moved };
        let sample = *self.known.entry((key, how)).or_insert_with(|| {
            if let Sampling::Gather(lane) = how {
                return gather(module, key, ty, lane);
            }
            let filter = *self.filters.entry(key).or_insert_with(|| filter(module, key, ty));
            sample(module, key, ty, how, filter)
        });
        let inst = &mut module.funcs[id].insts[inst];
        inst.op = Op::Call(sample);
        inst.operands = operands.into_iter().collect();
    }

    /// The parameter beside a sampler.
    fn state(&mut self, module: &mut Module, sampler: Global) -> Global {
        if let Some(known) = self.states.iter().find(|state| state.of == sampler) {
            return known.global;
        }
        let GlobalData { name, span, .. } = module.globals[sampler].clone();
        let name = Symbol::new(&format!("{}_state", name.as_str().replace('.', "_")));
        let ty = module.types.scalar(Scalar::U32);
        let global = module.add_global(GlobalData { name, ty, kind: GlobalKind::Param, span });
        self.states.push(State { of: sampler, global });
        global
    }
}

/// What one sample computes with.
fn working(texture: Texture) -> Scalar {
    if texture.scalar == Scalar::F64 { Scalar::F64 } else { Scalar::F32 }
}

fn vector(module: &mut Module, scalar: Scalar, count: u8) -> Ty {
    let ty = if count == 1 { Type::Scalar(scalar) } else { Type::Vector(scalar, count) };
    module.types.intern(ty)
}

/// A function without a body.
fn start(name: &str, texture: &GlobalData, params: &[(&str, Ty)], ret: Ty) -> Func {
    let param =
        |(name, ty): &(&str, Ty)| Param { name: Symbol::new(name), ty: *ty, dir: Dir::In, diff: false };
    let params = params.iter().map(param).collect();
    let sig = Signature { params, ret: Some(Ret { ty: ret, diff: false }) };
    Func::new(Symbol::new(&format!("{name}.{}", texture.name)), sig, Span::none())
}

/// Writes the function for a sample: which level or levels, and how much of each.
fn sample(module: &mut Module, key: Key, texture: Texture, how: Sampling, filter: FuncId) -> FuncId {
    let scalar = working(texture);
    let (at, number) = (vector(module, Scalar::F32, texture.coordinates()), module.types.scalar(Scalar::F32));
    let moves = vector(module, Scalar::I32, texture.axes());
    let texel = module.types.intern(texture.texel());
    let sum = vector(module, scalar, texture.lanes);
    let mut params = vec![("at", at)];
    params.extend((how != Sampling::Implicit).then_some(("level", number)));
    params.extend(key.moved.then_some(("moves", moves)));
    let mut func = start("sample", &module.globals[key.texture], &params, texel);
    let globals = module.globals.clone();
    let mut b = Builder::new(&mut module.types, &mut func);
    b.span = Span::none();
    let inputs = b.func.inputs().to_vec();
    let state = b.emit1(Op::Global(key.state), &[], globals[key.state].ty);
    let moved = key.moved.then(|| inputs[inputs.len() - 1]);
    let one = |b: &mut Builder<'_>, level: Value, is_linear: Value| {
        let given: Vec<Value> = [inputs[0], level, is_linear].into_iter().chain(moved).collect();
        b.emit1(Op::Call(filter), &given, sum)
    };
    let found = if how == Sampling::Implicit {
        let (level, is_linear) = (b.int(0), has_bit(&mut b, state, 0));
        one(&mut b, level, is_linear)
    } else {
        let levels = levels(&mut b, &globals[key.texture], key.texture);
        at_level(&mut b, state, inputs[1], levels, sum, scalar, &one)
    };
    let found = convert(&mut b, found, texel);
    b.emit(Op::Return, &[found], &[]);
    module.add_func(func)
}

/// What is seen at a level between levels. `one` gives what is seen at a level.
fn at_level(
    b: &mut Builder<'_>,
    state: Value,
    level: Value,
    levels: Value,
    sum: Ty,
    scalar: Scalar,
    one: &dyn Fn(&mut Builder<'_>, Value, Value) -> Value,
) -> Value {
    let (float, signed) = (b.ty(level), b.types.scalar(Scalar::I32));
    let (zero, first) = (b.zero(float), b.int(1));
    let last = b.math(Math::Sub, &[levels, first]);
    let end = b.emit1(Op::Convert, &[last], float);
    let is_above = b.math(Math::Gt, &[level, zero]);
    let is_below = b.math(Math::Lt, &[level, end]);
    let high = b.select(is_below, level, end);
    let inside = b.select(is_above, high, zero);
    let (small, large) = (has_bit(b, state, 1), has_bit(b, state, 0));
    let is_linear = b.select(is_above, small, large);
    let mixes = has_bit(b, state, 2);
    let half = b.constant(Const::float(0.5), float);
    let up = b.add(inside, half);
    let shifted = b.select(mixes, inside, up);
    let floor = b.math(Math::Floor, &[shifted]);
    let low = b.emit1(Op::Convert, &[floor], signed);
    let low = b.math(Math::Min, &[low, last]);
    let is_between = b.math(Math::Lt, &[low, last]);
    let both = b.math(Math::And, &[mixes, is_between]);
    let results = b.if_(
        both,
        &[sum],
        |b| {
            let t = b.math(Math::Sub, &[inside, floor]);
            let working = b.types.scalar(scalar);
            let t = convert(b, t, working);
            let whole = b.constant(Const::float(1.0), working);
            let rest = b.math(Math::Sub, &[whole, t]);
            let near = one(b, low, is_linear);
            let next = b.int(1);
            let next = b.add(low, next);
            let far = one(b, next, is_linear);
            let (near, far) = (scaled(b, near, rest), scaled(b, far, t));
            let mixed = b.add(near, far);
            b.yield_(&[mixed]);
        },
        |b| {
            let only = one(b, low, is_linear);
            b.yield_(&[only]);
        },
    );
    results[0]
}

/// Writes the function that filters one level.
fn filter(module: &mut Module, key: Key, texture: Texture) -> FuncId {
    let scalar = working(texture);
    let at = vector(module, Scalar::F32, texture.coordinates());
    let moves = vector(module, Scalar::I32, texture.axes());
    let sum = vector(module, scalar, texture.lanes);
    let (level, truth) = (module.types.scalar(Scalar::I32), module.types.scalar(Scalar::Bool));
    let mut params = vec![("at", at), ("level", level), ("is_linear", truth)];
    params.extend(key.moved.then_some(("moves", moves)));
    let mut func = start("filter", &module.globals[key.texture], &params, sum);
    let globals = module.globals.clone();
    let mut b = Builder::new(&mut module.types, &mut func);
    b.span = Span::none();
    let inputs = b.func.inputs().to_vec();
    let handle = b.emit1(Op::Global(key.texture), &[], globals[key.texture].ty);
    let state = b.emit1(Op::Global(key.state), &[], globals[key.state].ty);
    let grid = Grid::new(&mut b, texture, handle, state, scalar, &inputs);
    let results = b.if_(
        inputs[2],
        &[sum],
        |b| {
            let mixed = grid.linear(b, sum);
            b.yield_(&[mixed]);
        },
        |b| {
            let nearest = grid.nearest(b, sum);
            b.yield_(&[nearest]);
        },
    );
    b.emit(Op::Return, &results, &[]);
    module.add_func(func)
}

/// Writes the function that takes one component of the four texels around a place. Where they are does not move with the place.
fn gather(module: &mut Module, key: Key, texture: Texture, component: u8) -> FuncId {
    let scalar = working(texture);
    let at = vector(module, Scalar::F32, texture.coordinates());
    let moves = vector(module, Scalar::I32, texture.axes());
    let sum = vector(module, scalar, texture.lanes);
    let found = module.types.intern(Sampling::Gather(component).result(texture));
    let mut params = vec![("at", at)];
    params.extend(key.moved.then_some(("moves", moves)));
    let name = format!("gather{component}");
    let mut func = start(&name, &module.globals[key.texture], &params, found);
    let globals = module.globals.clone();
    let mut b = Builder::new(&mut module.types, &mut func);
    b.span = Span::none();
    let inputs = b.func.inputs().to_vec();
    let handle = b.emit1(Op::Global(key.texture), &[], globals[key.texture].ty);
    let state = b.emit1(Op::Global(key.state), &[], globals[key.state].ty);
    let level = b.int(0);
    let given = [&[inputs[0], level, level], &inputs[1..]].concat();
    let grid = Grid::new(&mut b, texture, handle, state, scalar, &given);
    let ends = grid.ends(&mut b);
    let corner = |b: &mut Builder<'_>, [x, y]: [usize; 2]| {
        let texel = grid.texel(b, &[ends[0][x].0, ends[1][y].0], sum);
        if component < texture.lanes {
            lane(b, texel, component)
        } else {
            let working = b.types.scalar(scalar);
            b.zero(working)
        }
    };
    let parts = [[0, 1], [1, 1], [1, 0], [0, 0]].map(|ends| corner(&mut b, ends));
    let all = b.types.intern(Type::Vector(scalar, 4));
    let all = b.pack(&parts, all);
    let all = convert(&mut b, all, found);
    b.emit(Op::Return, &[all], &[]);
    module.add_func(func)
}

/// The texels of a level around a place.
struct Grid {
    texture: Texture,
    handle: Value,
    state: Value,
    level: Value,
    /// The place along each axis, in texels.
    place: Vec<Value>,
    /// How many texels there are along each axis.
    size: Vec<Value>,
    moves: Vec<Value>,
    layer: Option<Value>,
}

impl Grid {
    fn new(
        b: &mut Builder<'_>,
        texture: Texture,
        handle: Value,
        state: Value,
        scalar: Scalar,
        inputs: &[Value],
    ) -> Grid {
        let (at, level) = (inputs[0], inputs[1]);
        let (signed, unsigned) = (b.types.scalar(Scalar::I32), b.types.scalar(Scalar::U32));
        let four = b.types.intern(Type::Vector(Scalar::U32, 4));
        let working = b.types.scalar(scalar);
        let bits = b.emit1(Op::Bitcast, &[level], unsigned);
        let dimensions = b.emit1(Op::Dimensions, &[handle, bits], four);
        let one = b.int(1);
        let extent = |b: &mut Builder<'_>, axis: u32| {
            let n = b.part(dimensions, axis);
            let n = b.emit1(Op::Bitcast, &[n], signed);
            // A texture that is not set has no texels.
            b.math(Math::Max, &[n, one])
        };
        let (mut place, mut size) = (vec![], vec![]);
        for axis in 0..texture.axes() {
            let n = extent(b, axis.into());
            let part = lane(b, at, axis);
            let part = convert(b, part, working);
            let width = b.emit1(Op::Convert, &[n], working);
            place.push(b.mul(part, width));
            size.push(n);
        }
        let layer = texture.array.then(|| {
            let layers = extent(b, 2);
            let last = b.math(Math::Sub, &[layers, one]);
            let part = lane(b, at, texture.axes());
            let rounded = b.math(Math::RoundEven, &[part]);
            let number = b.emit1(Op::Convert, &[rounded], signed);
            clamp(b, number, last)
        });
        let moves = match inputs.get(3) {
            Some(moves) => (0..texture.axes()).map(|axis| lane(b, *moves, axis)).collect(),
            None => vec![],
        };
        Grid { texture, handle, state, level, place, size, moves, layer }
    }

    /// The nearest texel.
    fn nearest(&self, b: &mut Builder<'_>, sum: Ty) -> Value {
        let signed = b.types.scalar(Scalar::I32);
        let mut position = vec![];
        for axis in 0..self.place.len() {
            let floor = b.math(Math::Floor, &[self.place[axis]]);
            let number = b.emit1(Op::Convert, &[floor], signed);
            position.push(self.wrapped(b, number, axis));
        }
        self.texel(b, &position, sum)
    }

    /// For each axis the two texels around the place, and how much of each.
    fn ends(&self, b: &mut Builder<'_>) -> Vec<[(Value, Value); 2]> {
        let signed = b.types.scalar(Scalar::I32);
        let mut ends = vec![];
        for (axis, &place) in self.place.iter().enumerate() {
            let ty = b.ty(place);
            let half = b.constant(Const::float(0.5), ty);
            let whole = b.constant(Const::float(1.0), ty);
            let shifted = b.math(Math::Sub, &[place, half]);
            let floor = b.math(Math::Floor, &[shifted]);
            let t = b.math(Math::Sub, &[shifted, floor]);
            let rest = b.math(Math::Sub, &[whole, t]);
            let low = b.emit1(Op::Convert, &[floor], signed);
            let next = b.int(1);
            let high = b.add(low, next);
            ends.push([(self.wrapped(b, low, axis), rest), (self.wrapped(b, high, axis), t)]);
        }
        ends
    }

    /// The mixture of the texels around the place.
    fn linear(&self, b: &mut Builder<'_>, sum: Ty) -> Value {
        let ends = self.ends(b);
        let mut total: Option<Value> = None;
        for corner in 0..1usize << ends.len() {
            let chosen: Vec<(Value, Value)> =
                ends.iter().enumerate().map(|(axis, ends)| ends[corner >> axis & 1]).collect();
            let position: Vec<Value> = chosen.iter().map(|(at, _)| *at).collect();
            let mut weight = chosen[0].1;
            for (_, other) in &chosen[1..] {
                weight = b.mul(weight, *other);
            }
            let texel = self.texel(b, &position, sum);
            let term = scaled(b, texel, weight);
            total = Some(match total {
                Some(before) => b.add(before, term),
                None => term,
            });
        }
        total.expect("a texture has axes")
    }

    fn texel(&self, b: &mut Builder<'_>, position: &[Value], sum: Ty) -> Value {
        let all: Vec<Value> = position.iter().copied().chain(self.layer).collect();
        let position = match all[..] {
            [only] => only,
            _ => {
                let ty = b.types.intern(Type::Vector(Scalar::I32, all.len() as u8));
                b.pack(&all, ty)
            }
        };
        let ty = b.types.intern(self.texture.texel());
        let texel = b.emit1(Op::Texel, &[self.handle, position, self.level], ty);
        convert(b, texel, sum)
    }

    /// The texel that stands for texel `i` along an axis. Beyond a border it is `i` itself, where there is nothing.
    fn wrapped(&self, b: &mut Builder<'_>, i: Value, axis: usize) -> Value {
        let n = self.size[axis];
        let i = match self.moves.get(axis) {
            Some(moves) => b.add(i, *moves),
            None => i,
        };
        let one = b.int(1);
        let last = b.math(Math::Sub, &[n, one]);
        let clamped = clamp(b, i, last);
        let repeated = modulo(b, i, n);
        let twice = b.add(n, n);
        let folded = modulo(b, i, twice);
        let end = b.math(Math::Sub, &[twice, one]);
        let back = b.math(Math::Sub, &[end, folded]);
        let is_first = b.math(Math::Lt, &[folded, n]);
        let mirrored = b.select(is_first, folded, back);
        let shift = 4 + 2 * axis as u32;
        let (low, high) = (has_bit(b, self.state, shift), has_bit(b, self.state, shift + 1));
        let near = b.select(low, repeated, clamped);
        let far = b.select(low, i, mirrored);
        b.select(high, far, near)
    }
}

fn lane(b: &mut Builder<'_>, value: Value, lane: u8) -> Value {
    if matches!(b.types.get(b.ty(value)), Type::Scalar(_)) { value } else { b.part(value, lane.into()) }
}

/// `i`, but at least 0 and at most `last`.
fn clamp(b: &mut Builder<'_>, i: Value, last: Value) -> Value {
    let zero = b.int(0);
    let i = b.math(Math::Max, &[i, zero]);
    b.math(Math::Min, &[i, last])
}

/// `i` modulo `n`, which is positive.
fn modulo(b: &mut Builder<'_>, i: Value, n: Value) -> Value {
    let rest = b.math(Math::Rem, &[i, n]);
    let positive = b.add(rest, n);
    b.math(Math::Rem, &[positive, n])
}

fn has_bit(b: &mut Builder<'_>, state: Value, bit: u32) -> Value {
    let ty = b.ty(state);
    let (mask, zero) = (b.constant(Const::Int(1 << bit), ty), b.zero(ty));
    let found = b.math(Math::And, &[state, mask]);
    b.math(Math::Ne, &[found, zero])
}

fn convert(b: &mut Builder<'_>, value: Value, to: Ty) -> Value {
    if b.ty(value) == to { value } else { b.emit1(Op::Convert, &[value], to) }
}

fn scaled(b: &mut Builder<'_>, value: Value, by: Value) -> Value {
    let ty = b.ty(value);
    let by = if b.ty(by) == ty { by } else { b.emit1(Op::Splat, &[by], ty) };
    b.mul(value, by)
}

/// How many levels a texture has; one if it is not set.
fn levels(b: &mut Builder<'_>, data: &GlobalData, texture: Global) -> Value {
    let handle = b.emit1(Op::Global(texture), &[], data.ty);
    let (signed, unsigned) = (b.types.scalar(Scalar::I32), b.types.scalar(Scalar::U32));
    let four = b.types.intern(Type::Vector(Scalar::U32, 4));
    let first = b.zero(unsigned);
    let dimensions = b.emit1(Op::Dimensions, &[handle, first], four);
    let levels = b.extract(dimensions, Path::part(3), &[]);
    let levels = b.emit1(Op::Bitcast, &[levels], signed);
    let one = b.int(1);
    b.math(Math::Max, &[levels, one])
}
