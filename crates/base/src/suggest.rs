//! Finds the nearest of several names, for "did you mean".

/// Longest name that anybody misspells.
const MAX_LENGTH: usize = 100;

/// The name with the fewest edits from `name`, if they are few for its length. Of equals one that begins with a letter
/// of the same case, then the first in the alphabet, so that the answer does not depend on the order of `names`.
pub fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    if length > MAX_LENGTH {
        return None;
    }
    let limit = if length < 3 { 0 } else { (length / 3).max(1) };
    let is_upper = |text: &str| text.starts_with(char::is_uppercase);
    names
        // Each missing or extra character is an edit; most names are ruled out by that alone.
        .filter(|candidate| candidate.len().abs_diff(name.len()) <= limit * 4)
        .filter(|candidate| *candidate != name && !candidate.starts_with("operator"))
        .map(|candidate| (distance(name, candidate), is_upper(name) != is_upper(candidate), candidate))
        .filter(|(distance, _, _)| *distance <= limit)
        .min()
        .map(|(_, _, candidate)| candidate)
}

/// How many characters must be put in, left out, changed or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let change = usize::from(!a[i - 1].eq_ignore_ascii_case(&b[j - 1]));
            let mut best = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_misspelt_name_finds_its_neighbour() {
        let names = ["origin", "direction", "dot", "length"];
        assert_eq!(nearest("orgin", names.into_iter()), Some("origin"));
        assert_eq!(nearest("lenght", names.into_iter()), Some("length"));
        assert_eq!(nearest("colour", names.into_iter()), None);
        assert_eq!(nearest("spher", ["Sphere", "sphere"].into_iter()), Some("sphere"));
        assert_eq!(nearest("q", ["N", "x"].into_iter()), None);
    }
}
