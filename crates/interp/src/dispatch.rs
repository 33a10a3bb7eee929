//! Runs an entry point for every thread of some groups, one group after another.
//!
//! The threads of a group run in order, each until it ends or reaches a barrier. A waiting thread is suspended with its
//! frames and its `static` variables. When all threads have reached the barrier, they continue in the same order. So
//! execution is deterministic, and is one of the allowed orders. A barrier that some threads do not reach traps. Wave
//! operations ([`wave`](crate::wave)) complete before threads wait at a barrier.

use crate::machine::{Pause, Thread, variable_elements};
use crate::wave::{LANES, Lane, Point};
use crate::{Machine, OtherThread, Stopped, Val};
use cotangent_base::Span;
use cotangent_ir::{Entry, FuncId, Global, GlobalData, GlobalKind, Link, SystemValue, Trap, Type};
use std::mem;

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
            self.run_group(entry, info, group)?;
        }
        self.thread = None;
        Ok(())
    }

    fn run_group(&mut self, entry: FuncId, info: &Entry, group: [u32; 3]) -> Result<(), Stopped> {
        let mut stopped = Group::default();
        for (index, thread) in (0..).zip(all(info.threads)) {
            let place = Place { group, thread, threads: info.threads };
            self.thread = Some(place.in_dispatch());
            self.begin_thread()?;
            let thread = self.begin(entry, info.inputs.iter().map(|link| place.link(*link)).collect());
            self.go_on(index, thread, &mut stopped)?;
        }
        loop {
            while let Some(lanes) = stopped.next_lanes() {
                self.meet_in_wave(lanes, &mut stopped)?;
            }
            if stopped.waiting.is_empty() {
                return Ok(());
            }
            stopped.waiting.sort_by_key(|aside| aside.index);
            self.meet(&stopped.waiting, stopped.ended)?;
            for aside in mem::take(&mut stopped.waiting) {
                let (index, thread) = (aside.index, self.take_back(aside));
                self.go_on(index, thread, &mut stopped)?;
            }
        }
    }

    /// Runs a thread until it ends, waits, or meets others.
    fn go_on(&mut self, index: u32, mut thread: Thread, group: &mut Group) -> Result<(), Stopped> {
        match self.resume(&mut thread)? {
            Pause::Done(_) => _ = group.ended.get_or_insert(self.thread.unwrap_or_default()),
            Pause::Waits => group.waiting.push(self.set_aside(index, thread)),
            Pause::Meets(operands) => {
                let point = self.point_of(&thread);
                group.meeting.push(Meeting { point, operands, aside: self.set_aside(index, thread) });
            }
        }
        self.slots.clear();
        Ok(())
    }

    /// Gives lanes of a wave what they make together, and lets them go on.
    fn meet_in_wave(&mut self, lanes: Vec<Meeting>, group: &mut Group) -> Result<(), Stopped> {
        let (mut given, mut asides) = (Vec::new(), Vec::new());
        for Meeting { operands, aside, .. } in lanes {
            given.push(Lane { number: aside.index % LANES, operands });
            asides.push(aside);
        }
        let values = self.together(&asides[0].thread, &given)?;
        for (aside, value) in asides.into_iter().zip(values) {
            let (index, thread) = (aside.index, self.take_back(aside));
            self.hand(&thread, value);
            self.go_on(index, thread, group)?;
        }
        Ok(())
    }

    fn set_aside(&mut self, index: u32, thread: Thread) -> Aside {
        let variables =
            self.thread_variables().into_iter().map(|v| (v, mem::take(&mut self.memory[v]))).collect();
        Aside {
            index,
            thread,
            slots: mem::take(&mut self.slots),
            variables,
            number: self.thread.unwrap_or_default(),
        }
    }

    fn take_back(&mut self, aside: Aside) -> Thread {
        self.slots = aside.slots;
        self.thread = Some(aside.number);
        for (variable, value) in aside.variables {
            self.memory[variable] = value;
        }
        aside.thread
    }

    fn thread_variables(&self) -> Vec<Global> {
        let variables = self.module.globals.iter().filter(|(_, g)| matches!(g.kind, GlobalKind::Static(_)));
        variables.map(|(global, _)| global).collect()
    }

    /// Sees that all threads of the group wait at one barrier.
    fn meet(&mut self, waiting: &[Aside], ended: Option<[u32; 3]>) -> Result<(), Stopped> {
        let first = &waiting[0];
        let elsewhere = waiting.iter().find(|other| other.thread.span() != first.thread.span());
        let other = match (ended, elsewhere) {
            (Some(thread), _) => OtherThread { thread, waits: None },
            (None, Some(other)) => OtherThread { thread: other.number, waits: Some(other.thread.span()) },
            (None, None) => return Ok(()),
        };
        self.thread = Some(first.number);
        Err(Stopped { other: Some(other), ..self.stopped(Trap::Barrier, &first.thread) })
    }

    /// Variables of a group begin at zero.
    pub(crate) fn begin_group(&mut self) {
        for (global, data) in self.module.globals.iter() {
            if data.kind == GlobalKind::Shared && self.has_room {
                self.memory[global] = self.first_value(global);
            }
        }
    }

    /// Variables of a thread begin with what their functions say, in order.
    pub(crate) fn begin_thread(&mut self) -> Result<(), Stopped> {
        if !self.has_room {
            return Err(self.no_room());
        }
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

    /// Says that the variables have too many elements, at the one that has most.
    fn no_room(&self) -> Stopped {
        let elements = |global: &Global| variable_elements(self.module, &self.module.globals[*global]);
        let largest = self.module.globals.keys().max_by_key(elements);
        let (func, span) = largest.map_or(("program".into(), Span::none()), |global| {
            let GlobalData { name, span, .. } = self.module.globals[global];
            (name, span)
        });
        let (calls, thread, trap) = (vec![], self.thread, Trap::OutOfMemory);
        Stopped { trap, span, func, calls, thread, outside: None, unknown: None, other: None }
    }

    fn first_value(&self, variable: Global) -> Val {
        if let Type::Ref(inner) = self.module.types.get(self.module.globals[variable].ty) {
            Val::zero(&self.module.types, inner)
        } else {
            unreachable!("a variable has the type of a variable")
        }
    }
}

