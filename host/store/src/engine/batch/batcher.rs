//! Batches: calls that wait at the same time are executed together.
//!
//! Every statement costs a change of threads (SQLite) or a round trip (PostgreSQL), which is more than the execution of
//! most statements. While one batch runs, the next one collects calls. So an idle instance answers without delay, and
//! for a busy one many calls cost little more than one. Nothing is cached between batches.
//!
//! Polls that wait for seconds anyway have queues of their own, with a pause between two batches. So the number of
//! their statements does not grow with the number of polls.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use crate::engine::batch::bulk_sql::LARGEST;
use crate::{Result, StoreError};
use assent_model::clock::QUEUE_DEADLINE;

/// The most calls of a batch.
pub(crate) const MOST: usize = 64;
/// The most queued calls. Further ones wait for a place in the queue.
const QUEUE: usize = 1024;
/// The time limit of a call, including the wait for its turn, which is at most [`QUEUE_DEADLINE`].
const LIMIT: Duration = Duration::from_secs(10);

/// When a batch begins, and how large it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// The most calls of a batch.
    most: usize,
    /// The least time between the beginnings of two batches, if the first of them is not full.
    pause: Duration,
}

impl Pace {
    /// For calls that are answered as soon as possible.
    pub(crate) const PROMPT: Self = Self {
        most: MOST,
        pause: Duration::ZERO,
    };
    /// For calls of requests that wait for seconds anyway: four statements a second, however many calls there are. A
    /// queue that was idle answers at once.
    pub(crate) const PATIENT: Self = Self {
        most: LARGEST,
        pause: Duration::from_millis(250),
    };
}

/// The result of a batch: one result for each call, in their order.
pub(crate) type BatchResult<A> = Result<Vec<Result<A>>>;

/// The turn of a call in a queue. Either the call begins, or its caller gives it up; the first of the two wins.
#[derive(Debug, Default)]
pub(crate) struct Turn(AtomicU8);

impl Turn {
    const WAITS: u8 = 0;
    const BEGUN: u8 = 1;
    const GIVEN_UP: u8 = 2;

    /// Begins the call. Returns `false` if its caller has given it up.
    pub(crate) fn begin(&self) -> bool {
        self.leave_queue(Self::BEGUN)
    }

    /// Gives the call up. Returns `false` if it has begun.
    pub(crate) fn give_up(&self) -> bool {
        self.leave_queue(Self::GIVEN_UP)
    }

    fn leave_queue(&self, next: u8) -> bool {
        self.0
            .compare_exchange(Self::WAITS, next, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}

/// Executes calls of one kind in batches.
pub(crate) struct Batcher<Q, A> {
    queue: mpsc::Sender<PendingCall<Q, A>>,
}

struct PendingCall<Q, A> {
    turn: Arc<Turn>,
    request: Q,
    reply: oneshot::Sender<Result<A>>,
}

impl<Q: Clone + Send + Sync + 'static, A: Send + 'static> Batcher<Q, A> {
    /// Starts the tasks that execute `work`, with `at_a_time` batches at a time, each at this pace. They end when the
    /// last clone is dropped.
    pub(crate) fn start<F>(at_a_time: u32, pace: Pace, work: F) -> Self
    where
        F: Fn(Vec<Q>) -> BoxFuture<'static, BatchResult<A>> + Clone + Send + Sync + 'static,
    {
        let (queue, questions) = mpsc::channel(QUEUE);
        let questions = Arc::new(Mutex::new(questions));
        for _ in 0..at_a_time {
            tokio::spawn(run(Arc::clone(&questions), pace, work.clone()));
        }
        Self { queue }
    }

    /// Executes a call in a batch with the other pending calls.
    pub(crate) async fn call(&self, request: Q) -> Result<A> {
        let (reply, answer) = oneshot::channel();
        let turn = Arc::new(Turn::default());
        let pending = PendingCall {
            turn: Arc::clone(&turn),
            request,
            reply,
        };
        let mut calling = pin!(async {
            self.queue
                .send(pending)
                .await
                .map_err(|_| StoreError::Closed)?;
            answer.await.map_err(|_| StoreError::Closed)?
        });
        let deadline = Instant::now() + LIMIT;
        let answered = match timeout(QUEUE_DEADLINE, &mut calling).await {
            Err(_) if turn.give_up() => return Err(StoreError::Busy("the statement")),
            Err(_) => timeout_at(deadline, calling).await,
            answered => answered,
        };
        answered.unwrap_or_else(|_| {
            Err(StoreError::Unavailable(
                "the database did not answer in time".to_owned(),
            ))
        })
    }
}

impl<Q, A> Clone for Batcher<Q, A> {
    fn clone(&self) -> Self {
        Self {
            queue: self.queue.clone(),
        }
    }
}

impl<Q, A> std::fmt::Debug for Batcher<Q, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batcher").finish_non_exhaustive()
    }
}

