//! Compiles an entry point and all functions that it calls.

mod program;
mod reach;

use crate::body::Body;
use crate::shape::Shapes;
use crate::state::{Helper, Print, Words};
use crate::stop::Site;
use crate::texture::TextureOp;
use crate::turns::WaveOp;
use crate::{Unsupported, lanes};
use cotangent_base::{Map, Set, Span};
use cotangent_ir::{Func, FuncId, Module, Stage, StructId, Trap, Type};
use cotangent_maths::Rare;
use cotangent_passes::place::Places;
use cotangent_runtime::UnknownType;
use cranelift_codegen::ir::{AbiParam, Signature, UserFuncName, types};
use cranelift_codegen::settings::Configurable;
use cranelift_codegen::{Context, settings};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId as NativeId, Linkage, Module as _, default_libcall_names};

pub(crate) use program::MemoryKind;
pub use program::Program;
use program::{global_memory, group_size};

/// The result of compiling something.
pub(crate) type Result<T> = std::result::Result<T, Unsupported>;

/// How to compile.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Options {
    /// Whether to count iterations and calls, so that [`Limits::max_steps`](crate::Limits::max_steps) holds.
    pub count_steps: bool,
    /// Whether threads run side by side in lanes.
    pub lanes: LaneChoice,
}

/// Whether threads run side by side in lanes. Programs that lanes cannot run always run thread by thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum LaneChoice {
    /// Where that is estimated to be faster.
    #[default]
    Auto,
    /// Never.
    Never,
    /// Wherever it is possible.
    Always,
}

impl Program {
    /// Why threads do not run in lanes, if they were to.
    pub fn no_lanes(&self) -> Option<&Unsupported> {
        self.no_lanes.as_ref()
    }

    /// Compiles an entry point of a valid module. If lanes run all threads of a group, there is no code for one thread, so no two
    /// parameters may share memory. With [`LaneChoice::Never`] they may.
    pub fn compile(module: &Module, entry: FuncId, options: Options) -> Result<Program> {
        let func = &module.funcs[entry];
        let refuse = |what: &str| Err(Unsupported { span: func.span, what: what.to_string() });
        let Some(info) = &func.entry else { return refuse("a function that is no entry point") };
        if info.stage != Stage::Compute {
            return refuse("a shader that does not compute");
        }
        if module.types.wide {
            return refuse("binary64 in place of binary32");
        }
        let mut compiler = Compiler::new(module, options)?;
        let order = compiler.reachable(entry)?;
        for id in &order {
            let places = Places::of(module, &module.funcs[*id], &compiler.places);
            compiler.places.insert(*id, places);
        }
        let run_lanes = compiler.lanes_thunk(entry, &order);
        let is_whole = group_size(info.threads).is_multiple_of(lanes::LANES as u64);
        let run = match run_lanes {
            // Lanes run all threads.
            Some(_) if is_whole => None,
            Some(_) | None => Some(compiler.scalar_thunk(entry, &order)?),
        };
        compiler.finish(run, run_lanes, entry, info.threads, &order)
    }
}

/// The module under compilation.
pub(crate) struct Compiler<'m> {
    pub module: &'m Module,
    pub shapes: Shapes<'m>,
    pub options: Options,
    pub jit: JITModule,
    context: Context,
    builder: FunctionBuilderContext,
    pub places: Map<FuncId, Places>,
    pub natives: Map<FuncId, NativeId>,
    pub helpers: Map<Helper, NativeId>,
    /// What calls rare functions.
    pub rares: Map<Rare, NativeId>,
    pub recursive: Vec<FuncId>,
    /// The functions whose code is put in place of their calls.
    inlined: Set<FuncId>,
    pub sites: Vec<Site>,
    unknown: Map<u32, UnknownType>,
    pub prints: Vec<Print>,
    pub constants: Vec<Words>,
    pub textures: Vec<TextureOp>,
    pub waves: Vec<WaveOp>,
    pub has_barriers: bool,
    /// Whether lanes of a wave meet.
    pub has_waves: bool,
    /// Whether values that lie in memory are stored to memory that the host sees.
    pub stores_memory: bool,
    /// The bytes of arena that a call of each function takes.
    pub frames: Map<FuncId, u64>,
    /// The bytes of arena and of stack that lanes take.
    pub lane_arena: u64,
    lane_stack: u64,
    no_lanes: Option<Unsupported>,
    /// The bytes of stack that it takes.
    stacks: Map<FuncId, u64>,
}

/// What a call takes of the stack beside the frame that Cranelift reports: arguments, the return address, saved registers.
const CALL_BYTES: u64 = 1024;

/// Functions of at most so many instructions, with what is inlined in them, are inlined.
const MOST_INLINED: usize = 200;

/// The same for functions that are called once.
const MOST_INLINED_ONCE: usize = 10_000;

