//! Text to modules: everything but function bodies, which [`super::body`] reads.
//!
//! Items may refer to later ones. So a first pass over the tokens finds the names of all structures, functions
//! and globals and gives them their numbers; a second reads structures, derivative rows and globals, on which
//! the defaults of parameters depend; a third reads functions.

use super::LinearValues;
use super::lex::{self, Kind, Token};
use super::print::{differentiable, mode_name, system_name};
use super::{ParseError, body};
use crate::{
    Access, DiffRow, Dir, Entry, Func, FuncId, FuncKind, Global, GlobalData, GlobalKind, Inline, Mode,
    Module, Param, Prefer, Ret, Signature, StructField, SystemValue, Ty, Type,
};
use cotangent_base::{Entity, Map, Scalar, Span, Symbol};

/// The result of everything here.
pub(super) type Parsed<T> = Result<T, ParseError>;

/// Reads a module; linear values only if `linear`.
pub(super) fn module(text: &str, linear: bool) -> Parsed<(Module, LinearValues)> {
    let mut parser = Parser {
        text,
        tokens: lex::tokens(text)?,
        at: 0,
        module: Module::default(),
        funcs: Map::default(),
        globals: Map::default(),
        linear,
    };
    let items = parser.find_items()?;
    let of = |word: &'static str| items.iter().filter(move |i| i.0 == word).map(|i| i.1);
    of("struct").try_for_each(|at| parser.at_item(at).struct_item())?;
    of("diff").try_for_each(|at| parser.at_item(at).diff_item())?;
    of("global").try_for_each(|at| parser.at_item(at).global_item())?;
    let mut values = LinearValues::default();
    for at in of("func") {
        parser.at_item(at).func_item(&mut values)?;
    }
    Ok((parser.module, values))
}

/// The tokens, the place among them, and what has been read.
pub(super) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    at: usize,
    pub(super) module: Module,
    funcs: Map<Symbol, FuncId>,
    globals: Map<Symbol, Global>,
    /// Whether values may be linear.
    pub(super) linear: bool,
}

