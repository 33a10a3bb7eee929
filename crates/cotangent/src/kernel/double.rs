//! Kernels in double precision: as native code of a copy in which half and float are binary64, or else in the interpreter's wide
//! mode.

use super::check::{Options, Stop};
use cotangent_base::{Scalar, Symbol};
use cotangent_interp::{Interpreter, Options as Interpreting};
use cotangent_ir::{Func, FuncId, Module, Op, StructField, Ty, Type, Types, layout};
use cotangent_jit::{Limits, Native};
use cotangent_lower::Lowered;
use cotangent_passes::calls::Calls;
use cotangent_passes::widen::{refused, widen};
use cotangent_runtime::path::{Leaf, leaves};
use cotangent_runtime::{Compiled, Data, Failure, Launch, Launched, Number, Params, Runner};
use std::sync::Arc;

/// How the interpreter computes here.
fn wide() -> Interpreting {
    Interpreting { wide: true, ..Interpreting::default() }
}

/// A kernel that is launched in double precision.
pub(super) struct Double<'l> {
    lowered: &'l Arc<Lowered>,
    entry: FuncId,
    native: Option<Runner<Native>>,
    interpreter: Arc<Interpreter>,
}

/// The floats of all writable parameters after a launch, in order.
pub(super) struct Ended(Vec<(Symbol, Vec<f64>)>);

impl Ended {
    /// The floats of a parameter.
    pub fn floats(&self, name: Symbol) -> &[f64] {
        self.0.iter().find(|(other, _)| *other == name).map_or(&[], |(_, floats)| floats)
    }
}

impl<'l> Double<'l> {
    /// A program with one entry point.
    pub fn new(lowered: &'l Arc<Lowered>) -> Self {
        let entry = lowered.entries[0];
        let interpreter = Arc::new(Interpreter::new(wide()));
        Double { lowered, entry, native: native(&lowered.module, entry), interpreter }
    }

    /// The same. What it detaches keeps the values of the first launch.
    pub fn holding(lowered: &'l Arc<Lowered>) -> Self {
        let detaches = |func: &Func| func.all_insts().iter().any(|inst| func.insts[*inst].op == Op::Detach);
        let mut double = Double::new(lowered);
        if lowered.module.funcs.values().any(detaches) {
            double.native = None;
            double.interpreter = Arc::new(Interpreter::holding(wide()));
        }
        double
    }

    /// Whether the last launch detached a value at a place that the first launch did not reach.
    pub fn has_strayed(&self) -> bool {
        self.interpreter.has_strayed()
    }

    /// Launches it on these parameters.
    pub fn launch(&mut self, params: &Params, options: &Options) -> Result<Ended, Stop> {
        if let Some(runner) = &mut self.native
            && give(&self.lowered.module, params, runner).is_some()
        {
            match finish(runner.launch_id(self.entry, options.groups, Launch::default())) {
                Err(Stop::Failure(Failure::Refused(_))) => {}
                ended => return ended.and_then(|()| native_floats(self.lowered, runner)),
            }
        }
        self.native = None;
        let compiled = crate::compiled(self.lowered);
        let runner = Runner::with_params(Arc::clone(&self.interpreter), compiled, params.clone());
        let mut runner = runner.map_err(Stop::Failure)?;
        finish(runner.launch_id(self.entry, options.groups, Launch::default()))?;
        interpreted_floats(self.lowered, &runner)
    }
}

/// The program in binary64 as native code, if it can be expressed. On one core sums have one order.
fn native(module: &Module, entry: FuncId) -> Option<Runner<Native>> {
    if refused(module, &Calls::emitted(module).callees_first).is_some() {
        return None;
    }
    let mut module = module.clone();
    widen(&mut module);
    let compiled = Compiled::new(module, cotangent_ir::shader::ShaderParams::default());
    debug_assert!(compiled.module.funcs[entry].entry.is_some());
    Runner::new(Arc::new(Native::new(Limits::default())), compiled).ok()
}

/// Gives the program in binary64 the parameters.
fn give(narrow: &Module, params: &Params, runner: &mut Runner<Native>) -> Option<()> {
    let module = runner.compiled().module.clone();
    for (name, global, ty, bytes) in params.iter() {
        let wide = module.globals[global].ty;
        let bytes = match (narrow.types.get(ty), module.types.get(wide)) {
            (Type::Opaque(_), _) => continue,
            (Type::Buffer(ty, _), Type::Buffer(wide, _)) => {
                let stride = layout::layout(&narrow.types, ty)?.size.max(1) as usize;
                let values = Values::new((&narrow.types, ty), (&module.types, wide))?;
                bytes.chunks_exact(stride).flat_map(|bytes| values.convert(bytes)).collect()
            }
            _ => Values::new((&narrow.types, ty), (&module.types, wide))?.convert(bytes),
        };
        runner.params.set(name.as_str(), &Data::Bytes(None, bytes)).ok()?;
    }
    Some(())
}

