//! Parses function bodies.

use super::lex::{Kind, ValueName};
use super::parser::{Parsed, Parser};
use crate::texture::Sampling;
use crate::wave::Wave;
use crate::{
    Atomic, AtomicKind, Barrier, Const, Control, DiffCall, Func, Inst, LinCall, LoopInfo, Mask, Memory, Op,
    Path, Region, Screen, Segments, Step, Trap, Ty, Unroll, Value,
};
use cotangent_base::{EntitySet, Map, Scalar, Span, Symbol};
use smallvec::SmallVec;

/// How deeply regions may nest.
const MAX_DEPTH: usize = 1000;

/// Reads the block of `func`, if there is one, whose inputs are written as given.
pub(super) fn parse<'a>(
    parser: &mut Parser<'a>,
    func: Func,
    inputs: Vec<ValueName<'a>>,
) -> Parsed<(Func, EntitySet<Value>)> {
    let args = func.inputs().to_vec();
    let body = func.body;
    let mut body_parser =
        Body { p: parser, func, values: Map::default(), linear: EntitySet::new(), depth: 0 };
    for (written, value) in inputs.into_iter().zip(args) {
        body_parser.define(&written, value)?;
    }
    if *body_parser.p.peek() == Kind::Punct("{") {
        body_parser.block(body)?;
    }
    Ok((body_parser.func, body_parser.linear))
}

struct Body<'p, 'a> {
    p: &'p mut Parser<'a>,
    func: Func,
    /// Values by what follows the `%`.
    values: Map<&'a str, Value>,
    linear: EntitySet<Value>,
    depth: usize,
}

