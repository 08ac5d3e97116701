//! Lookups: rows that are asked for by id at the same moment are read by one statement, and whoever asks for the same
//! row gets the same answer. An answer is always read after it was asked for.

use std::collections::HashMap;
use std::sync::Arc;

use crate::batch::batcher::{BatchResult, Batcher};
use crate::batch::bulk_sql::BulkSql;
use crate::connections::Readers;
use crate::sql::{self, FromRow};
use crate::{Result, StoreError};

/// A row that is looked up.
pub(crate) trait Row: FromRow + Send + 'static {
    /// What the row tells.
    type Value: TryFrom<Self, Error = StoreError> + Clone + Send + Sync + 'static;
    /// The id that it was asked for by.
    fn id(&self) -> &str;
}

/// Reads rows of one kind by their ids.
pub(crate) type Loader<T> = Batcher<String, Option<T>>;

/// Begins to answer with the rows of `statement`, which has `{$}` where its ids stand.
pub(crate) fn start_loader<R: Row>(
    readers: &Readers,
    at_a_time: u32,
    statement: &str,
) -> Loader<R::Value> {
    let (readers, statement) = (readers.clone(), Arc::new(BulkSql::new(statement, 0)));
    Batcher::start(at_a_time, move |ids| {
        let (readers, statement) = (readers.clone(), Arc::clone(&statement));
        Box::pin(async move { read::<R>(&readers, &statement, &ids).await })
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
    let mut query = sql::query_as::<R>(statement.of(distinct.len()));
    for id in statement.filled(&distinct) {
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
        Err(error) => Err(error.again()),
    }
}
