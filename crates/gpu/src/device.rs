//! Enumerates and opens devices.

use crate::{Error, Needs};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// What a device is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Info {
    /// Its name, as the driver gives it.
    pub name: String,
    /// Through what it is spoken to: Vulkan, Metal, Direct3D 12.
    pub backend: &'static str,
    /// Whether it is a processor of its own.
    pub kind: &'static str,
    /// The driver and its version.
    pub driver: String,
}

/// A device, ready to run programs.
pub struct Device {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    info: Info,
}

/// All devices, in an order that does not change while none is added; the first is taken if nobody asks for another.
pub fn devices() -> Vec<Info> {
    adapters().iter().map(info).collect()
}

fn adapters() -> Vec<wgpu::Adapter> {
    let mut options = wgpu::InstanceDescriptor::new_without_display_handle();
    // No validation layers: they are slow, and print.
    options.flags = wgpu::InstanceFlags::empty();
    let instance = wgpu::Instance::new(options);
    let mut adapters = now(instance.enumerate_adapters(wgpu::Backends::all())).unwrap_or_default();
    adapters.sort_by_key(|adapter| match adapter.get_info().device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    });
    adapters
}

fn info(adapter: &wgpu::Adapter) -> Info {
    let info = adapter.get_info();
    let backend = match info.backend {
        wgpu::Backend::Vulkan => "Vulkan",
        wgpu::Backend::Metal => "Metal",
        wgpu::Backend::Dx12 => "Direct3D 12",
        wgpu::Backend::Gl => "OpenGL",
        wgpu::Backend::BrowserWebGpu => "WebGPU",
        wgpu::Backend::Noop => "none",
    };
    let kind = match info.device_type {
        wgpu::DeviceType::DiscreteGpu => "discrete",
        wgpu::DeviceType::IntegratedGpu => "integrated",
        wgpu::DeviceType::VirtualGpu => "virtual",
        wgpu::DeviceType::Other => "other",
        wgpu::DeviceType::Cpu => "software",
    };
    let driver = format!("{} {}", info.driver, info.driver_info).trim().to_string();
    Info { name: info.name, backend, kind, driver }
}

/// The result of a future that waits for nobody, as those of wgpu do outside browsers.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// What a device is asked for if it has it.
fn wanted() -> wgpu::Features {
    wgpu::Features::SHADER_F16
        | wgpu::Features::SHADER_F64
        | wgpu::Features::SHADER_INT64
        | wgpu::Features::SUBGROUP
        | wgpu::Features::TIMESTAMP_QUERY
        | wgpu::Features::PASSTHROUGH_SHADERS
        | wgpu::Features::IMMEDIATES
        | wgpu::Features::FLOAT32_FILTERABLE
        | wgpu::Features::TEXTURE_ADAPTER_SPECIFIC_FORMAT_FEATURES
        | wgpu::Features::ADDRESS_MODE_CLAMP_TO_BORDER
        | wgpu::Features::CLIP_DISTANCES
}

impl Device {
    /// Opens a device: the first, or the one that `choice` names, by its number in the list of [`devices`] or by a part of
    /// its name.
    pub fn open(choice: Option<&str>) -> Result<Device, Error> {
        let adapters = adapters();
        let adapter = choose(&adapters, choice)?;
        let options = wgpu::DeviceDescriptor {
            label: None,
            required_features: adapter.features() & wanted(),
            required_limits: adapter.limits(),
            experimental_features: wgpu::ExperimentalFeatures::disabled(),
            memory_hints: wgpu::MemoryHints::default(),
            trace: wgpu::Trace::Off,
        };
        let info = info(adapter);
        match now(adapter.request_device(&options)) {
            Some(Ok((device, queue))) => Ok(Device { device, queue, info }),
            Some(Err(e)) => Err(Error(format!("cannot open the device `{}`: {e}", info.name))),
            None => Err(Error(format!("the device `{}` does not respond", info.name))),
        }
    }

    /// What it is.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// Whether it takes SPIR-V as it is.
    pub(crate) fn takes_spirv(&self) -> bool {
        self.info.backend == "Vulkan" && self.device.features().contains(wgpu::Features::PASSTHROUGH_SHADERS)
    }

    /// Refuses what the device cannot compute in.
    pub(crate) fn check(&self, needs: Needs) -> Result<(), Error> {
        let has = |feature| self.device.features().contains(feature);
        let missing = [
            (needs.f16, wgpu::Features::SHADER_F16, "support `half`"),
            (needs.f64, wgpu::Features::SHADER_F64, "support `double`"),
            (needs.i64, wgpu::Features::SHADER_INT64, "support 64-bit integers"),
            (needs.waves, wgpu::Features::SUBGROUP, "run waves"),
        ]
        .into_iter()
        .find(|(needed, feature, _)| *needed && !has(*feature));
        match missing {
            Some((.., what)) => Err(Error(format!("the device `{}` does not {what}", self.info.name))),
            None => Ok(()),
        }
    }
}

fn choose<'a>(adapters: &'a [wgpu::Adapter], choice: Option<&str>) -> Result<&'a wgpu::Adapter, Error> {
    let found = match choice {
        None => adapters.first(),
        Some(text) => match text.parse::<usize>() {
            Ok(index) => adapters.get(index),
            Err(_) => {
                let text = text.to_lowercase();
                adapters.iter().find(|a| a.get_info().name.to_lowercase().contains(&text))
            }
        },
    };
    found.ok_or_else(|| {
        let names: Vec<String> =
            adapters.iter().enumerate().map(|(i, a)| format!("{i} {}", a.get_info().name)).collect();
        Error(match choice {
            _ if names.is_empty() => NO_DEVICE.to_string(),
            Some(text) => format!("there is no device `{text}`; there are: {}", names.join(", ")),
            None => NO_DEVICE.to_string(),
        })
    })
}

const NO_DEVICE: &str = "there is no Vulkan, Metal or Direct3D 12 device; on Linux, Mesa's lavapipe (Debian: \
                         mesa-vulkan-drivers) provides one in software";