/// How much storage inlined functions may need.
const MOST_INLINED_BYTES: u64 = 16 << 10;

/// What the threads of a group that run at the same time may take for their values and variables.
const MOST_MEMORY: u64 = 2 << 30;

/// An internal error, as far as users are concerned: Cranelift does not take what we made.
pub(crate) fn failed(span: Span, error: impl std::fmt::Display) -> Unsupported {
    Unsupported { span, what: format!("code that Cranelift refuses: {error}") }
}

fn flags() -> std::result::Result<settings::Flags, settings::SetError> {
    let mut flags = settings::builder();
    flags.set("opt_level", "speed")?;
    flags.set("use_colocated_libcalls", "false")?;
    flags.set("is_pic", "false")?;
    flags.set("enable_multi_ret_implicit_sret", "true")?;
    flags.set("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" })?;
    Ok(settings::Flags::new(flags))
}

impl<'m> Compiler<'m> {
    fn new(module: &'m Module, options: Options) -> Result<Self> {
        let flags = flags().map_err(|e| failed(Span::none(), e))?;
        let isa = cranelift_native::builder().map_err(|e| failed(Span::none(), e))?;
        let isa = isa.finish(flags).map_err(|e| failed(Span::none(), e))?;
        let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
        builder.symbols(Helper::ALL.map(|helper| (helper.symbol(), helper.address())));
        let jit = JITModule::new(builder);
        Ok(Compiler {
            module,
            shapes: Shapes::new(&module.types),
            options,
            context: jit.make_context(),
            jit,
            builder: FunctionBuilderContext::new(),
            places: Map::default(),
            natives: Map::default(),
            helpers: Map::default(),
            rares: Map::default(),
            recursive: vec![],
            inlined: Set::default(),
            sites: vec![],
            unknown: Map::default(),
            prints: vec![],
            constants: vec![],
            textures: vec![],
            waves: vec![],
            has_barriers: false,
            has_waves: false,
            stores_memory: false,
            frames: Map::default(),
            lane_arena: 0,
            lane_stack: 0,
            no_lanes: None,
            stacks: Map::default(),
        })
    }

    /// The size of the largest element of a buffer, or of a variable of the group.
    pub fn largest_element(&self) -> u64 {
        let sizes = self.module.globals.iter().map(|(global, data)| {
            let memory = global_memory(self.module, &self.shapes, global);
            match (memory.kind, self.module.types.get(data.ty)) {
                (MemoryKind::Buffer, _) => memory.size,
                (MemoryKind::Shared, Type::Ref(inner)) => {
                    let is_array = matches!(self.module.types.get(inner), Type::Array(..));
                    let elem = if is_array { self.module.types.part(inner, None) } else { None };
                    self.shapes.shape(elem.unwrap_or(inner)).size
                }
                _ => 0,
            }
        });
        sizes.max().unwrap_or(0)
    }

    /// Whether the code of a function is put in place of its calls.
    pub fn is_inlined(&self, id: FuncId) -> bool {
        self.inlined.contains(&id)
    }

    /// A place where the program may stop.
    pub fn site(&mut self, trap: Trap, span: Span, func: &Func, inlined: Option<u32>) -> u32 {
        self.sites.push(Site { trap, span, func: func.name, inlined });
        self.sites.len() as u32 - 1
    }

    /// Notes which types the latest site knows.
    pub fn note_known_types(&mut self, interface: StructId) {
        let def = self.module.types.struct_def(interface);
        let known = def.ids.iter().copied().zip(def.fields.iter().map(|member| member.name)).collect();
        let site = self.sites.len() as u32 - 1;
        self.unknown.insert(site, UnknownType { id: 0, interface: def.name, known });
    }

    /// What a function takes and gives. Outputs that lie in memory are written where the caller says, or in place.
    fn signature(&self, id: FuncId) -> Signature {
        let func = &self.module.funcs[id];
        let mut signature = self.jit.make_signature();
        signature.params.push(AbiParam::new(types::I64));
        signature.returns.push(AbiParam::new(types::I32));
        for param in func.sig.inputs() {
            if self.shapes.shape(param.ty).in_memory() {
                signature.params.push(AbiParam::new(types::I64));
            } else {
                let leaves = self.shapes.leaves(param.ty);
                signature.params.extend(leaves.iter().map(|(leaf, _)| AbiParam::new(leaf.native())));
            }
        }
        for (number, output) in func.sig.outputs().enumerate() {
            if !self.shapes.shape(output.ty).in_memory() {
                let leaves = self.shapes.leaves(output.ty);
                signature.returns.extend(leaves.iter().map(|(leaf, _)| AbiParam::new(leaf.native())));
            } else if self.places[&id].passed[number].is_none() {
                signature.params.push(AbiParam::new(types::I64));
            }
        }
        signature
    }

