//! Prints functions: the header with its attributes, and the instructions with their nested regions.

use super::pieces::{
    List, Name, Quoted, TypeText, const_text, differentiable, func_name, link_text, mode_name, name_in,
};
use super::put;
use crate::texture::Sampling;
use crate::wave::Wave;
use crate::{
    Apply, AtomicKind, DiffCall, DiffInfo, Dir, Func, FuncKind, Inline, Inst, InstData, LoopInfo, Memory,
    Module, Op, Param, Path, Prefer, Region, Screen, Segments, Stage, Step, Trap, Ty, Unroll, Value,
};
use cotangent_base::{EntitySet, Map};
use std::fmt::Write;

/// One function.
pub(in crate::text) fn func(module: &Module, func: &Func, linear: &EntitySet<Value>) -> String {
    let mut printer = Printer::new(module, func, linear);
    printer.header();
    printer.attributes();
    let unwritten = matches!(func.kind, FuncKind::Request(..)) && func.regions[func.body].insts.is_empty();
    if unwritten {
        printer.out.push('\n');
    } else {
        printer.out.push(' ');
        printer.block(func.body, 0);
        printer.out.push('\n');
    }
    printer.out
}

/// The first line of one instruction.
pub(in crate::text) fn inst(module: &Module, func: &Func, inst: Inst) -> String {
    let none = EntitySet::new();
    let mut printer = Printer::new(module, func, &none);
    printer.inst(inst, 0);
    printer.out.lines().next().unwrap_or("").to_string()
}

struct Printer<'a> {
    module: &'a Module,
    func: &'a Func,
    linear: &'a EntitySet<Value>,
    numbers: Map<Value, usize>,
    out: String,
}

impl<'a> Printer<'a> {
    fn new(module: &'a Module, func: &'a Func, linear: &'a EntitySet<Value>) -> Self {
        let mut printer = Printer { module, func, linear, numbers: Map::default(), out: String::new() };
        printer.number_region(func.body);
        printer
    }

    /// Gives numbers in the order in which definitions are printed.
    fn number_region(&mut self, region: Region) {
        let data = &self.func.regions[region];
        self.number(&data.args);
        for &inst in &data.insts {
            self.number(&self.func.insts[inst].results);
            for &inner in &self.func.insts[inst].regions {
                self.number_region(inner);
            }
        }
    }

    fn number(&mut self, values: &[Value]) {
        for &value in values {
            let next = self.numbers.len();
            self.numbers.entry(value).or_insert(next);
        }
    }

    fn value(&self, value: Value) -> String {
        let sigil = if self.linear.contains(value) { '~' } else { '%' };
        let name = self.func.values.get(value).and_then(|v| v.name);
        match (self.numbers.get(&value), name) {
            (None, _) => format!("%?{value}"),
            (Some(number), None) => format!("{sigil}{number}"),
            (Some(number), Some(name)) => format!("{sigil}{}.{number}", Name(name)),
        }
    }

    fn list(&self, values: &[Value]) -> String {
        List(values.iter().map(|v| self.value(*v))).to_string()
    }

    fn typed_list(&self, values: &[Value]) -> String {
        let ty = |v: &Value| self.func.values.get(*v).map_or("?".into(), |d| self.ty(d.ty).to_string());
        let typed = |v: &Value| format!("{}: {}", self.value(*v), ty(v));
        List(values.iter().map(typed)).to_string()
    }

