//! CUDA's driver: the functions that are used, and devices.
#![allow(unsafe_code)]

use crate::nvrtc::Nvrtc;
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::sync::OnceLock;

/// What the driver's functions return.
type Code = c_int;
/// Something that the driver owns.
pub(crate) type Handle = *mut c_void;

macro_rules! functions {
    ($(#[$doc:meta])* $owner:ident from $names:expr => $($field:ident: $symbol:literal fn($($arg:ty),*);)*) => {
        $(#[$doc])*
        pub(crate) struct $owner {
            $(pub $field: unsafe extern "C" fn($($arg),*) -> Code,)*
            _library: Library,
        }
        impl $owner {
            fn in_library(library: Library) -> Result<$owner, String> {
                // SAFETY: these are the types that CUDA's headers declare.
                unsafe {
                    $(let $field = *library
                        .get::<unsafe extern "C" fn($($arg),*) -> Code>(concat!($symbol, "\0").as_bytes())
                        .map_err(|_| format!("{} has no {}", $names, $symbol))?;)*
                    Ok($owner { $($field,)* _library: library })
                }
            }
        }
    };
}
pub(crate) use functions;

functions! {
    /// The driver.
    Driver from "CUDA's driver" =>
    init: "cuInit" fn(c_uint);
    error_string: "cuGetErrorString" fn(Code, *mut *const c_char);
    count: "cuDeviceGetCount" fn(*mut c_int);
    device: "cuDeviceGet" fn(*mut c_int, c_int);
    name: "cuDeviceGetName" fn(*mut c_char, c_int, c_int);
    attribute: "cuDeviceGetAttribute" fn(*mut c_int, c_int, c_int);
    retain: "cuDevicePrimaryCtxRetain" fn(*mut Handle, c_int);
    push: "cuCtxPushCurrent_v2" fn(Handle);
    pop: "cuCtxPopCurrent_v2" fn(*mut Handle);
    synchronize: "cuCtxSynchronize" fn();
    load: "cuModuleLoadData" fn(*mut Handle, *const c_void);
    unload: "cuModuleUnload" fn(Handle);
    function: "cuModuleGetFunction" fn(*mut Handle, Handle, *const c_char);
    global: "cuModuleGetGlobal_v2" fn(*mut u64, *mut usize, Handle, *const c_char);
    allocate: "cuMemAlloc_v2" fn(*mut u64, usize);
    free: "cuMemFree_v2" fn(u64);
    to_device: "cuMemcpyHtoD_v2" fn(u64, *const c_void, usize);
    to_host: "cuMemcpyDtoH_v2" fn(*mut c_void, u64, usize);
    make_event: "cuEventCreate" fn(*mut Handle, c_uint);
    record: "cuEventRecord" fn(Handle, Handle);
    elapsed: "cuEventElapsedTime" fn(*mut f32, Handle, Handle);
    free_event: "cuEventDestroy_v2" fn(Handle);
    launch: "cuLaunchKernel" fn(
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void
    );
}

const MAJOR: c_int = 75;
const MINOR: c_int = 76;

impl Driver {
    /// The driver, loaded once.
    fn get() -> Result<&'static Driver, String> {
        static DRIVER: OnceLock<Result<Driver, String>> = OnceLock::new();
        DRIVER.get_or_init(Driver::open).as_ref().map_err(Clone::clone)
    }

    fn open() -> Result<Driver, String> {
        let names = ["libcuda.so.1", "libcuda.so", "nvcuda.dll"];
        // SAFETY: the driver's library may be loaded at any time.
        let library = names.iter().find_map(|name| unsafe { Library::new(name).ok() });
        let Some(library) = library else {
            return Err(
                "CUDA's driver was not found: there is no NVIDIA device, or its driver is missing".into()
            );
        };
        let driver = Driver::in_library(library)?;
        // SAFETY: this is how the driver is begun with.
        driver.check(unsafe { (driver.init)(0) }, "CUDA's driver does not start")?;
        Ok(driver)
    }

    /// What a code of the driver means, with what was tried.
    pub fn check(&self, code: Code, what: &str) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        let mut text: *const c_char = std::ptr::null();
        // SAFETY: the driver gives a text of its own, or leaves null.
        let text = unsafe {
            (self.error_string)(code, &mut text);
            if text.is_null() { "unknown error".into() } else { CStr::from_ptr(text).to_string_lossy() }
        };
        Err(format!("{what}: {text} ({code})"))
    }
}

/// What a device is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Info {
    /// Its name, as the driver gives it.
    pub name: String,
    /// Its compute capability.
    pub capability: (i32, i32),
}

/// All devices.
pub fn devices() -> Result<Vec<Info>, String> {
    let driver = Driver::get()?;
    let mut count = 0;
    // SAFETY: the driver is initialized.
    driver.check(unsafe { (driver.count)(&mut count) }, "cannot count the devices")?;
    (0..count).map(|number| Ok(info(driver, handle(driver, number)?))).collect()
}

fn handle(driver: &Driver, number: c_int) -> Result<c_int, String> {
    let mut device = 0;
    // SAFETY: the driver is initialized.
    driver.check(unsafe { (driver.device)(&mut device, number) }, "cannot find the device")?;
    Ok(device)
}

fn info(driver: &Driver, device: c_int) -> Info {
    let (mut name, mut capability) = ([0 as c_char; 128], (0, 0));
    // SAFETY: the name is as long as is said, and the driver ends it.
    let name = unsafe {
        (driver.name)(name.as_mut_ptr(), 127, device);
        (driver.attribute)(&mut capability.0, MAJOR, device);
        (driver.attribute)(&mut capability.1, MINOR, device);
        CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned()
    };
    Info { name, capability }
}

/// A device, ready to run programs.
pub struct Device {
    pub(crate) driver: &'static Driver,
    pub(crate) nvrtc: &'static Nvrtc,
    context: Handle,
    info: Info,
}

// SAFETY: the driver may be called from any thread, and contexts may be current in several.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

impl Device {
    /// The device whose name contains a text, or else the first. `nvrtc` is the path of the compiler, if it is not where it usually is.
    pub fn open(name: Option<&str>, nvrtc: Option<&Path>) -> Result<Device, String> {
        let driver = Driver::get()?;
        let all = devices()?;
        let wanted =
            |info: &Info| name.is_none_or(|name| info.name.to_lowercase().contains(&name.to_lowercase()));
        let Some(number) = all.iter().position(wanted) else {
            let known: Vec<&str> = all.iter().map(|info| info.name.as_str()).collect();
            let known = if known.is_empty() { "none".to_string() } else { known.join(", ") };
            return Err(format!("no such CUDA device; available: {known}"));
        };
        let nvrtc = Nvrtc::get(nvrtc)?;
        let device = handle(driver, number as c_int)?;
        let mut context = std::ptr::null_mut();
        // SAFETY: the device was just found. Its context is kept until the process ends.
        driver.check(unsafe { (driver.retain)(&mut context, device) }, "cannot use the device")?;
        Ok(Device { driver, nvrtc, context, info: all[number].clone() })
    }

    /// What it is.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// Does something while the context of the device is current.
    pub(crate) fn current<T>(&self, act: impl FnOnce(&Driver) -> Result<T, String>) -> Result<T, String> {
        let driver = self.driver;
        // SAFETY: the context lives as long as the process.
        driver.check(unsafe { (driver.push)(self.context) }, "cannot use the device")?;
        let done = act(driver);
        let mut popped = std::ptr::null_mut();
        // SAFETY: it was pushed above.
        unsafe { (driver.pop)(&mut popped) };
        done
    }
}
