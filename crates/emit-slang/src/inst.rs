//! Emits instructions that change something, and those that need statements.

use crate::expr::Expr;
use crate::func::{FuncEmitter, Var};
use crate::{Result, types};
use cotangent_ir::{Dir, FuncId, Inst, InstData, Op, Path, Step, Ty, Type, Value, op_group};
use cotangent_passes::precedence::{PRIMARY, UNARY};

impl FuncEmitter<'_, '_> {
    /// Emits one instruction.
    pub fn inst(&mut self, inst: Inst) -> Result<()> {
        let data = self.func.insts[inst].clone();
        if !data.span.is_none() {
            self.span = data.span;
        }
        if !data.regions.is_empty() || matches!(data.op, Op::Call(_) | Op::Undef) {
            // Loops and calls declare their own, with their first values.
            let declares = data.op.is_loop() || matches!(data.op, Op::Call(_));
            let results = data.results.iter().filter(|_| declares);
            let own: Vec<_> = results.filter_map(|r| self.places.slot(*r)).collect();
            self.declare_home(inst, &own)?;
        }
        match &data.op {
            Op::Insert(path) => self.insert(&data, path, false),
            Op::InsertAdd(path) => self.insert(&data, path, true),
            Op::Store(path) => self.store(&data, path),
            Op::Load(path) => {
                let place = self.memory(data.operands[0], path, &data.operands[1..])?;
                self.at_once_made(data.results[0], place)
            }
            Op::Assert(_) => {
                let condition = self.value(data.operands[0]);
                self.line(&format!("if (!{}) abort();", condition.at_least(UNARY)));
                Ok(())
            }
            Op::Call(callee) => self.call(&data, *callee),
            Op::If => self.branch(&data),
            Op::Switch(cases) => self.switch(&data, cases),
            Op::While(info) => self.while_loop(&data, *info),
            Op::For(info) => self.for_loop(&data, *info),
            Op::Yield | Op::Break(_) | Op::Continue(_) | Op::Return => self.exit(inst),
            Op::Undef | Op::Zero if !matches!(self.shape(data.results[0]), Type::Scalar(_)) => {
                self.empty(data.results[0], &data.op)
            }
            Op::Pack if !matches!(self.shape(data.results[0]), Type::Vector(..) | Type::Matrix(..)) => {
                self.list(&data)
            }
            Op::Splat if matches!(self.shape(data.results[0]), Type::Array(..)) => self.fill(&data),
            Op::Sum if matches!(self.shape(data.operands[0]), Type::Array(..)) => self.total(&data),
            _ if self.uses(data.results[0]) == 0 && self.places.slot(data.results[0]).is_none() => Ok(()),
            Op::DiffCall(_) | Op::LinCall(_) | op_group!(plain) => {
                let expr = self.pure(&data)?;
                match data.op {
                    Op::Extract(ref path) if self.is_plain_part(&data, path, &expr) => {
                        self.values.insert(data.results[0], expr);
                        Ok(())
                    }
                    Op::Const(_) | Op::Global(_) if self.places.slot(data.results[0]).is_none() => {
                        self.values.insert(data.results[0], expr);
                        Ok(())
                    }
                    op_group!(plain | call | control | exit) => self.made(data.results[0], expr),
                }
            }
        }
    }

    /// Whether a value is a part of something that stays as it is, which may stand wherever it is needed.
    fn is_plain_part(&self, data: &InstData, path: &Path, expr: &Expr) -> bool {
        let value = data.results[0];
        let stays = expr.reads.iter().all(|var| matches!(var, Var::Param(_)));
        let is_named = self.func.values[value].name.is_some();
        stays && !is_named && path.indices() == 0 && expr.text.len() < 40 && self.places.slot(value).is_none()
    }

    /// What must be computed here gets a variable, if somebody looks at it.
    fn at_once_made(&mut self, value: Value, expr: Expr) -> Result<()> {
        match self.places.slot(value) {
            Some(slot) => self.write_slot(slot, &expr),
            None if self.uses(value) == 0 => Ok(()),
            None => self.name(value, &expr).map(drop),
        }
    }

    /// A value without data, or one that nobody may look at.
    fn empty(&mut self, value: Value, op: &Op) -> Result<()> {
        if let (Op::Undef, Some(slot)) = (op, self.places.slot(value)) {
            return self.declare(slot);
        }
        if self.uses(value) == 0 {
            return Ok(());
        }
        let zero = self.zero(self.func.ty(value))?;
        match zero.is_list() {
            true => self.start_with_list(value, zero),
            false => self.made(value, zero),
        }
    }

