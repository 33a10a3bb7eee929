//! Words and notations of other languages, with what to write instead.
//!
//! Input: the tokens around an error of the parser. Output: the help for it, if they are what people bring along from GLSL, Metal, C++,
//! CUDA, Python or Rust. A word counts only where it stands as it does in its language, since all of them are names here:
//!
//! ```text
//! virtual float f()       the first word of a statement or declaration, before another word      HEADS
//! float x = new float     the token that was not expected, or the one before                     INSIDE
//! void f(float &x)        operators                                                              notation
//! ```

use super::Parser;
use crate::token::{Kw, Punct, Token, TokenKind};
use cotangent_base::Diagnostic;

/// Words that begin a statement or declaration.
const HEADS: &[(&str, &str)] = &[
    ("virtual", "remove `virtual`: a method is chosen at run time if it is called through an interface"),
    ("friend", "remove the line: there are no friends; declare members `internal` or `public`"),
    ("template", "write generic parameters after the name: `T square<T : IFloat>(T x) { .. }`"),
    (
        "__global__",
        "write `[numthreads(64, 1, 1)]` before an entry point, or `[CudaKernel]` before a kernel of torch",
    ),
    ("__device__", "remove `__device__`: functions need no mark"),
    ("__host__", "remove `__host__`: functions need no mark"),
    ("__forceinline__", "write `[ForceInline]` before the function"),
    ("__shared__", "declare the variable outside functions, as `groupshared`"),
    ("__constant__", "declare the values `static const`, or as a parameter in a `ConstantBuffer`"),
    (
        "kernel",
        "write `[shader(\"compute\")] [numthreads(64, 1, 1)]` before the function; buffers are `RWStructuredBuffer`",
    ),
    ("fn", "write `func f(x : float) -> float { .. }` or `float f(float x) { .. }`"),
    ("def", "write `func f(x : float) -> float { .. }` or `float f(float x) { .. }`"),
    ("function", "write `func f(x : float) -> float { .. }` or `float f(float x) { .. }`"),
    ("pub", "write `public`"),
    ("use", "write `import name;` for a module, `using name;` for a namespace"),
    ("mod", "write `import name;` for a module, `namespace name { .. }` for a part of one"),
    ("impl", "write methods in the structure, or `extension A : I { .. }`"),
    ("trait", "write `interface`"),
    ("match", "write `switch (x) { case 0: ..; break; default: ..; }`"),
    ("loop", "write `for (;;) { .. }`"),
    ("unsafe", "remove `unsafe`"),
    ("try", "write `do { .. } catch (e : E) { .. }` around calls marked with `try`"),
    ("elif", "write `else if (..)`"),
    ("except", "write `do { .. } catch (e : E) { .. }`"),
    ("from", "write `import name;`, which makes all names of a module known"),
    ("delete", "remove the line: memory is never freed"),
    ("precision", "remove the line: types say how precise they are; `half` has 16 bits"),
    ("technique", "remove it: the host chooses entry points, which `[shader(\"..\")]` marks"),
    (
        "layout",
        "write `[[vk::binding(0, 0)]]` before a resource, `[numthreads(64, 1, 1)]` before an entry point; a buffer is `RWStructuredBuffer<T>`",
    ),
    ("varying", "values between stages are parameters and results of entry points, with semantics"),
    ("long", "write `int64_t`"),
    ("short", "write `int16_t`"),
    ("SamplerState", "remove the settings: the host sets them"),
];

/// Words where something else was expected, or just before that.
const INSIDE: &[(&str, &str)] = &[
    ("new", "memory is not allocated at run time: declare an array of fixed length, or a buffer"),
    ("mut", "write `var` for a variable that changes, `let` for one that does not"),
    ("and", "write `&&`"),
    ("or", "write `||`"),
    ("not", "write `!`"),
    ("is", "`is` asks for the type of a value; compare values with `==`"),
    ("as", "`as` asks for the type of a value: `x as T`; names cannot be changed at an import"),
    ("default", "`= default` is not needed: without a constructor, `{}` gives fields their defaults"),
];

