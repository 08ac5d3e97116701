//! Lookups: one statement reads the rows that concurrent callers request by id, and callers of the same row share the
//! result. A result is always read after its request.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::engine::batch::batcher::{BatchResult, Batcher};
use crate::engine::batch::bulk_sql::BulkSql;
use crate::engine::connections::Readers;
use crate::engine::sql;
use crate::engine::sql::{DatabaseKind, FromRow, QueryAs};
use crate::{Result, StoreError};

/// A row of a lookup.
pub(crate) trait Row: FromRow + Send + 'static {
    /// The key of the lookup.
    type Key: Key;
    /// The value of the row.
    type Value: TryFrom<Self, Error: Into<StoreError>> + Clone + Send + Sync + 'static;
    /// The key of this row.
    fn key(&self) -> Self::Key;
}

/// The key of a lookup: the arguments of one row of placeholders in the statement.
pub(crate) trait Key: Clone + Ord + Hash + Send + Sync + 'static {
    /// Binds the key to the next placeholders of the statement.
    fn bind<R: FromRow>(&self, query: QueryAs<R>) -> QueryAs<R>;
}

impl Key for String {
    fn bind<R: FromRow>(&self, query: QueryAs<R>) -> QueryAs<R> {
        query.bind(self)
    }
}

impl Key for (String, String) {
    fn bind<R: FromRow>(&self, query: QueryAs<R>) -> QueryAs<R> {
        query.bind(&self.0).bind(&self.1)
    }
}

/// Reads rows of one kind by their keys.
pub(crate) struct BatchLoader<T, K = String>(LoaderKind<T, K>);

enum LoaderKind<T, K> {
    /// PostgreSQL: concurrent lookups share a round trip.
    Batches(Batcher<K, Option<T>>),
    /// SQLite: the read costs less than the way to another task.
    Inline(Arc<Lookup<T, K>>),
}

type Lookup<T, K> = dyn Fn(K) -> BoxFuture<'static, Result<Option<T>>> + Send + Sync;

impl<T, K> Clone for BatchLoader<T, K> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            LoaderKind::Batches(batches) => LoaderKind::Batches(batches.clone()),
            LoaderKind::Inline(lookup) => LoaderKind::Inline(Arc::clone(lookup)),
        })
    }
}

impl<T, K> std::fmt::Debug for BatchLoader<T, K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loader").finish_non_exhaustive()
    }
}

impl<T: Send + 'static, K: Key> BatchLoader<T, K> {
    pub(crate) async fn call(&self, key: K) -> Result<Option<T>> {
        match &self.0 {
            LoaderKind::Batches(batches) => batches.call(key).await,
            LoaderKind::Inline(lookup) => lookup(key).await,
        }
    }
}

/// The number of batches of lookups at a time, so that one hanging connection does not block the other.
const BATCHES: u32 = 2;

/// Starts a loader for the rows of `statement`, which contains `{$}` or `{($, $)}` in place of the keys.
pub(crate) fn start_loader<R: Row>(
    readers: &Readers,
    kind: DatabaseKind,
    statement: &str,
) -> BatchLoader<R::Value, R::Key> {
    let (readers, statement) = (readers.clone(), Arc::new(BulkSql::new(statement, 0)));
    BatchLoader(match kind {
        DatabaseKind::Postgres => LoaderKind::Batches(Batcher::start(BATCHES, move |keys| {
            let (readers, statement) = (readers.clone(), Arc::clone(&statement));
            Box::pin(async move { read::<R>(&readers, &statement, &keys).await })
        })),
        DatabaseKind::Sqlite => LoaderKind::Inline(Arc::new(move |key: R::Key| {
            let (readers, statement) = (readers.clone(), Arc::clone(&statement));
            Box::pin(async move {
                let query = key.bind(sql::query_as::<R>(statement.sql_for(1)));
                let row = query.fetch_optional(readers.lookups()).await?;
                row.map(value_of).transpose()
            })
        })),
    })
}

async fn read<R: Row>(
    readers: &Readers,
    statement: &BulkSql,
    keys: &[R::Key],
) -> BatchResult<Option<R::Value>> {
    let mut distinct: Vec<&R::Key> = keys.iter().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let mut query = sql::query_as::<R>(statement.sql_for(distinct.len()));
    for key in statement.padded(&distinct) {
        query = key.bind(query);
    }
    let mut found: HashMap<R::Key, Result<R::Value>> = HashMap::new();
    for row in query.fetch_all(readers.lookups()).await? {
        found.insert(row.key(), value_of(row));
    }
    if distinct.len() == keys.len() {
        // Each row has only one caller, so it need not be cloned.
        return Ok(keys
            .iter()
            .map(|key| found.remove(key).transpose())
            .collect());
    }
    Ok(keys
        .iter()
        .map(|key| found.get(key).map(again).transpose())
        .collect())
}

fn value_of<R: Row>(row: R) -> Result<R::Value> {
    R::Value::try_from(row).map_err(Into::into)
}

fn again<T: Clone>(answer: &Result<T>) -> Result<T> {
    match answer {
        Ok(found) => Ok(found.clone()),
        Err(error) => Err(error.copy()),
    }
}
