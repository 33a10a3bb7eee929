//! Emits one function: its arguments, variables and body.

use crate::control::LoopFrame;
use crate::distances::is_left_out;
use crate::invariants::invariants;
use crate::passing::Variable;
use crate::stage::{naga_stage, tidy};
use crate::uniforms::Uniform;
use crate::values::Place;
use crate::{Emitter, Result, unsupported};
use cotangent_base::{Map, Set, Span, Symbol};
use cotangent_ir::{Entry, Func, FuncId, Global, GlobalKind, Inst, Link, Module, Op, Stage, Ty, Value};
use cotangent_passes::place::{Places, Slot};
use naga::{Block, Expression, Handle, Range, Span as NoSpan, Statement};

/// The most threads of a group along one axis.
const MAX_THREADS: u32 = 1 << 14;
/// How deep braces nest in WGSL.
const MAX_NESTING: u32 = 127;

/// The function under construction.
pub(crate) struct FuncEmitter<'e, 'm> {
    pub emitter: &'e mut Emitter<'m>,
    pub id: FuncId,
    pub func: &'m Func,
    pub out: naga::Function,
    pub places: Map<Value, Place>,
    /// The blocks under construction, the innermost last.
    pub blocks: Vec<Block>,
    /// The loops around, the innermost last.
    pub loops: Vec<LoopFrame>,
    /// Which values share a variable.
    pub shared: Places,
    /// The variables that are in use so far.
    pub variables: Map<Slot, Variable>,
    /// Where the results go that are passed by reference.
    pub outputs: Vec<Variable>,
    /// Values that are read at a dynamic index: they live in variables from the start.
    pub indexed: Set<Value>,
    /// Values that are computed before a loop and used in it.
    pub invariants: Set<Value>,
    /// How deep the expression of a value nests, unless it has a name.
    pub depths: Map<Value, u32>,
    /// Values of parameters that are read part by part, where the parts are used.
    pub parted: Set<Value>,
    /// Variables that were read in this block or one around it, and not written since.
    loaded: Map<Variable, Handle<Expression>>,
    /// What is being emitted, for diagnostics.
    pub span: Span,
    /// The number of the last place that is known, if lines are emitted.
    line: u32,
}

impl<'m> Emitter<'m> {
    /// Emits a function; what it calls has been emitted.
    pub fn function(&mut self, id: FuncId) -> Result<()> {
        let module: &'m Module = self.module;
        let func = &module.funcs[id];
        let parted = parted(func, &self.values);
        check_limits(func)?;
        if let Some(entry) = &func.entry {
            self.check_links(func, entry)?;
        }
        let mut out = naga::Function { name: Some(plain_name(func.name)), ..Default::default() };
        out.arguments = self.arguments(func)?;
        out.result = self.result(id, func)?;
        let mut emitter = FuncEmitter {
            emitter: self,
            id,
            func,
            out,
            places: Map::default(),
            blocks: vec![Block::new()],
            loops: vec![],
            // No function updates what belongs to its caller.
            shared: Places::of(module, func, &Map::default()),
            variables: Map::default(),
            outputs: vec![],
            indexed: indexed(func),
            invariants: invariants(func),
            depths: Map::default(),
            parted,
            loaded: Map::default(),
            span: func.span,
            line: 0,
        };
        emitter.body()?;
        let body = emitter.blocks.pop().unwrap_or_default();
        let mut out = emitter.out;
        out.body = body;
        match &func.entry {
            Some(entry) => self.out.entry_points.push(entry_point(func.name, entry, out)),
            None => {
                let handle = self.out.functions.append(out, NoSpan::UNDEFINED);
                self.funcs.insert(id, handle);
            }
        }
        Ok(())
    }

    fn arguments(&mut self, func: &Func) -> Result<Vec<naga::FunctionArgument>> {
        let Some(entry) = &func.entry else { return self.parameters(func) };
        let mut arguments = Vec::new();
        for (i, param) in func.sig.inputs().enumerate() {
            if is_left_out(Some(entry), i) || first_alike(Some(entry), i).is_some() {
                continue;
            }
            let ty = self.ty(param.ty, func.span)?;
            let binding = self.input_binding(entry, i);
            arguments.push(naga::FunctionArgument { name: Some(plain_name(param.name)), ty, binding });
        }
        arguments.extend(self.base_arguments(entry));
        Ok(arguments)
    }

    fn result(&mut self, id: FuncId, func: &Func) -> Result<Option<naga::FunctionResult>> {
        match &func.entry {
            Some(entry) => self.entry_result(id, func, entry),
            None => self.returned(id, func),
        }
    }
}

