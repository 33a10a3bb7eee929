//! Inputs and shader parameters that the user fixed, which are the same at every point.

use crate::gradcheck::Options;
use crate::gradient::{Evaluator, items};
use cotangent_ir::Module;
use cotangent_runtime::{Data, Error, Params};
use std::collections::BTreeSet;

/// The given values that concern one function.
#[derive(Default)]
pub(super) struct Fixed {
    /// Inputs: `x=3`.
    inputs: Vec<String>,
    /// Shader parameters, and which of them were given.
    params: Option<Params>,
    given: BTreeSet<String>,
}

impl Fixed {
    /// What of the options concerns the function of `evaluator`; notes the names in `used`.
    pub(super) fn new(
        evaluator: &mut Evaluator,
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
        for (path, data) in &options.set {
            let name = root(path);
            if params.iter().any(|(param, ..)| param == *name) {
                used.insert(name.to_string());
                fixed.given.insert(name.to_string());
                params.set(path, data)?;
            }
        }
        Evaluator::check_room(&params)?;
        fixed.params = Some(params);
        Ok(fixed)
    }

    /// Puts them in place of what the point has there.
    pub(super) fn restore(&self, evaluator: &mut Evaluator) {
        for item in &self.inputs {
            evaluator.set_point(item).expect("it has been set before");
        }
        if let Some(params) = &self.params {
            evaluator.replace_params(params, &|name| self.given.contains(name));
        }
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
