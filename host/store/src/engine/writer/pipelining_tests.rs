//! Jobs that PostgreSQL executes at the same time, after those of the same transaction that it executes in turn.

use std::sync::atomic::{AtomicUsize, Ordering};

use assent_model::audit::chain::ChainKey;
use assent_model::clock::Timestamp;
use assent_model::entropy::SystemEntropy;

use super::tests::in_one_batch;
use super::*;

/// The end of a job after its number was inserted.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ending {
    Done,
    Panic,
    /// A statement fails, and PostgreSQL rejects the following ones.
    Reject,
    /// Another transaction holds the lock.
    WaitForLock,
}

/// An empty database with a table of numbers, and a writer on it.
async fn writer(name: &str) -> (Writer, Database) {
    let database = Database::empty_postgres(name, "-c lock_timeout=100").await;
    let chaining = Arc::new(ChainContext::new(
        ChainKey::new([7; 32]),
        Arc::new(SystemEntropy),
    ));
    let writer = Writer::start(&database, 1, &chaining, &Arc::default()).unwrap();
    let tables = writer.write((), |db, ()| {
        Box::pin(async move {
            db.batch(
                "CREATE TABLE numbers (number BIGINT PRIMARY KEY);
                 CREATE TABLE locked (number BIGINT); INSERT INTO locked (number) VALUES (1)",
            )
            .await?;
            Ok(())
        })
    });
    tables.await.unwrap();
    (writer, database)
}

/// Inserts a number. With a session, the job is executed at the same time as others of the transaction.
async fn insert(
    writer: &Writer,
    session: Option<SessionId>,
    number: i64,
    ending: Ending,
    calls: &Arc<AtomicUsize>,
) -> Result<i64> {
    let work = writer.write_in_session(session, Arc::clone(calls), move |db, calls| {
        Box::pin(async move {
            calls.fetch_add(1, Ordering::Relaxed);
            sql::query("INSERT INTO numbers (number) VALUES ($1)")
                .bind(number)
                .execute(&mut *db)
                .await?;
            match ending {
                Ending::Done => {}
                Ending::Panic => std::panic::panic_any("panics after its statement"),
                Ending::Reject => {
                    sql::query("INSERT INTO numbers (number) VALUES ($1)")
                        .bind(number)
                        .execute(db)
                        .await
                        .map_err(crate::taken("the number"))?;
                }
                Ending::WaitForLock => {
                    sql::query("UPDATE locked SET number = $1")
                        .bind(number)
                        .execute(db)
                        .await?;
                }
            }
            Ok(number)
        })
    });
    work.await
}

/// Inserts two numbers in turn and seven concurrently, in one transaction; the fourth of the latter has this ending.
/// Returns its error and the number of calls of jobs.
async fn error_of_one(writer: &Writer, database: &Database, ending: Ending) -> (StoreError, usize) {
    let calls: Arc<AtomicUsize> = Arc::default();
    // Concurrent jobs are sorted by the ids of their sessions.
    let session = |number| {
        Some(SessionId::new(
            Timestamp::from_millis(number),
            &SystemEntropy,
        ))
    };
    let jobs = (0..9).map(|number| {
        let (session, ending) = match number {
            0 | 1 => (None, Ending::Done),
            5 => (session(number), ending),
            _ => (session(number), Ending::Done),
        };
        insert(writer, session, number, ending, &calls)
    });
    let mut results = in_one_batch(writer, jobs).await;
    let failed = results.remove(5).unwrap_err();
    let done: Vec<i64> = results.into_iter().map(Result::unwrap).collect();
    assert_eq!(done, [0, 1, 2, 3, 4, 6, 7, 8], "{ending:?}");
    let rows: Vec<(i64,)> = sql::query_as("SELECT number FROM numbers ORDER BY number")
        .fetch_all(&database.readers)
        .await
        .unwrap();
    let rows: Vec<i64> = rows.into_iter().map(|(number,)| number).collect();
    assert_eq!(rows, done, "{ending:?}");
    (failed, calls.load(Ordering::Relaxed))
}

#[tokio::test]
async fn a_panic_fails_its_job_only() {
    let (writer, database) = writer("panic").await;
    let (error, calls) = error_of_one(&writer, &database, Ending::Panic).await;
    assert!(matches!(error, StoreError::Internal(_)), "{error:?}");
    // The job that panicked is not called again.
    assert_eq!(calls, 9 + 8);
}

#[tokio::test]
async fn a_rejected_statement_fails_its_job_only() {
    let (writer, database) = writer("rejected").await;
    let (error, calls) = error_of_one(&writer, &database, Ending::Reject).await;
    assert!(
        matches!(error, StoreError::Taken("the number")),
        "{error:?}"
    );
    assert_eq!(calls, 9 + 9);
}

#[tokio::test]
async fn a_wait_for_a_lock_fails_its_job_only() {
    let (writer, database) = writer("locks").await;
    let mut other = database.probe.lease().await.unwrap();
    other
        .batch("BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0; UPDATE locked SET number = 2")
        .await
        .unwrap();
    let (error, calls) = error_of_one(&writer, &database, Ending::WaitForLock).await;
    other.batch("ROLLBACK").await.unwrap();
    assert!(error.is_outage(), "{error:?}");
    assert_eq!(calls, 9 + 8);
}
