//! Parses the point at which a function is evaluated: `x=3, p.dir=[1, 0, 0]`.

use super::{Evaluator, Named, replace};
use crate::reflect::type_name;
use cotangent_base::{Scalar, nearest};
use cotangent_ir::{Ty, layout};
use cotangent_runtime::Error;
use cotangent_runtime::data::Number;
use cotangent_runtime::path::{Leaf, descend, leaves, split};

impl Evaluator {
    /// An input that is a resource, which has no value to write down.
    pub fn resource(&self) -> Option<&Named> {
        self.inputs.iter().find(|i| layout::layout(&self.types, i.ty).is_none())
    }

    /// Sets inputs from `x=3, p.dir=[1, 0, 0]`.
    pub fn set_point(&mut self, text: &str) -> Result<(), Error> {
        check_once(text)?;
        for item in items(text) {
            let Some((path, value)) = item.split_once('=') else {
                return Err(Error(format!("`{item}` is not of the form name=value")));
            };
            self.set(path.trim(), value.trim())?;
        }
        Ok(())
    }

    fn set(&mut self, path: &str, value: &str) -> Result<(), Error> {
        let (name, steps) = split(path)?;
        let Some(input) = self.inputs.iter().position(|i| i.name == name) else {
            let names: Vec<&str> = self.inputs.iter().map(|i| i.name.as_str()).collect();
            return Err(Error(format!("the function has no input `{name}`; it has {}", names.join(", "))));
        };
        let whole = self.inputs[input].ty;
        let (ty, places) = self.part(whole, &steps).ok_or_else(|| self.no_part(whole, name, path))?;
        let leaves: Vec<&Leaf> = places.iter().map(|(_, leaf)| leaf).collect();
        let wanted = || {
            format!("`{path}` has type {}, as in `{path}={}`", type_name(&self.types, ty), example(&leaves))
        };
        let mut numbers = vec![];
        for word in words(value)? {
            let number = self.number_named(word);
            let meant = || self.enumerator_near(word);
            numbers.push(
                number.ok_or_else(|| Error(format!("`{word}` is not a number: {}{}", wanted(), meant())))?,
            );
        }
        if numbers.len() != places.len() {
            let count = match places.len() {
                1 => "one number".to_string(),
                n => format!("{n} numbers"),
            };
            let has = numbers.len();
            return Err(Error(format!("`{path}` takes {count}, but `{value}` has {has}: {}", wanted())));
        }
        for ((index, leaf), number) in places.iter().zip(numbers) {
            let constant = number.constant(leaf.scalar).map_err(|e| Error(format!("{e}: {}", wanted())))?;
            replace(&mut self.inputs[input].value, &mut { *index }, constant);
        }
        Ok(())
    }

    /// What is said of a path that leads nowhere.
    fn no_part(&self, ty: Ty, name: &str, path: &str) -> Error {
        Error(format!("there is no `{path}`: `{name}` has type {}", type_name(&self.types, ty)))
    }

    /// A number as it is written, or by the name of an enumerator.
    fn number_named(&self, word: &str) -> Option<Number> {
        let named = || {
            let name = word.replace("::", ".");
            let found = self.enumerators.iter().find(|(enumerator, _)| *enumerator == name);
            found.map(|(_, value)| Number::Int((*value).into()))
        };
        Number::parse(word).or_else(named)
    }

    /// The enumerator that a word may stand for, as a question.
    fn enumerator_near(&self, word: &str) -> String {
        let near = nearest(word, self.enumerators.iter().map(|(name, _)| name.as_str()));
        near.map_or(String::new(), |name| format!("; did you mean `{name}`?"))
    }

    /// The part of `ty` at `steps`: its type, and its numbers with their positions among all.
    fn part(&self, ty: Ty, steps: &[String]) -> Option<(Ty, Vec<(usize, Leaf)>)> {
        let (mut start, mut inner) = (0, ty);
        for step in steps {
            let (offset, next) = descend(&self.types, inner, step)?;
            (start, inner) = (start + offset as usize, next);
        }
        let end = start + layout::layout(&self.types, inner)?.size as usize;
        let all = leaves(&self.types, ty).into_iter().enumerate();
        Some((inner, all.filter(|(_, leaf)| (start..end).contains(&leaf.offset)).collect()))
    }
}

/// Most numbers of an example.
const EXAMPLE: usize = 4;

/// How a value with such numbers may be written.
fn example(leaves: &[&Leaf]) -> String {
    let number = |(i, leaf): (usize, &&Leaf)| match leaf.scalar {
        Scalar::Bool => "true".to_string(),
        s if s.is_float() => format!("{}.5", i + 1),
        _ => (i + 3).to_string(),
    };
    let mut numbers: Vec<String> = leaves.iter().enumerate().take(EXAMPLE).map(number).collect();
    if leaves.len() > EXAMPLE {
        numbers.push("..".into());
    }
    match &numbers[..] {
        [only] => only.clone(),
        _ => format!("[{}]", numbers.join(", ")),
    }
}

/// Fails if a point says twice what something is.
pub(crate) fn check_once(text: &str) -> Result<(), Error> {
    let mut paths: Vec<&str> =
        items(text).iter().filter_map(|item| Some(item.split_once('=')?.0.trim())).collect();
    paths.sort_unstable();
    match paths.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error(format!("`{}` is given twice", pair[0]))),
        None => Ok(()),
    }
}

/// The words of `[1, 2]`, `{1, {2, 3}}` or `1`: what stands between commas, in brackets that fit.
fn words(value: &str) -> Result<Vec<&str>, Error> {
    let mut open = vec![];
    for c in value.chars() {
        let fits = match c {
            '[' | '{' => {
                open.push(c);
                true
            }
            ']' => open.pop() == Some('['),
            '}' => open.pop() == Some('{'),
            _ => true,
        };
        if !fits {
            return Err(Error(format!("the brackets of `{value}` do not match")));
        }
    }
    if !open.is_empty() {
        return Err(Error(format!("a bracket of `{value}` is not closed")));
    }
    let bracket = |c: char| "[]{}".contains(c) || c.is_whitespace();
    let words = value.split(',').map(|word| word.trim_matches(bracket)).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    match words.iter().find(|word| word.contains(bracket)) {
        Some(word) => Err(Error(format!("`{word}` is not a number: write commas between numbers"))),
        None => Ok(words),
    }
}

/// The parts of `x=3, p.dir=[1, 0, 0]`: it is split at commas that stand in no brackets.
pub(crate) fn items(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut items) = (0i32, 0, Vec::new());
    for (i, c) in text.char_indices() {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            ',' | ';' if depth == 0 => {
                items.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    items.push(&text[start..]);
    items.into_iter().map(str::trim).filter(|item| !item.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::{items, words};

    #[test]
    fn numbers_stand_between_commas_in_brackets_that_fit() {
        assert_eq!(words("[[1, 2], [3, -4.5]]").unwrap(), ["1", "2", "3", "-4.5"]);
        assert_eq!(words("{ Kind.A, { 2, } }").unwrap(), ["Kind.A", "2"]);
        assert_eq!(words("3").unwrap(), ["3"]);
        for wrong in ["[1 2]", "[1, 2", "1]", "[1, 2}", "[1][2]"] {
            assert!(words(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_point_is_split_outside_brackets() {
        assert_eq!(items("x=3, p.dir=[1, 0, 0], "), ["x=3", "p.dir=[1, 0, 0]"]);
        assert_eq!(items(""), Vec::<&str>::new());
    }
}
