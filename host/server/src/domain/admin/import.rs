//! What imports of users and of accounts have in common. A file is checked as a whole before anything is done: where
//! one row is wrong, nothing is. What is right is done in batches, so that whoever signs in meanwhile does not wait for
//! all of it. A row that somebody overtakes between the check and its turn is refused alone, and the report says so.

use std::sync::Arc;

use super::AdminError;
use assent_model::id::{AccountId, UserId};
use assent_model::secret::Digest;
use assent_store::StoreError;

/// How many rows are kept in one transaction.
pub(super) const BATCH: usize = 200;
/// How many errors are told of at most.
const MOST_ERRORS: usize = 100;

/// A row of a file.
#[derive(Clone, Debug)]
pub struct ImportRow {
    /// The line on which it begins, from 1.
    pub line: u64,
    /// The names of the columns, which all rows have in common.
    columns: Arc<[&'static str]>,
    cells: Vec<String>,
}

impl ImportRow {
    /// A row with a cell for each of these columns.
    pub const fn new(line: u64, columns: Arc<[&'static str]>, cells: Vec<String>) -> Self {
        Self {
            line,
            columns,
            cells,
        }
    }

    /// The digest of a table.
    ///
    /// # Errors
    /// If the rows cannot be serialized.
    pub(super) fn digest(rows: &[Self]) -> std::result::Result<String, serde_json::Error> {
        let texts: Vec<(&[&str], &[String])> = rows
            .iter()
            .map(|row| (&*row.columns, &*row.cells))
            .collect();
        Ok(Digest::sha256(&serde_json::to_vec(&texts)?).to_text())
    }

    /// The text of a cell as it stands there; `None` where the file has no such column.
    pub fn text(&self, column: &str) -> Option<&str> {
        let at = self.columns.iter().position(|known| *known == column)?;
        self.cells.get(at).map(String::as_str)
    }

    /// The same, without blanks around it.
    pub(super) fn cell(&self, column: &str) -> Option<&str> {
        self.text(column).map(str::trim)
    }

    /// The same, and `None` too where the cell is empty.
    pub(super) fn filled(&self, column: &str) -> Option<&str> {
        self.cell(column).filter(|text| !text.is_empty())
    }
}

/// The user or account that a row creates or changes.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct RowTarget {
    /// The line on which the row begins, from 1.
    pub(super) line: u64,
    /// The user; `None` if the row creates one.
    pub(super) user: Option<UserId>,
    /// The account; `None` in a table of users, or if the row creates one.
    pub(super) account: Option<AccountId>,
}

/// The error of a rejected row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowError {
    /// The line on which it begins, from 1.
    pub line: u64,
    /// The column, if the error concerns one.
    pub column: Option<String>,
    /// What is wrong, and what would do.
    pub detail: String,
}

/// The result of an import.
#[derive(Clone, Debug, Default)]
pub struct ImportReport {
    /// How many rows the file has.
    pub rows: u64,
    /// How many new ones were made.
    pub created: u64,
    /// How many were changed.
    pub updated: u64,
    /// The number of changed users whose email address changes.
    pub readdressed: u64,
    /// How many are called something else than before, or, if new, than their person.
    pub renamed: u64,
    /// How many are as the file says already.
    pub unchanged: u64,
    /// How many rows were rejected.
    pub rejected: u64,
    /// The errors of the rejected rows; 100 at most.
    pub errors: Vec<RowError>,
}

impl ImportReport {
    pub(super) fn refuse(&mut self, line: u64, problem: RowProblem) {
        self.rejected += 1;
        if self.errors.len() < MOST_ERRORS {
            self.errors.push(RowError {
                line,
                column: problem.column,
                detail: problem.detail,
            });
        }
    }

    /// A file of which a row is wrong, so that nothing is done.
    pub(super) fn nothing_done(mut self) -> Self {
        (self.created, self.updated, self.readdressed, self.renamed) = (0, 0, 0, 0);
        self
    }
}

/// What is wrong with a row.
#[derive(Clone, Debug)]
pub(super) struct RowProblem {
    column: Option<String>,
    detail: String,
}

impl RowProblem {
    pub(super) fn in_column(column: &str, detail: impl Into<String>) -> Self {
        Self {
            column: Some(column.to_owned()),
            detail: detail.into(),
        }
    }
}

/// What would be refused of one alone is refused of a row. What broke breaks the import.
impl TryFrom<AdminError> for RowProblem {
    type Error = AdminError;
    fn try_from(refused: AdminError) -> Result<Self, AdminError> {
        match refused {
            AdminError::Internal(_) => Err(refused),
            AdminError::Invalid {
                field: "profile",
                expected,
            } => Ok(match expected.split_once(": ") {
                // The full name is in the column `display_name`, since `name` is what the person signs in with.
                Some((field, expected)) => Self::in_column(
                    if field == "name" {
                        "display_name"
                    } else {
                        field
                    },
                    expected,
                ),
                None => Self {
                    column: None,
                    detail: expected,
                },
            }),
            AdminError::Invalid { field, expected } => Ok(Self::in_column(field, expected)),
            refused => Ok(Self {
                column: None,
                detail: refused.to_string(),
            }),
        }
    }
}

/// The problem of a row whose turn came too late; what broke breaks the import.
pub(super) fn overtaken(error: StoreError) -> Result<RowProblem, AdminError> {
    RowProblem::try_from(AdminError::from(error))
}
