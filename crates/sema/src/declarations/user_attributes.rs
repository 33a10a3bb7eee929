//! Collects the attributes that a program defines itself, for reflection.
//!
//! ```text
//! [__AttributeUsage(_AttributeTargets.Var)]
//! struct RangeAttribute { float low; float high; let unit = 1; }
//!
//! [Range(0, 1)] uniform float gain;      gain: Range(low = 0, high = 1, unit = 1)
//! ```
//!
//! An attribute is noted when its declaration is collected. Its values are computed when all types are known: those that are written,
//! and the initial values of the remaining fields.

use super::attribute_rules::is_known;
use crate::Checked;
use crate::bodies::body::BodyCx;
use crate::collect::Collector;
use crate::hir::{AttributeValue, UserAttribute};
use crate::tables::{Item, ScopeId};
use cotangent_base::Symbol;
use cotangent_syntax::ast::{Attribute, DeclKind, Expr, ExprKind, UnaryOp};

/// The attributes whose values are not computed yet.
#[derive(Clone, Default, Debug)]
pub(crate) struct UserAttributes {
    noted: Vec<Noted>,
}

/// An attribute of a declaration, as it is written.
#[derive(Clone, Debug)]
struct Noted {
    on: Symbol,
    scope: ScopeId,
    attribute: Attribute,
}

impl Collector<'_> {
    /// Notes the attributes of a declaration that the language does not have, and those of its parameters.
    pub(crate) fn note_user_attributes(
        &mut self,
        kind: &DeclKind,
        attributes: &[Attribute],
        on: Symbol,
        scope: ScopeId,
    ) {
        self.note_attributes(attributes, on, scope);
        if let DeclKind::Func(func) = kind {
            for param in &func.params {
                let Some(name) = param.name else { continue };
                let on = Symbol::new(&format!("{on}.{}", name.name));
                self.note_attributes(&param.attributes, on, scope);
            }
        }
    }

    fn note_attributes(&mut self, attributes: &[Attribute], on: Symbol, scope: ScopeId) {
        let own = attributes.iter().filter(|attribute| !is_known(attribute.name.name.as_str()));
        let noted = own.map(|attribute| Noted { on, scope, attribute: attribute.clone() });
        self.tables.user_attributes.noted.extend(noted);
    }
}

impl Checked {
    /// Computes the values of the attributes that were noted.
    pub(crate) fn resolve_user_attributes(&mut self) {
        for noted in std::mem::take(&mut self.tables.user_attributes.noted) {
            let Noted { on, scope, attribute } = &noted;
            let own = Symbol::new(&format!("{}Attribute", attribute.name.name));
            let found = self.lookup_type(*scope, own).map(|found| found.item);
            let Some(Item::Struct(id)) = found else { continue };
            let fields = self.tables.structs[id].fields.clone();
            let inner = self.tables.structs[id].scope;
            let mut values = vec![];
            for (number, (field, _)) in fields.iter().enumerate() {
                let value = match (attribute.args.get(number), &field.init) {
                    (Some(arg), _) => self.attribute_value(arg, *scope),
                    (None, Some(init)) => self.attribute_value(init, inner),
                    (None, None) => None,
                };
                values.extend(value.map(|value| (field.name.name, value)));
            }
            let (on, name) = (*on, attribute.name.name);
            self.program.user_attributes.push(UserAttribute { on, name, values });
        }
    }

    /// A literal, or an integer that is known at compile time.
    fn attribute_value(&mut self, expr: &Expr, scope: ScopeId) -> Option<AttributeValue> {
        match &expr.kind {
            ExprKind::Int(n, _) => Some(AttributeValue::Int(*n as i64)),
            ExprKind::Float(x, _) => Some(AttributeValue::Float(*x)),
            ExprKind::Bool(flag) => Some(AttributeValue::Bool(*flag)),
            ExprKind::String(text) => Some(AttributeValue::Text(*text)),
            ExprKind::Unary(UnaryOp::Neg, inner) => match self.attribute_value(inner, scope)? {
                AttributeValue::Int(n) => Some(AttributeValue::Int(n.wrapping_neg())),
                AttributeValue::Float(x) => Some(AttributeValue::Float(-x)),
                other @ (AttributeValue::Bool(_) | AttributeValue::Text(_)) => Some(other),
            },
            _ => {
                let checked = BodyCx::new(self, scope).expr(expr);
                let val = self.fold(&checked)?;
                self.program.types.known(val).map(AttributeValue::Int)
            }
        }
    }
}
