//! Gathering: what is asked for at the same moment is done at once.
//!
//! Every statement costs a change of threads (SQLite) or a round trip (PostgreSQL), which is more than most of them cost
//! themselves. While one batch is under way the next one gathers, so a quiet host answers as fast as ever and a busy one
//! does little more for many requests than for one. Nothing is remembered from one batch to the next.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::{Mutex, mpsc, oneshot};

use super::{Result, StoreError};

/// How many are done at once at most.
pub(super) const MOST: usize = 64;
/// How many may wait before further ones wait to be let in.
const QUEUE: usize = 1024;

/// What came of a batch: an answer to each question, in their order.
pub(super) type Answers<A> = Result<Vec<Result<A>>>;

/// Does things of one kind.
pub(super) struct Gather<Q, A> {
    queue: mpsc::Sender<Question<Q, A>>,
}

struct Question<Q, A> {
    asked: Q,
    reply: oneshot::Sender<Result<A>>,
}

impl<Q: Clone + Send + Sync + 'static, A: Send + 'static> Gather<Q, A> {
    /// Begins to do `work`, so many batches at a time. It ends with its last user.
    pub(super) fn start<F>(at_a_time: u32, work: F) -> Self
    where
        F: Fn(Vec<Q>) -> BoxFuture<'static, Answers<A>> + Clone + Send + Sync + 'static,
    {
        let (queue, questions) = mpsc::channel(QUEUE);
        let questions = Arc::new(Mutex::new(questions));
        for _ in 0..at_a_time {
            tokio::spawn(run(Arc::clone(&questions), work.clone()));
        }
        Self { queue }
    }

    /// Has this done, together with whatever else waits.
    pub(super) async fn ask(&self, asked: Q) -> Result<A> {
        let (reply, answer) = oneshot::channel();
        self.queue.send(Question { asked, reply }).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }
}

impl<Q, A> Clone for Gather<Q, A> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone() }
    }
}

impl<Q, A> std::fmt::Debug for Gather<Q, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gather").finish_non_exhaustive()
    }
}

async fn run<Q: Clone + Send + Sync, A: Send>(
    questions: Arc<Mutex<mpsc::Receiver<Question<Q, A>>>>,
    work: impl Fn(Vec<Q>) -> BoxFuture<'static, Answers<A>> + Send + Sync,
) {
    let mut batch = Vec::with_capacity(MOST);
    while gather(&questions, &mut batch).await {
        // Who has gone away meanwhile is not served.
        batch.retain(|question| !question.reply.is_closed());
        if batch.is_empty() {
            continue;
        }
        let (asked, replies): (Vec<Q>, Vec<_>) =
            batch.drain(..).map(|Question { asked, reply }| (asked, reply)).unzip();
        let answers = match work(asked.clone()).await {
            Ok(answers) => answers,
            // One of them may have failed and undone all, so each is tried alone and only the culprit fails.
            Err(error) if asked.len() > 1 && !error.is_outage() => {
                let mut answers = Vec::with_capacity(asked.len());
                for one in asked {
                    answers.push(work(vec![one]).await.and_then(only));
                }
                answers
            }
            Err(error) => replies.iter().map(|_| Err(error.again())).collect(),
        };
        for (reply, answer) in replies.into_iter().zip(answers) {
            // Whoever asked may have gone away; what was done stands all the same.
            let _ = reply.send(answer);
        }
    }
}

/// Waits for a question, and takes those along that others ask meanwhile. `false` once nobody will ask any more.
async fn gather<T>(questions: &Mutex<mpsc::Receiver<T>>, batch: &mut Vec<T>) -> bool {
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

fn only<A>(mut answers: Vec<Result<A>>) -> Result<A> {
    answers.pop().unwrap_or(Err(StoreError::Corrupt("a question without an answer")))
}

impl StoreError {
    /// The same error for somebody else: the database's own can't be told twice.
    pub(super) fn again(&self) -> Self {
        match self {
            Self::Corrupt(what) => Self::Corrupt(what),
            Self::Taken(what) => Self::Taken(what),
            Self::Closed => Self::Closed,
            other => Self::Unavailable(other.to_string()),
        }
    }

    /// Whether the database could not be reached, or broke off: trying anew would only make others wait longer.
    pub(super) const fn is_outage(&self) -> bool {
        use sqlx::Error::{Io, PoolClosed, PoolTimedOut, Protocol, Tls, WorkerCrashed};
        match self {
            Self::Unavailable(_) | Self::Closed => true,
            Self::Database(error) => {
                matches!(error, Io(_) | PoolClosed | PoolTimedOut | Protocol(_) | Tls(_) | WorkerCrashed)
            }
            _ => false,
        }
    }
}
