//! Line information in text: inserts markers into naga's module, and replaces them in the output.

use super::{Line, out_of_step, place};
use crate::Result;
use cotangent_ir::layout::Target;
use naga::{Block, Expression, Handle, Literal, Statement};

/// The module with a marker before each statement that has a place, and the name that all markers begin with: no word of `plain`,
/// which is the module as text.
pub(crate) fn marked(module: &naga::Module, plain: &str) -> (naga::Module, String) {
    let mut name = String::from("spot");
    while plain.contains(&name) {
        name.push('t');
    }
    let mut module = module.clone();
    let inner = naga::TypeInner::Scalar(naga::Scalar::U32);
    let ty = module.types.insert(naga::Type { name: None, inner }, naga::Span::UNDEFINED);
    let handles: Vec<_> = module.functions.iter().map(|(handle, _)| handle).collect();
    for handle in handles {
        mark(module.functions.get_mut(handle), ty, &name);
    }
    for entry in &mut module.entry_points {
        mark(&mut entry.function, ty, &name);
    }
    (module, name)
}

/// Adds markers to a function. Their variable and their expressions come after all others, whose numbers the text shows.
fn mark(function: &mut naga::Function, ty: Handle<naga::Type>, name: &str) {
    let variable = naga::LocalVariable { name: Some(name.to_string()), ty, init: None };
    let variable = function.local_variables.append(variable, naga::Span::UNDEFINED);
    let pointer = Expression::LocalVariable(variable);
    let pointer = function.expressions.append(pointer, naga::Span::UNDEFINED);
    let mut marker = |number: u32| {
        let value = Expression::Literal(Literal::U32(number));
        let value = function.expressions.append(value, naga::Span::UNDEFINED);
        Statement::Store { pointer, value }
    };
    mark_block(&mut function.body, &mut marker);
}

fn mark_block(block: &mut Block, marker: &mut dyn FnMut(u32) -> Statement) {
    let plain = std::mem::take(block);
    let mut last = 0;
    for (mut statement, span) in plain.span_into_iter() {
        let number = number_of(span);
        // A block that printed nothing must go on doing so.
        let prints = !matches!(statement, Statement::Block(ref inner) if inner.is_empty());
        if number != 0 && number != last && prints {
            block.push(marker(number), span);
        }
        // What is inside says its own place, so that after it this one is said again.
        last = if mark_inner(&mut statement, marker) { 0 } else { number };
        block.push(statement, span);
    }
}

/// Marks the blocks of a statement; whether it has any.
#[expect(clippy::wildcard_enum_match_arm, reason = "naga adds variants")]
fn mark_inner(statement: &mut Statement, marker: &mut dyn FnMut(u32) -> Statement) -> bool {
    match statement {
        Statement::Block(block) => mark_block(block, marker),
        Statement::If { accept, reject, .. } => {
            mark_block(accept, marker);
            mark_block(reject, marker);
        }
        Statement::Switch { cases, .. } => {
            cases.iter_mut().for_each(|case| mark_block(&mut case.body, marker));
        }
        Statement::Loop { body, continuing, .. } => {
            mark_block(body, marker);
            mark_block(continuing, marker);
        }
        _ => return false,
    }
    true
}

/// `plain` with the lines that the markers in `marked` tell.
pub(crate) fn in_text(
    plain: &str,
    marked: &str,
    name: &str,
    table: &[Line],
    target: Target,
) -> Result<String> {
    let mut rest = plain.lines().peekable();
    let mut text = Directives { target, table, out: String::new(), wanted: 0, counted: None };
    for line in marked.lines() {
        if line.contains(name) {
            text.marker(line, name)?;
        } else if rest.peek().is_some_and(|plain| *plain == line) {
            text.line(line);
            rest.next();
        } else if !line.is_empty() {
            return out_of_step();
        }
    }
    match rest.next() {
        Some(_) => out_of_step(),
        None => Ok(text.out),
    }
}

/// Text with directives, under construction.
struct Directives<'t> {
    target: Target,
    table: &'t [Line],
    out: String,
    /// The place of what comes next, or 0.
    wanted: u32,
    /// The file and line that a compiler takes the next line for.
    counted: Option<(&'t str, u32)>,
}

impl<'t> Directives<'t> {
    /// A marker, or the declaration of its variable, which begins with a type.
    fn marker(&mut self, line: &str, name: &str) -> Result<()> {
        self.wanted = 0;
        if line.trim_start().starts_with(name) {
            let number = line.rsplit_once("= ").and_then(|(_, number)| number.strip_suffix("u;"));
            let Some(Ok(number)) = number.map(str::parse) else { return out_of_step() };
            self.wanted = number;
        }
        Ok(())
    }

    /// A line of the plain text.
    fn line(&mut self, line: &str) {
        // Nothing is at braces, and no place is known between functions.
        let is_code = line.contains(|c: char| c.is_alphanumeric());
        if line == "}" {
            self.wanted = 0;
            self.counted = self.counted.filter(|_| self.target != Target::Wgsl);
        }
        if let Some(place) = place(self.table, self.wanted).filter(|_| is_code) {
            self.directive(place, line);
        }
        self.out += line;
        self.out.push('\n');
        if line.starts_with("#version") && self.target == Target::Glsl {
            self.out += "#extension GL_GOOGLE_cpp_style_line_directive : require\n";
        }
        if self.target != Target::Wgsl {
            self.counted = self.counted.map(|(file, line)| (file, line + 1));
        }
    }

    fn directive(&mut self, place: &'t Line, line: &str) {
        let Line { file, line: number, .. } = place;
        if self.counted == Some((file, *number)) {
            return;
        }
        let escaped = escaped(file);
        if self.target == Target::Wgsl {
            let indent = line.len() - line.trim_start().len();
            self.out += &format!("{:indent$}// {escaped}:{number}\n", "");
        } else if self.counted.is_some_and(|(last, _)| last == file) {
            self.out += &format!("#line {number}\n");
        } else {
            self.out += &format!("#line {number} \"{escaped}\"\n");
        }
        self.counted = Some((file, *number));
    }
}

/// A file's name as it stands between quotes, on one line.
fn escaped(file: &str) -> String {
    let mut out = String::new();
    for c in file.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            // These end a line as well, in WGSL.
            '\u{2028}' | '\u{2029}' => out += &format!("\\u{:04x}", c as u32),
            c if c.is_control() => out += &format!("\\u{:04x}", c as u32),
            c => out.push(c),
        }
    }
    out
}

fn number_of(span: naga::Span) -> u32 {
    span.to_range().map_or(0, |range| range.start as u32)
}
