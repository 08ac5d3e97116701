//! The writer: pending writes share one transaction, and so one wait for the disk.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use crate::engine::sql;
use crate::engine::sql::Connection;
use assent_model::clock::QUEUE_DEADLINE;
use assent_model::saml::MessageClaim;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use tracing::field::Empty;
use tracing::{Instrument, Span};

use crate::audit::context::ChainContext;
use crate::engine::batch::batcher::Turn;
use crate::engine::changes::waiters::Waiters;
use crate::engine::checkpoints;
use crate::engine::connect::Database;
use crate::engine::connections::{Connections, Lease};
use crate::engine::locked_rows::LockedRow;
use crate::engine::measurements::Measurements;
use crate::engine::transactions::{
    Isolation, JobOutput, SeparateWork, SharedWork, SharedWrite, TransactionError, Transactions,
    Work, takes_too_long,
};
use crate::engine::under_way::RequestsUnderWay;
use crate::{Result, StoreError};
use assent_telemetry::{SPANS, field, number};

/// The most writes that share a commit.
const BATCH: usize = 64;
/// The most queued writes. Further ones wait for a place in the queue.
const QUEUE: usize = 1024;

/// The time limit of a batch, and of a write from its arrival to its commit. A write waits for its turn no longer than
/// [`QUEUE_DEADLINE`].
const LIMIT: Duration = Duration::from_secs(10);

/// The longest wait for the writes that other requests are about to queue.
const GATHERING: Duration = Duration::from_millis(8);
/// The number of batches that begin without a wait after one that brought no write.
const HURRIED: u8 = 8;

struct Job {
    turn: Arc<Turn>,
    work: Work,
    queued: Instant,
    /// The span of the caller, which waits in it.
    span: Span,
    reply: oneshot::Sender<Result<JobOutput>>,
}

impl Job {
    fn answer(self, outcome: Result<JobOutput>) {
        // The caller may have gone away; the write stays committed all the same.
        let _ = self.reply.send(outcome);
    }

    fn unavailable(self, reason: &str) {
        self.answer(Err(StoreError::Unavailable(reason.to_owned())));
    }
}

/// The queue of the writers of a database.
#[derive(Debug)]
struct Queue {
    jobs: Mutex<mpsc::Receiver<Job>>,
    /// The number of batches that begin without a wait, because the last wait brought no write.
    hurried: AtomicU8,
    /// The requests that may queue a write.
    requests: Arc<RequestsUnderWay>,
}

/// The strong sender of the queue, and the tasks that receive from it.
#[derive(Debug)]
struct Running {
    queue: mpsc::Sender<Job>,
    tasks: JoinSet<()>,
}

/// Passes writes to the connections that write.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    queue: mpsc::WeakSender<Job>,
    /// `None` after the store is closed.
    running: Arc<Mutex<Option<Running>>>,
    connections: Connections,
}

impl Writer {
    /// Starts `count` writers with one queue.
    ///
    /// # Errors
    /// If the operating system creates no thread.
    pub(crate) fn start(
        database: &Database,
        count: u32,
        chaining: &Arc<ChainContext>,
        waiters: &Arc<Waiters>,
        requests: &Arc<RequestsUnderWay>,
    ) -> Result<Self> {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let queue = Arc::new(Queue {
            jobs: Mutex::new(receiver),
            hurried: AtomicU8::new(0),
            requests: Arc::clone(requests),
        });
        let mut tasks = JoinSet::new();
        let committed = database.checkpoints.clone().map(|connections| {
            let (committed, commits) = mpsc::channel(1);
            tasks.spawn(checkpoints::run(connections, commits));
            committed
        });
        for _ in 0..count {
            let transactions = Transactions::new(
                database.writers.clone(),
                database.begin,
                Arc::clone(chaining),
                Arc::clone(waiters),
                committed.clone(),
            );
            tasks.spawn(run(Arc::clone(&queue), transactions));
        }
        Ok(Self {
            queue: sender.downgrade(),
            running: Arc::new(Mutex::new(Some(Running {
                queue: sender,
                tasks,
            }))),
            connections: database.writers.clone(),
        })
    }

