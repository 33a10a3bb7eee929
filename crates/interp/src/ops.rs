//! Executes instructions without regions.

use crate::aggregate::{Numbers, array_elements, build};
use crate::decode::Level;
use crate::stop::UnknownType;
use crate::{Machine, Val};
use cotangent_base::Scalar;
use cotangent_ir::{Const, Func, InstData, Math, Op, Trap, Ty, Type, Value, eval, type_group};
use smallvec::SmallVec;
use std::mem;

impl Machine<'_> {
    /// Runs one instruction. `args` are its operands, owned if this is their last use; what they leave is dropped.
    pub(crate) fn operation(
        &mut self,
        func: &Func,
        data: &InstData,
        levels: &[Level],
        args: &mut [Val],
    ) -> Result<Val, Trap> {
        let module = self.module;
        let ty = |value: Value| module.types.get(func.ty(value));
        let result = data.results.first().copied();
        let shape = result.map_or(Type::Unit, ty);
        let first = data.operands.first().copied().map_or(Type::Unit, ty);
        Ok(match &data.op {
            Op::Math(math) => return self.math(*math, first, shape, args),
            Op::Const(value) => Val::Scalar(self.eval.constant(*value, scalar_of(shape))),
            Op::Zero => self.zero(func.ty(result.expect("a zero is a result"))),
            Op::Undef => Val::Undef,
            Op::Select => self.select(first, shape, args),
            Op::Convert => self.convert(first, shape, &args[0]),
            Op::Bitcast => self.bitcast(first, shape, &args[0]),
            Op::Splat => self.splat(shape, &args[0]),
            Op::Sum => self.sum(func.ty(data.operands[0]), &args[0]),
            Op::Swizzle(lanes) => self.swizzle(lanes, first, shape, &args[0]),
            Op::Dot => self.product(shape, (first, &args[0]), (ty(data.operands[1]), &args[1]), (1, 1)),
            Op::MatVec | Op::VecMat | Op::MatMat | Op::Outer => {
                let second = ty(data.operands[1]);
                self.product(shape, (first, &args[0]), (second, &args[1]), extent(&data.op, first, second))
            }
            Op::Transpose => self.transpose(first, shape, &args[0]),
            Op::Pack => Val::aggregate(args.iter_mut().map(mem::take)),
            Op::Extract(_) => {
                let at = self.positions(levels, &args[1..], 0)?;
                at.iter().fold(&args[0], |value, i| value.part(*i)).clone()
            }
            Op::Insert(_) => return self.insert(levels, args),
            Op::InsertAdd(_) => return self.insert_add(func.ty(data.operands[1]), levels, args),
            Op::Inject(member) => Val::sum(*member, mem::take(&mut args[0])),
            Op::Project(member) => {
                self.known_type(first, &args[0])?;
                self.project(*member, func.ty(data.results[0]), &args[0])
            }
            Op::Tag => {
                self.known_type(first, &args[0])?;
                Val::Scalar(self.scalar(args[0].part(0), Scalar::I32))
            }
            Op::Global(global) => {
                if let Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) = shape {
                    Val::Handle(*global)
                } else if self.has_room {
                    self.value_of(*global)
                } else {
                    return Err(Trap::OutOfMemory);
                }
            }
            Op::Load(_) => return self.load(levels, func.ty(data.results[0]), args),
            Op::Store(_) => return self.store(levels, func.ty(data.operands[1]), args),
            Op::Atomic(atomic) => return self.atomic(atomic.kind, func.ty(data.results[0]), levels, args),
            Op::Point(_) => self.point(levels, args),
            Op::Offset => self.offset(&args[0], &args[1]),
            Op::Address => self.address(&args[0], pointee(first)),
            Op::Pointer => self.pointer(&args[0], first, pointee(shape)),
            Op::Length => return self.length(&args[0]),
            Op::Sample(how) => {
                let types: Vec<Type> = data.operands.iter().map(|v| ty(*v)).collect();
                return self.sample(*how, first, &types, args);
            }
            Op::Texel => return self.texel(first, ty(data.operands[1]), args),
            Op::StoreTexel => return self.store_texel(first, ty(data.operands[1]), args),
            Op::Dimensions => return self.dimensions(first, args),
            Op::Print(format) => {
                let types: Vec<Type> = data.operands.iter().map(|v| ty(*v)).collect();
                self.print(format.as_str(), &types, args)
            }
            // Lowering for the interpreter refuses it.
            Op::TargetText(_) => return Err(Trap::Abort),
            Op::Assert(trap) => return self.assert(&args[0], *trap),
            Op::Discard | Op::Screen(_) => return Err(Trap::NoPixel),
            Op::Barrier(_) | Op::Wave(_) | Op::Detach => has_codes(&data.op),
            Op::Call(_) | Op::DiffCall(_) | Op::LinCall(_) => has_codes(&data.op),
            Op::If | Op::Switch(_) | Op::While(_) | Op::For(_) => has_codes(&data.op),
            Op::Yield | Op::Break(_) | Op::Continue(_) | Op::Return => has_codes(&data.op),
        })
    }

    /// Stops if a value from outside is of no type that is known.
    fn known_type(&mut self, sum: Type, value: &Val) -> Result<(), Trap> {
        let (Some(id), Type::Sum(sum)) = (value.unknown_id(), sum) else { return Ok(()) };
        let def = self.module.types.struct_def(sum);
        let known = def.ids.iter().copied().zip(def.fields.iter().map(|member| member.name)).collect();
        self.unknown = Some(Box::new(UnknownType { id, interface: def.name, known }));
        Err(Trap::UnknownType)
    }

    /// What a sum holds if it is that member; a sum nobody may look at holds another such value.
    fn project(&mut self, member: u32, ty: Ty, sum: &Val) -> Val {
        match sum.part(0) {
            Val::Undef => Val::Undef,
            tag if tag.as_int() == Some(member.into()) => sum.part(1).clone(),
            Val::Unit | Val::Scalar(_) | Val::Aggregate(_) | Val::Handle(_) | Val::Pointer(_) | Val::Null => {
                self.zero(ty)
            }
        }
    }

    fn insert(&mut self, levels: &[Level], args: &mut [Val]) -> Result<Val, Trap> {
        let at = self.positions(levels, &args[2..], 0)?;
        let (mut a, v) = (mem::take(&mut args[0]), mem::take(&mut args[1]));
        *self.place(&mut a, levels, &at) = v;
        Ok(a)
    }

    fn insert_add(&mut self, part: Ty, levels: &[Level], args: &mut [Val]) -> Result<Val, Trap> {
        let at = self.positions(levels, &args[2..], 0)?;
        let mut a = mem::take(&mut args[0]);
        let mut sum = mem::take(self.place(&mut a, levels, &at));
        self.add(part, &mut sum, &args[1]);
        *self.place(&mut a, levels, &at) = sum;
        Ok(a)
    }

    fn swizzle(&mut self, lanes: &[u8], from: Type, to: Type, value: &Val) -> Val {
        let parts = self.numbers(value, from);
        build(to, &lanes.iter().map(|lane| parts[usize::from(*lane)]).collect::<Numbers>())
    }

    fn math(&mut self, op: Math, operand: Type, result: Type, args: &[Val]) -> Result<Val, Trap> {
        let scalar = scalar_of(operand);
        let args: SmallVec<[Numbers; 3]> = args.iter().map(|a| self.numbers(a, operand)).collect();
        let element = |i: usize| {
            let element: SmallVec<[Const; 3]> = args.iter().map(|a| a[i]).collect();
            let value = self.eval.math(op, scalar, &element)?;
            self.counters.watch(op, &element, value);
            Ok(value)
        };
        let elements: Result<Numbers, Trap> = (0..args[0].len()).map(element).collect();
        Ok(build(result, &elements?))
    }

    fn zero(&mut self, ty: Ty) -> Val {
        self.counters.elements += array_elements(&self.module.types, ty);
        Val::zero(&self.module.types, ty)
    }

    fn select(&mut self, cond: Type, shape: Type, args: &mut [Val]) -> Val {
        if let Type::Scalar(_) = cond {
            let holds = self.scalar(&args[0], Scalar::Bool) == Const::Bool(true);
            return mem::take(&mut args[if holds { 1 } else { 2 }]);
        }
        let cond = self.numbers(&args[0], cond);
        let (a, b) = (self.numbers(&args[1], shape), self.numbers(&args[2], shape));
        let pick = |i: usize| if cond[i] == Const::Bool(true) { a[i] } else { b[i] };
        build(shape, &(0..a.len()).map(pick).collect::<Numbers>())
    }

    fn convert(&mut self, from: Type, to: Type, value: &Val) -> Val {
        let numbers = self.numbers(value, from);
        let (s, t) = (scalar_of(from), scalar_of(to));
        build(to, &numbers.iter().map(|n| self.eval.convert(*n, s, t)).collect::<Numbers>())
    }

    /// The bits one after the other, low ones first, cut anew.
    fn bitcast(&mut self, from: Type, to: Type, value: &Val) -> Val {
        let (s, t) = (scalar_of(from), scalar_of(to));
        let bytes: Vec<u8> = self
            .numbers(value, from)
            .iter()
            .flat_map(|n| eval::bits(*n, s).to_le_bytes().into_iter().take(s.bytes() as usize))
            .collect();
        let scalar = |bytes: &[u8]| {
            let bits = bytes.iter().rev().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
            eval::from_bits(bits, t)
        };
        build(to, &bytes.chunks(t.bytes() as usize).map(scalar).collect::<Numbers>())
    }

    fn splat(&mut self, shape: Type, value: &Val) -> Val {
        if let Type::Array(_, n) = shape {
            self.counters.elements += u64::from(n);
            return Val::aggregate(vec![value.clone(); n as usize]);
        }
        let scalar = self.scalar(value, scalar_of(shape));
        build(shape, &[scalar; 16][..elements(shape)])
    }

    /// The sum of all elements, from the first to the last.
    fn sum(&mut self, ty: Ty, value: &Val) -> Val {
        let shape = self.module.types.get(ty);
        if let Type::Array(elem, n) = shape {
            self.counters.elements += u64::from(n);
            let mut sum = if n == 0 { Val::zero(&self.module.types, elem) } else { value.part(0).clone() };
            (1..n as usize).for_each(|i| self.add(elem, &mut sum, value.part(i)));
            return sum;
        }
        let s = scalar_of(shape);
        let numbers = self.numbers(value, shape);
        Val::Scalar(
            numbers.into_iter().reduce(|a, b| self.eval.add(s, a, b)).expect("a number has an element"),
        )
    }

    /// A product of a `rows x k` and a `k x columns` matrix, vectors being matrices of one row or column. Sums are
    /// made from the first product to the last.
    fn product(
        &mut self,
        shape: Type,
        (a_shape, a): (Type, &Val),
        (b_shape, b): (Type, &Val),
        (rows, columns): (usize, usize),
    ) -> Val {
        let s = scalar_of(shape);
        let (a, b) = (self.numbers(a, a_shape), self.numbers(b, b_shape));
        let k = a.len() / rows;
        let mut elements = Numbers::with_capacity(rows * columns);
        for row in 0..rows {
            for column in 0..columns {
                let term = |i: usize| self.eval.mul(s, a[row * k + i], b[i * columns + column]);
                let sum = (0..k).map(term).reduce(|x, y| self.eval.add(s, x, y));
                elements.push(sum.expect("a number has an element"));
            }
        }
        build(shape, &elements)
    }

    fn transpose(&mut self, from: Type, to: Type, value: &Val) -> Val {
        let numbers = self.numbers(value, from);
        let Type::Matrix(_, rows, columns) = to else { unreachable!("a transposed matrix is a matrix") };
        let (rows, columns) = (usize::from(rows), usize::from(columns));
        let element = |i: usize| numbers[(i % columns) * rows + i / columns];
        build(to, &(0..rows * columns).map(element).collect::<Numbers>())
    }
}

