//! What stays the same at every point: inputs and shader parameters that the user gave.

use crate::gradcheck::Options;
use crate::gradient::{Evaluator, items};
use cotangent_interp::Val;
use cotangent_ir::{Global, Module};
use cotangent_runtime::{Data, Error, Params};
use std::collections::BTreeSet;

/// The given values that concern one function.
#[derive(Default)]
pub(super) struct Fixed {
    /// Inputs: `x=3`.
    inputs: Vec<String>,
    /// Shader parameters.
    globals: Vec<(Global, Val)>,
}

impl Fixed {
    /// What of the options concerns the function of `evaluator`; notes the names in `used`.
    pub(super) fn new(
        evaluator: &mut Evaluator<'_>,
        module: &Module,
        options: &Options,
        used: &mut BTreeSet<String>,
    ) -> Result<Self, Error> {
        let mut fixed = Fixed::default();
        for item in items(&options.at) {
            let name = root(item);
            if evaluator.inputs.iter().any(|input| input.name == name) {
                used.insert(name.to_string());
                fixed.inputs.push(item.to_string());
                evaluator.set_point(item)?;
            }
        }
        let mut params = Params::new(module);
        let mut given = BTreeSet::new();
        for (path, data) in &options.set {
            let name = root(path);
            if params.iter().any(|(param, ..)| param == *name) {
                used.insert(name.to_string());
                given.insert(name);
                params.set(path, data)?;
            }
        }
        let names: Vec<Global> = params
            .iter()
            .filter(|(name, ..)| given.contains(name.as_str()))
            .map(|(_, global, ..)| global)
            .collect();
        fixed.globals = params.values().filter(|(global, _)| names.contains(global)).collect();
        Ok(fixed)
    }

    /// Puts them in place of what the point has there.
    pub(super) fn restore(&self, evaluator: &mut Evaluator<'_>) {
        for item in &self.inputs {
            evaluator.set_point(item).expect("it has been set before");
        }
        evaluator.replace_globals(&self.globals);
    }
}

/// What is given that no function has, if anything.
pub(super) fn unknown(options: &Options, used: &BTreeSet<String>) -> Option<String> {
    let paths = options.set.iter().map(|(path, _): &(String, Data)| path.as_str());
    items(&options.at)
        .into_iter()
        .chain(paths)
        .map(root)
        .find(|name| !used.contains(*name))
        .map(str::to_string)
}

/// The first name of `p.dir[2]=..`.
fn root(path: &str) -> &str {
    path.split(['.', '[', '=']).next().unwrap_or(path).trim()
}
