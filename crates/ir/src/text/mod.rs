//! The text form: prints a module and reads it back.
//!
//! `print_module(parse_module(t))` is `t` for every text that was printed, and the module read is the module
//! printed, except for spans, which are not printed, and for entities nothing refers to.
//!
//! ```text
//! struct $Ray { origin: f32x3, id: i32 }
//! struct $Ray.d { origin: f32x3, id: unit }
//! diff $Ray = $Ray.d { origin -> origin, id -> - } zero @zero
//! global @out: rwbuffer<f32> param
//!
//! func @zero() -> $Ray.d {
//!   %0: $Ray.d = zero
//!   return %0
//! }
//!
//! func @f(%x.0: f32, no_diff %y.1: f32, out z: f32) -> f32 differentiable(backward) {
//!   %2: f32 = const 2.0
//!   %3: bool = lt %x.0, %2
//!   %4: f32 = if %3 {
//!     %5: f32 = mul %x.0, %y.1
//!     yield %5
//!   } else {
//!     return %2, %2
//!   }
//!   return %4, %x.0
//! }
//! ```
//!
//! **Names.** `$` marks structures, `@` functions and globals, `%` values. A name of other characters than letters,
//! digits, `_` and `.` is quoted: `@"operator+"`. A value prints as `%7`, or `%x.7` if it has a name; numbers are
//! given in order of definition. When read, a value is whatever follows the `%`, so a person may write `%x`.
//! A *linear* value (see [`print_linear`]) has `~` in place of `%`.
//!
//! **Comments** begin with a `;` at the start of a line or after a blank, and end with the line.
//!
//! **Grammar.** `x,*` is a list of `x` with commas between, `x?` may be absent.
//! ```text
//! module   = (struct | diff | global | prelude | func)*     in any order
//! prelude  = 'prelude' "text"                               in the language of the target
//! struct   = ('struct' | 'sum') $name '{' (name ':' type),* '}' ('ids' '(' n,* ')')?
//! diff     = 'diff' $name '=' type '{' (name '->' (name | number | '-')),* '}' ('zero' @name)? ('add' @name)?
//! global   = 'global' @name ':' type ('param' | 'shared' | 'static' ('(' @name ')')?)
//! func     = 'func' @name '(' param,* ')' ('->' marker? type)? attribute* block?
//! param    = marker? ('out' name | 'inout'? name? value) ':' type
//! marker   = 'no_diff' | 'diff'                             where the type does not say it
//! attribute= 'differentiable' '(' mode ')' | ('rule' | 'forward' | 'backward' | 'substitute') '(' @name ')'
//!          | 'constant' | 'prefer' '(' ('recompute' | 'checkpoint' | 'rerun') ')' | 'inline' '(' ('early' | 'never') ')'
//!          | 'apply' '(' @name @name ')'
//!          | 'entry' '(' n ',' n ',' n ')' ('(' system,* ')')? | 'request' '(' mode @name ')'
//! type     = 'unit' | 'f32' | 'f32x3' | 'f32x2x3' | '[' type ';' n ']' | $name
//!          | ('buffer' | 'rwbuffer' | 'ref') '<' type '>'
//! block    = '{' inst* '}'
//! inst     = ((value ':' type),* '=')? operation
//! operation= 'const' literal | 'swizzle' value lanes | ('inject' | 'project') n value
//!          | ('extract' | 'load' | 'point') value path? | ('insert' | 'insert_add' | 'store') value ',' value path?
//!          | 'atomic' kind value ',' value,* path? | 'barrier' memory 'sync'? | ('print' | 'target_text') "text" value,*
//!          | 'global' @name | 'assert' trap value | 'call' @name '(' value,* ')'
//!          | 'diff_call' @name mask '->' mask '(' value,* ')'
//!          | 'lin_call' @name mask '->' mask '(' value,* ';' value,* ')'
//!          | 'if' value block 'else' block
//!          | 'switch' value ('case' n block)* 'default' block
//!          | 'while' '(' value,* ')' loop* 'cond' args block 'body' args block
//!          | 'for' value '(' value,* ')' loop* 'body' args block
//!          | ('break' | 'continue') n value,*
//!          | name value,*                                    all others
//! path     = '[' (n | value),* ']'       mask = '[' ('d' | '_'),* ']'       args = '(' (value ':' type),* ')'
//! loop     = 'max_iters' '(' n ')' | 'unroll' '(' ('force' | 'never') ')' | 'rev'
//!          | 'segments' '(' ('whole' | 'sqrt' | 'log' | n) ')'
//! literal  = 'true' | 'false' | integer | float 'd'?
//! ```
//! A float literal is rounded to its type unless it ends in `d`; `inf`, `-inf`, `nan` and `nan.` with sixteen
//! hexadecimal digits, the bits, are floats too.

mod body;
mod header;
mod lex;
mod parse;
mod parser;
mod print;

use crate::{Func, FuncId, Inst, Module, Ty, Types, Value};
use cotangent_base::{EntitySet, Map};
use std::fmt;

/// For each function of a module, the values that are linear.
pub type LinearValues = Map<FuncId, EntitySet<Value>>;

/// Why a text is not a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, in characters.
    pub column: u32,
    /// What is wrong, in a sentence without a full stop.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ParseError {}

/// The text of a module.
pub fn print_module(module: &Module) -> String {
    print::module(module, &LinearValues::default())
}

/// The text of a module in which the given values are marked as linear.
pub fn print_linear(module: &Module, linear: &LinearValues) -> String {
    print::module(module, linear)
}

/// The text of one function.
pub fn print_func(module: &Module, func: FuncId) -> String {
    print::func(module, &module.funcs[func], &EntitySet::new())
}

/// The text of one function, which need not be in the module yet, with the given values marked as linear.
pub fn print_linear_func(module: &Module, func: &Func, linear: &EntitySet<Value>) -> String {
    print::func(module, func, linear)
}

/// The first line of the text of one instruction, for messages.
pub fn print_inst(module: &Module, func: &Func, inst: Inst) -> String {
    print::inst(module, func, inst)
}

/// The text of a type.
pub fn print_type(types: &Types, ty: Ty) -> String {
    print::TypeText(types, ty).to_string()
}

/// Reads a module. It is well-formed text; whether it is a valid module, [`verify`](fn@crate::verify) says.
pub fn parse_module(text: &str) -> Result<Module, ParseError> {
    let (module, linear) = parse::module(text, false)?;
    debug_assert!(linear.values().all(EntitySet::is_empty));
    Ok(module)
}

/// Reads a module whose functions may have linear values.
pub fn parse_linear(text: &str) -> Result<(Module, LinearValues), ParseError> {
    parse::module(text, true)
}
