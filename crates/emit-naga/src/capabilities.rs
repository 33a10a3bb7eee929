//! What each target can do, in one table.
//!
//! Everything that some target refuses has a row here, and so has what a target does in a way of its own. Emission asks
//! [`Emitter::require`] before naga sees anything, so a refusal names the line of the source. The table of targets in the guide
//! is this one: a test compares them.

use crate::{Emitter, Result, unsupported};
use cotangent_base::{Diagnostic, Span};
use cotangent_ir::layout::Target;
use std::fmt::Write;

/// Something that not every target can do, or not in the same way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feature {
    /// 16-bit floats.
    Half,
    /// 64-bit floats.
    Double,
    /// Roots and rounding of 64-bit floats.
    DoubleRounding,
    /// Elementary functions of 64-bit floats.
    DoubleMath,
    /// 64-bit integers.
    Int64,
    /// 8- and 16-bit integers.
    NarrowInt,
    /// Booleans in memory that the host sees.
    BoolInMemory,
    /// The bits of 64-bit floats: as integers, and in memory whose layout naga does not know.
    DoubleBits,
    /// Atomic operations on floats.
    FloatAtomic,
    /// Atomic operations on anything but whole 32-bit numbers.
    OtherAtomic,
    /// The number of elements of a buffer.
    Length,
    /// Vertex and fragment shaders.
    Stages,
    /// Which samples of a pixel are covered.
    Coverage,
    /// The number of the triangle.
    PrimitiveId,
    /// The number of the view.
    ViewId,
    /// The numbers of the first vertex and instance.
    First,
    /// The number of the draw call.
    DrawIndex,
    /// Where in the triangle a pixel is.
    Barycentrics,
    /// How wide a point is.
    PointSize,
    /// Planes that cut triangles off.
    ClipDistance,
    /// Planes that triangles are dropped behind of.
    CullDistance,
    /// Distances from such planes, of a pixel.
    DistanceRead,
    /// Differences between pixels of anything but 32-bit floats.
    ScreenOther,
    /// Several entry points in one file.
    SeveralEntries,
    /// Functions without an entry point.
    NoEntry,
    /// `ParameterBlock`.
    ParameterBlock,
    /// Two blocks of push constants.
    SeveralPushed,
    /// `packoffset`.
    PackOffset,
    /// Spaces, indices and numbers of resources that do not fit in eight bits.
    LargeNumbers,
    /// Arrays of resources.
    ResourceArray,
    /// Textures and samplers in variables, and resources in the elements of buffers.
    ResourceValue,
    /// Values of interface type in memory that the host sees.
    InterfaceInMemory,
    /// Buffers as arguments of functions that are not inlined.
    BufferArgument,
    /// Pointers that are chosen at run time, compared or subtracted.
    PointerValue,
    /// Textures and samplers.
    Texture,
    /// Textures of one dimension that are sampled.
    SampledLine,
    /// Comparisons with textures that are not of one `float` and two dimensions.
    OtherComparison,
    /// Textures that are compared, and sampled at levels of choice too.
    ComparedLevels,
    /// Operations on waves.
    Wave,
    /// Functions that call themselves.
    Recursion,
    /// `printf`.
    Printf,
}

/// How far a target can do something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Support {
    /// As it is.
    Yes,
    /// In a way that is worth knowing.
    By(&'static str),
    /// Not at all: a diagnostic.
    No,
}

use Support::{By, No, Yes};

