//! Reads the changes of other processes, in the order of their numbers.
//!
//! PostgreSQL's transactions take numbers from a sequence and commit in another order. So the reader remembers the
//! skipped numbers, and queries them until no transaction can have them any more.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use tokio::time::Instant;

use crate::Result;
use crate::engine::batch::bulk_sql::{BulkSql, MOST};
use crate::engine::connections::Readers;
use crate::engine::sql;
use assent_model::change::Change;

/// How long a skipped number may still appear. A transaction ends within 10 s.
const LATE: Duration = Duration::from_secs(12);
/// The most skipped numbers that are queried. Only a crash of PostgreSQL skips a large block of numbers.
const MOST_SKIPPED: i64 = 1024;
/// The most rows that one statement reads.
const PAGE: i64 = 1000;

static BY_NUMBER: LazyLock<BulkSql> =
    LazyLock::new(|| BulkSql::new("SELECT seq, change FROM changes WHERE seq IN ({$})", 0));

/// The numbers that were read or skipped.
#[derive(Debug, Default)]
struct Cursor {
    /// The highest number that was read.
    last: i64,
    /// The lower numbers that were not read, and the time since which each is missing.
    skipped: BTreeMap<i64, Instant>,
}

impl Cursor {
    /// Records that these numbers were read. They are in ascending order, and higher than all earlier ones.
    fn advance(&mut self, numbers: impl IntoIterator<Item = i64>, now: Instant) {
        for number in numbers {
            let missing = (self.last + 1).max(number - MOST_SKIPPED)..number;
            self.skipped.extend(missing.map(|number| (number, now)));
            self.last = number;
        }
    }

    /// The skipped numbers that may still appear.
    fn missing_numbers(&mut self, now: Instant) -> Vec<i64> {
        self.skipped
            .retain(|_, since| now.duration_since(*since) < LATE);
        while i64::try_from(self.skipped.len()).unwrap_or(i64::MAX) > MOST_SKIPPED {
            self.skipped.pop_first();
        }
        self.skipped.keys().copied().collect()
    }
}

/// Reads changes from a given moment on.
#[derive(Debug)]
pub(crate) struct ChangeReader {
    readers: Readers,
    cursor: Cursor,
}

impl ChangeReader {
    /// Returns a reader of the changes that are committed from now on.
    pub(crate) async fn begin(readers: Readers) -> Result<Self> {
        let mut numbers: Vec<(i64,)> =
            sql::query_as("SELECT seq FROM changes ORDER BY seq DESC LIMIT $1")
                .bind(i64::try_from(MOST).unwrap_or(i64::MAX))
                .fetch_all(&readers)
                .await?;
        numbers.reverse();
        let mut cursor = Cursor::default();
        let numbers = numbers.into_iter().map(|(number,)| number);
        let mut numbers = numbers.peekable();
        // Numbers before the first row were deleted, and are not pending.
        cursor.last = numbers.peek().map_or(0, |first| first - 1);
        cursor.advance(numbers, Instant::now());
        Ok(Self { readers, cursor })
    }

    /// The changes since the last call.
    pub(crate) async fn next(&mut self) -> Result<Vec<Change>> {
        let mut changes = self.late().await?;
        loop {
            let rows: Vec<(i64, String)> = sql::query_as(
                "SELECT seq, change FROM changes WHERE seq > $1 ORDER BY seq LIMIT $2",
            )
            .bind(self.cursor.last)
            .bind(PAGE)
            .fetch_all(&self.readers)
            .await?;
            let is_last = i64::try_from(rows.len()).unwrap_or(i64::MAX) < PAGE;
            let now = Instant::now();
            self.cursor
                .advance(rows.iter().map(|(number, _)| *number), now);
            changes.extend(known_changes(rows));
            if is_last {
                return Ok(changes);
            }
        }
    }

    /// The changes with numbers that were skipped before.
    async fn late(&mut self) -> Result<Vec<Change>> {
        let mut changes = Vec::new();
        for numbers in self.cursor.missing_numbers(Instant::now()).chunks(MOST) {
            let mut query = sql::query_as(BY_NUMBER.sql_for(numbers.len()));
            for number in BY_NUMBER.padded(numbers) {
                query = query.bind(*number);
            }
            let rows: Vec<(i64, String)> = query.fetch_all(&self.readers).await?;
            for (number, _) in &rows {
                self.cursor.skipped.remove(number);
            }
            changes.extend(known_changes(rows));
        }
        Ok(changes)
    }
}

/// The changes that this release knows. No request waits for other ones.
fn known_changes(rows: Vec<(i64, String)>) -> impl Iterator<Item = Change> {
    rows.into_iter()
        .filter_map(|(_, change)| change.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn skipped_numbers_are_looked_for_until_they_can_no_longer_appear() {
        let begun = Instant::now();
        let mut cursor = Cursor {
            last: 10,
            ..Cursor::default()
        };
        cursor.advance([11, 13, 16], begun);
        assert_eq!(cursor.missing_numbers(begun), [12, 14, 15]);
        cursor.skipped.remove(&14);
        cursor.advance([18], begun + Duration::from_secs(5));
        assert_eq!(
            cursor.missing_numbers(begun + Duration::from_secs(11)),
            [12, 15, 17]
        );
        assert_eq!(cursor.missing_numbers(begun + LATE), [17]);
        assert_eq!(cursor.last, 18);
    }

    #[tokio::test]
    async fn only_the_end_of_a_large_gap_counts_as_skipped() {
        let mut cursor = Cursor::default();
        cursor.advance([1_000_000, 2_000_000], Instant::now());
        let missing = cursor.missing_numbers(Instant::now());
        assert_eq!(missing.len(), 1024);
        assert_eq!(missing.last(), Some(&1_999_999));
    }
}
