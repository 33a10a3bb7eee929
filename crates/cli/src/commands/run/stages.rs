//! The launches that `--entry` and `--groups` ask for: `--entry 'init,(step*10,adam)*100,loss' --groups 64 --groups loss=1`.
//!
//! They are rounds, each a list of stages that is launched a number of times, and each stage an entry point with its own number.

use crate::report::Failure;
use cotangent::ir;

/// Most launches of one stage in a round, and most rounds.
const MOST_TIMES: u64 = 1_000_000_000;

/// An entry point that is launched a number of times.
pub struct Stage {
    pub entry: ir::FuncId,
    pub name: String,
    pub groups: [u32; 3],
    pub times: u64,
}

/// What is launched a number of times, one after the other.
pub struct Round<S> {
    pub stages: Vec<S>,
    pub times: u64,
}

impl Round<Stage> {
    /// How many launches it has, all times together.
    pub fn launches(&self) -> u64 {
        self.times.saturating_mul(self.stages.iter().map(|stage| stage.times).sum())
    }
}

/// A name in `--entry`, if there is one, and how often it is launched.
pub type Name = (Option<String>, u64);

/// What `--entry` says. Without it there is one stage without a name.
pub fn names(text: Option<&str>) -> Result<Vec<Round<Name>>, Failure> {
    let Some(text) = text else { return Ok(vec![Round { stages: vec![(None, 1)], times: 1 }]) };
    let usage = || {
        let form = "NAME, NAME*TIMES or (NAME,..)*TIMES";
        Failure::Usage(format!("--entry takes {form}, separated by commas, not `{text}`"))
    };
    let mut rounds = Vec::new();
    let mut rest = text.trim();
    loop {
        let (item, after) = match rest.strip_prefix('(') {
            Some(inside) => {
                let (list, after) = inside.split_once(')').ok_or_else(usage)?;
                let (count, after) = after.split_once(',').map_or((after, None), |(c, a)| (c, Some(a)));
                let stages: Option<Vec<Name>> = list.split(',').map(name).collect();
                let times = match count.trim() {
                    "" => Some(1),
                    count => count.strip_prefix('*').and_then(times),
                };
                (stages.zip(times), after)
            }
            None => {
                let (item, after) = rest.split_once(',').map_or((rest, None), |(i, a)| (i, Some(a)));
                (name(item).map(|name| (vec![name], 1)), after)
            }
        };
        let (stages, times) = item.ok_or_else(usage)?;
        rounds.push(Round { stages, times });
        match after {
            Some(after) => rest = after.trim(),
            None => return Ok(rounds),
        }
    }
}

/// `NAME` or `NAME*TIMES`.
fn name(item: &str) -> Option<Name> {
    let (name, count) = item.split_once('*').unwrap_or((item, "1"));
    let name = Some(name.trim()).filter(|name| !name.is_empty() && !name.contains(['(', ')']))?;
    Some((Some(name.to_string()), times(count)?))
}

fn times(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|n| (1..=MOST_TIMES).contains(n))
}

/// The launches, in order.
pub fn rounds(
    module: &ir::Module,
    entries: &[ir::FuncId],
    names: &[Round<Name>],
    asked: &[String],
) -> Result<Vec<Round<Stage>>, Failure> {
    let mut rounds = Vec::new();
    for round in names {
        let mut stages = Vec::new();
        for (name, times) in &round.stages {
            let entry = entry(module, entries, name.as_deref())?;
            let name = module.funcs[entry].name.to_string();
            stages.push(Stage { entry, name, groups: [1; 3], times: *times });
        }
        rounds.push(Round { stages, times: round.times });
    }
    // A number for all entry points yields to one for a particular entry point, wherever it stands.
    let (own, common): (Vec<&String>, Vec<&String>) = asked.iter().partition(|item| item.contains('='));
    for item in common.into_iter().chain(own) {
        let (name, text) = item.split_once('=').map_or((None, item.as_str()), |(n, t)| (Some(n.trim()), t));
        let groups = groups(text)?;
        let all = rounds.iter_mut().flat_map(|round| &mut round.stages);
        let mut found = all.filter(|stage| name.is_none_or(|name| stage.name == name)).peekable();
        if found.peek().is_none() {
            let name = name.unwrap_or_default();
            return Err(Failure::Usage(format!("--groups: `{name}` is not among the entry points that run")));
        }
        found.for_each(|stage| stage.groups = groups);
    }
    Ok(rounds)
}

/// The entry point to run: the one named, or the only one.
fn entry(module: &ir::Module, entries: &[ir::FuncId], name: Option<&str>) -> Result<ir::FuncId, Failure> {
    let computes = |id: &ir::FuncId| {
        module.funcs[*id].entry.as_ref().is_some_and(|entry| entry.stage == ir::Stage::Compute)
    };
    let computing: Vec<ir::FuncId> = entries.iter().copied().filter(computes).collect();
    // Shaders of other stages are left out if there is something to run.
    let entries = if name.is_none() && !computing.is_empty() { &computing } else { entries };
    let names: Vec<&str> = entries.iter().map(|f| module.funcs[*f].name.as_str()).collect();
    let list = names.join(", ");
    let found = match (name, entries) {
        (Some(name), _) => names.iter().position(|n| *n == name).map(|i| entries[i]),
        (None, [only]) => Some(*only),
        (None, _) => None,
    };
    if let Some(id) = found
        && let Some(entry) = &module.funcs[id].entry
        && entry.stage != ir::Stage::Compute
    {
        let (name, stage) = (module.funcs[id].name, entry.stage.name());
        return Err(Failure::Usage(format!("`{name}` is a {stage} shader; only compute shaders can be run")));
    }
    found.ok_or_else(|| {
        Failure::Usage(match (name, entries) {
            (_, []) => "the module has no entry point: mark a function with [numthreads(x, y, z)]".into(),
            (Some(name), _) => format!("there is no entry point `{name}`; the module has {list}"),
            (None, _) => format!("the module has several entry points; choose one with --entry: {list}"),
        })
    })
}

pub fn groups(text: &str) -> Result<[u32; 3], Failure> {
    let mut groups = [1; 3];
    let words: Vec<&str> = text.split(',').collect();
    if words.len() > 3 {
        return Err(Failure::Usage(format!("--groups takes X,Y,Z, not `{text}`")));
    }
    for (group, word) in groups.iter_mut().zip(words) {
        let count = word.trim().parse().ok().filter(|n| *n > 0);
        *group = count.ok_or_else(|| {
            Failure::Usage(format!("--groups takes X,Y,Z, such as 8,8; `{word}` is not a number of groups"))
        })?;
    }
    Ok(groups)
}
