//! Writes that a transaction postpones to its end and executes by one statement for all jobs. They are its changes, so
//! that a number of the sequence is visible soon after its assignment. And they are the uses of applications. All
//! sign-ins share these rows, so they are locked in one order and for a short time.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::future::Future;

use crate::engine::sql;
use crate::engine::sql::{Argument, Connection};
use crate::{Result, StoreError};
use assent_model::change::Change;
use assent_model::clock::Timestamp;
use assent_model::id::{Did, UserId};

/// The most rows of one statement. The database caches a plan for each number of rows.
const ROWS: usize = 8;

/// The records of a transaction's jobs, in their order.
#[derive(Default)]
pub(crate) struct Deferred {
    /// The changes, without duplicates.
    pub(crate) changes: Vec<Change>,
    uses: Vec<(Did, Timestamp)>,
    account_uses: Vec<(UserId, Did, Timestamp)>,
}

tokio::task_local! {
    static DEFERRED: RefCell<Deferred>;
}

/// The lengths of the records when a savepoint was set.
pub(crate) struct Mark {
    changes: usize,
    uses: usize,
    account_uses: usize,
}

/// Executes the work of a transaction. Returns its output and the records.
pub(crate) async fn collect<T>(work: impl Future<Output = T>) -> (T, Deferred) {
    let with_deferred = async {
        let output = work.await;
        (output, DEFERRED.try_with(RefCell::take).unwrap_or_default())
    };
    DEFERRED.scope(RefCell::default(), with_deferred).await
}

/// Records a change of this connection's transaction.
///
/// # Errors
/// If there is no transaction.
pub(crate) fn record_change(_transaction: &mut Connection, change: Change) -> Result<()> {
    record(|deferred| {
        if !deferred.changes.contains(&change) {
            deferred.changes.push(change);
        }
    })
}

/// Records that a user signed in to an application.
///
/// # Errors
/// If there is no transaction.
pub(crate) fn record_use(
    _transaction: &mut Connection,
    application: &Did,
    now: Timestamp,
) -> Result<()> {
    record(|deferred| deferred.uses.push((application.clone(), now)))
}

/// Records that this user signed in to an application.
///
/// # Errors
/// If there is no transaction.
pub(crate) fn record_account_use(
    _transaction: &mut Connection,
    user: UserId,
    application: &Did,
    now: Timestamp,
) -> Result<()> {
    record(|deferred| {
        deferred.account_uses.push((user, application.clone(), now));
    })
}

fn record(add: impl FnOnce(&mut Deferred)) -> Result<()> {
    DEFERRED
        .try_with(|deferred| add(&mut deferred.borrow_mut()))
        .map_err(|_| StoreError::Internal("a write was deferred outside of a transaction"))
}

pub(crate) fn mark() -> Mark {
    DEFERRED
        .try_with(|deferred| {
            let deferred = deferred.borrow();
            Mark {
                changes: deferred.changes.len(),
                uses: deferred.uses.len(),
                account_uses: deferred.account_uses.len(),
            }
        })
        .unwrap_or(Mark {
            changes: 0,
            uses: 0,
            account_uses: 0,
        })
}

/// Discards the records since the savepoint.
pub(crate) fn restore(mark: &Mark) {
    // Without a transaction there are no records.
    let _ = DEFERRED.try_with(|deferred| {
        let mut deferred = deferred.borrow_mut();
        deferred.changes.truncate(mark.changes);
        deferred.uses.truncate(mark.uses);
        deferred.account_uses.truncate(mark.account_uses);
    });
}

pub(crate) async fn insert_changes(db: &mut Connection, deferred: &Deferred) -> Result<()> {
    for rows in deferred.changes.chunks(ROWS) {
        let values = rows.iter().map(|change| [change.to_string().into()]);
        insert(db, "INSERT INTO changes (change)", values, "").await?;
    }
    Ok(())
}

/// Records the last use of each application, and of each by each user, in the order of their ids. If two transactions
/// locked the same rows in different orders, they would deadlock, and PostgreSQL would roll one of them back.
pub(crate) async fn write_uses(db: &mut Connection, deferred: &Deferred) -> Result<()> {
    let uses = deferred
        .uses
        .iter()
        .map(|(application, at)| (application, *at));
    for rows in last_of_each(uses).chunks(ROWS) {
        let values = rows
            .iter()
            .map(|(application, at)| [application.to_string().into(), at.millis().into()]);
        insert(
            db,
            "INSERT INTO application_use (application_id, signed_in_at)",
            values,
            " ON CONFLICT (application_id) DO UPDATE SET signed_in_at = excluded.signed_in_at
              WHERE application_use.signed_in_at < excluded.signed_in_at",
        )
        .await?;
    }
    let uses = deferred
        .account_uses
        .iter()
        .map(|(user, application, at)| ((*user, application), *at));
    for rows in last_of_each(uses).chunks(ROWS) {
        let values = rows.iter().map(|((user, application), at)| {
            [
                user.to_string().into(),
                application.to_string().into(),
                at.millis().into(),
            ]
        });
        insert(
            db,
            "INSERT INTO account_use (user_id, application_id, signed_in_at)",
            values,
            " ON CONFLICT (user_id, application_id) DO UPDATE SET signed_in_at = excluded.signed_in_at
              WHERE account_use.signed_in_at < excluded.signed_in_at",
        )
        .await?;
    }
    Ok(())
}

