//! Lowers code that is not Slang: text and assembly of a target, and operations that a function names.
//!
//! C++ and CUDA take text as it is: it becomes a `target_text` on the parameters. Where the program is only checked, no target is
//! known and nothing is refused. Everywhere else such code is reported where the function is called. A `__target_switch` passes
//! over a case of such code if the target cannot take it and there is a `default`.
//!
//! ```text
//! float f(float x) { __intrinsic_asm "expm1f($0)"; }      func @f(%x: f32) -> f32 { %1: f32 = target_text "expm1f($0)" %x  return %1 }
//! ```

use crate::codes;
use crate::func::Frame;
use crate::instance::Lowerer;
use cotangent_base::{Diagnostic, EntitySet, Scalar, Span, Symbol};
use cotangent_ir::layout::Target;
use cotangent_ir::{FuncId, FuncKind, Math, Op, Ty, Type, Value};
use cotangent_sema::hir::{self, Case, CodeKind, Expr, ExprKind, each_expr};

/// What a function has that the target cannot take.
#[derive(Clone)]
pub(crate) enum Refused {
    /// Code, in words.
    Code(&'static str),
    /// An operation of the library that nothing here can do, in words.
    Missing(&'static str),
    /// No case of a switch, in a whole sentence.
    NoCase(String),
}

impl Lowerer<'_> {
    /// Whether text of the target can be part of what is made; open if no target is known.
    fn takes_text(&self) -> Option<bool> {
        let target = self.options.target?;
        Some(!self.options.runs && matches!(target, Target::Cpp | Target::Cuda))
    }

    /// Whether a case of a `__target_switch` has code that the target cannot take.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other expression is code of a target")]
    pub fn is_foreign(&self, case: &Case) -> bool {
        let takes = self.takes_text() == Some(true);
        let mut found = false;
        each_expr(&case.body, &mut |e| {
            found |= match &e.kind {
                ExprKind::TargetCode(CodeKind::Text, ..) => !takes,
                ExprKind::TargetCode(CodeKind::Assembly, ..) => true,
                _ => false,
            }
        });
        found
    }
}

impl Frame<'_, '_> {
    /// Code of a target, or an operation by name.
    pub fn target_code(&mut self, kind: CodeKind, text: Symbol, args: &[Expr], ty: hir::Ty) -> Option<Value> {
        let takes = self.lowerer.takes_text();
        match kind {
            CodeKind::Operation => {
                let values: Vec<Value> = args.iter().map(|arg| self.expr(arg)).collect();
                let same = self.ty(ty);
                let value = match values[..] {
                    [only] if text == *"pointer" => self.cast_to_pointer(only, same),
                    _ => self.operation(text.as_str(), &values, same),
                };
                if value.is_some() {
                    return value;
                }
                if takes.is_some() {
                    self.refuse_code(match text.as_str() {
                        "ray_tracing" => Refused::Missing("ray tracing is"),
                        "geometry" => Refused::Missing("geometry shaders are"),
                        "mesh" => Refused::Missing("mesh shaders are"),
                        "subpass" => Refused::Missing("inputs of subpasses are"),
                        "cube_arrays" => Refused::Missing("arrays of cube textures are"),
                        "multisampling" => Refused::Missing("textures with several samples are"),
                        "ordered_images" => Refused::Missing("rasterizer-ordered resources are"),
                        "helper_lanes" => Refused::Missing("questions about helper lanes are"),
                        "clocks" => Refused::Missing("clocks of the device are"),
                        "cooperation" => Refused::Missing("cooperative vectors and matrices are"),
                        "descriptor_heaps" => Refused::Missing("descriptor heaps are"),
                        "tessellation" => Refused::Missing("tessellation shaders are"),
                        "sparse" => Refused::Missing("questions about sparse residency are"),
                        "feedback" => Refused::Missing("textures of sampler feedback are"),
                        "pixels" => Refused::Missing("inputs at other locations than the pixel's are"),
                        "waves_of_group" => Refused::Missing("numbers of the waves of a group are"),
                        "host_tensors" => Refused::Missing("host functions of slangtorch are"),
                        "gather_compare" => Refused::Missing("gathers that compare are"),
                        "gather_offsets" => Refused::Missing("gathers with several offsets are"),
                        "handle" => Refused::Missing("handles made of numbers are"),
                        _ => Refused::Code("an operation that is not known"),
                    });
                }
            }
            CodeKind::Prelude => {
                let preludes = &mut self.lowerer.module.preludes;
                if takes == Some(true) && !preludes.contains(&text) {
                    preludes.push(text);
                }
                return None;
            }
            CodeKind::Assembly if takes.is_some() => {
                self.refuse_code(Refused::Code("`spirv_asm` or other assembly"))
            }
            CodeKind::Text if takes == Some(false) => {
                self.refuse_code(Refused::Code("text of another language"))
            }
            CodeKind::Text | CodeKind::Assembly => {}
        }
        let values: Vec<Value> = args.iter().map(|arg| self.expr(arg)).collect();
        let to = self.ty(ty);
        if self.lowerer.module.types.get(to) == Type::Unit {
            self.b().emit(Op::TargetText(text), &values, &[]);
            return None;
        }
        Some(self.b().emit1(Op::TargetText(text), &values, to))
    }

