//! Appends instructions to a function and computes their result types.

use crate::{Class, Const, Func, Inst, LoopInfo, Math, Op, Path, Region, Ty, Types, Value};
use cotangent_base::{Scalar, Span};

/// Appends to a region. Nested regions are built by closures, so that the shape of the code that builds is
/// the shape of what is built.
pub struct Builder<'a> {
    /// The types of the module.
    pub types: &'a mut Types,
    /// The function being built.
    pub func: &'a mut Func,
    /// Where instructions go.
    pub region: Region,
    /// The source they stand for.
    pub span: Span,
}

impl<'a> Builder<'a> {
    /// Appends to the outermost region of `func`.
    pub fn new(types: &'a mut Types, func: &'a mut Func) -> Self {
        let (region, span) = (func.body, func.span);
        Builder { types, func, region, span }
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Ty {
        self.func.ty(value)
    }

    /// Appends an instruction with the given result types.
    pub fn emit(&mut self, op: Op, operands: &[Value], results: &[Ty]) -> Inst {
        let inst = self.func.new_inst(op, operands, results, self.span);
        self.func.regions[self.region].insts.push(inst);
        inst
    }

    /// Appends an instruction with one result.
    pub fn emit1(&mut self, op: Op, operands: &[Value], result: Ty) -> Value {
        let inst = self.emit(op, operands, &[result]);
        self.func.insts[inst].results[0]
    }

    /// A constant.
    pub fn constant(&mut self, value: Const, ty: Ty) -> Value {
        self.emit1(Op::Const(value), &[], ty)
    }

    /// A 32-bit signed integer, the type of counters and indices.
    pub fn int(&mut self, value: i64) -> Value {
        let ty = self.types.scalar(Scalar::I32);
        self.constant(Const::Int(value), ty)
    }

    /// A truth value.
    pub fn bool(&mut self, value: bool) -> Value {
        let ty = self.types.scalar(Scalar::Bool);
        self.constant(Const::Bool(value), ty)
    }

    /// All zero.
    pub fn zero(&mut self, ty: Ty) -> Value {
        self.emit1(Op::Zero, &[], ty)
    }

    /// A value nobody may look at.
    pub fn undef(&mut self, ty: Ty) -> Value {
        self.emit1(Op::Undef, &[], ty)
    }

    /// An element-wise operation.
    pub fn math(&mut self, math: Math, operands: &[Value]) -> Value {
        debug_assert_eq!(operands.len(), math.arity());
        let ty = self.ty(operands[0]);
        let result = match math.class() {
            Class::Number | Class::Float | Class::Integer | Class::Bits => ty,
            Class::Compare | Class::Test => self.types.with_scalar(ty, Scalar::Bool),
        };
        self.emit1(Op::Math(math), operands, result)
    }

    /// `a + b`.
    pub fn add(&mut self, a: Value, b: Value) -> Value {
        self.math(Math::Add, &[a, b])
    }

    /// `a * b`.
    pub fn mul(&mut self, a: Value, b: Value) -> Value {
        self.math(Math::Mul, &[a, b])
    }

    /// `a` where `cond` holds, else `b`.
    pub fn select(&mut self, cond: Value, a: Value, b: Value) -> Value {
        let ty = self.ty(a);
        self.emit1(Op::Select, &[cond, a, b], ty)
    }

    fn expect_part(&self, of: Value, path: &Path) -> Ty {
        self.types.part_at(self.ty(of), path).expect("the path fits the type")
    }

    /// The part of `a` at `path`, whose dynamic steps are `indices`.
    pub fn extract(&mut self, a: Value, path: Path, indices: &[Value]) -> Value {
        let ty = self.expect_part(a, &path);
        self.emit1(Op::Extract(path), &[&[a], indices].concat(), ty)
    }

    /// Part number `index` of `a`.
    pub fn part(&mut self, a: Value, index: u32) -> Value {
        self.extract(a, Path::part(index), &[])
    }

    /// `a` with the part at `path` replaced by `v`.
    pub fn insert(&mut self, a: Value, v: Value, path: Path, indices: &[Value]) -> Value {
        let ty = self.ty(a);
        self.emit1(Op::Insert(path), &[&[a, v], indices].concat(), ty)
    }

    /// `a` with `v` added to the part at `path`.
    pub fn insert_add(&mut self, a: Value, v: Value, path: Path, indices: &[Value]) -> Value {
        let ty = self.ty(a);
        self.emit1(Op::InsertAdd(path), &[&[a, v], indices].concat(), ty)
    }

    /// An aggregate of all its parts.
    pub fn pack(&mut self, parts: &[Value], ty: Ty) -> Value {
        self.emit1(Op::Pack, parts, ty)
    }

    /// What is at `path` behind `handle`.
    pub fn load(&mut self, handle: Value, path: Path, indices: &[Value]) -> Value {
        let ty = self.expect_part(handle, &path);
        self.emit1(Op::Load(path), &[&[handle], indices].concat(), ty)
    }

    /// Writes `v` at `path` behind `handle`.
    pub fn store(&mut self, handle: Value, v: Value, path: Path, indices: &[Value]) {
        self.emit(Op::Store(path), &[&[handle, v], indices].concat(), &[]);
    }

    /// Ends the region normally.
    pub fn yield_(&mut self, values: &[Value]) {
        self.emit(Op::Yield, values, &[]);
    }

    /// Builds a region with arguments of the given types and hands it back; instructions emitted by `build`
    /// go there. The caller hangs it on an instruction.
    pub fn region(&mut self, args: &[Ty], build: impl FnOnce(&mut Builder<'_>, &[Value])) -> Region {
        let region = self.func.new_region();
        let args: Vec<Value> = args.iter().map(|ty| self.func.add_arg(region, *ty)).collect();
        let outer = std::mem::replace(&mut self.region, region);
        build(self, &args);
        self.region = outer;
        region
    }

    /// A value of the sum type `ty` that is its member of that number.
    pub fn inject(&mut self, member: u32, v: Value, ty: Ty) -> Value {
        self.emit1(Op::Inject(member), &[v], ty)
    }

    /// What a sum holds if it is that member, and zero if it is another.
    pub fn project(&mut self, member: u32, s: Value) -> Value {
        let ty = self.types.members(self.ty(s)).map(|m| m[member as usize].ty);
        self.emit1(Op::Project(member), &[s], ty.expect("the operand is a sum that has the member"))
    }

    /// The number of the member that a sum is.
    pub fn tag(&mut self, s: Value) -> Value {
        let ty = self.types.scalar(Scalar::I32);
        self.emit1(Op::Tag, &[s], ty)
    }

    /// `switch` over the values from 0 to `cases - 1`; all others go where the last goes. The closure is told the case
    /// and must end its region with an exit.
    pub fn switch_(
        &mut self,
        selector: Value,
        cases: u32,
        results: &[Ty],
        mut case: impl FnMut(&mut Builder<'_>, u32),
    ) -> Vec<Value> {
        let regions: Vec<Region> = (0..cases).map(|i| self.region(&[], |b, _| case(b, i))).collect();
        let values = (0..i64::from(cases) - 1).collect();
        let inst = self.emit(Op::Switch(values), &[selector], results);
        self.func.insts[inst].regions.extend(regions);
        self.func.insts[inst].results.to_vec()
    }

    /// Whether the region under construction has its exit, so that nothing may follow.
    pub fn is_done(&self) -> bool {
        let last = self.func.regions[self.region].insts.last();
        last.is_some_and(|inst| self.func.insts[*inst].op.is_exit())
    }

    /// `if cond`. Each closure must end its region with an exit.
    pub fn if_(
        &mut self,
        cond: Value,
        results: &[Ty],
        then: impl FnOnce(&mut Builder<'_>),
        otherwise: impl FnOnce(&mut Builder<'_>),
    ) -> Vec<Value> {
        let then = self.region(&[], |b, _| then(b));
        let otherwise = self.region(&[], |b, _| otherwise(b));
        let inst = self.emit(Op::If, &[cond], results);
        self.func.insts[inst].regions.extend([then, otherwise]);
        self.func.insts[inst].results.to_vec()
    }

    /// `while`. `cond` must yield one `bool`, `body` the next arguments.
    pub fn while_(
        &mut self,
        info: LoopInfo,
        init: &[Value],
        cond: impl FnOnce(&mut Builder<'_>, &[Value]),
        body: impl FnOnce(&mut Builder<'_>, &[Value]),
    ) -> Vec<Value> {
        let types: Vec<Ty> = init.iter().map(|v| self.ty(*v)).collect();
        let cond = self.region(&types, cond);
        let body = self.region(&types, body);
        let inst = self.emit(Op::While(info), init, &types);
        self.func.insts[inst].regions.extend([cond, body]);
        self.func.insts[inst].results.to_vec()
    }

    /// A counted loop. `body` gets the counter and the carried values and must yield the next ones.
    pub fn for_(
        &mut self,
        info: LoopInfo,
        n: Value,
        init: &[Value],
        body: impl FnOnce(&mut Builder<'_>, Value, &[Value]),
    ) -> Vec<Value> {
        let types: Vec<Ty> = init.iter().map(|v| self.ty(*v)).collect();
        let counter = self.types.scalar(Scalar::I32);
        let args: Vec<Ty> = std::iter::once(counter).chain(types.iter().copied()).collect();
        let body = self.region(&args, |b, args| body(b, args[0], &args[1..]));
        let inst = self.emit(Op::For(info), &[&[n], init].concat(), &types);
        self.func.insts[inst].regions.push(body);
        self.func.insts[inst].results.to_vec()
    }
}
