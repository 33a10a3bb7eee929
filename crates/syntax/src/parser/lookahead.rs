//! Lookahead: scans tokens to decide what a construct is, without building a tree.
//!
//! Positions are indices into the tokens. Each function returns the index after the tokens that it scanned. The scan of
//! generic arguments is bounded, so that a file full of `<` takes linear time.

use super::Parser;
use crate::token::{Kw, Punct, Token, TokenKind};

/// Most tokens a list of generic arguments may have to be recognized in an expression.
const MAX_GENERIC_TOKENS: usize = 500;

impl Parser<'_> {
    /// The index after the type at `pos`, if there is one.
    pub(super) fn skim_type(&self, pos: usize) -> Option<usize> {
        let mut i = pos;
        loop {
            if is_type_prefix(self.tokens[i].kw) && self.tokens[i + 1].is_ident() {
                i += 1;
            } else if self.tokens[i].kw == Kw::FuncType && self.tokens[i + 1].is(Punct::LParen) {
                i = self.behind(i + 1).filter(|behind| self.tokens[*behind].is(Punct::Arrow))? + 1;
            } else {
                break;
            }
        }
        if is_pack_query(&self.tokens[i]) && self.tokens[i + 1].is(Punct::LParen) {
            return self.skim_type_suffixes(self.behind(i + 1)?);
        }
        let from_root = self.tokens[i].is(Punct::ColonColon) && self.tokens[i + 1].is_ident();
        if !from_root {
            if !self.tokens[i].is_ident() || is_value(self.tokens[i].kw) {
                return None;
            }
            i += 1;
        }
        loop {
            let token = self.tokens[i];
            if token.is(Punct::Lt) {
                i = self.skim_generic(i)?;
            } else if (token.is(Punct::Dot) || token.is(Punct::ColonColon)) && self.tokens[i + 1].is_ident() {
                i += 2;
            } else {
                return self.skim_type_suffixes(i);
            }
        }
    }

    fn skim_type_suffixes(&self, mut i: usize) -> Option<usize> {
        loop {
            let token = self.tokens[i];
            if token.is(Punct::Star) {
                i += 1;
            } else if token.is(Punct::LBracket) {
                i = self.behind(i)?;
            } else {
                return Some(i);
            }
        }
    }

    /// The index after the generic arguments whose `<` is at `pos`. If they end with the first half of a
    /// `>>` whose second half closes an outer list, the index of that token.
    pub(super) fn skim_generic(&self, pos: usize) -> Option<usize> {
        let (mut i, mut depth) = (pos, 0);
        while i < pos + MAX_GENERIC_TOKENS {
            let closed = match self.tokens[i].kind {
                TokenKind::Punct(Punct::Lt) => -1,
                TokenKind::Punct(Punct::Gt) => 1,
                TokenKind::Punct(Punct::Shr) => 2,
                TokenKind::Punct(Punct::LParen | Punct::LBracket) => {
                    i = self.behind(i)?;
                    continue;
                }
                _ if may_be_in_generic(&self.tokens[i]) => 0,
                _ => return None,
            };
            depth -= closed;
            i += 1;
            match depth {
                0 if closed > 0 => return Some(i),
                -1 if self.angles > 0 => return Some(i - 1),
                ..=-1 => return None,
                _ => {}
            }
        }
        None
    }

    /// Whether the `<` at hand, after a name in an expression, opens generic arguments: they must close, and
    /// what follows must not be the right side of a comparison.
    pub(super) fn at_generic_args(&self) -> bool {
        let Some(behind) = self.skim_generic(self.pos) else {
            return false;
        };
        if self.tokens[self.pos..behind].iter().any(joins_conditions) && !self.is_surely_used(behind) {
            return false;
        }
        match self.tokens[behind].kind {
            TokenKind::Eof => true,
            TokenKind::Punct(punct) => !matches!(
                punct,
                Punct::Plus
                    | Punct::Minus
                    | Punct::Star
                    | Punct::Amp
                    | Punct::Bang
                    | Punct::Tilde
                    | Punct::PlusPlus
                    | Punct::MinusMinus
                    | Punct::LBrace
                    | Punct::Eq
            ),
            _ => false,
        }
    }

    /// Whether what follows `>` cannot be the right side of a comparison: a member, or a call without arguments.
    fn is_surely_used(&self, behind: usize) -> bool {
        let (next, after) = (self.tokens[behind], self.tokens.get(behind + 1));
        next.is(Punct::Dot)
            || next.is(Punct::ColonColon)
            || next.is(Punct::LParen) && after.is_some_and(|token| token.is(Punct::RParen))
    }

    /// Whether a local declaration begins here, as opposed to an expression.
    pub(super) fn at_local_decl(&self) -> bool {
        let mut i = self.pos;
        match self.peek().kw {
            Kw::Let
            | Kw::Var
            | Kw::Struct
            | Kw::Class
            | Kw::Enum
            | Kw::Typedef
            | Kw::Typealias
            | Kw::Using
            | Kw::Interface
            | Kw::Extension
            | Kw::Extension_
            | Kw::Func => {
                let next = self.nth(1);
                return next.is_ident() || (self.peek().kw == Kw::Struct && next.is(Punct::LBrace));
            }
            Kw::Try | Kw::Each | Kw::Expand => return false,
            Kw::NoDiff => i += 1,
            _ => {}
        }
        while super::prefix::modifier_kind(self.tokens[i].kw).is_some() && self.tokens[i + 1].is_ident() {
            if self.tokens[i].kw != Kw::NoDiff {
                return true;
            }
            i += 1;
        }
        let Some(name) = self.skim_type(i) else {
            return false;
        };
        let tests = matches!(self.tokens[name].kw, Kw::Is | Kw::As) && self.tokens[name + 1].is_ident();
        if !self.tokens[name].is_name() || tests {
            return false;
        }
        if !self.tokens[name - 1].is(Punct::Star) {
            return true;
        }
        // `a * b;` would compute a product for nothing, so it declares a pointer; `a * b + c` does not.
        let next = self.tokens[name + 1].kind;
        matches!(
            next,
            TokenKind::Punct(Punct::Eq | Punct::Semi | Punct::Comma | Punct::LBracket | Punct::Colon)
        )
    }

    /// Whether the `(` at hand opens the type of a cast, as opposed to an expression in parentheses.
    pub(super) fn at_cast(&self) -> bool {
        let Some(close) = self.skim_type(self.pos + 1) else {
            return false;
        };
        if !self.tokens[close].is(Punct::RParen) {
            return false;
        }
        let next = self.tokens[close + 1];
        match next.kind {
            TokenKind::Ident(_) => !matches!(next.kw, Kw::Is | Kw::As),
            TokenKind::Number(_) | TokenKind::String(_) | TokenKind::Char(_) => true,
            // `(f)()` calls.
            TokenKind::Punct(Punct::LParen) => !self.tokens[close + 2].is(Punct::RParen),
            TokenKind::Punct(Punct::Bang | Punct::Tilde | Punct::LBrace) => true,
            TokenKind::Punct(
                Punct::Minus | Punct::Plus | Punct::Amp | Punct::Star | Punct::PlusPlus | Punct::MinusMinus,
            ) => self.is_surely_type(self.pos + 1, close),
            _ => false,
        }
    }

    /// Whether the tokens from `from` to `to`, which form a type, can be nothing else.
    fn is_surely_type(&self, from: usize, to: usize) -> bool {
        let builtin = is_builtin_type(self.tokens[from].spelling());
        match self.tokens[to - 1].kind {
            // `(a[0]) - b` subtracts from an element.
            TokenKind::Punct(Punct::RBracket) => builtin,
            TokenKind::Punct(_) => true,
            _ => to == from + 1 && builtin,
        }
    }

    /// Whether the `(` at hand opens the parameters of a lambda.
    pub(super) fn at_lambda(&self) -> bool {
        self.behind(self.pos).is_some_and(|behind| self.tokens[behind].is(Punct::FatArrow))
    }
}

