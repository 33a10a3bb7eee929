//! Programs, changed at random.

use std::path::Path;

/// Tokens that mean something to some stage, for where the programs have none of them.
const WORDS: [&str; 48] = [
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ",",
    ";",
    ":",
    "::",
    ".",
    "=",
    "+",
    "-",
    "*",
    "/",
    "?",
    "=>",
    "->",
    "&&",
    "0",
    "1",
    "-1",
    "2147483648",
    "0x",
    "1.5",
    "1e9",
    "\"s\"",
    "float",
    "int",
    "float3",
    "void",
    "struct",
    "interface",
    "inout",
    "static",
    "const",
    "return",
    "break",
    "for",
    "if",
    "this",
    "no_diff",
    "fwd_diff",
    "bwd_diff",
    "#if 1\n",
];

/// Types that often still fit in place of one another.
const TYPES: [&str; 20] = [
    "float", "float2", "float3", "float4", "float1", "int", "int2", "uint", "uint3", "bool", "half",
    "double", "int64_t", "uint16_t", "float2x2", "float3x3", "float1x1", "int8_t", "void", "float3x2",
];
/// Numbers at limits.
const NUMBERS: [&str; 14] =
    ["0", "1", "2", "3", "4", "-1", "7", "16", "0.0", "1.5", "-2.0", "1e30", "0x7fffffff", "1u"];
/// Operators of two operands, each of one character.
const OPERATORS: [&str; 8] = ["+", "-", "*", "/", "%", "&", "|", "^"];
/// What may stand before a declaration, a parameter or an expression.
const BEFORE: [&str; 22] = [
    "[Differentiable] ",
    "[noinline] ",
    "[ForceInline] ",
    "[MaxIters(4)] ",
    "[unroll] ",
    "[NonDynamicUniformity] ",
    "[BackwardDifferentiable] ",
    "[PreferRecompute] ",
    "[PreferCheckpoint] ",
    "[mutating] ",
    "no_diff ",
    "detach",
    "inout ",
    "out ",
    "in ",
    "const ",
    "static ",
    "static const ",
    "groupshared ",
    "uniform ",
    "__ref ",
    "-",
];

/// What may stand around a statement.
const AROUND: [(&str, &str); 9] = [
    ("if (0 < 1) { ", " }"),
    ("if (1 < 0) {} else { ", " }"),
    ("for (int wrap = 0; wrap < 2; wrap++) { ", " }"),
    (
        "[MaxIters(3)] for (int wrap = 0; wrap < 3; wrap++) { if (wrap == 1) continue; ",
        " if (wrap == 2) break; }",
    ),
    ("[ForceUnroll] for (int wrap = 0; wrap < 2; wrap++) { ", " }"),
    ("do { ", " } while (false);"),
    ("switch (1) { case 0: break; default: ", " break; }"),
    ("{ ", " }"),
    ("defer { ", " }"),
];
/// What may stand around an expression.
const CALLS: [(&str, &str); 7] = [
    ("(", ")"),
    ("detach(", ")"),
    ("(1 > 0 ? ", " : {})"),
    ("no_diff(", ")"),
    ("-(", ")"),
    ("((float)", ")"),
    ("(", ").x"),
];
/// How many random programs a corpus gets.
const GENERATED: u64 = 200;

/// Random numbers that are the same everywhere.
pub struct Random(u64);

impl Random {
    /// Begins at `seed`.
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `limit`, or 0.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % limit.max(1) as u64) as usize
    }
}

/// The programs to begin with.
pub struct Corpus {
    programs: Vec<String>,
}

impl Corpus {
    /// All files of the repository's tests, examples and benchmarks with this ending.
    pub fn read(root: &Path, ending: &str) -> Self {
        let files = ["tests", "examples", "crates", "bench"]
            .map(|folder| crate::files(&root.join(folder), &[ending]));
        let read = |path| std::fs::read_to_string(path).ok();
        // Long programs take long; what is wrong with them shows in shorter ones.
        let programs = files.into_iter().flatten().filter_map(read).filter(|text| text.len() < 6000);
        Corpus { programs: programs.collect() }
    }

    /// Adds random programs, which are well typed and differentiable.
    pub fn generate(&mut self, seed: u64) {
        let seeds = (seed * GENERATED..).take(GENERATED as usize);
        self.programs.extend(seeds.map(|seed| cotangent_hunt::generate::program(seed).source()));
    }

