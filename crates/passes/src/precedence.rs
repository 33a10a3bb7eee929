//! How tightly the operators of C-like languages bind: one table for all emitters that write expressions as text.
//!
//! An operand that binds less tightly than its place requires is put in parentheses.

/// Names, calls and accesses.
pub const PRIMARY: u8 = 16;
/// Operators before their operand.
pub const UNARY: u8 = 15;
/// `*`, `/` and `%`.
pub const PRODUCT: u8 = 14;
/// `+` and `-`.
pub const SUM: u8 = 13;
/// `<<` and `>>`.
pub const SHIFT: u8 = 12;
/// `<`, `<=`, `>` and `>=`.
pub const RELATION: u8 = 11;
/// `==` and `!=`.
pub const EQUALITY: u8 = 10;
/// `&`.
pub const BIT_AND: u8 = 9;
/// `^`.
pub const BIT_XOR: u8 = 8;
/// `|`.
pub const BIT_OR: u8 = 7;
/// `&&`.
pub const BOTH: u8 = 5;
/// `||`.
pub const EITHER: u8 = 4;
/// `?:`.
pub const CHOICE: u8 = 3;
