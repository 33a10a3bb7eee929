//! Programs as trees of text, for printing and shrinking.

use std::fmt::Write;

/// The types that expressions have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ty {
    /// `float`.
    Float,
    /// `float2`.
    Vec2,
    /// `float3`.
    Vec3,
    /// `float2x2`.
    Mat,
    /// `float[4]`.
    Array,
    /// A structure of numbers.
    Inner,
    /// A structure with that, an array and what has no derivative.
    Outer,
    /// A tuple of a number and a vector.
    Pair,
    /// `bool`.
    Bool,
    /// An `int` that is not negative.
    Int,
}

impl Ty {
    /// The types that carry derivatives.
    pub const DIFF: [Ty; 8] =
        [Ty::Float, Ty::Vec2, Ty::Vec3, Ty::Mat, Ty::Array, Ty::Inner, Ty::Outer, Ty::Pair];

    /// How the type is written.
    pub const fn name(self) -> &'static str {
        match self {
            Ty::Float => "float",
            Ty::Vec2 => "float2",
            Ty::Vec3 => "float3",
            Ty::Mat => "float2x2",
            Ty::Array => "Four",
            Ty::Inner => "Inner",
            Ty::Outer => "Outer",
            Ty::Pair => "Tuple<float, float2>",
            Ty::Bool => "bool",
            Ty::Int => "int",
        }
    }

    /// The simplest expression of the type, if there is one.
    pub const fn simplest(self) -> Option<&'static str> {
        match self {
            Ty::Float => Some("0.5"),
            Ty::Vec2 => Some("float2(0.5)"),
            Ty::Vec3 => Some("float3(0.5)"),
            Ty::Bool => Some("true"),
            Ty::Int => Some("1"),
            Ty::Mat | Ty::Array | Ty::Inner | Ty::Outer | Ty::Pair => None,
        }
    }
}

/// A statement, or an expression, which has a type.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// The type of an expression; nothing for a statement.
    pub ty: Option<Ty>,
    /// What it is made of.
    pub pieces: Vec<Piece>,
}

/// A part of a node.
#[derive(Clone, PartialEq, Debug)]
pub enum Piece {
    /// As it is.
    Text(String),
    /// An expression.
    Node(Node),
    /// Statements in braces.
    Block(Vec<Node>),
}

impl Node {
    /// An expression or statement without parts.
    pub fn leaf(ty: Option<Ty>, text: impl Into<String>) -> Self {
        Node { ty, pieces: vec![Piece::Text(text.into())] }
    }

    /// From a text in which every `$` stands for the next of `parts`.
    pub fn of(ty: Option<Ty>, text: &str, parts: Vec<Piece>) -> Self {
        let mut parts = parts.into_iter();
        let mut pieces = Vec::new();
        for (i, word) in text.split('$').enumerate() {
            if i > 0 {
                pieces.push(parts.next().expect("a part for every place"));
            }
            pieces.push(Piece::Text(word.to_string()));
        }
        Node { ty, pieces }
    }

    /// An expression from a text and its operands.
    pub fn expr(ty: Ty, text: &str, operands: Vec<Node>) -> Self {
        Node::of(Some(ty), text, operands.into_iter().map(Piece::Node).collect())
    }

    fn write(&self, out: &mut String, indent: usize) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Node(node) => node.write(out, indent),
                Piece::Block(nodes) => {
                    out.push_str("{\n");
                    write_block(nodes, out, indent + 1);
                    let _ = write!(out, "{}}}", "    ".repeat(indent));
                }
            }
        }
    }
}

fn write_block(nodes: &[Node], out: &mut String, indent: usize) {
    for node in nodes {
        out.push_str(&"    ".repeat(indent));
        node.write(out, indent);
        out.push('\n');
    }
}

/// A function: what stands before its body, and the body.
#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    /// Attributes, result, name and parameters.
    pub head: String,
    /// The statements.
    pub body: Vec<Node>,
}

/// A program. The function that is differentiated is the last and called `f`.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// Declarations, each of which may be left out if nobody uses it.
    pub items: Vec<String>,
    /// The functions.
    pub functions: Vec<Function>,
    /// Functions that use derivatives of `f`, and their names.
    pub orders: Vec<(String, String)>,
}

impl Program {
    /// The program as source.
    pub fn source(&self) -> String {
        let mut out = String::new();
        for item in &self.items {
            let _ = writeln!(out, "{item}\n");
        }
        for function in &self.functions {
            let _ = writeln!(out, "{}\n{{", function.head);
            write_block(&function.body, &mut out, 1);
            out.push_str("}\n\n");
        }
        for (_, text) in &self.orders {
            let _ = writeln!(out, "{text}\n");
        }
        out
    }
}
