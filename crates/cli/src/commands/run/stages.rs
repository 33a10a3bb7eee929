//! The launches that `--entry` and `--groups` ask for: `--entry init,step*100,loss --groups 64 --groups loss=1`.

use crate::report::Failure;
use cotangent::ir;

/// Most launches of one stage.
const MOST_TIMES: u64 = 1_000_000_000;

/// An entry point that is launched a number of times.
pub struct Stage {
    pub entry: ir::FuncId,
    pub name: String,
    pub groups: [u32; 3],
    pub times: u64,
}

/// The names in `--entry`, with how often each is launched. Without it there is one without a name.
pub fn names(text: Option<&str>) -> Result<Vec<(Option<String>, u64)>, Failure> {
    let Some(text) = text else { return Ok(vec![(None, 1)]) };
    let one = |item: &str| {
        let (name, times) = item.split_once('*').map_or((item, Some(1)), |(name, times)| {
            (name, times.trim().parse().ok().filter(|n| (1..=MOST_TIMES).contains(n)))
        });
        let name = name.trim();
        match times {
            Some(times) if !name.is_empty() => Ok((Some(name.to_string()), times)),
            _ => Err(Failure::Usage(format!(
                "--entry takes NAME or NAME*TIMES, separated by commas, not `{item}`"
            ))),
        }
    };
    text.split(',').map(one).collect()
}

/// The stages, in order.
pub fn stages(
    module: &ir::Module,
    entries: &[ir::FuncId],
    names: &[(Option<String>, u64)],
    asked: &[String],
) -> Result<Vec<Stage>, Failure> {
    let mut stages = Vec::new();
    for (name, times) in names {
        let entry = entry(module, entries, name.as_deref())?;
        let name = module.funcs[entry].name.to_string();
        stages.push(Stage { entry, name, groups: [1; 3], times: *times });
    }
    // A number for all entry points yields to one for a particular entry point, wherever it stands.
    let (own, common): (Vec<&String>, Vec<&String>) = asked.iter().partition(|item| item.contains('='));
    for item in common.into_iter().chain(own) {
        let (name, text) = item.split_once('=').map_or((None, item.as_str()), |(n, t)| (Some(n.trim()), t));
        let groups = groups(text)?;
        let mut found =
            stages.iter_mut().filter(|stage| name.is_none_or(|name| stage.name == name)).peekable();
        if found.peek().is_none() {
            let name = name.unwrap_or_default();
            return Err(Failure::Usage(format!("--groups: `{name}` is not among the entry points that run")));
        }
        found.for_each(|stage| stage.groups = groups);
    }
    Ok(stages)
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
        *group =
            count.ok_or_else(|| Failure::Usage(format!("--groups: `{word}` is not a number of groups")))?;
    }
    Ok(groups)
}
