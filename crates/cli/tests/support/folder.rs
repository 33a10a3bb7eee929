//! A folder for the files of a test.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that goes when the test is over. If the test fails it stays, to be looked into.
pub struct Folder(PathBuf);

impl Folder {
    /// Tests of one process run side by side and may choose the same name, so each folder has a number too.
    pub fn new(name: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("cotangent-{name}-{}-{number}", std::process::id()));
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
