//! Formats values of a function for people.

use super::{Evaluator, Named};
use cotangent_interp::Val;
use cotangent_ir::{Const, Ty, Type};
use cotangent_runtime::data::Number;
use cotangent_runtime::path::{Leaf, leaves};

/// Most elements of a buffer that are shown.
const ELEMENTS_SHOWN: usize = 32;

/// How a value is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// One number.
    Number,
    /// The numbers of a vector, matrix or array.
    List,
    /// The numbers of a structure, or of an array of structures, each with its name.
    Record,
}

impl Evaluator {
    /// The numbers of a value with their places.
    pub fn numbers(&self, named: &Named) -> Vec<(Leaf, Number)> {
        let places = leaves(&self.types, named.ty).into_iter();
        let numbered = |(leaf, constant): (Leaf, Const)| (leaf.clone(), Number::of(constant, leaf.scalar));
        places.zip(named.value.scalars()).map(numbered).collect()
    }

    /// A value on one line: a number, a list, or a structure's fields.
    pub fn show(&self, named: &Named) -> String {
        let (form, numbers) = (self.form(named), self.numbers(named));
        let shown = numbers.iter().map(|(leaf, n)| match form {
            Form::Number | Form::List => n.show(leaf.scalar),
            Form::Record => format!("{} = {}", leaf.path.trim_start_matches('.'), n.show(leaf.scalar)),
        });
        let shown = shown.collect::<Vec<_>>().join(", ");
        match form {
            Form::Number => shown,
            Form::List => format!("[{shown}]"),
            Form::Record => format!("{{{shown}}}"),
        }
    }

    /// The inputs on one line: `x = 3, v = [1, 0]`.
    pub fn show_inputs(&self) -> String {
        let values = self.inputs.iter().filter(|i| !matches!(i.value, Val::Handle(_)));
        let shown = values.map(|i| format!("{} = {}", i.name, self.show(i)));
        shown.collect::<Vec<_>>().join(", ")
    }

    /// The inputs and what globals were given, on one line: `x = 3, buffer = [1, 0, 2]`.
    pub fn show_point(&self) -> String {
        let mut shown = vec![self.show_inputs()];
        let mut globals: Vec<_> = self.globals.iter().collect();
        globals.sort_by_key(|(global, _)| *global);
        for (global, value) in globals {
            let data = &self.module().globals[*global];
            let value = match self.types.get(data.ty) {
                Type::Buffer(elem, _) => self.show_elements(elem, value),
                _ => self.show(&self.unnamed(data.ty, value)),
            };
            shown.push(format!("{} = {value}", data.name));
        }
        shown.retain(|part| !part.is_empty());
        shown.join(", ")
    }

    fn show_elements(&self, elem: Ty, buffer: &Val) -> String {
        let elements = buffer.parts();
        let shown = elements.iter().take(ELEMENTS_SHOWN).map(|e| self.show(&self.unnamed(elem, e)));
        let more =
            (elements.len() > ELEMENTS_SHOWN).then(|| format!("{} more", elements.len() - ELEMENTS_SHOWN));
        format!("[{}]", shown.chain(more).collect::<Vec<_>>().join(", "))
    }

    fn unnamed(&self, ty: Ty, value: &Val) -> Named {
        Named { name: String::new(), ty, value: value.clone(), diff: false }
    }

    /// How a value is shown.
    pub fn form(&self, named: &Named) -> Form {
        let mut ty = named.ty;
        while let Type::Array(elem, _) = self.types.get(ty) {
            ty = elem;
        }
        match (self.types.get(named.ty), self.types.get(ty)) {
            (Type::Scalar(_), _) => Form::Number,
            (_, Type::Struct(_)) => Form::Record,
            _ => Form::List,
        }
    }
}