    fn ty(&self, ty: Ty) -> TypeText<'a> {
        TypeText(&self.module.types, ty)
    }

    fn marker(&self, ty: Ty, diff: bool) -> &'static str {
        match (differentiable(self.module, ty), diff) {
            (true, false) => "no_diff ",
            (false, true) => "diff ",
            (true, true) | (false, false) => "",
        }
    }

    fn header(&mut self) {
        put!(self.out, "func @{}(", Name(self.func.name));
        let mut inputs = self.func.inputs().iter();
        for (i, param) in self.func.sig.params.iter().enumerate() {
            let input = if param.dir == Dir::Out { None } else { inputs.next() };
            let text = self.param(param, input.copied());
            put!(self.out, "{}{text}", if i == 0 { "" } else { ", " });
        }
        self.out.push(')');
        if let Some(ret) = self.func.sig.ret {
            put!(self.out, " -> {}{}", self.marker(ret.ty, ret.diff), self.ty(ret.ty));
        }
    }

    /// The name of an input is that of its value, unless they differ.
    fn param(&self, param: &Param, input: Option<Value>) -> String {
        let marker = self.marker(param.ty, param.diff);
        let dir = match param.dir {
            Dir::In => "",
            Dir::Out => "out ",
            Dir::InOut => "inout ",
        };
        let plain = Name(param.name).to_string();
        let keyword = ["no_diff", "diff", "out", "inout"].contains(&plain.as_str());
        let name = if keyword { format!("\"{plain}\"") } else { plain };
        let name = match input {
            None => name,
            Some(value) if self.func.values[value].name == Some(param.name) => self.value(value),
            Some(value) => format!("{name} {}", self.value(value)),
        };
        format!("{marker}{dir}{name}: {}", self.ty(param.ty))
    }

    fn attributes(&mut self) {
        if let Some(origin) = self.func.origin {
            put!(self.out, " origin({})", Name(origin));
        }
        let DiffInfo {
            differentiable,
            rule,
            forward,
            backward,
            apply,
            substitute,
            constant,
            prefer,
            ref held,
            held_result,
        } = self.func.diff;
        if let Some(mode) = differentiable {
            put!(self.out, " differentiable({})", mode_name(mode));
        }
        let links =
            [("rule", rule), ("forward", forward), ("backward", backward), ("substitute", substitute)];
        for (word, func) in links {
            if let Some(func) = func {
                put!(self.out, " {word}({})", func_name(self.module, func));
            }
        }
        if let Some(Apply { primal, pullback }) = apply {
            let (primal, pullback) = (func_name(self.module, primal), func_name(self.module, pullback));
            put!(self.out, " apply({primal} {pullback})");
        }
        self.out.push_str(if constant { " constant" } else { "" });
        self.out.push_str(match prefer {
            Prefer::Auto => "",
            Prefer::Recompute => " prefer(recompute)",
            Prefer::Checkpoint => " prefer(checkpoint)",
            Prefer::Rerun => " prefer(rerun)",
        });
        if !held.is_empty() {
            put!(self.out, " held({})", List(held.iter().map(|name| Name(*name))));
        }
        self.out.push_str(if held_result { " held_result" } else { "" });
        self.out.push_str(match self.func.inline {
            Inline::Auto => "",
            Inline::Early => " inline(early)",
            Inline::Never => " inline(never)",
        });
        if let Some(entry) = &self.func.entry {
            let inputs = List(entry.inputs.iter().map(link_text));
            match entry.stage {
                Stage::Compute => put!(self.out, " entry({})", List(entry.threads.iter())),
                Stage::Vertex | Stage::Fragment => put!(self.out, " {}({inputs})", entry.stage.name()),
            }
            if entry.stage == Stage::Compute && !entry.inputs.is_empty() {
                put!(self.out, "({inputs})");
            }
            if !entry.outputs.is_empty() {
                put!(self.out, " gives({})", List(entry.outputs.iter().map(link_text)));
            }
        }
        if let FuncKind::Request(mode, of) = self.func.kind {
            put!(self.out, " request({} {})", mode_name(mode), func_name(self.module, of));
        }
    }

    fn block(&mut self, region: Region, depth: usize) {
        self.out.push_str("{\n");
        for &inst in &self.func.regions[region].insts {
            put!(self.out, "{:1$}", "", 2 * depth + 2);
            self.inst(inst, depth + 1);
            self.out.push('\n');
        }
        put!(self.out, "{:1$}}}", "", 2 * depth);
    }

    fn inst(&mut self, inst: Inst, depth: usize) {
        let data = &self.func.insts[inst];
        if !data.results.is_empty() {
            put!(self.out, "{} = ", self.typed_list(&data.results));
        }
        self.out.push_str(data.op.name());
        self.operation(data, depth);
    }

    /// What follows the name of the operation.
    fn operation(&mut self, data: &InstData, depth: usize) {
        match &data.op {
            Op::Math(_)
            | Op::Discard
            | Op::Zero
            | Op::Undef
            | Op::Select
            | Op::Convert
            | Op::Bitcast
            | Op::Splat
            | Op::Sum
            | Op::Dot
            | Op::MatVec
            | Op::VecMat
            | Op::MatMat
            | Op::Outer
            | Op::Transpose
            | Op::Pack
            | Op::Tag
            | Op::Detach
            | Op::Offset
            | Op::Address
            | Op::Pointer
            | Op::Length
            | Op::Texel
            | Op::StoreTexel
            | Op::Dimensions
            | Op::Yield
            | Op::Return => self.operands(&data.operands),
            Op::Const(c) => {
                let scalar = data.results.first().and_then(|v| self.module.types.scalar_of(self.func.ty(*v)));
                put!(self.out, " {}", const_text(*c, scalar));
            }
            Op::Swizzle(lanes) => {
                self.operands(&data.operands);
                let lane = |l: &u8| ['x', 'y', 'z', 'w'].get(usize::from(*l)).copied().unwrap_or('?');
                put!(self.out, " {}", lanes.iter().map(lane).collect::<String>());
            }
            Op::Inject(member) | Op::Project(member) => {
                put!(self.out, " {member}");
                self.operands(&data.operands);
            }
            Op::Extract(path) | Op::Load(path) | Op::Point(path) => self.access(&data.operands, 1, path),
            Op::Atomic(atomic) => {
                put!(self.out, " {}", name_in(&AtomicKind::ALL, atomic.kind));
                self.access(&data.operands, 1 + atomic.kind.values(), &atomic.path);
            }
            Op::Barrier(barrier) => {
                let sync = if barrier.sync { " sync" } else { "" };
                put!(self.out, " {}{sync}", name_in(&Memory::ALL, barrier.memory));
            }
            Op::Print(format) | Op::TargetText(format) => {
                put!(self.out, " {}", Quoted(*format));
                self.operands(&data.operands);
            }
            Op::Insert(path) | Op::InsertAdd(path) | Op::Store(path) => self.access(&data.operands, 2, path),
            Op::DiffCall(call) => self.diff_call(call, &self.list(&data.operands)),
            Op::LinCall(call) => {
                let primals = (call.primals as usize).min(data.operands.len());
                let (primals, tangents) = data.operands.split_at(primals);
                self.diff_call(&call.call, &format!("{}; {}", self.list(primals), self.list(tangents)));
            }
            Op::Global(global) => {
                let name = self.module.globals.get(*global).map(|g| Name(g.name).to_string());
                put!(self.out, " @{}", name.unwrap_or_else(|| format!("?{global}")));
            }
            Op::Wave(kind) => {
                put!(self.out, " {}", name_in(&Wave::ALL, *kind));
                self.operands(&data.operands);
            }
            Op::Sample(how) => {
                put!(self.out, " {}", name_in(&Sampling::ALL, *how));
                self.operands(&data.operands);
            }
            Op::Screen(screen) => {
                put!(self.out, " {}", name_in(&Screen::ALL, *screen));
                self.operands(&data.operands);
            }
            Op::Assert(trap) => {
                put!(self.out, " {}", name_in(&Trap::ALL, *trap));
                self.operands(&data.operands);
            }
            Op::Call(func) => {
                put!(self.out, " {}({})", func_name(self.module, *func), self.list(&data.operands));
            }
            Op::If => {
                self.operands(&data.operands);
                self.blocks(&data.regions, &["".into(), " else".into()], depth);
            }
            Op::Switch(cases) => {
                self.operands(&data.operands);
                let cases = cases.iter().map(|c| format!(" case {c}"));
                self.blocks(&data.regions, &cases.chain([" default".into()]).collect::<Vec<_>>(), depth);
            }
            Op::While(info) => {
                put!(self.out, " ({})", self.list(&data.operands));
                self.loop_rest(info, &["cond", "body"], data, depth);
            }
            Op::For(info) => {
                self.operands(data.operands.get(..1).unwrap_or(&[]));
                put!(self.out, " ({})", self.list(data.operands.get(1..).unwrap_or(&[])));
                self.loop_rest(info, &["body"], data, depth);
            }
            Op::Break(out) | Op::Continue(out) => {
                put!(self.out, " {out}");
                self.operands(&data.operands);
            }
        }
    }

    fn operands(&mut self, operands: &[Value]) {
        if !operands.is_empty() {
            put!(self.out, " {}", self.list(operands));
        }
    }

    /// Plain operands, then the path with its index operands in place.
    fn access(&mut self, operands: &[Value], plain: usize, path: &Path) {
        let (plain, indices) = operands.split_at(plain.min(operands.len()));
        self.operands(plain);
        let mut indices = indices.iter();
        let step = |step: &Step| match step {
            Step::Part(part) => part.to_string(),
            Step::Index => indices.next().map_or("?".into(), |v| self.value(*v)),
        };
        let mut steps: Vec<String> = path.0.iter().map(step).collect();
        steps.extend(indices.map(|v| format!("?{}", self.value(*v))));
        if !steps.is_empty() {
            put!(self.out, " [{}]", List(steps.iter()));
        }
    }

    fn diff_call(&mut self, call: &DiffCall, operands: &str) {
        let mask = |mask: &[bool]| List(mask.iter().map(|d| if *d { "d" } else { "_" })).to_string();
        let (inputs, outputs) = (mask(&call.inputs), mask(&call.outputs));
        put!(self.out, " {} [{inputs}] -> [{outputs}] ({operands})", func_name(self.module, call.func));
    }

    fn blocks(&mut self, regions: &[Region], labels: &[String], depth: usize) {
        for (i, &region) in regions.iter().enumerate() {
            put!(self.out, "{} ", labels.get(i).map_or(" ?", |l| l));
            self.block(region, depth);
        }
    }

    fn loop_rest(&mut self, info: &LoopInfo, labels: &[&str], data: &InstData, depth: usize) {
        if let Some(max) = info.max_iters {
            put!(self.out, " max_iters({max})");
        }
        self.out.push_str(match info.unroll {
            Unroll::Auto => "",
            Unroll::Force => " unroll(force)",
            Unroll::Never => " unroll(never)",
        });
        match info.segments {
            Segments::Auto => {}
            Segments::Whole => self.out.push_str(" segments(whole)"),
            Segments::Of(length) => put!(self.out, " segments({length})"),
            Segments::Sqrt => self.out.push_str(" segments(sqrt)"),
            Segments::Log => self.out.push_str(" segments(log)"),
        }
        self.out.push_str(if info.reversed { " rev" } else { "" });
        let args = |region: &Region| self.typed_list(&self.func.regions[*region].args);
        let labels = labels.iter().zip(&data.regions).map(|(label, r)| format!(" {label}({})", args(r)));
        self.blocks(&data.regions, &labels.collect::<Vec<_>>(), depth);
    }
}
