//! A folder for the files of a test.

use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A folder that goes when the test is over. If the test fails it stays, to be looked into.
pub struct Folder(PathBuf);

impl Folder {
    /// No two that are there at the same time may have the same name.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("cotangent-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for temporary files");
        Folder(path)
    }

    /// Writes a file; gives its path as a command takes it.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        std::fs::write(self.join(name), content).expect("room for a temporary file");
        self.path(name)
    }

    /// The path of a file, as a command takes it.
    pub fn path(&self, name: &str) -> String {
        self.join(name).display().to_string()
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}
