//! Gathering: what is asked for at the same moment is done at once.
//!
//! Every statement costs a change of threads (SQLite) or a round trip (PostgreSQL), which is more than most of them
//! cost themselves. While one batch is under way the next one gathers, so a quiet host answers as fast as ever and a
//! busy one does little more for many requests than for one. Nothing is remembered from one batch to the next.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

use crate::turn::Turn;
use crate::{Result, StoreError};
use assent_model::deadline::QUEUE_DEADLINE;

/// How many are done at once at most.
pub(crate) const MOST: usize = 64;
/// How many may wait before further ones wait to be let in.
const QUEUE: usize = 1024;
/// How long a call may take, with the wait for its turn, which is [`QUEUE_DEADLINE`] at most.
const LIMIT: Duration = Duration::from_secs(10);

/// What came of a batch: an answer to each question, in their order.
pub(crate) type BatchResult<A> = Result<Vec<Result<A>>>;

/// Does things of one kind.
pub(crate) struct Batcher<Q, A> {
    queue: mpsc::Sender<PendingCall<Q, A>>,
}

struct PendingCall<Q, A> {
    turn: Arc<Turn>,
    asked: Q,
    reply: oneshot::Sender<Result<A>>,
}

impl<Q: Clone + Send + Sync + 'static, A: Send + 'static> Batcher<Q, A> {
    /// Begins to do `work`, so many batches at a time. It ends with its last user.
    pub(crate) fn start<F>(at_a_time: u32, work: F) -> Self
    where
        F: Fn(Vec<Q>) -> BoxFuture<'static, BatchResult<A>> + Clone + Send + Sync + 'static,
    {
        let (queue, questions) = mpsc::channel(QUEUE);
        let questions = Arc::new(Mutex::new(questions));
        for _ in 0..at_a_time {
            tokio::spawn(run(Arc::clone(&questions), work.clone()));
        }
        Self { queue }
    }

    /// Has this done, together with whatever else waits.
    pub(crate) async fn call(&self, asked: Q) -> Result<A> {
        let (reply, answer) = oneshot::channel();
        let turn = Arc::new(Turn::default());
        let pending = PendingCall {
            turn: Arc::clone(&turn),
            asked,
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
    work: impl Fn(Vec<Q>) -> BoxFuture<'static, BatchResult<A>> + Send + Sync,
) where
    Q: Clone + Send + Sync,
    A: Send + 'static,
{
    let mut batch = Vec::with_capacity(MOST);
    while next_batch(&questions, &mut batch).await {
        // Who has gone away meanwhile is not served.
        batch.retain(|question| !question.reply.is_closed() && question.turn.begin());
        if batch.is_empty() {
            continue;
        }
        match run_in_task(work(
            batch
                .iter()
                .map(|question| question.asked.clone())
                .collect(),
        ))
        .await
        {
            Ok(answers) => {
                for (question, answer) in batch.drain(..).zip(answers) {
                    // Whoever asked may have gone away; what was done stands all the same.
                    let _ = question.reply.send(answer);
                }
            }
            Err(error) if error.is_outage() => {
                batch
                    .drain(..)
                    .for_each(|question| drop(question.reply.send(Err(error.copy()))));
            }
            // One of them may have failed and undone all, so each is tried alone and only the culprit fails.
            Err(_) => run_one_by_one(&mut batch, &work).await,
        }
    }
}

async fn run_one_by_one<Q: Clone, A: Send + 'static>(
    batch: &mut Vec<PendingCall<Q, A>>,
    work: &impl Fn(Vec<Q>) -> BoxFuture<'static, BatchResult<A>>,
) {
    let mut outage: Option<StoreError> = None;
    for PendingCall { asked, reply, .. } in batch.drain(..) {
        if reply.is_closed() {
            continue;
        }
        let answer = match &outage {
            Some(error) => Err(error.copy()),
            None => run_in_task(work(vec![asked])).await.and_then(single_result),
        };
        if let Err(error) = &answer
            && error.is_outage()
        {
            outage = Some(error.copy());
        }
        let _ = reply.send(answer);
    }
}

/// Works in a task of its own: if it panics, it takes these questions along and not all that will be asked.
async fn run_in_task<A: Send + 'static>(
    work: BoxFuture<'static, BatchResult<A>>,
) -> BatchResult<A> {
    tokio::spawn(work)
        .await
        .map_err(|error| StoreError::Unavailable(error.to_string()))?
}

