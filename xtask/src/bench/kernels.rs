//! The kernels that are measured, and the numbers they are given.

/// A kernel: its file, its function, macros, and how many numbers a thread reads and writes.
pub struct Kernel {
    /// The file in `bench/kernels`.
    pub file: &'static str,
    /// The file in `bench/hand`.
    pub hand: &'static str,
    /// The function that is differentiated.
    pub function: &'static str,
    /// Macros.
    pub defines: &'static [&'static str],
    /// How many numbers a thread reads.
    pub input: usize,
    /// How many numbers a gradient has.
    pub gradient: usize,
}

const fn kernel(file: &'static str, function: &'static str, input: usize, gradient: usize) -> Kernel {
    Kernel { file, hand: file, function, defines: &[], input, gradient }
}

/// The same, and the kernel whose adjoint by hand is that of this one, too.
const fn accessor(
    file: &'static str,
    hand: &'static str,
    function: &'static str,
    input: usize,
    gradient: usize,
) -> Kernel {
    Kernel { file, hand, function, defines: &[], input, gradient }
}

/// Where an element is updated with itself, slangc's gradient lacks one of the two terms; with `OFS=1` none is.
const fn array_update(defines: &'static [&'static str; 2], n: usize) -> Kernel {
    Kernel { defines, ..kernel("k2_arrayupdate", "arrayUpdate", n, n) }
}

/// All kernels.
pub const KERNELS: [Kernel; 14] = [
    kernel("k1_polyloop", "polyLoop", 2, 2),
    array_update(&["N=16", "OFS=1"], 16),
    array_update(&["N=64", "OFS=1"], 64),
    array_update(&["N=256", "OFS=1"], 256),
    array_update(&["N=1024", "OFS=1"], 1024),
    kernel("k3_splat", "splat", 581, 576),
    accessor("k3_splat_buf", "k3_splat", "splat", 581, 576),
    kernel("k4_mlp", "mlp", 496, 484),
    accessor("k4_mlp_buf", "k4_mlp", "mlp", 496, 484),
    kernel("k5_shading", "shading", 14, 5),
    kernel("k6_march", "march", 8, 5),
    kernel("k7_springs", "springs", 35, 33),
    kernel("k8_convolution", "convolution", 144, 140),
    kernel("k9_transformer", "transformer", 545, 512),
];

/// Threads of a group, in all kernels.
pub const THREADS: usize = 64;

/// The memory that the numbers of all threads should take: about what a cache of second level holds.
const BYTES: usize = 1 << 20;

impl Kernel {
    /// How it is called in tables.
    pub fn name(&self) -> String {
        let size = self.defines.first().map_or(String::new(), |define| format!(" {define}"));
        format!("{}{size}", self.file)
    }

    /// How many groups run.
    pub fn groups(&self) -> usize {
        (BYTES / (4 * THREADS * (self.input + self.gradient))).clamp(4, 256)
    }

    /// Random numbers for all threads.
    pub fn numbers(&self) -> Vec<f32> {
        let mut seed = 1u32;
        let count = self.groups() * THREADS * self.input;
        let mut next = |at: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            self.scale(at % self.input) * (0.1 + 0.8 * (seed >> 8) as f32 / 16_777_216.0)
        };
        (0..count).map(&mut next).collect()
    }

    /// What a number of a thread is multiplied by: Gaussians are so transparent that most of them are seen.
    fn scale(&self, number: usize) -> f32 {
        if self.hand == "k3_splat" && number < 576 && number % 9 == 8 { 0.2 } else { 1.0 }
    }
}