impl Feature {
    /// All of them, in the order of the table.
    pub const ALL: &[Feature] = &[
        Feature::Half,
        Feature::Double,
        Feature::DoubleRounding,
        Feature::DoubleMath,
        Feature::Int64,
        Feature::NarrowInt,
        Feature::BoolInMemory,
        Feature::DoubleBits,
        Feature::FloatAtomic,
        Feature::OtherAtomic,
        Feature::Length,
        Feature::Stages,
        Feature::Coverage,
        Feature::PrimitiveId,
        Feature::ViewId,
        Feature::First,
        Feature::DrawIndex,
        Feature::Barycentrics,
        Feature::PointSize,
        Feature::ClipDistance,
        Feature::CullDistance,
        Feature::DistanceRead,
        Feature::ScreenOther,
        Feature::SeveralEntries,
        Feature::NoEntry,
        Feature::ParameterBlock,
        Feature::SeveralPushed,
        Feature::PackOffset,
        Feature::LargeNumbers,
        Feature::ResourceArray,
        Feature::ResourceValue,
        Feature::InterfaceInMemory,
        Feature::BufferArgument,
        Feature::PointerValue,
        Feature::Texture,
        Feature::SampledLine,
        Feature::OtherComparison,
        Feature::ComparedLevels,
        Feature::Wave,
        Feature::Recursion,
        Feature::Printf,
    ];

    /// The row of the table: what it is, then WGSL, SPIR-V, GLSL, HLSL and Metal.
    const fn row(self) -> (&'static str, [Support; 5]) {
        const IN_A_LOOP: Support = By("a loop");
        const ON_WGPU: Support = By("on wgpu");
        match self {
            Feature::Half => ("`half`", [Yes, Yes, No, By("16-bit types on"), Yes]),
            Feature::Double => ("`double`", [No, Yes, Yes, Yes, No]),
            Feature::DoubleRounding => ("`sqrt`, `floor`, .. of `double`", [No, Yes, Yes, No, No]),
            Feature::DoubleMath => ("`sin`, `exp`, `pow`, .. of `double`", [No; 5]),
            Feature::Int64 => ("64-bit integers", [ON_WGPU, Yes, No, Yes, Yes]),
            Feature::NarrowInt => ("8- and 16-bit integers", [By("in 32 bits"); 5]),
            Feature::BoolInMemory => {
                ("`bool` in buffers", [By("a word"), By("a word"), By("a word"), By("a word"), By("a byte")])
            }
            Feature::DoubleBits => {
                ("the bits of `double`; `double` in memory that is words", [No, Yes, No, No, No])
            }
            Feature::FloatAtomic => ("atomics on `float`", [IN_A_LOOP; 5]),
            Feature::OtherAtomic => ("atomics on 64 bits, on lanes of vectors", [No; 5]),
            Feature::Length => ("`GetDimensions`", [Yes, Yes, Yes, Yes, By("a buffer of sizes")]),
            Feature::Stages => ("vertex and fragment shaders", [Yes; 5]),
            Feature::Coverage => ("`SV_Coverage`", [Yes, No, No, Yes, Yes]),
            Feature::PrimitiveId => ("`SV_PrimitiveID`", [ON_WGPU, Yes, Yes, Yes, Yes]),
            Feature::ViewId => ("`SV_ViewID`", [ON_WGPU, Yes, Yes, Yes, Yes]),
            Feature::First => {
                ("`SV_StartVertexLocation`, `SV_StartInstanceLocation`", [No, Yes, Yes, No, Yes])
            }
            Feature::DrawIndex => ("`SV_DrawIndex`", [ON_WGPU, Yes, Yes, No, No]),
            Feature::Barycentrics => ("`SV_Barycentrics`", [ON_WGPU, Yes, Yes, Yes, Yes]),
            Feature::PointSize => ("`SV_PointSize`", [No, Yes, Yes, No, Yes]),
            Feature::ClipDistance => ("`SV_ClipDistance`", [Yes; 5]),
            Feature::CullDistance => ("`SV_CullDistance`", [No, Yes, Yes, Yes, No]),
            Feature::DistanceRead => ("`SV_ClipDistance`, `SV_CullDistance` of a pixel", [No; 5]),
            Feature::ScreenOther => ("`ddx`, `ddy`, `fwidth` of `half` and `double`", [No; 5]),
            Feature::SeveralEntries => ("several entry points", [Yes, Yes, No, Yes, Yes]),
            Feature::NoEntry => ("functions without an entry point", [Yes, Yes, No, Yes, Yes]),
            Feature::ParameterBlock => ("`ParameterBlock`", [Yes, Yes, By("Vulkan's `set`"), Yes, No]),
            Feature::SeveralPushed => ("several blocks of push constants", [No, No, No, Yes, Yes]),
            Feature::PackOffset => ("`packoffset`", [No; 5]),
            Feature::LargeNumbers => {
                ("register spaces and buffer indices beyond 8 bits", [Yes, Yes, By("256 resources"), No, No])
            }
            Feature::ResourceArray => ("arrays of resources", [No; 5]),
            Feature::ResourceValue => ("textures in variables, resources in elements of buffers", [No; 5]),
            Feature::InterfaceInMemory => ("values of interface type in buffers", [No; 5]),
            Feature::BufferArgument => ("buffers passed to functions that stay functions", [No; 5]),
            Feature::PointerValue => ("pointers chosen at run time, compared, subtracted", [No; 5]),
            Feature::Texture => ("textures and samplers", [Yes, Yes, By("apart, as in Vulkan"), Yes, Yes]),
            Feature::SampledLine => ("`Texture1D` sampled", [Yes, Yes, Yes, Yes, No]),
            Feature::OtherComparison => {
                ("comparisons with `Texture1D`, `Texture3D` and texels of several lanes", [No; 5])
            }
            Feature::ComparedLevels => {
                ("levels and derivatives of choice beside comparisons", [No, No, Yes, No, No])
            }
            Feature::Wave => ("`WaveActiveSum` and so on", [Yes; 5]),
            Feature::Recursion => ("functions that call themselves", [No; 5]),
            Feature::Printf => ("`printf`", [No; 5]),
        }
    }