    fn declare(&mut self, id: FuncId) -> Result<()> {
        let func = &self.module.funcs[id];
        let signature = self.signature(id);
        let name = format!("{}", func.name);
        let native = self.jit.declare_function(&name, Linkage::Local, &signature);
        self.natives.insert(id, native.map_err(|e| failed(func.span, e))?);
        Ok(())
    }

    /// The number of a helper.
    pub fn helper(&mut self, helper: Helper) -> Result<NativeId> {
        if let Some(native) = self.helpers.get(&helper) {
            return Ok(*native);
        }
        let (params, returns) = helper.signature();
        let mut signature = self.jit.make_signature();
        signature.params.extend(params.iter().map(|ty| AbiParam::new(*ty)));
        signature.returns.extend(returns.iter().map(|ty| AbiParam::new(*ty)));
        let native = self.jit.declare_function(&helper.symbol(), Linkage::Import, &signature);
        let native = native.map_err(|e| failed(Span::none(), e))?;
        self.helpers.insert(helper, native);
        Ok(native)
    }

    fn define(&mut self, id: FuncId) -> Result<()> {
        let signature = self.signature(id);
        let native = self.natives[&id];
        let stack = self.build(native, signature, self.module.funcs[id].span, |compiler, builder| {
            Body::new(compiler, builder, id).function()
        })?;
        self.stacks.insert(id, stack);
        Ok(())
    }

    /// The function that runs one thread, and all that it calls.
    fn scalar_thunk(&mut self, entry: FuncId, order: &[FuncId]) -> Result<NativeId> {
        for id in order {
            self.declare(*id)?;
        }
        self.decide_inlining(order, entry);
        for id in order.iter().filter(|id| !self.inlined.contains(id)).copied().collect::<Vec<_>>() {
            self.define(id)?;
        }
        self.thunk(entry)
    }

    /// What runs one thread: it sets the variables of the thread and calls the entry point.
    fn thunk(&mut self, entry: FuncId) -> Result<NativeId> {
        let mut signature = self.jit.make_signature();
        signature.params.push(AbiParam::new(types::I64));
        signature.returns.push(AbiParam::new(types::I32));
        let span = self.module.funcs[entry].span;
        let native = self.jit.declare_anonymous_function(&signature).map_err(|e| failed(span, e))?;
        let stack = self.build(native, signature, span, |compiler, builder| {
            Body::new(compiler, builder, entry).thunk()
        })?;
        *self.stacks.entry(entry).or_default() += stack;
        Ok(native)
    }

    /// What runs several threads at once, if that is wanted and possible.
    fn lanes_thunk(&mut self, entry: FuncId, order: &[FuncId]) -> Option<NativeId> {
        let threads = self.module.funcs[entry].entry.as_ref().map_or(1, |info| group_size(info.threads));
        let is_wanted = self.options.lanes != LaneChoice::Never && threads >= lanes::LANES as u64;
        if !is_wanted {
            return None;
        }
        self.no_lanes = lanes::refusal(self, order);
        if self.no_lanes.is_some() {
            return None;
        }
        let mut signature = self.jit.make_signature();
        signature.params.push(AbiParam::new(types::I64));
        signature.returns.push(AbiParam::new(types::I32));
        let span = self.module.funcs[entry].span;
        let native = self.jit.declare_anonymous_function(&signature).ok()?;
        let built = self.build(native, signature, span, |compiler, builder| {
            lanes::Lanes::thunk(compiler, builder, entry)
        });
        match built {
            Ok(stack) => {
                self.lane_stack = stack;
                Some(native)
            }
            Err(refused) => {
                self.no_lanes = Some(refused);
                None
            }
        }
    }

    /// Compiles a function. Gives how much of the stack it takes.
    pub fn build(
        &mut self,
        native: NativeId,
        signature: Signature,
        span: Span,
        body: impl FnOnce(&mut Self, FunctionBuilder<'_>) -> Result<()>,
    ) -> Result<u64> {
        let mut context = std::mem::replace(&mut self.context, Context::new());
        let mut builder = std::mem::take(&mut self.builder);
        context.func.signature = signature;
        context.func.name = UserFuncName::user(0, native.as_u32());
        let made = body(self, FunctionBuilder::new(&mut context.func, &mut builder));
        let made = made.and_then(|()| {
            self.jit.define_function(native, &mut context).map_err(|e| failed(span, format!("{e:?}")))
        });
        let frame = context.compiled_code().and_then(|code| code.buffer.frame_layout());
        let frame = frame.map_or(0, |frame| u64::from(frame.frame_to_fp_offset));
        let slots = context.func.sized_stack_slots.values().map(|slot| u64::from(slot.size)).sum();
        self.jit.clear_context(&mut context);
        self.context = context;
        // A refused function leaves its builder halfway.
        if made.is_ok() {
            self.builder = builder;
        }
        made.map(|()| frame.max(slots) + CALL_BYTES)
    }
}
