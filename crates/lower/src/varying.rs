//! Collects the varyings of an entry point: its scalar and vector inputs and outputs, with their system values or locations.

use crate::entry::{set_by_host, unsuitable};
use crate::instance::Lowerer;
use crate::system::{accepts, is_system, promised, system_value, words};
use cotangent_base::{Diagnostic, Scalar, Span, Symbol};
use cotangent_ir::shader::{ShaderVarying, Shape};
use cotangent_ir::{Interpolation, Link, Location, Stage, SystemValue, Ty, Type};
use cotangent_sema::hir::{self, FuncRef, TyKind, Varying};
use cotangent_sema::kind_group;

/// A scalar or vector that comes from or goes to one place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaf {
    pub name: Symbol,
    /// The type it has there.
    pub ty: Ty,
    pub link: Link,
}

/// How a value is made of leaves.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    /// The leaf of that number, as that type.
    Leaf(usize, Ty),
    /// A structure, array or matrix.
    Parts(Ty, Vec<Tree>),
}

/// What becomes of a parameter: neither is a parameter of the shader.
#[derive(Default, Debug)]
pub(crate) struct Plan {
    pub input: Option<Tree>,
    pub output: Option<Tree>,
}

/// The varyings of an entry point.
#[derive(Default, Debug)]
pub(crate) struct Interface {
    pub inputs: Vec<Leaf>,
    pub outputs: Vec<Leaf>,
    pub params: Vec<Plan>,
    pub result: Option<Tree>,
    /// The same for people: by the names and types of the source.
    pub shown: Vec<ShaderVarying>,
}

impl Interface {
    /// Finds the varyings, and reports what is wrong with them.
    pub fn of(lowerer: &mut Lowerer<'_>, func: FuncRef, stage: Stage) -> Interface {
        lowerer.resolve(func.func);
        let hir::Func { span, result, params, varying, .. } =
            lowerer.queries.program.funcs[func.func].clone();
        let subst = lowerer.subst(func);
        let mut found = Interface::default();
        let mut finder = Finder {
            lowerer,
            stage,
            found: &mut found,
            reserved: Default::default(),
            open: Default::default(),
            semantics: vec![],
            system: vec![],
        };
        for param in &params {
            let ty = finder.lowerer.queries.subst(param.ty, &subst);
            let mut plan = Plan::default();
            if is_varying(finder.lowerer, ty, param) {
                if param.by_ref {
                    let message =
                        format!("`{}` is a reference, which an entry point cannot take", param.name);
                    unsuitable(finder.lowerer, param.span, message, "take the value: remove `__ref`");
                }
                let at = |input| At { input, varying: param.varying, name: param.name, span: param.span };
                plan.input = (param.dir != hir::Dir::Out).then(|| finder.whole(ty, at(true)));
                plan.output = (param.dir != hir::Dir::In).then(|| finder.whole(ty, at(false)));
            } else if param.dir != hir::Dir::In {
                set_by_host(finder.lowerer, param);
            }
            finder.found.params.push(plan);
        }
        let result = finder.lowerer.queries.subst(result, &subst);
        if finder.lowerer.queries.program.types.kind(result) != TyKind::Void {
            let tree = finder.whole(result, At { input: false, varying, name: "result".into(), span });
            finder.found.result = Some(tree);
        }
        finder.number();
        found
    }

    /// Whether it gives a system value.
    pub fn gives(&self, value: SystemValue) -> bool {
        self.outputs.iter().any(|leaf| leaf.link == Link::System(value))
    }
}

/// Whether a parameter of a vertex or fragment shader comes from the stage before: it is not `uniform` and holds no resource.
pub(crate) fn is_varying(lowerer: &mut Lowerer<'_>, ty: hir::Ty, param: &hir::Param) -> bool {
    !param.varying.uniform && matches!(lowerer.shape(ty, param.span), Shape::Value(_))
}

/// A value on the way to its leaves.
#[derive(Clone, Copy)]
struct At {
    input: bool,
    varying: Varying,
    name: Symbol,
    span: Span,
}

/// A semantic without its number, and the number of the next part.
struct Semantic {
    name: Option<String>,
    index: u32,
}