async fn run<Q, A>(
    questions: Arc<Mutex<mpsc::Receiver<PendingCall<Q, A>>>>,
    pace: Pace,
    work: impl Fn(Vec<Q>) -> BoxFuture<'static, BatchResult<A>> + Send + Sync,
) where
    Q: Clone + Send + Sync,
    A: Send + 'static,
{
    let mut batch = Vec::with_capacity(MOST);
    while next_batch(&questions, pace.most, &mut batch).await {
        let begun = Instant::now();
        let is_full = batch.len() >= pace.most;
        // A call is not executed if its caller has gone away.
        batch.retain(|question| !question.reply.is_closed() && question.turn.begin());
        if batch.is_empty() {
            continue;
        }
        match catch_panic(work(
            batch
                .iter()
                .map(|question| question.request.clone())
                .collect(),
        ))
        .await
        {
            Ok(answers) => {
                for (question, answer) in batch.drain(..).zip(answers) {
                    // The caller may have gone away; the work stays done all the same.
                    let _ = question.reply.send(answer);
                }
            }
            Err(error) if error.is_outage() => {
                batch
                    .drain(..)
                    .for_each(|question| drop(question.reply.send(Err(error.copy()))));
            }
            // One call may have failed and rolled back all of them. So each is tried separately, and only the cause
            // fails.
            Err(_) => run_one_by_one(&mut batch, &work).await,
        }
        // A full batch leaves further calls behind, which would wait for too long.
        if !pace.pause.is_zero() && !is_full {
            sleep_until(begun + pace.pause).await;
        }
    }
}

async fn run_one_by_one<Q: Clone, A: Send + 'static>(
    batch: &mut Vec<PendingCall<Q, A>>,
    work: &impl Fn(Vec<Q>) -> BoxFuture<'static, BatchResult<A>>,
) {
    let mut outage: Option<StoreError> = None;
    for PendingCall { request, reply, .. } in batch.drain(..) {
        if reply.is_closed() {
            continue;
        }
        let answer = match &outage {
            Some(error) => Err(error.copy()),
            None => catch_panic(work(vec![request]))
                .await
                .and_then(single_result),
        };
        if let Err(error) = &answer
            && error.is_outage()
        {
            outage = Some(error.copy());
        }
        let _ = reply.send(answer);
    }
}

/// Runs the work. A panic affects only these calls and not later ones.
async fn catch_panic<A>(work: BoxFuture<'static, BatchResult<A>>) -> BatchResult<A> {
    let caught = AssertUnwindSafe(work).catch_unwind().await;
    caught.unwrap_or_else(|_| {
        tracing::error!("database read panicked");
        Err(StoreError::Unavailable("a read panicked".to_owned()))
    })
}

/// Waits for a call, and adds other pending calls, up to `most` together. Returns `false` once no caller remains.
async fn next_batch<T>(
    questions: &Mutex<mpsc::Receiver<T>>,
    most: usize,
    batch: &mut Vec<T>,
) -> bool {
    // The lock is held during the wait, so that one task at a time collects; the others execute their batches
    // meanwhile.
    let mut questions = questions.lock().await;
    if questions.recv_many(batch, most).await == 0 {
        return false;
    }
    // Other ready callers queue their calls first. Otherwise the first call would have a batch of its own.
    tokio::task::yield_now().await;
    while batch.len() < most
        && let Ok(question) = questions.try_recv()
    {
        batch.push(question);
    }
    true
}

fn single_result<A>(mut answers: Vec<Result<A>>) -> Result<A> {
    answers.pop().unwrap_or(Err(StoreError::Internal(
        "a batch has fewer results than calls",
    )))
}

