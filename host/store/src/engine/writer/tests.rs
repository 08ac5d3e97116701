//! Tests of the batches of the writer.

use std::sync::atomic::AtomicUsize;

use assent_model::audit::chain::ChainKey;
use assent_model::entropy::SystemEntropy;
use futures_util::future::join_all;

use super::*;
use crate::engine::sql;

/// A writer on an empty table of unique numbers.
async fn writer(folder: &tempfile::TempDir) -> (Writer, Database) {
    let url = format!("sqlite://{}", folder.path().join("t.db").display());
    let database = Database::open(&url).await.unwrap();
    let chaining = Arc::new(ChainContext::new(
        ChainKey::new(&[7; 32]).unwrap(),
        Arc::new(SystemEntropy),
    ));
    let writer = Writer::start(&database, 1, &chaining, &Arc::default(), &Arc::default()).unwrap();
    writer
        .write((), |db, ()| {
            Box::pin(async move {
                sql::query("CREATE TABLE numbers (number BIGINT PRIMARY KEY)")
                    .execute(db)
                    .await?;
                Ok(())
            })
        })
        .await
        .unwrap();
    (writer, database)
}

/// Adds the number. -1 panics, -2 adds 1000 and then fails, -3 reports a full disk.
async fn add(writer: &Writer, number: i64, calls: &Arc<AtomicUsize>) -> Result<i64> {
    let write = writer.write(Arc::clone(calls), move |db, calls| {
        Box::pin(async move {
            calls.fetch_add(1, Ordering::Relaxed);
            assert!(number != -1, "-1");
            sql::query("INSERT INTO numbers (number) VALUES ($1)")
                .bind(number.max(1000 * i64::from(number == -2)))
                .execute(db)
                .await
                .map_err(crate::taken("the number"))?;
            match number {
                -2 => Err(StoreError::Stale),
                -3 => Err(StoreError::Unavailable("full".to_owned())),
                number => Ok(number),
            }
        })
    });
    write.await
}

/// Queues these writes while the writer is busy, so that they form one batch.
pub(crate) async fn in_one_batch<T>(
    writer: &Writer,
    writes: impl Iterator<Item = impl Future<Output = T>>,
) -> Vec<T> {
    let (free, busy) = tokio::sync::watch::channel(false);
    let (began, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let block = writer.write((busy, began), |_, (busy, began)| {
        Box::pin(async move {
            let mut busy = busy.clone();
            // The receivers live until the end of the test's wait.
            let _ = began.send(());
            let _ = busy.wait_for(|free| *free).await;
            Ok(())
        })
    });
    let all = async {
        begun.recv().await;
        let mut all = pin!(join_all(writes));
        let _ = futures_util::poll!(&mut all);
        free.send_replace(true);
        all.await
    };
    let (blocked, results) = tokio::join!(block, all);
    blocked.unwrap();
    results
}

/// Adds these numbers in one batch.
async fn add_together(
    writer: &Writer,
    numbers: &[i64],
    calls: &Arc<AtomicUsize>,
) -> Vec<Result<i64>> {
    in_one_batch(
        writer,
        numbers.iter().map(|number| add(writer, *number, calls)),
    )
    .await
}

async fn numbers(database: &Database) -> Vec<i64> {
    let rows: Vec<(i64,)> = sql::query_as("SELECT number FROM numbers ORDER BY number")
        .fetch_all(&database.readers)
        .await
        .unwrap();
    rows.into_iter().map(|(number,)| number).collect()
}

#[tokio::test]
async fn a_failing_job_fails_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, database) = writer(&folder).await;
    let calls = Arc::default();
    let results = add_together(&writer, &[1, 2, 2, -2, 3, 4], &calls).await;
    let good: Vec<Option<i64>> = results.iter().map(|r| r.as_ref().ok().copied()).collect();
    assert_eq!(good, [Some(1), Some(2), None, None, Some(3), Some(4)]);
    assert!(matches!(results[2], Err(StoreError::Taken("the number"))));
    assert!(matches!(results[3], Err(StoreError::Stale)));
    assert_eq!(numbers(&database).await, [1, 2, 3, 4]);
    // One attempt without savepoints, until the third job failed, and one attempt with savepoints.
    assert_eq!(calls.load(Ordering::Relaxed), 3 + 6);
}

#[tokio::test]
async fn a_panic_fails_one_job_and_the_writer_continues() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, database) = writer(&folder).await;
    let calls = Arc::default();
    let results = add_together(&writer, &[1, -1, 2, 1, -1], &calls).await;
    assert_eq!(
        results.iter().map(Result::is_ok).collect::<Vec<_>>(),
        [true, false, true, false, false]
    );
    assert!(matches!(results[1], Err(StoreError::Internal(_))));
    assert!(matches!(results[3], Err(StoreError::Taken(_))));
    assert_eq!(add(&writer, 3, &calls).await.unwrap(), 3);
    assert_eq!(numbers(&database).await, [1, 2, 3]);
}

#[tokio::test]
async fn an_outage_fails_all_of_the_batch_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, database) = writer(&folder).await;
    let calls = Arc::default();
    let results = add_together(&writer, &[1, -3, 2], &calls).await;
    assert!(
        results
            .iter()
            .all(|result| result.as_ref().is_err_and(StoreError::is_outage))
    );
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    assert_eq!(add(&writer, 4, &calls).await.unwrap(), 4);
    assert_eq!(numbers(&database).await, [4]);
}

