//! The position in the token stream, and the small steps that all parsers share.

use super::ParseError;
use super::lex::{self, Kind, Token};
use crate::texture::{Dim, Opaque, Texture};
use crate::{Access, FuncId, Global, Module, Ty, Type};
use cotangent_base::{Map, Scalar, Symbol};

/// The result of every step.
pub(super) type Parsed<T> = Result<T, ParseError>;

/// How deeply types may nest.
const MAX_DEPTH: usize = 64;

/// The tokens, the place among them, and what has been read.
pub(super) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    pub(super) at: usize,
    /// How many types enclose the one being read.
    depth: usize,
    pub(super) module: Module,
    pub(super) funcs: Map<Symbol, FuncId>,
    pub(super) globals: Map<Symbol, Global>,
    /// Whether values may be linear.
    pub(super) linear: bool,
}

impl<'a> Parser<'a> {
    /// At the start of a text.
    pub(super) fn new(text: &'a str, linear: bool) -> Parsed<Self> {
        Ok(Parser {
            text,
            tokens: lex::tokens(text)?,
            at: 0,
            depth: 0,
            module: Module::default(),
            funcs: Map::default(),
            globals: Map::default(),
            linear,
        })
    }

    /// The next token.
    pub(super) fn peek(&self) -> &Kind<'a> {
        &self.tokens[self.at].kind
    }

    /// The token after the next.
    pub(super) fn peek_second(&self) -> &Kind<'a> {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].kind
    }

    /// Takes the next token.
    pub(super) fn next(&mut self) -> Kind<'a> {
        let kind = self.peek().clone();
        if kind != Kind::End {
            self.at += 1;
        }
        kind
    }

    /// An error at the next token.
    pub(super) fn error<T>(&self, message: impl Into<String>) -> Parsed<T> {
        Err(lex::error(self.text, self.tokens[self.at].start, message))
    }

    /// An error at a value.
    pub(super) fn error_at<T>(&self, value: &lex::ValueName<'a>, message: impl Into<String>) -> Parsed<T> {
        Err(lex::error(self.text, value.start, message))
    }

    /// An error at the token just taken.
    pub(super) fn error_before<T>(&self, message: impl Into<String>) -> Parsed<T> {
        Err(lex::error(self.text, self.tokens[self.at.saturating_sub(1)].start, message))
    }

    /// Whether the next token is this word.
    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Kind::Word(w) if *w == word)
    }

    /// Takes this word if it is next.
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let is = self.is_word(word);
        self.at += usize::from(is);
        is
    }

    /// Takes this sign if it is next.
    pub(super) fn eat(&mut self, punct: &str) -> bool {
        let is = matches!(self.peek(), Kind::Punct(p) if *p == punct);
        self.at += usize::from(is);
        is
    }

    /// Takes this sign.
    pub(super) fn expect(&mut self, punct: &str) -> Parsed<()> {
        if self.eat(punct) { Ok(()) } else { self.error(format!("expected `{punct}`")) }
    }

    /// Takes this word.
    pub(super) fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.eat_word(word) { Ok(()) } else { self.error(format!("expected `{word}`")) }
    }

    /// Takes a word.
    pub(super) fn word(&mut self) -> Parsed<&'a str> {
        match *self.peek() {
            Kind::Word(word) => {
                self.at += 1;
                Ok(word)
            }
            Kind::Quoted(_) | Kind::Value(_) | Kind::At(_) | Kind::Dollar(_) | Kind::Punct(_) | Kind::End => {
                self.error("expected a word")
            }
        }
    }

    /// Takes a number.
    pub(super) fn number<N: std::str::FromStr>(&mut self) -> Parsed<N> {
        let word = self.word()?;
        word.parse().or_else(|_| self.error_before("expected an integer that fits here"))
    }

    /// Takes a name, quoted or not.
    pub(super) fn name(&mut self) -> Parsed<Symbol> {
        match self.next() {
            Kind::Word(word) => Ok(Symbol::new(word)),
            Kind::Quoted(name) => Ok(Symbol::new(&name)),
            Kind::Value(_) | Kind::At(_) | Kind::Dollar(_) | Kind::Punct(_) | Kind::End => {
                self.error_before("expected a name")
            }
        }
    }

    /// Reads items with commas between, up to the closing sign, which it takes.
    pub(super) fn list<T>(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        while !self.eat(close) {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Takes one of some words and gives what it stands for.
    pub(super) fn choice<T: Copy>(&mut self, choices: &[(&str, T)]) -> Parsed<T> {
        let found = match self.peek() {
            Kind::Word(word) => choices.iter().find(|c| c.0 == *word),
            Kind::Quoted(_) | Kind::Value(_) | Kind::At(_) | Kind::Dollar(_) | Kind::Punct(_) | Kind::End => {
                None
            }
        };
        let Some(&(_, value)) = found else {
            let words: Vec<String> = choices.iter().map(|c| format!("`{}`", c.0)).collect();
            return self.error(format!("expected {}", words.join(" or ")));
        };
        self.at += 1;
        Ok(value)
    }

    /// Takes a function's name.
    pub(super) fn func(&mut self) -> Parsed<FuncId> {
        let Kind::At(name) = self.next() else {
            return self.error_before("expected a function: `@name`");
        };
        let found = self.funcs.get(&Symbol::new(&name)).copied();
        found.map_or_else(|| self.error_before(format!("there is no function `@{name}`")), Ok)
    }

    /// Takes a global's name.
    pub(super) fn global(&mut self) -> Parsed<Global> {
        let Kind::At(name) = self.next() else {
            return self.error_before("expected a global: `@name`");
        };
        let found = self.globals.get(&Symbol::new(&name)).copied();
        found.map_or_else(|| self.error_before(format!("there is no global `@{name}`")), Ok)
    }

    /// `'(' x ')'`.
    pub(super) fn in_parens<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.expect("(")?;
        let value = inner(self)?;
        self.expect(")")?;
        Ok(value)
    }

    /// A type.
    pub(super) fn ty(&mut self) -> Parsed<Ty> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.error("types nest too deeply");
        }
        let ty = match self.next() {
            Kind::Punct("[") => {
                let elem = self.ty()?;
                self.expect(";")?;
                let len = self.number()?;
                self.expect("]")?;
                Type::Array(elem, len)
            }
            Kind::Dollar(name) => match self.module.types.struct_named(Symbol::new(&name)) {
                Some(id) if self.module.types.struct_def(id).sum => Type::Sum(id),
                Some(id) => Type::Struct(id),
                None => return self.error_before(format!("there is no structure `${name}`")),
            },
            Kind::Word("unit") => Type::Unit,
            Kind::Word("buffer") => Type::Buffer(self.in_angles()?, Access::Read),
            Kind::Word("rwbuffer") => Type::Buffer(self.in_angles()?, Access::ReadWrite),
            Kind::Word("texture") => self.texture(Access::Read)?,
            Kind::Word("rwtexture") => self.texture(Access::ReadWrite)?,
            Kind::Word("sampler") => Type::Opaque(Opaque::Sampler),
            Kind::Word("comparison_sampler") => Type::Opaque(Opaque::Comparison),
            Kind::Word("ref") => Type::Ref(self.in_angles()?),
            Kind::Word(word) => match shape(word) {
                Some(ty) => ty,
                None => return self.error_before(format!("`{word}` is not a type")),
            },
            Kind::Quoted(_) | Kind::Value(_) | Kind::At(_) | Kind::Punct(_) | Kind::End => {
                return self.error_before("expected a type");
            }
        };
        self.depth -= 1;
        Ok(self.module.types.intern(ty))
    }

    /// `<2d array f32x4>`.
    fn texture(&mut self, access: Access) -> Parsed<Type> {
        self.expect("<")?;
        let dim = self.choice(&Dim::ALL)?;
        let mut word = self.word()?;
        let array = word == "array";
        if array {
            word = self.word()?;
        }
        let Some(Type::Vector(scalar, lanes)) = shape(word) else {
            return self.error_before(format!("`{word}` is not a vector"));
        };
        self.expect(">")?;
        Ok(Type::Opaque(Opaque::Texture(Texture { dim, array, scalar, lanes, access })))
    }

    fn in_angles(&mut self) -> Parsed<Ty> {
        self.expect("<")?;
        let ty = self.ty()?;
        self.expect(">")?;
        Ok(ty)
    }
}

/// `f32`, `f32x3` or `f32x2x3`.
fn shape(word: &str) -> Option<Type> {
    let mut parts = word.split('x');
    let scalar = Scalar::from_name(parts.next()?)?;
    let sizes: Option<Vec<u8>> = parts.map(|n| n.parse().ok().filter(|n| (1..=4).contains(n))).collect();
    match sizes?[..] {
        [] => Some(Type::Scalar(scalar)),
        [n] => Some(Type::Vector(scalar, n)),
        [r, c] => Some(Type::Matrix(scalar, r, c)),
        _ => None,
    }
}