/// How values are converted from one type to another of the same form.
struct Values {
    scalars: Vec<(Leaf, Leaf)>,
    size: usize,
}

impl Values {
    fn new((from, ty): (&Types, Ty), (to, wide): (&Types, Ty)) -> Option<Values> {
        let size = layout::layout(to, wide)?.size as usize;
        // What a value of interface type holds is not known.
        let scalars: Vec<_> = leaves(from, ty).into_iter().zip(leaves(to, wide)).collect();
        (!has_sum(from, ty)).then_some(Values { scalars, size })
    }

    fn convert(&self, bytes: &[u8]) -> Vec<u8> {
        let mut to = vec![0; self.size];
        for (old, new) in &self.scalars {
            let size = old.scalar.bytes() as usize;
            let number = &bytes[old.offset..old.offset + size];
            match new.scalar {
                Scalar::F64 => {
                    let number = Number::read(old.scalar, number).as_f64();
                    to[new.offset..new.offset + 8].copy_from_slice(&number.to_le_bytes());
                }
                _ => to[new.offset..new.offset + size].copy_from_slice(number),
            }
        }
        to
    }
}

fn has_sum(types: &Types, ty: Ty) -> bool {
    match types.get(ty) {
        Type::Sum(_) => true,
        Type::Array(elem, _) => has_sum(types, elem),
        Type::Struct(id) => types.struct_def(id).fields.iter().any(|field| has_sum(types, field.ty)),
        Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => false,
        Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => false,
    }
}

fn finish(launched: Result<Launched, Failure>) -> Result<(), Stop> {
    launched.map_err(Stop::Failure)?.ended.map_err(|stopped| Stop::Trap(Box::new(stopped)))
}

/// The type of the elements of a buffer.
fn element(module: &Module, name: Symbol) -> Option<Ty> {
    match module.types.get(module.globals[module.global_named(name)?].ty) {
        Type::Buffer(elem, _) => Some(elem),
        _ => None,
    }
}

/// For each scalar of a type, whether it carries a derivative: a float that no structure leaves out of its derivative.
pub(super) fn carries(lowered: &Lowered, ty: Ty) -> Vec<bool> {
    let types = &lowered.module.types;
    match types.get(ty) {
        Type::Array(elem, n) => carries(lowered, elem).repeat(n as usize),
        Type::Struct(id) => {
            let row = lowered.module.diff.get(id);
            let field = |(i, field): (usize, &StructField)| {
                let has = row.is_none_or(|row| row.fields.get(i).is_some_and(Option::is_some));
                carries(lowered, field.ty).into_iter().map(move |carries| carries && has)
            };
            types.struct_def(id).fields.iter().enumerate().flat_map(field).collect()
        }
        _ => leaves(types, ty).iter().map(|leaf| leaf.scalar.is_float()).collect(),
    }
}

fn native_floats(lowered: &Lowered, runner: &mut Runner<Native>) -> Result<Ended, Stop> {
    runner.download().map_err(Stop::Failure)?;
    let module = runner.compiled().module.clone();
    let mut all = vec![];
    for name in runner.params.writable() {
        let (Some(narrow), Some(elem)) = (element(&lowered.module, name), element(&module, name)) else {
            continue;
        };
        let stride = layout::layout(&module.types, elem).map_or(1, |l| l.size.max(1)) as usize;
        let floats = leaves(&module.types, elem).into_iter().zip(carries(lowered, narrow));
        let floats: Vec<Leaf> = floats.filter(|(_, carries)| *carries).map(|(leaf, _)| leaf).collect();
        let elements = runner.params.get(name.as_str())?.1.chunks_exact(stride);
        let read = |bytes: &[u8], leaf: &Leaf| Number::read(leaf.scalar, &bytes[leaf.offset..]).as_f64();
        let numbers = elements.flat_map(|bytes| floats.iter().map(move |leaf| read(bytes, leaf)));
        all.push((name, numbers.collect()));
    }
    Ok(Ended(all))
}

fn interpreted_floats(lowered: &Lowered, runner: &Runner<Interpreter>) -> Result<Ended, Stop> {
    let mut all = vec![];
    for name in runner.params.writable() {
        if let Ok(texture) = runner.texture(name.as_str()) {
            let texels = runner.backend().wide_texels(&texture);
            all.push((name, texels.iter().map(|word| f64::from_bits(*word)).collect()));
            continue;
        }
        let (Some(elem), Ok(buffer)) = (element(&lowered.module, name), runner.buffer(name.as_str())) else {
            continue;
        };
        let words = runner.backend().wide_words(&buffer);
        let carries = carries(lowered, elem);
        let words = words.iter().zip(carries.iter().cycle()).filter(|(_, carries)| **carries);
        all.push((name, words.map(|(word, _)| f64::from_bits(*word)).collect()));
    }
    Ok(Ended(all))
}