/// Small steps, which the body parser uses too.
impl<'a> Parser<'a> {
    /// The next token.
    pub(super) fn peek(&self) -> &Kind<'a> {
        &self.tokens[self.at].kind
    }

    /// The token behind the next.
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
            _ => self.error("expected a word"),
        }
    }

    /// Takes a number.
    pub(super) fn number<N: std::str::FromStr>(&mut self) -> Parsed<N> {
        let word = self.word()?;
        word.parse().or_else(|_| self.error_before("expected an integer that fits here"))
    }

    /// Takes a name, quoted or not.
    fn name(&mut self) -> Parsed<Symbol> {
        match self.next() {
            Kind::Word(word) => Ok(Symbol::new(word)),
            Kind::Quoted(name) => Ok(Symbol::new(&name)),
            _ => self.error_before("expected a name"),
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
            _ => None,
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
    fn in_parens<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.expect("(")?;
        let value = inner(self)?;
        self.expect(")")?;
        Ok(value)
    }

    /// A type.
    pub(super) fn ty(&mut self) -> Parsed<Ty> {
        let ty = match self.next() {
            Kind::Punct("[") => {
                let elem = self.ty()?;
                self.expect(";")?;
                let len = self.number()?;
                self.expect("]")?;
                Type::Array(elem, len)
            }
            Kind::Dollar(name) => match self.module.types.struct_named(Symbol::new(&name)) {
                Some(id) => Type::Struct(id),
                None => return self.error_before(format!("there is no structure `${name}`")),
            },
            Kind::Word("unit") => Type::Unit,
            Kind::Word("buffer") => Type::Buffer(self.in_angles()?, Access::Read),
            Kind::Word("rwbuffer") => Type::Buffer(self.in_angles()?, Access::ReadWrite),
            Kind::Word("ref") => Type::Ref(self.in_angles()?),
            Kind::Word(word) => match shape(word) {
                Some(ty) => ty,
                None => return self.error_before(format!("`{word}` is not a type")),
            },
            _ => return self.error_before("expected a type"),
        };
        Ok(self.module.types.intern(ty))
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

/// Items.
impl Parser<'_> {
    fn at_item(&mut self, at: usize) -> &mut Self {
        self.at = at;
        self
    }

    /// Finds where items begin and numbers the things they name.
    fn find_items(&mut self) -> Parsed<Vec<(&'static str, usize)>> {
        let mut items = Vec::new();
        let mut depth = 0;
        while *self.peek() != Kind::End {
            let at = self.at;
            match self.next() {
                Kind::Punct("{") => depth += 1,
                Kind::Punct("}") if depth == 0 => return self.error_before("nothing is open here"),
                Kind::Punct("}") => depth -= 1,
                Kind::Word("struct") if depth == 0 => {
                    self.declare_struct()?;
                    items.push(("struct", at + 1));
                }
                Kind::Word("global") if depth == 0 => {
                    self.declare_global()?;
                    items.push(("global", at + 1));
                }
                Kind::Word("func") if depth == 0 => {
                    self.declare_func()?;
                    items.push(("func", at + 1));
                }
                Kind::Word("diff") if depth == 0 && matches!(self.peek(), Kind::Dollar(_)) => {
                    items.push(("diff", at + 1));
                }
                _ if items.is_empty() => {
                    return self.error_before("expected `struct`, `diff`, `global` or `func`");
                }
                _ => {}
            }
        }
        if depth > 0 { self.error("a `}` is missing") } else { Ok(items) }
    }

    fn declare_struct(&mut self) -> Parsed<()> {
        let Kind::Dollar(name) = self.peek() else {
            return self.error("expected a structure: `$name`");
        };
        let name = Symbol::new(name);
        if self.module.types.struct_named(name).is_some() {
            return self.error(format!("there are two structures `${name}`"));
        }
        self.module.types.add_struct(name, vec![]);
        Ok(())
    }

    fn declare_func(&mut self) -> Parsed<()> {
        let Kind::At(name) = self.peek() else {
            return self.error("expected a function: `@name`");
        };
        let (name, id) = (Symbol::new(name), FuncId::new(self.funcs.len()));
        match self.funcs.insert(name, id) {
            Some(_) => self.error(format!("there are two functions `@{name}`")),
            None => Ok(()),
        }
    }

    fn declare_global(&mut self) -> Parsed<()> {
        let Kind::At(name) = self.peek() else {
            return self.error("expected a global: `@name`");
        };
        let (name, id) = (Symbol::new(name), Global::new(self.globals.len()));
        match self.globals.insert(name, id) {
            Some(_) => self.error(format!("there are two globals `@{name}`")),
            None => Ok(()),
        }
    }

    /// An item ends where another begins.
    fn end_item(&mut self) -> Parsed<()> {
        match self.peek() {
            Kind::End | Kind::Word("struct" | "diff" | "global" | "func") => Ok(()),
            _ => self.error("expected the next item"),
        }
    }

    fn struct_name(&mut self) -> Parsed<crate::StructId> {
        let Kind::Dollar(name) = self.next() else {
            return self.error_before("expected a structure: `$name`");
        };
        let found = self.module.types.struct_named(Symbol::new(&name));
        found.map_or_else(|| self.error_before(format!("there is no structure `${name}`")), Ok)
    }

    fn struct_item(&mut self) -> Parsed<()> {
        let id = self.struct_name()?;
        self.expect("{")?;
        let fields = self.list("}", |p| {
            let name = p.name()?;
            p.expect(":")?;
            Ok(StructField { name, ty: p.ty()? })
        })?;
        self.module.types.set_fields(id, fields);
        self.end_item()
    }

    fn diff_item(&mut self) -> Parsed<()> {
        let id = self.struct_name()?;
        self.expect("=")?;
        let differential = self.ty()?;
        self.expect("{")?;
        let targets: Vec<Symbol> = match self.module.types.get(differential) {
            Type::Struct(d) => self.module.types.struct_def(d).fields.iter().map(|f| f.name).collect(),
            _ => vec![],
        };
        let mut names = self.module.types.struct_def(id).fields.clone().into_iter();
        let fields = self.list("}", |p| {
            let name = p.name()?;
            if names.next().map(|f| f.name) != Some(name) {
                return p.error_before("the fields must be those of the structure, in order");
            }
            p.expect("->")?;
            p.diff_target(&targets)
        })?;
        if names.next().is_some() {
            return self.error_before("a field of the structure is missing");
        }
        let zero = if self.eat_word("zero") { Some(self.func()?) } else { None };
        let add = if self.eat_word("add") { Some(self.func()?) } else { None };
        self.module.diff.set(id, DiffRow { differential, fields, zero, add });
        self.end_item()
    }

    fn diff_target(&mut self, targets: &[Symbol]) -> Parsed<Option<u32>> {
        if self.eat("-") {
            return Ok(None);
        }
        let name = self.name()?;
        let by_name = targets.iter().position(|t| *t == name).map(|i| i as u32);
        match by_name.or_else(|| name.as_str().parse().ok()) {
            Some(index) => Ok(Some(index)),
            None => self.error_before("the differential has no such field"),
        }
    }

    fn global_item(&mut self) -> Parsed<()> {
        let id = self.global()?;
        let name = self.globals.iter().find(|g| *g.1 == id).map(|g| *g.0).expect("it was declared");
        self.expect(":")?;
        let ty = self.ty()?;
        let kind = match self.word()? {
            "param" => GlobalKind::Param,
            "shared" => GlobalKind::Shared,
            "static" if *self.peek() == Kind::Punct("(") => {
                GlobalKind::Static(Some(self.in_parens(Self::func)?))
            }
            "static" => GlobalKind::Static(None),
            _ => return self.error_before("expected `param`, `shared` or `static`"),
        };
        self.module.globals.push(GlobalData { name, ty, kind, span: Span::none() });
        self.end_item()
    }
}

/// A parameter and how its value, if it is an input, is written.
type ParsedParam<'a> = (Param, Option<lex::ValueName<'a>>);

