//! Statements for both databases: one text, typed arguments, rows by name. sqlx executes them; only this module names it.
//! This module does not depend on the tables.

mod authority;
mod connection;
mod error;
mod libpq;
mod postgres;
mod query;
mod row;
mod session_limits;
mod sqlite;
mod statement;
mod value;

pub(crate) use connection::Liveness;
pub use connection::{Connection, DatabaseKind, Options};
pub use error::{Code, Error, Result};
pub use query::{Executor, Query, QueryAs, StatementText, query, query_as};
pub(crate) use row::row;
pub use row::{Field, FromRow, Places, Row, Rows};
pub(crate) use statement::{join, join_parts, length_of_parts, statement};
pub use value::{Argument, FromValue, Value};
