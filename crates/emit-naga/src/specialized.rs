//! Writes specialization constants: values that the host sets when it makes a pipeline.
//!
//! naga knows them only until it writes a target. So each is a private variable whose first value is a mark: a number that
//! occurs nowhere else. What naga writes has the mark in the variable's declaration, which is replaced:
//!
//! | target | naga                                  | becomes                                           |
//! | ------ | ------------------------------------- | ------------------------------------------------- |
//! | WGSL   | `var<private> n: i32 = MARKi;`        | `@id(3) override n: i32 = 4;`                     |
//! | GLSL   | `int n = MARK;`                       | `layout(constant_id = 3) const int n = 4;`        |
//! | Metal  | `int n = MARK;` in each entry point   | `.. = is_function_constant_defined(..) ? .. : 4;` |
//! | SPIR-V | `OpConstant MARK`, which it starts as | `OpSpecConstant 4`, with its `SpecId`             |
//! | HLSL   | `static int n = MARK;`                | `static int n = 4;`: it has no such constants     |

use crate::write::{Emitted, invalid};
use crate::{Emitter, Result};
use cotangent_base::{EntitySet, Scalar, scalar_group};
use cotangent_ir::layout::Target;
use cotangent_ir::{Const, Global, Module, Specialized, Type};
use naga::{Expression, Handle, Literal, Span as NoSpan};
use rspirv::spirv::{Decoration, Op};

/// A specialization constant, and the mark that stands for its value in what naga writes.
pub(crate) struct Marked {
    id: u32,
    mark: u32,
    scalar: Scalar,
    default: Const,
}

/// Marks are multiples of this, so that a `float` holds them too.
const STEP: u32 = 128;
/// The first mark that is tried.
const FIRST: u32 = 12_046_875 * STEP;

/// The marks of all specialization constants of a module: numbers that the program does not mention.
pub(crate) fn marks(module: &Module) -> Vec<(Global, Marked)> {
    let mut mark = FIRST;
    let mut next = || {
        while mentions(module, mark) {
            mark += STEP;
        }
        mark += STEP;
        mark - STEP
    };
    let marked = |(global, of): &(Global, Specialized)| {
        let Type::Ref(inner) = module.types.get(module.globals[*global].ty) else { return None };
        let scalar = module.types.scalar_of(inner)?;
        Some((*global, Marked { id: of.id, mark: next(), scalar, default: of.default }))
    };
    module.specialized.iter().filter_map(marked).collect()
}

fn mentions(module: &Module, mark: u32) -> bool {
    let same = |constant: Const| match constant {
        Const::Int(n) => n == i64::from(mark),
        Const::Float(bits) => f64::from_bits(bits) == f64::from(mark),
        Const::Bool(_) => false,
    };
    module.funcs.values().any(|func| {
        func.insts.values().any(|data| matches!(data.op, cotangent_ir::Op::Const(constant) if same(constant)))
    })
}

impl Emitter<'_> {
    /// The first value of the variable that a specialization constant is.
    pub fn mark_of(&mut self, global: Global) -> Option<Handle<Expression>> {
        let marked = &self.marks.iter().find(|(of, _)| *of == global)?.1;
        let literal = match marked.scalar {
            Scalar::F32 => Literal::F32(marked.mark as f32),
            Scalar::I32 => Literal::I32(marked.mark as i32),
            Scalar::Bool | scalar_group!(int | float) => Literal::U32(marked.mark),
        };
        Some(self.out.global_expressions.append(Expression::Literal(literal), NoSpan::UNDEFINED))
    }
}

/// Replaces the marks in what naga wrote.
pub(crate) fn set(written: Emitted, marks: &[(Global, Marked)], target: Target) -> Result<Emitted> {
    if marks.is_empty() {
        return Ok(written);
    }
    match written {
        Emitted::Text(text) => in_text(&text, marks, target).map(Emitted::Text),
        Emitted::Words(words) => in_words(words, marks).map(Emitted::Words),
    }
}

