//! Runs programs on NVIDIA devices.
//!
//! CUDA's driver and its compiler, NVRTC, are libraries that are looked for at run time. Nothing is linked, and no toolkit is
//! needed: the driver is NVIDIA's display driver, NVRTC comes with the package `nvidia-cuda-nvrtc` or a toolkit. Where one of them or a device is
//! missing, [`Device::open`] says which.
//!
//! [`Cuda`] is the back end. An entry point is written as CUDA by [`Translate`] and compiled when it is first launched. Buffers and
//! textures stay on the device.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`driver`] | the functions of the driver that are used |
//! | [`nvrtc`] | the compiler |
//! | [`memory`] | memory of a device |
//! | [`blocks`] | the blocks of parameters that a kernel is given |
//! | [`backend`] | the back end |

// A new variant must be looked at wherever its enumeration is matched.
#![deny(clippy::wildcard_enum_match_arm)]

mod backend;
mod blocks;
mod driver;
mod memory;
mod nvrtc;

pub use backend::{Buffer, Cuda, Loaded, Texture};
pub use driver::{Device, Info, devices};

pub use cotangent_runtime::cuda::{Text, Translate};