    fn any(&self, random: &mut Random) -> &str {
        self.programs.get(random.below(self.programs.len())).map_or("", String::as_str)
    }

    /// One of them with a few changes.
    pub fn mutated(&self, random: &mut Random) -> String {
        let mut text = self.any(random).to_string();
        // After changes in several places most texts are not programs any more.
        for _ in 0..=random.below(4).saturating_sub(1) {
            text = match random.below(8) {
                0 => self.change_lines(&text, random),
                1 => self.change_tokens(&text, random),
                _ => change_kindly(&text, random),
            };
        }
        text
    }

    fn change_lines(&self, text: &str, random: &mut Random) -> String {
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        let other: Vec<&str> = self.any(random).split_inclusive('\n').collect();
        let at = random.below(lines.len());
        let to = random.below(lines.len() + 1);
        let count = 1 + random.below(3);
        let piece = lines[at.min(lines.len())..(at + count).min(lines.len())].to_vec();
        match random.below(4) {
            0 => drop(lines.drain(at..(at + count).min(lines.len()))),
            1 => drop(lines.splice(to..to, piece)),
            2 => {
                let from = random.below(other.len());
                let piece = other[from..(from + 1 + random.below(8)).min(other.len())].to_vec();
                drop(lines.splice(to..to, piece));
            }
            // The head of one program and the tail of another.
            _ => {
                lines.truncate(at);
                lines.extend_from_slice(&other[random.below(other.len() + 1)..]);
            }
        }
        lines.concat()
    }

    fn change_tokens(&self, text: &str, random: &mut Random) -> String {
        let mut tokens = tokens(text);
        let at = random.below(tokens.len());
        let to = random.below(tokens.len() + 1);
        let count = 1 + random.below(6);
        let word = WORDS[random.below(WORDS.len())];
        let other = self::tokens(self.any(random));
        match random.below(6) {
            0 => drop(tokens.drain(at..(at + count).min(tokens.len()))),
            1 => {
                let piece = tokens[at..(at + count).min(tokens.len())].to_vec();
                drop(tokens.splice(to..to, piece));
            }
            2 if at < tokens.len() => tokens[at] = word,
            3 => tokens.insert(to, word),
            4 if at < tokens.len() && to < tokens.len() => tokens.swap(at, to),
            _ => {
                let from = random.below(other.len());
                let piece = other[from..(from + count).min(other.len())].to_vec();
                drop(tokens.splice(to..to, piece));
            }
        }
        tokens.concat()
    }
}

/// Replaces a token by one of the same kind, a type by another throughout, or removes, repeats, moves or wraps a statement or an
/// expression. The result is often still a valid program.
fn change_kindly(text: &str, random: &mut Random) -> String {
    let mut tokens = tokens(text);
    if tokens.is_empty() {
        return String::new();
    }
    match random.below(10) {
        0 => change_statements(&mut tokens, random),
        6 => {
            let at = next(&tokens, random, |t| TYPES.contains(&t));
            let (old, new) = (tokens[at], TYPES[random.below(TYPES.len())]);
            tokens.iter_mut().filter(|t| **t == old).for_each(|t| *t = new);
        }
        7 => wrap_statement(&mut tokens, random),
        8 => {
            let at = next(&tokens, random, |t| is_word(t) && !TYPES.contains(&t));
            let (before, after) = CALLS[random.below(CALLS.len())];
            tokens.insert(at + 1, after);
            tokens.insert(at, before);
        }
        9 => swap_arguments(&mut tokens, random),
        1 => {
            let at = next(&tokens, random, is_word);
            tokens.insert(at, BEFORE[random.below(BEFORE.len())]);
        }
        2 => {
            let [at, to] = [next(&tokens, random, is_word), next(&tokens, random, is_word)];
            tokens.swap(at, to);
        }
        _ => {
            let at = next(&tokens, random, |t| is_word(t) || OPERATORS.contains(&t));
            tokens[at] = match tokens[at] {
                old if TYPES.contains(&old) => TYPES[random.below(TYPES.len())],
                old if OPERATORS.contains(&old) => OPERATORS[random.below(OPERATORS.len())],
                old if old.starts_with(|c: char| c.is_ascii_digit()) => NUMBERS[random.below(NUMBERS.len())],
                _ => {
                    // A name that is used alike: as a member, a function, a type or a variable.
                    let used = usage(&tokens, at);
                    let alike: Vec<usize> = (0..tokens.len())
                        .filter(|i| is_name(tokens[*i]) && usage(&tokens, *i) == used)
                        .collect();
                    alike.get(random.below(alike.len())).map_or(tokens[at], |i| tokens[*i])
                }
            };
        }
    }
    tokens.concat()
}

