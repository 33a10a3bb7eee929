//! The kinds of differences between the pixels of a quad.

/// A difference between neighbouring pixels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Screen {
    /// In which direction.
    pub axis: Axis,
    /// How closely.
    pub detail: Detail,
}

/// A direction on the screen.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Axis {
    /// To the right.
    X,
    /// Down.
    Y,
    /// Both: the sum of the magnitudes.
    Width,
}

/// How closely a difference between pixels is taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Detail {
    /// As the target likes.
    Any,
    /// Once for a quad.
    Coarse,
    /// For each row and column of a quad.
    Fine,
}

impl Screen {
    /// All of them, with their names in IR text.
    pub const ALL: [(&str, Screen); 9] = {
        const fn screen(axis: Axis, detail: Detail) -> Screen {
            Screen { axis, detail }
        }
        [
            ("x", screen(Axis::X, Detail::Any)),
            ("y", screen(Axis::Y, Detail::Any)),
            ("width", screen(Axis::Width, Detail::Any)),
            ("x_coarse", screen(Axis::X, Detail::Coarse)),
            ("y_coarse", screen(Axis::Y, Detail::Coarse)),
            ("width_coarse", screen(Axis::Width, Detail::Coarse)),
            ("x_fine", screen(Axis::X, Detail::Fine)),
            ("y_fine", screen(Axis::Y, Detail::Fine)),
            ("width_fine", screen(Axis::Width, Detail::Fine)),
        ]
    };
}
