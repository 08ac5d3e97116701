//! The verification of a chain, entry by entry, and the ways in which a chain can be broken.

use crate::audit::chain::{Mark, Record};
use crate::clock::Timestamp;
use crate::secret::Digest;

/// The position and the kind of a break in a chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Break {
    /// An entry was changed after it was written.
    #[error("entry {seq} ({id}) was changed")]
    Changed {
        /// Its position.
        seq: i64,
        /// Its id.
        id: String,
    },
    /// The personal data of an entry was changed.
    #[error("the personal data in entry {seq} ({id}) were changed")]
    PersonalChanged {
        /// Its position.
        seq: i64,
        /// Its id.
        id: String,
    },
    /// The personal data of an entry was removed without an erasure of the user.
    #[error(
        "the personal data in entry {seq} ({id}) were removed, without an erasure of that user"
    )]
    PersonalRemoved {
        /// Its position.
        seq: i64,
        /// Its id.
        id: String,
    },
    /// An entry is unchanged, but does not follow the preceding one: one of the two replaces another entry.
    #[error("entry {seq} ({id}) does not follow the previous entry: one of the two was replaced")]
    Replaced {
        /// Its position.
        seq: i64,
        /// Its id.
        id: String,
    },
    /// Entries are missing.
    #[error("{} missing", entries(*.first, *.last))]
    Missing {
        /// The position of the first missing entry.
        first: i64,
        /// The position of the last missing entry.
        last: i64,
    },
    /// Entries are missing at the end.
    #[error("the end is truncated: {} missing", entries(*.first, *.last))]
    CutOff {
        /// The position of the first missing entry.
        first: i64,
        /// The position of the last missing entry.
        last: i64,
    },
    /// An entry has no position in the chain.
    #[error("entry {id} was inserted: it has no position in a lane")]
    #[strum(serialize = "inserted")]
    Stray {
        /// Its id.
        id: String,
    },
    /// An entry follows an entry with the same or a later position.
    #[error("entry {seq} ({id}) stands after entry {after}")]
    OutOfOrder {
        /// Its position.
        seq: i64,
        /// Its id.
        id: String,
        /// The position of the preceding entry.
        after: i64,
    },
    /// The anchor was not authenticated with the master key.
    #[error("the anchor (after entry {seq}) is forged: it was changed without the master key")]
    AnchorForged {
        /// The position of the anchor.
        seq: i64,
    },
    /// The head was not authenticated with the master key.
    #[error("the head (entry {seq}) is forged: it was changed without the master key")]
    HeadForged {
        /// The position of the head.
        seq: i64,
    },
    /// The root was not authenticated with the master key.
    #[error("the root is missing or forged: it was changed without the master key")]
    RootForged,
}

impl Break {
    /// Returns the stable name of the kind of break.
    pub fn kind(&self) -> &'static str {
        self.into()
    }

    /// Returns the position of the break; `None` for an entry without a position.
    pub const fn seq(&self) -> Option<i64> {
        match self {
            Self::Changed { seq, .. }
            | Self::PersonalChanged { seq, .. }
            | Self::PersonalRemoved { seq, .. }
            | Self::Replaced { seq, .. }
            | Self::OutOfOrder { seq, .. }
            | Self::AnchorForged { seq }
            | Self::HeadForged { seq } => Some(*seq),
            Self::Missing { first, .. } | Self::CutOff { first, .. } => Some(*first),
            Self::Stray { .. } | Self::RootForged => None,
        }
    }
}

/// A break of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneBreak {
    /// The lane; `None` for the root, and for an entry without a lane.
    pub lane: Option<i64>,
    /// The break.
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

/// Formats positions as text.
fn entries(first: i64, last: i64) -> String {
    if first == last {
        format!("entry {first} is")
    } else {
        format!("entries {first} to {last} are")
    }
}

/// The position of an entry in the log, and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The lane.
    pub lane: i64,
    /// The position in the lane.
    pub seq: i64,
    /// The time of the entry.
    pub at: Timestamp,
}

/// The verified entries without a break.
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
    /// Adds the verified entries of another lane.
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

/// Verifies the entries of a lane, one by one.
#[derive(Clone, Debug)]
pub struct Walk {
    lane: i64,
    position: Mark,
    checked: VerificationCounts,
}

impl Walk {
    /// Returns a verification that begins after this position of a lane.
    pub fn after(lane: i64, mark: Mark) -> Self {
        Self {
            lane,
            position: mark,
            checked: VerificationCounts::default(),
        }
    }

    /// Verifies the next entry.
    ///
    /// # Errors
    /// [`Break`] if the record is not the unchanged next entry of the lane.
    pub fn step(&mut self, record: &Record) -> Result<(), Break> {
        let (seq, id) = (record.seq, record.id.clone());
        let expected = self.position.seq.saturating_add(1);
        if seq < expected {
            return Err(Break::OutOfOrder {
                seq,
                id,
                after: self.position.seq,
            });
        }
        if seq > expected {
            return Err(Break::Missing {
                first: expected,
                last: seq.saturating_sub(1),
            });
        }
        let digest = record.content_digest();
        if Digest::from_text(&record.digest) != Some(digest) {
            return Err(Break::Changed { seq, id });
        }
        if Digest::from_text(&record.previous) != Some(self.position.digest) {
            return Err(Break::Replaced { seq, id });
        }
        if !record.is_personal_data_intact() {
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
        self.position = Mark { seq, digest };
        self.checked.entries += 1;
        self.checked.erased += u64::from(record.is_erased() || record.origin_is_erased());
        self.checked.note(place);
        Ok(())
    }

    /// Continues from a later, trusted position. Returns false and changes nothing if the position is not later.
    pub fn skip_to(&mut self, mark: Mark) -> bool {
        let later = mark.seq > self.position.seq;
        if later {
            self.position = mark;
        }
        later
    }

    /// Returns the lane.
    pub const fn lane(&self) -> i64 {
        self.lane
    }

    /// Returns the current position.
    pub const fn position(&self) -> &Mark {
        &self.position
    }

    /// Returns the entries verified so far.
    pub fn counts(&self) -> &VerificationCounts {
        &self.checked
    }
}
