//! How a function is declared and called: which inputs it borrows, and which outputs are references.

use crate::Emitter;
use crate::names::Names;
use cotangent_ir::{FuncId, Value};
use cotangent_passes::place::is_large;

/// How a function is called.
pub(crate) struct Signature {
    /// All of it, without `static`.
    pub text: String,
    /// The names of the inputs.
    pub inputs: Vec<String>,
    /// The names of the outputs that are references of their own.
    pub outputs: Vec<Option<String>>,
    /// The names in it.
    pub names: Names,
}

impl<'m> Emitter<'m> {
    /// Whether a function returns its only, small result.
    pub fn returns(&self, id: FuncId) -> bool {
        let outputs: Vec<_> = self.module.funcs[id].sig.outputs().collect();
        outputs.len() == 1 && !is_large(&self.module.types, outputs[0].ty)
    }

    /// What a function is passed beside the arguments of its call, where `lanes` is the name of those that are together.
    pub fn unseen_args(&self, id: FuncId, lanes: &str) -> Vec<String> {
        let thread = self.threaded.contains(&id).then_some("thread");
        let lanes = self.waving.contains(&id).then_some(lanes);
        thread.into_iter().chain(lanes).map(str::to_string).collect()
    }

    /// Whether a function changes the variable of an input.
    fn changes(&self, id: FuncId, input: Value) -> bool {
        let places = &self.places[&id];
        places.slot(input).is_some_and(|slot| places.members(slot).len() > 1)
    }

    /// Whether a function reads an argument through a reference.
    pub fn is_borrowed(&self, id: FuncId, number: usize) -> bool {
        let (func, places) = (&self.module.funcs[id], &self.places[&id]);
        let input = func.inputs()[number];
        let is_passed = places.passed.contains(&Some(number));
        !is_passed && is_large(&self.module.types, func.ty(input)) && !self.changes(id, input)
    }

    /// The signature of a function.
    pub fn signature(&self, id: FuncId) -> Signature {
        let (func, places) = (&self.module.funcs[id], &self.places[&id]);
        let mut names = self.structs.taken();
        let mut params = Vec::new();
        if self.threaded.contains(&id) {
            params.push("Thread& thread".to_string());
        }
        if self.waving.contains(&id) {
            params.push("const ct::Lanes lanes".to_string());
        }
        let mut inputs = Vec::new();
        let is_used =
            |value: Value| func.all_insts().iter().any(|i| func.insts[*i].operands.contains(&value));
        for (number, (param, value)) in func.sig.inputs().zip(func.inputs()).enumerate() {
            let name = names.fresh(param.name.as_str());
            let ty = self.ty(param.ty);
            let changes = self.changes(id, *value);
            let how = if places.passed.contains(&Some(number)) {
                "& "
            } else if self.is_borrowed(id, number) {
                "const& "
            } else {
                " "
            };
            // Compilers warn of parameters that have a name and are not used.
            let shown = if how != "& " && !changes && !is_used(*value) {
                format!("/* {name} */")
            } else {
                name.clone()
            };
            params.push(match how {
                "const& " => format!("const {ty}& {shown}"),
                how => format!("{ty}{how}{shown}"),
            });
            inputs.push(name);
        }
        let returns = self.returns(id);
        let mut outputs = Vec::new();
        let wishes = func.sig.ret.iter().map(|_| "result").chain(
            func.sig.params.iter().filter(|p| p.dir != cotangent_ir::Dir::In).map(|p| p.name.as_str()),
        );
        for ((number, output), wish) in func.sig.outputs().enumerate().zip(wishes) {
            let own = !returns && places.passed[number].is_none();
            outputs.push(own.then(|| names.fresh(wish)));
            if let Some(Some(name)) = outputs.last() {
                params.push(format!("{}& {name}", self.ty(output.ty)));
            }
        }
        let ret = match func.sig.outputs().next() {
            Some(output) if returns => self.ty(output.ty),
            _ => "void".to_string(),
        };
        let mut name = self.funcs[&id].clone();
        if func.entry.is_some() {
            name += "_thread";
        }
        Signature { text: format!("{ret} {name}({})", params.join(", ")), inputs, outputs, names }
    }
}
