//! Statements for both databases: one text, typed arguments, rows by name. sqlx executes them, and only this module
//! names it. This module does not depend on the tables.

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

pub use connection::{Connection, Options};
pub use error::{Code, Error, Result};
pub(crate) use postgres::Liveness;
pub use query::{DatabaseKind, Executor, Query, QueryAs, StatementText, query, query_as};
pub(crate) use row::row;
pub use row::{Columns, Field, FromRow, Places, Row, Rows};
pub(crate) use statement::{join, join_parts, length_of_parts, statement};
pub use value::{Argument, FromValue, Value};