#[tokio::test]
async fn a_write_that_waits_too_long_is_not_executed() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, database) = writer(&folder).await;
    let (free, busy) = tokio::sync::watch::channel(false);
    let (began, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let block = writer.write((busy, began), |_, (busy, began)| {
        Box::pin(async move {
            let mut busy = busy.clone();
            let _ = began.send(());
            let _ = busy.wait_for(|free| *free).await;
            Ok(())
        })
    });
    let calls = Arc::default();
    let late = async {
        begun.recv().await;
        let late = add(&writer, 1, &calls).await;
        free.send_replace(true);
        late
    };
    // A write that has begun may take longer than the queue's deadline.
    let (blocked, late) = tokio::join!(block, late);
    blocked.unwrap();
    assert!(matches!(late, Err(StoreError::Busy(_))), "{late:?}");
    assert!(late.is_err_and(|error| error.is_outage()));
    assert_eq!(add(&writer, 2, &calls).await.unwrap(), 2);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    assert_eq!(numbers(&database).await, [2]);
}

/// The size of a batch of one write after `gather`, and how long that took. `queued` more writes are in the queue,
/// `under_way` requests are under way, of which `end` end meanwhile, and other writers execute `executing` writes.
async fn gathered(
    queued: usize,
    under_way: usize,
    end: usize,
    executing: usize,
) -> (usize, Duration) {
    let (sender, mut jobs) = mpsc::channel(BATCH);
    for _ in 0..queued {
        sender.try_send(job()).unwrap();
    }
    let requests = RequestsUnderWay::default();
    (0..under_way).for_each(|_| requests.begin());
    requests.begin_writes(executing);
    let mut batch = vec![job()];
    let begun = Instant::now();
    let ending = async {
        for _ in 0..end {
            tokio::task::yield_now().await;
            requests.end();
        }
    };
    tokio::join!(gather(&mut jobs, &mut batch, &requests), ending);
    (batch.len(), begun.elapsed())
}

fn job() -> Job {
    Job {
        turn: Arc::default(),
        work: Work::Separate(
            None,
            None,
            Box::new(|_| Box::pin(async { Err(StoreError::Closed) })),
        ),
        queued: Instant::now(),
        span: Span::none(),
        reply: oneshot::channel().0,
    }
}

#[tokio::test(start_paused = true)]
async fn a_writer_waits_for_half_of_the_requests_under_way() {
    let at_once = Duration::ZERO;
    // A command without requests, one caller, and two.
    assert_eq!(gathered(0, 0, 0, 0).await, (1, at_once));
    assert_eq!(gathered(0, 1, 0, 0).await, (1, at_once));
    assert_eq!(gathered(0, 2, 0, 0).await, (1, at_once));
    assert_eq!(gathered(3, 8, 0, 0).await, (4, at_once));
    assert_eq!(gathered(BATCH, 1000, 0, 0).await, (BATCH, at_once));
    // Those whose writes are being executed queue none.
    assert_eq!(gathered(0, 8, 0, 6).await, (1, at_once));
    // The others read only.
    assert_eq!(gathered(0, 8, 7, 0).await, (1, at_once));
    let (size, waited) = gathered(2, 8, 0, 0).await;
    assert_eq!(size, 3);
    assert!(waited >= GATHERING && waited < 2 * GATHERING, "{waited:?}");
}

#[tokio::test]
async fn a_write_of_a_cancelled_caller_is_not_retried() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, database) = writer(&folder).await;
    let (free, busy) = tokio::sync::watch::channel(false);
    let (began, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let wait = |began: mpsc::UnboundedSender<()>, mut busy: tokio::sync::watch::Receiver<bool>| async move {
        let _ = began.send(());
        let _ = busy.wait_for(|free| *free).await;
    };
    let block = writer.write((began.clone(), busy), move |_, (began, busy)| {
        Box::pin(async move {
            wait(began.clone(), busy.clone()).await;
            Ok(())
        })
    });
    let calls: Arc<AtomicUsize> = Arc::default();
    let (gone, left) = tokio::sync::watch::channel(false);
    // It is in one batch with the other write, after it. It fails once the caller of the other write has gone away.
    let failing = writer.write((began, left), move |_, (began, left)| {
        Box::pin(async move {
            wait(began.clone(), left.clone()).await;
            Err::<(), _>(StoreError::Stale)
        })
    });
    let other = async {
        begun.recv().await;
        let mut added = Box::pin(add(&writer, 1, &calls));
        assert!(futures_util::poll!(&mut added).is_pending());
        let mut failing = pin!(failing);
        assert!(futures_util::poll!(&mut failing).is_pending());
        free.send_replace(true);
        begun.recv().await;
        drop(added);
        gone.send_replace(true);
        failing.await
    };
    let (blocked, failed) = tokio::join!(block, other);
    blocked.unwrap();
    assert!(matches!(failed, Err(StoreError::Stale)));
    assert_eq!(add(&writer, 2, &calls).await.unwrap(), 2);
    assert_eq!(numbers(&database).await, [2]);
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_wait_for_a_connection_ends_at_the_deadline() {
    let folder = tempfile::tempdir().unwrap();
    let (_, database) = writer(&folder).await;
    let mut held = Vec::new();
    let began = Instant::now();
    let error = loop {
        match database.writers.lease().await {
            Ok(lease) => held.push(lease),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, sql::Error::NoneFree), "{error:?}");
    assert!(began.elapsed() >= QUEUE_DEADLINE);
    drop(held);
    assert!(database.writers.lease().await.is_ok());
}
