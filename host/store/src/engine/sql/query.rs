//! Statements with their arguments.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};

use super::error::{Error, Result};
use super::row::{FromRow, Rows};
use super::value::Argument;

/// The kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseKind {
    /// SQLite, inside the process.
    Sqlite,
    /// PostgreSQL.
    Postgres,
}

/// The text of a statement. Both databases execute the same text; its placeholders are `$1`, `$2`, ...
#[derive(Clone)]
pub struct StatementText(TextKind);

#[derive(Clone)]
enum TextKind {
    Static(&'static str),
    Shared(Arc<str>),
    /// A statement over several rows. SQLite has placeholders without numbers, because it looks for the name of each
    /// among those of all others.
    Bulk {
        numbered: Arc<str>,
        anonymous: Arc<str>,
    },
}

impl StatementText {
    /// A statement over several rows, whose placeholders are in the order of their numbers.
    pub(crate) const fn of_bulk(numbered: Arc<str>, anonymous: Arc<str>) -> Self {
        Self(TextKind::Bulk {
            numbered,
            anonymous,
        })
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            TextKind::Static(text) => text,
            TextKind::Shared(text) | TextKind::Bulk { numbered: text, .. } => text,
        }
    }

    /// The text for SQLite.
    #[cfg(test)]
    pub(crate) fn for_sqlite(&self) -> &str {
        match &self.0 {
            TextKind::Bulk { anonymous, .. } => anonymous,
            _ => self.as_str(),
        }
    }

    /// The text for the driver of a database. The program's own constants are its only source.
    pub(super) fn to_sqlx(&self, database: DatabaseKind) -> SqlStr {
        let text = match (&self.0, database) {
            (TextKind::Static(text), _) => return text.into_sql_str(),
            (TextKind::Bulk { anonymous, .. }, DatabaseKind::Sqlite) => anonymous,
            (TextKind::Shared(text) | TextKind::Bulk { numbered: text, .. }, _) => text,
        };
        AssertSqlSafe(Arc::clone(text)).into_sql_str()
    }
}

impl From<&'static str> for StatementText {
    fn from(text: &'static str) -> Self {
        Self(TextKind::Static(text))
    }
}

impl From<String> for StatementText {
    fn from(text: String) -> Self {
        Self(TextKind::Shared(text.into()))
    }
}

impl From<Arc<str>> for StatementText {
    fn from(text: Arc<str>) -> Self {
        Self(TextKind::Shared(text))
    }
}

/// A statement with its arguments.
#[must_use = "a statement does nothing until it is executed"]
#[derive(Clone)]
pub struct Query {
    pub(super) text: StatementText,
    pub(super) arguments: Vec<Argument>,
    pub(super) prepared_once: bool,
}

/// A statement with rows of this type.
#[must_use = "a statement does nothing until it is executed"]
pub struct QueryAs<R> {
    query: Query,
    row: PhantomData<fn() -> R>,
}

/// Returns a statement without arguments.
pub fn query(text: impl Into<StatementText>) -> Query {
    Query {
        text: text.into(),
        arguments: Vec::new(),
        prepared_once: true,
    }
}

/// Returns a statement with rows that are read as `R`.
pub fn query_as<R: FromRow>(text: impl Into<StatementText>) -> QueryAs<R> {
    query(text).with_rows()
}

#[cfg(debug_assertions)]
impl Query {
    /// Fails unless each placeholder has an argument. SQLite takes a missing one as NULL.
    pub(super) fn check_arguments(&self) -> Result<()> {
        let numbers = self.text.as_str().split('$').skip(1).map(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_digit());
            rest.get(..end.unwrap_or(rest.len()))
                .and_then(|digits| digits.parse().ok())
        });
        let placeholders: usize = numbers.flatten().max().unwrap_or(0);
        match placeholders == self.arguments.len() {
            true => Ok(()),
            false => Err(Error::Mismatch(format!(
                "the statement has {placeholders} placeholders and {} arguments",
                self.arguments.len()
            ))),
        }
    }
}

/// Executes statements: a connection, or the connections that read.
pub trait Executor: Send + Sized {
    /// Executes a statement.
    fn run(self, query: &Query) -> impl Future<Output = Result<Rows>> + Send;
}

impl Query {
    /// Binds a value to the next placeholder.
    pub fn bind(mut self, value: impl Into<Argument>) -> Self {
        self.arguments.push(value.into());
        self
    }

    /// Sets whether the connection keeps the prepared statement, which is the default. PostgreSQL may plan a kept
    /// statement without regard to its arguments.
    pub const fn persistent(mut self, persistent: bool) -> Self {
        self.prepared_once = persistent;
        self
    }

    /// Returns the statement with rows that are read as `R`.
    pub const fn with_rows<R: FromRow>(self) -> QueryAs<R> {
        QueryAs {
            query: self,
            row: PhantomData,
        }
    }

    /// Executes the statement. Returns the number of rows that it inserted, updated or deleted.
    pub async fn execute(self, on: impl Executor) -> Result<u64> {
        Ok(on.run(&self).await?.affected)
    }

    /// Executes the statement. Returns whether there is a row.
    pub async fn exists(self, on: impl Executor) -> Result<bool> {
        Ok(!on.run(&self).await?.rows.is_empty())
    }
}

impl<R: FromRow> QueryAs<R> {
    /// Binds a value to the next placeholder.
    pub fn bind(mut self, value: impl Into<Argument>) -> Self {
        self.query = self.query.bind(value);
        self
    }

    /// See [`Query::persistent`].
    pub fn persistent(mut self, persistent: bool) -> Self {
        self.query = self.query.persistent(persistent);
        self
    }

    /// Executes the statement. Returns all rows.
    pub async fn fetch_all(self, on: impl Executor) -> Result<Vec<R>> {
        on.run(&self.query).await?.read()
    }

    /// Executes the statement. Returns the first row, if there is one.
    pub async fn fetch_optional(self, on: impl Executor) -> Result<Option<R>> {
        on.run(&self.query).await?.read_first()
    }

    /// Executes the statement. Converts all rows to values.
    ///
    /// # Errors
    /// If the database fails, or a row is no valid value.
    pub async fn fetch_values<V, E>(self, on: impl Executor) -> std::result::Result<Vec<V>, E>
    where
        V: TryFrom<R, Error = E>,
        E: From<Error>,
    {
        let rows = on.run(&self.query).await?.read::<R>()?;
        rows.into_iter().map(V::try_from).collect()
    }

    /// Executes the statement. Converts the first row, if there is one, to a value.
    ///
    /// # Errors
    /// If the database fails, or the row is no valid value.
    pub async fn fetch_value<V, E>(self, on: impl Executor) -> std::result::Result<Option<V>, E>
    where
        V: TryFrom<R, Error = E>,
        E: From<Error>,
    {
        let row = on.run(&self.query).await?.read_first::<R>()?;
        row.map(V::try_from).transpose()
    }

    /// Executes the statement. Returns the first row.
    ///
    /// # Errors
    /// If there is no row.
    pub async fn fetch_one(self, on: impl Executor) -> Result<R> {
        self.fetch_optional(on).await?.ok_or(Error::NoRow)
    }
}