fn in_text(text: &str, marks: &[(Global, Marked)], target: Target) -> Result<String> {
    let mut out = String::with_capacity(text.len() + 64 * marks.len());
    let mut declared = String::new();
    let mut found = EntitySet::new();
    for line in text.lines() {
        let line = match marks.iter().find(|(_, marked)| line.contains(&marked.shown())) {
            Some((global, marked)) => {
                found.insert(*global);
                marked.declaration(line, target, &mut declared).ok_or_else(|| invalid(line))?
            }
            None => line.to_string(),
        };
        out += &line;
        out.push('\n');
    }
    // Metal has variables in entry points only: where none uses a constant, it is not declared.
    if target != Target::Metal && marks.iter().any(|(global, _)| !found.contains(*global)) {
        return Err(invalid("a specialization constant is missing"));
    }
    if !declared.is_empty() {
        // Function constants of Metal are declared ahead of everything that may use them.
        let after = "using metal::uint;\n";
        let at = out.find(after).map_or(0, |at| at + after.len());
        out.insert_str(at, &declared);
    }
    Ok(out)
}

impl Marked {
    /// What a declaration becomes whose value is the mark.
    fn declaration(&self, line: &str, target: Target, declared: &mut String) -> Option<String> {
        let (before, _) = line.split_once(" = ")?;
        let (id, default) = (self.id, self.default());
        Some(match target {
            Target::Wgsl => {
                format!("@id({id}) override {} = {default};", before.strip_prefix("var<private> ")?)
            }
            Target::Glsl => format!("layout(constant_id = {id}) const {before} = {default};"),
            Target::Metal => {
                let name = before.trim().split(' ').next_back()?;
                let ty = match self.scalar {
                    Scalar::F32 => "float",
                    Scalar::I32 => "int",
                    Scalar::Bool | scalar_group!(int | float) => "uint",
                };
                let constant = format!("constant {ty} {name}_given [[function_constant({id})]];\n");
                if !declared.contains(&constant) {
                    *declared += &constant;
                }
                format!("{before} = is_function_constant_defined({name}_given) ? {name}_given : {default};")
            }
            Target::Hlsl | Target::SpirV | Target::Cuda | Target::Cpp => format!("{before} = {default};"),
        })
    }

    /// The mark as naga writes it: floats have no more digits than they need.
    fn shown(&self) -> String {
        if self.scalar == Scalar::F32 { (self.mark as f32).to_string() } else { self.mark.to_string() }
    }

    /// The default value as a literal.
    fn default(&self) -> String {
        match (self.default, self.scalar) {
            (Const::Float(bits), _) => format!("{:?}", f64::from_bits(bits) as f32),
            (Const::Int(n), Scalar::I32) => (n as i32).to_string(),
            (Const::Int(n), _) => format!("{}u", n as u32),
            (Const::Bool(set), _) => format!("{}u", u32::from(set)),
        }
    }

    fn bits(&self, value: Const) -> u32 {
        match value {
            Const::Float(bits) => (f64::from_bits(bits) as f32).to_bits(),
            Const::Int(n) => n as u32,
            Const::Bool(set) => u32::from(set),
        }
    }

    /// The bits of the mark.
    fn marked_bits(&self) -> u32 {
        if self.scalar == Scalar::F32 { (self.mark as f32).to_bits() } else { self.mark }
    }
}

/// The words of an instruction of SPIR-V after the first, and its code.
fn split(words: &[u32]) -> impl Iterator<Item = (usize, Op, &[u32])> {
    let mut at = 5;
    std::iter::from_fn(move || {
        let first = *words.get(at)?;
        let (count, here) = ((first >> 16).max(1) as usize, at);
        at += count;
        Some((here, Op::from_u32(first & 0xffff)?, words.get(here + 1..at)?))
    })
}

fn in_words(mut words: Vec<u32>, marks: &[(Global, Marked)]) -> Result<Vec<u32>> {
    let mut decorations = vec![];
    for (_, marked) in marks {
        let constants = split(&words).filter(|(_, op, _)| *op == Op::Constant);
        let found: Vec<(usize, u32)> = constants
            .filter(|(.., operands)| operands.get(2) == Some(&marked.marked_bits()))
            .map(|(at, _, operands)| (at, operands[1]))
            .collect();
        let [(at, result)] = found[..] else { return Err(invalid("a specialization constant is missing")) };
        words[at] = (words[at] & 0xffff_0000) | Op::SpecConstant as u32;
        words[at + 3] = marked.bits(marked.default);
        decorations.extend([4 << 16 | Op::Decorate as u32, result, Decoration::SpecId as u32, marked.id]);
    }
    // Decorations stand before the first type.
    let is_type = |op: Op| (Op::TypeVoid as u32..=Op::TypeForwardPointer as u32).contains(&(op as u32));
    let first = split(&words).find(|(_, op, _)| is_type(*op)).map(|(at, ..)| at);
    let at = first.ok_or_else(|| invalid("a module without types"))?;
    words.splice(at..at, decorations);
    Ok(words)
}
