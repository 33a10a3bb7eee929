//! Tokens: the output of the lexer and the preprocessor.
//!
//! A token is small and `Copy`. Names, numbers and strings are interned [`Symbol`]s of their *spelling*, because `#` and `##`
//! work on spellings; the parser computes the value of a number from it (see [`literal`](crate::literal)). No word is
//! reserved: a keyword is an ordinary name with a known [`Kw`], and the parser decides from the context whether it acts as a
//! keyword.

use cotangent_base::{Map, Span, Symbol};
use std::sync::LazyLock;

/// One token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// The keyword it may act as, if it is a name.
    pub kw: Kw,
    /// How it stands among its neighbours.
    pub flags: Flags,
    /// Where it was written; for a token of a macro's body, where the macro was used.
    pub span: Span,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A name or keyword.
    Ident(Symbol),
    /// The spelling of a number.
    Number(Symbol),
    /// The spelling of a string, with its quotes.
    String(Symbol),
    /// The spelling of a character literal, with its quotes.
    Char(Symbol),
    /// An operator or bracket.
    Punct(Punct),
    /// Something that is not a token; reported unless a conditional skips it.
    Bad(LexError),
    /// The end of the file.
    Eof,
}

/// Why a piece of text is not a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LexError {
    /// A character with no meaning.
    StrayCharacter(char),
    /// A string or character literal without its closing quote.
    UnterminatedLiteral,
    /// A `/*` without its `*/`.
    UnterminatedComment,
}

/// A set of facts about a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// None of them.
    pub const NONE: Flags = Flags(0);
    /// It is the first token of its line.
    pub const LINE_START: Flags = Flags(1);
    /// White space stands before it.
    pub const SPACE: Flags = Flags(2);
    /// It is the name of a macro that must not be expanded again.
    pub const NO_EXPAND: Flags = Flags(4);

    /// Whether all of `other` hold.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// These and `other`.
    #[must_use]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
    /// These, but standing where a token with the flags `other` stands.
    #[must_use]
    pub const fn stepped(self, other: Flags) -> Flags {
        Flags((self.0 & Self::NO_EXPAND.0) | other.spacing().0)
    }
    /// Only those facts that are about where a token stands.
    #[must_use]
    pub const fn spacing(self) -> Flags {
        Flags(self.0 & (Self::LINE_START.0 | Self::SPACE.0))
    }
}

impl Token {
    /// A name.
    pub fn ident(name: Symbol, span: Span) -> Token {
        Token { kind: TokenKind::Ident(name), kw: Kw::of(name), flags: Flags::NONE, span }
    }
    /// A token that is not a name.
    pub fn new(kind: TokenKind, span: Span) -> Token {
        Token { kind, kw: Kw::None, flags: Flags::NONE, span }
    }
    /// The same token with these flags.
    #[must_use]
    pub fn flagged(self, flags: Flags) -> Token {
        Token { flags, ..self }
    }
    /// Whether it is this operator or bracket.
    pub fn is(&self, punct: Punct) -> bool {
        self.kind == TokenKind::Punct(punct)
    }
    /// Whether it is any name, keywords included.
    pub fn is_ident(&self) -> bool {
        matches!(self.kind, TokenKind::Ident(_))
    }
    /// Whether it can name something: any word but the few that begin statements, which nobody means as a
    /// name.
    pub fn is_name(&self) -> bool {
        let statement = matches!(
            self.kw,
            Kw::If
                | Kw::Else
                | Kw::For
                | Kw::While
                | Kw::Do
                | Kw::Switch
                | Kw::Case
                | Kw::Return
                | Kw::Break
                | Kw::Continue
        );
        self.is_ident() && !statement
    }
    /// Whether it is the first token of its line.
    pub fn at_line_start(&self) -> bool {
        self.flags.has(Flags::LINE_START)
    }
    /// Its spelling, as `#` and `##` see it.
    pub fn spelling(&self) -> &'static str {
        match self.kind {
            TokenKind::Ident(s) | TokenKind::Number(s) | TokenKind::String(s) | TokenKind::Char(s) => {
                s.as_str()
            }
            TokenKind::Punct(p) => p.text(),
            TokenKind::Bad(_) | TokenKind::Eof => "",
        }
    }
    /// How a message speaks of it.
    pub fn describe(&self) -> String {
        match self.kind {
            TokenKind::Ident(_) | TokenKind::Number(_) | TokenKind::Punct(_) => {
                format!("`{}`", self.spelling())
            }
            TokenKind::String(_) => "a string".into(),
            TokenKind::Char(_) => "a character literal".into(),
            TokenKind::Bad(_) => "a stray character".into(),
            TokenKind::Eof => "the end of the file".into(),
        }
    }
}

