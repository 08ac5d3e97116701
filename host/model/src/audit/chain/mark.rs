//! Positions in a lane.

use crate::secret::Digest;

/// An end of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum End {
    /// The last entry that retention deleted. The lane begins after it.
    Anchor,
    /// The last entry of a transaction, after which the lane may end.
    Head,
}
crate::enum_texts!(End);

/// A position in a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The position of an entry, from 1; 0 before the first.
    pub seq: i64,
    /// The digest of the entry.
    pub digest: Digest,
}

impl Mark {
    /// The position before the first entry.
    pub const START: Self = Self {
        seq: 0,
        digest: Digest::from_bytes([0; 32]),
    };
}

/// A position as stored in the database, with its authentication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMark {
    /// The position.
    pub mark: Mark,
    /// Whether the message authentication code is valid.
    pub authentic: bool,
    /// The number of the newest root that the writer knew. An older root in the database reveals a rollback.
    pub known_root: i64,
}