    /// Returns a connection for a separate transaction.
    ///
    /// # Errors
    /// If no connection is free in time, or none can be opened.
    pub(crate) async fn lease(&self) -> sql::Result<Lease> {
        self.connections.lease().await
    }

    /// Executes a write. `work` borrows its input, because it may run more than once.
    ///
    /// # Errors
    /// The error of `work`. [`StoreError::Busy`] if the write did not begin in time, [`StoreError::Unavailable`] if its
    /// outcome is unknown.
    pub(crate) async fn write<I, T, F>(&self, input: I, work: F) -> Result<T>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        F: for<'c> Fn(&'c mut Connection, &'c I) -> BoxFuture<'c, Result<T>>
            + Send
            + Sync
            + 'static,
    {
        self.write_to_row(None, None, input, work).await
    }

    /// Executes a write like [`Self::write`], which locks this row before all others, and claims this message before
    /// that. `work` takes the claim.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(crate) async fn write_to_row<I, T, F>(
        &self,
        row: Option<LockedRow>,
        claim: Option<MessageClaim>,
        input: I,
        work: F,
    ) -> Result<T>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        F: for<'c> Fn(&'c mut Connection, &'c I) -> BoxFuture<'c, Result<T>>
            + Send
            + Sync
            + 'static,
    {
        let write = Arc::new((work, input));
        let work: SeparateWork = Box::new(move |connection| {
            let write = Arc::clone(&write);
            Box::pin(async move {
                let (work, input) = &*write;
                Ok(Box::new(work(connection, input).await?) as JobOutput)
            })
        });
        self.execute(Work::Separate(row, claim, work)).await
    }

    /// Executes a write that shares its statements with the others of its kind.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(crate) async fn share<W: SharedWrite>(&self, write: W) -> Result<W::Output> {
        self.execute(Work::Shared(SharedWork::new(write))).await
    }

    /// Executes a job with an output of this type.
    async fn execute<T: 'static>(&self, work: Work) -> Result<T> {
        let (reply, outcome) = oneshot::channel();
        let queue = self.queue.upgrade().ok_or(StoreError::Closed)?;
        let turn = Arc::new(Turn::default());
        let span = tracing::info_span!(target: SPANS, "store.write", batch_size = Empty);
        let job = Job {
            turn: Arc::clone(&turn),
            work,
            queued: Instant::now(),
            span: span.clone(),
            reply,
        };
        let written = self.wait(queue, job, outcome, &turn).instrument(span).await;
        if let Err(error) = &written {
            self.count_failure(error);
        }
        written?
            .downcast::<T>()
            .map(|outcome| *outcome)
            .map_err(|_| StoreError::Internal("a write returned another type"))
    }

    /// Queues a job and waits for its outcome.
    async fn wait(
        &self,
        queue: mpsc::Sender<Job>,
        job: Job,
        outcome: oneshot::Receiver<Result<JobOutput>>,
        turn: &Turn,
    ) -> Result<JobOutput> {
        let mut writing = pin!(async move {
            queue.send(job).await.map_err(|_| StoreError::Closed)?;
            drop(queue);
            outcome.await.map_err(|_| StoreError::Closed)?
        });
        let deadline = Instant::now() + LIMIT;
        let written = match timeout(QUEUE_DEADLINE, &mut writing).await {
            Err(_) if turn.give_up() => return Err(StoreError::Busy("the write")),
            Err(_) => timeout_at(deadline, writing).await,
            written => written,
        };
        written.unwrap_or_else(|_| {
            Err(StoreError::Unavailable(
                "the write was not committed in time, or its commit is unknown".to_owned(),
            ))
        })
    }

    /// Counts a failed write.
    fn count_failure(&self, error: &StoreError) {
        let measured = self.measurements();
        match error {
            StoreError::Busy(_) => measured.busy.fetch_add(1, Ordering::Relaxed),
            error if error.is_outage() => measured.unavailable.fetch_add(1, Ordering::Relaxed),
            _ => return,
        };
    }

    fn measurements(&self) -> &Arc<Measurements> {
        self.connections.measurements()
    }

    /// The connections that write.
    pub(crate) const fn connections(&self) -> &Connections {
        &self.connections
    }

    /// The number of writes in the queue.
    pub(crate) fn queue_length(&self) -> f64 {
        let queue = self.queue.upgrade();
        queue.map_or(0.0, |queue| number(queue.max_capacity() - queue.capacity()))
    }

    /// Accepts no more writes, and waits for the accepted ones.
    pub(crate) async fn stop(&self) {
        if let Some(Running { queue, tasks }) = self.running.lock().await.take() {
            drop(queue);
            tasks.join_all().await;
        }
    }

    /// Closes the connections, which writers of one database share.
    pub(crate) async fn close(&self) {
        self.stop().await;
        self.connections.close().await;
    }
}

