//! The diagnostics of the lexer and the preprocessor (E01), and of what they and the parser do not support yet (E07).

cotangent_base::codes! {
    /// No token begins with this character. Often it was copied from a document: a typographic quote, a dash, or a special space.
    ///
    /// ```slang
    /// float x = 1.0 – y;
    /// ```
    ///
    /// Names consist of ASCII letters, digits and `_`. Type the character again, or remove it.
    ///
    /// ```slang
    /// float x = 1.0 - y;
    /// ```
    E0101 STRAY_CHARACTER = "stray character";

    /// A `/*` has no matching `*/`, so the rest of the file is part of the comment.
    ///
    /// ```slang
    /// /* the loss
    /// float loss(float x) { return x * x; }
    /// ```
    ///
    /// Close the comment. Comments do not nest.
    ///
    /// ```slang
    /// /* the loss */
    /// float loss(float x) { return x * x; }
    /// ```
    E0102 UNTERMINATED_COMMENT = "unterminated comment";

    /// A string or character literal must end on the line it begins on.
    ///
    /// ```slang
    /// printf("x = %f\n, x);
    /// ```
    ///
    /// Add the closing quote. Adjacent strings are joined, so a long text can be split.
    ///
    /// ```slang
    /// printf("x = %f\n", x);
    /// ```
    E0103 UNTERMINATED_LITERAL = "unterminated string";

    /// The literal is malformed: it has a digit that its base does not have, or an unknown suffix. An integer cannot have a
    /// floating-point suffix.
    ///
    /// ```slang
    /// float x = 2f;
    /// ```
    ///
    /// Write the dot, or omit the suffix: a literal with a dot is a `float` without a suffix.
    ///
    /// ```slang
    /// float x = 2.f;
    /// ```
    E0104 BAD_NUMBER = "malformed number";

    /// No integer type has more than 64 bits.
    ///
    /// ```slang
    /// uint64_t x = 18446744073709551616;
    /// ```
    ///
    /// The largest value is 18446744073709551615, which is `0xFFFFFFFFFFFFFFFF`.
    ///
    /// ```slang
    /// uint64_t x = 0xFFFFFFFFFFFFFFFF;
    /// ```
    E0105 INTEGER_TOO_LARGE = "integer too large";

    /// Single quotes enclose exactly one character; the value is the character's code.
    ///
    /// ```slang
    /// uint c = 'ab';
    /// ```
    ///
    /// Use double quotes for a string.
    ///
    /// ```slang
    /// uint c = 'a';
    /// ```
    E0106 BAD_CHARACTER = "malformed character literal";

    /// A backslash in a string must begin one of `\n \t \r \a \b \f \v \\ \' \" \?`, an octal number, or `\x` and a hexadecimal
    /// number.
    ///
    /// ```slang
    /// printf("100\%");
    /// ```
    ///
    /// Remove the backslash, or double it.
    ///
    /// ```slang
    /// printf("100%%");
    /// ```
    E0107 BAD_ESCAPE = "unknown escape sequence";

    /// The directive is malformed.
    ///
    /// ```slang
    /// #define 3 x
    /// ```
    ///
    /// Write the name, the parameters or the file that the directive needs.
    ///
    /// ```slang
    /// #define THREE x
    /// ```
    E0110 BAD_DIRECTIVE = "malformed directive";

    /// A line begins with `#`, but the word after it is not a directive.
    ///
    /// ```slang
    /// #if SMALL
    /// #endif
    /// #elsif FAST
    /// ```
    ///
    /// The directives are `if ifdef ifndef elif else endif define undef include error warning pragma line
    /// language`.
    ///
    /// ```slang
    /// #if SMALL
    /// #elif FAST
    /// #endif
    /// ```
    E0111 UNKNOWN_DIRECTIVE = "unknown directive";

    /// An `#else`, `#elif` or `#endif` has no `#if` before it, or comes after an `#else`.
    ///
    /// ```slang
    /// float a;
    /// #endif
    /// ```
    ///
    /// Remove it, or add the `#if`.
    ///
    /// ```slang
    /// #if FAST
    /// float a;
    /// #endif
    /// ```
    E0112 STRAY_CONDITIONAL = "misplaced conditional directive";

    /// The file ends inside an `#if`. Each file must close its own conditionals.
    ///
    /// ```slang
    /// #ifdef FAST
    /// float a;
    /// ```
    ///
    /// Add the `#endif`.
    ///
    /// ```slang
    /// #ifdef FAST
    /// float a;
    /// #endif
    /// ```
    E0113 UNCLOSED_CONDITIONAL = "#if without #endif";

    /// The condition of an `#if` is a constant integer expression of numbers, `defined(NAME)` and C operators. Names that are not
    /// macros are 0.
    ///
    /// ```slang
    /// #if SIZE >
    /// #endif
    /// ```
    ///
    /// Complete the expression.
    ///
    /// ```slang
    /// #if SIZE > 16
    /// #endif
    /// ```
    E0114 BAD_CONDITION = "malformed #if condition";

    /// The compiler found no file with that name in the folder of the including file or on the search path.
    ///
    /// ```slang
    /// #include "lightning.slang"
    /// ```
    ///
    /// Check the spelling, or add the file's folder with `-I`.
    ///
    /// ```slang
    /// #include "lighting.slang"
    /// ```
    E0115 INCLUDE_NOT_FOUND = "included file not found";

    /// Files include each other without end, or include too many files.
    ///
    /// ```slang
    /// // in a.slang
    /// #include "a.slang"
    /// ```
    ///
    /// Begin an included file with `#pragma once`.
    ///
    /// ```slang
    /// #pragma once
    /// ```
    E0116 INCLUDE_LIMIT = "too many nested includes";

    /// The number of arguments differs from the number of the macro's parameters.
    ///
    /// ```slang
    /// #define SQUARE(x) ((x) * (x))
    /// float y = SQUARE(a, b);
    /// ```
    ///
    /// Commas inside parentheses do not separate arguments.
    ///
    /// ```slang
    /// #define SQUARE(x) ((x) * (x))
    /// float y = SQUARE(f(a, b));
    /// ```
    E0117 MACRO_ARGUMENTS = "wrong number of macro arguments";

    /// The file ends inside the arguments of a macro.
    ///
    /// ```slang
    /// #define SQUARE(x) ((x) * (x))
    /// float y = SQUARE(a;
    /// ```
    ///
    /// Close the parenthesis.
    ///
    /// ```slang
    /// #define SQUARE(x) ((x) * (x))
    /// float y = SQUARE(a);
    /// ```
    E0118 UNCLOSED_MACRO_CALL = "unclosed macro arguments";

    /// Macros expanded to too much code, or their arguments are nested too deeply. Usually each macro doubles the one before.
    ///
    /// ```slang
    /// #define A x x
    /// #define B A A
    /// #define C B B // and so on
    /// ```
    ///
    /// Use a loop or a function instead of macros.
    ///
    /// ```slang
    /// for (int i = 0; i < 16; i++) step();
    /// ```
    E0119 EXPANSION_LIMIT = "macro expansion too large";

    /// The two sides of `##` must form one token together.
    ///
    /// ```slang
    /// #define CALL(f) f ## (x)
    /// float y = CALL(g);
    /// ```
    ///
    /// Remove the `##`: adjacent tokens need no joining.
    ///
    /// ```slang
    /// #define CALL(f) f(x)
    /// float y = CALL(g);
    /// ```
    E0120 BAD_PASTE = "## does not make a token";

    /// In a macro with parameters, `#` turns an argument into a string, so a parameter must follow it.
    ///
    /// ```slang
    /// #define SHOW(x) #y
    /// ```
    ///
    /// Name a parameter of the macro.
    ///
    /// ```slang
    /// #define SHOW(x) #x
    /// ```
    E0121 BAD_STRINGIZE = "# needs a parameter";

    /// The program contains an `#error` directive.
    ///
    /// ```slang
    /// #ifndef SIZE
    /// #error SIZE must be defined
    /// #endif
    /// ```
    ///
    /// The message says what to do; here, define the macro with `-D SIZE=16`.
    ///
    /// ```slang
    /// #define SIZE 16
    /// ```
    E0122 USER_ERROR = "#error";

    /// `#language` names the language version of a file.
    ///
    /// ```slang
    /// #language slang 1999
    /// ```
    ///
    /// The versions are `legacy`, `2018`, `2025`, `2026`, `latest`.
    ///
    /// ```slang
    /// #language slang 2026
    /// ```
    E0123 UNKNOWN_VERSION = "unknown language version";

    /// The program contains a `#warning` directive.
    ///
    /// ```slang
    /// #warning the fast path is not tested
    /// ```
    ///
    /// Do what the message says, and remove the directive.
    ///
    /// ```slang
    /// float f();
    /// ```
    W0101 USER_WARNING = "#warning";

    /// A leading zero makes an integer octal, as in C: `010` is eight.
    ///
    /// ```slang
    /// int x = 010;
    /// ```
    ///
    /// Remove the zero.
    ///
    /// ```slang
    /// int x = 10;
    /// ```
    W0102 OCTAL = "octal number";

    /// A decimal integer above 9223372036854775807 is unsigned, even without a suffix.
    ///
    /// ```slang
    /// uint64_t x = 10000000000000000000;
    /// ```
    ///
    /// Add a suffix.
    ///
    /// ```slang
    /// uint64_t x = 10000000000000000000ull;
    /// ```
    W0103 LARGE_LITERAL = "integer too large for a signed type";

    /// A floating-point literal is larger than the largest value of its type.
    ///
    /// ```slang
    /// float x = 1e40;
    /// ```
    ///
    /// Use a smaller number, or a `double`.
    ///
    /// ```slang
    /// double x = 1e40l;
    /// ```
    W0104 FLOAT_OVERFLOW = "number becomes infinity";

    /// A macro is defined again with a different body. The later definition is used.
    ///
    /// ```slang
    /// #define SIZE 16
    /// #define SIZE 32
    /// ```
    ///
    /// Remove one of them, or write `#undef` in between.
    ///
    /// ```slang
    /// #define SIZE 16
    /// #undef SIZE
    /// #define SIZE 32
    /// ```
    W0105 MACRO_REDEFINED = "macro redefined";

    /// Text after a complete directive is ignored.
    ///
    /// ```slang
    /// #ifdef FAST && SMALL
    /// #endif
    /// ```
    ///
    /// Remove it; a condition with operators needs `#if defined(..)`.
    ///
    /// ```slang
    /// #if defined(FAST) && defined(SMALL)
    /// #endif
    /// ```
    W0106 EXTRA_TOKENS = "text after a directive";

    /// The construct is part of the language, but this compiler does not support it yet.
    ///
    /// ```slang
    /// #version 450
    /// ```
    ///
    /// Rewrite the code without it; the message suggests how if there is a simple way.
    ///
    /// ```slang
    /// f();
    /// ```
    E0790 UNSUPPORTED_SYNTAX = "construct not supported yet";
}
