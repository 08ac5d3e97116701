//! Writes that a transaction postpones to its end and executes by one statement for all jobs. They are its changes, so
//! that a number of the sequence is visible soon after its assignment. And they are the uses of applications. All
//! sign-ins share these rows, so they are locked in one order and for a short time.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::LazyLock;

use crate::engine::batch::bulk_sql::{BulkSql, MOST};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::{Result, StoreError};
use assent_model::change::Change;
use assent_model::clock::Timestamp;
use assent_model::id::{Did, UserId};

/// The records of a transaction's jobs.
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

// The repeated rows of unused placeholders count once.
static CHANGES: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO changes (change) SELECT DISTINCT column1 FROM (VALUES {($)}) AS v",
        0,
    )
});

static USES: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO application_use (application_id, signed_in_at)
         SELECT DISTINCT column1, column2 FROM (VALUES {($, $)}) AS v WHERE 1 = 1 ORDER BY column1
         ON CONFLICT (application_id) DO UPDATE SET signed_in_at = excluded.signed_in_at
         WHERE application_use.signed_in_at < excluded.signed_in_at",
        0,
    )
});

static ACCOUNT_USES: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO account_use (user_id, application_id, signed_in_at)
         SELECT DISTINCT column1, column2, column3 FROM (VALUES {($, $, $)}) AS v WHERE 1 = 1
         ORDER BY column1, column2
         ON CONFLICT (user_id, application_id) DO UPDATE SET signed_in_at = excluded.signed_in_at
         WHERE account_use.signed_in_at < excluded.signed_in_at",
        0,
    )
});

pub(crate) async fn insert_changes(db: &mut Connection, deferred: &Deferred) -> Result<()> {
    for rows in deferred.changes.chunks(MOST) {
        let mut query = sql::query(CHANGES.sql_for(rows.len()));
        for change in CHANGES.padded(rows) {
            query = query.bind(change.to_string());
        }
        query.execute(&mut *db).await?;
    }
    Ok(())
}

/// Records the last use of each application, and of each by each user, in the order of their ids. If two transactions
/// locked the same rows in different orders, they would deadlock, and PostgreSQL would roll one of them back.
pub(crate) async fn write_uses(db: &mut Connection, deferred: &Deferred) -> Result<()> {
    let uses = deferred.uses.iter();
    let uses = last_of_each(uses.map(|(application, at)| (application, *at)));
    for rows in uses.chunks(MOST) {
        let mut query = sql::query(USES.sql_for(rows.len()));
        for (application, at) in USES.padded(rows) {
            query = query.bind(application.to_string()).bind(at.millis());
        }
        query.execute(&mut *db).await?;
    }
    let uses = deferred.account_uses.iter();
    let uses = last_of_each(uses.map(|(user, application, at)| ((*user, application), *at)));
    for rows in uses.chunks(MOST) {
        let mut query = sql::query(ACCOUNT_USES.sql_for(rows.len()));
        for ((user, application), at) in ACCOUNT_USES.padded(rows) {
            query = query
                .bind(user.to_string())
                .bind(application.to_string())
                .bind(at.millis());
        }
        query.execute(&mut *db).await?;
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
