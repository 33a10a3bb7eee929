//! Wave operations.
//!
//! The threads of a group are divided into waves, in order. The threads of a wave are its lanes. A wave operation applies to
//! the *active* lanes: those that execute it in the same iteration of every enclosing loop. The other lanes have taken
//! another branch, left a loop, or ended. The target determines the number of lanes. Four consecutive lanes are a *quad* on
//! every target.

use crate::Math;

/// An operation on a wave. A *number* is a scalar or vector of integers or floats.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Wave {
    /// `() -> u32`. Which lane this is.
    LaneIndex,
    /// `() -> u32`. How many lanes a wave has, active or not.
    LaneCount,
    /// `(number) -> number`. The sum of what the active lanes give; so below.
    Sum,
    /// `(number) -> number`.
    Product,
    /// `(number) -> number`.
    Min,
    /// `(number) -> number`.
    Max,
    /// `(integers) -> integers`.
    And,
    /// `(integers) -> integers`.
    Or,
    /// `(integers) -> integers`.
    Xor,
    /// `(bool) -> bool`. Whether all active lanes give `true`.
    All,
    /// `(bool) -> bool`. Whether one does.
    Any,
    /// `(bool) -> u32x4`. A bit for each lane, which is set if it is active and gives `true`.
    Ballot,
    /// `(number) -> number`. The sum of what the active lanes before this one give.
    PrefixSum,
    /// `(number) -> number`. The product of what the active lanes before this one give.
    PrefixProduct,
    /// `(number, lane: u32) -> number`. What that lane gives; if it is not active, whatever the target finds there.
    ReadAt,
    /// `(number) -> number`. What the first active lane gives.
    ReadFirst,
    /// `(number) -> number`. What the other lane of the same row of the quad gives.
    QuadX,
    /// `(number) -> number`. What the other lane of the same column gives.
    QuadY,
    /// `(number) -> number`. What the lane of the other row and column gives.
    QuadDiagonal,
}

impl Wave {
    /// All of them, with their names in IR text.
    pub const ALL: [(&str, Wave); 19] = [
        ("lane_index", Wave::LaneIndex),
        ("lane_count", Wave::LaneCount),
        ("sum", Wave::Sum),
        ("product", Wave::Product),
        ("min", Wave::Min),
        ("max", Wave::Max),
        ("and", Wave::And),
        ("or", Wave::Or),
        ("xor", Wave::Xor),
        ("all", Wave::All),
        ("any", Wave::Any),
        ("ballot", Wave::Ballot),
        ("prefix_sum", Wave::PrefixSum),
        ("prefix_product", Wave::PrefixProduct),
        ("read_at", Wave::ReadAt),
        ("read_first", Wave::ReadFirst),
        ("quad_x", Wave::QuadX),
        ("quad_y", Wave::QuadY),
        ("quad_diagonal", Wave::QuadDiagonal),
    ];

    /// Whether the result depends on this lane alone, whichever other lanes are active.
    pub const fn is_alone(self) -> bool {
        match self {
            Wave::LaneIndex | Wave::LaneCount => true,
            Wave::Sum | Wave::Product | Wave::Min | Wave::Max | Wave::And | Wave::Or | Wave::Xor => false,
            Wave::All | Wave::Any | Wave::Ballot | Wave::PrefixSum | Wave::PrefixProduct => false,
            Wave::ReadAt | Wave::ReadFirst | Wave::QuadX | Wave::QuadY | Wave::QuadDiagonal => false,
        }
    }

    /// The operation that makes one number of two, if lanes are gathered so.
    pub const fn math(self) -> Option<Math> {
        match self {
            Wave::Sum | Wave::PrefixSum => Some(Math::Add),
            Wave::Product | Wave::PrefixProduct => Some(Math::Mul),
            Wave::Min => Some(Math::Min),
            Wave::Max => Some(Math::Max),
            Wave::And => Some(Math::And),
            Wave::Or => Some(Math::Or),
            Wave::Xor => Some(Math::Xor),
            Wave::LaneIndex | Wave::LaneCount | Wave::All | Wave::Any | Wave::Ballot => None,
            Wave::ReadAt | Wave::ReadFirst | Wave::QuadX | Wave::QuadY | Wave::QuadDiagonal => None,
        }
    }

    /// The bits by which the number of the lane that is read differs from that of the reader, for quads.
    pub const fn across(self) -> Option<u32> {
        match self {
            Wave::QuadX => Some(1),
            Wave::QuadY => Some(2),
            Wave::QuadDiagonal => Some(3),
            Wave::LaneIndex | Wave::LaneCount | Wave::All | Wave::Any | Wave::Ballot => None,
            Wave::Sum | Wave::Product | Wave::Min | Wave::Max | Wave::And | Wave::Or | Wave::Xor => None,
            Wave::PrefixSum | Wave::PrefixProduct | Wave::ReadAt | Wave::ReadFirst => None,
        }
    }
}
