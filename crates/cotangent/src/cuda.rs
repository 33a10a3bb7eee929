//! Translates entry points for a back end that runs CUDA.

use crate::targets::{Refusal, check_layout};
use cotangent_base::Span;
use cotangent_emit_c::{Language, Options, codes};
use cotangent_ir::{FuncId, Module};
use cotangent_passes::prune;
use cotangent_runtime::Compiled;
use cotangent_runtime::cuda::Text;
use std::cell::RefCell;

/// What the emitter takes for the name of the file. Each place in it has a line of its own.
const FILE: &str = "program";

/// Writes one entry point as CUDA. The line with which it stops is the number of a place.
pub fn translate(compiled: &Compiled, entry: FuncId) -> Result<Text, Refusal> {
    check_layout(&compiled.params, codes::UNSUPPORTED)?;
    let mut alone = Module::clone(&compiled.module);
    // Entry points are never pruned; the others become functions that nobody calls.
    let others: Vec<FuncId> = alone.funcs.keys().filter(|id| *id != entry).collect();
    others.into_iter().for_each(|id| alone.funcs[id].entry = None);
    let entry = prune::prune(&mut alone, &[entry])[&entry];
    let sites: RefCell<Vec<Span>> = RefCell::default();
    let place = |span: Span| {
        if span.is_none() {
            return None;
        }
        let mut sites = sites.borrow_mut();
        let known = sites.iter().position(|site| *site == span);
        let number = known.unwrap_or_else(|| {
            sites.push(span);
            sites.len() - 1
        });
        Some((FILE.to_string(), number as u32 + 1))
    };
    let options = Options { language: Language::Cuda, name: FILE, file: FILE, place: &place, lines: false };
    let text = cotangent_emit_c::emit(&alone, &compiled.params, options)?;
    let symbol = cotangent_emit_c::entry_names(&alone, Language::Cuda).remove(&entry).unwrap_or_default();
    Ok(Text { text, symbol, sites: sites.into_inner() })
}
