//! CUDA's compiler in process.
#![allow(unsafe_code)]

use crate::driver::{Handle, functions};
use libloading::Library;
use std::ffi::{CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

type Code = c_int;

functions! {
    /// The compiler.
    Nvrtc from "CUDA's compiler" =>
    count_archs: "nvrtcGetNumSupportedArchs" fn(*mut c_int);
    archs: "nvrtcGetSupportedArchs" fn(*mut c_int);
    create: "nvrtcCreateProgram" fn(*mut Handle, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char);
    compile: "nvrtcCompileProgram" fn(Handle, c_int, *const *const c_char);
    log_size: "nvrtcGetProgramLogSize" fn(Handle, *mut usize);
    log: "nvrtcGetProgramLog" fn(Handle, *mut c_char);
    ptx_size: "nvrtcGetPTXSize" fn(Handle, *mut usize);
    ptx: "nvrtcGetPTX" fn(Handle, *mut c_char);
    cubin_size: "nvrtcGetCUBINSize" fn(Handle, *mut usize);
    cubin: "nvrtcGetCUBIN" fn(Handle, *mut c_char);
    destroy: "nvrtcDestroyProgram" fn(*mut Handle);
}

/// How the compiler gives the size of something, and the thing itself.
type SizeOf = unsafe extern "C" fn(Handle, *mut usize) -> Code;
type Given = unsafe extern "C" fn(Handle, *mut c_char) -> Code;

impl Nvrtc {
    /// The compiler, loaded once: from a path, or from where it usually is.
    pub fn get(path: Option<&Path>) -> Result<&'static Nvrtc, String> {
        static NVRTC: OnceLock<Result<Nvrtc, String>> = OnceLock::new();
        NVRTC.get_or_init(|| Nvrtc::open(path)).as_ref().map_err(Clone::clone)
    }

    fn open(path: Option<&Path>) -> Result<Nvrtc, String> {
        // SAFETY: the compiler's library may be loaded at any time.
        let load = |name: &Path| unsafe { Library::new(name).ok() };
        let library = match path {
            Some(path) => load(path),
            None => usual().iter().find_map(|name| load(name)),
        };
        match (library, path) {
            (Some(library), _) => Nvrtc::in_library(library),
            (None, Some(path)) => Err(format!("{} is not CUDA's compiler", path.display())),
            (None, None) => {
                Err("CUDA's compiler was not found: install `nvidia-cuda-nvrtc` or a toolkit, and set \
                                 COTANGENT_NVRTC to the path of libnvrtc"
                    .into())
            }
        }
    }

    /// What to compile for: machine code of a device, or portable code for one that this compiler does not know yet.
    pub fn architecture(&self, (major, minor): (i32, i32)) -> Result<String, String> {
        let mut count = 0;
        // SAFETY: the compiler writes one number, then as many as it said.
        let known = unsafe {
            (self.count_archs)(&mut count);
            let mut known = vec![0; count.max(0) as usize];
            (self.archs)(known.as_mut_ptr());
            known
        };
        let own = major * 10 + minor;
        match known.iter().filter(|arch| **arch <= own).max() {
            Some(arch) if *arch == own => Ok(format!("sm_{own}")),
            Some(arch) => Ok(format!("compute_{arch}")),
            None => {
                Err(format!("CUDA's compiler does not know devices of compute capability {major}.{minor}"))
            }
        }
    }

    /// Machine code, or portable code.
    pub fn compile(&self, text: &str, architecture: &str) -> Result<Vec<u8>, String> {
        let c = |text: &str| CString::new(text).map_err(|_| "the program contains a zero byte".to_string());
        let (source, name) = (c(text)?, c("cotangent.cu")?);
        let options = [format!("--gpu-architecture={architecture}"), "--std=c++17".into(), "-w".into()];
        let options = options.iter().map(|option| c(option)).collect::<Result<Vec<_>, _>>()?;
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut program: Handle = std::ptr::null_mut();
        let none = std::ptr::null();
        // SAFETY: the texts live until the end of this function.
        let made = unsafe { (self.create)(&mut program, source.as_ptr(), name.as_ptr(), 0, none, none) };
        if made != 0 {
            return Err("CUDA's compiler does not take the program".into());
        }
        // SAFETY: the program was made above, and is destroyed below.
        let code = unsafe { (self.compile)(program, options.len() as c_int, options.as_ptr()) };
        let given = if code != 0 {
            let log = self.give(program, self.log_size, self.log).unwrap_or_default();
            let log = String::from_utf8_lossy(&log).trim_end_matches('\0').to_string();
            Err(format!("CUDA's compiler refuses the program; this is a bug, please report it:\n{log}"))
        } else if architecture.starts_with("sm_") {
            self.give(program, self.cubin_size, self.cubin)
        } else {
            self.give(program, self.ptx_size, self.ptx)
        };
        // SAFETY: it was made above.
        unsafe { (self.destroy)(&mut program) };
        given
    }

    fn give(&self, program: Handle, size_of: SizeOf, give: Given) -> Result<Vec<u8>, String> {
        let mut size = 0;
        // SAFETY: the compiler writes a size, then as many bytes.
        let (first, second, bytes) = unsafe {
            let first = size_of(program, &mut size);
            let mut bytes = vec![0u8; size];
            (first, give(program, bytes.as_mut_ptr().cast()), bytes)
        };
        if (first, second) == (0, 0) { Ok(bytes) } else { Err("CUDA's compiler gives no code".into()) }
    }
}

/// Where the compiler usually is.
fn usual() -> Vec<PathBuf> {
    let names = [
        "libnvrtc.so",
        "libnvrtc.so.13",
        "libnvrtc.so.12",
        "libnvrtc.so.11.2",
        "nvrtc64_130_0.dll",
        "nvrtc64_120_0.dll",
    ];
    let folder = Path::new("/usr/local/cuda/lib64");
    names.iter().map(PathBuf::from).chain([folder.join("libnvrtc.so")]).collect()
}
