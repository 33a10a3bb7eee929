//! Interned names. Two symbols are equal exactly if their texts are.
//!
//! There is one table per process, and it only grows: names are few and short. A `Symbol` prints without access to a table,
//! so no signature in the compiler takes one.

use crate::Map;
use std::fmt;
use std::sync::{LazyLock, Mutex};

/// An interned name. Its order is that of first use, so never sort output by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Symbol(u32);

#[derive(Default)]
struct Table {
    numbers: Map<&'static str, u32>,
    texts: Vec<&'static str>,
}

static TABLE: LazyLock<Mutex<Table>> = LazyLock::new(Mutex::default);

impl Symbol {
    /// The symbol of `text`.
    pub fn new(text: &str) -> Self {
        let mut table = TABLE.lock().expect("no panic while the table is held");
        if let Some(&number) = table.numbers.get(text) {
            return Self(number);
        }
        let text: &'static str = Box::leak(text.into());
        let number = u32::try_from(table.texts.len()).expect("more than 2^32 names");
        table.texts.push(text);
        table.numbers.insert(text, number);
        Self(number)
    }

    /// The text of this symbol.
    pub fn as_str(self) -> &'static str {
        TABLE.lock().expect("no panic while the table is held").texts[self.0 as usize]
    }
}

impl From<&str> for Symbol {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl PartialEq<str> for Symbol {
    fn eq(&self, text: &str) -> bool {
        self.as_str() == text
    }
}

impl PartialEq<&str> for Symbol {
    fn eq(&self, text: &&str) -> bool {
        self.as_str() == *text
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{self}`")
    }
}

#[cfg(test)]
mod tests {
    use super::Symbol;

    #[test]
    fn equal_texts_are_one_symbol() {
        assert_eq!(Symbol::new("origin"), Symbol::new(&String::from("origin")));
        assert_ne!(Symbol::new("origin"), Symbol::new("direction"));
        assert_eq!(Symbol::new("origin"), "origin");
    }
}
