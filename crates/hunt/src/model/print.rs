//! Writes a tree as a Slang program: its functions, the memory they use, and an entry point per mode.

use super::eval::Mode;
use super::ops;
use super::tree::{
    Atomic, Attach, CELLS, Call, Derivative, Expr, Func, Home, Inline, Mem, Param, Stmt, Tree, Ty, Wave, Way,
};
use super::walk;
use std::fmt::Write;

/// How many numbers each thread reads and writes.
pub const ROOM: usize = 32;

/// Where in a thread's numbers the entry point writes the memory that the host cannot see.
pub const SHOWN: [(Mem, usize); 4] =
    [(Mem::Shared, 16), (Mem::SharedCount, 20), (Mem::Static, 24), (Mem::StaticCount, 28)];

/// The entry point of a mode.
pub fn entry(mode: Mode) -> &'static str {
    match mode {
        Mode::Value => "value",
        Mode::Forward => "forward",
        Mode::Backward => "backward",
    }
}

/// The whole program, with entry points for these modes.
pub fn source(tree: &Tree, modes: &[Mode]) -> String {
    let mut out = String::new();
    let used = walk::memory(tree);
    for mem in &used {
        let size = tree.threads * CELLS;
        let (ty, name) = (mem.ty().name(), mem.name());
        _ = match mem {
            Mem::Buffer | Mem::Source | Mem::Sum | Mem::Count => {
                writeln!(out, "RWStructuredBuffer<{ty}> {name};")
            }
            Mem::Atomic => writeln!(out, "RWStructuredBuffer<Atomic<int>> {name};"),
            Mem::Bytes | Mem::ByteFloats => writeln!(out, "RWByteAddressBuffer {name};"),
            Mem::Texture => writeln!(out, "RWTexture2D<float> {name};"),
            Mem::Shared | Mem::SharedCount => writeln!(out, "groupshared {ty} {name}[{size}];"),
            Mem::Static | Mem::StaticCount => writeln!(out, "static {ty} {name}[{CELLS}];"),
        };
    }
    out += "RWStructuredBuffer<float> inp;\nRWStructuredBuffer<float> outp;\n\n";
    let printer = Printer { tree, lane: tree.threads > 1 };
    for func in walk::reachable(tree) {
        printer.func(func, &mut out);
    }
    for mode in modes {
        printer.main(*mode, &used, &mut out);
    }
    out
}

struct Printer<'t> {
    tree: &'t Tree,
    /// Whether functions take the index of their thread as a parameter.
    lane: bool,
}

/// A float as Slang writes it.
fn float(x: f64) -> String {
    let text = format!("{x:?}");
    if x < 0.0 { format!("({text})") } else { text }
}

