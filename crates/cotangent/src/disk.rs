//! Source files from disk: the one place in the library that reads any.

use crate::Loader;
use std::path::{Path, PathBuf};

/// Looks beside the file that asks, then in the include directories.
#[derive(Default)]
pub struct Disk {
    /// The directories, in order.
    pub include: Vec<PathBuf>,
}

impl Loader for Disk {
    fn load(&self, path: &str) -> Option<String> {
        // A byte that is no UTF-8 becomes a character the lexer will point at.
        std::fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn places(&self, from: &str, name: &str) -> Vec<String> {
        self.candidates(from, name).map(|path| path.display().to_string()).collect()
    }

    fn resolve(&self, from: &str, name: &str) -> Option<String> {
        let found = self.candidates(from, name).find(|p| p.is_file())?;
        Some(found.display().to_string())
    }
}

impl Disk {
    fn candidates<'a>(&'a self, from: &'a str, name: &'a str) -> impl Iterator<Item = PathBuf> + 'a {
        let beside = Path::new(from).parent();
        beside.into_iter().chain(self.include.iter().map(PathBuf::as_path)).map(move |dir| dir.join(name))
    }
}