    /// A structure or array of parts.
    fn list(&mut self, data: &InstData) -> Result<()> {
        let parts: Vec<Expr> = data.operands.iter().map(|v| self.value(*v)).collect();
        let texts: Vec<&str> = parts.iter().map(|p| p.text.as_str()).collect();
        let list = Expr::of(format!("{{ {} }}", texts.join(", ")), 0, &parts);
        self.start_with_list(data.results[0], list)
    }

    /// A list stands only where a variable begins.
    fn start_with_list(&mut self, value: Value, list: Expr) -> Result<()> {
        if self.uses(value) == 0 {
            return Ok(());
        }
        match self.places.slot(value) {
            Some(slot) if self.is_declared(slot) => {
                let whole = self.copy(value, &list)?;
                self.write_slot(slot, &whole)
            }
            Some(slot) => self.write_slot(slot, &list),
            None => self.name(value, &list).map(drop),
        }
    }

    /// An array with one element everywhere.
    fn fill(&mut self, data: &InstData) -> Result<()> {
        let (value, ty) = (data.results[0], self.func.ty(data.results[0]));
        let count = self.e.module.types.arity(ty).unwrap_or(0);
        let element = self.named_or_short(data.operands[0])?;
        let name = self.names.fresh("all");
        let (text, i) = (self.ty(ty)?, self.names.fresh("i"));
        self.line(&format!("{text} {name};"));
        self.plain_line(&format!("for (int {i} = 0; {i} < {count}; {i}++) {name}[{i}] = {};", element.text));
        self.made(value, Expr::name(name))
    }

