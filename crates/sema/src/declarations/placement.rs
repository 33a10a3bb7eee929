//! Reads explicit bindings: `[[vk::binding(b, s)]]`, `register(u1, space2)`, `packoffset(c2.y)`.
//!
//! Which of them a target uses is decided when parameters are bound.

use crate::Checked;
use crate::codes;
use crate::declarations::attrs;
use crate::facts::Rules;
use crate::hir::{Global, GlobalId, TyKind};
use cotangent_base::{Diagnostic, Register, Span, Wish};
use cotangent_syntax::ast::{self, Attribute, ExprKind};

/// What is wrong with `[[vk::binding(..)]]`.
const VK_BINDING: &str = "`vk::binding` takes a binding and a set, which are not negative";
const VK_HELP: &str = "write `[[vk::binding(1, 0)]]`";

impl Rules<'_> {
    /// What a declaration with these attributes and this semantic wants.
    pub(crate) fn wish(&mut self, attributes: &[Attribute], semantic: Option<ast::Ident>) -> Wish {
        let mut wish = Wish { push_constant: attrs::has(attributes, "vk::push_constant"), ..Wish::default() };
        if let Some(binding) = attrs::find(attributes, "vk::binding") {
            wish.binding = numbers(&binding.args);
            if wish.binding.is_none() && open_binding(attributes).is_empty() {
                self.bad_binding(binding.span, VK_BINDING, VK_HELP);
            }
        }
        let written = match attrs::find(attributes, "register") {
            Some(register) => Some((names(&register.args), register.span)),
            None => semantic.and_then(|s| Some((arguments(s.name.as_str(), "register")?, s.span))),
        };
        if let Some((words, span)) = written {
            wish.register = register(&words);
            let only_space = matches!(&words[..], [space] if space.starts_with("space"));
            if wish.register.is_none() && !only_space {
                let message = format!("`register({})` is not a valid binding", words.join(", "));
                let help = "write `b`, `t`, `u` or `s` with a number, and a space if there is one: `register(b0, space2)`";
                self.bad_binding(span, &message, help);
            }
        }
        wish
    }

    /// The offset that `packoffset(c2.y)` gives a member of a `cbuffer`.
    pub(crate) fn packoffset(&mut self, semantic: Option<ast::Ident>) -> Option<u32> {
        let semantic = semantic?;
        let words = arguments(semantic.name.as_str(), "packoffset")?;
        let offset = match &words[..] {
            [place] => offset(place),
            _ => None,
        };
        if offset.is_none() {
            let message = format!("`packoffset({})` is not a valid offset", words.join(", "));
            self.bad_binding(
                semantic.span,
                &message,
                "write a row and a component, as in `packoffset(c2.y)`",
            );
        }
        offset
    }

    fn bad_binding(&mut self, span: Span, message: &str, help: &str) {
        self.diagnostics.push(Diagnostic::new(codes::BAD_BINDING, span, message).help(help));
    }
}

impl Checked {
    /// Computes the numbers of `[[vk::binding(..)]]` that are not literals.
    pub(crate) fn resolve_binding(&mut self, id: GlobalId) {
        let info = &self.tables.globals[id];
        let (args, scope) = (info.binding.clone(), info.scope);
        let mut numbers = vec![];
        for arg in &args {
            let before = self.diagnostics.len();
            let val = self.const_val(arg, scope);
            if self.diagnostics.len() > before {
                return;
            }
            match self.program.types.known(val).and_then(|n| u32::try_from(n).ok()) {
                Some(n) => numbers.push(n),
                None => {
                    let message = match self.program.globals[id].specialized {
                        true => "the number of a specialization constant must not be negative",
                        false => VK_BINDING,
                    };
                    return self.rules().bad_binding(arg.span, message, VK_HELP);
                }
            }
        }
        self.program.globals[id].wish.binding = match numbers[..] {
            [binding] => Some((binding, 0)),
            [binding, set] => Some((binding, set)),
            _ => return,
        };
    }
}

impl Rules<'_> {
    /// Reports a specialization constant that is no scalar or enumeration.
    pub(crate) fn check_specialized_type(&mut self, id: GlobalId) {
        let Global { name, span, ty, specialized, .. } = self.program.globals[id];
        let is_one = matches!(
            self.program.types.kind(ty),
            TyKind::Scalar(_) | TyKind::Enum(_) | TyKind::Error | TyKind::Param(_)
        );
        if specialized && !is_one {
            let message = format!("the specialization constant `{name}` is of type `{}`", self.show(ty));
            let diagnostic = Diagnostic::new(codes::BAD_ATTRIBUTE, span, message);
            let help = "a specialization constant is one number, `bool` or an enumerator: declare one for each component";
            self.diagnostics.push(diagnostic.help(help));
        }
    }
}

/// The arguments of `[[vk::binding(..)]]` that must be computed, and that of `[[vk::constant_id(..)]]`.
pub(crate) fn open_binding(attributes: &[Attribute]) -> Vec<ast::Expr> {
    if let Some(number) = attrs::find(attributes, "vk::constant_id") {
        return number.args.iter().take(1).cloned().collect();
    }
    match attrs::find(attributes, "vk::binding") {
        Some(binding) if numbers(&binding.args).is_none() && (1..=2).contains(&binding.args.len()) => {
            binding.args.clone()
        }
        _ => vec![],
    }
}

/// The words between the parentheses of `name(..)`.
fn arguments(text: &str, name: &str) -> Option<Vec<String>> {
    let inner = text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')')?;
    Some(inner.split(',').map(|word| word.trim().to_string()).collect())
}

fn names(args: &[ast::Expr]) -> Vec<String> {
    let name = |arg: &ast::Expr| match arg.kind {
        ExprKind::Name(name) => name.to_string(),
        _ => "?".to_string(),
    };
    args.iter().map(name).collect()
}

/// A binding and a set; the set is 0 if it is left out.
fn numbers(args: &[ast::Expr]) -> Option<(u32, u32)> {
    let number = |arg: &ast::Expr| match arg.kind {
        ExprKind::Int(n, _) => u32::try_from(n).ok(),
        _ => None,
    };
    match args {
        [binding] => Some((number(binding)?, 0)),
        [binding, set] => Some((number(binding)?, number(set)?)),
        _ => None,
    }
}

fn register(words: &[String]) -> Option<Register> {
    let (place, space) = match words {
        [place] => (place, 0),
        [place, space] => (place, space.strip_prefix("space")?.parse().ok()?),
        _ => return None,
    };
    let class = place.chars().next().filter(|c| "btus".contains(*c))?;
    Some(Register { class, index: place[1..].parse().ok()?, space })
}

/// `c2.y` is the second number of the third row of 16 bytes.
fn offset(place: &str) -> Option<u32> {
    let (row, lane) = place.split_once('.').unwrap_or((place, "x"));
    let row: u32 = row.strip_prefix('c')?.parse().ok()?;
    let lane = ["x", "y", "z", "w"].iter().position(|l| *l == lane)? as u32;
    row.checked_mul(16)?.checked_add(4 * lane)
}
