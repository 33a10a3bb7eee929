//! Samplers as the command line writes them: `linear,repeat`.

use cotangent_ir::texture::{Address, Compare, Filter, SamplerState};

/// Reads words in any order: `linear` or `nearest`; `mip-linear` or `mip-nearest`, if it is another between levels; `clamp`,
/// `repeat`, `mirror` or `border`, once for all axes or once for each; and what a comparison asks. `None` if there is
/// another word.
pub fn parse(text: &str) -> Option<SamplerState> {
    let mut state = SamplerState::default();
    let (mut addresses, mut mip) = (vec![], None);
    for word in text.split(',').map(str::trim) {
        match word {
            "linear" => (state.mag, state.min) = (Filter::Linear, Filter::Linear),
            "nearest" => (state.mag, state.min) = (Filter::Nearest, Filter::Nearest),
            "mip-linear" => mip = Some(Filter::Linear),
            "mip-nearest" => mip = Some(Filter::Nearest),
            _ => match Address::ALL.iter().find(|(name, _)| *name == word) {
                Some((_, address)) => addresses.push(*address),
                None => state.compare = Compare::ALL.iter().find(|(name, _)| *name == word)?.1,
            },
        }
    }
    state.mip = mip.unwrap_or(state.min);
    match addresses[..] {
        [] => {}
        [all] => state.address = [all; 3],
        _ => state.address.iter_mut().zip(addresses).for_each(|(axis, address)| *axis = address),
    }
    Some(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_a_sampler_does() {
        assert_eq!(parse("linear,clamp"), Some(SamplerState::default()));
        let state = parse("nearest, repeat, mirror, greater").unwrap();
        assert_eq!(
            (state.mag, state.mip, state.compare),
            (Filter::Nearest, Filter::Nearest, Compare::Greater)
        );
        assert_eq!(state.address, [Address::Repeat, Address::Mirror, Address::Clamp]);
        assert_eq!(parse("cubic"), None);
        assert_eq!(parse("linear, mip-nearest").map(|s| s.mip), Some(Filter::Nearest));
    }
}