impl<'a> Body<'_, 'a> {
    fn define(&mut self, written: &ValueName<'a>, value: Value) -> Parsed<()> {
        if self.values.insert(written.text, value).is_some() {
            return self.p.error_at(written, format!("`%{}` is defined twice", written.text));
        }
        if written.linear && !self.p.linear {
            return self.p.error_at(written, "only the text of a linearized module has linear values");
        }
        if written.linear {
            self.linear.insert(value);
        }
        self.func.values[value].name = written.name.as_deref().map(Symbol::new);
        Ok(())
    }

    fn value(&mut self) -> Parsed<Value> {
        let Kind::Value(written) = self.p.next() else {
            return self.p.error_before("expected a value");
        };
        let Some(&value) = self.values.get(written.text) else {
            return self.p.error_before(format!("`%{}` is not defined above", written.text));
        };
        if written.linear != self.linear.contains(value) {
            return self.p.error_before("the value was defined with the other of `%` and `~`");
        }
        Ok(value)
    }

    /// `value ':' type`.
    fn typed(&mut self) -> Parsed<(ValueName<'a>, Ty)> {
        let Kind::Value(written) = self.p.next() else {
            return self.p.error_before("expected a value");
        };
        self.p.expect(":")?;
        Ok((written, self.p.ty()?))
    }

    /// Reads items with commas between up to a closing sign, which it takes.
    fn list<T>(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        while !self.p.eat(close) {
            if !items.is_empty() {
                self.p.expect(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Values with commas between, perhaps none.
    fn operands(&mut self) -> Parsed<Vec<Value>> {
        let mut operands = Vec::new();
        if matches!(self.p.peek(), Kind::Value(_)) && !self.begins_definition() {
            operands.push(self.value()?);
            while self.p.eat(",") {
                operands.push(self.value()?);
            }
        }
        Ok(operands)
    }

    /// Whether the next value is a result of the next instruction.
    fn begins_definition(&self) -> bool {
        matches!(self.p.peek_second(), Kind::Punct(":"))
    }

    fn in_parens(&mut self) -> Parsed<Vec<Value>> {
        self.p.expect("(")?;
        self.list(")", Self::value)
    }

    fn block(&mut self, region: Region) -> Parsed<()> {
        self.p.expect("{")?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.p.error_before("regions nest too deeply");
        }
        while !self.p.eat("}") {
            self.inst(region)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn inst(&mut self, region: Region) -> Parsed<()> {
        let mut results = Vec::new();
        if matches!(self.p.peek(), Kind::Value(_)) {
            results = self.list("=", Self::typed)?;
        }
        let (op, operands) = self.operation(results.first().map(|r| r.1))?;
        let types: Vec<Ty> = results.iter().map(|r| r.1).collect();
        let inst = self.func.new_inst(op, &operands, &types, Span::none());
        self.func.regions[region].insts.push(inst);
        for (i, (written, _)) in results.iter().enumerate() {
            let value = self.func.insts[inst].results[i];
            self.define(written, value)?;
        }
        self.regions(inst)
    }

    /// The operation and its operands, up to the first region.
    fn operation(&mut self, result: Option<Ty>) -> Parsed<(Op, Vec<Value>)> {
        let name = self.p.word()?;
        if let Some(op) = Op::named(name) {
            return Ok((op, self.operands()?));
        }
        let simple = match name {
            "switch" => Op::Switch(vec![]),
            "break" => Op::Break(self.p.number()?),
            "continue" => Op::Continue(self.p.number()?),
            "assert" => Op::Assert(self.p.choice(&Trap::ALL)?),
            "screen" => Op::Screen(self.p.choice(&Screen::ALL)?),
            "sample" => Op::Sample(self.p.choice(&Sampling::ALL)?),
            "barrier" => Op::Barrier(self.barrier()?),
            "wave" => Op::Wave(self.p.choice(&Wave::ALL)?),
            "print" => Op::Print(self.p.name()?),
            "target_text" => Op::TargetText(self.p.name()?),
            _ => return self.special(name, result),
        };
        Ok((simple, self.operands()?))
    }

    /// Operations whose operands are not a plain list at the end.
    fn special(&mut self, name: &str, result: Option<Ty>) -> Parsed<(Op, Vec<Value>)> {
        match name {
            "const" => Ok((Op::Const(self.literal(result)?), vec![])),
            "global" => Ok((Op::Global(self.p.global()?), vec![])),
            "swizzle" => {
                let operand = self.value()?;
                Ok((Op::Swizzle(self.lanes()?), vec![operand]))
            }
            "inject" => Ok((Op::Inject(self.p.number()?), self.operands()?)),
            "project" => Ok((Op::Project(self.p.number()?), self.operands()?)),
            "extract" => self.access(1, Op::Extract),
            "load" => self.access(1, Op::Load),
            "insert" => self.access(2, Op::Insert),
            "insert_add" => self.access(2, Op::InsertAdd),
            "store" => self.access(2, Op::Store),
            "point" => self.access(1, Op::Point),
            "atomic" => {
                let kind = self.p.choice(&AtomicKind::ALL)?;
                self.access(1 + kind.values(), |path| Op::Atomic(Atomic { kind, path }))
            }
            "call" => {
                let func = self.p.func()?;
                Ok((Op::Call(func), self.in_parens()?))
            }
            "diff_call" => {
                let call = self.diff_call()?;
                Ok((Op::DiffCall(call), self.in_parens()?))
            }
            "lin_call" => {
                let call = self.diff_call()?;
                self.p.expect("(")?;
                let mut operands = self.list(";", Self::value)?;
                let primals = operands.len() as u32;
                operands.extend(self.list(")", Self::value)?);
                Ok((Op::LinCall(LinCall { call, primals }), operands))
            }
            "while" => {
                let operands = self.in_parens()?;
                Ok((Op::While(self.loop_info()?), operands))
            }
            "for" => {
                let mut operands = vec![self.value()?];
                operands.extend(self.in_parens()?);
                Ok((Op::For(self.loop_info()?), operands))
            }
            _ => self.p.error_before(format!("there is no operation `{name}`")),
        }
    }

    fn barrier(&mut self) -> Parsed<Barrier> {
        let memory = self.p.choice(&Memory::ALL)?;
        Ok(Barrier { memory, sync: self.p.eat_word("sync") })
    }

    fn lanes(&mut self) -> Parsed<SmallVec<[u8; 4]>> {
        let word = self.p.word()?;
        let lanes: Option<_> = word.chars().map(|c| "xyzw".find(c).map(|i| i as u8)).collect();
        lanes.map_or_else(|| self.p.error_before("expected lanes out of `xyzw`"), Ok)
    }

    /// Plain operands, then a path with index operands in it.
    fn access(&mut self, plain: usize, op: impl FnOnce(Path) -> Op) -> Parsed<(Op, Vec<Value>)> {
        let mut operands = vec![self.value()?];
        while operands.len() < plain {
            self.p.expect(",")?;
            operands.push(self.value()?);
        }
        let mut path = Path::default();
        if self.p.eat("[") {
            let steps = self.list("]", |b| match b.p.peek() {
                Kind::Value(_) => {
                    operands.push(b.value()?);
                    Ok(Step::Index)
                }
                Kind::Word(_)
                | Kind::Quoted(_)
                | Kind::At(_)
                | Kind::Dollar(_)
                | Kind::Punct(_)
                | Kind::End => Ok(Step::Part(b.p.number()?)),
            })?;
            path.0.extend(steps);
        }
        Ok((op(path), operands))
    }

    fn diff_call(&mut self) -> Parsed<DiffCall> {
        let func = self.p.func()?;
        let inputs = self.mask()?;
        self.p.expect("->")?;
        Ok(DiffCall { func, inputs, outputs: self.mask()? })
    }

    fn mask<Of>(&mut self) -> Parsed<Mask<Of>> {
        self.p.expect("[")?;
        let mask = self.p.list("]", |p| p.choice(&[("d", true), ("_", false)]))?;
        Ok(mask.into_iter().collect())
    }

    fn loop_info(&mut self) -> Parsed<LoopInfo> {
        let mut info = LoopInfo::default();
        loop {
            if self.p.eat_word("max_iters") {
                self.p.expect("(")?;
                info.max_iters = Some(self.p.number()?);
                self.p.expect(")")?;
            } else if self.p.eat_word("unroll") {
                self.p.expect("(")?;
                info.unroll = self.p.choice(&[("force", Unroll::Force), ("never", Unroll::Never)])?;
                self.p.expect(")")?;
            } else if self.p.eat_word("segments") {
                self.p.expect("(")?;
                info.segments = self.segments()?;
                self.p.expect(")")?;
            } else if self.p.eat_word("rev") {
                info.reversed = true;
            } else {
                return Ok(info);
            }
        }
    }

    fn segments(&mut self) -> Parsed<Segments> {
        for (word, segments) in [("whole", Segments::Whole), ("sqrt", Segments::Sqrt), ("log", Segments::Log)]
        {
            if self.p.eat_word(word) {
                return Ok(segments);
            }
        }
        Ok(Segments::Of(self.p.number()?))
    }

    /// The regions of an instruction that has some.
    fn regions(&mut self, inst: Inst) -> Parsed<()> {
        match self.func.insts[inst].op.control() {
            Control::If => {
                self.region(inst)?;
                self.p.expect_word("else")?;
                self.region(inst)
            }
            Control::Switch(_) => {
                let mut cases = Vec::new();
                while self.p.eat_word("case") {
                    cases.push(self.p.number()?);
                    self.region(inst)?;
                }
                self.func.insts[inst].op = Op::Switch(cases);
                self.p.expect_word("default")?;
                self.region(inst)
            }
            Control::While(_) => {
                self.loop_region("cond", inst)?;
                self.loop_region("body", inst)
            }
            Control::For(_) => self.loop_region("body", inst),
            Control::Plain | Control::Exit(_) => Ok(()),
            Control::Call(_) | Control::DiffCall(_) | Control::LinCall(_) => Ok(()),
        }
    }

    fn region(&mut self, inst: Inst) -> Parsed<()> {
        let region = self.func.new_region();
        self.func.insts[inst].regions.push(region);
        self.block(region)
    }

    fn loop_region(&mut self, label: &str, inst: Inst) -> Parsed<()> {
        self.p.expect_word(label)?;
        let region = self.func.new_region();
        self.func.insts[inst].regions.push(region);
        self.p.expect("(")?;
        for (written, ty) in self.list(")", Self::typed)? {
            let value = self.func.add_arg(region, ty);
            self.define(&written, value)?;
        }
        self.block(region)
    }

    /// A literal of the given type.
    fn literal(&mut self, ty: Option<Ty>) -> Parsed<Const> {
        let scalar = ty.and_then(|ty| self.p.module.types.scalar_of(ty));
        let word = self.p.word()?;
        literal(word, scalar).map_or_else(|| self.p.error_before(format!("`{word}` is not a literal")), Ok)
    }
}

fn literal(word: &str, scalar: Option<Scalar>) -> Option<Const> {
    match word {
        "true" => return Some(Const::Bool(true)),
        "false" => return Some(Const::Bool(false)),
        "inf" => return Some(Const::float(f64::INFINITY)),
        "-inf" => return Some(Const::float(f64::NEG_INFINITY)),
        "nan" => return Some(Const::float(f64::NAN)),
        _ => {}
    }
    if let Some(bits) = word.strip_prefix("nan.") {
        return u64::from_str_radix(bits, 16).ok().map(Const::Float);
    }
    if let Ok(integer) = word.parse() {
        return Some(Const::Int(integer));
    }
    if !word.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if let Some(exact) = word.strip_suffix('d') {
        return exact.parse().ok().map(Const::float);
    }
    let float = match scalar {
        Some(Scalar::F32) => word.parse::<f32>().ok()?.into(),
        Some(Scalar::F16) => crate::eval::round(word.parse().ok()?, Scalar::F16),
        _ => word.parse().ok()?,
    };
    Some(Const::float(float))
}
