//! Lookups: rows that are asked for by id at the same moment are read by one statement, and whoever asks for the same
//! row gets the same answer. Nothing is remembered: an answer is always read after it was asked for.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use sqlx::any::AnyRow;
use sqlx::{AnyPool, AssertSqlSafe, FromRow};
use tokio::sync::{mpsc, oneshot};

use super::{Result, StoreError};

/// How many rows one statement reads: the least of these that suffices. The database keeps a plan for each.
const SIZES: [usize; 3] = [1, 8, 64];
/// How many may wait before further ones wait to be let in.
const QUEUE: usize = 1024;
/// Where the statement has its list of ids.
const IDS: &str = "{ids}";

/// A row that is looked up.
pub(super) trait Row: for<'r> FromRow<'r, AnyRow> + Send + Unpin + 'static {
    /// What the row tells.
    type Value: TryFrom<Self, Error = StoreError> + Clone + Send + 'static;
    /// The id that it was asked for by.
    fn id(&self) -> &str;
}

/// Reads rows of one kind.
pub(super) struct Lookup<T> {
    queue: mpsc::Sender<Question<T>>,
}

struct Question<T> {
    id: String,
    reply: oneshot::Sender<Result<Option<T>>>,
}

impl<T: Clone + Send + 'static> Lookup<T> {
    /// Begins to answer with the rows of `statement`, which has `{ids}` for a list of ids. It ends with the last user.
    pub(super) fn start<R: Row<Value = T>>(pool: &AnyPool, statement: &str) -> Self {
        let (queue, questions) = mpsc::channel(QUEUE);
        let statements = SIZES.map(|size| {
            let places: Vec<String> = (1..=size).map(|place| format!("${place}")).collect();
            (size, Arc::from(statement.replace(IDS, &places.join(", "))))
        });
        tokio::spawn(answer::<R>(questions, pool.clone(), statements));
        Self { queue }
    }

    /// The row with this id.
    pub(super) async fn get(&self, id: String) -> Result<Option<T>> {
        let (reply, answer) = oneshot::channel();
        self.queue.send(Question { id, reply }).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }
}

impl<T> Clone for Lookup<T> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone() }
    }
}

impl<T> std::fmt::Debug for Lookup<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lookup").finish_non_exhaustive()
    }
}

type Statements = [(usize, Arc<str>); SIZES.len()];
type Waiting<T> = HashMap<String, Vec<oneshot::Sender<Result<Option<T>>>>>;

async fn answer<R: Row>(mut questions: mpsc::Receiver<Question<R::Value>>, pool: AnyPool, statements: Statements) {
    let most = statements.iter().map(|(size, _)| *size).max().unwrap_or_default();
    let mut batch = Vec::with_capacity(most);
    while questions.recv_many(&mut batch, most).await > 0 {
        let mut waiting: Waiting<R::Value> = HashMap::new();
        for Question { id, reply } in batch.drain(..).filter(|question| !question.reply.is_closed()) {
            waiting.entry(id).or_default().push(reply);
        }
        match rows::<R>(&pool, &statements, &waiting).await {
            Ok(rows) => {
                for row in rows {
                    if let Entry::Occupied(found) = waiting.entry(row.id().to_owned()) {
                        tell(found.remove(), R::Value::try_from(row).map(Some));
                    }
                }
                // Of the others there is no row.
                waiting.into_values().for_each(|replies| tell(replies, Ok(None)));
            }
            Err(error) => waiting.into_values().for_each(|replies| tell(replies, Err(again(&error)))),
        }
    }
}

async fn rows<R: Row>(pool: &AnyPool, statements: &Statements, waiting: &Waiting<R::Value>) -> Result<Vec<R>> {
    let Some(any) = waiting.keys().next() else { return Ok(Vec::new()) };
    let Some((size, statement)) = statements.iter().find(|(size, _)| *size >= waiting.len()) else {
        return Err(StoreError::Corrupt("more ids than a statement takes"));
    };
    // Places that are left over name a row once more.
    let ids = waiting.keys().chain(std::iter::repeat(any)).take(*size);
    let mut query = sqlx::query_as::<_, R>(AssertSqlSafe(Arc::clone(statement)));
    for id in ids {
        query = query.bind(id.clone());
    }
    Ok(query.fetch_all(pool).await?)
}

/// Gives all of these the same answer. Who has gone away meanwhile needs none.
fn tell<T: Clone>(replies: Vec<oneshot::Sender<Result<Option<T>>>>, answer: Result<Option<T>>) {
    for reply in replies {
        let _ = reply.send(match &answer {
            Ok(found) => Ok(found.clone()),
            Err(error) => Err(again(error)),
        });
    }
}

/// An error for several: the database's own can't be told twice.
fn again(error: &StoreError) -> StoreError {
    match error {
        StoreError::Corrupt(what) => StoreError::Corrupt(what),
        other => StoreError::Unavailable(other.to_string()),
    }
}
