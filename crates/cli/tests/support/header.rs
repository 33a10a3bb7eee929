//! Reads the headers of test programs.

/// The texts after `//key:` in a file.
pub fn header<'t>(text: &'t str, key: &str) -> Vec<&'t str> {
    let behind = |line: &'t str| line.strip_prefix("//")?.strip_prefix(key)?.strip_prefix(':').map(str::trim);
    text.lines().filter_map(behind).collect()
}

/// Splits at blanks, minding quotes, as a shell does.
pub fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in text.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}