/// The threads of a group that do not run.
#[derive(Default)]
struct Group {
    /// Those at a barrier.
    waiting: Vec<Aside>,
    /// Those at an operation on their wave.
    meeting: Vec<Meeting>,
    /// The first that has ended.
    ended: Option<[u32; 3]>,
}

/// A thread at an operation on its wave.
struct Meeting {
    point: Point,
    operands: Vec<Val>,
    aside: Aside,
}

impl Meeting {
    /// Its wave, and how far it is there.
    fn place(&self) -> (u32, &Point) {
        (self.aside.index / LANES, &self.point)
    }
}

impl Group {
    /// The lanes that meet next, in order: those of the first wave that are at the point where the one is that is least far.
    fn next_lanes(&mut self) -> Option<Vec<Meeting>> {
        let first = self.meeting.iter().map(Meeting::place).min()?;
        let is_here: Vec<bool> = self.meeting.iter().map(|one| one.place() == first).collect();
        let mut is_here = is_here.into_iter();
        let (mut here, rest): (Vec<_>, Vec<_>) =
            mem::take(&mut self.meeting).into_iter().partition(|_| is_here.next() == Some(true));
        self.meeting = rest;
        here.sort_by_key(|one| one.aside.index);
        Some(here)
    }
}

/// A thread that waits.
struct Aside {
    /// Its number in the group.
    index: u32,
    thread: Thread,
    slots: Vec<Val>,
    /// The values of its `static` variables.
    variables: Vec<(Global, Val)>,
    number: [u32; 3],
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

    fn link(&self, link: Link) -> Val {
        match link {
            Link::System(value) => self.value(value),
            Link::Location(_) => Val::Undef,
        }
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
            // Only compute shaders are dispatched.
            SystemValue::VertexId | SystemValue::InstanceId | SystemValue::Position => Val::Undef,
            SystemValue::FrontFacing | SystemValue::SampleIndex | SystemValue::Coverage => Val::Undef,
            SystemValue::PrimitiveId | SystemValue::Depth | SystemValue::ViewId => Val::Undef,
            SystemValue::FirstVertex | SystemValue::FirstInstance | SystemValue::DrawIndex => Val::Undef,
            SystemValue::VulkanVertexId | SystemValue::VulkanInstanceId => Val::Undef,
            SystemValue::Barycentrics | SystemValue::PointSize => Val::Undef,
            SystemValue::ClipDistance | SystemValue::CullDistance => Val::Undef,
        }
    }
}
