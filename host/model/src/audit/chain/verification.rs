//! The verification of a chain, entry by entry, and the ways in which it can be broken.

use crate::audit::chain::{Mark, Record};
use crate::clock::Timestamp;
use crate::secret::Digest;

/// Where a chain is broken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Break {
    /// An entry says something else than when it was written.
    #[error("entry {seq} ({id}) was changed")]
    Changed {
        /// Its position.
        seq: i64,
        /// Its id.
        id: String,
    },
    /// What is personal in it does.
    #[error("the personal data in entry {seq} ({id}) were changed")]
    PersonalChanged {
        /// Its position.
        seq: i64,
        /// Its id.
        id: String,
    },
    /// What is personal in it is gone, and nobody erased the person.
    #[error(
        "the personal data in entry {seq} ({id}) were removed, without an erasure of that user"
    )]
    PersonalTaken {
        /// Its position.
        seq: i64,
        /// Its id.
        id: String,
    },
    /// An entry is whole in itself, but does not follow the one before: one of them is in place of another.
    #[error(
        "entry {seq} ({id}) does not follow the one before it: one of the two was put in place of another"
    )]
    Replaced {
        /// Its position.
        seq: i64,
        /// Its id.
        id: String,
    },
    /// Entries are missing.
    #[error("{} missing", entries(*.first, *.last))]
    Missing {
        /// The first one's position.
        first: i64,
        /// The last one's.
        last: i64,
    },
    /// Entries are missing at the end.
    #[error("the end is truncated: {} missing", entries(*.first, *.last))]
    CutOff {
        /// The first one's position.
        first: i64,
        /// The last one's.
        last: i64,
    },
    /// An entry has no place in the chain.
    #[error("entry {id} was inserted: it has no position in a lane")]
    Stray {
        /// Its id.
        id: String,
    },
    /// An entry stands before or beside one that should come later.
    #[error("entry {seq} ({id}) stands after entry {after}")]
    OutOfOrder {
        /// Its position.
        seq: i64,
        /// Its id.
        id: String,
        /// The position of the one before.
        after: i64,
    },
    /// The beginning is not what a holder of the master key has set.
    #[error("the anchor (after entry {seq}) is forged: it was changed without the master key")]
    AnchorForged {
        /// The position it names.
        seq: i64,
    },
    /// The end is not what a holder of the master key has set.
    #[error("the head (entry {seq}) is forged: it was changed without the master key")]
    HeadForged {
        /// The position it names.
        seq: i64,
    },
    /// The root is not what a holder of the master key has set.
    #[error("the root is missing or forged: it was changed without the master key")]
    RootForged,
}

impl Break {
    /// What is wrong, by its stable name.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Changed { .. } => "changed",
            Self::PersonalChanged { .. } => "personal_changed",
            Self::PersonalTaken { .. } => "personal_removed",
            Self::Replaced { .. } => "replaced",
            Self::Missing { .. } => "missing",
            Self::CutOff { .. } => "cut_off",
            Self::Stray { .. } => "inserted",
            Self::OutOfOrder { .. } => "out_of_order",
            Self::AnchorForged { .. } => "anchor_forged",
            Self::HeadForged { .. } => "head_forged",
            Self::RootForged => "root_forged",
        }
    }

    /// The position at which it shows; `None` for an entry that has none.
    pub const fn seq(&self) -> Option<i64> {
        match self {
            Self::Changed { seq, .. }
            | Self::PersonalChanged { seq, .. }
            | Self::PersonalTaken { seq, .. }
            | Self::Replaced { seq, .. }
            | Self::OutOfOrder { seq, .. }
            | Self::AnchorForged { seq }
            | Self::HeadForged { seq } => Some(*seq),
            Self::Missing { first, .. } | Self::CutOff { first, .. } => Some(*first),
            Self::Stray { .. } | Self::RootForged => None,
        }
    }
}

/// Where a log is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneBreak {
    /// The lane; `None` for the root, and for an entry without a lane.
    pub lane: Option<i64>,
    /// What is wrong.
    pub what: Break,
}

impl std::fmt::Display for LaneBreak {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.lane {
            Some(lane) => write!(f, "lane {lane}: {}", self.what),
            None => self.what.fmt(f),
        }
    }
}

/// Positions in words.
fn entries(first: i64, last: i64) -> String {
    if first == last {
        format!("entry {first} is")
    } else {
        format!("entries {first} to {last} are")
    }
}

/// The place of an entry in the log, and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its lane.
    pub lane: i64,
    /// Its position in the lane.
    pub seq: i64,
    /// Its time.
    pub at: Timestamp,
}

/// What was verified without a break.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerificationCounts {
    /// The number of entries.
    pub entries: u64,
    /// The number of entries whose personal data was erased.
    pub erased: u64,
    /// The earliest entry.
    pub first: Option<Place>,
    /// The latest entry.
    pub last: Option<Place>,
}

impl VerificationCounts {
    /// Adds what was verified in another lane.
    pub fn add(&mut self, other: &Self) {
        self.entries += other.entries;
        self.erased += other.erased;
        for place in [other.first, other.last].into_iter().flatten() {
            self.note(place);
        }
    }

    fn note(&mut self, place: Place) {
        if self.first.is_none_or(|first| place.at < first.at) {
            self.first = Some(place);
        }
        if self.last.is_none_or(|last| place.at >= last.at) {
            self.last = Some(place);
        }
    }
}

/// Goes along a lane, an entry at a time.
#[derive(Clone, Debug)]
pub struct Walk {
    lane: i64,
    at: Mark,
    checked: VerificationCounts,
}

impl Walk {
    /// Begins after this place of a lane.
    pub fn after(lane: i64, mark: Mark) -> Self {
        Self {
            lane,
            at: mark,
            checked: VerificationCounts::default(),
        }
    }

    /// Goes on to the next entry, if it is what follows.
    pub fn step(&mut self, record: &Record) -> Result<(), Break> {
        let (seq, id) = (record.seq, record.id.clone());
        let expected = self.at.seq.saturating_add(1);
        if seq < expected {
            return Err(Break::OutOfOrder {
                seq,
                id,
                after: self.at.seq,
            });
        }
        if seq > expected {
            return Err(Break::Missing {
                first: expected,
                last: seq.saturating_sub(1),
            });
        }
        let digest = record.covered();
        if Digest::from_text(&record.digest) != Some(digest) {
            return Err(Break::Changed { seq, id });
        }
        if Digest::from_text(&record.previous) != Some(self.at.digest) {
            return Err(Break::Replaced { seq, id });
        }
        if !record.personal_is_good() {
            return Err(Break::PersonalChanged { seq, id });
        }
        if record.lane != self.lane {
            return Err(Break::Replaced { seq, id });
        }
        let place = Place {
            lane: self.lane,
            seq,
            at: Timestamp::from_millis(record.at),
        };
        self.at = Mark { seq, digest };
        self.checked.entries += 1;
        self.checked.erased += u64::from(record.is_erased() || record.origin_is_erased());
        self.checked.note(place);
        Ok(())
    }

    /// Goes on from a later place, which is believed. `false`, and nothing done, if it is none.
    pub fn skip_to(&mut self, mark: Mark) -> bool {
        let later = mark.seq > self.at.seq;
        if later {
            self.at = mark;
        }
        later
    }

    /// The lane.
    pub const fn lane(&self) -> i64 {
        self.lane
    }

    /// Where it stands.
    pub const fn at(&self) -> &Mark {
        &self.at
    }

    /// What was found good so far.
    pub fn checked(&self) -> &VerificationCounts {
        &self.checked
    }
}
