//! From our IR to naga's, and from there to WGSL.
//!
//! naga has statements and mutable variables where we have regions and values. Each region that gives results
//! gets variables: branches and exits write them, and what follows reads them. A loop's slots are variables
//! that its body reads at the start and writes at every exit. A functional update of an aggregate writes in
//! place where the old version is dead afterwards ([`last_use`]), else it copies first.
//!
//! Our matrices are lists of rows and naga's of columns, so a matrix is emitted transposed: row `i` here is column
//! `i` there, and products swap their operands.
//!
//! A program cannot trap on a GPU; [`traps`] says what becomes of a failed `assert`.
//!
//! Values of parameters lie in uniform buffers, laid out as std140 asks ([`uniforms`]).
//!
//! naga's validator runs on everything emitted.

mod atomic;
pub mod codes;
mod control;
mod func;
mod last_use;
mod math;
mod memory;
mod traps;
mod types;
mod uniforms;
mod values;

use cotangent_base::{Diagnostic, Map, Span};
use cotangent_ir::layout::bind::LeafPlace;
use cotangent_ir::{FuncId, FuncKind, Global, GlobalKind, Module, Op, Ty, Type};
use naga::{Handle, Span as NoSpan};
use traps::Poison;
pub use traps::{FLAG_BYTES, Site};
use uniforms::Words;

/// What emission gives: a value, or why the target cannot express the program.
pub(crate) type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// Where the parameters of a module are bound. Those it does not know are numbered in the order of declaration.
pub type Places = Map<Global, LeafPlace>;

/// The WGSL of a module: its entry points, or if it has none all its functions.
pub fn wgsl(module: &Module, places: &Places) -> std::result::Result<String, Box<Diagnostic>> {
    let (out, _) = emit(module, places, None)?;
    write_wgsl(&out)
}

/// The WGSL of a module that says in a buffer which of its assertions failed; the buffer is bound at that group and number.
pub fn checked_wgsl(
    module: &Module,
    places: &Places,
    flag: (u32, u32),
) -> std::result::Result<(String, Vec<Site>), Box<Diagnostic>> {
    let flag = naga::ResourceBinding { group: flag.0, binding: flag.1 };
    let (out, sites) = emit(module, places, Some(flag))?;
    Ok((write_wgsl(&out)?, sites))
}

fn write_wgsl(out: &naga::Module) -> Result<String> {
    let flags = naga::valid::ValidationFlags::all();
    let mut validator = naga::valid::Validator::new(flags, naga::valid::Capabilities::all());
    let invalid = |what: &str| {
        Box::new(Diagnostic::new(
            codes::INVALID,
            Span::none(),
            format!("the emitted shader is invalid: {what}"),
        ))
    };
    let info = validator.validate(out).map_err(|e| invalid(&format!("{:?}", e.into_inner())))?;
    naga::back::wgsl::write_string(out, &info, naga::back::wgsl::WriterFlags::empty())
        .map_err(|e| invalid(&e.to_string()))
}

/// A diagnostic that says what the target cannot do.
pub(crate) fn unsupported<T>(span: Span, what: impl Into<String>) -> Result<T> {
    let diagnostic = Diagnostic::new(codes::UNSUPPORTED, span, format!("{} in WGSL", what.into()));
    Err(Box::new(diagnostic.help("`cotangent run` runs the program on the CPU")))
}

/// The module under construction.
pub(crate) struct Emitter<'m> {
    pub module: &'m Module,
    pub places: &'m Places,
    pub out: naga::Module,
    pub types: Map<Ty, Handle<naga::Type>>,
    pub globals: Map<Global, Handle<naga::GlobalVariable>>,
    /// Values that are read from the words of a block.
    pub words: Map<Global, Words>,
    pub funcs: Map<FuncId, Handle<naga::Function>>,
    /// The structure in which a function with several outputs returns them.
    pub results: Map<FuncId, Handle<naga::Type>>,
    /// The buffers and variables that atomic operations are done on.
    pub atomics: cotangent_base::EntitySet<Global>,
    /// Set if the program asserts something: whether an assertion failed, and the bits of a NaN.
    pub poison: Option<Poison>,
    /// The assertions so far.
    pub sites: Vec<Site>,
}

fn emit(
    module: &Module,
    places: &Places,
    flag: Option<naga::ResourceBinding>,
) -> Result<(naga::Module, Vec<Site>)> {
    let mut emitter = Emitter {
        module,
        places,
        out: naga::Module::default(),
        types: Map::default(),
        globals: Map::default(),
        words: Map::default(),
        funcs: Map::default(),
        results: Map::default(),
        atomics: cotangent_base::EntitySet::new(),
        poison: None,
        sites: vec![],
    };
    let order = order(module)?;
    if order.iter().any(|f| asserts(module, *f)) {
        emitter.poison = Some(emitter.poison_variables(flag));
    }
    emitter.atomics = atomic::atomics(module, &order);
    emitter.global_variables(&order)?;
    for id in order {
        emitter.function(id)?;
    }
    Ok((emitter.out, emitter.sites))
}

fn asserts(module: &Module, id: FuncId) -> bool {
    let func = &module.funcs[id];
    func.all_insts().iter().any(|i| matches!(func.insts[*i].op, Op::Assert(_)))
}

