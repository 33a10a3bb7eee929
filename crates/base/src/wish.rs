//! Explicit bindings of shader parameters: the checker reads them, and layouts follow them.

/// What a program says about the place of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Wish {
    /// `[[vk::binding(index, set)]]`.
    pub binding: Option<(u32, u32)>,
    /// `register(u1, space2)`.
    pub register: Option<Register>,
    /// `[[vk::push_constant]]`.
    pub push_constant: bool,
}

/// `register(u1, space2)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Register {
    /// `b`, `t`, `u` or `s`.
    pub class: char,
    /// The number.
    pub index: u32,
    /// The space, 0 if none is given.
    pub space: u32,
}
