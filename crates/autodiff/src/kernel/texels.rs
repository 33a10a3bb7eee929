//! Numbers the texels of a texture, as its shadow has them: level by level, layer by layer, row by row.

use super::shadow::Globals;
use cotangent_base::Scalar;
use cotangent_ir::texture::Opaque;
use cotangent_ir::{Builder, Global, LoopInfo, Math, Op, Type, Value};

/// A texel: where it is, and whether it is inside of the texture.
pub(super) struct Texel {
    handle: Value,
    position: Vec<Value>,
    /// The level, if the texture has any.
    level: Option<Value>,
    pub inside: Value,
}

impl Texel {
    /// The texel at `[position, level]`, or `[position]` in a texture that is written.
    pub fn new(b: &mut Builder<'_>, texture: Global, globals: &Globals, indices: &[Value]) -> Texel {
        let handle = b.emit1(Op::Global(texture), &[], globals[texture].ty);
        let unsigned = b.types.scalar(Scalar::U32);
        let word = |b: &mut Builder<'_>, value: Value| {
            if b.ty(value) == unsigned { value } else { b.emit1(Op::Bitcast, &[value], unsigned) }
        };
        let position = if let Type::Vector(_, count) = b.types.get(b.ty(indices[0])) {
            (0..count.into()).map(|axis| b.part(indices[0], axis)).collect()
        } else {
            vec![indices[0]]
        };
        let position: Vec<Value> = position.into_iter().map(|at| word(b, at)).collect();
        let level = indices.get(1).map(|level| word(b, *level));
        let here = level.unwrap_or_else(|| b.zero(unsigned));
        let dimensions = dimensions(b, handle, here);
        let levels = b.part(dimensions, 3);
        // A negative number is a large one here.
        let mut inside = b.math(Math::Lt, &[here, levels]);
        for (axis, at) in (0..).zip(&position) {
            let size = b.part(dimensions, axis_of(b, handle, axis, position.len()));
            let is_before = b.math(Math::Lt, &[*at, size]);
            inside = b.math(Math::And, &[inside, is_before]);
        }
        Texel { handle, position, level, inside }
    }

    /// Its number, if it is inside.
    pub fn number(&self, b: &mut Builder<'_>) -> Value {
        let unsigned = b.types.scalar(Scalar::U32);
        let zero = b.zero(unsigned);
        let here = self.level.unwrap_or(zero);
        let dimensions = dimensions(b, self.handle, here);
        let mut number = zero;
        for (axis, at) in (0u32..).zip(&self.position).collect::<Vec<_>>().into_iter().rev() {
            let size = b.part(dimensions, axis_of(b, self.handle, axis, self.position.len()));
            let before = b.mul(number, size);
            number = b.add(before, *at);
        }
        match self.level {
            Some(level) => {
                let before = self.before(b, level);
                b.add(before, number)
            }
            None => number,
        }
    }

    /// How many texels the levels before this one have.
    fn before(&self, b: &mut Builder<'_>, level: Value) -> Value {
        let (signed, unsigned) = (b.types.scalar(Scalar::I32), b.types.scalar(Scalar::U32));
        let count = b.emit1(Op::Bitcast, &[level], signed);
        let zero = b.zero(unsigned);
        let info = LoopInfo { max_iters: Some(32), ..LoopInfo::default() };
        let sums = b.for_(info, count, &[zero], |b, level, carried| {
            let level = b.emit1(Op::Bitcast, &[level], unsigned);
            let dimensions = dimensions(b, self.handle, level);
            let mut texels = None;
            for axis in (0..).take(self.position.len()) {
                let size = b.part(dimensions, axis_of(b, self.handle, axis, self.position.len()));
                texels = Some(texels.map_or(size, |all| b.mul(all, size)));
            }
            let sum = b.add(carried[0], texels.expect("a texture has axes"));
            b.yield_(&[sum]);
        });
        sums[0]
    }
}

/// How many texels a texture that is read has, in all levels and layers.
pub(super) fn count(b: &mut Builder<'_>, texture: Global, globals: &Globals) -> Value {
    let handle = b.emit1(Op::Global(texture), &[], globals[texture].ty);
    let unsigned = b.types.scalar(Scalar::U32);
    let zero = b.zero(unsigned);
    let Type::Opaque(Opaque::Texture(texture)) = b.types.get(b.ty(handle)) else { return zero };
    let positions = texture.position();
    let position = vec![zero; positions.into()];
    let dimensions = dimensions(b, handle, zero);
    let levels = b.part(dimensions, 3);
    Texel { handle, position, level: None, inside: zero }.before(b, levels)
}

fn dimensions(b: &mut Builder<'_>, handle: Value, level: Value) -> Value {
    let four = b.types.intern(Type::Vector(Scalar::U32, 4));
    b.emit1(Op::Dimensions, &[handle, level], four)
}

/// Which of the dimensions belongs to a coordinate: the number of layers is the third, also if there is one axis only.
fn axis_of(b: &Builder<'_>, handle: Value, axis: u32, count: usize) -> u32 {
    let has_layers = matches!(b.types.get(b.ty(handle)), Type::Opaque(Opaque::Texture(t)) if t.array);
    if has_layers && axis as usize + 1 == count { 2 } else { axis }
}
