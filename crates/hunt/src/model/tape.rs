//! The tape of the model: the steps that were computed, in order, with what reverse mode needs to go back through them.

/// A number: its value, its derivative in forward mode, and its place on the tape in reverse mode.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Num {
    pub value: f64,
    pub tangent: f64,
    pub id: Option<usize>,
}

impl Num {
    /// One without a derivative.
    pub fn constant(value: f64) -> Num {
        Num { value, ..Num::default() }
    }
}

/// The value of a variable of one thread.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    Float(Num),
    Int(i32),
    Bool(bool),
}

impl Value {
    pub fn num(self) -> Num {
        match self {
            Value::Float(num) => num,
            Value::Int(_) | Value::Bool(_) => Num::default(),
        }
    }

    pub fn int(self) -> i32 {
        match self {
            Value::Int(int) => int,
            Value::Float(_) | Value::Bool(_) => 0,
        }
    }

    pub fn bool(self) -> bool {
        matches!(self, Value::Bool(true))
    }

    /// Without a derivative.
    pub fn plain(self) -> Value {
        match self {
            Value::Float(num) => Value::Float(Num::constant(num.value)),
            Value::Int(_) | Value::Bool(_) => self,
        }
    }
}

/// A step that reverse mode goes back through.
#[derive(Clone, Debug)]
pub enum Step {
    /// A number made of others: their places, and the partial derivatives.
    Sum { to: usize, from: Vec<(usize, f64)> },
    /// A call of a function with a custom backward derivative, by one thread.
    Custom(Custom),
}

/// A call of a function with a custom backward derivative.
#[derive(Clone, Debug)]
pub struct Custom {
    pub func: String,
    pub lane: usize,
    /// What was passed.
    pub args: Vec<Value>,
    /// The places of the result and of the `inout` outputs on the tape.
    pub result: Option<usize>,
    pub written: Vec<Option<usize>>,
}

/// All steps, and how many places there are.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    pub steps: Vec<Step>,
    pub places: usize,
}

impl Tape {
    /// A new place.
    pub fn place(&mut self) -> usize {
        self.places += 1;
        self.places - 1
    }

    /// The place of a number made of others, if one of them has one.
    pub fn sum(&mut self, parts: &[(Num, f64)]) -> Option<usize> {
        let from: Vec<(usize, f64)> =
            parts.iter().filter_map(|(num, slope)| Some((num.id?, *slope))).collect();
        if from.is_empty() {
            return None;
        }
        let to = self.place();
        self.steps.push(Step::Sum { to, from });
        Some(to)
    }
}
