//! What each target can do, in one table.
//!
//! Input: a [`Feature`] and a [`Target`]. Output: whether the target has the feature ([`Support`]). Emitters ask this table before they
//! emit anything that some target lacks, so a refusal names the line of the source and the row of the table. The table of
//! targets in the guide is this one: a test compares them.
//!
//! A new target is a column, and a refusal without a row is a refusal of every target. Differences in spelling alone are not here:
//! they belong to the emitters.

use crate::layout::Target;
use Support::{By, No, Yes};
use std::fmt::Write;

/// Whether a target has a feature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Support {
    /// It has.
    Yes,
    /// It has, in a way that users should know.
    By(&'static str),
    /// It has not: a program that needs the feature is an error.
    No,
}

/// A row: the name in the guide, then the columns in the order of [`COLUMNS`].
type Row = (&'static str, [Support; COLUMNS.len()]);

/// The order of the table's columns.
const COLUMNS: [Target; 7] =
    [Target::Wgsl, Target::SpirV, Target::Glsl, Target::Hlsl, Target::Metal, Target::Cpp, Target::Cuda];

/// The targets that are shading languages.
pub const SHADERS: [Target; 5] = [Target::Wgsl, Target::SpirV, Target::Glsl, Target::Hlsl, Target::Metal];

// A new target is a column, and either a shading language or one with pointers.
const _: () = {
    assert!(COLUMNS.len() == Target::ALL.len());
    let (mut shaders, mut number) = (0, 0);
    while number < COLUMNS.len() {
        shaders += !COLUMNS[number].has_pointers() as usize;
        number += 1;
    }
    assert!(shaders == SHADERS.len());
};

/// A row whose shading languages are alike.
const fn alike(title: &'static str, shaders: Support, cpp: Support, cuda: Support) -> Row {
    (title, [shaders, shaders, shaders, shaders, shaders, cpp, cuda])
}

/// A row where C++ and CUDA have the feature.
const fn native(title: &'static str, [a, b, c, d, e]: [Support; 5]) -> Row {
    (title, [a, b, c, d, e, Yes, Yes])
}

/// A row where C++ and CUDA do not have the feature.
const fn drawing(title: &'static str, [a, b, c, d, e]: [Support; 5]) -> Row {
    (title, [a, b, c, d, e, No, No])
}

const WGPU: Support = By("on wgpu");

/// Declares features and their rows: WGSL, SPIR-V, GLSL, HLSL, Metal, and C++ and CUDA where they are not alike.
macro_rules! features {
    ($($(#[$doc:meta])* $name:ident => $row:expr,)*) => {
        /// Something that not every target can do, or not in the same way.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Feature {
            $($(#[$doc])* $name,)*
        }

        impl Feature {
            /// All of them, in the order of the table.
            pub const ALL: &[Feature] = &[$(Feature::$name,)*];

            const fn row(self) -> Row {
                match self {
                    $(Feature::$name => $row,)*
                }
            }
        }
    };
}

features! {
    /// 16-bit floats.
    Half => native("`half`", [Yes, Yes, No, By("16-bit types on"), Yes]),
    /// 64-bit floats.
    Double => native("`double`", [No, Yes, Yes, Yes, No]),
    /// Roots and rounding of 64-bit floats.
    DoubleRounding => native("`sqrt`, `floor`, .. of `double`", [No, Yes, Yes, No, No]),
    /// Elementary functions of 64-bit floats.
    DoubleMath => native("`sin`, `exp`, `pow`, .. of `double`", [No; 5]),
    /// 64-bit integers.
    Int64 => native("64-bit integers", [WGPU, Yes, No, Yes, Yes]),
    /// 8- and 16-bit integers.
    NarrowInt => native("8- and 16-bit integers", [By("in 32 bits"); 5]),
    /// Booleans in memory that the host sees.
    BoolInMemory => (
        "`bool` in buffers",
        [By("a word"), By("a word"), By("a word"), By("a word"), By("a byte"), By("a byte"), By("a byte")],
    ),
    /// The bits of 64-bit floats: as integers, and in memory whose layout naga does not know.
    DoubleBits => native("the bits of `double`; `double` in memory accessed as words", [No, Yes, No, No, No]),
    /// Atomic operations on floats.
    FloatAtomic => alike("atomics on `float`", By("a loop"), By("a loop"), Yes),
    /// Atomic operations on anything but whole 32-bit numbers.
    OtherAtomic => native("atomics on 64 bits, or on components of vectors in `groupshared` memory", [No; 5]),
    /// The number of elements of a buffer.
    Length => native("`GetDimensions`", [Yes, Yes, Yes, Yes, By("a buffer of sizes")]),
    /// Vertex and fragment shaders.
    Stages => drawing("vertex and fragment shaders", [Yes; 5]),
    /// `discard`.
    Discard => drawing("`discard`", [Yes; 5]),
    /// Which samples of a pixel are covered.
    Coverage => drawing("`SV_Coverage`", [Yes, No, No, Yes, Yes]),
    /// The number of the triangle.
    PrimitiveId => drawing("`SV_PrimitiveID`", [WGPU, Yes, Yes, Yes, Yes]),
    /// The number of the view.
    ViewId => drawing("`SV_ViewID`", [WGPU, Yes, Yes, Yes, Yes]),
    /// The numbers of the first vertex and instance.
    First => drawing("`SV_StartVertexLocation`, `SV_StartInstanceLocation`", [No, Yes, Yes, No, Yes]),
    /// Numbers of vertices and instances that count from zero, whichever is the first that is drawn.
    VulkanIndex => drawing("`SV_VulkanVertexID`, `SV_VulkanInstanceID`", [Yes, Yes, Yes, No, Yes]),
    /// The number of the draw call.
    DrawIndex => drawing("`SV_DrawIndex`", [WGPU, Yes, Yes, No, No]),
    /// The barycentric coordinates of a pixel in its triangle.
    Barycentrics => drawing("`SV_Barycentrics`", [WGPU, Yes, Yes, Yes, Yes]),
    /// The width of a point.
    PointSize => drawing("`SV_PointSize`", [No, Yes, Yes, No, Yes]),
    /// Planes that clip triangles.
    ClipDistance => drawing("`SV_ClipDistance`", [Yes; 5]),
    /// Planes that cull triangles.
    CullDistance => drawing("`SV_CullDistance`", [No, Yes, Yes, Yes, No]),
    /// The distances of a pixel from such planes.
    DistanceRead => drawing("`SV_ClipDistance`, `SV_CullDistance` in a fragment shader", [No; 5]),
    /// Differences between neighbouring pixels.
    Screen => drawing("`ddx`, `ddy`, `fwidth`", [Yes; 5]),
    /// Differences between neighbouring pixels of anything but 32-bit floats.
    ScreenOther => drawing("`ddx`, `ddy`, `fwidth` of `half` and `double`", [No; 5]),
    /// Several entry points in one file.
    SeveralEntries => native("several entry points", [Yes, Yes, No, Yes, Yes]),
    /// Functions without an entry point.
    NoEntry => native("functions without an entry point", [Yes, Yes, No, Yes, Yes]),
    /// `ParameterBlock`.
    ParameterBlock => native("`ParameterBlock`", [Yes, Yes, By("Vulkan's `set`"), Yes, No]),
    /// Two blocks of push constants.
    SeveralPushed => native("several blocks of push constants", [No, No, No, Yes, Yes]),
    /// Push constants of more bytes than naga counts.
    LargePushed => native("more than 256 bytes of push constants", [Yes, No, Yes, Yes, Yes]),
    /// Variables of more bytes than the zeros that initialize them should take as text.
    LargeValue => native("variables of more than 4 MiB", [Yes, Yes, No, Yes, Yes]),
    /// Values of more bytes than naga counts, with small integers as 32-bit ones.
    HugeValue => native("values of 2 GiB or more, where 8-bit and 16-bit integers count as 32-bit ones", [No; 5]),
    /// Values assembled from so many words that the shader would become too long.
    LongWords => native("values of more than 16,384 numbers in memory that is accessed as words", [No; 5]),
    /// `packoffset`.
    PackOffset => alike("`packoffset`", No, No, No),
    /// Spaces, indices and numbers of resources that do not fit in eight bits.
    LargeNumbers => native(
        "register spaces and buffer indices beyond 8 bits",
        [Yes, Yes, By("256 resources"), No, No],
    ),
    /// Arrays of resources.
    ResourceArray => native("arrays of resources", [WGPU, Yes, No, Yes, Yes]),
    /// Arrays whose elements are arrays or structures with resources.
    ResourceArrayOfStructs => native("arrays of arrays and of structures with resources", [No; 5]),
    /// Textures and samplers in variables, and resources in the elements of buffers.
    ResourceValue => native("textures in variables, resources in elements of buffers", [No; 5]),
    /// Arrays of resources whose length nobody says. Lowering refuses them.
    OpenArray => ("arrays of resources without a length", [By("a length on the command line"); 7]),
    /// Handles of resources. Lowering refuses them.
    Handle => native("descriptor handles", [By("E0720"); 5]),
    /// Constants in memory for textures. Lowering refuses them.
    TextureBuffer => native("`TextureBuffer`", [Yes, Yes, Yes, By("E0720"), By("E0720")]),
    /// What is checked and never made. Lowering refuses it.
    Checked => (
        "ray tracing, mesh shaders, subpass inputs, descriptor heaps, products of `CoopVec`, multisampled, sparse and rasterizer-ordered textures, sampler feedback, arrays of cubes, gathers that compare",
        [By("E0737"); 7],
    ),
    /// Values of interface type in memory that the host sees.
    InterfaceInMemory => native("values of interface type in buffers", [Yes; 5]),
    /// Buffers as arguments of functions that are not inlined.
    BufferArgument => native("buffers passed to functions that are not inlined", [No; 5]),
    /// Pointers that are chosen at run time, compared, subtracted or cast.
    PointerValue => native("pointers chosen at run time, compared, subtracted or cast", [No; 5]),
    /// Pointers in memory that the host sees.
    PointerInMemory => alike("pointers in buffers", No, No, No),
    /// Textures and samplers.
    Texture => native("textures and samplers", [Yes, Yes, By("separate, as in Vulkan"), Yes, Yes]),
    /// Arrays of textures of one dimension.
    LineArray => native("arrays of 1D textures", [No, Yes, Yes, Yes, Yes]),
    /// Textures of one dimension that are sampled.
    SampledLine => native("`Texture1D` sampled", [Yes, Yes, Yes, Yes, No]),
    /// Comparisons with textures that are not of one `float` and two dimensions.
    OtherComparison => native(
        "comparisons with `Texture1D`, `Texture3D` and texels of several components",
        [No; 5],
    ),
    /// Textures that are compared, and sampled at levels of choice too.
    ComparedLevels => native(
        "chosen levels and gradients on textures that are also compared",
        [No, No, Yes, No, No],
    ),
    /// Operations on waves.
    Wave => native("`WaveActiveSum` and so on", [Yes; 5]),
    /// Functions that call themselves.
    Recursion => native("recursion", [No; 5]),
    /// `printf`.
    Printf => native("`printf`", [By("a buffer"); 5]),
    /// Samples of textures of one dimension with an offset.
    LineOffset => native("`Texture1D` sampled with an offset", [No, Yes, Yes, Yes, No]),
    /// Offsets of samples that are not constants.
    VariableOffset => native("sampling with an offset that is not a constant", [No; 5]),
    /// Text in the language of the target.
    TargetText => native("`__intrinsic_asm`, `__requirePrelude`: text of the target", [No; 5]),
    /// A failed assertion.
    Trap => alike("traps", By("NaN"), Yes, Yes),
    /// Parameters that are larger than what a kernel can be launched with.
    LargeParams => alike("more than 32,764 bytes of parameters", By("limit of the device"), Yes, No),
    /// Group-shared variables that are larger than what a block of threads has without asking for more.
    LargeShared => alike("more than 48 KiB of `groupshared` variables", By("limit of the device"), Yes, No),
}

impl Feature {
    /// What the table calls it.
    pub const fn title(self) -> &'static str {
        self.row().0
    }

    /// Whether `target` has it.
    pub const fn support(self, target: Target) -> Support {
        let (_, row) = self.row();
        match target {
            Target::Wgsl => row[0],
            Target::SpirV => row[1],
            Target::Glsl => row[2],
            Target::Hlsl => row[3],
            Target::Metal => row[4],
            Target::Cpp => row[5],
            Target::Cuda => row[6],
        }
    }

    /// Whether `target` has it in some way.
    pub const fn is_in(self, target: Target) -> bool {
        !matches!(self.support(target), No)
    }

    /// The note of a diagnostic that refuses it.
    pub fn note(self) -> String {
        format!("see the guide's table of targets: {}", self.title())
    }
}

/// The table in Markdown. A target that does not have a feature reports the code that `code` returns.
pub fn markdown(code: impl Fn(Target) -> &'static str) -> String {
    let mut out = String::from("| |");
    COLUMNS.iter().for_each(|t| _ = write!(out, " {} |", t.title()));
    out += "\n|";
    out += &" --- |".repeat(COLUMNS.len() + 1);
    out.push('\n');
    for feature in Feature::ALL {
        _ = write!(out, "| {} |", feature.title());
        for target in COLUMNS {
            let text = match feature.support(target) {
                Yes => "yes",
                By(how) => how,
                No => code(target),
            };
            _ = write!(out, " {text} |");
        }
        out.push('\n');
    }
    out
}
