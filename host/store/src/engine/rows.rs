//! The conversion of values from and to columns. An invalid value is an error that names its place.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Result, StoreError, ValueError};
use assent_model::clock::Timestamp;
use assent_model::secret::Digest;
use assent_model::user::{ConsoleRole, LifecycleState};

/// Where a value is stored: the table, the column and the id of the row.
#[derive(Clone, Copy)]
pub(crate) struct Cell<'r> {
    table: &'static str,
    column: &'static str,
    row: &'r str,
}

pub(crate) const fn cell<'r>(table: &'static str, column: &'static str, row: &'r str) -> Cell<'r> {
    Cell { table, column, row }
}

impl Cell<'_> {
    /// The error for a value that cannot be parsed.
    pub(crate) fn corrupt(self, source: ValueError) -> StoreError {
        StoreError::Corrupt {
            table: self.table,
            column: self.column,
            row: self.row.to_owned(),
            source,
        }
    }

    /// The error for a value that is none of the known ones.
    pub(crate) fn unexpected(self) -> StoreError {
        self.corrupt(ValueError::Unexpected)
    }
}

pub(crate) fn parse<T>(text: &str, cell: Cell<'_>) -> Result<T>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    text.parse()
        .map_err(|error: T::Err| cell.corrupt(ValueError::Text(error.to_string())))
}

pub(crate) fn digest(text: &str, cell: Cell<'_>) -> Result<Digest> {
    Digest::from_text(text).ok_or_else(|| cell.unexpected())
}

pub(crate) fn from_json<T: DeserializeOwned>(text: &str, cell: Cell<'_>) -> Result<T> {
    serde_json::from_str(text).map_err(|error| {
        cell.corrupt(ValueError::Json {
            line: error.line(),
            column: error.column(),
        })
    })
}

pub(crate) fn to_json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|_| StoreError::Internal("a value cannot be serialized as JSON"))
}

/// The `grants_not_before` of a disabled application: no grant is valid.
pub(crate) const NEVER: i64 = i64::MAX;

pub(crate) const fn moment(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

pub(crate) fn lifecycle_state(text: &str, cell: Cell<'_>) -> Result<LifecycleState> {
    LifecycleState::parse(text).ok_or_else(|| cell.unexpected())
}

pub(crate) fn console_role(text: &str, cell: Cell<'_>) -> Result<ConsoleRole> {
    ConsoleRole::parse(text).ok_or_else(|| cell.unexpected())
}

pub(crate) fn epoch_number(epoch: i64) -> Result<u32> {
    u32::try_from(epoch).map_err(|_| cell("token_epochs", "epoch", &epoch.to_string()).unexpected())
}
