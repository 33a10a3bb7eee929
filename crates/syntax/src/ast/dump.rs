//! Prints the tree, for tests: one S-expression per declaration and statement.
//!
//! Leaves are as in the source; `(+ a b)`, `(call f x)`, `(. a b)`, `(index a i)`, `(apply vector float 3)`. Literals have
//! their type: `1:i32`. Spans are omitted.

use super::*;
use std::fmt::Write;

/// The tree of a file as text.
pub fn file(file: &File) -> String {
    let mut dump = Dump { out: String::new(), indent: 0 };
    file.decls.iter().for_each(|d| dump.decl(d));
    dump.out
}

/// An expression or type as text, on one line.
pub fn expr(expr: &Expr) -> String {
    Dump { out: String::new(), indent: 0 }.expr(expr)
}

struct Dump {
    out: String,
    indent: usize,
}

/// `(head a b)`, or `head` alone without parts.
fn list(head: &str, parts: impl IntoIterator<Item = String>) -> String {
    let mut text = String::from(head);
    for part in parts.into_iter().filter(|p| !p.is_empty()) {
        text.push(' ');
        text.push_str(&part);
    }
    if text.len() == head.len() { text } else { format!("({text})") }
}

impl Dump {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:1$}{text}", "", self.indent * 2);
    }

    fn indented(&mut self, write: impl FnOnce(&mut Self)) {
        self.indent += 1;
        write(self);
        self.indent -= 1;
    }

    fn exprs<'e>(&self, list: impl IntoIterator<Item = &'e Expr>) -> Vec<String> {
        list.into_iter().map(|e| self.expr(e)).collect()
    }

    fn attributes(&self, attributes: &[Attribute]) -> String {
        let one = |a: &Attribute| {
            format!("[{}]", list(a.name.name.as_str(), self.exprs(&a.args)).trim_matches(['(', ')']))
        };
        attributes.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    fn modifiers(&self, modifiers: &[Modifier]) -> String {
        let word = |m: &Modifier| match m.kind {
            ModifierKind::NoDiff => "no_diff".to_string(),
            kind => format!("{kind:?}").to_lowercase(),
        };
        modifiers.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    fn prefix(&self, attributes: &[Attribute], modifiers: &[Modifier]) -> String {
        let parts = [self.attributes(attributes), self.modifiers(modifiers)];
        let mut text = parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join(" ");
        if !text.is_empty() {
            text.push(' ');
        }
        text
    }

    fn decl(&mut self, decl: &Decl) {
        let prefix = self.prefix(&decl.attributes, &decl.modifiers);
        match &decl.kind {
            DeclKind::Func(func) => self.func(&prefix, func),
            DeclKind::Constraint(condition) => self.line(&format!("{prefix}{}", self.condition(condition))),
            DeclKind::Var(var) => self.line(&format!("{prefix}{}", self.var(var))),
            DeclKind::Struct(s) => {
                let word = if s.is_class { "class" } else { "struct" };
                self.aggregate(&prefix, word, s.name.name.as_str(), &s.generics, &s.bases, &s.members);
            }
            DeclKind::Interface(i) => {
                self.aggregate(&prefix, "interface", i.name.name.as_str(), &i.generics, &i.bases, &i.members);
            }
            DeclKind::Extension(e) => {
                let target = self.expr(&e.target);
                self.aggregate(&prefix, "extension", &target, &e.generics, &e.bases, &e.members);
            }
            DeclKind::Enum(e) => self.enumeration(&prefix, e),
            DeclKind::Alias(alias) => {
                let generics = self.generics(&alias.generics);
                let mut parts = vec![alias.name.name.to_string(), generics];
                parts.extend(self.exprs(&alias.bases).into_iter().map(|b| format!(": {b}")));
                parts.extend(alias.ty.iter().map(|ty| self.expr(ty)));
                let text = list("alias", parts);
                self.line(&format!("{prefix}{text}"));
            }
            DeclKind::Assoc(assoc) => {
                let mut parts = vec![assoc.name.name.to_string()];
                parts.extend(self.exprs(&assoc.bounds).into_iter().map(|b| format!(": {b}")));
                parts.extend(assoc.wheres.iter().map(|w| self.condition(w)));
                self.line(&format!("{prefix}{}", list("associatedtype", parts)));
            }
            DeclKind::Property(property) => {
                let text = list("property", [property.name.name.to_string(), self.expr(&property.ty)]);
                self.line(&format!("{prefix}{text}"));
                self.accessors(&property.accessors);
            }
            DeclKind::Subscript(s) => {
                let parts = [self.generics(&s.generics), self.params(&s.params), self.expr(&s.result)];
                self.line(&format!("{prefix}{}", list("subscript", parts)));
                self.accessors(&s.accessors);
            }
            DeclKind::Namespace(path, members) => {
                let path: Vec<_> = path.iter().map(|p| p.name.to_string()).collect();
                self.line(&format!("{prefix}namespace {}", path.join(".")));
                self.indented(|d| members.iter().for_each(|m| d.decl(m)));
            }
            DeclKind::CBuffer(name, members) => {
                self.line(&format!("{prefix}cbuffer {}", name.name));
                self.indented(|d| members.iter().for_each(|m| d.decl(m)));
            }
            DeclKind::Using(path) => self.line(&format!("{prefix}{}", list("using", [self.expr(path)]))),
            DeclKind::Import(path) => self.line(&format!("{prefix}(import {})", path.name)),
            DeclKind::Include(path) => self.line(&format!("{prefix}(include {})", path.name)),
            DeclKind::Module(path) => self.line(&format!("{prefix}(module {})", path.name)),
            DeclKind::Implementing(path) => self.line(&format!("{prefix}(implementing {})", path.name)),
            DeclKind::Error => self.line("error"),
        }
    }

    fn func(&mut self, prefix: &str, func: &FuncDecl) {
        let mut parts =
            vec![func.name.name.to_string(), self.generics(&func.generics), self.params(&func.params)];
        if let Some(result) = &func.result {
            let no_diff = if func.no_diff_result { "no_diff " } else { "" };
            parts.push(format!("-> {no_diff}{}", self.expr(result)));
        }
        parts.extend(func.throws.iter().map(|t| format!("throws {}", self.expr(t))));
        parts.extend(func.semantic.iter().map(|s| format!(": {}", s.name)));
        let kind = match func.kind {
            FuncKind::Plain | FuncKind::Operator => "func",
            FuncKind::Constructor => "constructor",
        };
        let kind = if func.extends.is_some() { "func-extension" } else { kind };
        self.line(&format!("{prefix}{}", list(kind, parts)));
        if let Some(body) = &func.body {
            self.block(body.block());
        }
    }

    fn var(&self, var: &VarDecl) -> String {
        let ty = var.ty.as_ref().map_or("_".into(), |t| self.expr(t));
        let mut parts = vec![var.name.name.to_string(), ty];
        parts.extend(var.semantic.iter().map(|s| format!(": {}", s.name)));
        parts.extend(var.init.iter().map(|i| format!("= {}", self.expr(i))));
        list(if var.is_let { "let" } else { "var" }, parts)
    }

    fn aggregate(
        &mut self,
        prefix: &str,
        word: &str,
        name: &str,
        generics: &Generics,
        bases: &[Expr],
        members: &[Decl],
    ) {
        let mut parts = vec![name.to_string(), self.generics(generics)];
        parts.extend(self.exprs(bases).into_iter().map(|b| format!(": {b}")));
        self.line(&format!("{prefix}{}", list(word, parts)));
        self.indented(|d| members.iter().for_each(|m| d.decl(m)));
    }

    fn enumeration(&mut self, prefix: &str, e: &EnumDecl) {
        let name = e.name.map_or("_".into(), |n| n.name.to_string());
        let mut parts = vec![name];
        parts.extend(e.underlying.iter().map(|u| format!(": {}", self.expr(u))));
        parts.extend(e.cases.iter().map(|(name, value)| match value {
            Some(value) => format!("(= {} {})", name.name, self.expr(value)),
            None => name.name.to_string(),
        }));
        self.line(&format!("{prefix}{}", list("enum", parts)));
    }

    fn accessors(&mut self, accessors: &[Accessor]) {
        self.indented(|d| {
            for accessor in accessors {
                let prefix = d.prefix(&accessor.attributes, &[]);
                let value = accessor.value.map_or(String::new(), |v| v.name.to_string());
                let word = format!("{:?}", accessor.kind).to_lowercase();
                d.line(&format!("{prefix}{}", list(&word, [value])));
                if let Some(body) = &accessor.body {
                    d.block(body.block());
                }
            }
        });
    }

    fn generics(&self, generics: &Generics) -> String {
        if generics.params.is_empty() && generics.wheres.is_empty() {
            return String::new();
        }
        let param = |p: &GenericParam| {
            let (word, rest) = match &p.kind {
                GenericParamKind::Type(bounds) => ("", bounds.as_slice()),
                GenericParamKind::Value(ty) => ("let ", std::slice::from_ref(ty)),
                GenericParamKind::Pack(bounds) => ("each ", bounds.as_slice()),
                GenericParamKind::ValuePack(ty) => ("let each ", std::slice::from_ref(ty)),
                GenericParamKind::Witness(ty, bound) => {
                    return format!("(optional {} : {})", self.expr(ty), self.expr(bound));
                }
            };
            let mut parts: Vec<_> = self.exprs(rest).into_iter().map(|b| format!(": {b}")).collect();
            parts.extend(p.default.iter().map(|d| format!("= {}", self.expr(d))));
            list(&format!("{word}{}", p.name.name), parts)
        };
        let parts =
            generics.params.iter().map(param).chain(generics.wheres.iter().map(|w| self.condition(w)));
        format!("<{}>", parts.collect::<Vec<_>>().join(" "))
    }

    fn condition(&self, condition: &Where) -> String {
        match condition {
            Where::Conforms(subject, bounds) => {
                let bounds = self.exprs(bounds).into_iter().map(|b| format!(": {b}"));
                list("where", std::iter::once(self.expr(subject)).chain(bounds))
            }
            Where::Equal(a, b) => format!("(where (== {} {}))", self.expr(a), self.expr(b)),
            Where::Perhaps(a, b) => format!("(where (optional (== {} {})))", self.expr(a), self.expr(b)),
            Where::Coerces(to, from, implicit) => {
                let word = if *implicit { "implicit" } else { "explicit" };
                format!("(where ({word} {} {}))", self.expr(to), self.expr(from))
            }
            Where::NonEmpty(pack) => format!("(where (nonempty {}))", self.expr(pack)),
        }
    }

    fn params(&self, params: &[Param]) -> String {
        let param = |p: &Param| {
            let name = p.name.map_or("_".into(), |n| n.name.to_string());
            let mut parts = vec![self.expr(&p.ty)];
            parts.extend(p.semantic.iter().map(|s| format!(": {}", s.name)));
            parts.extend(p.default.iter().map(|d| format!("= {}", self.expr(d))));
            list(&format!("{}{name}", self.prefix(&p.attributes, &p.modifiers)), parts)
        };
        format!("({})", params.iter().map(param).collect::<Vec<_>>().join(" "))
    }

    fn block(&mut self, block: &Block) {
        self.indented(|d| block.stmts.iter().for_each(|s| d.stmt(s)));
    }

    fn nested(&mut self, stmt: &Stmt) {
        self.indented(|d| d.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let prefix = self.prefix(&stmt.attributes, &[]);
        let optional = |d: &Self, e: &Option<Expr>| e.as_ref().map_or("_".into(), |e| d.expr(e));
        match &stmt.kind {
            StmtKind::Empty => self.line("empty"),
            StmtKind::Expr(e) => self.line(&self.expr(e)),
            StmtKind::Decl(decls) => decls.iter().for_each(|d| self.decl(d)),
            StmtKind::Block(block) => {
                self.line(&format!("{prefix}block"));
                self.block(block);
            }
            StmtKind::If(cond, then, otherwise) => {
                let cond = match cond {
                    Cond::Expr(e) => self.expr(e),
                    Cond::Let(name, e) => format!("(let {} = {})", name.name, self.expr(e)),
                };
                self.line(&format!("{prefix}if {cond}"));
                self.nested(then);
                if let Some(otherwise) = otherwise {
                    self.line("else");
                    self.nested(otherwise);
                }
            }
            StmtKind::For(init, cond, step, body) => {
                self.line(&format!("{prefix}for {} {}", optional(self, cond), optional(self, step)));
                if let Some(init) = init {
                    self.indented(|d| {
                        d.line("init");
                        d.nested(init);
                    });
                }
                self.nested(body);
            }
            StmtKind::While(cond, body) => {
                self.line(&format!("{prefix}while {}", self.expr(cond)));
                self.nested(body);
            }
            StmtKind::DoWhile(body, cond) => {
                self.line(&format!("{prefix}do-while {}", self.expr(cond)));
                self.nested(body);
            }
            StmtKind::Switch(value, cases) => {
                self.line(&format!("{prefix}switch {}", self.expr(value)));
                self.indented(|d| cases.iter().for_each(|c| d.case(c)));
            }
            StmtKind::Platform(on, cases) => {
                self.line(&format!("{prefix}switch on {on:?}"));
                self.indented(|d| cases.iter().for_each(|c| d.case(c)));
            }
            StmtKind::Break(label) => self.line(&list("break", label.map(|l| l.name.to_string()))),
            StmtKind::Continue => self.line("continue"),
            StmtKind::Return(value) => self.line(&list("return", self.exprs(value))),
            StmtKind::Discard => self.line("discard"),
            StmtKind::Defer(stmt) => {
                self.line("defer");
                self.nested(stmt);
            }
            StmtKind::Labelled(label, stmt) => {
                self.line(&format!("label {}", label.name));
                self.nested(stmt);
            }
            StmtKind::Throw(value) => self.line(&list("throw", [self.expr(value)])),
            StmtKind::Catch(body, name, ty, handler) => {
                self.line("do");
                self.block(body);
                let name = name.map_or(String::new(), |n| n.name.to_string());
                self.line(&list("catch", [name, ty.as_ref().map_or(String::new(), |t| self.expr(t))]));
                self.block(handler);
            }
            StmtKind::Error => self.line("error"),
        }
    }

    fn case(&mut self, case: &SwitchCase) {
        let label = |l: &Option<Expr>| l.as_ref().map_or("default".into(), |e| self.expr(e));
        let labels: Vec<_> = case.labels.iter().map(label).collect();
        self.line(&format!("case {}", labels.join(" ")));
        self.indented(|d| case.body.iter().for_each(|s| d.stmt(s)));
    }

    fn expr(&self, expr: &Expr) -> String {
        let unary = |head: &str, e: &Expr| list(head, [self.expr(e)]);
        let binary = |head: &str, a: &Expr, b: &Expr| list(head, [self.expr(a), self.expr(b)]);
        let headed = |head: &str, first: &Expr, rest: &[Expr]| {
            list(head, std::iter::once(self.expr(first)).chain(self.exprs(rest)))
        };
        match &expr.kind {
            ExprKind::Name(name) => name.to_string(),
            ExprKind::Root => "root".into(),
            ExprKind::Int(value, scalar) => format!("{value}:{scalar}"),
            ExprKind::Float(value, scalar) => format!("{value:?}:{scalar}"),
            ExprKind::Bool(value) => value.to_string(),
            ExprKind::String(text) => format!("{:?}", text.as_str()),
            ExprKind::None => "none".into(),
            ExprKind::Null => "nullptr".into(),
            ExprKind::This => "this".into(),
            ExprKind::ThisType => "This".into(),
            ExprKind::Unary(op, e) => unary(unary_name(*op), e),
            ExprKind::Binary(op, a, b) => binary(binary_name(*op), a, b),
            ExprKind::Assign(op, a, b) => binary(&format!("{}=", op.map_or("", binary_name)), a, b),
            ExprKind::Ternary(c, a, b) => list("?", [self.expr(c), self.expr(a), self.expr(b)]),
            ExprKind::Call(f, args) => headed("call", f, args),
            ExprKind::Index(a, index) if index.is_empty() => list("index", [self.expr(a), "_".into()]),
            ExprKind::Index(a, index) => headed("index", a, index),
            ExprKind::Member(a, name) => list(".", [self.expr(a), name.name.to_string()]),
            ExprKind::Arrow(a, name) => list("->", [self.expr(a), name.name.to_string()]),
            ExprKind::Apply(f, args) => headed("apply", f, args),
            ExprKind::Pointer(t) => unary("pointer", t),
            ExprKind::Cast(t, e) => binary("cast", t, e),
            ExprKind::List(items) => format!("{{{}}}", self.exprs(items).join(" ")),
            ExprKind::Tuple(items) => list("tuple", self.exprs(items)),
            ExprKind::Paren(e) => unary("paren", e),
            ExprKind::NoDiff(e) => unary("no_diff", e),
            ExprKind::Laid(true, t) => unary("row_major", t),
            ExprKind::Laid(false, t) => unary("column_major", t),
            ExprKind::Diff(DiffMode::Forward, f) => unary("fwd_diff", f),
            ExprKind::Diff(DiffMode::Backward, f) => unary("bwd_diff", f),
            ExprKind::Measure(m, e) => unary(&format!("{m:?}").to_lowercase(), e),
            ExprKind::Is(e, t) => binary("is", e, t),
            ExprKind::As(e, t) => binary("as", e, t),
            ExprKind::Each(e) => unary("each", e),
            ExprKind::Expand(e) => unary("expand", e),
            ExprKind::Try(e) => unary("try", e),
            ExprKind::Lambda(lambda) => {
                list("lambda", [self.params(&lambda.params), Self::inline(&lambda.body)])
            }
            ExprKind::FuncType(params, result) => {
                list("functype", [format!("({})", self.exprs(params).join(" ")), self.expr(result)])
            }
            ExprKind::TargetCode(code) => list("target_code", [format!("{:?}", code.text.as_str())]),
            ExprKind::Error => "error".into(),
        }
    }

    /// A statement on one line, for the body of a lambda.
    fn inline(stmt: &Stmt) -> String {
        let mut dump = Dump { out: String::new(), indent: 0 };
        dump.stmt(stmt);
        dump.out.lines().map(str::trim).collect::<Vec<_>>().join("; ")
    }
}

fn unary_name(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Plus => "+",
        UnaryOp::Neg => "-",
        UnaryOp::Not => "!",
        UnaryOp::BitNot => "~",
        UnaryOp::PreInc => "++_",
        UnaryOp::PreDec => "--_",
        UnaryOp::PostInc => "_++",
        UnaryOp::PostDec => "_--",
        UnaryOp::Deref => "deref",
        UnaryOp::AddressOf => "address",
    }
}

fn binary_name(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Rem => "%",
        BinaryOp::And => "&&",
        BinaryOp::Or => "||",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        BinaryOp::Comma => ",",
    }
}
