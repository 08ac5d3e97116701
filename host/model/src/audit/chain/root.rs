//! The root of the audit log: the heads of all lanes at one time.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::audit::chain::Mark;
use crate::secret::Digest;

/// The last entry of each lane, by the number of the lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heads(BTreeMap<i64, Mark>);

impl Heads {
    /// Returns the head of a lane.
    pub fn get(&self, lane: i64) -> Option<&Mark> {
        self.0.get(&lane)
    }

    /// Returns the position of the head of a lane, or 0 if the lane has no entry.
    pub fn seq(&self, lane: i64) -> i64 {
        self.get(lane).map_or(0, |mark| mark.seq)
    }

    /// Returns the lanes and their heads.
    pub fn iter(&self) -> impl Iterator<Item = (i64, &Mark)> {
        self.0.iter().map(|(lane, mark)| (*lane, mark))
    }

    /// Whether there are no lanes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets the head of a lane. A position before the known one changes nothing.
    pub fn advance(&mut self, lane: i64, mark: Mark) {
        if self.seq(lane) < mark.seq {
            self.0.insert(lane, mark);
        }
    }

    /// Removes the heads that are not after those of the other list.
    pub fn remove(&mut self, other: &Self) {
        self.0.retain(|lane, head| head.seq > other.seq(*lane));
    }

    /// Returns `LANE:SEQ:DIGEST` for each lane, separated by spaces.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (lane, mark) in &self.0 {
            if !text.is_empty() {
                text.push(' ');
            }
            let _ = write!(text, "{lane}:{}:{}", mark.seq, mark.digest.to_text());
        }
        text
    }

    /// Parses the heads in a text. Returns `None` if [`Heads::to_text`] cannot produce the text.
    pub fn parse(text: &str) -> Option<Self> {
        let mut heads = BTreeMap::new();
        for part in text.split(' ').filter(|part| !part.is_empty()) {
            let mut parts = part.split(':');
            let lane = parts.next()?.parse().ok()?;
            let seq = parts.next()?.parse().ok()?;
            let digest = Digest::from_text(parts.next()?)?;
            if parts.next().is_some() {
                return None;
            }
            heads.insert(lane, Mark { seq, digest });
        }
        let heads = Self(heads);
        (heads.to_text() == text).then_some(heads)
    }

    /// Returns the SHA-256 digest of the text. With an external copy of this digest, a rollback of the log can be
    /// detected.
    pub fn digest(&self) -> Digest {
        Digest::sha256(self.to_text().as_bytes())
    }
}

impl FromIterator<(i64, Mark)> for Heads {
    fn from_iter<I: IntoIterator<Item = (i64, Mark)>>(heads: I) -> Self {
        Self(heads.into_iter().collect())
    }
}

/// The heads of all lanes, authenticated with the key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Root {
    /// The number of the root; 0 for an empty log.
    pub number: i64,
    /// The heads.
    pub heads: Heads,
}

/// A root as stored in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRoot {
    /// The root.
    pub root: Root,
    /// Whether the message authentication code is valid.
    pub authentic: bool,
}

/// The progress of a reader: a position for each lane, `LANE:SEQ` separated by spaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Positions(BTreeMap<i64, i64>);

/// A text that is not a list of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected positions such as 1:500,2:31 (LANE:SEQ, separated by commas)")]
pub struct PositionsError;

impl Positions {
    /// Returns the position in a lane, or 0 before its first entry.
    pub fn get(&self, lane: i64) -> i64 {
        self.0.get(&lane).copied().unwrap_or(0)
    }

    /// Sets the position in a lane. A position before the known one changes nothing.
    pub fn advance(&mut self, lane: i64, seq: i64) {
        let known = self.0.entry(lane).or_insert(0);
        *known = seq.max(*known);
    }

    /// Returns the lanes and their positions.
    pub fn iter(&self) -> impl Iterator<Item = (i64, i64)> {
        self.0.iter().map(|(lane, seq)| (*lane, *seq))
    }

    /// Returns the number of entries between these positions and the last ones.
    pub fn behind(&self, last: &Self) -> i64 {
        last.iter()
            .map(|(lane, seq)| seq.saturating_sub(self.get(lane)).max(0))
            .sum()
    }

    /// Returns the lower position of each lane.
    #[must_use]
    pub fn min(self, other: &Self) -> Self {
        Self(
            self.0
                .into_iter()
                .map(|(lane, seq)| (lane, seq.min(other.get(lane))))
                .collect(),
        )
    }
}

impl FromIterator<(i64, i64)> for Positions {
    fn from_iter<I: IntoIterator<Item = (i64, i64)>>(positions: I) -> Self {
        Self(positions.into_iter().collect())
    }
}

impl std::fmt::Display for Positions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts: Vec<String> = self
            .0
            .iter()
            .map(|(lane, seq)| format!("{lane}:{seq}"))
            .collect();
        f.write_str(&parts.join(","))
    }
}

impl std::str::FromStr for Positions {
    type Err = PositionsError;
    fn from_str(text: &str) -> Result<Self, PositionsError> {
        let mut positions = BTreeMap::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (lane, seq) = part.split_once(':').ok_or(PositionsError)?;
            let number = |text: &str| text.parse::<i64>().ok().filter(|number| *number >= 0);
            let (lane, seq) = number(lane).zip(number(seq)).ok_or(PositionsError)?;
            positions.insert(lane, seq);
        }
        Ok(Self(positions))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn heads() -> impl Strategy<Value = Heads> {
        let mark = (1..1_000_000_i64, any::<[u8; 32]>());
        proptest::collection::btree_map(1..100_i64, mark, 0..6).prop_map(|heads| {
            heads
                .into_iter()
                .map(|(lane, (seq, digest))| {
                    let digest = Digest::from_bytes(digest);
                    (lane, Mark { seq, digest })
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn heads_round_trip_through_text(heads in heads()) {
            prop_assert_eq!(Heads::parse(&heads.to_text()), Some(heads));
        }

        #[test]
        fn a_parsed_text_is_the_canonical_text(text in "[0-9a-f: ]{0,80}") {
            if let Some(heads) = Heads::parse(&text) {
                prop_assert_eq!(heads.to_text(), text);
            }
        }

        #[test]
        fn positions_round_trip_through_text(all in proptest::collection::btree_map(1..100_i64, 0..i64::MAX, 0..6)) {
            let positions = Positions(all);
            prop_assert_eq!(positions.to_string().parse(), Ok(positions));
        }
    }

    #[test]
    fn a_head_never_goes_back() {
        let mark = |seq| Mark { seq, ..Mark::START };
        let mut heads = Heads::default();
        heads.advance(1, mark(3));
        heads.advance(1, mark(2));
        assert_eq!((heads.seq(1), heads.seq(2)), (3, 0));
    }

    #[test]
    fn malformed_positions_are_rejected() {
        for wrong in ["1", "1:", ":1", "1:x", "-1:2", "1:2:3", "1 : 2"] {
            assert!(wrong.parse::<Positions>().is_err(), "{wrong}");
        }
        assert_eq!("".parse(), Ok(Positions::default()));
    }
}
