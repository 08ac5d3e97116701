//! The writer: writes that wait at the same moment share one transaction, and so one wait for the disk.

use std::any::Any;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use sqlx::{AnyConnection, AnyPool, Connection, SqlSafeStr};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinSet;

use crate::audit::chain::{self, Chaining};
use crate::connect::Database;
use crate::{Result, StoreError};

/// How many writes share a commit at most.
const BATCH: usize = 64;
/// How many writes may wait before further ones wait to be let in.
const QUEUE: usize = 1024;

type Outcome = Box<dyn Any + Send>;
type Work =
    Box<dyn for<'c> Fn(&'c mut AnyConnection) -> BoxFuture<'c, Result<Outcome>> + Send + Sync>;

struct Job {
    work: Work,
    reply: oneshot::Sender<Result<Outcome>>,
}

/// The queue's one lasting sender, and the tasks that read from it.
#[derive(Debug)]
struct Running {
    queue: mpsc::Sender<Job>,
    tasks: JoinSet<()>,
}

/// Hands writes to the connections that write.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    queue: mpsc::WeakSender<Job>,
    /// Until the store is closed.
    running: Arc<Mutex<Option<Running>>>,
    pool: AnyPool,
}

impl Writer {
    /// Starts `count` writers with one queue.
    pub(crate) fn start(database: &Database, count: u32, chaining: &Arc<Chaining>) -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let receiver = Arc::new(Mutex::new(receiver));
        let mut tasks = JoinSet::new();
        for _ in 0..count {
            let connections = Connections {
                pool: database.writers.clone(),
                begin: database.begin,
                chaining: Arc::clone(chaining),
            };
            tasks.spawn(run(Arc::clone(&receiver), connections));
        }
        Self {
            queue: sender.downgrade(),
            running: Arc::new(Mutex::new(Some(Running {
                queue: sender,
                tasks,
            }))),
            pool: database.writers.clone(),
        }
    }

    pub(crate) async fn write<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'c> Fn(&'c mut AnyConnection) -> BoxFuture<'c, Result<T>> + Send + Sync + 'static,
    {
        let (reply, outcome) = oneshot::channel();
        let work = Arc::new(work);
        let work: Work = Box::new(move |connection| {
            let work = Arc::clone(&work);
            Box::pin(async move { Ok(Box::new(work(connection).await?) as Outcome) })
        });
        let queue = self.queue.upgrade().ok_or(StoreError::Closed)?;
        queue
            .send(Job { work, reply })
            .await
            .map_err(|_| StoreError::Closed)?;
        drop(queue);
        let outcome = outcome.await.map_err(|_| StoreError::Closed)??;
        outcome
            .downcast::<T>()
            .map(|outcome| *outcome)
            .map_err(|_| StoreError::Internal("a write returned another type"))
    }

    /// Takes no more writes, and waits for those that were taken.
    pub(crate) async fn stop(&self) {
        if let Some(Running { queue, tasks }) = self.running.lock().await.take() {
            drop(queue);
            tasks.join_all().await;
        }
    }

    /// Closes the connections, which writers of one database share.
    pub(crate) async fn close(&self) {
        self.stop().await;
        self.pool.close().await;
    }
}

/// What a writer writes with.
struct Connections {
    pool: AnyPool,
    /// The statement that begins a transaction which will write.
    begin: &'static str,
    chaining: Arc<Chaining>,
}

async fn run(jobs: Arc<Mutex<mpsc::Receiver<Job>>>, connections: Connections) {
    loop {
        let mut batch = Vec::new();
        // The lock is held while waiting, so that one writer at a time collects; the others are then at work.
        if jobs.lock().await.recv_many(&mut batch, BATCH).await == 0 {
            return;
        }
        // Who has gone away meanwhile is not served.
        batch.retain(|job| !job.reply.is_closed());
        if batch.is_empty() {
            continue;
        }
        match together(&connections, &batch).await {
            Ok(outcomes) => {
                for (job, outcome) in batch.into_iter().zip(outcomes) {
                    // Whoever asked may have gone away; the write stands all the same.
                    let _ = job.reply.send(Ok(outcome));
                }
            }
            Err(error) if batch.len() == 1 => {
                if let Some(job) = batch.pop() {
                    let _ = job.reply.send(Err(error));
                }
            }
            // Nothing is wrong with any one of them: trying each would only make the others wait longer.
            Err(error) if error.is_outage() => {
                for job in batch {
                    let _ = job
                        .reply
                        .send(Err(StoreError::Unavailable(error.to_string())));
                }
            }
            // One of them failed and undid all, so each is tried alone and only the culprit fails.
            Err(_) => one_by_one(&connections, batch).await,
        }
    }
}

async fn one_by_one(connections: &Connections, batch: Vec<Job>) {
    let mut outage = None;
    for job in batch {
        if job.reply.is_closed() {
            continue;
        }
        let outcome = match &outage {
            Some(reason) => Err(StoreError::Unavailable(String::clone(reason))),
            None => together(connections, std::slice::from_ref(&job)).await,
        };
        if let Err(error) = &outcome
            && error.is_outage()
        {
            outage = Some(error.to_string());
        }
        let _ = job
            .reply
            .send(outcome.and_then(|mut outcomes| outcomes.pop().ok_or(StoreError::Closed)));
    }
}

/// Does all of the batch in one transaction, or none. What it added to the audit log is chained last, since all writers wait
/// for each other there.
async fn together(connections: &Connections, batch: &[Job]) -> Result<Vec<Outcome>> {
    let mut connection = connections.pool.acquire().await?;
    let mut transaction = connection
        .begin_with(connections.begin.into_sql_str())
        .await?;
    let work = async {
        let mut outcomes = Vec::with_capacity(batch.len());
        for job in batch {
            outcomes.push((job.work)(&mut transaction).await?);
        }
        Ok(outcomes)
    };
    let (outcomes, appended) = chain::collect(work).await?;
    chain::append(&mut transaction, &connections.chaining, appended).await?;
    transaction.commit().await?;
    Ok(outcomes)
}
