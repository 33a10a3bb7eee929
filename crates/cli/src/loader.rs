//! Source files from disk.

use cotangent::Loader;
use std::path::{Path, PathBuf};

/// Looks beside the file that asks, then in the include directories.
pub struct Disk {
    pub include: Vec<PathBuf>,
}

impl Loader for Disk {
    fn load(&self, path: &str) -> Option<String> {
        // A byte that is no UTF-8 becomes a character the lexer will point at.
        std::fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn resolve(&self, from: &str, name: &str) -> Option<String> {
        let beside = Path::new(from).parent().map(Path::to_path_buf);
        let found = beside.iter().chain(&self.include).map(|dir| dir.join(name)).find(|p| p.is_file())?;
        Some(found.display().to_string())
    }
}
