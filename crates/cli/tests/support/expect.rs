//! What the header of a run test asks for, and whether it came out.

use super::{header, words};
use serde_json::Value;
use std::path::Path;

/// The arguments that run a program as its header says, printing what it expects.
pub fn arguments(path: &Path, text: &str) -> Result<Vec<String>, String> {
    let runs = header(text, "run");
    let [run] = runs[..] else { return Err(format!("{} lines begin with //run:, not one", runs.len())) };
    let mut args = vec!["run".to_string(), path.display().to_string()];
    // More files of a program lie beside it.
    let beside = |word: String| match path.parent() {
        Some(folder) if word.ends_with(".slang") => folder.join(word).display().to_string(),
        _ => word,
    };
    args.extend(words(run).into_iter().map(beside));
    if header(text, "trap").len() == 1 {
        return Ok(args);
    }
    args.extend(["--format".into(), "json".into()]);
    for (name, ty, _) in header(text, "expect").iter().map(|e| split(e)).collect::<Result<Vec<_>, _>>()? {
        args.extend(["--print".to_string(), format!("{name}:{ty}")]);
    }
    Ok(args)
}

/// `name=type[numbers]`.
fn split(line: &str) -> Result<(&str, &str, &str), String> {
    let parts = line.split_once('=').and_then(|(name, rest)| {
        let (ty, numbers) = rest.strip_suffix(']')?.split_once('[')?;
        Some((name.trim(), ty.trim(), numbers))
    });
    parts.ok_or_else(|| format!("`{line}` is not of the form name=type[numbers]"))
}

/// Compares an expected buffer with the one that came out. Integers must be equal, floats within 1e-5 relative or 1e-6 absolute.
pub fn compare(line: &str, result: &Value) -> Result<(), String> {
    let (name, ty, numbers) = split(line)?;
    let found =
        result["buffers"][name]["values"].as_array().ok_or_else(|| format!("no buffer {name}: {result}"))?;
    let expected: Vec<&str> = numbers.split(',').map(str::trim).filter(|n| !n.is_empty()).collect();
    let fail =
        || format!("{name} should be\n  [{}]\nand is\n  {}", expected.join(", "), Value::from(found.clone()));
    if expected.len() != found.len() {
        return Err(fail());
    }
    let all = expected.iter().zip(found).all(|(want, have)| same(want, have, ty.starts_with('f')));
    if all { Ok(()) } else { Err(fail()) }
}

fn same(want: &str, have: &Value, float: bool) -> bool {
    if !float {
        let have = have.to_string();
        return have == want;
    }
    let have = have.as_f64().or_else(|| have.as_str().and_then(|s| s.parse().ok()));
    let (Ok(want), Some(have)) = (want.parse::<f64>(), have) else { return false };
    let apart = (want - have).abs();
    want == have || want.is_nan() && have.is_nan() || apart <= 1e-6 || apart <= 1e-5 * want.abs()
}
