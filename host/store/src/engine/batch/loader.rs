//! Lookups: one statement reads the rows that concurrent callers request by id, and callers of the same row share the
//! result. A result is always read after its request.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use crate::engine::batch::batcher::{BatchResult, Batcher, Pace};
use crate::engine::batch::bulk_sql::BulkSql;
use crate::engine::connections::Readers;
use crate::engine::sql;
use crate::engine::sql::{FromRow, QueryAs};
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
///
/// The default is the key of no row: it stands in unused placeholders.
pub(crate) trait Key: Clone + Default + Ord + Hash + Send + Sync + 'static {
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

impl Key for (String, String, String) {
    fn bind<R: FromRow>(&self, query: QueryAs<R>) -> QueryAs<R> {
        query.bind(&self.0).bind(&self.1).bind(&self.2)
    }
}

/// Reads rows of one kind by their keys.
pub(crate) struct BatchLoader<T, K = String>(Batcher<K, Vec<T>>);

impl<T, K> Clone for BatchLoader<T, K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T, K> std::fmt::Debug for BatchLoader<T, K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loader").finish_non_exhaustive()
    }
}

impl<T: Send + 'static, K: Key> BatchLoader<T, K> {
    /// The row with this key.
    pub(crate) async fn call(&self, key: K) -> Result<Option<T>> {
        Ok(self.call_all(key).await?.pop())
    }

    /// All rows with this key.
    pub(crate) async fn call_all(&self, key: K) -> Result<Vec<T>> {
        self.0.call(key).await
    }
}

/// The number of batches of lookups at a time, so that one hanging connection does not block the other.
const BATCHES: u32 = 2;

/// Starts a loader for the rows of `statement`, which contains `{$}` or a row like `{($, $)}` in place of the keys.
pub(crate) fn start_loader<R: Row>(
    readers: &Readers,
    statement: &str,
) -> BatchLoader<R::Value, R::Key> {
    start::<R>(readers, BulkSql::new(statement, 0), BATCHES, Pace::PROMPT)
}

/// Starts a loader for callers that wait for seconds anyway: one statement reads the rows of many of them. `statement`
/// is as in [`start_loader`].
pub(crate) fn start_patient_loader<R: Row>(
    readers: &Readers,
    statement: &str,
) -> BatchLoader<R::Value, R::Key> {
    start::<R>(readers, BulkSql::large(statement), 1, Pace::PATIENT)
}

fn start<R: Row>(
    readers: &Readers,
    statement: BulkSql,
    at_a_time: u32,
    pace: Pace,
) -> BatchLoader<R::Value, R::Key> {
    let (readers, statement) = (readers.clone(), Arc::new(statement));
    BatchLoader(Batcher::start(at_a_time, pace, move |keys| {
        let (readers, statement) = (readers.clone(), Arc::clone(&statement));
        Box::pin(async move { read::<R>(&readers, &statement, &keys).await })
    }))
}

async fn read<R: Row>(
    readers: &Readers,
    statement: &BulkSql,
    keys: &[R::Key],
) -> BatchResult<Vec<R::Value>> {
    let mut distinct: Vec<&R::Key> = keys.iter().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let mut query = sql::query_as::<R>(statement.sql_for(distinct.len()));
    let unused = R::Key::default();
    let keys_of_places = distinct.iter().copied().chain(std::iter::repeat(&unused));
    for key in keys_of_places.take(statement.places(distinct.len())) {
        query = key.bind(query);
    }
    let mut found: HashMap<R::Key, Result<Vec<R::Value>>> = HashMap::new();
    for row in query.fetch_all(readers.lookups()).await? {
        let values = found.entry(row.key()).or_insert_with(|| Ok(Vec::new()));
        match (R::Value::try_from(row), values) {
            (Ok(value), Ok(values)) => values.push(value),
            (Err(error), values) => *values = Err(error.into()),
            (Ok(_), Err(_)) => {}
        }
    }
    let none = || Ok(Vec::new());
    let keys = keys.iter();
    if distinct.len() == keys.len() {
        // Each row has only one caller, so it need not be cloned.
        return Ok(keys
            .map(|key| found.remove(key).unwrap_or_else(none))
            .collect());
    }
    Ok(keys
        .map(|key| found.get(key).map_or_else(none, again))
        .collect())
}

fn again<T: Clone>(answer: &Result<T>) -> Result<T> {
    match answer {
        Ok(found) => Ok(found.clone()),
        Err(error) => Err(error.copy()),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use crate::engine::connect::Database;

    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    pub struct Number(i64);

    impl Row for (String, String) {
        type Key = String;
        type Value = Number;
        fn key(&self) -> String {
            self.0.clone()
        }
    }

    impl TryFrom<(String, String)> for Number {
        type Error = StoreError;
        fn try_from((_, text): (String, String)) -> Result<Self> {
            text.parse()
                .map(Self)
                .map_err(|_| StoreError::Internal("no number"))
        }
    }

    async fn assert_only_the_bad_row_fails(database: &Database, bad: &str) {
        let mut lease = database.writers.lease().await.unwrap();
        lease
            .batch(&format!(
                "CREATE TABLE numbers (id TEXT, text {}); INSERT INTO numbers VALUES ('one', '1'), ('bad', {bad})",
                if bad.starts_with("X'") { "BLOB" } else { "TEXT" },
            ))
            .await
            .unwrap();
        lease.give_back();
        let statement = "SELECT id, text FROM numbers WHERE id IN ({$})";
        let loader = start_loader::<(String, String)>(&database.readers, statement);
        let keys = ["one", "bad", "none", "one"];
        let answers = join_all(keys.map(|key| loader.call(key.to_owned()))).await;
        let answers: Vec<_> = answers.into_iter().map(Result::ok).collect();
        let one = Some(Some(Number(1)));
        assert_eq!(answers, [one.clone(), None, Some(None), one]);
    }

    #[tokio::test]
    async fn only_the_callers_of_a_bad_value_fail() {
        let folder = tempfile::tempdir().unwrap();
        let open = async |name: &str| {
            let file = folder.path().join(name);
            Database::open(&format!("sqlite://{}", file.display()))
                .await
                .unwrap()
        };
        assert_only_the_bad_row_fails(&open("text.db").await, "'x'").await;
        // The driver finds bytes where the row has a text.
        assert_only_the_bad_row_fails(&open("bytes.db").await, "X'00'").await;
        let postgres = Database::empty_postgres("loader", "-c geqo=on").await;
        assert_only_the_bad_row_fails(&postgres, "'x'").await;
    }
}