/// Declares [`Punct`] with the text of each.
macro_rules! puncts {
    ($($name:ident $text:literal)*) => {
        /// Operators and brackets.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "the table says which text each one is")]
        pub enum Punct { $($name),* }

        impl Punct {
            /// All of them.
            pub const ALL: &[Punct] = &[$(Punct::$name),*];

            /// How it is written.
            pub const fn text(self) -> &'static str {
                match self { $(Punct::$name => $text),* }
            }
        }
    };
}

puncts! {
    LParen "(" RParen ")" LBracket "[" RBracket "]" LBrace "{" RBrace "}"
    Semi ";" Comma "," Dot "." Colon ":" ColonColon "::" Question "?" At "@" Dollar "$" Ellipsis "..."
    Plus "+" Minus "-" Star "*" Slash "/" Percent "%" Amp "&" Pipe "|" Caret "^" Tilde "~" Bang "!"
    Lt "<" Gt ">" Le "<=" Ge ">=" EqEq "==" Ne "!=" AndAnd "&&" OrOr "||" Shl "<<" Shr ">>"
    PlusPlus "++" MinusMinus "--" Arrow "->" FatArrow "=>"
    Eq "=" PlusEq "+=" MinusEq "-=" StarEq "*=" SlashEq "/=" PercentEq "%="
    AmpEq "&=" PipeEq "|=" CaretEq "^=" ShlEq "<<=" ShrEq ">>="
    Hash "#" HashHash "##" Backslash "\\"
}

impl Punct {
    /// The longest operator at the start of `text`.
    pub fn longest(text: &[u8]) -> Option<Punct> {
        static BY_FIRST: LazyLock<[Vec<Punct>; 128]> = LazyLock::new(|| {
            let mut table = std::array::from_fn(|_| Vec::new());
            let mut all = Punct::ALL.to_vec();
            all.sort_by_key(|p| std::cmp::Reverse(p.text().len()));
            all.into_iter().for_each(|p| table[p.text().as_bytes()[0] as usize].push(p));
            table
        });
        let first = *text.first()?;
        BY_FIRST.get(first as usize)?.iter().copied().find(|p| text.starts_with(p.text().as_bytes()))
    }

    /// The bracket that closes this one.
    pub fn closer(self) -> Option<Punct> {
        match self {
            Punct::LParen => Some(Punct::RParen),
            Punct::LBracket => Some(Punct::RBracket),
            Punct::LBrace => Some(Punct::RBrace),
            _ => None,
        }
    }

    /// Whether it closes a bracket.
    pub fn is_closer(self) -> bool {
        matches!(self, Punct::RParen | Punct::RBracket | Punct::RBrace)
    }
}

/// Declares [`Kw`] with the text of each.
macro_rules! keywords {
    ($($name:ident $text:literal)*) => {
        /// Words that mean something special in the right place.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "the table says which word each one is")]
        pub enum Kw {
            /// Any other name.
            None,
            $($name),*
        }

        const KEYWORDS: &[(&str, Kw)] = &[$(($text, Kw::$name)),*];
    };
}

