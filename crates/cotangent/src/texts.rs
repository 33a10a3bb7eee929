//! A loader for source files in memory.

use crate::Loader;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Files in memory, found by their paths alone. Clones share them, so that they can be changed while a session has one.
///
/// ```
/// use cotangent::{Loader, Texts};
///
/// let texts = Texts::new([("a.slang", "float a;")]);
/// texts.set("b.slang", "import a;");
/// assert_eq!(texts.resolve("b.slang", "a.slang").as_deref(), Some("a.slang"));
/// ```
#[derive(Clone, Default, Debug)]
pub struct Texts {
    files: Arc<RwLock<BTreeMap<String, String>>>,
}

impl Texts {
    /// These files: path and text of each.
    pub fn new<P: Into<String>, T: Into<String>>(files: impl IntoIterator<Item = (P, T)>) -> Self {
        let files = files.into_iter().map(|(path, text)| (path.into(), text.into())).collect();
        Texts { files: Arc::new(RwLock::new(files)) }
    }

    /// Adds a file, or gives it another text.
    pub fn set(&self, path: impl Into<String>, text: impl Into<String>) {
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        files.insert(path.into(), text.into());
    }

    /// Removes a file.
    pub fn remove(&self, path: &str) {
        self.files.write().unwrap_or_else(PoisonError::into_inner).remove(path);
    }
}

impl Loader for Texts {
    fn load(&self, path: &str) -> Option<String> {
        self.files.read().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }

    fn resolve(&self, _from: &str, name: &str) -> Option<String> {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        files.contains_key(name).then(|| name.to_string())
    }
}
