//! Parses functions up to their bodies.

use super::LinearValues;
use super::body;
use super::lex::{self, Kind};
use super::parser::{Parsed, Parser};
use super::print::{differentiable, mode_name};
use crate::{
    Apply, Dir, Entry, Func, FuncKind, Inline, Interpolation, Link, Location, Mode, Param, Prefer, Ret,
    Signature, Stage, SystemValue,
};
use cotangent_base::{Span, Symbol};

/// A parameter and how its value, if it is an input, is written.
type ParsedParam<'a> = (Param, Option<lex::ValueName<'a>>);

/// Functions.
impl<'a> Parser<'a> {
    pub(super) fn func_item(&mut self, linear: &mut LinearValues) -> Parsed<()> {
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
            Kind::Word(_)
            | Kind::Quoted(_)
            | Kind::Value(_)
            | Kind::At(_)
            | Kind::Dollar(_)
            | Kind::Punct(_)
            | Kind::End => Dir::In,
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
                "origin" => func.origin = Some(self.in_parens(Self::name)?),
                "differentiable" => func.diff.differentiable = Some(self.in_parens(Self::mode)?),
                "rule" => func.diff.rule = Some(self.in_parens(Self::func)?),
                "forward" => func.diff.forward = Some(self.in_parens(Self::func)?),
                "backward" => func.diff.backward = Some(self.in_parens(Self::func)?),
                "apply" => {
                    let (primal, pullback) = self.in_parens(|p| Ok((p.func()?, p.func()?)))?;
                    func.diff.apply = Some(Apply { primal, pullback });
                }
                "substitute" => func.diff.substitute = Some(self.in_parens(Self::func)?),
                "constant" => func.diff.constant = true,
                "held" => {
                    self.expect("(")?;
                    func.diff.held = self.list(")", Self::name)?;
                }
                "held_result" => func.diff.held_result = true,
                "prefer" => {
                    let choices = [
                        ("recompute", Prefer::Recompute),
                        ("checkpoint", Prefer::Checkpoint),
                        ("rerun", Prefer::Rerun),
                    ];
                    func.diff.prefer = self.in_parens(|p| p.choice(&choices))?;
                }
                "inline" => {
                    let choices = [("early", Inline::Early), ("never", Inline::Never)];
                    func.inline = self.in_parens(|p| p.choice(&choices))?;
                }
                "entry" => func.entry = Some(self.entry()?),
                "vertex" => func.entry = Some(self.stage(Stage::Vertex)?),
                "fragment" => func.entry = Some(self.stage(Stage::Fragment)?),
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
        let inputs = if self.eat("(") { self.list(")", Self::link)? } else { vec![] };
        Ok(Entry { stage: Stage::Compute, threads, inputs, outputs: vec![] })
    }

    /// `(input..) gives(output..)`, after the name of a stage.
    fn stage(&mut self, stage: Stage) -> Parsed<Entry> {
        let inputs = self.in_parens_list()?;
        let outputs = if self.eat_word("gives") { self.in_parens_list()? } else { vec![] };
        Ok(Entry { stage, threads: [1; 3], inputs, outputs })
    }

    fn in_parens_list(&mut self) -> Parsed<Vec<Link>> {
        self.expect("(")?;
        self.list(")", Self::link)
    }

    /// `position` or `location 2 flat TEXCOORD0`.
    fn link(&mut self) -> Parsed<Link> {
        if !self.eat_word("location") {
            let choices = SystemValue::ALL.map(|(name, _, value)| (name, value));
            return Ok(Link::System(self.choice(&choices)?));
        }
        let index = self.number::<u32>()?;
        let interpolation = self.choice(&Interpolation::ALL)?;
        let semantic = self.name()?;
        Ok(Link::Location(Location { index, interpolation, semantic }))
    }
}