/// Rows and columns of a product.
fn extent(op: &Op, a: Type, b: Type) -> (usize, usize) {
    let rows = |ty: Type| {
        if let Type::Matrix(_, rows, _) | Type::Vector(_, rows) = ty { usize::from(rows) } else { 1 }
    };
    let columns = |ty: Type| if let Type::Matrix(_, _, columns) = ty { usize::from(columns) } else { 1 };
    if *op == Op::VecMat {
        (1, columns(b))
    } else if *op == Op::Outer {
        (rows(a), rows(b))
    } else {
        (rows(a), columns(b))
    }
}

/// Control operations never come here.
fn has_codes(op: &Op) -> ! {
    unreachable!("`{}` is decoded into codes of its own", op.name())
}

/// The scalar a number is made of.
fn scalar_of(ty: Type) -> Scalar {
    ty.scalar().expect("the verifier checked the type")
}

/// How many scalars a number has.
fn elements(ty: Type) -> usize {
    match ty {
        Type::Vector(_, n) => n.into(),
        Type::Matrix(_, r, c) => usize::from(r) * usize::from(c),
        Type::Scalar(_) | type_group!(unit | composite | handle) => 1,
    }
}

/// What a pointer points to.
fn pointee(ty: Type) -> Ty {
    if let Type::Ref(inner) | Type::Buffer(inner, _) = ty {
        inner
    } else {
        unreachable!("the verifier checked the type")
    }
}