impl Semantic {
    /// Reads one; `None` if its number has more than 16 bits, so that there is room to count on from those that are read.
    fn of(written: Option<Symbol>) -> Option<Self> {
        let Some(written) = written else { return Some(Semantic { name: None, index: 0 }) };
        let text = written.as_str();
        let name = text.trim_end_matches(|c: char| c.is_ascii_digit());
        let index = match &text[name.len()..] {
            "" => 0,
            digits => digits.parse::<u16>().ok()?.into(),
        };
        Some(Semantic { name: Some(name.to_string()), index })
    }

    /// The target of that number, if it is one.
    fn target(&self) -> Option<u32> {
        let is = self.name.as_ref().is_some_and(|name| name.eq_ignore_ascii_case("SV_Target"));
        is.then_some(self.index)
    }
}

struct Finder<'a, 'c> {
    lowerer: &'a mut Lowerer<'c>,
    stage: Stage,
    found: &'a mut Interface,
    /// The locations that the program names, of outputs and inputs, with where it does.
    reserved: [Vec<(u32, Span)>; 2],
    /// The numbers of the outputs and inputs whose locations are not known yet.
    open: [Vec<usize>; 2],
    /// Semantics that were met, in capitals, with their direction and where.
    semantics: Vec<(String, bool, Span)>,
    /// System values that were met, with their direction.
    system: Vec<(SystemValue, bool)>,
}

/// How many places a parameter or result may take: more than devices have.
const MOST_PLACES: u64 = 64;
/// System values that no target here has.
const ELSEWHERE: &[&str] = &[
    "SV_RenderTargetArrayIndex",
    "SV_ViewportArrayIndex",
    "SV_InstanceID",
    "SV_ShadingRate",
    "SV_InnerCoverage",
    "SV_StencilRef",
    "SV_DeviceIndex",
    "SV_FragInvocationCount",
    "SV_FragSize",
    "SV_WaveLaneIndex",
    "SV_CullPrimitive",
];
/// How many distances from planes devices take of a vertex.
const MOST_DISTANCES: usize = 8;

impl Finder<'_, '_> {
    /// The tree of a parameter or result.
    fn whole(&mut self, ty: hir::Ty, at: At) -> Tree {
        if self.places(ty) > MOST_PLACES {
            let shown = self.lowerer.queries.show(ty);
            let message = format!("a value of type `{shown}` is too large to pass between stages");
            let help =
                format!("devices pass a few dozen numbers or vectors; the limit here is {MOST_PLACES}");
            unsuitable(self.lowerer, at.span, message, &help);
            return Tree::Parts(self.lowerer.lower_ty(ty, at.span), vec![]);
        }
        let mut semantic = self.semantic(at.varying.semantic, at.span);
        let mut location = at.varying.location;
        self.tree(ty, at, &mut semantic, &mut location)
    }

    /// How many scalars, vectors and rows a value has, or something beyond [`MOST_PLACES`]: it is not counted further than that.
    fn places(&mut self, ty: hir::Ty) -> u64 {
        match self.lowerer.queries.program.types.kind(ty) {
            TyKind::Struct(id, args) if self.lowerer.queries.program.structs[id].magic.is_none() => {
                let types = self.lowerer.queries.field_types(id, args);
                let mut sum = 0;
                for ty in types {
                    // Something without content counts, too: to look at it takes time.
                    sum += self.places(ty).max(1);
                    if sum > MOST_PLACES {
                        break;
                    }
                }
                sum
            }
            TyKind::Array(elem, n) => {
                let count = self.lowerer.queries.program.types.known(n).unwrap_or(0);
                u64::try_from(count).unwrap_or(0).saturating_mul(self.places(elem).max(1))
            }
            TyKind::Matrix(_, rows, _) => {
                let rows = self.lowerer.queries.program.types.known(rows).unwrap_or(1);
                u64::try_from(rows).unwrap_or(1)
            }
            kind_group!(number | list | named | open | special) => 1,
        }
    }

    /// A semantic, or none if its number is too large, which is reported.
    fn semantic(&mut self, written: Option<Symbol>, span: Span) -> Semantic {
        Semantic::of(written).unwrap_or_else(|| {
            let message = format!("the number of `{}` is too large", written.unwrap_or("".into()));
            unsuitable(self.lowerer, span, message, "the largest number of a semantic is 65535");
            Semantic { name: None, index: 0 }
        })
    }