    /// A pointer made of another one or of a number. One to the same type is the same, of whatever access.
    fn cast_to_pointer(&mut self, value: Value, to: Ty) -> Option<Value> {
        let from = self.func.ty(value);
        if from == to {
            return Some(value);
        }
        let word = self.lowerer.module.types.scalar(Scalar::U64);
        let value = if let Type::Scalar(Scalar::I64) = self.lowerer.module.types.get(from) {
            self.b().emit1(Op::Convert, &[value], word)
        } else {
            value
        };
        Some(self.b().emit1(Op::Pointer, &[value], to))
    }

    /// Notes that the function at hand has something that the target cannot take.
    pub fn refuse_code(&mut self, what: Refused) {
        if let Some(id) = self.lowerer.module.func_named(self.func.name) {
            self.lowerer.refused.push((id, self.span, what));
        }
    }

    /// Whether two types are numbers, vectors or matrices of one shape.
    fn is_alike(&self, a: Ty, b: Ty) -> bool {
        let types = &self.lowerer.module.types;
        let shape = |ty| types.get(ty).with_scalar(Scalar::Bool);
        shape(a).is_some() && shape(a) == shape(b)
    }

    /// A number in every component of a vector or matrix, in the type of these.
    fn spread(&mut self, number: Value, to: Ty) -> Value {
        let types = &mut self.lowerer.module.types;
        let component = types.scalar_of(to).map(|scalar| types.scalar(scalar));
        let number = component.map_or(number, |component| self.convert(number, component));
        self.splat(number, to)
    }