    /// The sum of the elements of an array.
    fn total(&mut self, data: &InstData) -> Result<()> {
        let count = self.e.module.types.arity(self.func.ty(data.operands[0])).unwrap_or(0);
        let of = self.named(data.operands[0])?;
        let ty = self.func.ty(data.results[0]);
        let (name, i, text) = (self.names.fresh("sum"), self.names.fresh("i"), self.ty(ty)?);
        if !matches!(self.e.module.types.get(ty), Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..))
            || count == 0
        {
            return self.e.refuse(self.span, "a sum of such elements is not supported");
        }
        self.line(&format!("{text} {name} = {}[0];", of.text));
        self.plain_line(&format!(
            "for (int {i} = 1; {i} < {count}; {i}++) {name} = {name} + {}[{i}];",
            of.text
        ));
        self.made(data.results[0], Expr::name(name))
    }

    /// Changes a part of a variable, which is a copy if what it updates is needed later.
    fn insert(&mut self, data: &InstData, path: &Path, adds: bool) -> Result<()> {
        let (base, part, result) = (data.operands[0], data.operands[1], data.results[0]);
        let slot = self.places.slot(result).expect("an update has a slot");
        if self.places.slot(base) != Some(slot) {
            match self.func.op(base) {
                Some(Op::Undef) if self.places.slot(base).is_none() => self.declare(slot)?,
                _ => {
                    let old = self.value(base);
                    self.write_slot(slot, &old)?;
                }
            }
        }
        let part_ty = self.func.ty(part);
        let value = if adds { self.named_or_short(part)? } else { self.value(part) };
        let place = self.access(self.variable(slot), self.func.ty(result), path, &data.operands[2..])?;
        self.before_write(slot)?;
        match adds {
            true => self.add(&place.text, &value.text, part_ty)?,
            false => self.line(&format!("{} = {};", place.text, value.text)),
        }
        Ok(())
    }

    /// A name, or an expression that is as short as one.
    fn named_or_short(&mut self, value: Value) -> Result<Expr> {
        match self.e.module.types.get(self.func.ty(value)) {
            Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => Ok(self.value(value)),
            Type::Unit | Type::Array(..) | Type::Struct(_) | Type::Sum(_) => self.named(value),
            Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => self.named(value),
        }
    }

    /// Adds a value to a place, part by part.
    fn add(&mut self, place: &str, value: &str, ty: Ty) -> Result<()> {
        match self.e.module.types.get(ty) {
            Type::Scalar(cotangent_base::Scalar::Bool) | Type::Unit => {}
            Type::Scalar(s) if types::is_small(s) => {
                let name = types::scalar(s);
                self.line(&format!("{place} = {name}({place} + {value});"));
            }
            Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) => {
                self.line(&format!("{place} += {value};"))
            }
            Type::Array(element, count) => {
                let i = self.names.fresh("i");
                self.line(&format!("for (int {i} = 0; {i} < {count}; {i}++)"));
                self.plain_line("{");
                self.indent += 1;
                self.add(&format!("{place}[{i}]"), &format!("{value}[{i}]"), element)?;
                self.indent -= 1;
                self.plain_line("}");
            }
            Type::Struct(id) => {
                let fields: Vec<Ty> =
                    self.e.module.types.struct_def(id).fields.iter().map(|f| f.ty).collect();
                for (number, ty) in fields.into_iter().enumerate() {
                    let field = self.e.structs.field(id, number as u32).to_string();
                    self.add(&format!("{place}.{field}"), &format!("{value}.{field}"), ty)?;
                }
            }
            Type::Sum(_) | Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => {
                return self.e.refuse(self.span, "a sum of such values is not supported");
            }
        }
        Ok(())
    }

    /// An element of a buffer or a part of a variable, as a place.
    fn memory(&mut self, handle: Value, path: &Path, indices: &[Value]) -> Result<Expr> {
        let base = self.value(handle);
        match self.shape(handle) {
            Type::Buffer(element, _) => {
                let (index, rest) = match path.0[0] {
                    Step::Part(index) => (Expr::name(index.to_string()), indices),
                    Step::Index => (self.value(indices[0]), &indices[1..]),
                };
                let place = Expr::of(format!("{}[{}]", base.text, index.text), PRIMARY, &[base, index]);
                self.access(place, element, &Path(path.0[1..].into()), rest)
            }
            Type::Ref(inner) => self.access(base, inner, path, indices),
            Type::Unit | Type::Scalar(_) | Type::Vector(..) | Type::Matrix(..) | Type::Array(..) => Ok(base),
            Type::Struct(_) | Type::Sum(_) | Type::Opaque(_) => Ok(base),
        }
    }

    fn store(&mut self, data: &InstData, path: &Path) -> Result<()> {
        let value = self.value(data.operands[1]);
        let place = self.memory(data.operands[0], path, &data.operands[2..])?;
        self.line(&format!("{} = {};", place.text, value.text));
        Ok(())
    }

    /// A call: an `inout` argument is a variable that holds what goes in and gets what comes out.
    fn call(&mut self, data: &InstData, callee: FuncId) -> Result<()> {
        let callee_func = &self.e.module.funcs[callee];
        let sig = callee_func.sig.clone();
        let (mut operands, mut results) = (data.operands.iter(), data.results.iter());
        let returned = sig.ret.and_then(|_| results.next().copied());
        let mut args = vec![];
        let mut given = vec![];
        for param in &sig.params {
            let input = (param.dir != Dir::Out).then(|| operands.next().copied()).flatten();
            let output = (param.dir != Dir::In).then(|| results.next().copied()).flatten();
            let input = input.map(|value| (value, self.value(value)));
            let Some(output) = output else {
                args.push(input.map_or_else(String::new, |(_, expr)| expr.text));
                continue;
            };
            let slot = self.places.slot(output).filter(|slot| !self.is_declared(*slot));
            let name = match slot {
                Some(slot) => self.slot_names[&slot].clone(),
                None => self.name_for(output),
            };
            let ty = self.ty(param.ty)?;
            match (input, slot) {
                (Some((_, expr)), Some(slot)) => self.write_slot(slot, &expr)?,
                (None, Some(slot)) => self.declare(slot)?,
                (Some((_, expr)), None) => self.line(&format!("{ty} {name} = {};", expr.text)),
                (None, None) => self.line(&format!("{ty} {name};")),
            }
            args.push(name.clone());
            given.push((output, name));
        }
        let call = format!("{}({})", self.e.funcs[&callee], args.join(", "));
        match returned {
            Some(value) if self.uses(value) > 0 && self.places.slot(value).is_none() => {
                self.name(value, &Expr::name(call))?;
            }
            Some(value) if self.uses(value) > 0 => {
                let slot = self.places.slot(value).expect("it has one");
                self.before_write(slot)?;
                self.write_slot(slot, &Expr::name(call))?;
            }
            _ => self.line(&format!("{call};")),
        }
        for (output, name) in given {
            match self.places.slot(output) {
                Some(_) if self.uses(output) == 0 => {}
                Some(slot) => self.write_slot(slot, &Expr::name(name))?,
                None => _ = self.values.insert(output, Expr::name(name)),
            }
        }
        Ok(())
    }
}
