//! Functions: signature, instructions, regions and values.

use crate::{DiffInfo, Entry, Mode, Op, Ty};
use cotangent_base::{EntityMap, Span, Symbol, entity};
use smallvec::SmallVec;

entity!(
    /// A function of a module.
    FuncId,
    "fn"
);
entity!(
    /// A value: the result of an instruction or an argument of a region.
    Value,
    "%"
);
entity!(
    /// An instruction.
    Inst,
    "inst"
);
entity!(
    /// A region: arguments, and instructions of which the last is an exit.
    Region,
    "region"
);

/// A function. Its tables may hold entities that nothing refers to any more; only what hangs on `body` counts.
#[derive(Clone, Debug)]
pub struct Func {
    /// Unique in the module.
    pub name: Symbol,
    /// The name in the program of the function that it is an instance, a copy or a half of, unless that is `name`.
    pub origin: Option<Symbol>,
    /// Where it was declared.
    pub span: Span,
    /// Parameters and result, with directions.
    pub sig: Signature,
    /// Where the body comes from.
    pub kind: FuncKind,
    /// Whether calls are replaced by the body.
    pub inline: Inline,
    /// What is known about its derivatives.
    pub diff: DiffInfo,
    /// Set if the host can start it.
    pub entry: Option<Entry>,
    /// The values.
    pub values: EntityMap<Value, ValueData>,
    /// The instructions.
    pub insts: EntityMap<Inst, InstData>,
    /// The regions.
    pub regions: EntityMap<Region, RegionData>,
    /// The outermost region. Its arguments are the inputs, its exit is a `return` of the outputs.
    pub body: Region,
}

/// Where a function's body comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FuncKind {
    /// It is here.
    Defined,
    /// It is the derivative of another function, and the autodiff passes will write it. Until then the body
    /// is empty.
    Request(Mode, FuncId),
}

/// Whether calls are replaced by the body.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Inline {
    /// As the compiler sees fit.
    #[default]
    Auto,
    /// Before derivatives are taken: `[ForceInline]`.
    Early,
    /// Never: `[noinline]`.
    Never,
}

/// The parameters and the result, as written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Signature {
    /// The parameters; `this` is the first.
    pub params: Vec<Param>,
    /// The result, unless it is `void`.
    pub ret: Option<Ret>,
}

/// A parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Param {
    /// Its name.
    pub name: Symbol,
    /// Its type.
    pub ty: Ty,
    /// Its direction.
    pub dir: Dir,
    /// Whether it carries a derivative: its type is differentiable and it is not `no_diff`.
    pub diff: bool,
}

/// A result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ret {
    /// Its type.
    pub ty: Ty,
    /// Whether it carries a derivative.
    pub diff: bool,
}

/// The direction of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "each is the word of that name")]
pub enum Dir {
    In,
    Out,
    InOut,
}

impl Signature {
    /// The inputs: `in` and `inout` parameters, in order.
    pub fn inputs(&self) -> impl Iterator<Item = &Param> {
        self.params.iter().filter(|p| p.dir != Dir::Out)
    }

    /// The outputs: the result first, then `out` and `inout` parameters, in order.
    pub fn outputs(&self) -> impl Iterator<Item = Ret> {
        let outs = self.params.iter().filter(|p| p.dir != Dir::In);
        self.ret.into_iter().chain(outs.map(|p| Ret { ty: p.ty, diff: p.diff }))
    }
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct InstData {
    /// What it does.
    pub op: Op,
    /// What it takes.
    pub operands: SmallVec<[Value; 3]>,
    /// What it gives.
    pub results: SmallVec<[Value; 1]>,
    /// Its regions.
    pub regions: SmallVec<[Region; 2]>,
    /// The source it stands for.
    pub span: Span,
}

/// A value.
#[derive(Clone, Copy, Debug)]
pub struct ValueData {
    /// Its type.
    pub ty: Ty,
    /// Where it is made.
    pub def: ValueDef,
    /// The variable it was in the source, for people who read the output.
    pub name: Option<Symbol>,
}

/// Where a value is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueDef {
    /// The result of that number.
    Result(Inst, u32),
    /// The argument of that number.
    Arg(Region, u32),
}

/// A region.
#[derive(Clone, Debug, Default)]
pub struct RegionData {
    /// Its arguments.
    pub args: Vec<Value>,
    /// Its instructions, the exit last.
    pub insts: Vec<Inst>,
}

impl Func {
    /// A function with an empty body whose arguments are the inputs of `sig`.
    pub fn new(name: Symbol, sig: Signature, span: Span) -> Self {
        let mut regions = EntityMap::new();
        let body = regions.push(RegionData::default());
        let mut func = Func {
            name,
            origin: None,
            span,
            sig,
            kind: FuncKind::Defined,
            inline: Inline::Auto,
            diff: DiffInfo::default(),
            entry: None,
            values: EntityMap::new(),
            insts: EntityMap::new(),
            regions,
            body,
        };
        let inputs: Vec<(Ty, Symbol)> = func.sig.inputs().map(|p| (p.ty, p.name)).collect();
        for (ty, name) in inputs {
            let arg = func.add_arg(func.body, ty);
            func.values[arg].name = Some(name);
        }
        func
    }

