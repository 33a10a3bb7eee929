//! Parses samplers of the command line: `linear,repeat`.

use crate::{Error, bail};
use cotangent_ir::texture::{Address, Compare, Filter, SamplerState};

/// Reads words in any order: `linear` or `nearest`; `mip-linear` or `mip-nearest`, if it is another between levels; `clamp`,
/// `repeat`, `mirror` or `border`, once for all axes or once for each; and what a comparison asks. `None` if none of them is such
/// a word: then the text is something else.
pub fn parse(text: &str) -> Option<Result<SamplerState, Error>> {
    let is_known = |word: &str| WORDS.contains(&word) || address(word).is_some() || compare(word).is_some();
    text.split(',').any(|word| is_known(word.trim())).then(|| state(text))
}

/// The words that say what a sampler does.
pub fn words() -> String {
    let addresses = Address::ALL.iter().map(|(name, _)| *name);
    let compares = Compare::ALL.iter().map(|(name, _)| *name);
    WORDS.into_iter().chain(addresses).chain(compares).collect::<Vec<_>>().join(" ")
}

const WORDS: [&str; 4] = ["linear", "nearest", "mip-linear", "mip-nearest"];

fn address(word: &str) -> Option<Address> {
    Address::ALL.iter().find(|(name, _)| *name == word).map(|(_, address)| *address)
}

fn compare(word: &str) -> Option<Compare> {
    Compare::ALL.iter().find(|(name, _)| *name == word).map(|(_, compare)| *compare)
}

fn state(text: &str) -> Result<SamplerState, Error> {
    let mut state = SamplerState::default();
    let (mut addresses, mut mip) = (vec![], None);
    for word in text.split(',').map(str::trim) {
        match word {
            "linear" => (state.mag, state.min) = (Filter::Linear, Filter::Linear),
            "nearest" => (state.mag, state.min) = (Filter::Nearest, Filter::Nearest),
            "mip-linear" => mip = Some(Filter::Linear),
            "mip-nearest" => mip = Some(Filter::Nearest),
            _ => match (address(word), compare(word)) {
                (Some(address), _) => addresses.push(address),
                (None, Some(compare)) => state.compare = compare,
                (None, None) => {
                    bail!("`{word}` is not a sampler setting; the settings are {}", words());
                }
            },
        }
    }
    if addresses.len() > 3 {
        bail!("a sampler has three axes, but `{text}` sets {}", addresses.len());
    }
    state.mip = mip.unwrap_or(state.min);
    match addresses[..] {
        [] => {}
        [all] => state.address = [all; 3],
        _ => state.address.iter_mut().zip(addresses).for_each(|(axis, address)| *axis = address),
    }
    Ok(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_a_sampler_does() {
        assert_eq!(state("linear,clamp").unwrap(), SamplerState::default());
        let state = parse("nearest, repeat, mirror, greater").unwrap().unwrap();
        assert_eq!(
            (state.mag, state.mip, state.compare),
            (Filter::Nearest, Filter::Nearest, Compare::Greater)
        );
        assert_eq!(state.address, [Address::Repeat, Address::Mirror, Address::Clamp]);
        assert!(parse("cubic").is_none());
        assert_eq!(parse("linear, mip-nearest").unwrap().unwrap().mip, Filter::Nearest);
        let beyond = parse("clamp,clamp,clamp,clamp").unwrap().unwrap_err().0;
        assert!(beyond.starts_with("a sampler has three axes"), "{beyond}");
        let unknown = parse("linear,clmp").unwrap().unwrap_err().0;
        assert!(
            unknown.starts_with("`clmp` is not a sampler setting; the settings are linear nearest"),
            "{unknown}"
        );
    }
}