/// Functions.
impl<'a> Parser<'a> {
    fn func_item(&mut self, linear: &mut LinearValues) -> Parsed<()> {
        let Kind::At(name) = self.next() else {
            return self.error_before("expected a function");
        };
        self.expect("(")?;
        let params = self.list(")", Self::param)?;
        let ret = if self.eat("->") { Some(self.ret()?) } else { None };
        let (params, inputs): (Vec<_>, Vec<_>) = params.into_iter().unzip();
        let mut func = Func::new(Symbol::new(&name), Signature { params, ret }, Span::none());
        self.attributes(&mut func)?;
        let inputs: Vec<_> = inputs.into_iter().flatten().collect();
        let (func, set) = body::parse(self, func, inputs)?;
        let id = self.module.funcs.push(func);
        linear.insert(id, set);
        self.end_item()
    }

    fn marker(&mut self) -> Option<bool> {
        let named = matches!(self.peek_second(), Kind::Punct(":"));
        if !named && self.eat_word("no_diff") {
            return Some(false);
        }
        (!named && self.eat_word("diff")).then_some(true)
    }

    fn param(&mut self) -> Parsed<ParsedParam<'a>> {
        let marker = self.marker();
        let named = matches!(self.peek_second(), Kind::Punct(":"));
        let dir = match self.peek() {
            Kind::Word("out") if !named => Dir::Out,
            Kind::Word("inout") if !named => Dir::InOut,
            _ => Dir::In,
        };
        self.at += usize::from(dir != Dir::In);
        let written = if matches!(self.peek(), Kind::Value(_)) { None } else { Some(self.name()?) };
        let value = match (dir, self.peek().clone()) {
            (Dir::In | Dir::InOut, Kind::Value(value)) => {
                self.at += 1;
                Some(value)
            }
            (Dir::In | Dir::InOut, _) => return self.error("expected the value of the parameter: `%name`"),
            (Dir::Out, _) => None,
        };
        let of_value = value.as_ref().map(|v| Symbol::new(v.name.as_deref().unwrap_or(v.text)));
        let Some(name) = written.or(of_value) else {
            return self.error("expected a name");
        };
        self.expect(":")?;
        let ty = self.ty()?;
        let diff = marker.unwrap_or_else(|| differentiable(&self.module, ty));
        Ok((Param { name, ty, dir, diff }, value))
    }

    fn ret(&mut self) -> Parsed<Ret> {
        let marker = self.marker();
        let ty = self.ty()?;
        Ok(Ret { ty, diff: marker.unwrap_or_else(|| differentiable(&self.module, ty)) })
    }

    fn mode(&mut self) -> Parsed<Mode> {
        self.choice(&[Mode::Forward, Mode::Backward].map(|m| (mode_name(m), m)))
    }

    fn attributes(&mut self, func: &mut Func) -> Parsed<()> {
        while let Kind::Word(word) = *self.peek() {
            if matches!(word, "struct" | "diff" | "global" | "func") {
                return Ok(());
            }
            self.at += 1;
            match word {
                "differentiable" => func.diff.differentiable = Some(self.in_parens(Self::mode)?),
                "rule" => func.diff.rule = Some(self.in_parens(Self::func)?),
                "forward" => func.diff.forward = Some(self.in_parens(Self::func)?),
                "backward" => func.diff.backward = Some(self.in_parens(Self::func)?),
                "substitute" => func.diff.substitute = Some(self.in_parens(Self::func)?),
                "constant" => func.diff.constant = true,
                "prefer" => {
                    let choices = [("recompute", Prefer::Recompute), ("checkpoint", Prefer::Checkpoint)];
                    func.diff.prefer = self.in_parens(|p| p.choice(&choices))?;
                }
                "inline" => {
                    let choices = [("early", Inline::Early), ("never", Inline::Never)];
                    func.inline = self.in_parens(|p| p.choice(&choices))?;
                }
                "entry" => func.entry = Some(self.entry()?),
                "request" => {
                    let (mode, of) = self.in_parens(|p| Ok((p.mode()?, p.func()?)))?;
                    func.kind = FuncKind::Request(mode, of);
                }
                _ => return self.error_before(format!("`{word}` is not an attribute of functions")),
            }
        }
        Ok(())
    }

    fn entry(&mut self) -> Parsed<Entry> {
        self.expect("(")?;
        let threads = self.list(")", Self::number::<u32>)?;
        let Ok(threads) = threads.try_into() else {
            return self.error_before("expected three sizes");
        };
        let all = [
            SystemValue::DispatchThreadId,
            SystemValue::GroupId,
            SystemValue::GroupThreadId,
            SystemValue::GroupIndex,
        ];
        let choices = all.map(|v| (system_name(v), v));
        let inputs = if self.eat("(") { self.list(")", |p| p.choice(&choices))? } else { vec![] };
        Ok(Entry { threads, inputs })
    }
}
