//! Running an entry point for every thread of some groups, one after the other.
//!
//! No operation makes threads wait for each other, so running them in order is one of the orders allowed.

use crate::{Machine, Stopped, Val};
use cotangent_ir::{FuncId, GlobalKind, SystemValue, Type};

impl Machine<'_> {
    /// Runs `entry` in `groups` groups of as many threads as it says.
    ///
    /// # Panics
    /// If the function is not an entry point.
    pub fn dispatch(&mut self, entry: FuncId, groups: [u32; 3]) -> Result<(), Stopped> {
        let func = &self.module.funcs[entry];
        let info = func.entry.as_ref().expect("only an entry point can be dispatched");
        self.start();
        for group in all(groups) {
            self.begin_group();
            for thread in all(info.threads) {
                let place = Place { group, thread, threads: info.threads };
                self.thread = Some(place.in_dispatch());
                self.begin_thread()?;
                self.run(entry, info.inputs.iter().map(|v| place.value(*v)).collect())?;
            }
        }
        self.thread = None;
        Ok(())
    }

    /// Variables of a group begin at zero.
    pub(crate) fn begin_group(&mut self) {
        for (global, data) in self.module.globals.iter() {
            if data.kind == GlobalKind::Shared {
                self.memory[global] = self.first_value(global);
            }
        }
    }

    /// Variables of a thread begin with what their functions say, in order.
    pub(crate) fn begin_thread(&mut self) -> Result<(), Stopped> {
        for (global, data) in self.module.globals.iter() {
            if let GlobalKind::Static(init) = data.kind {
                self.memory[global] = match init {
                    Some(init) => self.run(init, vec![])?.swap_remove(0),
                    None => self.first_value(global),
                };
            }
        }
        Ok(())
    }

    fn first_value(&self, variable: cotangent_ir::Global) -> Val {
        match self.module.types.get(self.module.globals[variable].ty) {
            Type::Ref(inner) => Val::zero(&self.module.types, inner),
            _ => unreachable!("a variable has the type of a variable"),
        }
    }
}

/// Every place in a box, x fastest.
fn all([x, y, z]: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    (0..z).flat_map(move |k| (0..y).flat_map(move |j| (0..x).map(move |i| [i, j, k])))
}

/// Where a thread is.
struct Place {
    group: [u32; 3],
    thread: [u32; 3],
    threads: [u32; 3],
}

impl Place {
    fn in_dispatch(&self) -> [u32; 3] {
        [0, 1, 2].map(|i| self.group[i].wrapping_mul(self.threads[i]).wrapping_add(self.thread[i]))
    }

    fn value(&self, value: SystemValue) -> Val {
        match value {
            SystemValue::DispatchThreadId => Val::ints(&self.in_dispatch().map(i64::from)),
            SystemValue::GroupId => Val::ints(&self.group.map(i64::from)),
            SystemValue::GroupThreadId => Val::ints(&self.thread.map(i64::from)),
            SystemValue::GroupIndex => {
                let ([x, y, z], [w, h, _]) = (self.thread.map(i64::from), self.threads.map(i64::from));
                Val::int(x + w * (y + h * z))
            }
        }
    }
}
