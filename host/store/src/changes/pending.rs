//! The changes of the running transaction. They are inserted at its end, by one statement for all jobs: so a number of
//! the sequence is visible soon after it was taken.

use std::cell::RefCell;
use std::fmt::Write;
use std::future::Future;

use crate::sql::{self, Connection};
use crate::{Result, StoreError};
use assent_model::change::Change;

/// The most rows of one statement. The database keeps a plan for each number of rows.
const ROWS: usize = 8;

tokio::task_local! {
    static PENDING: RefCell<Vec<Change>>;
}

/// How many changes were pending when a savepoint was set.
pub(crate) struct Mark(usize);

/// Executes the work of a transaction. Returns the changes that it recorded, each once.
pub(crate) async fn collect<T>(work: impl Future<Output = T>) -> (T, Vec<Change>) {
    let with_changes = async {
        let output = work.await;
        (output, PENDING.try_with(RefCell::take).unwrap_or_default())
    };
    PENDING.scope(RefCell::default(), with_changes).await
}

/// Records a change, which the transaction of this connection makes.
///
/// # Errors
/// Outside of a transaction.
pub(crate) fn record(_transaction: &mut Connection, change: Change) -> Result<()> {
    PENDING
        .try_with(|all| {
            let mut all = all.borrow_mut();
            if !all.contains(&change) {
                all.push(change);
            }
        })
        .map_err(|_| StoreError::Internal("a change was recorded outside of a transaction"))
}

pub(crate) fn mark() -> Mark {
    Mark(
        PENDING
            .try_with(|all| all.borrow().len())
            .unwrap_or_default(),
    )
}

/// Forgets what was recorded since the savepoint was set.
pub(crate) fn restore(Mark(length): Mark) {
    // Outside of a transaction nothing is pending.
    let _ = PENDING.try_with(|all| all.borrow_mut().truncate(length));
}

/// Inserts the rows of these changes.
pub(crate) async fn insert(db: &mut Connection, changes: &[Change]) -> Result<()> {
    for rows in changes.chunks(ROWS) {
        let mut statement = "INSERT INTO changes (change) VALUES ($1)".to_owned();
        for place in 2..=rows.len() {
            // Writing to a `String` does not fail.
            let _ = write!(statement, ", (${place})");
        }
        let mut insert = sql::query(statement);
        for change in rows {
            insert = insert.bind(change.to_string());
        }
        insert.execute(&mut *db).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use assent_model::clock::Timestamp;
    use assent_model::entropy::SystemEntropy;
    use assent_model::id::UserId;

    use super::*;
    use crate::connect::Database;

    #[tokio::test]
    async fn a_change_counts_once_and_not_if_its_job_is_undone() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("t.db").display());
        let database = Database::open(&url).await.unwrap();
        let mut db = database.writers.lease().await.unwrap();
        let [first, second] =
            [(); 2].map(|()| Change::Inbox(UserId::new(Timestamp::from_millis(1), &SystemEntropy)));
        assert!(matches!(
            record(&mut db, first),
            Err(StoreError::Internal(_))
        ));
        let work = async {
            record(&mut db, first).unwrap();
            record(&mut db, first).unwrap();
            let before = mark();
            record(&mut db, second).unwrap();
            record(&mut db, first).unwrap();
            restore(before);
        };
        assert_eq!(collect(work).await.1, [first]);
    }
}