/// Words before a type that belong to it.
pub(super) fn is_type_prefix(kw: Kw) -> bool {
    matches!(
        kw,
        Kw::Expand
            | Kw::Each
            | Kw::NoDiff
            | Kw::Dyn
            | Kw::Const
            | Kw::SNorm
            | Kw::UNorm
            | Kw::RowMajor
            | Kw::ColumnMajor
    )
}

/// Words that are values and so never begin a type.
fn is_value(kw: Kw) -> bool {
    matches!(kw, Kw::This | Kw::True | Kw::False | Kw::None_ | Kw::Nullptr | Kw::Operator)
}

/// Whether an operator is more likely to stand between two comparisons, as in `a < b && c > (d)`, than in a generic argument.
fn joins_conditions(token: &Token) -> bool {
    [Punct::AndAnd, Punct::OrOr, Punct::Amp, Punct::Pipe, Punct::Caret].into_iter().any(|p| token.is(p))
}

/// Whether a word takes types in parentheses and is a type with them: `__first(T)`.
pub(super) fn is_pack_query(token: &Token) -> bool {
    matches!(token.kw, Kw::First | Kw::Last | Kw::TrimFirst | Kw::TrimLast | Kw::PackBranch)
}

fn may_be_in_generic(token: &Token) -> bool {
    match token.kind {
        TokenKind::Ident(_) | TokenKind::Number(_) | TokenKind::Char(_) => true,
        TokenKind::Punct(punct) => matches!(
            punct,
            Punct::Comma
                | Punct::Dot
                | Punct::ColonColon
                | Punct::Star
                | Punct::Plus
                | Punct::Minus
                | Punct::Slash
                | Punct::Percent
                | Punct::Arrow
                | Punct::Shl
                | Punct::Tilde
                | Punct::Bang
                | Punct::EqEq
                | Punct::Ne
                | Punct::Amp
                | Punct::Pipe
                | Punct::Caret
                | Punct::AndAnd
                | Punct::OrOr
        ),
        _ => false,
    }
}

/// Whether `name` is a built-in scalar, vector or matrix type: `float`, `int3`, `half2x4`.
fn is_builtin_type(name: &str) -> bool {
    const SCALARS: [&str; 24] = [
        "bool",
        "int",
        "uint",
        "half",
        "float",
        "double",
        "int8_t",
        "int16_t",
        "int32_t",
        "int64_t",
        "uint8_t",
        "uint16_t",
        "uint32_t",
        "uint64_t",
        "float16_t",
        "float32_t",
        "float64_t",
        "intptr_t",
        "uintptr_t",
        "size_t",
        "usize_t",
        "void",
        "vector",
        "matrix",
    ];
    let is_shape = |shape: &str| match shape.as_bytes() {
        [] => true,
        [n] => (b'1'..=b'4').contains(n),
        [r, b'x', c] => (b'1'..=b'4').contains(r) && (b'1'..=b'4').contains(c),
        _ => false,
    };
    SCALARS.iter().any(|scalar| name.strip_prefix(scalar).is_some_and(is_shape))
}

#[cfg(test)]
mod tests {
    use super::is_builtin_type;

    #[test]
    fn built_in_types_are_known_by_their_names() {
        for name in ["float", "int3", "half2x4", "uint8_t4", "double1x1"] {
            assert!(is_builtin_type(name), "{name}");
        }
        for name in ["floaty", "int5", "float2x5", "int3x", "Ray"] {
            assert!(!is_builtin_type(name), "{name}");
        }
    }
}
