//! A place in a lane.

use crate::secret::Digest;

/// An end of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The last entry that retention deleted. The lane begins after it.
    Anchor,
    /// The last entry of a transaction, after which the lane may end.
    Head,
}

impl End {
    /// Its name in the code's input.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Anchor => "anchor",
            Self::Head => "head",
        }
    }
}

/// A place in a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The position of an entry, from 1; 0 before the first.
    pub seq: i64,
    /// Its digest.
    pub digest: Digest,
}

impl Mark {
    /// Before the first entry.
    pub const START: Self = Self {
        seq: 0,
        digest: Digest::from_bytes([0; 32]),
    };
}

/// A place as it stands in the database, with what vouches for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMark {
    /// The place.
    pub mark: Mark,
    /// Whether its code is that of a holder of the key.
    pub authentic: bool,
}