/// Adds the writes that other requests are about to queue, because each commit waits for the disk. It waits until half
/// of the requests under way have queued their write, so that the other half can compute during the commit; and no
/// longer than until as many requests have ended or queued their write as were under way at the beginning, because
/// these write nothing. Requests whose writes are being executed are not waited for. Returns whether the time was
/// wasted: no write came.
async fn gather(
    jobs: &mut mpsc::Receiver<Job>,
    batch: &mut Vec<Job>,
    requests: &RequestsUnderWay,
) -> bool {
    let before = batch.len();
    let mut deadline = pin!(tokio::time::sleep(GATHERING));
    let (under_way, ended_before) = (requests.under_way(), requests.ended());
    loop {
        // Requests that end from now on wake this writer.
        let mut one_ended = pin!(requests.one_ended());
        one_ended.as_mut().enable();
        while batch.len() < BATCH
            && let Ok(job) = jobs.try_recv()
        {
            batch.push(job);
        }
        let ended = requests.ended().wrapping_sub(ended_before);
        let expected = requests.under_way().saturating_sub(requests.writes());
        if batch.len() >= BATCH.min(expected.div_ceil(2)) || batch.len() + ended >= under_way {
            return false;
        }
        tokio::select! {
            job = jobs.recv() => match job {
                Some(job) => batch.push(job),
                None => return false,
            },
            () = &mut one_ended => {}
            () = &mut deadline => return batch.len() == before,
        }
    }
}

async fn run(queue: Arc<Queue>, transactions: Transactions) {
    let measurements = Arc::clone(transactions.measurements());
    loop {
        let mut batch = Vec::new();
        {
            // The lock is held during the wait, so that one writer at a time collects; the others execute their batches
            // meanwhile.
            let mut jobs = queue.jobs.lock().await;
            if jobs.recv_many(&mut batch, BATCH).await == 0 {
                return;
            }
            match queue.hurried.load(Ordering::Relaxed) {
                // Requests that take long without a write would delay each write of the others.
                0 if gather(&mut jobs, &mut batch, &queue.requests).await => {
                    queue.hurried.store(HURRIED, Ordering::Relaxed);
                }
                0 => {}
                left => queue.hurried.store(left - 1, Ordering::Relaxed),
            }
            // A write is not executed if its caller has gone away.
            batch.retain(|job| !job.reply.is_closed() && job.turn.begin());
            queue.requests.begin_writes(batch.len());
        }
        for job in &batch {
            measurements.queue_waits.record_time(job.queued.elapsed());
        }
        batch.sort_by_key(|job| job.work.place());
        // Jobs catch their own panics. A panic elsewhere ends this batch without a result for its callers, but does not
        // end the writer.
        let (span, size) = (batch_span(&batch), batch.len());
        let written = write_batch(&transactions, batch).instrument(span);
        let written = AssertUnwindSafe(written).catch_unwind();
        if written.await.is_err() {
            tracing::error!("database writer panicked");
        }
        queue.requests.end_writes(size);
    }
}

