//! The clock of a device: when a program began and ended.

use crate::{Device, Error};
use cotangent_runtime::Time;

/// When a program began and ended, by the device's own clock.
pub(crate) struct Clock {
    pub queries: wgpu::QuerySet,
    pub ticks: wgpu::Buffer,
}

impl Clock {
    pub fn writes(&self) -> wgpu::ComputePassTimestampWrites<'_> {
        wgpu::ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(0),
            end_of_pass_write_index: Some(1),
        }
    }

    pub fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.resolve_query_set(&self.queries, 0..2, &self.ticks, 0);
    }

    pub fn read(&self, device: &Device) -> Result<Time, Error> {
        let bytes = device.read_back(&self.ticks, 0, 16)?;
        let at = |i: usize| u64::from_le_bytes(bytes[8 * i..8 * i + 8].try_into().unwrap_or_default());
        let ticks = at(1).saturating_sub(at(0)) as f64;
        let seconds = ticks * f64::from(device.queue.get_timestamp_period()) * 1e-9;
        Ok(Time { seconds, by_device: true })
    }
}