    fn tree(&mut self, ty: hir::Ty, at: At, semantic: &mut Semantic, location: &mut Option<u32>) -> Tree {
        match self.lowerer.queries.program.types.kind(ty) {
            TyKind::Struct(id, args) if self.lowerer.queries.program.structs[id].magic.is_none() => {
                let types = self.lowerer.queries.field_types(id, args);
                let fields = self.lowerer.queries.program.structs[id].fields.clone();
                let parts =
                    fields.iter().zip(types).map(|(field, ty)| self.field(field, ty, at, semantic, location));
                let parts = parts.collect();
                Tree::Parts(self.lowerer.lower_ty(ty, at.span), parts)
            }
            TyKind::Array(elem, n) => {
                let count = self.lowerer.queries.program.types.known(n).unwrap_or(0);
                let parts = (0..count).map(|i| {
                    let name = Symbol::new(&format!("{}[{i}]", at.name));
                    self.tree(elem, At { name, ..at }, semantic, location)
                });
                let parts = parts.collect();
                Tree::Parts(self.lowerer.lower_ty(ty, at.span), parts)
            }
            kind_group!(number | list | named | open | special) => {
                self.number_or_matrix(ty, at, semantic, location)
            }
        }
    }

    /// What is said of the whole wins over what is said of a field.
    fn field(
        &mut self,
        field: &hir::Field,
        ty: hir::Ty,
        at: At,
        semantic: &mut Semantic,
        location: &mut Option<u32>,
    ) -> Tree {
        let varying = Varying {
            interpolation: if at.varying.interpolation == hir::Interpolation::Auto {
                field.varying.interpolation
            } else {
                at.varying.interpolation
            },
            ..field.varying
        };
        let inner =
            At { varying, name: Symbol::new(&format!("{}.{}", at.name, field.name)), span: field.span, ..at };
        let (mut own, mut placed) =
            (self.semantic(field.varying.semantic, field.span), field.varying.location);
        let semantic = if semantic.name.is_some() { semantic } else { &mut own };
        let location = if location.is_some() { location } else { &mut placed };
        self.tree(ty, inner, semantic, location)
    }

    fn number_or_matrix(
        &mut self,
        ty: hir::Ty,
        at: At,
        semantic: &mut Semantic,
        location: &mut Option<u32>,
    ) -> Tree {
        let lowered = self.lowerer.lower_ty(ty, at.span);
        let shown = self.found.shown.len();
        let first = if at.input { self.found.inputs.len() } else { self.found.outputs.len() };
        self.found.shown.push(ShaderVarying {
            name: at.name,
            ty: Symbol::new(&self.lowerer.queries.show(ty)),
            input: at.input,
            semantic: "".into(),
            leaf: first,
            count: 1,
        });
        let tree = match self.lowerer.module.types.get(lowered) {
            Type::Scalar(_) | Type::Vector(..) => self.leaf(lowered, ty, at, semantic, location),
            Type::Matrix(scalar, rows, columns) => {
                let row = self.lowerer.module.types.intern(Type::Vector(scalar, columns));
                let parts = (0..rows).map(|_| self.leaf(row, ty, at, semantic, location)).collect();
                Tree::Parts(lowered, parts)
            }
            Type::Unit | Type::Array(..) | Type::Struct(_) | Type::Sum(_) => self.misfit(lowered, ty, at),
            Type::Buffer(..) | Type::Opaque(_) | Type::Ref(_) => self.misfit(lowered, ty, at),
        };
        let leaves = if at.input { &self.found.inputs } else { &self.found.outputs };
        let (count, link) = (leaves.len() - first, leaves.get(first).map(|leaf| leaf.link));
        let entry = &mut self.found.shown[shown];
        entry.count = count as u32;
        entry.semantic = match link {
            Some(Link::System(value)) if value.is_distance() => {
                Symbol::new(&format!("{}{}", value.semantic(), semantic.index - 1))
            }
            Some(Link::System(value)) => {
                promised(semantic.name.as_deref().unwrap_or_default()).unwrap_or(value.semantic()).into()
            }
            Some(Link::Location(location)) => location.semantic,
            None => "".into(),
        };
        tree
    }

