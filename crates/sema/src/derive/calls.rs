//! Calls of derivatives: `fwd_diff(f)(..)`, `bwd_diff(f)(..)`, and compositions.
//!
//! Overload resolution does the work, with the derived signature of each candidate in place of its own. What is
//! left for this module is to say which functions may stand there at all.

use crate::Checked;
use crate::overload::Callee;

/// Leaves only candidates that have the derivative that is asked for. If none has, says so and gives `false`.
pub(crate) fn retain_derivable(checked: &mut Checked, callee: &mut Callee) -> bool {
    let Some(&mode) = callee.diff.first() else {
        return true;
    };
    let all = callee.candidates.clone();
    for candidate in &all {
        checked.ensure_func(candidate.func);
    }
    callee.candidates.retain(|c| checked.program.funcs[c.func].diff.has(mode));
    if callee.candidates.is_empty()
        && let Some(first) = all.first()
    {
        return checked.check_direction(first.func, mode, callee.span);
    }
    true
}