    /// What it is, as the table says.
    pub const fn title(self) -> &'static str {
        self.row().0
    }

    /// How far `target` can do it. C++ and CUDA are not of this crate.
    pub const fn support(self, target: Target) -> Support {
        let (_, row) = self.row();
        match target {
            Target::Wgsl => row[0],
            Target::SpirV => row[1],
            Target::Glsl => row[2],
            Target::Hlsl => row[3],
            Target::Metal => row[4],
            Target::Cuda | Target::Cpp => No,
        }
    }
}

/// The targets of this crate.
pub const TARGETS: [Target; 5] = [Target::Wgsl, Target::SpirV, Target::Glsl, Target::Hlsl, Target::Metal];

/// What people call a target.
pub const fn title(target: Target) -> &'static str {
    match target {
        Target::Wgsl => "WGSL",
        Target::SpirV => "SPIR-V",
        Target::Glsl => "GLSL",
        Target::Hlsl => "HLSL",
        Target::Metal => "Metal",
        Target::Cuda => "CUDA",
        Target::Cpp => "C++",
    }
}

/// The table in Markdown.
pub fn markdown() -> String {
    let mut out = String::from("| |");
    TARGETS.iter().for_each(|t| _ = write!(out, " {} |", title(*t)));
    out += "\n| --- | --- | --- | --- | --- | --- |\n";
    for feature in Feature::ALL {
        _ = write!(out, "| {} |", feature.title());
        for target in TARGETS {
            let text = match feature.support(target) {
                Yes => "yes",
                By(how) => how,
                No => "E0761",
            };
            _ = write!(out, " {text} |");
        }
        out.push('\n');
    }
    out
}

impl Emitter<'_> {
    /// Refuses `what`, which needs `feature`, unless the target can do it.
    pub(crate) fn require(&self, feature: Feature, span: Span, what: &str) -> Result<()> {
        match feature.support(self.target) {
            Yes | By(_) => Ok(()),
            No => refuse(feature, span, what),
        }
    }
}

/// Refuses `what`, which needs `feature`: what no target can do, and what the target at hand cannot.
pub(crate) fn refuse<T>(feature: Feature, span: Span, what: impl Into<String>) -> Result<T> {
    unsupported(span, what).map_err(|mut diagnostic: Box<Diagnostic>| {
        diagnostic.notes.push(note(feature));
        diagnostic
    })
}

/// What a refusal says about the table.
pub fn note(feature: Feature) -> String {
    format!("in the guide's table of targets: {}", feature.title())
}
