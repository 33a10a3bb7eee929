//! Parses modules. [`super::header`] parses functions and [`super::body`] their bodies.
//!
//! Items may refer to later ones. So a first pass over the tokens finds the names of all structures, functions and globals
//! and numbers them. A second pass parses structures, derivative rows and globals, on which the defaults of parameters
//! depend. A third parses functions.

use super::LinearValues;
use super::lex::Kind;
use super::parser::{Parsed, Parser};
use crate::layout::Matrices;
use crate::{DiffRow, FuncId, Global, GlobalData, GlobalKind, Module, StructField, StructId, Type};
use cotangent_base::{Entity, Span, Symbol};

/// Reads a module; linear values only if `linear`.
pub(super) fn module(text: &str, linear: bool) -> Parsed<(Module, LinearValues)> {
    let mut parser = Parser::new(text, linear)?;
    let items = parser.find_items()?;
    let of = |word: &'static str| items.iter().filter(move |i| i.0 == word).map(|i| i.1);
    of("struct").try_for_each(|at| parser.at_item(at).struct_item())?;
    of("prelude").try_for_each(|at| {
        let text = parser.at_item(at).name()?;
        parser.module.preludes.push(text);
        parser.end_item()
    })?;
    of("diff").try_for_each(|at| parser.at_item(at).diff_item())?;
    of("global").try_for_each(|at| parser.at_item(at).global_item())?;
    let mut values = LinearValues::default();
    for at in of("func") {
        parser.at_item(at).func_item(&mut values)?;
    }
    Ok((parser.module, values))
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
                Kind::Word(word @ ("struct" | "sum"))
                    if depth == 0 && matches!(self.peek(), Kind::Dollar(_)) =>
                {
                    self.declare_struct(word == "sum")?;
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
                Kind::Word("prelude") if depth == 0 => items.push(("prelude", at + 1)),
                _ if items.is_empty() => {
                    return self
                        .error_before("expected `struct`, `sum`, `diff`, `global`, `prelude` or `func`");
                }
                Kind::Word(_)
                | Kind::Quoted(_)
                | Kind::Value(_)
                | Kind::At(_)
                | Kind::Dollar(_)
                | Kind::Punct(_)
                | Kind::End => {}
            }
        }
        if depth > 0 { self.error("a `}` is missing") } else { Ok(items) }
    }

    fn declare_struct(&mut self, sum: bool) -> Parsed<()> {
        let Kind::Dollar(name) = self.peek() else {
            return self.error("expected a structure: `$name`");
        };
        let name = Symbol::new(name);
        if self.module.types.struct_named(name).is_some() {
            return self.error(format!("there are two structures `${name}`"));
        }
        if sum {
            self.module.types.add_sum(name, vec![]);
        } else {
            self.module.types.add_struct(name, vec![]);
        }
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
    pub(super) fn end_item(&mut self) -> Parsed<()> {
        match self.peek() {
            Kind::End | Kind::Word("struct" | "sum" | "diff" | "global" | "prelude" | "func") => Ok(()),
            Kind::Word(_)
            | Kind::Quoted(_)
            | Kind::Value(_)
            | Kind::At(_)
            | Kind::Dollar(_)
            | Kind::Punct(_) => self.error("expected the next item"),
        }
    }

    fn struct_name(&mut self) -> Parsed<StructId> {
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
        if self.eat_word("ids") {
            self.expect("(")?;
            let ids = self.list(")", Self::number)?;
            self.module.types.set_ids(id, ids);
        }
        if self.eat_word("room") {
            self.expect("(")?;
            let room = self.number()?;
            self.expect(")")?;
            self.module.types.set_room(id, room);
        }
        let mut matrices = Vec::new();
        for (word, way) in [("rows", Matrices::Rows), ("columns", Matrices::Columns)] {
            if self.eat_word(word) {
                self.expect("(")?;
                matrices.extend(self.list(")", Self::number)?.into_iter().map(|field| (field, way)));
            }
        }
        self.module.types.set_matrices(id, matrices);
        self.end_item()
    }

    fn diff_item(&mut self) -> Parsed<()> {
        let id = self.struct_name()?;
        self.expect("=")?;
        let differential = self.ty()?;
        self.expect("{")?;
        let targets: Vec<Symbol> = match self.module.types.get(differential) {
            Type::Struct(d) | Type::Sum(d) => {
                self.module.types.struct_def(d).fields.iter().map(|f| f.name).collect()
            }
            Type::Unit
            | Type::Scalar(_)
            | Type::Vector(..)
            | Type::Matrix(..)
            | Type::Array(..)
            | Type::Buffer(..)
            | Type::Opaque(_)
            | Type::Ref(_) => vec![],
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