/// The functions to emit, callees before callers.
fn order(module: &Module) -> Result<Vec<FuncId>> {
    let entries: Vec<FuncId> =
        module.funcs.iter().filter(|(_, f)| f.entry.is_some()).map(|(id, _)| id).collect();
    let all = || module.funcs.iter().filter(|(_, f)| f.kind == FuncKind::Defined).map(|(id, _)| id).collect();
    let roots: Vec<FuncId> = if entries.is_empty() { all() } else { entries };
    // Entry points begin by running the initializers of `static` variables.
    let inits = module.globals.values().filter_map(|g| match g.kind {
        GlobalKind::Static(init) => init,
        GlobalKind::Param | GlobalKind::Shared => None,
    });
    let roots: Vec<FuncId> = inits.chain(roots).collect();
    let (mut done, mut open) = (Vec::new(), Vec::new());
    for root in roots {
        visit(module, root, &mut done, &mut open)?;
    }
    Ok(done)
}

fn visit(module: &Module, id: FuncId, done: &mut Vec<FuncId>, open: &mut Vec<FuncId>) -> Result<()> {
    if done.contains(&id) {
        return Ok(());
    }
    let func = &module.funcs[id];
    if open.contains(&id) {
        return unsupported(func.span, format!("`{}` calls itself, which is not possible", func.name));
    }
    open.push(id);
    for inst in func.all_insts() {
        if let Op::Call(callee) = func.insts[inst].op {
            visit(module, callee, done, open)?;
        }
    }
    open.pop();
    done.push(id);
    Ok(())
}

impl Emitter<'_> {
    /// Declares the globals that `funcs` mention, parameters with bindings in the order of declaration.
    fn global_variables(&mut self, funcs: &[FuncId]) -> Result<()> {
        let module = self.module;
        let mut used = cotangent_base::EntitySet::new();
        for func in funcs.iter().map(|f| &module.funcs[*f]) {
            let globals = func.all_insts().into_iter().filter_map(|i| match func.insts[i].op {
                Op::Global(global) => Some(global),
                _ => None,
            });
            used.extend(globals);
        }
        let mut next = 0;
        for (global, data) in module.globals.iter().filter(|(g, _)| used.contains(*g)) {
            if let Some(LeafPlace::Value(block, offset)) = self.places.get(&global) {
                self.uniform(global, *block, *offset)?;
                continue;
            }
            let space = self.address_space(global);
            let ty = match module.types.get(data.ty) {
                Type::Buffer(elem, _) if self.atomics.contains(global) => {
                    self.atomic_buffer(elem, data.span)?
                }
                Type::Ref(inner) if self.atomics.contains(global) => self.atomic_ty(inner, data.span)?,
                Type::Buffer(elem, _) => self.runtime_array(elem, data.span)?,
                Type::Ref(inner) => self.ty(inner, data.span)?,
                _ => {
                    self.check_shareable(data.ty, data.span)?;
                    self.ty(data.ty, data.span)?
                }
            };
            let slot = match data.kind {
                GlobalKind::Param => Some(self.slot(global, &mut next)?),
                GlobalKind::Shared | GlobalKind::Static(_) => None,
            };
            let var = variable(data.name.as_str(), space, ty, slot, None);
            let handle = self.out.global_variables.append(var, NoSpan::UNDEFINED);
            self.globals.insert(global, handle);
        }
        Ok(())
    }

    /// Where a resource is bound, or the next number.
    fn slot(&self, global: Global, next: &mut u32) -> Result<naga::ResourceBinding> {
        match self.places.get(&global) {
            Some(LeafPlace::Slot(slot)) => {
                Ok(naga::ResourceBinding { group: slot.space, binding: slot.index })
            }
            Some(LeafPlace::Element(_)) => {
                unsupported(self.module.globals[global].span, "an array of resources is not possible")
            }
            Some(LeafPlace::Packed(_)) => {
                unsupported(self.module.globals[global].span, "`packoffset` is not possible")
            }
            Some(LeafPlace::Value(..)) | None => {
                let binding = *next;
                *next += 1;
                Ok(naga::ResourceBinding { group: 0, binding })
            }
        }
    }

    fn address_space(&self, global: Global) -> naga::AddressSpace {
        let data = &self.module.globals[global];
        let storage = |access| naga::AddressSpace::Storage { access };
        match (&data.kind, self.module.types.get(data.ty)) {
            (GlobalKind::Param, Type::Buffer(_, cotangent_ir::Access::ReadWrite)) => {
                storage(naga::StorageAccess::LOAD | naga::StorageAccess::STORE)
            }
            (GlobalKind::Param, _) => storage(naga::StorageAccess::LOAD),
            (GlobalKind::Shared, _) => naga::AddressSpace::WorkGroup,
            (GlobalKind::Static(_), _) => naga::AddressSpace::Private,
        }
    }
}

fn variable(
    name: &str,
    space: naga::AddressSpace,
    ty: Handle<naga::Type>,
    binding: Option<naga::ResourceBinding>,
    init: Option<Handle<naga::Expression>>,
) -> naga::GlobalVariable {
    let memory_decorations = naga::MemoryDecorations::empty();
    naga::GlobalVariable { name: Some(name.to_string()), space, binding, ty, init, memory_decorations }
}
