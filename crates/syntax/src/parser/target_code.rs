//! Parses code that is not Slang: text of target languages in functions, and the words before declarations that name it.
//!
//! A function that `__target_intrinsic` or `__intrinsic_op` stands before gets a body: a `__target_switch` over the texts, whose
//! `default` is the body that was written, if there is one.

use super::prefix::Prefix;
use super::{Parse, Parser, codes};
use crate::ast::{
    Attribute, Block, CodeKind, Expr, ExprKind, FuncDecl, Ident, Platform, Stmt, StmtKind, SwitchCase,
    TargetCode,
};
use crate::token::{Punct, TokenKind};
use cotangent_base::{Span, Symbol};

/// Words before a declaration that take arguments, as attributes do.
const PREFIXES: [&str; 10] = [
    "__intrinsic_op",
    "__target_intrinsic",
    "__glsl_extension",
    "__glsl_version",
    "__spirv_version",
    "__spirv_capability",
    "__spirv_extension",
    "__cuda_sm_version",
    "__wgsl_extension",
    "__requires_capability",
];

/// Whether a word before parentheses belongs to the declaration after it.
pub(super) fn is_prefix(word: &str) -> bool {
    PREFIXES.contains(&word)
}

impl Parser<'_> {
    /// `__intrinsic_asm "text";`, which is what the function returns.
    pub(super) fn intrinsic_asm(&mut self) -> Parse<StmtKind> {
        let start = self.bump().span;
        let TokenKind::String(_) = self.peek().kind else {
            return self.expected(codes::EXPECTED_TOKEN, "the text of the target after `__intrinsic_asm`");
        };
        let text = self.string_text()?;
        // Types and values that follow are not parameters of the function, so nothing here can name them.
        let mut kind = CodeKind::Text;
        while self.eat(Punct::Comma) {
            self.assign()?;
            kind = CodeKind::Assembly;
        }
        self.semi()?;
        Ok(StmtKind::Return(Some(code(kind, text, None, self.span_from(start)))))
    }

    /// `__requirePrelude("text")`.
    pub(super) fn prelude(&mut self) -> Parse<Expr> {
        let start = self.bump().span;
        let open = self.pos;
        self.expect(Punct::LParen)?;
        let TokenKind::String(_) = self.peek().kind else {
            return self.expected(codes::EXPECTED_TOKEN, "the text of the target in `__requirePrelude(..)`");
        };
        let text = self.string_text()?;
        self.close(open)?;
        Ok(code(CodeKind::Prelude, text, None, self.span_from(start)))
    }

    /// `spirv_asm { .. }`: its instructions are skipped, up to the type of what it gives: `result:$$T = ..`.
    pub(super) fn spirv_asm(&mut self) -> Parse<Expr> {
        let start = self.bump().span;
        let open = self.pos;
        let Some(behind) = self.behind(open) else {
            self.bump();
            return self.expected(codes::EXPECTED_TOKEN, "`}` after the instructions");
        };
        let result = (open..behind).find(|i| {
            self.tokens[*i].spelling() == "result"
                && self.tokens[i + 1].is(Punct::Colon)
                && self.tokens[i + 2].is(Punct::Dollar)
                && self.tokens[i + 3].is(Punct::Dollar)
        });
        let ty = match result {
            Some(at) => {
                self.pos = at + 4;
                Some(self.ty()?)
            }
            None => None,
        };
        self.pos = behind;
        Ok(code(CodeKind::Assembly, Symbol::new("spirv_asm"), ty, self.span_from(start)))
    }

    fn string_text(&mut self) -> Parse<Symbol> {
        match self.strings()?.kind {
            ExprKind::String(text) => Ok(text),
            _ => Err(super::Abort),
        }
    }
}

fn code(kind: CodeKind, text: Symbol, ty: Option<Expr>, span: Span) -> Expr {
    Expr { kind: ExprKind::TargetCode(Box::new(TargetCode { kind, text, ty })), span }
}

fn returned(kind: CodeKind, text: Symbol, span: Span) -> Stmt {
    let value = code(kind, text, None, span);
    Stmt { attributes: vec![], kind: StmtKind::Return(Some(value)), span }
}

/// Writes the body that the words before a function ask for.
pub(super) fn add_targets(prefix: &mut Prefix, func: &mut FuncDecl) {
    let mut cases = vec![];
    let mut operation = None;
    for attribute in &prefix.attributes {
        match attribute.name.name.as_str() {
            "__target_intrinsic" => cases.extend(case(attribute, func.name)),
            "__intrinsic_op" if func.body.is_none() => {
                operation = Some((operation_name(attribute), attribute.span));
            }
            _ => {}
        }
    }
    if cases.is_empty() && operation.is_none() {
        return;
    }
    let last = match (&func.body, operation) {
        (Some(body), _) => Some(body.block().clone()),
        (None, Some((name, span))) => {
            Some(Block { stmts: vec![returned(CodeKind::Operation, name, span)], span })
        }
        (None, None) => None,
    };
    if let Some(block) = last {
        if cases.is_empty() {
            func.body = Some(block.into());
            return;
        }
        let span = block.span;
        cases.push(SwitchCase { labels: vec![None], body: block.stmts, span });
    }
    let Some(first) = cases.first() else { return };
    let span = first.span;
    let switch = Stmt { attributes: vec![], kind: StmtKind::Platform(Platform::Target, cases), span };
    func.body = Some(Block { stmts: vec![switch], span }.into());
}

/// `__target_intrinsic(cpp, "text")`; without a text it is the name of the function.
fn case(attribute: &Attribute, name: Ident) -> Option<SwitchCase> {
    let label = attribute.args.first()?.clone();
    let text = match attribute.args.last()?.kind {
        ExprKind::String(text) => text,
        _ => name.name,
    };
    let body = vec![returned(CodeKind::Text, text, attribute.span)];
    Some(SwitchCase { labels: vec![Some(label)], body, span: attribute.span })
}

fn operation_name(attribute: &Attribute) -> Symbol {
    match attribute.args.first().map(|arg| &arg.kind) {
        Some(ExprKind::Name(name)) => *name,
        _ => Symbol::new("?"),
    }
}
