//! Loaded programs, which several machines share.

use crate::decode::{Decoded, decode};
use crate::layout::Layouts;
use crate::{Machine, Options};
use cotangent_base::EntityMap;
use cotangent_ir::{FuncId, Module};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// A program that is ready to run. It owns its module; clones share it, also between threads.
#[derive(Clone)]
pub struct Program {
    module: Arc<Module>,
    loaded: Arc<Loaded>,
    options: Options,
}

impl Program {
    /// Loads a valid module.
    pub fn new(module: impl Into<Arc<Module>>, options: Options) -> Self {
        let module = module.into();
        let loaded = Arc::new(Loaded::new(&module, options.wide, module.has_waves()));
        Program { module, loaded, options }
    }

    /// The code.
    pub fn module(&self) -> &Arc<Module> {
        &self.module
    }

    /// How it runs.
    pub fn options(&self) -> Options {
        self.options
    }

    /// A machine of its own, with empty buffers and uniforms that are zero.
    pub fn machine(&self) -> Machine<'_> {
        self.machine_with(self.options)
    }

    /// The same with other limits.
    pub(crate) fn machine_with(&self, options: Options) -> Machine<'_> {
        Machine::of(&self.module, self.loaded.clone(), Options { wide: self.options.wide, ..options })
    }

    pub(crate) fn layouts(&self) -> &Layouts {
        &self.loaded.layouts
    }
}

/// A function in the form in which it runs.
pub(crate) struct Function(Arc<Decoded>);

impl Deref for Function {
    type Target = Decoded;

    fn deref(&self) -> &Decoded {
        &self.0
    }
}

/// The functions of a module in the form in which they run, made when they are first called, and the layout of its memory.
pub(crate) struct Loaded {
    pub(crate) layouts: Layouts,
    funcs: EntityMap<FuncId, OnceLock<Arc<Decoded>>>,
    wide: bool,
    /// Whether the iterations of all loops are counted, as for operations on waves.
    counts: bool,
    /// The same with iterations counted, if that is not so here.
    counting: OnceLock<Arc<Loaded>>,
}

impl Loaded {
    pub(crate) fn new(module: &Module, wide: bool, counts: bool) -> Self {
        Loaded {
            layouts: Layouts::new(&module.types, wide),
            funcs: EntityMap::filled(OnceLock::new(), module.funcs.len()),
            wide,
            counts,
            counting: OnceLock::new(),
        }
    }

    pub(crate) fn function(&self, module: &Module, func: FuncId) -> Function {
        let decode = || Arc::new(decode(module, &module.funcs[func], &self.layouts, self.counts));
        Function(self.funcs[func].get_or_init(decode).clone())
    }

    /// What counts iterations, unless this does.
    pub(crate) fn counting(&self, module: &Module) -> Option<Arc<Loaded>> {
        let make = || Arc::new(Loaded::new(module, self.wide, true));
        (!self.counts).then(|| self.counting.get_or_init(make).clone())
    }
}