    fn leaf(
        &mut self,
        lowered: Ty,
        ty: hir::Ty,
        at: At,
        semantic: &mut Semantic,
        location: &mut Option<u32>,
    ) -> Tree {
        let link = self.link(lowered, ty, at, semantic, *location);
        semantic.index += 1;
        *location = location.map(|n| n + 1);
        let wire = match link {
            Link::System(value) => self.lowerer.module.types.intern(value.ty()),
            // Truth values have no form between stages.
            Link::Location(_) if self.lowerer.module.types.scalar_of(lowered) == Some(Scalar::Bool) => {
                self.lowerer.module.types.with_scalar(lowered, Scalar::U32)
            }
            Link::Location(_) => lowered,
        };
        let leaves = if at.input { &mut self.found.inputs } else { &mut self.found.outputs };
        let name = at.name.as_str().rsplit('.').next().unwrap_or_default();
        leaves.push(Leaf { name: name.into(), ty: wire, link });
        Tree::Leaf(leaves.len() - 1, lowered)
    }

    /// Where a leaf comes from or goes to. Reports what cannot be.
    fn link(&mut self, lowered: Ty, ty: hir::Ty, at: At, semantic: &Semantic, location: Option<u32>) -> Link {
        let target = semantic.target().filter(|_| self.stage == Stage::Fragment && !at.input);
        let is_system =
            |name: &&String| is_system(name) && target.is_none() && !self.stands_for_any(name, at);
        if let Some(name) = semantic.name.as_ref().filter(is_system) {
            let found = self.system(system_value(name), name, lowered, ty, at);
            if matches!(found, Link::System(value) if value.is_distance()) {
                self.only_once(&format!("{name}{}", semantic.index), at);
            }
            return found;
        }
        let scalar = self.lowerer.module.types.scalar_of(lowered).unwrap_or(Scalar::F32);
        if scalar.bytes() > 4 {
            let message =
                format!("cannot pass a value of type `{}` between stages", self.lowerer.queries.show(ty));
            unsuitable(self.lowerer, at.span, message, "use numbers of up to 32 bits");
        }
        let interpolation = self.interpolation(scalar, at);
        let place = location.or(target);
        if let Some(place) = place {
            self.reserve(place, at, target.is_some());
        }
        let leaves = if at.input { &self.found.inputs } else { &self.found.outputs };
        if place.is_none() {
            self.open[usize::from(at.input)].push(leaves.len());
        }
        let text = match &semantic.name {
            Some(name) => format!("{name}{}", semantic.index),
            None => String::new(),
        };
        if target.is_none() && !text.is_empty() {
            self.only_once(&text, at);
        }
        Link::Location(Location { index: place.unwrap_or(0), interpolation, semantic: Symbol::new(&text) })
    }

    /// Whether a system value that no target here has is only checked: it is then like a value of the program's own.
    fn stands_for_any(&self, name: &str, at: At) -> bool {
        let known = |value: SystemValue| {
            if at.input { value.is_input(self.stage) } else { value.is_output(self.stage) }
        };
        self.lowerer.options.target.is_none()
            && !system_value(name).is_some_and(known)
            && ELSEWHERE.iter().any(|value| value.eq_ignore_ascii_case(name))
    }

    /// Reports a semantic that was met before: in HLSL it says what goes where. That of a field in an array of structures is
    /// written once.
    fn only_once(&mut self, semantic: &str, at: At) {
        let capitals = semantic.to_ascii_uppercase();
        let other = self.semantics.iter().find(|(other, input, _)| *other == capitals && *input == at.input);
        if let Some(&(_, _, other)) = other.filter(|(_, _, other)| *other != at.span) {
            let message = format!("the semantic `{semantic}` is already taken");
            self.lowerer.diagnostics.push(
                Diagnostic::new(crate::codes::ENTRY_PARAMETER, at.span, message).label(other, "taken here"),
            );
        }
        self.semantics.push((capitals, at.input, at.span));
    }

