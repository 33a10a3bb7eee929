//! Records the queries of a stage to the loader and their answers. If the answers are unchanged, so is the stage.

use cotangent_base::Loader;
use std::cell::RefCell;

/// A question with its answer.
enum Asked {
    Load(String, Option<String>),
    Resolve(String, String, Option<String>),
    Identity(String, String),
}

/// Questions and answers, in order.
#[derive(Default)]
pub(crate) struct Trace(Vec<Asked>);

impl Trace {
    /// Whether the loader gives the same answers now.
    pub(crate) fn still_holds(&self, loader: &dyn Loader) -> bool {
        self.0.iter().all(|asked| match asked {
            Asked::Load(path, text) => loader.load(path) == *text,
            Asked::Resolve(from, name, found) => loader.resolve(from, name) == *found,
            Asked::Identity(path, identity) => loader.identity(path) == *identity,
        })
    }
}

/// A loader that remembers what it is asked.
pub(crate) struct Tracer<'l> {
    loader: &'l dyn Loader,
    asked: RefCell<Vec<Asked>>,
}

impl<'l> Tracer<'l> {
    pub(crate) fn new(loader: &'l dyn Loader) -> Self {
        Tracer { loader, asked: RefCell::default() }
    }

    /// What was asked.
    pub(crate) fn finish(self) -> Trace {
        Trace(self.asked.into_inner())
    }
}

impl Loader for Tracer<'_> {
    fn load(&self, path: &str) -> Option<String> {
        let text = self.loader.load(path);
        self.asked.borrow_mut().push(Asked::Load(path.into(), text.clone()));
        text
    }

    fn resolve(&self, from: &str, name: &str) -> Option<String> {
        let found = self.loader.resolve(from, name);
        self.asked.borrow_mut().push(Asked::Resolve(from.into(), name.into(), found.clone()));
        found
    }

    fn identity(&self, path: &str) -> String {
        let identity = self.loader.identity(path);
        self.asked.borrow_mut().push(Asked::Identity(path.into(), identity.clone()));
        identity
    }

    fn why_not(&self, path: &str) -> String {
        self.loader.why_not(path)
    }

    fn places(&self, from: &str, name: &str) -> Vec<String> {
        self.loader.places(from, name)
    }

    fn limit(&self) -> Option<String> {
        self.loader.limit()
    }
}
