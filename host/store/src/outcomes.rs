//! The outcomes of conditional writes. Each write is one transaction that applies either completely or not at all.

/// The outcome of a state change that happens once in the life of a row: the claim of a login, a link or a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Transition {
    /// The change was made now.
    Done,
    /// Nothing was done: the change was made before, the row expired, or another object that it depends on has ended.
    NotOpen,
}

/// The outcome of a write that applies only to the version of a row that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum VersionedWrite {
    /// It was written.
    Done,
    /// Nothing was done: the row was changed or deleted since it was read.
    Stale,
}

/// The outcome of a use of a single-use message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum ReplayCheck {
    /// The message was not used before. From now on another message with its id is a replay.
    FirstUse,
    /// The message is a replay.
    Replayed,
}

/// The outcome of a write on behalf of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum DeviceWrite {
    /// It was written.
    Done,
    /// Nothing was done: the device is revoked or not the user's, or the user may not sign in.
    Inactive,
}

impl Transition {
    /// Whether the change was made now.
    #[must_use]
    pub const fn is_done(self) -> bool {
        matches!(self, Self::Done)
    }

    /// The outcome of a statement with a condition that at most one row meets.
    pub(crate) const fn of_rows(affected: u64) -> Self {
        match affected {
            0 => Self::NotOpen,
            _ => Self::Done,
        }
    }
}

impl VersionedWrite {
    /// The outcome of a statement with a condition that at most one row meets.
    pub(crate) const fn of_rows(affected: u64) -> Self {
        match affected {
            0 => Self::Stale,
            _ => Self::Done,
        }
    }
}
