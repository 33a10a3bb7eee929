//! Operations on textures; [`cotangent_runtime::sampling`] computes what they contain.

use crate::params::Param;
use crate::{Machine, Val};
use cotangent_base::Scalar;
use cotangent_ir::texture::{Extent, Opaque, SamplerState, Sampling, Texture};
use cotangent_ir::{Const, Trap, Type};
use cotangent_runtime::sampling::{self, Texel, View};

impl Machine<'_> {
    /// `sample`.
    pub(crate) fn sample(
        &mut self,
        how: Sampling,
        ty: Type,
        types: &[Type],
        args: &[Val],
    ) -> Result<Val, Trap> {
        let numbers: Vec<Vec<f64>> =
            types.iter().zip(args).skip(2).map(|(ty, v)| self.floats(*ty, v)).collect();
        let Val::Handle(other) = &args[1] else { return Err(Trap::NullPointer) };
        let state =
            if let Param::Sampler(state) = self.params[*other] { state } else { SamplerState::default() };
        let view = self.view(ty, &args[0], state)?;
        let lanes = if let Type::Vector(_, n) = how.result(view.texture) { n.into() } else { 1 };
        let scalar = if how.compares() { Scalar::F32 } else { view.texture.scalar };
        let (coordinates, rest) = numbers.split_first().ok_or(Trap::NullPointer)?;
        let texel = view.sample(how, coordinates, &rest.iter().map(|list| &list[..]).collect::<Vec<_>>());
        Ok(self.texel_value(scalar, lanes, texel))
    }

    /// `texel`: outside there is zero.
    pub(crate) fn texel(&mut self, ty: Type, position: Type, args: &[Val]) -> Result<Val, Trap> {
        let at = self.floats(position, &args[1]);
        let level = args.get(2).map_or(0, |v| level(self.scalar(v, Scalar::I32)));
        let view = self.view(ty, &args[0], SamplerState::default())?;
        let (texture, texel) = (view.texture, view.texel(&at, level));
        Ok(self.texel_value(texture.scalar, texture.lanes.into(), texel))
    }

    /// `store_texel`: outside nothing happens.
    pub(crate) fn store_texel(&mut self, ty: Type, position: Type, args: &[Val]) -> Result<Val, Trap> {
        let at = self.floats(position, &args[1]);
        let (texture, extent, store) = self.texture(ty, &args[0])?;
        let wide = self.eval.wide;
        let Some(start) = sampling::offset(texture, extent, wide, &at) else { return Ok(Val::Unit) };
        let new = self.numbers(&args[2], texture.texel());
        let Some(store) = store else { return Ok(Val::Unit) };
        let bytes = sampling::texel_bytes(texture.scalar, wide);
        let texels = self.stores[store].bytes_mut()[start..].chunks_exact_mut(bytes);
        for (old, new) in texels.zip(new) {
            sampling::write(texture.scalar, wide, new, old);
        }
        Ok(Val::Unit)
    }

    /// `dimensions`.
    pub(crate) fn dimensions(&mut self, ty: Type, args: &[Val]) -> Result<Val, Trap> {
        let level = level(self.scalar(&args[1], Scalar::U32));
        let (texture, extent, _) = self.texture(ty, &args[0])?;
        Ok(Val::ints(&sampling::dimensions(texture, extent, level).map(i64::from)))
    }

    /// The texture that a handle stands for, its extent and its memory. An unassigned variable stands for none, and traps.
    fn texture(&self, ty: Type, handle: &Val) -> Result<(Texture, Extent, Option<usize>), Trap> {
        let (Type::Opaque(Opaque::Texture(texture)), Val::Handle(global)) = (ty, handle) else {
            return Err(Trap::NullPointer);
        };
        Ok(if let Param::Texture { store, extent } = self.params[*global] {
            (texture, extent, Some(store))
        } else {
            (texture, Extent { size: [0; 3], layers: 0, levels: 0 }, None)
        })
    }

    fn view(&self, ty: Type, handle: &Val, state: SamplerState) -> Result<View<'_>, Trap> {
        let (texture, extent, store) = self.texture(ty, handle)?;
        let texels = store.map_or(&[][..], |store| self.stores[store].bytes());
        Ok(View { texture, extent, texels, wide: self.eval.wide, state, offset: [0; 3] })
    }

    fn floats(&mut self, ty: Type, value: &Val) -> Vec<f64> {
        let number = |c: Const| match c {
            Const::Float(bits) => f64::from_bits(bits),
            Const::Int(n) => n as f64,
            Const::Bool(b) => f64::from(b),
        };
        self.numbers(value, ty).into_iter().map(number).collect()
    }

    fn texel_value(&self, scalar: Scalar, lanes: usize, texel: Texel) -> Val {
        let lane = |x: f64| match scalar.is_float() {
            true => Val::Scalar(self.eval.constant(Const::float(x), scalar)),
            false => Val::int(x as i64),
        };
        if lanes == 1 { lane(texel[0]) } else { Val::aggregate(texel[..lanes].iter().map(|x| lane(*x))) }
    }
}

/// A level as an operand gives it.
fn level(operand: Const) -> i64 {
    if let Const::Int(n) = operand { n } else { 0 }
}
