//! Lookups: rows that are asked for by id at the same moment are read by one statement, and whoever asks for the same
//! row gets the same answer. An answer is always read after it was asked for.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::batch::batcher::{BatchResult, Batcher};
use crate::batch::bulk_sql::BulkSql;
use crate::connections::Readers;
use crate::sql::{self, DatabaseKind, FromRow};
use crate::{Result, StoreError};

/// A row that is looked up.
pub(crate) trait Row: FromRow + Send + 'static {
    /// What the row tells.
    type Value: TryFrom<Self, Error = StoreError> + Clone + Send + Sync + 'static;
    /// The id that it was asked for by.
    fn id(&self) -> &str;
}

/// Reads rows of one kind by their ids.
pub(crate) struct BatchLoader<T>(LoaderKind<T>);

enum LoaderKind<T> {
    /// PostgreSQL: what is asked for at the same moment shares a round trip.
    Batches(Batcher<String, Option<T>>),
    /// SQLite: the read costs less than the way to another task.
    Inline(Arc<Lookup<T>>),
}

type Lookup<T> = dyn Fn(String) -> BoxFuture<'static, Result<Option<T>>> + Send + Sync;

impl<T> Clone for BatchLoader<T> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            LoaderKind::Batches(batches) => LoaderKind::Batches(batches.clone()),
            LoaderKind::Inline(lookup) => LoaderKind::Inline(Arc::clone(lookup)),
        })
    }
}

impl<T> std::fmt::Debug for BatchLoader<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loader").finish_non_exhaustive()
    }
}

impl<T: Send + 'static> BatchLoader<T> {
    /// The row with this id.
    ///
    /// # Errors
    /// If the database fails, or the row cannot be read.
    pub(crate) async fn call(&self, id: String) -> Result<Option<T>> {
        match &self.0 {
            LoaderKind::Batches(batches) => batches.call(id).await,
            LoaderKind::Inline(lookup) => lookup(id).await,
        }
    }
}

/// How many batches of lookups are under way at a time: one connection that hangs holds up no other.
const BATCHES: u32 = 2;

/// Begins to answer with the rows of `statement`, which has `{$}` where its ids stand.
pub(crate) fn start_loader<R: Row>(
    readers: &Readers,
    kind: DatabaseKind,
    statement: &str,
) -> BatchLoader<R::Value> {
    let (readers, statement) = (readers.clone(), Arc::new(BulkSql::new(statement, 0)));
    BatchLoader(match kind {
        DatabaseKind::Postgres => LoaderKind::Batches(Batcher::start(BATCHES, move |ids| {
            let (readers, statement) = (readers.clone(), Arc::clone(&statement));
            Box::pin(async move { read::<R>(&readers, &statement, &ids).await })
        })),
        DatabaseKind::Sqlite => LoaderKind::Inline(Arc::new(move |id| {
            let (readers, statement) = (readers.clone(), Arc::clone(&statement));
            Box::pin(async move {
                let query = sql::query_as::<R>(statement.sql_for(1)).bind(id);
                let row = query.fetch_optional(&readers).await?;
                row.map(R::Value::try_from).transpose()
            })
        })),
    })
}

async fn read<R: Row>(
    readers: &Readers,
    statement: &BulkSql,
    ids: &[String],
) -> BatchResult<Option<R::Value>> {
    let mut distinct: Vec<&str> = ids.iter().map(String::as_str).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let mut query = sql::query_as::<R>(statement.sql_for(distinct.len()));
    for id in statement.padded(&distinct) {
        query = query.bind((*id).to_owned());
    }
    let mut found: HashMap<String, Result<R::Value>> = HashMap::new();
    for row in query.fetch_all(readers).await? {
        found.insert(row.id().to_owned(), R::Value::try_from(row));
    }
    if distinct.len() == ids.len() {
        // Each has an asker of its own, who takes it.
        return Ok(ids.iter().map(|id| found.remove(id).transpose()).collect());
    }
    Ok(ids
        .iter()
        .map(|id| found.get(id).map(again).transpose())
        .collect())
}

fn again<T: Clone>(answer: &Result<T>) -> Result<T> {
    match answer {
        Ok(found) => Ok(found.clone()),
        Err(error) => Err(error.copy()),
    }
}