impl StoreError {
    /// The same error for another caller, because the database's own error cannot be cloned.
    pub(crate) fn copy(&self) -> Self {
        match self {
            Self::Corrupt {
                table,
                column,
                row,
                source,
            } => Self::Corrupt {
                table,
                column,
                row: row.clone(),
                source: source.clone(),
            },
            Self::Internal(what) => Self::Internal(what),
            Self::Taken(what) => Self::Taken(what),
            Self::Overtaken(how) => Self::Overtaken(how),
            Self::Stale => Self::Stale,
            Self::LastOwner => Self::LastOwner,
            Self::QuotaExhausted => Self::QuotaExhausted,
            Self::Missing(what) => Self::Missing(what),
            Self::Closed => Self::Closed,
            Self::Database(_)
            | Self::Unavailable(_)
            | Self::Busy(_)
            | Self::Chain(_)
            | Self::Contracted
            | Self::Restore(_)
            | Self::Damaged(_)
            | Self::Open { .. } => Self::Unavailable(self.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a failed test")]

    use std::sync::Mutex as StdMutex;

    use futures_util::future::join_all;

    use super::*;

    /// The calls of each batch.
    type RecordedCalls = Arc<StdMutex<Vec<Vec<u32>>>>;

    /// Doubles numbers, and records the calls of each batch. 13 fails, 14 reports an outage of the database, 15 panics.
    fn doubling() -> (Batcher<u32, u32>, RecordedCalls) {
        let seen = Arc::new(StdMutex::new(Vec::new()));
        let calls = Arc::clone(&seen);
        let batcher = Batcher::start(1, Pace::PROMPT, move |numbers: Vec<u32>| {
            calls.lock().unwrap().push(numbers.clone());
            Box::pin(async move {
                match numbers.iter().find(|number| (13..=15).contains(*number)) {
                    Some(13) => Err(StoreError::Internal("13")),
                    Some(14) => Err(StoreError::Unavailable("14".to_owned())),
                    Some(_) => panic!("15"),
                    None => Ok(numbers.into_iter().map(|number| Ok(number * 2)).collect()),
                }
            })
        });
        (batcher, seen)
    }

    #[tokio::test]
    async fn concurrent_calls_share_batches_and_receive_their_own_results() {
        let (batcher, seen) = doubling();
        let answers = join_all((100..180).map(|number| batcher.call(number))).await;
        let answers: Vec<u32> = answers.into_iter().map(|answer| answer.unwrap()).collect();
        assert_eq!(
            answers,
            (100..180).map(|number| number * 2).collect::<Vec<_>>()
        );
        let sizes: Vec<usize> = seen.lock().unwrap().iter().map(Vec::len).collect();
        assert_eq!(sizes, [MOST, 80 - MOST]);
    }

    #[tokio::test(start_paused = true)]
    async fn patient_calls_share_a_batch_within_the_pause() {
        let seen = Arc::new(StdMutex::new(Vec::new()));
        let calls = Arc::clone(&seen);
        let batcher = Batcher::start(1, Pace::PATIENT, move |numbers: Vec<u32>| {
            calls.lock().unwrap().push(numbers.len());
            Box::pin(async move { Ok(numbers.into_iter().map(Ok).collect()) })
        });
        let begun = Instant::now();
        assert_eq!(batcher.call(1).await.unwrap(), 1);
        assert!(begun.elapsed() < Duration::from_millis(1), "it was idle");
        let one_each_10_ms = (0..50).map(|number| {
            let batcher = batcher.clone();
            async move {
                tokio::time::sleep(Duration::from_millis(10 * u64::from(number))).await;
                batcher.call(number).await
            }
        });
        join_all(one_each_10_ms).await;
        assert_eq!(seen.lock().unwrap().len(), 3, "a batch each 250 ms");
        assert_eq!(seen.lock().unwrap().iter().sum::<usize>(), 51);
        // Full batches follow each other without a pause.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let begun = Instant::now();
        let many = u32::try_from(2 * LARGEST).unwrap();
        let calls = (0..many).map(|number| batcher.call(number));
        tokio::task::unconstrained(join_all(calls)).await;
        assert!(begun.elapsed() < Duration::from_millis(1));
    }

    #[tokio::test]
    async fn only_the_failing_call_of_a_batch_fails() {
        let (batcher, seen) = doubling();
        let answers = join_all([1, 13, 2].map(|number| batcher.call(number))).await;
        let good: Vec<Option<u32>> = answers.into_iter().map(Result::ok).collect();
        assert_eq!(good, [Some(2), None, Some(4)]);
        assert_eq!(
            *seen.lock().unwrap(),
            [vec![1, 13, 2], vec![1], vec![13], vec![2]]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_waits_too_long_is_not_executed() {
        let seen = Arc::new(StdMutex::new(Vec::new()));
        let calls = Arc::clone(&seen);
        let batcher = Batcher::start(1, Pace::PROMPT, move |numbers: Vec<u32>| {
            calls.lock().unwrap().extend(numbers.clone());
            Box::pin(async move {
                tokio::time::sleep(QUEUE_DEADLINE * 2).await;
                Ok(numbers.into_iter().map(Ok).collect())
            })
        });
        // The first call has begun and may take longer.
        let late = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            batcher.call(2).await
        };
        let (first, late) = tokio::join!(batcher.call(1), late);
        assert_eq!(first.unwrap(), 1);
        assert!(matches!(late, Err(StoreError::Busy(_))), "{late:?}");
        assert_eq!(batcher.call(3).await.unwrap(), 3);
        assert_eq!(*seen.lock().unwrap(), [1, 3]);
    }

    #[tokio::test]
    async fn a_batch_that_meets_an_outage_is_not_retried_call_by_call() {
        let (batcher, seen) = doubling();
        let answers = join_all([1, 14, 2].map(|number| batcher.call(number))).await;
        assert!(
            answers
                .iter()
                .all(|answer| matches!(answer, Err(StoreError::Unavailable(_))))
        );
        // An outage also ends separate attempts.
        let answers = join_all([13, 14, 3].map(|number| batcher.call(number))).await;
        assert!(answers.iter().all(Result::is_err));
        assert_eq!(
            *seen.lock().unwrap(),
            [vec![1, 14, 2], vec![13, 14, 3], vec![13], vec![14]]
        );
        assert_eq!(batcher.call(4).await.unwrap(), 8, "the batcher continues");
    }

    #[tokio::test]
    async fn a_panic_fails_only_its_batch() {
        let (batcher, _) = doubling();
        assert!(batcher.call(15).await.is_err());
        assert_eq!(batcher.call(4).await.unwrap(), 8);
    }

    /// Doubles numbers once `open` is true, and records the calls of each batch as they begin.
    fn waiting(open: &tokio::sync::watch::Sender<bool>) -> (Batcher<u32, u32>, RecordedCalls) {
        let seen = Arc::new(StdMutex::new(Vec::new()));
        let (calls, open) = (Arc::clone(&seen), open.subscribe());
        let batcher = Batcher::start(2, Pace::PROMPT, move |numbers: Vec<u32>| {
            calls.lock().unwrap().push(numbers.clone());
            let mut open = open.clone();
            Box::pin(async move {
                open.wait_for(|open| *open).await.unwrap();
                Ok(numbers.into_iter().map(|number| Ok(number * 2)).collect())
            })
        });
        (batcher, seen)
    }

    #[tokio::test]
    async fn a_call_joins_no_batch_that_has_begun() {
        let (open, _) = tokio::sync::watch::channel(false);
        let (batcher, seen) = waiting(&open);
        let mut first = pin!(batcher.call(1));
        while seen.lock().unwrap().is_empty() {
            assert!(futures_util::poll!(&mut first).is_pending());
            tokio::task::yield_now().await;
        }
        // The first batch may have read its row before the second caller wrote it.
        let mut second = pin!(batcher.call(1));
        while seen.lock().unwrap().len() < 2 {
            assert!(futures_util::poll!(&mut second).is_pending());
            tokio::task::yield_now().await;
        }
        assert_eq!(*seen.lock().unwrap(), [[1], [1]]);
        open.send_replace(true);
        assert_eq!((first.await.unwrap(), second.await.unwrap()), (2, 2));
    }

    #[tokio::test]
    async fn a_caller_that_goes_away_does_not_affect_its_batch() {
        let (open, _) = tokio::sync::watch::channel(false);
        let (batcher, seen) = waiting(&open);
        let mut patient = pin!(batcher.call(1));
        {
            // This caller has a short time limit.
            let mut impatient = pin!(batcher.call(2));
            while seen.lock().unwrap().is_empty() {
                assert!(futures_util::poll!(&mut patient).is_pending());
                assert!(futures_util::poll!(&mut impatient).is_pending());
                tokio::task::yield_now().await;
            }
            assert_eq!(*seen.lock().unwrap(), [[1, 2]]);
        }
        open.send_replace(true);
        assert_eq!(patient.await.unwrap(), 2);
    }

    #[tokio::test]
    async fn a_cancelled_call_is_not_executed() {
        let (batcher, seen) = doubling();
        let mut gone = Box::pin(batcher.call(1));
        assert!(futures_util::poll!(&mut gone).is_pending());
        drop(gone);
        assert_eq!(batcher.call(2).await.unwrap(), 4);
        assert_eq!(*seen.lock().unwrap(), [vec![2]]);
    }
}
