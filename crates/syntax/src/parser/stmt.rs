//! Parses statements.

use super::{Parse, Parser, codes};
use crate::ast::{Attribute, Block, Cond, Decl, Expr, ExprKind, Ident, Platform, Stmt, StmtKind, SwitchCase};
use crate::token::{Kw, Punct, TokenKind};
use cotangent_base::Diagnostic;

impl Parser<'_> {
    /// `{ statements }`.
    pub(super) fn block(&mut self) -> Parse<Block> {
        let (open, start) = (self.pos, self.peek().span);
        self.expect(Punct::LBrace)?;
        let mut stmts = Vec::new();
        while !self.at(Punct::RBrace) && !self.at_end() {
            stmts.push(self.stmt_or_error());
        }
        self.close(open)?;
        Ok(Block { stmts, span: self.span_from(start) })
    }

    /// A statement; after an error, an error node and the parser is where the next may begin.
    fn stmt_or_error(&mut self) -> Stmt {
        let start = self.pos;
        self.stmt().unwrap_or_else(|_| {
            self.sync_statement(start);
            if self.pos == start && !self.at(Punct::RBrace) {
                self.bump();
            }
            let span = self.span_from(self.tokens[start].span);
            Stmt { attributes: vec![], kind: StmtKind::Error, span }
        })
    }

    pub(super) fn stmt(&mut self) -> Parse<Stmt> {
        self.nested(|p| {
            let start = p.peek().span;
            let mut attributes = Vec::new();
            while p.at(Punct::LBracket) {
                p.attributes(&mut attributes)?;
            }
            if p.at(Punct::RBrace) || p.at_end() {
                p.check_not_dangling(&attributes, &[]);
            }
            let kind = p.stmt_kind(&mut attributes)?;
            Ok(Stmt { attributes, kind, span: p.span_from(start) })
        })
    }

    fn stmt_kind(&mut self, attributes: &mut Vec<Attribute>) -> Parse<StmtKind> {
        let (token, next) = (self.peek(), self.nth(1));
        if self.eat(Punct::Semi) {
            return Ok(StmtKind::Empty);
        }
        if self.at(Punct::LBrace) {
            return Ok(StmtKind::Block(self.block()?));
        }
        match token.kw {
            Kw::If if next.is(Punct::LParen) => self.if_stmt(),
            Kw::For | Kw::While | Kw::Switch | Kw::If => self.headed(token.kw),
            Kw::Do => self.do_stmt(),
            Kw::Return => self.return_stmt(),
            Kw::Break => self.break_stmt(),
            Kw::Continue => {
                self.bump();
                self.semi()?;
                Ok(StmtKind::Continue)
            }
            Kw::Discard if next.is(Punct::Semi) => {
                self.bump();
                self.semi()?;
                Ok(StmtKind::Discard)
            }
            Kw::Defer if next.is_ident() || next.is(Punct::LBrace) => {
                self.bump();
                Ok(StmtKind::Defer(Box::new(self.stmt()?)))
            }
            Kw::Throw if !matches!(next.kind, TokenKind::Punct(_)) => {
                self.bump();
                let value = self.expr()?;
                self.semi()?;
                Ok(StmtKind::Throw(value))
            }
            Kw::Else | Kw::Case | Kw::Catch => self.misplaced(),
            Kw::Default if next.is(Punct::Colon) => self.misplaced(),
            Kw::Goto if next.is_ident() => {
                let error = Diagnostic::new(codes::NO_GOTO, token.span, "there is no `goto`");
                self.fail(error.help("label a loop or `switch` and leave it with `break label;`"))
            }
            Kw::TargetSwitch | Kw::StageSwitch => {
                let on = if self.bump().kw == Kw::TargetSwitch { Platform::Target } else { Platform::Stage };
                Ok(StmtKind::Platform(on, self.switch_cases()?))
            }
            Kw::Let | Kw::Var if self.at_taken_apart() => {
                let message = format!("expected the name of a variable after `{}`", token.spelling());
                let error = Diagnostic::new(codes::EXPECTED_NAME, next.span, message);
                self.fail(
                    error.help("name the tuple and select its elements: `let pair = ..;`, then `pair._0`"),
                )
            }
            Kw::IntrinsicAsm => self.intrinsic_asm(),
            _ if token.is_ident() && next.is(Punct::Colon) => {
                let label = self.expect_name("a label")?;
                self.bump();
                Ok(StmtKind::Labelled(label, Box::new(self.stmt()?)))
            }
            _ if self.at_local_decl() => Ok(StmtKind::Decl(self.local_decl(attributes)?)),
            _ => {
                let value = self.expr()?;
                self.semi()?;
                Ok(StmtKind::Expr(value))
            }
        }
    }

    /// At `let (a, b) =`, which looks like a call that is assigned to.
    fn at_taken_apart(&self) -> bool {
        let (mut at, mut depth) = (1, 0);
        loop {
            let token = self.nth(at);
            match token.kind {
                TokenKind::Punct(Punct::LParen) => depth += 1,
                TokenKind::Punct(Punct::RParen) => depth -= 1,
                _ if depth > 0 && (token.is_ident() || token.is(Punct::Comma)) => {}
                _ => return false,
            }
            at += 1;
            if depth == 0 {
                return at > 2 && self.nth(at).is(Punct::Eq);
            }
        }
    }

    fn misplaced(&mut self) -> Parse<StmtKind> {
        let word = self.bump();
        let (belongs, help) = match word.kw {
            Kw::Else => ("an `if`", "an extra `;` or `}` may have ended the `if` above"),
            Kw::Catch => ("a `do`", "write `do { .. } catch (e : E) { .. }`"),
            _ => ("a `switch`", "write `switch (x) { case 1: .. }`"),
        };
        let message = format!("`{}` without {belongs} before it", word.spelling());
        self.report(Diagnostic::new(codes::MISPLACED_WORD, word.span, message).help(help));
        match word.kw {
            // What follows is an ordinary statement and may have its own errors.
            Kw::Else => Ok(self.stmt()?.kind),
            _ => Err(super::Abort),
        }
    }

    /// A declaration in a function; attributes before it are its own.
    fn local_decl(&mut self, attributes: &mut Vec<Attribute>) -> Parse<Vec<Decl>> {
        let mut prefix = self.prefix()?;
        prefix.attributes.splice(0..0, attributes.drain(..));
        let mut decls = Vec::new();
        self.decl_behind(prefix, &mut decls)?;
        Ok(decls)
    }

    /// What stands in the parentheses of a statement's head. If it cannot be read, the body still can.
    fn in_parens<T>(&mut self, word: &str, broken: T, read: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        let open = self.pos;
        if !self.at(Punct::LParen) {
            let message = format!("expected `(` after `{word}`, found {}", self.peek().describe());
            let error = Diagnostic::new(codes::EXPECTED_TOKEN, self.prev_span().after(), message);
            return self.fail(error.here("add `(` here"));
        }
        self.bump();
        let result = read(self).and_then(|value| self.close(open).map(|()| value));
        match (result, self.behind(open)) {
            (Ok(value), _) => Ok(value),
            (Err(_), Some(behind)) if !self.gave_up => {
                self.pos = behind;
                Ok(broken)
            }
            (Err(abort), _) => Err(abort),
        }
    }

    fn broken(&self) -> Expr {
        Expr { kind: ExprKind::Error, span: self.peek().span }
    }

    /// `if (c) .. else if (d) .. else ..`, in a loop: the chain may be long.
    fn if_stmt(&mut self) -> Parse<StmtKind> {
        let mut chain = Vec::new();
        let mut otherwise = None;
        loop {
            let start = self.peek().span;
            let cond = self.if_condition()?;
            chain.push((start, cond, Box::new(self.stmt()?)));
            if chain.len() > self.limits.height as usize {
                return self.too_deep();
            }
            if !self.eat_kw(Kw::Else) {
                break;
            }
            if !(self.at_kw(Kw::If) && self.nth(1).is(Punct::LParen)) {
                otherwise = Some(Box::new(self.stmt()?));
                break;
            }
        }
        while let Some((start, cond, then)) = chain.pop() {
            let kind = StmtKind::If(cond, then, otherwise);
            if chain.is_empty() {
                return Ok(kind);
            }
            otherwise = Some(Box::new(Stmt { attributes: vec![], kind, span: self.span_from(start) }));
        }
        Err(super::Abort)
    }

    /// `if (c)` or `if (let x = c)`.
    fn if_condition(&mut self) -> Parse<Cond> {
        self.bump();
        let broken = Cond::Expr(self.broken());
        self.in_parens("if", broken, |p| {
            if !p.at_kw_name(Kw::Let) {
                return Ok(Cond::Expr(p.expr()?));
            }
            p.bump();
            let name = p.expect_name("a name for the value")?;
            p.expect(Punct::Eq)?;
            Ok(Cond::Let(name, p.expr()?))
        })
    }

    fn headed(&mut self, word: Kw) -> Parse<StmtKind> {
        let spelling = self.bump().spelling();
        let broken = self.broken();
        match word {
            Kw::For => self.for_stmt(),
            Kw::While => {
                let cond = self.in_parens(spelling, broken, Self::expr)?;
                Ok(StmtKind::While(cond, Box::new(self.stmt()?)))
            }
            Kw::Switch => {
                let value = self.in_parens(spelling, broken, Self::expr)?;
                Ok(StmtKind::Switch(value, self.switch_cases()?))
            }
            _ => {
                self.in_parens(spelling, broken, Self::expr)?;
                Err(super::Abort)
            }
        }
    }

    fn for_stmt(&mut self) -> Parse<StmtKind> {
        let (init, cond, step) = self.in_parens("for", (None, None, None), |p| {
            let init = p.for_init()?;
            let cond = if p.at(Punct::Semi) { None } else { Some(p.expr()?) };
            p.expect(Punct::Semi)?;
            let step = if p.at(Punct::RParen) { None } else { Some(p.comma_expr()?) };
            Ok((init, cond, step))
        })?;
        Ok(StmtKind::For(init, cond, step, Box::new(self.stmt()?)))
    }

    fn for_init(&mut self) -> Parse<Option<Box<Stmt>>> {
        let start = self.peek().span;
        if self.eat(Punct::Semi) {
            return Ok(None);
        }
        let kind = if self.at_local_decl() {
            StmtKind::Decl(self.local_decl(&mut vec![])?)
        } else {
            let value = self.comma_expr()?;
            self.expect(Punct::Semi)?;
            StmtKind::Expr(value)
        };
        Ok(Some(Box::new(Stmt { attributes: vec![], kind, span: self.span_from(start) })))
    }

    /// `do body while (c);` or `do { .. } catch (e : E) { .. }`.
    fn do_stmt(&mut self) -> Parse<StmtKind> {
        let start = self.bump().span;
        let body = self.stmt()?;
        if !self.eat_kw(Kw::Catch) {
            if !self.eat_kw(Kw::While) {
                return self.expected(codes::EXPECTED_TOKEN, "`while` or `catch` after the body of `do`");
            }
            let broken = self.broken();
            let cond = self.in_parens("while", broken, Self::expr)?;
            self.semi()?;
            return Ok(StmtKind::DoWhile(Box::new(body), cond));
        }
        let block = match body {
            Stmt { kind: StmtKind::Block(block), .. } => block,
            other => Block { span: other.span, stmts: vec![other] },
        };
        let mut block = block;
        loop {
            let (name, ty) = match self.at(Punct::LParen) {
                true => self.in_parens("catch", (None, None), Self::catch_param)?,
                false => (None, None),
            };
            let kind = StmtKind::Catch(block, name, ty, self.block()?);
            if !self.eat_kw(Kw::Catch) {
                return Ok(kind);
            }
            // The next one takes what this one does not, and what it throws itself.
            let span = self.span_from(start);
            block = Block { stmts: vec![Stmt { attributes: vec![], kind, span }], span };
        }
    }

    /// `e : E` or `E e`.
    fn catch_param(&mut self) -> Parse<(Option<Ident>, Option<Expr>)> {
        if self.nth(1).is(Punct::Colon) {
            let name = self.expect_name("a name for the error")?;
            self.bump();
            return Ok((Some(name), Some(self.ty()?)));
        }
        let ty = self.ty()?;
        Ok((Some(self.expect_name("a name for the error")?), Some(ty)))
    }

    fn switch_cases(&mut self) -> Parse<Vec<SwitchCase>> {
        let open = self.pos;
        self.expect(Punct::LBrace)?;
        let mut cases = Vec::new();
        while !self.at(Punct::RBrace) && !self.at_end() {
            // Statements before the first label are a case without one.
            cases.push(self.switch_case()?);
        }
        self.close(open)?;
        Ok(cases)
    }

    fn at_case(&self) -> bool {
        self.at_kw(Kw::Case) || (self.at_kw(Kw::Default) && self.nth(1).is(Punct::Colon))
    }

    fn switch_case(&mut self) -> Parse<SwitchCase> {
        let start = self.peek().span;
        let mut labels = Vec::new();
        while self.at_case() {
            let label = if self.bump().kw == Kw::Case { Some(self.expr()?) } else { None };
            self.expect(Punct::Colon)?;
            labels.push(label);
        }
        let mut body = Vec::new();
        while !self.at(Punct::RBrace) && !self.at_end() && !self.at_case() {
            body.push(self.stmt_or_error());
        }
        Ok(SwitchCase { labels, body, span: self.span_from(start) })
    }

    fn return_stmt(&mut self) -> Parse<StmtKind> {
        self.bump();
        if self.eat(Punct::Semi) {
            return Ok(StmtKind::Return(None));
        }
        // `return` without `;` before a `}` lacks the `;`, not a value.
        let value = if self.at(Punct::RBrace) { None } else { Some(self.expr()?) };
        self.semi()?;
        Ok(StmtKind::Return(value))
    }

    fn break_stmt(&mut self) -> Parse<StmtKind> {
        self.bump();
        let on_line = !self.peek().at_line_start();
        let label = self.ident_at(self.pos).filter(|_| on_line);
        if label.is_some() {
            self.bump();
        }
        self.semi()?;
        Ok(StmtKind::Break(label))
    }
}