impl Parser<'_> {
    /// Adds what to write instead of something that is not of this language.
    pub(super) fn with_foreign_help(&self, error: Diagnostic) -> Diagnostic {
        if error.help.is_some() || !error.is_error() {
            return error;
        }
        match self.notation().or_else(|| self.foreign_word()) {
            Some(help) => error.help(help),
            None => error,
        }
    }

    fn before(&self, n: usize) -> Option<Token> {
        self.pos.checked_sub(n).map(|at| self.tokens[at])
    }

    fn foreign_word(&self) -> Option<&'static str> {
        let near = [Some(self.peek()), self.before(1)].into_iter().flatten();
        let inside = near.filter_map(|token| look_up(INSIDE, token)).next();
        let head = self.first_of_item();
        let next = self.tokens.get(head + 1).copied();
        let begins = next
            .is_some_and(|t| t.is_ident() || t.is(Punct::LBrace) || t.is(Punct::LParen) || t.is(Punct::Lt));
        inside.or_else(|| begins.then(|| look_up(HEADS, self.tokens[head])).flatten())
    }

    /// The first token of the statement or declaration around the error.
    fn first_of_item(&self) -> usize {
        let ends =
            |token: &Token| token.is(Punct::Semi) || token.is(Punct::LBrace) || token.is(Punct::RBrace);
        let before = &self.tokens[..self.pos];
        let first = before.iter().rposition(ends).map_or(0, |at| at + 1);
        first.min(self.pos)
    }

    /// Whether the last token is a name that a value begins with: `= float3`.
    fn in_value(&self) -> bool {
        let begins = |token: Token| token.is(Punct::Eq) || token.is(Punct::LParen) || token.kw == Kw::Return;
        self.before(1).is_some_and(|token| token.is_ident()) && self.before(2).is_some_and(begins)
    }

    /// Operators that stand where they do in other languages.
    fn notation(&self) -> Option<&'static str> {
        let found = self.peek();
        let last = self.before(1).unwrap_or(found);
        let Token { kind: TokenKind::Punct(punct), .. } = found else {
            let is_in =
                found.kw == Kw::In && self.before(2).is_some_and(|t| t.is(Punct::LParen) || t.is_ident());
            let loops = is_in || last.kw == Kw::For;
            let test = matches!(last.kw, Kw::If | Kw::While | Kw::Switch);
            let constant = found.kw == Kw::Const && last.is(Punct::RParen);
            let base = matches!(last.kw, Kw::Public | Kw::Private)
                && self.before(2).is_some_and(|t| t.is(Punct::Colon) || t.is(Punct::Comma));
            return if loops {
                Some("write `for (int i = 0; i < n; i++)`")
            } else if test {
                Some("write the condition in parentheses: `(x > 0)`")
            } else if constant {
                Some("remove `const`: a method without `[mutating]` does not change its object")
            } else if base {
                Some("remove it: bases have no visibility of their own")
            } else if found.kw == Kw::If && !found.at_line_start() {
                Some("write `condition ? a : b`")
            } else {
                None
            };
        };
        let header = self.tokens[self.first_of_item()].kw == Kw::For;
        let visibility = matches!(last.kw, Kw::Public | Kw::Private | Kw::Internal);
        match punct {
            Punct::Amp if last.is_ident() || last.is(Punct::Gt) => {
                Some("write `inout T x` for a parameter that is changed; others need no reference")
            }
            Punct::RParen if header && self.before(2).is_some_and(|t| t.is(Punct::Colon)) => {
                Some("write `for (int i = 0; i < a.getCount(); i++)`")
            }
            Punct::Colon if visibility => Some("write `public` or `private` before each member"),
            Punct::Colon if self.tokens[self.first_of_item()].is_ident() => {
                Some("write the type before the name: `float x;`")
            }
            Punct::LBracket
                if self.nth(1).is(Punct::RBracket)
                    || self.nth(1).is(Punct::Amp)
                    || self.nth(1).is(Punct::Eq) =>
            {
                Some("a lambda is `(float x) => x * 2`; it captures values of its own accord")
            }
            Punct::LBracket if last.is(Punct::Eq) || last.kw == Kw::Return => {
                Some("write lists of values in braces: `{1, 2, 3}`")
            }
            Punct::Eq if last.is(Punct::Colon) => Some("write `int x = 3;`, or `let x = 3;`"),
            Punct::Pipe if last.is(Punct::Eq) => Some("a lambda is `(float x) => x * 2`"),
            Punct::LBrace if self.in_value() => Some("write the values in parentheses: `float3(1, 2, 3)`"),
            Punct::FatArrow if self.in_value() => {
                Some("write the type of the parameter: `(float x) => x * 2`")
            }
            Punct::FatArrow => Some("write the body of a function in braces: `{ return ..; }`"),
            Punct::Arrow => Some("write `func f(x : float) -> float { .. }` or `float f(float x) { .. }`"),
            Punct::At => Some("attributes are written `[shader(\"compute\")]`"),
            _ => None,
        }
    }
}

fn look_up(words: &[(&str, &'static str)], token: Token) -> Option<&'static str> {
    let TokenKind::Ident(name) = token.kind else { return None };
    words.iter().find(|(word, _)| *word == name.as_str()).map(|(_, help)| *help)
}