    /// An empty region.
    pub fn new_region(&mut self) -> Region {
        self.regions.push(RegionData::default())
    }

    /// Gives `region` one more argument.
    pub fn add_arg(&mut self, region: Region, ty: Ty) -> Value {
        let def = ValueDef::Arg(region, self.regions[region].args.len() as u32);
        let value = self.values.push(ValueData { ty, def, name: None });
        self.regions[region].args.push(value);
        value
    }

    /// What readers of the program call it: the name of what it was made from.
    pub fn plain_name(&self) -> Symbol {
        self.origin.unwrap_or(self.name)
    }

    /// Makes an instruction that is in no region yet.
    pub fn new_inst(&mut self, op: Op, operands: &[Value], results: &[Ty], span: Span) -> Inst {
        let inst = self.insts.next_key();
        let make = |(i, &ty): (usize, &Ty)| {
            self.values.push(ValueData { ty, def: ValueDef::Result(inst, i as u32), name: None })
        };
        let results = results.iter().enumerate().map(make).collect();
        self.insts.push(InstData { op, operands: operands.into(), results, regions: SmallVec::new(), span })
    }

    /// Gives `inst` one more result.
    pub fn add_result(&mut self, inst: Inst, ty: Ty) -> Value {
        let def = ValueDef::Result(inst, self.insts[inst].results.len() as u32);
        let value = self.values.push(ValueData { ty, def, name: None });
        self.insts[inst].results.push(value);
        value
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Ty {
        self.values[value].ty
    }

    /// The instruction that makes `value`, unless it is an argument.
    pub fn def(&self, value: Value) -> Option<&InstData> {
        match self.values[value].def {
            ValueDef::Result(inst, _) => Some(&self.insts[inst]),
            ValueDef::Arg(..) => None,
        }
    }

    /// The operation that makes `value`, unless it is an argument.
    pub fn op(&self, value: Value) -> Option<&Op> {
        self.def(value).map(|d| &d.op)
    }

    /// The inputs.
    pub fn inputs(&self) -> &[Value] {
        &self.regions[self.body].args
    }

    /// The exit of a finished region.
    pub fn exit(&self, region: Region) -> &InstData {
        let last = self.regions[region].insts.last().expect("a region ends in an exit");
        &self.insts[*last]
    }

    /// Visits every instruction below `region`, outer before inner, in order.
    pub fn walk(&self, region: Region, visit: &mut impl FnMut(Inst)) {
        for &inst in &self.regions[region].insts {
            visit(inst);
            for &inner in &self.insts[inst].regions {
                self.walk(inner, visit);
            }
        }
    }

    /// Says where instructions below `region` stand, copied from the function that is declared at `declared`, that have no place
    /// in its body: nobody wrote them, or they belong to the function as a whole.
    pub fn place_in_source(&mut self, region: Region, declared: Span, span: Span) {
        let mut bare = Vec::new();
        self.walk(region, &mut |inst| {
            let own = self.insts[inst].span;
            bare.extend((own.is_none() || own == declared).then_some(inst));
        });
        for inst in bare {
            self.insts[inst].span = span;
        }
    }

    /// How deep the regions in the body nest.
    pub fn nesting(&self) -> u32 {
        self.nesting_of(self.body)
    }

    fn nesting_of(&self, region: Region) -> u32 {
        let insts = self.regions[region].insts.iter();
        let inner = insts.flat_map(|inst| self.insts[*inst].regions.iter());
        inner.map(|inner| 1 + self.nesting_of(*inner)).max().unwrap_or(0)
    }

    /// Whether derivatives of the function are taken from its body: it may be differentiated, or is itself a derivative that is
    /// yet to be written, and nothing replaces the body ([`DiffInfo::is_from_body`]).
    pub fn is_differentiated_from_body(&self) -> bool {
        let is_marked = self.diff.differentiable.is_some() || matches!(self.kind, FuncKind::Request(..));
        is_marked && self.diff.is_from_body()
    }

    /// How many instructions the function has.
    pub fn size(&self) -> usize {
        let mut size = 0;
        self.walk(self.body, &mut |_| size += 1);
        size
    }

    /// Every instruction of the function, outer before inner, in order.
    pub fn all_insts(&self) -> Vec<Inst> {
        let mut all = Vec::new();
        self.walk(self.body, &mut |inst| all.push(inst));
        all
    }

    /// Replaces operands: those for which `map` has an answer, everywhere in the function.
    pub fn replace_uses(&mut self, map: impl Fn(Value) -> Option<Value>) {
        for inst in self.all_insts() {
            for operand in &mut self.insts[inst].operands {
                if let Some(new) = map(*operand) {
                    *operand = new;
                }
            }
        }
    }
}
