//! Handles Ctrl-C while a program runs.
//!
//! Python's own signal handler only records the signal until Python code runs again, which may be much later. So while launches
//! run, another handler is installed: it wakes a thread that stops the launches, and then calls Python's handler. When the launch
//! has returned, Python handles the recorded signal, usually by raising `KeyboardInterrupt`.

use cotangent::jit::Monitor;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this process was forked from one that had loaded this library. Threads do not come along with a fork.
static FORK: AtomicBool = AtomicBool::new(false);

/// Notes that this process is a fork.
pub fn after_fork() {
    FORK.store(true, Ordering::SeqCst);
}

/// Whether this process is a fork.
pub fn is_fork() -> bool {
    FORK.load(Ordering::SeqCst)
}

/// Ends a launch on Ctrl-C, as long as what is returned is alive.
pub fn watch(monitor: &Monitor) -> impl Drop + use<> {
    imp::Watched::new(monitor)
}

#[cfg(unix)]
mod imp {
    #![allow(unsafe_code)]

    use super::Monitor;
    use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering::SeqCst};
    use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

    /// The launches that run, and how many there were.
    static RUNNING: Mutex<(Vec<(u64, Monitor)>, u64)> = Mutex::new((vec![], 0));
    /// Where the handler writes a byte; the thread reads it at the other end.
    static WAKE: AtomicI32 = AtomicI32::new(-1);
    /// Python's handler.
    static PYTHONS: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);

    fn running() -> MutexGuard<'static, (Vec<(u64, Monitor)>, u64)> {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub struct Watched(u64);

    impl Watched {
        pub fn new(monitor: &Monitor) -> Self {
            static READY: OnceLock<bool> = OnceLock::new();
            let ready = *READY.get_or_init(start);
            let mut all = running();
            all.1 += 1;
            let number = all.1;
            all.0.push((number, monitor.clone()));
            // The thread that ends launches stayed with the process that this one was forked from.
            if ready && all.0.len() == 1 && !super::is_fork() {
                put_before_pythons();
            }
            Watched(number)
        }
    }

    impl Drop for Watched {
        fn drop(&mut self) {
            let mut all = running();
            all.0.retain(|(number, _)| *number != self.0);
            if all.0.is_empty() {
                give_back();
            }
        }
    }

    /// Starts the thread that ends launches.
    fn start() -> bool {
        let mut ends = [0; 2];
        // SAFETY: there is room for two descriptors.
        if unsafe { libc::pipe(ends.as_mut_ptr()) } != 0 {
            return false;
        }
        let [read, write] = ends;
        let waiting = std::thread::Builder::new().name("cotangent-interrupt".into()).spawn(move || {
            let mut byte = 0u8;
            // SAFETY: the descriptor is this thread's, and there is room for a byte.
            while unsafe { libc::read(read, (&raw mut byte).cast(), 1) } >= 0 {
                running().0.iter().for_each(|(_, monitor)| monitor.interrupt());
            }
        });
        WAKE.store(write, SeqCst);
        waiting.is_ok()
    }

    /// Handles the signal. A handler may do little: write to a pipe, and call another handler.
    extern "C" fn noticed(signal: libc::c_int) {
        // SAFETY: `write` may be called in handlers. Python's handler is one, and takes the number of the signal.
        unsafe {
            if !super::is_fork() {
                libc::write(WAKE.load(SeqCst), [1u8].as_ptr().cast(), 1);
            }
            let pythons = PYTHONS.load(SeqCst);
            if pythons != libc::SIG_DFL && pythons != libc::SIG_IGN {
                std::mem::transmute::<usize, extern "C" fn(libc::c_int)>(pythons)(signal);
            }
        }
    }

    fn handler() -> usize {
        noticed as extern "C" fn(libc::c_int) as usize
    }

    /// The handler of the signal as it is.
    fn current() -> Option<libc::sigaction> {
        // SAFETY: an action of zeros is one, and there is room for it.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            (libc::sigaction(libc::SIGINT, std::ptr::null(), &raw mut action) == 0).then_some(action)
        }
    }

    /// Sets the handler, and leaves flags and mask as they are.
    fn set(mut action: libc::sigaction, handler: usize) {
        action.sa_sigaction = handler;
        // SAFETY: the action is the current one with another handler of the same kind.
        unsafe { libc::sigaction(libc::SIGINT, &raw const action, std::ptr::null_mut()) };
    }

    /// Where Python does not handle the signal, the process ends as ever, or ignores it.
    fn put_before_pythons() {
        let Some(action) = current() else { return };
        let pythons = action.sa_sigaction;
        let is_other = action.sa_flags & libc::SA_SIGINFO != 0 || pythons == handler();
        if !is_other && pythons != libc::SIG_DFL && pythons != libc::SIG_IGN {
            PYTHONS.store(pythons, SeqCst);
            set(action, handler());
        }
    }

    fn give_back() {
        // Somebody else may have set another meanwhile.
        if let Some(action) = current().filter(|action| action.sa_sigaction == handler()) {
            set(action, PYTHONS.load(SeqCst));
        }
    }
}

#[cfg(not(unix))]
mod imp {
    pub struct Watched;

    impl Watched {
        /// Here Ctrl-C waits for the end of the launch.
        pub fn new(_monitor: &super::Monitor) -> Self {
            Watched
        }
    }

    impl Drop for Watched {
        fn drop(&mut self) {}
    }
}