/// The span of a batch: a child of the span of its first traced job, with links to those of the others.
fn batch_span(batch: &[Job]) -> Span {
    let mut spans = batch
        .iter()
        .map(|job| &job.span)
        .filter(|span| !span.is_disabled());
    let Some(first) = spans.next() else {
        return Span::none();
    };
    let span = first.in_scope(
        || tracing::info_span!(target: SPANS, "store.batch", batch_size = field(batch.len())),
    );
    for other in spans {
        span.follows_from(other);
    }
    span
}

/// Executes the jobs in one transaction if possible. If a job fails, the transaction is repeated with a savepoint
/// before each job, so that only the cause of the failure fails. Each attempt begins after the rollback of the previous
/// one. If a commit is unknown, no attempt follows, so no job is applied twice.
async fn write_batch(transactions: &Transactions, mut batch: Vec<Job>) {
    let deadline = Instant::now() + LIMIT;
    let mut isolation = Isolation::None;
    loop {
        // A caller that has gone away received a failure, and may have acted on it.
        batch.retain(|job| !job.reply.is_closed());
        if batch.is_empty() {
            return;
        }
        if isolation == Isolation::Savepoints {
            // Each job locks its row by itself, in the order of all transactions.
            batch.sort_by_key(|job| (job.work.locked_row(), job.work.place()));
        }
        let jobs: Vec<_> = batch.iter().map(|job| &job.work).collect();
        let failure = match transactions.run(&jobs, isolation, deadline).await {
            Ok(outcomes) => {
                let size = outcomes.len();
                transactions.measurements().batch_sizes.record(size as u64);
                for (job, outcome) in batch.into_iter().zip(outcomes) {
                    job.span.record("batch_size", field(size));
                    job.answer(outcome);
                }
                return;
            }
            Err(failure) => failure,
        };
        match failure {
            // The job would fail in the same way again.
            TransactionError {
                error,
                culprit: Some(index),
                ..
            } if index < batch.len() => {
                batch.remove(index).answer(Err(error));
                isolation = Isolation::Savepoints;
            }
            // One of the writes that shared a call waits for a lock, for example.
            TransactionError { error, .. }
                if takes_too_long(&error) && isolation == Isolation::None && batch.len() > 1 =>
            {
                isolation = Isolation::Savepoints;
            }
            // The work at the end of the transaction waits for a lock, because of one of the jobs.
            TransactionError { error, .. } if takes_too_long(&error) && batch.len() > 1 => {
                return write_separately(transactions, batch, deadline).await;
            }
            // No single job is the cause: further attempts would only delay the others.
            TransactionError { error, .. } if error.is_outage() => {
                let reason = error.to_string();
                return batch.into_iter().for_each(|job| job.unavailable(&reason));
            }
            TransactionError { error, .. } if batch.len() == 1 && !error.lost_to_another() => {
                return batch.into_iter().for_each(|job| {
                    job.answer(Err(error.copy()));
                });
            }
            _ if isolation == Isolation::None => isolation = Isolation::Savepoints,
            _ => return write_separately(transactions, batch, deadline).await,
        }
    }
}

/// Executes each job in a separate transaction.
async fn write_separately(transactions: &Transactions, batch: Vec<Job>, deadline: Instant) {
    let mut outage: Option<String> = None;
    for job in batch {
        if let Some(reason) = &outage {
            job.unavailable(reason);
            continue;
        }
        if job.reply.is_closed() {
            continue;
        }
        let outcome = transactions
            .run(&[&job.work], Isolation::None, deadline)
            .await
            .map_err(|failure| failure.error)
            .and_then(|mut outcomes| outcomes.pop().unwrap_or(Err(StoreError::Closed)));
        if let Err(error) = &outcome
            && error.is_outage()
        {
            outage = Some(error.to_string());
        }
        job.answer(outcome);
    }
}

#[cfg(test)]
mod tests;
