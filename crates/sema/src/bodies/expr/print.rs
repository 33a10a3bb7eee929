//! Checks `printf(format, ..)`.
//!
//! The format is checked against the arguments here, unless a pack is among them, so that later stages need no check. A
//! literal string for `%s` becomes part of the format, so that only numbers remain as arguments.

use crate::bodies::body::BodyCx;
use crate::bodies::overload::{Argument, Callee};
use crate::codes;
use crate::facts::Facts;
use crate::hir::{Expr, ExprKind, TyKind};
use crate::tables::Item;
use cotangent_base::printf::{self, Conversion, Piece, Shown, Takes};
use cotangent_base::{Diagnostic, Span, Symbol};
use cotangent_syntax::ast;

impl Facts<'_> {
    /// Whether a name stands for the library's `printf`.
    pub(super) fn is_printf(self, callee: &Callee) -> bool {
        let Some(Item::Func(printf)) = self.tables.lang.get(&"printf".into()) else {
            return false;
        };
        matches!(callee.candidates[..], [only] if only.func == *printf)
    }
}

impl BodyCx<'_> {
    /// `printf(args)`.
    pub(super) fn printf(&mut self, args: &[ast::Expr], span: Span) -> Expr {
        let given = self.arguments(args);
        let mut values = Vec::new();
        for arg in given {
            match arg {
                Argument::Value(value) if self.cx.program.types.is_error(value.ty) => {
                    return self.error(span);
                }
                Argument::Value(value) => values.push(value),
                Argument::List(_, span) => {
                    return self.bad_format(span, "an initializer list cannot be printed");
                }
            }
        }
        let format = values.first().map(|format| (format.kind.clone(), format.span));
        let Some((ExprKind::String(mut format), place)) = format else {
            return self.bad_format(span, "the first argument of `printf` must be a string literal");
        };
        let values = match self.spread_vectors(format, &values) {
            Some((spread, values)) => {
                format = spread;
                values
            }
            None => values,
        };
        let pieces = match printf::parse(format.as_str()) {
            Ok(pieces) => pieces,
            Err(why) => return self.bad_format(place, why),
        };
        let mut values = values;
        let values = values.split_off(1);
        if values.iter().any(|value| self.cx.program.is_pack(value.ty)) {
            return self.print_pack(format, &pieces, values, span);
        }
        let wanted = pieces.iter().filter(|p| matches!(p, Piece::Value(_))).count();
        if wanted != values.len() {
            let plural = if wanted == 1 { "" } else { "s" };
            let message = format!("the format expects {wanted} value{plural}, {} given", values.len());
            return self.bad_format(place, message);
        }
        let Some((format, values)) = self.splice_text(format, &pieces, values) else {
            return self.error(span);
        };
        let ty = self.ty(TyKind::Void);
        Expr::new(ExprKind::Print(format, values), ty, span)
    }

    /// `%v3f` shows a vector: it stands for three conversions with commas between, and its value for three values. Nothing if
    /// there is none.
    fn spread_vectors(&mut self, format: Symbol, values: &[Expr]) -> Option<(Symbol, Vec<Expr>)> {
        let lanes = printf::vectors(format.as_str());
        if lanes.iter().all(Option::is_none) || lanes.len() + 1 != values.len() {
            return None;
        }
        let mut spread = vec![values[0].clone()];
        for (value, lanes) in values[1..].iter().zip(lanes) {
            let Some(lanes) = lanes else {
                spread.push(value.clone());
                continue;
            };
            let TyKind::Vector(lane, count) = self.kind(value.ty) else { return None };
            if self.cx.program.types.known(count) != Some(i64::from(lanes)) {
                return None;
            }
            // The vector is computed once.
            let held = self.temp("shown", value.ty, value.span);
            for number in 0..lanes {
                let vector = self.local(held, value.span);
                let vector = match number {
                    0 => {
                        Expr::new(ExprKind::Assign(vector.into(), value.clone().into()), value.ty, value.span)
                    }
                    _ => vector,
                };
                spread.push(Expr::new(ExprKind::Swizzle(vector.into(), vec![number]), lane, value.span));
            }
        }
        Some((Symbol::new(&printf::spread(format.as_str())), spread))
    }

    /// What is in a pack is known when its function is used, and compared with the format there.
    fn print_pack(&mut self, format: Symbol, pieces: &[Piece], values: Vec<Expr>, span: Span) -> Expr {
        let is_text = |piece: &Piece| matches!(piece, Piece::Value(c) if c.takes() == Takes::Text);
        if pieces.iter().any(is_text) {
            return self.bad_format(span, "`%s` in a format with a pack");
        }
        let ty = self.ty(TyKind::Void);
        Expr::new(ExprKind::Print(format, values), ty, span)
    }

    /// Checks values against conversions; text becomes part of the format.
    fn splice_text(
        &mut self,
        format: Symbol,
        pieces: &[Piece],
        values: Vec<Expr>,
    ) -> Option<(Symbol, Vec<Expr>)> {
        let (mut numbers, mut texts) = (Vec::new(), Vec::new());
        let conversions = pieces.iter().filter_map(|piece| match piece {
            Piece::Value(conversion) => Some(*conversion),
            Piece::Text(_) => None,
        });
        for (conversion, value) in conversions.zip(values) {
            match &value.kind {
                ExprKind::String(text) if conversion.takes() == Takes::Text => {
                    texts.push(Some(conversion.show(Shown::Text(text.as_str()))));
                    continue;
                }
                _ => texts.push(None),
            }
            self.check_printed(&conversion, &value)?;
            numbers.push(value);
        }
        Some((printf::replace(format.as_str(), &texts).map_or(format, |text| Symbol::new(&text)), numbers))
    }

    fn check_printed(&mut self, conversion: &Conversion, value: &Expr) -> Option<()> {
        let fits = match (conversion.takes(), self.kind(value.ty)) {
            (Takes::Integer, TyKind::Scalar(s)) => !s.is_float(),
            (Takes::Integer, TyKind::Enum(_)) => true,
            (Takes::Float, TyKind::Scalar(s)) => s.is_float(),
            _ => false,
        };
        if fits {
            return Some(());
        }
        let takes = match conversion.takes() {
            Takes::Integer => "an integer",
            Takes::Float => "a floating-point number",
            Takes::Text => "a literal string",
        };
        let message =
            format!("`%{}` prints {takes}, but this is `{}`", conversion.letter(), self.show(value.ty));
        self.bad_format(value.span, message);
        None
    }

    fn bad_format(&mut self, span: Span, message: impl Into<String>) -> Expr {
        self.report(Diagnostic::new(codes::BAD_FORMAT, span, message));
        self.error(span)
    }
}
