//! The outcomes of conditional writes. Each write is one transaction that does all of it, or nothing.

/// The outcome of a step in the life of a row that happens once: the claim of a login, a link or a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Transition {
    /// The step was taken now.
    Done,
    /// Nothing was done: the row took the step before, expired, or something else that it depends on has ended.
    NotOpen,
}

/// The outcome of a write that holds only for the version of a row that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum VersionedWrite {
    /// It was written.
    Done,
    /// Nothing was done: the row was changed or deleted since it was read.
    Stale,
}

/// The outcome of the use of a message that is valid once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum ReplayCheck {
    /// The message was not used before. From now on another with its id is a replay.
    FirstUse,
    /// The message is a replay.
    Replayed,
}

/// The outcome of a write in the name of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum DeviceWrite {
    /// It was written.
    Done,
    /// Nothing was done: the device is revoked or not the user's, or the user may not sign in.
    Inactive,
}

impl Transition {
    /// Whether the step was taken now.
    #[must_use]
    pub const fn is_done(self) -> bool {
        matches!(self, Self::Done)
    }

    /// The outcome of a statement whose condition at most one row meets.
    pub(crate) const fn of_rows(affected: u64) -> Self {
        match affected {
            0 => Self::NotOpen,
            _ => Self::Done,
        }
    }
}

impl VersionedWrite {
    /// The outcome of a statement whose condition at most one row meets.
    pub(crate) const fn of_rows(affected: u64) -> Self {
        match affected {
            0 => Self::Stale,
            _ => Self::Done,
        }
    }
}
