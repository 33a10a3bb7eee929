//! The diagnostics of the parser: E02.

cotangent_base::codes! {
    /// The grammar asks for a certain token here and found another.
    ///
    /// ```slang
    /// if x > 0) return;
    /// ```
    ///
    /// Add what the message names.
    ///
    /// ```slang
    /// if (x > 0) return;
    /// ```
    E0201 EXPECTED_TOKEN = "something else was expected";

    /// A value must stand here: an operator lacks an operand, or a list has a gap.
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

    /// A type must stand here.
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

    /// Outside of functions there are only declarations: functions, types, variables, imports. Statements
    /// stand in a function's body.
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

    /// Whatever is declared here needs a name.
    ///
    /// ```slang
    /// interface { float area(); }
    /// ```
    ///
    /// Write one. Names consist of letters, digits and `_` and do not begin with a digit.
    ///
    /// ```slang
    /// interface IShape { float area(); }
    /// ```
    E0205 EXPECTED_NAME = "name expected";

    /// A `(`, `[` or `{` has no partner. The place of the opening one is shown; the missing one belongs
    /// somewhere between it and the error.
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
    E0206 UNCLOSED = "bracket never closed";

    /// A statement or declaration does not end where it should.
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

    /// Expressions, types and statements may be nested a few hundred levels deep, which no hand-written
    /// program reaches.
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

    /// A `)`, `]` or `}` closes nothing.
    ///
    /// ```slang
    /// float f() { return 1; } }
    /// ```
    ///
    /// Remove it, or add the bracket it should close.
    ///
    /// ```slang
    /// float f() { return 1; }
    /// ```
    E0209 STRAY_CLOSER = "closing bracket without a partner";

    /// Attributes and modifiers belong to the declaration or statement behind them, and there is none.
    ///
    /// ```slang
    /// void f() { [unroll] }
    /// ```
    ///
    /// Remove them, or write what they belong to.
    ///
    /// ```slang
    /// void f() { [unroll] for (int i = 0; i < 4; i++) g(i); }
    /// ```
    E0210 DANGLING_PREFIX = "attribute or modifier before nothing";

    /// `else`, `case`, `default` and `catch` are parts of other statements and cannot begin one.
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
    E0211 MISPLACED_WORD = "word out of place";

    /// Behind the `}` of a structure or enumeration, on the same line, stand the names of variables of
    /// that type. A new declaration begins on a new line or behind a `;`.
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
    E0212 SAME_LINE = "two declarations on one line without `;` between them";

    /// Behind `operator` stands the operator that is declared.
    ///
    /// ```slang
    /// float operator.(V a, V b);
    /// ```
    ///
    /// The operators are `+ - * / % & | ^ ~ ! << >> == != < > <= >= && || ++ --`, their assignment forms,
    /// `()`, `,` and `?:`, which is given both of its values.
    ///
    /// ```slang
    /// float operator*(V a, V b);
    /// ```
    E0213 BAD_OPERATOR_NAME = "not an operator that can be declared";

    /// The language has no `goto`: control flow is structured.
    ///
    /// ```slang
    /// goto end;
    /// ```
    ///
    /// A loop or `switch` may have a label, and `break label;` leaves it from inside.
    ///
    /// ```slang
    /// outer: for (;;) { for (;;) { break outer; } }
    /// ```
    E0214 NO_GOTO = "no goto";

    /// The file has so many mistakes that reading on would not help: perhaps it is not a program at all, or
    /// one mistake near its start spoils everything behind it.
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

    /// The language has no `constexpr`. It is read as `const`, whose value is known at compile time if that of its initializer is.
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
    W0201 CONSTEXPR = "`constexpr` is read as `const`";
}
