//! Writes text that the program has in the language itself: `__intrinsic_asm` and `__target_intrinsic`.
//!
//! | in the text | stands for |
//! | --- | --- |
//! | `$0`, `$1`, .. | the arguments of the function; in a method `$0` is the object |
//! | `$*1` | all arguments from that one on |
//! | `$T0`, `$TR` | the type of an argument, of the result |
//! | `$$` | a dollar sign |
//!
//! A text without `$` that is only a name is the name of a function, and one that begins with `.` of a method of the first
//! argument; the arguments follow in parentheses.

use crate::Result;
use crate::expr::Expr;
use crate::func::FuncEmitter;
use cotangent_ir::InstData;
use cotangent_ir::capabilities::Feature;
use cotangent_passes::precedence::PRIMARY;

impl FuncEmitter<'_, '_> {
    /// Writes the text with the values of its arguments.
    pub fn target_text(&mut self, data: &InstData, text: &str) -> Result<()> {
        let args: Vec<Expr> = data.operands.iter().map(|v| self.value(*v)).collect();
        let texts: Vec<String> = args.iter().map(|arg| arg.at_least(PRIMARY)).collect();
        let Some(code) = self.expand(data, text, &texts) else {
            let what = format!("the text `{text}` is not supported");
            return self.e.refuse(Feature::TargetText, self.span, &what);
        };
        self.write_memory();
        match data.results.first() {
            Some(result) => {
                let code = Expr { effect: true, ..Expr::of(code, 0, &[]) };
                self.returned_value(*result, code);
            }
            None => self.line(&format!("{code};")),
        }
        Ok(())
    }

    fn expand(&self, data: &InstData, text: &str, args: &[String]) -> Option<String> {
        let is_name = |text: &str| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':')
        };
        if is_name(text) {
            return Some(format!("{text}({})", args.join(", ")));
        }
        if let (Some(method), [object, rest @ ..]) = (text.strip_prefix('.').filter(|m| is_name(m)), args) {
            return Some(format!("{object}.{method}({})", rest.join(", ")));
        }
        let mut code = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            code += before;
            let mut letters = after.chars();
            let first = letters.next()?;
            let second = || after[1..].chars().next();
            let number = |c: Option<char>| c.and_then(|c| c.to_digit(10)).map(|n| n as usize);
            let taken = match first {
                '$' => {
                    code.push('$');
                    1
                }
                '0'..='9' => {
                    code += args.get(number(Some(first))?)?;
                    1
                }
                '*' => {
                    code += &args.get(number(second())?..)?.join(", ");
                    2
                }
                'T' if second() == Some('R') => {
                    code += &data.results.first().map_or("void".into(), |r| self.e.ty(self.func.ty(*r)));
                    2
                }
                'T' => {
                    code += &self.e.ty(self.func.ty(*data.operands.get(number(second())?)?));
                    2
                }
                _ => return None,
            };
            rest = &after[taken..];
        }
        Some(code + rest)
    }
}
