//! A fuzzer that needs nothing but this repository: it changes the programs of `tests/` at random, takes each through one
//! stage of the compiler, and keeps what makes the stage panic, contradict itself or take too long.
//!
//! Programs are changed by tokens and by lines ([`mutate`]), so that most of them get past the lexer and many past the
//! parser. The stage runs on a thread with a fixed stack, panics are caught there, and a second thread watches how much
//! processor time a program takes. A stack that overflows ends the process; the program that did it is then in `target/fuzz/current-STAGE-SEED.slang`. A
//! program that fails is made smaller ([`shrink`]) as long as it fails in the same way, and each way is told once.

mod mutate;
mod shrink;
mod stage;
mod whole;

use mutate::{Corpus, Random};
use stage::Stage;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

/// What a thread has that runs the compiler with its default limits: that of a test in a build that checks itself.
const STACK: usize = 8 << 20;
/// The most time that one program may take in a stage.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same for the stage `whole`, which compiles a program some twenty times.
const LONG_PATIENCE: Duration = Duration::from_secs(100);

/// What was asked for on the command line.
pub struct Options<'a> {
    /// The name of the stage.
    pub stage: &'a str,
    /// How long to go on.
    pub seconds: u64,
    /// Where the random numbers begin.
    pub seed: u64,
}

/// Runs the fuzzer and prints what it found.
pub fn run(root: &Path, options: &Options<'_>) -> ExitCode {
    let Some(stage) = Stage::named(options.stage) else {
        eprintln!("there is no stage `{}`; there are {}", options.stage, Stage::names().join(", "));
        return ExitCode::from(2);
    };
    let folder = root.join("target/fuzz");
    if let Err(e) = std::fs::create_dir_all(&folder) {
        eprintln!("cannot make {}: {e}", folder.display());
        return ExitCode::FAILURE;
    }
    let mut corpus = Corpus::read(root, stage.ending());
    if stage.ending() == "slang" {
        corpus.generate(options.seed);
    }
    // Stages and seeds may run at the same time, so each has a file of its own.
    let current = folder.join(format!("current-{}-{}.{}", stage.name(), options.seed, stage.ending()));
    let seed = options.seed;
    let end = Instant::now() + Duration::from_secs(options.seconds);
    let clock = Arc::new(Clock::default());
    let fuzzer = Fuzzer {
        stage,
        corpus,
        folder,
        seed,
        current: current.clone(),
        clock: clock.clone(),
        found: BTreeMap::new(),
        counts: [0; 3],
    };
    let work = std::thread::Builder::new().stack_size(STACK).spawn(move || fuzzer.run(end));
    let Ok(work) = work else { return ExitCode::FAILURE };
    let patience = if stage == Stage::Whole { LONG_PATIENCE } else { PATIENCE };
    while !work.is_finished() {
        std::thread::sleep(Duration::from_millis(100));
        if clock.elapsed() > patience {
            eprintln!("a program takes too long; it is in {}", current.display());
            return ExitCode::FAILURE;
        }
    }
    match work.join() {
        Ok(0) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// When the program that runs now was begun, in milliseconds of processor time: how busy the machine is must not matter.
#[derive(Default)]
struct Clock {
    begun: AtomicU64,
}

impl Clock {
    fn begin(&self) {
        self.begun.store(processor_time(), Ordering::Relaxed);
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(processor_time().saturating_sub(self.begun.load(Ordering::Relaxed)))
    }
}

/// How many milliseconds this process has run. Systems without `/proc` give the time since the first call.
fn processor_time() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    // After the name, which may contain anything, the 12th and 13th fields count hundredths of seconds.
    let ticks = std::fs::read_to_string("/proc/self/stat").ok().and_then(|stat| {
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
        Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
    });
    ticks.map_or_else(|| START.elapsed().as_millis() as u64, |ticks| ticks * 10)
}

struct Fuzzer {
    stage: Stage,
    corpus: Corpus,
    folder: PathBuf,
    seed: u64,
    /// Where the program at hand is kept.
    current: PathBuf,
    clock: Arc<Clock>,
    /// The file of each way to fail.
    found: BTreeMap<String, PathBuf>,
    /// How many programs were accepted, refused, and failed.
    counts: [u64; 3],
}

impl Fuzzer {
    /// Goes on until the time is over; gives the number of ways to fail.
    fn run(mut self, end: Instant) -> usize {
        let place = Arc::new(Mutex::new(String::new()));
        let noted = place.clone();
        std::panic::set_hook(Box::new(move |info| {
            let at = info.location().map_or(String::new(), |l| format!("{}:{}", l.file(), l.line()));
            if let Ok(mut place) = noted.lock() {
                *place = at;
            }
        }));
        let mut random = Random::new(self.seed);
        while Instant::now() < end {
            let text = self.corpus.mutated(&mut random);
            match self.outcome(&text, &place) {
                Outcome::Accepted => self.counts[0] += 1,
                Outcome::Refused => self.counts[1] += 1,
                Outcome::Failed(how) => self.fail(&text, &how, &place),
            }
        }
        let _ = std::panic::take_hook();
        let [accepted, refused, failed] = self.counts;
        println!(
            "{}: {} programs, {accepted} accepted, {refused} refused, {failed} failed in {} ways",
            self.stage.name(),
            accepted + refused + failed,
            self.found.len()
        );
        self.found.len()
    }

    fn outcome(&self, text: &str, place: &Mutex<String>) -> Outcome {
        let _ = std::fs::write(&self.current, text);
        self.clock.begin();
        let stage = self.stage;
        match std::panic::catch_unwind(|| stage.run(text)) {
            Ok(Ok(true)) => Outcome::Accepted,
            Ok(Ok(false)) => Outcome::Refused,
            Ok(Err(internal)) => Outcome::Failed(internal),
            Err(_) => Outcome::Failed(place.lock().map_or(String::new(), |at| format!("panic at {at}"))),
        }
    }

    fn fail(&mut self, text: &str, how: &str, place: &Mutex<String>) {
        self.counts[2] += 1;
        if self.found.contains_key(how) {
            return;
        }
        let fails = |text: &str| matches!(self.outcome(text, place), Outcome::Failed(other) if other == *how);
        let small = shrink::shrink(text, &fails);
        // Runs with other seeds must not overwrite what this one found.
        let (stage, ending) = (self.stage.name(), self.stage.ending());
        let name = format!("{stage}-{}-{}.{ending}", self.seed, self.found.len());
        let path = self.folder.join(name);
        println!("{how}: {}", path.display());
        if let Err(e) = std::fs::write(&path, small) {
            eprintln!("cannot write {}: {e}", path.display());
        }
        self.found.insert(how.to_string(), path);
    }
}

enum Outcome {
    Accepted,
    Refused,
    /// In which way.
    Failed(String),
}