/// Removes, repeats or moves the tokens between two semicolons or braces.
fn change_statements<'t>(tokens: &mut Vec<&'t str>, random: &mut Random) {
    let ends = |t: &str| matches!(t, ";" | "{" | "}");
    let from = (next(tokens, random, ends) + 1).min(tokens.len());
    let length = tokens[from..].iter().position(|t| ends(t)).map_or(0, |at| at + 1);
    let statement: Vec<&'t str> = tokens[from..from + length].to_vec();
    let how = random.below(3);
    if how != 0 {
        tokens.drain(from..from + length);
    }
    if how != 1 && !tokens.is_empty() {
        let to = (next(tokens, random, ends) + 1).min(tokens.len());
        tokens.splice(to..to, statement);
    }
}

/// Whether a name is a member, is called, and is followed by another name.
fn usage(tokens: &[&str], at: usize) -> [bool; 3] {
    let after = tokens.get(at + 1).copied().unwrap_or("");
    let second = tokens.get(at + 2).copied().unwrap_or("");
    [at > 0 && tokens[at - 1] == ".", after == "(", after == " " && is_name(second)]
}

/// Puts a branch, a loop or the like around a statement.
fn wrap_statement(tokens: &mut Vec<&str>, random: &mut Random) {
    let from = (next(tokens, random, |t| matches!(t, ";" | "{" | "}")) + 1).min(tokens.len());
    let Some(end) = tokens[from..].iter().position(|t| *t == ";").map(|at| from + at + 1) else { return };
    let (before, after) = AROUND[random.below(AROUND.len())];
    tokens.insert(end, after);
    tokens.insert(from, before);
}

/// Exchanges what stands before and after a comma, as far as the next comma or bracket.
fn swap_arguments(tokens: &mut Vec<&str>, random: &mut Random) {
    let comma = next(tokens, random, |t| t == ",");
    let end = |t: &&str| matches!(*t, "," | "(" | ")" | "{" | "}" | "[" | "]" | ";" | "<" | ">");
    let from = tokens[..comma].iter().rposition(end).map_or(0, |at| at + 1);
    let after = (comma + 1).min(tokens.len());
    let to = tokens[after..].iter().position(end).map_or(tokens.len(), |at| after + at);
    let swapped: Vec<&str> = [&tokens[after..to], &tokens[comma..after], &tokens[from..comma]].concat();
    tokens.splice(from..to, swapped);
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
}

/// The index of a random token that is `wanted` and not in a comment, or of any token if there is none.
fn next(tokens: &[&str], random: &mut Random, wanted: impl Fn(&str) -> bool) -> usize {
    let mut comment = false;
    let mut found = vec![];
    for (at, token) in tokens.iter().enumerate() {
        comment = (comment && *token != "\n") || (*token == "/" && tokens.get(at + 1) == Some(&"/"));
        if !comment && wanted(token) {
            found.push(at);
        }
    }
    match found.is_empty() {
        true => random.below(tokens.len()),
        false => found[random.below(found.len())],
    }
}

/// A text cut into names, numbers, blanks and other characters.
pub fn tokens(text: &str) -> Vec<&str> {
    let class = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => 1,
        ' ' | '\t' => 2,
        _ => 0,
    };
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = class(first);
        let same = rest.find(|c| class(c) != kind).unwrap_or(rest.len());
        let (token, after) = rest.split_at(if kind == 0 { first.len_utf8() } else { same });
        found.push(token);
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_put_together_are_the_text() {
        assert_eq!(tokens("a1 += é(2);\n"), ["a1", " ", "+", "=", " ", "é", "(", "2", ")", ";", "\n"]);
    }

    #[test]
    fn the_same_seed_gives_the_same_program() {
        let corpus = Corpus { programs: vec!["int a;\nint b;\n".into(), "void f() { g(1); }\n".into()] };
        let ten = |seed| {
            let mut random = Random::new(seed);
            (0..10).map(|_| corpus.mutated(&mut random)).collect::<Vec<_>>()
        };
        assert_eq!(ten(7), ten(7));
        assert_ne!(ten(7), ten(8));
    }
}