    fn interpolation(&mut self, scalar: Scalar, at: At) -> Interpolation {
        use hir::Interpolation as Written;
        let smooth = scalar.is_float();
        if !smooth && !matches!(at.varying.interpolation, Written::Auto | Written::Flat) {
            let message = "only floats are interpolated between vertices";
            unsuitable(
                self.lowerer,
                at.span,
                message.into(),
                "write `nointerpolation`, or remove the modifier",
            );
        }
        match at.varying.interpolation {
            _ if !smooth => Interpolation::Flat,
            Written::Auto | Written::Linear => Interpolation::Perspective,
            Written::NoPerspective => Interpolation::Linear,
            Written::Flat => Interpolation::Flat,
            Written::Centroid => Interpolation::Centroid,
            Written::Sample => Interpolation::Sample,
        }
    }

    fn reserve(&mut self, place: u32, at: At, target: bool) {
        let taken = &mut self.reserved[usize::from(at.input)];
        let other = taken.iter().find(|(other, _)| *other == place).map(|(_, span)| *span);
        taken.push((place, at.span));
        let Some(other) = other else { return };
        let what = if target { "target" } else { "location" };
        let message = format!("the {what} {place} is already taken");
        self.lowerer.diagnostics.push(
            Diagnostic::new(crate::codes::ENTRY_PARAMETER, at.span, message).label(other, "taken here"),
        );
    }

    fn system(&mut self, value: Option<SystemValue>, name: &str, lowered: Ty, ty: hir::Ty, at: At) -> Link {
        let (stage, way) = (self.stage, if at.input { "input" } else { "output" });
        let fits = |v: &SystemValue| if at.input { v.is_input(stage) } else { v.is_output(stage) };
        let Some(value) = value.filter(fits) else {
            let message = format!("a {} shader has no {way} `{name}`", stage.name());
            let all =
                SystemValue::ALL.iter().filter(|(_, _, v)| fits(v)).map(|(_, name, _)| format!("`{name}`"));
            let mut all: Vec<String> = all.collect();
            all.extend((stage == Stage::Fragment && !at.input).then(|| "`SV_Target0`".to_string()));
            unsuitable(self.lowerer, at.span, message, &format!("its {way}s are {}", all.join(", ")));
            return Link::System(SystemValue::GroupIndex);
        };
        if !accepts(value, at.input, self.lowerer.module.types.get(lowered)) {
            let shown = self.lowerer.queries.show(ty);
            let message = format!("`{}` cannot have the type `{shown}`", value.semantic());
            unsuitable(self.lowerer, at.span, message, &format!("it is {}", words(value, at.input)));
        }
        let before = |same: &dyn Fn(SystemValue) -> bool| {
            self.system.iter().filter(|(other, input)| *input == at.input && same(*other)).count()
        };
        if value.is_distance() && before(&SystemValue::is_distance) == MOST_DISTANCES {
            let message = format!("the shader has more than {MOST_DISTANCES} {way} distances");
            let help = "devices have that many clip and cull planes in total";
            unsuitable(self.lowerer, at.span, message, help);
        }
        if !value.is_distance() && before(&|other| other == value) > 0 {
            let message = format!("the shader already has the {way} `{}`", value.semantic());
            unsuitable(self.lowerer, at.span, message, "remove one of them");
        }
        self.system.push((value, at.input));
        Link::System(value)
    }

    fn misfit(&mut self, lowered: Ty, ty: hir::Ty, at: At) -> Tree {
        let message =
            format!("cannot pass a value of type `{}` between stages", self.lowerer.queries.show(ty));
        unsuitable(
            self.lowerer,
            at.span,
            message,
            "use numbers, vectors, matrices, and structures and arrays of them",
        );
        Tree::Parts(lowered, vec![])
    }

    /// Numbers the leaves that have no location yet, in order.
    fn number(&mut self) {
        let sides = [&mut self.found.outputs, &mut self.found.inputs];
        for ((leaves, taken), open) in sides.into_iter().zip(&self.reserved).zip(&self.open) {
            let free = (0..).filter(|next| taken.iter().all(|(place, _)| place != next));
            for (&leaf, place) in open.iter().zip(free) {
                if let Link::Location(location) = &mut leaves[leaf].link {
                    location.index = place;
                }
            }
            for leaf in leaves {
                let Link::Location(location) = &mut leaf.link else { continue };
                if location.semantic.as_str().is_empty() {
                    location.semantic = Symbol::new(&format!("LOC{}", location.index));
                }
            }
        }
    }
}
