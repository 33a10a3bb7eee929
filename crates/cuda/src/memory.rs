//! Memory of a device.
#![allow(unsafe_code)]

use crate::Device;
use std::ops::Range;
use std::sync::Arc;

/// Some memory of a device, which is freed with it.
pub(crate) struct Memory {
    device: Arc<Device>,
    address: u64,
    size: usize,
}

impl Memory {
    /// Memory with these bytes.
    pub fn new(device: &Arc<Device>, bytes: &[u8]) -> Result<Memory, String> {
        let mut address = 0;
        device.current(|driver| {
            // SAFETY: the context of the device is current. The driver refuses to allocate nothing.
            let code = unsafe { (driver.allocate)(&mut address, bytes.len().max(16)) };
            driver.check(code, "cannot allocate memory on the device")
        })?;
        let memory = Memory { device: device.clone(), address, size: bytes.len() };
        memory.write(0, bytes)?;
        Ok(memory)
    }

    /// Where it is on the device.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Replaces a part of it.
    pub fn write(&self, offset: usize, bytes: &[u8]) -> Result<(), String> {
        assert!(offset + bytes.len() <= self.size, "the range is inside");
        if bytes.is_empty() {
            return Ok(());
        }
        self.device.current(|driver| {
            // SAFETY: the range is inside of what was allocated.
            let code = unsafe {
                (driver.to_device)(self.address + offset as u64, bytes.as_ptr().cast(), bytes.len())
            };
            driver.check(code, "cannot copy to the device")
        })
    }

    /// A part of it.
    pub fn read(&self, range: Range<usize>) -> Result<Vec<u8>, String> {
        assert!(range.end <= self.size && range.start <= range.end, "the range is inside");
        let mut bytes = vec![0; range.len()];
        if range.is_empty() {
            return Ok(bytes);
        }
        self.device.current(|driver| {
            let from = self.address + range.start as u64;
            // SAFETY: the range is inside of what was allocated.
            let code = unsafe { (driver.to_host)(bytes.as_mut_ptr().cast(), from, bytes.len()) };
            driver.check(code, "cannot copy from the device")
        })?;
        Ok(bytes)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let address = self.address;
        // A device that failed frees nothing.
        let _ = self.device.current(|driver| {
            // SAFETY: it was allocated, and is not used any more: launches are waited for.
            unsafe { (driver.free)(address) };
            Ok(())
        });
    }
}