    /// The operation that `__intrinsic_op` names, on the parameters of the function, if there is such a one on their types.
    fn operation(&mut self, name: &str, args: &[Value], to: Ty) -> Option<Value> {
        let math = match (name, args) {
            ("add", [_, _]) => Math::Add,
            ("sub", [_, _]) => Math::Sub,
            ("mul", [_, _]) => Math::Mul,
            ("div", [_, _]) => Math::Div,
            ("irem" | "frem", [_, _]) => Math::Rem,
            ("shl", [_, _]) => Math::Shl,
            ("shr", [_, _]) => Math::Shr,
            ("and" | "logicalAnd", [_, _]) => Math::And,
            ("or" | "logicalOr", [_, _]) => Math::Or,
            ("xor", [_, _]) => Math::Xor,
            ("cmpEQ", [_, _]) => Math::Eq,
            ("cmpNE", [_, _]) => Math::Ne,
            ("cmpLT", [_, _]) => Math::Lt,
            ("cmpLE", [_, _]) => Math::Le,
            ("cmpGT", [_, _]) => Math::Gt,
            ("cmpGE", [_, _]) => Math::Ge,
            ("neg", [_]) => Math::Neg,
            ("not" | "bitnot", [_]) => Math::Not,
            ("select", &[c, a, b]) => {
                let ty = self.func.ty(a);
                let chooses = self.lowerer.module.types.get(self.func.ty(c)) == Type::Scalar(Scalar::Bool);
                let fits = chooses && self.func.ty(b) == ty && ty == to;
                return fits.then(|| self.b().select(c, a, b));
            }
            _ => return None,
        };
        let is_number = |v: &Value| self.lowerer.module.types.scalar_of(self.func.ty(*v)).is_some();
        if !args.iter().all(is_number) {
            return None;
        }
        let mut args = args.to_vec();
        if let &[a, b] = &args[..] {
            // One of a number and a vector stands for a vector of it.
            let (to, from) = (self.func.ty(a), self.func.ty(b));
            let is_scalar = |ty| matches!(self.lowerer.module.types.get(ty), Type::Scalar(_));
            if is_scalar(to) && !is_scalar(from) {
                args[0] = self.spread(a, from);
            } else if is_scalar(from) && !is_scalar(to) {
                args[1] = self.spread(b, to);
            }
            let to = self.func.ty(args[0]);
            if !self.is_alike(self.func.ty(args[1]), to) {
                return None;
            }
            args[1] = self.convert(args[1], to);
        }
        let from = self.func.ty(args[0]);
        let scalar = self.lowerer.module.types.scalar_of(from)?;
        if !math.class().takes(scalar) || !self.is_alike(from, to) {
            return None;
        }
        let value = self.b().math(math, &args);
        Some(self.convert(value, to))
    }
}

/// Reports code that the target cannot take where an entry point reaches it, and leaves out the other functions that reach it: a
/// header may have such functions for other targets. Without entry points all are wanted.
pub(crate) fn settle(lowerer: &mut Lowerer<'_>, entries: &[FuncId], roots: &mut Vec<FuncId>) {
    let refused = std::mem::take(&mut lowerer.refused);
    if refused.is_empty() {
        return;
    }
    let used = reached(lowerer, entries);
    let is_used = |id: &FuncId| entries.is_empty() || used.contains(*id);
    let idle: Vec<FuncId> = refused.iter().map(|(id, ..)| *id).filter(|id| !is_used(id)).collect();
    for (id, span, what) in refused.into_iter().filter(|(id, ..)| is_used(id)) {
        refuse(lowerer, id, span, what);
    }
    roots.retain(|root| {
        let reached = reached(lowerer, &[*root]);
        !idle.iter().any(|id| reached.contains(*id))
    });
}

fn refuse(lowerer: &mut Lowerer<'_>, id: FuncId, span: Span, what: Refused) {
    let called = lowerer.mentions.get(&id).copied().filter(|span| !span.is_none());
    let name = lowerer.module.funcs[id].name;
    let name = name.as_str().split('<').next().unwrap_or_default();
    let what = match what {
        Refused::Code(what) => what,
        Refused::Missing(what) => {
            let message = format!("`{name}` cannot be used here: {what} not supported");
            return lowerer.error(codes::TARGET_CODE, called.unwrap_or(span), message);
        }
        Refused::NoCase(message) => return lowerer.error(codes::NO_CASE, span, message),
    };
    let target = match lowerer.options.target {
        Some(Target::Cpp) if lowerer.options.runs => "the interpreter".to_string(),
        Some(target) => format!("target `{}`", target.name()),
        None => return,
    };
    let message = format!("`{name}` cannot be used here: {target} cannot take {what}");
    let mut diagnostic = Diagnostic::new(codes::TARGET_CODE, called.unwrap_or(span), message);
    if called.is_some() {
        diagnostic = diagnostic.label(span, "the code");
    }
    let help = "add a `default` written in Slang to the `__target_switch`, or a case for this target";
    lowerer.diagnostics.push(diagnostic.help(help));
}

/// The functions that these come to, themselves included.
pub(crate) fn reached(lowerer: &Lowerer<'_>, from: &[FuncId]) -> EntitySet<FuncId> {
    let (mut seen, mut open) = (EntitySet::new(), from.to_vec());
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let func = &lowerer.module.funcs[id];
        if let FuncKind::Request(_, of) = func.kind {
            open.push(of);
        }
        open.extend(func.diff.links());
        open.extend(func.all_insts().into_iter().filter_map(|inst| func.insts[inst].op.callee()));
    }
    seen
}