impl Printer<'_> {
    fn func(&self, func: &Func, out: &mut String) {
        let mut text = String::new();
        let generic = if func.home == Home::Generic { "<N>" } else { "" };
        if func.marked {
            text += "[Differentiable]\n";
        }
        let named = |d: &Option<Derivative>| d.as_ref().is_some_and(|d| d.attach == Attach::Named);
        if named(&func.backward) {
            _ = writeln!(text, "[BackwardDerivative({}_b{generic})]", func.name);
        }
        if named(&func.forward) {
            _ = writeln!(text, "[ForwardDerivative({}_f{generic})]", func.name);
        }
        if let Some(name) = &func.substitute {
            _ = writeln!(text, "[PrimalSubstitute({name})]");
        }
        text += match func.inline {
            Inline::Default => "",
            Inline::Never => "[noinline]\n",
            Inline::Always => "[ForceInline]\n",
        };
        let declared = if func.home == Home::Generic { "<let N : int>" } else { "" };
        let params = func.params.iter().map(|p| {
            let way = match p.way {
                Way::In => "",
                Way::InOut => "inout ",
                Way::NoDiff => "no_diff ",
            };
            format!("{way}{} {}", p.ty.name(), p.name)
        });
        let ret = func.ret.map_or("void", Ty::name);
        _ = writeln!(text, "{ret} {}{declared}({})\n{{", func.name, self.listed(params.collect()));
        self.block(&func.body, &mut text, 1);
        text += "}\n";
        if let Some(derivative) = &func.backward {
            self.backward(func, derivative, declared, &mut text);
        }
        if let Some(derivative) = &func.forward {
            self.forward(func, derivative, declared, &mut text);
        }
        if func.home == Home::Method {
            let inside = text.replace('\n', "\n    ");
            _ = writeln!(out, "struct S_{}\n{{\n    float w;\n\n    {}\n}}\n", func.name, inside.trim_end());
        } else {
            _ = writeln!(out, "{text}");
        }
    }

    /// Parameters, with the number of the thread at the end.
    fn listed(&self, mut params: Vec<String>) -> String {
        if self.lane {
            params.push("int lane".into());
        }
        params.join(", ")
    }

    fn backward(&self, func: &Func, derivative: &Derivative, declared: &str, out: &mut String) {
        if derivative.attach == Attach::Of {
            _ = writeln!(out, "[BackwardDerivativeOf({})]", func.name);
        }
        let mut params: Vec<String> = func.params.iter().map(paired).collect();
        for (param, text) in func.params.iter().zip(&mut params) {
            if param.varies() && param.way == Way::In {
                *text = format!("inout {text}");
            }
        }
        let mut list = self.listed(params);
        if func.ret == Some(Ty::Float) {
            list += if list.is_empty() { "float d" } else { ", float d" };
        }
        _ = writeln!(out, "void {}_b{declared}({list})\n{{", func.name);
        for p in func.params.iter().filter(|p| p.varies()) {
            _ = writeln!(out, "    float {0}_v = {0}.p;\n    float {0}_g = 0.0;", p.name);
            if p.way == Way::InOut {
                _ = writeln!(out, "    float {0}_d = {0}.d;", p.name);
            }
        }
        self.block(&derivative.body, out, 1);
        for p in func.params.iter().filter(|p| p.varies()) {
            _ = writeln!(out, "    {0} = diffPair({0}_v, {0}_g);", p.name);
        }
        *out += "}\n";
    }

    fn forward(&self, func: &Func, derivative: &Derivative, declared: &str, out: &mut String) {
        if derivative.attach == Attach::Of {
            _ = writeln!(out, "[ForwardDerivativeOf({})]", func.name);
        }
        let params = func.params.iter().map(paired).collect();
        let ret = match func.ret {
            Some(Ty::Float) => "DifferentialPair<float>",
            Some(ty @ (Ty::Int | Ty::Bool)) => ty.name(),
            None => "void",
        };
        _ = writeln!(out, "{ret} {}_f{declared}({})\n{{", func.name, self.listed(params));
        for p in func.params.iter().filter(|p| p.varies()) {
            _ = writeln!(out, "    float {0}_v = {0}.p;\n    float {0}_d = {0}.d;", p.name);
        }
        match func.ret {
            Some(Ty::Float) => *out += "    float r_v = 0.0;\n    float r_d = 0.0;\n",
            Some(Ty::Int) => *out += "    int r_v = 0;\n",
            Some(Ty::Bool) => *out += "    bool r_v = false;\n",
            None => {}
        }
        self.block(&derivative.body, out, 1);
        for p in func.params.iter().filter(|p| p.varies() && p.way == Way::InOut) {
            _ = writeln!(out, "    {0} = diffPair({0}_v, {0}_d);", p.name);
        }
        match func.ret {
            Some(Ty::Float) => *out += "    return diffPair(r_v, r_d);\n",
            Some(Ty::Int | Ty::Bool) => *out += "    return r_v;\n",
            None => {}
        }
        *out += "}\n";
    }

    fn block(&self, block: &[Stmt], out: &mut String, indent: usize) {
        for statement in block {
            *out += &"    ".repeat(indent);
            self.statement(statement, out, indent);
            out.push('\n');
        }
    }

    fn braces(&self, block: &[Stmt], out: &mut String, indent: usize) {
        *out += "{\n";
        self.block(block, out, indent + 1);
        *out += &"    ".repeat(indent);
        out.push('}');
    }

    fn statement(&self, statement: &Stmt, out: &mut String, indent: usize) {
        _ = match statement {
            Stmt::Let(ty, name, value) => write!(out, "{} {name} = {};", ty.name(), self.expr(value)),
            Stmt::Set(name, value) => write!(out, "{name} = {};", self.expr(value)),
            Stmt::Store(mem, at, value) => {
                let (at, value) = (self.index(*mem, at), self.expr(value));
                let detached = if mem.ty() == Ty::Float { format!("detach({value})") } else { value };
                let name = mem.name();
                match mem {
                    Mem::Bytes => write!(out, "{name}.Store({at}, uint({detached}));"),
                    Mem::ByteFloats => write!(out, "{name}.Store<float>({at}, {detached});"),
                    Mem::Atomic => write!(out, "{name}[{at}].store({detached});"),
                    Mem::Buffer
                    | Mem::Source
                    | Mem::Sum
                    | Mem::Count
                    | Mem::Texture
                    | Mem::Shared
                    | Mem::SharedCount
                    | Mem::Static
                    | Mem::StaticCount => write!(out, "{name}[{at}] = {detached};"),
                }
            }
            Stmt::Atomic { mem, op, at, value, old } => {
                *out += &self.atomic(*mem, *op, at, value, old.as_deref());
                Ok(())
            }
            Stmt::Wave { name, op, value } => {
                let value = self.expr(value);
                match op {
                    Wave::Sum => write!(out, "int {name} = WaveActiveSum({value});"),
                    Wave::Max => write!(out, "int {name} = WaveActiveMax({value});"),
                    Wave::CountOdd => {
                        write!(out, "int {name} = int(WaveActiveCountBits(({value} & 1) == 1));")
                    }
                    Wave::PrefixSum => write!(out, "int {name} = WavePrefixSum({value});"),
                    Wave::First => write!(out, "int {name} = WaveReadLaneFirst({value});"),
                }
            }
            Stmt::Do(call) => write!(out, "{};", self.call(call)),
            Stmt::If(condition, then, other) => {
                _ = write!(out, "if ({}) ", self.expr(condition));
                self.braces(then, out, indent);
                if !other.is_empty() {
                    *out += " else ";
                    self.braces(other, out, indent);
                }
                Ok(())
            }
            Stmt::For { label, counter, bound, unroll, body } => {
                let word = if *unroll { "[ForceUnroll]" } else { "[MaxIters(4)]" };
                let bound = self.expr(bound);
                _ = write!(out, "{label}: {word} for (int {counter} = 0; {counter} < {bound}; {counter}++) ");
                self.braces(body, out, indent);
                Ok(())
            }
            Stmt::While { label, counter, most, condition, body } => {
                let condition = self.expr(condition);
                _ = write!(
                    out,
                    "int {counter} = 0; {label}: [MaxIters(4)] while ({counter} < {most} && {condition}) {{ {counter}++; "
                );
                self.braces(body, out, indent);
                *out += " }";
                Ok(())
            }
            Stmt::Once { label, body } => {
                _ = write!(out, "{label}: do ");
                self.braces(body, out, indent);
                *out += " while (false);";
                Ok(())
            }
            Stmt::Break(label) => write!(out, "break {label};"),
            Stmt::Continue => write!(out, "continue;"),
            Stmt::Return(Some(value)) => write!(out, "return {};", self.expr(value)),
            Stmt::Return(None) => write!(out, "return;"),
        };
    }

    fn atomic(&self, mem: Mem, op: Atomic, at: &Expr, value: &Expr, old: Option<&str>) -> String {
        let (name, at, value) = (mem.name(), self.index(mem, at), self.expr(value));
        let (word, method) = match op {
            Atomic::Add => ("Add", "add"),
            Atomic::Max => ("Max", "max"),
            Atomic::Min => ("Min", "min"),
            Atomic::Or => ("Or", "or"),
            Atomic::Exchange => ("Exchange", "exchange"),
        };
        match (mem, old) {
            (Mem::Atomic, Some(old)) => format!("int {old} = {name}[{at}].{method}({value});"),
            (Mem::Atomic, None) => format!("{name}[{at}].{method}({value});"),
            (Mem::Bytes, Some(old)) => format!(
                "uint {old}_u; {name}.Interlocked{word}({at}, uint({value}), {old}_u); int {old} = int({old}_u);"
            ),
            (Mem::Bytes, None) => format!("{name}.Interlocked{word}({at}, uint({value}));"),
            (_, Some(old)) => format!("int {old}; Interlocked{word}({name}[{at}], {value}, {old});"),
            (_, None) => format!("Interlocked{word}({name}[{at}], {value});"),
        }
    }

    /// The place of a thread's cell.
    fn index(&self, mem: Mem, at: &Expr) -> String {
        let at = self.expr(at);
        let own = matches!(mem, Mem::Static | Mem::StaticCount);
        match mem {
            Mem::Texture => format!("uint2({at} & 3, {})", if self.lane { "lane" } else { "0" }),
            Mem::Bytes | Mem::ByteFloats if self.lane => format!("4 * (lane * {CELLS} + ({at} & 3))"),
            Mem::Bytes | Mem::ByteFloats => format!("4 * ({at} & 3)"),
            _ if self.lane && !own => format!("lane * {CELLS} + ({at} & 3)"),
            _ => format!("{at} & 3"),
        }
    }

    fn call(&self, call: &Call) -> String {
        let mut args: Vec<String> = call.args.iter().map(|a| self.expr(a)).collect();
        if self.lane {
            args.push("lane".into());
        }
        let (word, name) = (if call.no_diff { "no_diff " } else { "" }, &call.func);
        let callee = match self.tree.func(name).map_or(Home::Module, |f| f.home) {
            Home::Module => name.clone(),
            Home::Method => format!("S_{name}(0.5).{name}"),
            Home::Generic => format!("{name}<3>"),
        };
        format!("{word}{callee}({})", args.join(", "))
    }

    fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Float(x) => float(*x),
            Expr::Int(x) if *x < 0 => format!("({x})"),
            Expr::Int(x) => x.to_string(),
            Expr::Bool(x) => x.to_string(),
            Expr::Var(name) => name.clone(),
            Expr::Op(op, operands) => {
                let mut text = String::new();
                let mut parts = ops::form(*op).0.split('$');
                text += parts.next().unwrap_or_default();
                for (operand, part) in operands.iter().zip(parts) {
                    text += &self.expr(operand);
                    text += part;
                }
                text
            }
            Expr::Select(parts) => {
                let [c, a, b] = &**parts;
                format!("({} ? {} : {})", self.expr(c), self.expr(a), self.expr(b))
            }
            Expr::And(parts) => format!("({} && {})", self.expr(&parts[0]), self.expr(&parts[1])),
            Expr::Or(parts) => format!("({} || {})", self.expr(&parts[0]), self.expr(&parts[1])),
            Expr::Detach(inner) => format!("detach({})", self.expr(inner)),
            Expr::Read(mem, at) => {
                let (name, at) = (mem.name(), self.index(*mem, at));
                match mem {
                    Mem::Bytes => format!("int({name}.Load({at}))"),
                    Mem::ByteFloats => format!("{name}.Load<float>({at})"),
                    Mem::Atomic => format!("{name}[{at}].load()"),
                    _ => format!("{name}[{at}]"),
                }
            }
            Expr::Call(call) if call.no_diff => format!("({})", self.call(call)),
            Expr::Call(call) => self.call(call),
        }
    }

    fn main(&self, mode: Mode, used: &[Mem], out: &mut String) {
        let (root, threads) = (self.tree.root(), self.tree.threads);
        _ = writeln!(
            out,
            "[numthreads({threads}, 1, 1)]\nvoid {}(uint3 id : SV_GroupThreadID)\n{{\n    int lane = int(id.x);\n    int at = lane * {ROOM};",
            entry(mode)
        );
        for (mem, _) in SHOWN.iter().filter(|(mem, _)| used.contains(mem)) {
            for cell in 0..CELLS {
                let index = self.index(*mem, &Expr::Int(cell as i64));
                _ = writeln!(out, "    {}[{index}] = {};", mem.name(), initial(*mem, cell));
            }
        }
        let mut args = Vec::new();
        for (number, p) in root.params.iter().enumerate() {
            let (name, ty) = (&p.name, p.ty.name());
            let [value, tangent] = [2 * number, 2 * number + 1];
            _ = writeln!(out, "    {ty} {name} = {ty}(inp[at + {value}]);");
            if !p.varies() || mode == Mode::Value {
                args.push(name.clone());
                continue;
            }
            let tangent = match (mode, p.way) {
                (Mode::Backward, Way::In) => "9.0".to_string(),
                _ => format!("inp[at + {tangent}]"),
            };
            _ = writeln!(out, "    var {name}_p = diffPair({name}, {tangent});");
            args.push(format!("{name}_p"));
        }
        if self.lane {
            args.push("lane".into());
        }
        if mode == Mode::Backward && root.ret == Some(Ty::Float) {
            args.push(format!("inp[at + {}]", 2 * root.params.len()));
        }
        let result = match mode {
            Mode::Value | Mode::Forward if root.ret.is_some() => "var r = ",
            Mode::Value | Mode::Forward | Mode::Backward => "",
        };
        let callee = match mode {
            Mode::Value => root.name.clone(),
            Mode::Forward => format!("fwd_diff({})", root.name),
            Mode::Backward => format!("bwd_diff({})", root.name),
        };
        _ = writeln!(out, "    {result}{callee}({});", args.join(", "));
        for (number, text) in self.shown(root, mode).iter().enumerate() {
            _ = writeln!(out, "    outp[at + {number}] = {text};");
        }
        for (mem, first) in SHOWN.iter().filter(|(mem, _)| used.contains(mem)) {
            for cell in 0..CELLS {
                let index = self.index(*mem, &Expr::Int(cell as i64));
                _ = writeln!(out, "    outp[at + {}] = float({}[{index}]);", first + cell, mem.name());
            }
        }
        *out += "}\n\n";
    }

    /// The numbers that a thread writes, as [`super::eval::Outcome::numbers`] lists them.
    fn shown(&self, root: &Func, mode: Mode) -> Vec<String> {
        let mut all = Vec::new();
        if mode == Mode::Backward {
            return root.params.iter().filter(|p| p.varies()).map(|p| format!("{}_p.d", p.name)).collect();
        }
        match (root.ret, mode) {
            (Some(Ty::Float), Mode::Forward) => all.extend(["r.p".to_string(), "r.d".to_string()]),
            (Some(Ty::Float), _) => all.push("r".into()),
            (Some(Ty::Int), _) => all.push("float(r)".into()),
            (Some(Ty::Bool), _) => all.push("(r ? 1.0 : 0.0)".into()),
            (None, _) => {}
        }
        for p in root.params.iter().filter(|p| p.way == Way::InOut) {
            match mode {
                Mode::Forward => all.extend([format!("{}_p.p", p.name), format!("{}_p.d", p.name)]),
                Mode::Value | Mode::Backward => all.push(p.name.clone()),
            }
        }
        all
    }
}

/// The initial value of a memory cell that the host cannot see.
pub fn initial(mem: Mem, cell: usize) -> f64 {
    match mem.ty() {
        Ty::Float => 0.25 * (cell + 1) as f64,
        Ty::Int | Ty::Bool => cell as f64,
    }
}

/// A parameter in the signature of a derivative.
fn paired(p: &Param) -> String {
    match (p.varies(), p.way) {
        (true, Way::InOut) => format!("inout DifferentialPair<float> {}", p.name),
        (true, Way::In | Way::NoDiff) => format!("DifferentialPair<float> {}", p.name),
        (false, _) => format!("{} {}", p.ty.name(), p.name),
    }
}