/// Returns the last time of each key, in the order of the keys.
fn last_of_each<K: Ord>(uses: impl Iterator<Item = (K, Timestamp)>) -> Vec<(K, Timestamp)> {
    let mut last: BTreeMap<K, Timestamp> = BTreeMap::new();
    for (key, at) in uses {
        let last = last.entry(key).or_insert(at);
        *last = (*last).max(at);
    }
    last.into_iter().collect()
}

/// Inserts several rows by one statement.
async fn insert<const COLUMNS: usize>(
    db: &mut Connection,
    into: &str,
    rows: impl Iterator<Item = [Argument; COLUMNS]>,
    conflict: &str,
) -> Result<()> {
    let (mut statement, mut arguments) = (format!("{into} VALUES "), Vec::new());
    for row in rows {
        statement.push_str(if arguments.is_empty() { "(" } else { ", (" });
        for (column, argument) in row.into_iter().enumerate() {
            arguments.push(argument);
            let comma = if column == 0 { "" } else { ", " };
            // Writing to a `String` does not fail.
            let _ = write!(statement, "{comma}${}", arguments.len());
        }
        statement.push(')');
    }
    statement.push_str(conflict);
    let mut insert = sql::query(statement);
    for argument in arguments {
        insert = insert.bind(argument);
    }
    insert.execute(db).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use assent_model::clock::Timestamp;
    use assent_model::entropy::SystemEntropy;
    use assent_model::id::UserId;

    use super::*;
    use crate::engine::connect::Database;

    async fn database() -> (tempfile::TempDir, Database) {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("t.db").display());
        let database = Database::open(&url).await.unwrap();
        (folder, database)
    }

    #[tokio::test]
    async fn a_change_counts_once_and_not_if_its_job_is_undone() {
        let (_folder, database) = database().await;
        let mut db = database.writers.lease().await.unwrap();
        let [first, second] =
            [(); 2].map(|()| Change::Inbox(UserId::new(Timestamp::from_millis(1), &SystemEntropy)));
        assert!(matches!(
            record_change(&mut db, first),
            Err(StoreError::Internal(_))
        ));
        let work = async {
            record_change(&mut db, first).unwrap();
            record_change(&mut db, first).unwrap();
            let before = mark();
            record_change(&mut db, second).unwrap();
            record_change(&mut db, first).unwrap();
            restore(&before);
        };
        assert_eq!(collect(work).await.1.changes, [first]);
    }

    #[tokio::test]
    async fn the_last_use_of_each_application_is_stored() {
        let (_folder, database) = database().await;
        let mut db = database.writers.lease().await.unwrap();
        db.batch("PRAGMA foreign_keys = OFF").await.unwrap();
        let application = |number: u8| Did::from_ed25519(&[number; 32]);
        let at = Timestamp::from_millis;
        let work = async {
            // More applications than one statement has placeholders for, and not in the order of their ids.
            for number in (0..20).rev() {
                record_use(&mut db, &application(number), at(5)).unwrap();
            }
            record_use(&mut db, &application(3), at(9)).unwrap();
            record_use(&mut db, &application(3), at(7)).unwrap();
            let before = mark();
            record_use(&mut db, &application(4), at(8)).unwrap();
            restore(&before);
        };
        let deferred = collect(work).await.1;
        write_uses(&mut db, &deferred).await.unwrap();
        // A transaction that began earlier does not overwrite it.
        let earlier = Deferred {
            uses: vec![(application(5), at(2))],
            ..Deferred::default()
        };
        write_uses(&mut db, &earlier).await.unwrap();
        let rows: Vec<(String, i64)> = sql::query_as(
            "SELECT application_id, signed_in_at FROM application_use ORDER BY application_id",
        )
        .fetch_all(&mut *db)
        .await
        .unwrap();
        let mut expected: Vec<_> = (0..20)
            .map(|number| {
                let id = application(number).to_string();
                (id, if number == 3 { 9 } else { 5 })
            })
            .collect();
        expected.sort();
        assert_eq!(rows, expected);
    }
}