/// The values that some `extract` reads at a dynamic index.
fn indexed(func: &Func) -> Set<Value> {
    let base = |inst: Inst| {
        if let Op::Extract(path) = &func.insts[inst].op
            && path.indices() > 0
        {
            Some(func.insts[inst].operands[0])
        } else {
            None
        }
    };
    func.all_insts().into_iter().filter_map(base).collect()
}

/// The values of parameters that lie in memory as words and of which only known parts are read: those are read one by one.
fn parted(func: &Func, values: &Map<Global, Uniform>) -> Set<Value> {
    let is_words = |inst: &Inst| {
        if let Op::Global(global) = func.insts[*inst].op {
            matches!(values.get(&global), Some(Uniform::Words(_)))
        } else {
            false
        }
    };
    let all = func.all_insts();
    let of = all.iter().filter(|inst| is_words(inst)).map(|inst| func.insts[*inst].results[0]);
    let mut found: Set<Value> = of.collect();
    for inst in all {
        let data = &func.insts[inst];
        let in_parts = matches!(&data.op, Op::Extract(path) if path.indices() == 0);
        if !in_parts {
            data.operands.iter().for_each(|operand| _ = found.remove(operand));
        }
    }
    found
}

/// Refuses what WGSL or its implementations set a limit to.
fn check_limits(func: &Func) -> Result<()> {
    let [x, y, z] = func.entry.as_ref().map_or([1; 3], |entry| entry.threads);
    if [x, y, z].iter().any(|n| !(1..=MAX_THREADS).contains(n)) {
        return unsupported(func.span, format!("a group of {x} by {y} by {z} threads is not supported"));
    }
    if func.nesting() > MAX_NESTING {
        let what = format!("control flow of `{}` that nests more than {MAX_NESTING} levels deep", func.name);
        return unsupported(func.span, format!("{what} is not supported"));
    }
    Ok(())
}

/// A name that shader languages accept: an entry point has it in SPIR-V.
pub fn plain_name(name: Symbol) -> String {
    name.as_str().chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect()
}

/// The first input that is the same system value as the input of that number: a shader takes it once.
fn first_alike(entry: Option<&Entry>, number: usize) -> Option<usize> {
    let inputs = &entry?.inputs;
    let link = *inputs.get(number).filter(|link| matches!(link, Link::System(_)))?;
    inputs[..number].iter().position(|other| *other == link)
}

fn entry_point(name: Symbol, entry: &Entry, function: naga::Function) -> naga::EntryPoint {
    naga::EntryPoint {
        name: plain_name(name),
        stage: naga_stage(entry.stage),
        early_depth_test: None,
        // Only groups of threads have a size.
        workgroup_size: if entry.stage == Stage::Compute { entry.threads } else { [0; 3] },
        workgroup_size_overrides: None,
        function,
        mesh_info: None,
        task_payload: None,
        incoming_ray_payload: None,
    }
}