/// Waits for a question, and takes those along that others ask meanwhile. `false` once nobody will ask any more.
async fn next_batch<T>(questions: &Mutex<mpsc::Receiver<T>>, batch: &mut Vec<T>) -> bool {
    // The lock is held while waiting, so that one at a time gathers; the others are then at work.
    let mut questions = questions.lock().await;
    if questions.recv_many(batch, MOST).await == 0 {
        return false;
    }
    // Whoever is ready to ask at this moment gets to it first: otherwise the first question would be done alone.
    tokio::task::yield_now().await;
    while batch.len() < MOST
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
    /// The same error for somebody else: the database's own can't be told twice.
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
            Self::Closed => Self::Closed,
            other => Self::Unavailable(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a failed test")]

    use std::sync::Mutex as StdMutex;

    use futures_util::future::join_all;

    use super::*;

    /// What was given each time.
    type RecordedCalls = Arc<StdMutex<Vec<Vec<u32>>>>;

    /// Doubles numbers, and keeps what it was given each time. 13 fails, 14 finds the database gone, 15 panics.
    fn doubling() -> (Batcher<u32, u32>, RecordedCalls) {
        let seen = Arc::new(StdMutex::new(Vec::new()));
        let given = Arc::clone(&seen);
        let batcher = Batcher::start(1, move |asked: Vec<u32>| {
            given.lock().unwrap().push(asked.clone());
            Box::pin(async move {
                match asked.iter().find(|number| (13..=15).contains(*number)) {
                    Some(13) => Err(StoreError::Internal("13")),
                    Some(14) => Err(StoreError::Unavailable("14".to_owned())),
                    Some(_) => panic!("15"),
                    None => Ok(asked.into_iter().map(|number| Ok(number * 2)).collect()),
                }
            })
        });
        (batcher, seen)
    }

    #[tokio::test]
    async fn what_is_asked_at_the_same_moment_is_done_at_once_and_each_gets_its_own() {
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

    #[tokio::test]
    async fn only_the_culprit_fails() {
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
        let given = Arc::clone(&seen);
        let batcher = Batcher::start(1, move |asked: Vec<u32>| {
            given.lock().unwrap().extend(asked.clone());
            Box::pin(async move {
                tokio::time::sleep(QUEUE_DEADLINE * 2).await;
                Ok(asked.into_iter().map(Ok).collect())
            })
        });
        // The first one has begun and may take longer.
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
    async fn an_outage_is_met_once() {
        let (batcher, seen) = doubling();
        let answers = join_all([1, 14, 2].map(|number| batcher.call(number))).await;
        assert!(
            answers
                .iter()
                .all(|answer| matches!(answer, Err(StoreError::Unavailable(_))))
        );
        // In the midst of trying each alone, too.
        let answers = join_all([13, 14, 3].map(|number| batcher.call(number))).await;
        assert!(answers.iter().all(Result::is_err));
        assert_eq!(
            *seen.lock().unwrap(),
            [vec![1, 14, 2], vec![13, 14, 3], vec![13], vec![14]]
        );
        assert_eq!(batcher.call(4).await.unwrap(), 8, "it goes on");
    }

    #[tokio::test]
    async fn a_panic_ends_nothing_but_its_batch() {
        let (batcher, _) = doubling();
        assert!(batcher.call(15).await.is_err());
        assert_eq!(batcher.call(4).await.unwrap(), 8);
    }

    #[tokio::test]
    async fn who_has_gone_is_not_served() {
        let (batcher, seen) = doubling();
        let mut gone = Box::pin(batcher.call(1));
        assert!(futures_util::poll!(&mut gone).is_pending());
        drop(gone);
        assert_eq!(batcher.call(2).await.unwrap(), 4);
        assert_eq!(*seen.lock().unwrap(), [vec![2]]);
    }
}
