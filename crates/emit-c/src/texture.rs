//! Emits calls of the texture sampler in the prelude, which computes the same results as the interpreter.

use crate::Result;
use crate::expr::Expr;
use crate::func::FuncEmitter;
use cotangent_ir::InstData;
use cotangent_ir::texture::{Dim, Opaque, Sampling, Texture};

/// The type of a parameter that is a texture or a sampler; `texel` is how one of its texels is written.
pub(crate) fn handle(opaque: Opaque, texel: impl FnOnce(Texture) -> String) -> String {
    let texture = match opaque {
        Opaque::Sampler | Opaque::Comparison => return "const ct::Sampler*".to_string(),
        Opaque::Texture(texture) => texture,
    };
    let axes = match texture.dim {
        Dim::D1 => "1D",
        Dim::D2 => "2D",
        Dim::D3 => "3D",
        Dim::Cube => "Cube",
    };
    let array = if texture.array { "Array" } else { "" };
    format!("const ct::Texture{axes}{array}<{}>*", texel(texture))
}

impl FuncEmitter<'_, '_> {
    /// What a sampler makes of a texture. Nothing has neighbours here: what follows from them is level 0.
    pub fn sample(&self, how: Sampling, mut args: Vec<Expr>) -> Expr {
        let name = match how {
            Sampling::Implicit => {
                args.insert(3, Expr::name("0".to_string()));
                "ct::sample_level".to_string()
            }
            Sampling::Bias | Sampling::Level => "ct::sample_level".to_string(),
            Sampling::Gradient => "ct::sample_gradient".to_string(),
            Sampling::Compare | Sampling::CompareZero => "ct::sample_compare".to_string(),
            Sampling::Gather(lane) => format!("ct::gather<{lane}>"),
        };
        Expr { memory: true, ..Expr::call(&name, &args) }
    }

    /// Writes a texel.
    pub fn store_texel(&mut self, data: &InstData) -> Result<()> {
        let args: Vec<Expr> = data.operands.iter().map(|v| self.value(*v)).collect();
        self.write_memory();
        self.line(&format!("{};", Expr::call("ct::store_texel", &args).text));
        Ok(())
    }
}
