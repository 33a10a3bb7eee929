//! The diagnostics of the parser: E02.

cotangent_base::codes! {
    /// The grammar requires a different token here.
    ///
    /// ```slang
    /// if x > 0) return;
    /// ```
    ///
    /// Add the token that the message names.
    ///
    /// ```slang
    /// if (x > 0) return;
    /// ```
    E0201 EXPECTED_TOKEN = "unexpected token";

    /// A value is expected here: an operator lacks an operand, or a list has a gap.
    ///
    /// ```slang
    /// float y = x * ;
    /// ```
    ///
    /// Write the missing value.
    ///
    /// ```slang
    /// float y = x * 2;
    /// ```
    E0202 EXPECTED_EXPRESSION = "expression expected";

    /// A type is expected here.
    ///
    /// ```slang
    /// typealias Color = 3;
    /// ```
    ///
    /// Write the name of a type, such as `float3`.
    ///
    /// ```slang
    /// typealias Color = float3;
    /// ```
    E0203 EXPECTED_TYPE = "type expected";

    /// Only declarations are allowed outside functions: functions, types, variables, imports. Statements belong in the body of a
    /// function.
    ///
    /// ```slang
    /// x = 3;
    /// ```
    ///
    /// Move the statement into a function, or give the variable a type.
    ///
    /// ```slang
    /// static int x = 3;
    /// ```
    E0204 EXPECTED_DECLARATION = "declaration expected";

    /// The declaration needs a name.
    ///
    /// ```slang
    /// interface { float area(); }
    /// ```
    ///
    /// Write one. A name consists of letters, digits and `_`, and does not begin with a digit.
    ///
    /// ```slang
    /// interface IShape { float area(); }
    /// ```
    E0205 EXPECTED_NAME = "name expected";

    /// A `(`, `[` or `{` has no matching closing bracket. The error shows the opening one; the closing one is missing somewhere
    /// between it and the error.
    ///
    /// ```slang
    /// float f(float x) {
    ///     if (x > 0) {
    ///         return x;
    ///     return 0;
    /// }
    /// ```
    ///
    /// Close it.
    ///
    /// ```slang
    /// float f(float x) {
    ///     if (x > 0) {
    ///         return x;
    ///     }
    ///     return 0;
    /// }
    /// ```
    E0206 UNCLOSED = "unclosed bracket";

    /// A statement or declaration has no `;` at its end.
    ///
    /// ```slang
    /// float x = 1
    /// float y = 2;
    /// ```
    ///
    /// Add the `;`.
    ///
    /// ```slang
    /// float x = 1;
    /// float y = 2;
    /// ```
    E0207 EXPECTED_SEMICOLON = "`;` expected";

    /// Expressions, types and statements can be nested a few hundred levels deep. Hand-written programs do not reach this limit.
    ///
    /// ```slang
    /// float x = ((((((((((1)))))))))); // and some hundreds more
    /// ```
    ///
    /// Store intermediate results in variables.
    ///
    /// ```slang
    /// float a = 1;
    /// float x = a;
    /// ```
    E0208 TOO_DEEP = "nested too deeply";

    /// A `)`, `]` or `}` has no matching opening bracket.
    ///
    /// ```slang
    /// float f() { return 1; } }
    /// ```
    ///
    /// Remove it, or add the opening bracket.
    ///
    /// ```slang
    /// float f() { return 1; }
    /// ```
    E0209 STRAY_CLOSER = "unmatched closing bracket";

    /// Attributes and modifiers apply to the declaration or statement after them, and there is none.
    ///
    /// ```slang
    /// void f() { [unroll] }
    /// ```
    ///
    /// Remove them, or add the declaration or statement.
    ///
    /// ```slang
    /// void f() { [unroll] for (int i = 0; i < 4; i++) g(i); }
    /// ```
    E0210 DANGLING_PREFIX = "attribute or modifier without a declaration";

    /// `else`, `case`, `default` and `catch` are parts of other statements and cannot begin one. A word in `layout(..)` that
    /// qualifies nothing in Slang is reported too.
    ///
    /// ```slang
    /// else { y = 2; }
    /// ```
    ///
    /// Write the `if`, `switch` or `do` it belongs to.
    ///
    /// ```slang
    /// if (x > 0) { y = 1; } else { y = 2; }
    /// ```
    E0211 MISPLACED_WORD = "misplaced keyword";

    /// Names on the same line after the `}` of a structure or enumeration declare variables of that type. A new declaration
    /// begins on a new line or after a `;`.
    ///
    /// ```slang
    /// struct A { } struct B { }
    /// ```
    ///
    /// Add a `;` or begin a new line.
    ///
    /// ```slang
    /// struct A { };
    /// struct B { }
    /// ```
    E0212 SAME_LINE = "missing `;` between two declarations on one line";

    /// `operator` must be followed by an operator.
    ///
    /// ```slang
    /// float operator.(V a, V b);
    /// ```
    ///
    /// The operators are `+ - * / % & | ^ ~ ! << >> == != < > <= >= && || ++ --`, their assignment forms, `()`, `,` and `?:`. An
    /// `operator?:` receives both values, since both are evaluated.
    ///
    /// ```slang
    /// float operator*(V a, V b);
    /// ```
    E0213 BAD_OPERATOR_NAME = "invalid operator name";

    /// The language has no `goto`: control flow is structured.
    ///
    /// ```slang
    /// goto end;
    /// ```
    ///
    /// Give a loop or `switch` a label; `break label;` leaves it from inside.
    ///
    /// ```slang
    /// outer: for (;;) { for (;;) { break outer; } }
    /// ```
    E0214 NO_GOTO = "`goto` is not supported";

    /// The file has so many errors that the parser stopped. It may not be a Slang program, or one error near its start may cause
    /// the others.
    ///
    /// ```slang
    /// %PDF-1.7
    /// ```
    ///
    /// Fix the first errors and try again.
    ///
    /// ```slang
    /// float f(float x) { return x; }
    /// ```
    E0215 TOO_MANY_ERRORS = "too many errors";

    /// The language has no `constexpr`. It is treated as `const`, whose value is known at compile time if that of its initializer
    /// is.
    ///
    /// ```slang
    /// static constexpr int N = 4;
    /// ```
    ///
    /// Write `const`.
    ///
    /// ```slang
    /// static const int N = 4;
    /// ```
    W0201 CONSTEXPR = "`constexpr` is treated as `const`";
}
