//! Lowers specialization constants: `[[vk::constant_id(3)]] const int kind = 4;`.
//!
//! In a shading language that has them, such a constant is a `static` variable that nobody writes. `Module::specialized` says by
//! which number the host knows it, and its default. Everywhere else it is a constant: where programs are run, in C++, CUDA and
//! HLSL, and if its type is not a 32-bit number or `bool`. A warning says so.

use crate::codes;
use crate::func::Frame;
use crate::instance::Lowerer;
use cotangent_base::{Diagnostic, Scalar, Symbol};
use cotangent_ir::layout::Target;
use cotangent_ir::{self as ir, Const, GlobalData, Math, Path, Specialized, Type, Value};
use cotangent_sema::hir::{self, GlobalId};

impl Lowerer<'_> {
    /// Whether the target has specialization constants of a type.
    fn has_specialized(&self, scalar: Option<Scalar>) -> bool {
        let is_kind = matches!(scalar, Some(Scalar::Bool | Scalar::I32 | Scalar::U32 | Scalar::F32));
        let is_target = match self.options.target {
            Some(Target::Wgsl | Target::SpirV | Target::Glsl | Target::Metal) => !self.options.runs,
            Some(Target::Hlsl | Target::Cpp | Target::Cuda) | None => false,
        };
        is_kind && is_target
    }

    /// The number by which the host knows a specialization constant: its own, or the first that none of those before it has.
    fn constant_id(&self, id: GlobalId) -> u32 {
        let all = || self.queries.program.globals.iter().filter(|(_, global)| global.specialized);
        let own = |global: &hir::Global| global.wish.binding.map(|(number, _)| number);
        if let Some(number) = own(&self.queries.program.globals[id]) {
            return number;
        }
        let taken: Vec<u32> = all().filter_map(|(_, global)| own(global)).collect();
        let before = all().take_while(|(other, _)| *other != id).filter(|(_, g)| own(g).is_none()).count();
        (0..).filter(|number| !taken.contains(number)).nth(before).unwrap_or_default()
    }

    /// The variable that a specialization constant with this default is.
    fn specialized_variable(&mut self, id: GlobalId, default: Const, scalar: Scalar) -> ir::Global {
        if let Some((_, known)) = self.specialized.iter().find(|(of, _)| *of == id) {
            return *known;
        }
        // naga has no variables of type `bool` that the host may set.
        let (scalar, default) = match default {
            Const::Bool(set) => (Scalar::U32, Const::Int(set.into())),
            Const::Int(_) | Const::Float(_) => (scalar, default),
        };
        let hir::Global { name, span, .. } = self.queries.program.globals[id];
        let inner = self.module.types.scalar(scalar);
        let ty = self.module.types.intern(Type::Ref(inner));
        let kind = ir::GlobalKind::Static(None);
        let variable =
            self.module.add_global(GlobalData { name: Symbol::new(name.as_str()), ty, kind, span });
        let number = self.constant_id(id);
        self.module.specialized.push((variable, Specialized { id: number, default }));
        self.specialized.push((id, variable));
        variable
    }

    /// Warns that the host cannot set a specialization constant in what is emitted.
    fn warn_specialized(&mut self, id: GlobalId) {
        let hir::Global { name, span, .. } = self.queries.program.globals[id].clone();
        if self.options.target.is_none() || self.options.runs || !self.warned.insert(id) {
            return;
        }
        let message = format!("the specialization constant `{name}` is emitted with its default value");
        let warning = Diagnostic::new(codes::FIXED_CONSTANT, span, message);
        self.diagnostics.push(
            warning.help("compile again with another default to set it, for instance from a macro: `-D`"),
        );
    }
}

impl Frame<'_, '_> {
    /// The value of a specialization constant, whose default this is.
    pub fn specialized(&mut self, id: GlobalId, default: Value) -> Value {
        let ty = self.func.ty(default);
        let scalar = self.lowerer.module.types.scalar_of(ty);
        let number = self.number(default).filter(|number| match *number {
            Const::Float(bits) => f64::from_bits(bits).is_finite(),
            Const::Int(_) | Const::Bool(_) => true,
        });
        let is_fixed = self.lowerer.queries.program.globals[id].folded;
        let is_open = !is_fixed && self.lowerer.has_specialized(scalar);
        let (Some(number), Some(scalar), true) = (number, scalar, is_open) else {
            self.lowerer.warn_specialized(id);
            return default;
        };
        let variable = self.lowerer.specialized_variable(id, number, scalar);
        let handle = self.global_value(variable);
        let value = self.b().load(handle, Path::default(), &[]);
        if scalar != Scalar::Bool {
            return value;
        }
        let word = self.func.ty(value);
        let zero = self.b().constant(Const::Int(0), word);
        self.b().math(Math::Ne, &[value, zero])
    }
}

/// Warns of specialization constants that decide sizes and types: those have their default values.
pub(crate) fn check(lowerer: &mut Lowerer<'_>) {
    let globals = lowerer.queries.program.globals.iter();
    let folded: Vec<GlobalId> =
        globals.filter(|(_, g)| g.specialized && g.folded).map(|(id, _)| id).collect();
    folded.into_iter().for_each(|id| lowerer.warn_specialized(id));
}
