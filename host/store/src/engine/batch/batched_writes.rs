//! Writes of one kind. On PostgreSQL, pending writes share a statement, because each statement costs the transaction a
//! round trip. SQLite's writer executes each write separately.

use futures_util::future::BoxFuture;

use crate::engine::batch::batcher::{BatchResult, Batcher};
use crate::engine::sql::{Connection, DatabaseKind};
use crate::engine::writer::Writer;
use crate::{Result, StoreError};

/// The function that executes several requests in a transaction, and returns a result for each, in their order.
pub(crate) type Work<Q, A> =
    for<'c> fn(&'c mut Connection, &'c [Q]) -> BoxFuture<'c, Result<Vec<A>>>;

/// Executes writes of one kind.
pub(crate) enum BatchedWrites<Q, A> {
    /// PostgreSQL: pending writes share a statement.
    Batches(Batcher<Q, A>),
    /// SQLite: each write is a job of the writer, and shares its commit with others.
    Jobs(Writer, Work<Q, A>),
}

impl<Q, A> Clone for BatchedWrites<Q, A> {
    fn clone(&self) -> Self {
        match self {
            Self::Batches(batches) => Self::Batches(batches.clone()),
            Self::Jobs(writer, work) => Self::Jobs(writer.clone(), *work),
        }
    }
}

impl<Q, A> std::fmt::Debug for BatchedWrites<Q, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Batches(_) => "Batches",
            Self::Jobs(..) => "Jobs",
        })
    }
}

impl<Q, A> BatchedWrites<Q, A>
where
    Q: Clone + Send + Sync + 'static,
    A: Send + 'static,
{
    pub(crate) fn start(writer: &Writer, kind: DatabaseKind, work: Work<Q, A>) -> Self {
        let writer = writer.clone();
        match kind {
            DatabaseKind::Sqlite => Self::Jobs(writer, work),
            DatabaseKind::Postgres => Self::Batches(Batcher::start(1, move |requests: Vec<Q>| {
                let writer = writer.clone();
                Box::pin(async move {
                    let answers = writer.write(requests, move |db, requests| work(db, requests));
                    Ok(answers.await?.into_iter().map(Ok).collect()) as BatchResult<A>
                })
            })),
        }
    }

    pub(crate) async fn call(&self, request: Q) -> Result<A> {
        match self {
            Self::Batches(batches) => batches.call(request).await,
            Self::Jobs(writer, work) => {
                let work = *work;
                let answers = writer.write([request], move |db, request| work(db, request));
                answers
                    .await?
                    .pop()
                    .ok_or(StoreError::Internal("a job has no result"))
            }
        }
    }
}

/// The first request for each key, in the order of the keys. So instances that claim the same rows concurrently lock
/// them in the same order.
pub(crate) fn first_of_each<T, K: Ord>(requests: &[T], key: impl Fn(&T) -> K) -> Vec<&T> {
    let mut first: Vec<&T> = requests.iter().collect();
    first.sort_by_key(|one| key(one));
    first.dedup_by_key(|one| key(one));
    first
}