impl<'m> FuncEmitter<'_, 'm> {
    pub fn module(&self) -> &'m Module {
        self.emitter.module
    }

    fn body(&mut self) -> Result<()> {
        match &self.func.entry {
            Some(entry) => {
                self.take_inputs(entry)?;
                self.note_thread();
                self.note_lane();
                self.initialize_statics()?;
            }
            None => self.take_parameters()?,
        }
        self.region(self.func.body)
    }

    /// Places the inputs of an entry point.
    fn take_inputs(&mut self, entry: &Entry) -> Result<()> {
        let mut arguments = 0..;
        let mut placed = vec![None; self.func.inputs().len()];
        for (i, input) in self.func.inputs().iter().enumerate() {
            if is_left_out(Some(entry), i) {
                continue;
            }
            let argument = match first_alike(Some(entry), i) {
                Some(first) => placed[first],
                None => Some(self.expr(Expression::FunctionArgument(arguments.next().unwrap_or_default()))),
            };
            let Some(argument) = argument else { continue };
            placed[i] = Some(argument);
            let argument = self.without_first(i, argument);
            self.place(*input, Place::Expr(argument))?;
        }
        Ok(())
    }

    /// An entry point begins by giving `static` variables their first value.
    fn initialize_statics(&mut self) -> Result<()> {
        for (global, data) in self.module().globals.iter() {
            let (GlobalKind::Static(Some(init)), Some(var)) = (&data.kind, self.emitter.globals.get(&global))
            else {
                continue;
            };
            let pointer = self.expr(Expression::GlobalVariable(*var));
            let value = self.first_value(*init)?;
            self.statement(Statement::Store { pointer, value });
        }
        Ok(())
    }

    /// Adds an expression, evaluated here.
    pub fn expr(&mut self, expression: Expression) -> Handle<Expression> {
        let expression = self.at_run_time(expression);
        let result = matches!(
            expression,
            Expression::CallResult(_)
                | Expression::AtomicResult { .. }
                | Expression::SubgroupBallotResult
                | Expression::SubgroupOperationResult { .. }
                | Expression::WorkGroupUniformLoadResult { .. }
        );
        let anywhere = expression.needs_pre_emit() || result;
        let handle = self.out.expressions.append(expression, NoSpan::UNDEFINED);
        if !anywhere {
            self.statement(Statement::Emit(Range::new_from_bounds(handle, handle)));
        }
        handle
    }

    /// Adds a statement to the innermost block.
    pub fn statement(&mut self, statement: Statement) {
        if let Statement::Store { pointer, .. } = statement {
            self.forget_target(pointer);
        }
        let span = self.naga_span();
        let block = self.blocks.last_mut().expect("a function has a block");
        let exit = matches!(
            statement,
            Statement::Return { .. } | Statement::Break | Statement::Continue | Statement::Kill
        );
        // naga tells the line of everything but exits.
        if exit && span.is_defined() {
            let nothing = self.out.expressions.range_from(self.out.expressions.len());
            block.push(Statement::Emit(nothing), span);
        }
        block.push(statement, span);
    }

    /// The line of what is being emitted, if lines are emitted: what comes from the library is at the line that asked for it.
    fn naga_span(&mut self) -> NoSpan {
        if let Some(lines) = &mut self.emitter.lines {
            self.line = lines.number(self.span).unwrap_or(self.line);
        }
        crate::lines::span(self.line)
    }

    /// What `build` adds, as the body of a loop: what was read before it may be written by an iteration of it.
    pub fn repeated(&mut self, build: impl FnOnce(&mut Self) -> Result<()>) -> Result<Block> {
        self.loaded.clear();
        self.block(build)
    }

    /// What `build` adds, as a block of its own.
    pub fn block(&mut self, build: impl FnOnce(&mut Self) -> Result<()>) -> Result<Block> {
        let (span, before) = (self.span, self.loaded.clone());
        self.blocks.push(Block::new());
        build(self)?;
        self.span = span;
        // Outside is known what was known before, and is not changed.
        let mut inside = std::mem::replace(&mut self.loaded, before);
        self.loaded.retain(|var, read| inside.remove(var) == Some(*read));
        let mut block = self.blocks.pop().unwrap_or_default();
        tidy(&mut block, &self.out.expressions);
        Ok(block)
    }

    /// A variable of one of our types.
    pub fn new_variable(&mut self, ty: Ty, name: Option<String>) -> Result<Variable> {
        self.emitter.require_room(ty, self.span)?;
        let ty = self.emitter.ty(ty, self.span)?;
        Ok(self.new_naga_variable(ty, name))
    }

    /// A variable of one of naga's types.
    pub fn new_naga_variable(&mut self, ty: Handle<naga::Type>, name: Option<String>) -> Variable {
        let local = naga::LocalVariable { name, ty, init: None };
        Variable::Local(self.out.local_variables.append(local, NoSpan::UNDEFINED))
    }

    /// What a variable holds; it is read once as long as nothing is written to it.
    pub fn load_var(&mut self, var: Variable) -> Handle<Expression> {
        if let Some(read) = self.loaded.get(&var) {
            return *read;
        }
        let pointer = self.pointer_to(var);
        let read = self.expr(Expression::Load { pointer });
        self.loaded.insert(var, read);
        read
    }

    /// Notes that a variable changes.
    pub fn forget(&mut self, var: Variable) {
        self.loaded.remove(&var);
    }

    /// Notes that the variable changes that a pointer, or its base, points to.
    #[expect(clippy::wildcard_enum_match_arm, reason = "naga adds variants")]
    fn forget_target(&mut self, pointer: Handle<Expression>) {
        match self.out.expressions[pointer] {
            Expression::LocalVariable(local) => self.forget(Variable::Local(local)),
            Expression::FunctionArgument(_) => self.forget(Variable::Passed(pointer)),
            Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => {
                self.forget_target(base);
            }
            _ => {}
        }
    }

    pub fn store_var(&mut self, var: Variable, value: Handle<Expression>) {
        let pointer = self.pointer_to(var);
        self.statement(Statement::Store { pointer, value });
    }

    /// The name the source gave to a value.
    pub fn name_of(&self, value: Value) -> Option<String> {
        self.func.values[value].name.map(|n| n.to_string())
    }
}