keywords! {
    Struct "struct" Class "class" Interface "interface" Extension "extension" Enum "enum"
    Typedef "typedef" Typealias "typealias" Assoc "associatedtype" Property "property" Subscript "__subscript"
    Init "__init" Namespace "namespace" Using "using" CBuffer "cbuffer" TBuffer "tbuffer" Import "import"
    Include "__include" Module "module" Implementing "implementing" Func "func" Operator "operator"
    Generic "__generic" Let "let" Var "var" Where "where" Throws "throws" Typename "typename"
    Optional "optional" Each "each" NonEmpty "nonempty" Expand "expand" FuncType "functype" FuncExtension "__func_extension"
    Get "get" Set "set"
    If "if" Else "else" For "for" While "while" Do "do" Switch "switch" Case "case" Default "default"
    Break "break" Continue "continue" Return "return" Discard "discard" Defer "defer" Throw "throw"
    Catch "catch" Goto "goto" TargetSwitch "__target_switch" StageSwitch "__stage_switch"
    IntrinsicAsm "__intrinsic_asm" SpirvAsm "spirv_asm" RequirePrelude "__requirePrelude"
    True "true" False "false" None_ "none" Nullptr "nullptr" This "this" ThisType "This" Try "try"
    Is "is" As "as" SizeOf "sizeof" AlignOf "alignof" CountOf "countof"
    FwdDiff "fwd_diff" FwdDiff_ "__fwd_diff" BwdDiff "bwd_diff" BwdDiff_ "__bwd_diff"
    Apply_ "__apply"
    Static "static" Const "const" ConstExpr "constexpr" Uniform "uniform" GroupShared "groupshared" Public "public"
    Internal "internal" Private "private" Extern "extern" Export "export" Exported "__exported"
    Inline "inline" Override "override" NoDiff "no_diff" In "in" Out "out" InOut "inout" Ref "ref" Ref_ "__ref"
    ConstRef "__constref" RowMajor "row_major" ColumnMajor "column_major" Prefix "__prefix"
    Postfix "__postfix" ImplicitConversion "__implicit_conversion"
    Precise "precise" NoInterpolation "nointerpolation" NoPerspective "noperspective" Linear "linear"
    Centroid "centroid" Sample "sample" SNorm "snorm" UNorm "unorm" GloballyCoherent "globallycoherent"
    Volatile "volatile" Shared "shared" Dyn "dyn" Param "param" ExternCpp "__extern_cpp" Lowp "lowp"
    Mediump "mediump" Highp "highp" Coherent "coherent" ReadOnly "readonly" WriteOnly "writeonly" Restrict "restrict"
    PerVertex "pervertex"
    Unsigned "unsigned" TypeParam "type_param" Extension_ "__extension" Constraint "__constraint" Implicit "implicit"
    First "__first" Last "__last" TrimFirst "__trimFirst" TrimLast "__trimLast" PackBranch "__packBranch"
}

impl Kw {
    /// The keyword that is written `name`.
    pub fn of(name: Symbol) -> Kw {
        static TABLE: LazyLock<Map<Symbol, Kw>> =
            LazyLock::new(|| KEYWORDS.iter().map(|(text, kw)| (Symbol::new(text), *kw)).collect());
        TABLE.get(&name).copied().unwrap_or(Kw::None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_operator_wins() {
        assert_eq!(Punct::longest(b">>=1"), Some(Punct::ShrEq));
        assert_eq!(Punct::longest(b">>1"), Some(Punct::Shr));
        assert_eq!(Punct::longest(b"=>"), Some(Punct::FatArrow));
        assert_eq!(Punct::longest(b"a"), None);
        assert_eq!(Punct::longest("é".as_bytes()), None);
    }

    #[test]
    fn a_token_is_small() {
        assert!(size_of::<Token>() <= 24, "{}", size_of::<Token>());
    }
}
