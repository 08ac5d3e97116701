//! The partitions of large tables on PostgreSQL, each for a period. They are created in advance, and an old one is
//! dropped as a whole. A row of a period without a partition goes to the default partition.

use std::time::Duration;

use crate::engine::sql;
use crate::engine::sql::Connection;
use assent_model::clock::Timestamp;
use assent_model::id::first_text_of;

const DAY: Duration = Duration::from_secs(86_400);

/// Begins a transaction that changes partitions. It waits for locks only briefly, because all statements on the table
/// wait for it meanwhile.
pub(crate) const BEGIN: &str = "BEGIN; SET LOCAL lock_timeout = '1s'";

/// A table with partitions.
struct PartitionedTable {
    name: &'static str,
    /// The length of a period, in days since 1970-01-01.
    days: u32,
}

const TABLES: [PartitionedTable; 2] = [
    PartitionedTable {
        name: "audit_entries",
        days: 7,
    },
    PartitionedTable {
        name: "claim_traces",
        days: 1,
    },
];

/// How many periods have a partition: the current period and the following ones.
const PERIODS: u32 = 2;

/// A partition of a period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    pub(crate) name: String,
    /// The end of the period.
    pub(crate) end: Timestamp,
}

impl PartitionedTable {
    /// The `ahead`-th period after that of `now`: the name of its partition, its beginning and its end.
    fn period(&self, now: Timestamp, ahead: u32) -> (String, Timestamp, Timestamp) {
        let length = i64::from(self.days) * 86_400_000;
        let number = now.millis().div_euclid(length) + i64::from(ahead);
        let start = Timestamp::from_millis(number * length);
        let end = start + DAY * self.days;
        // Days since 1970, because a name may not contain the punctuation of a date.
        let day = |at: Timestamp| at.millis() / 86_400_000;
        let name = format!("{}_d{}_d{}", self.name, day(start), day(end));
        (name, start, end)
    }
}

/// The end of the period in a partition's name; `None` for the default partition.
fn end_in(name: &str) -> Option<Timestamp> {
    let day: i64 = name.rsplit_once("_d")?.1.parse().ok()?;
    Some(Timestamp::from_millis(day.checked_mul(86_400_000)?))
}

/// The partitions of a table except the default one, the oldest first.
pub(crate) async fn list(connection: &mut Connection, table: &str) -> sql::Result<Vec<Partition>> {
    let rows: Vec<(String,)> = sql::query_as(
        "SELECT CAST(relname AS text) FROM pg_inherits
         JOIN pg_class ON pg_class.oid = inhrelid
         WHERE inhparent = to_regclass($1)",
    )
    .bind(table.to_owned())
    .fetch_all(connection)
    .await?;
    let mut found: Vec<Partition> = rows
        .into_iter()
        .filter_map(|(name,)| {
            let end = end_in(&name)?;
            Some(Partition { name, end })
        })
        .collect();
    found.sort_by_key(|partition| partition.end);
    Ok(found)
}

/// Creates the partitions of the current period and of the next one. If one cannot be created, the others are.
///
/// # Errors
/// If the role may not create tables, or the default partition has rows of the period.
pub(crate) async fn ensure(connection: &mut Connection) -> sql::Result<()> {
    let (now,): (i64,) =
        sql::query_as("SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)")
            .fetch_one(&mut *connection)
            .await?;
    let mut result = Ok(());
    for table in TABLES {
        let known = list(connection, table.name).await?;
        for ahead in 0..PERIODS {
            let (name, start, end) = table.period(Timestamp::from_millis(now), ahead);
            if known.iter().any(|partition| partition.name == name) {
                continue;
            }
            match create(connection, table.name, &name, start, end).await {
                Err(error) if error.is_outage() => return Err(error),
                Err(error) => result = Err(error),
                Ok(()) => {}
            }
        }
    }
    result
}

/// Creates the partitions like [`ensure`], but logs a failure only: the default partition takes the rows then.
///
/// # Errors
/// If the connection is lost.
pub(crate) async fn try_to_ensure(connection: &mut Connection) -> sql::Result<()> {
    match ensure(connection).await {
        Err(error) if !error.is_outage() || error.is_lock_timeout() => {
            tracing::warn!(%error, "partitions not created, the default partition takes the rows");
            Ok(())
        }
        done => done,
    }
}

async fn create(
    connection: &mut Connection,
    table: &str,
    name: &str,
    start: Timestamp,
    end: Timestamp,
) -> sql::Result<()> {
    let (first, after) = (first_text_of(start), first_text_of(end));
    // Attaching a table locks the default partition while PostgreSQL looks for rows of the period there; it is usually
    // empty. Creating the partition directly would lock the whole table.
    let text = format!(
        "{BEGIN};
         SELECT pg_advisory_xact_lock(hashtext('assent partitions'));
         CREATE TABLE IF NOT EXISTS {name} (LIKE {table} INCLUDING ALL);
         ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ('{first}') TO ('{after}');
         COMMIT"
    );
    match connection.batch(&text).await {
        Ok(()) => {
            tracing::info!(partition = name, "partition created");
            Ok(())
        }
        Err(error) => {
            // If this fails, the connection is unusable, and the first error is the cause.
            let _ = connection.batch("ROLLBACK").await;
            // Another instance may have created the partition first.
            let known = list(connection, table).await?;
            if known.iter().any(|partition| partition.name == name) {
                Ok(())
            } else {
                Err(error)
            }
        }
    }
}

/// Drops the partitions of `claim_traces` that end at `before` or earlier.
///
/// # Errors
/// If other statements use the table for longer than a second.
pub(crate) async fn drop_old_traces(
    connection: &mut Connection,
    before: Timestamp,
) -> sql::Result<()> {
    for partition in list(connection, "claim_traces").await? {
        if partition.end > before {
            break;
        }
        let text = format!("{BEGIN}; DROP TABLE {}; COMMIT", partition.name);
        if let Err(error) = connection.batch(&text).await {
            let _ = connection.batch("ROLLBACK").await;
            return Err(error);
        }
        tracing::info!(partition = partition.name, "old partition dropped");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_partition_contains_the_end_of_its_period() {
        let now = Timestamp::from_millis(1_795_500_000_000);
        for table in TABLES {
            let (name, start, end) = table.period(now, 0);
            assert!(start <= now && now < end);
            assert_eq!(end_in(&name), Some(end));
            let (_, next, _) = table.period(now, 1);
            assert_eq!(next, end);
        }
        assert_eq!(end_in("audit_entries_default"), None);
    }
}
