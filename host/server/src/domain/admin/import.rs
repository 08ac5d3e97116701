//! The common parts of the imports of users and of accounts.
//!
//! The whole file is checked first. If one row is wrong, nothing is imported. The rows are saved in batches, so that
//! concurrent sign-ins do not wait for the whole import. If another request changes the object of a row after the
//! check, only that row is rejected, and the report names it.

use std::sync::Arc;

use super::AdminError;
use assent_model::id::{AccountId, UserId};
use assent_model::secret::Digest;
use assent_store::StoreError;

/// The number of rows in one transaction.
const BATCH: usize = 200;
/// The largest number of errors in a report.
const MOST_ERRORS: usize = 100;

/// A row of a file.
#[derive(Clone, Debug)]
pub struct ImportRow {
    /// The line on which the row begins, from 1.
    pub line: u64,
    /// The names of the columns, which all rows share.
    columns: Arc<[&'static str]>,
    cells: Vec<String>,
}

impl ImportRow {
    /// Returns a row with a cell for each of these columns.
    pub const fn new(line: u64, columns: Arc<[&'static str]>, cells: Vec<String>) -> Self {
        Self {
            line,
            columns,
            cells,
        }
    }

    /// Returns this row without a column, or with another text in it.
    fn with_cell(&self, column: &str, text: Option<&String>) -> Self {
        let cells = self.columns.iter().copied().zip(&self.cells);
        let kept = cells.filter_map(|(known, cell)| {
            let cell = if known == column { text } else { Some(cell) };
            Some((known, cell?.clone()))
        });
        let (columns, cells): (Vec<&'static str>, Vec<String>) = kept.unzip();
        Self {
            line: self.line,
            columns: columns.into(),
            cells,
        }
    }

    /// Returns all problems of a row. `first` is the first one. `check` returns the first problem of the row without
    /// the cells that are wrong already, which have the texts of `placeholder`, if it has one.
    pub(super) fn problems<E>(
        &self,
        first: RowProblem,
        placeholder: impl Fn(&str) -> Option<String>,
        check: impl Fn(&Self) -> Result<Option<RowProblem>, E>,
    ) -> Result<Vec<RowProblem>, E> {
        let mut problems = vec![first];
        let mut row = self.clone();
        // A problem without a column may be about any of them.
        while let Some(column) = problems.last().and_then(|problem| problem.column.clone()) {
            row = row.with_cell(&column, placeholder(&column).as_ref());
            match check(&row)? {
                Some(next) if problems.iter().all(|known| known.column != next.column) => {
                    problems.push(next);
                }
                _ => break,
            }
        }
        Ok(problems)
    }

    /// Returns the digest of a table.
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

    /// Returns the unchanged text of a cell. `None` if the file has no such column.
    pub fn text(&self, column: &str) -> Option<&str> {
        let at = self.columns.iter().position(|known| *known == column)?;
        self.cells.get(at).map(String::as_str)
    }

    /// Returns the text of a cell without surrounding blanks. `None` if the file has no such column.
    pub(super) fn cell(&self, column: &str) -> Option<&str> {
        self.text(column).map(str::trim)
    }

    /// Returns the text of a cell without surrounding blanks. `None` if the cell is empty or the file has no such
    /// column.
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
    /// The line on which the row begins, from 1.
    pub line: u64,
    /// The column, if the error is about one.
    pub column: Option<String>,
    /// The reason, and the expected value.
    pub detail: String,
}

/// The result of an import.
#[derive(Clone, Debug, Default)]
pub struct ImportReport {
    /// The number of rows in the file.
    pub rows: u64,
    /// The number of created objects.
    pub created: u64,
    /// The number of updated objects.
    pub updated: u64,
    /// The number of updated users with a new email address.
    pub readdressed: u64,
    /// The number of updated users whose email address is confirmed by the file.
    pub confirmed: u64,
    /// The number of objects with a new name. For a new account: a name other than the user's.
    pub renamed: u64,
    /// The number of created and updated users whose name is an address other than their email address.
    pub named_by_other_address: u64,
    /// The number of objects that match the file already.
    pub unchanged: u64,
    /// The number of rejected rows.
    pub rejected: u64,
    /// The errors of the rejected rows, 100 at most.
    pub errors: Vec<RowError>,
}

impl ImportReport {
    /// Counts a rejected row, and adds its errors.
    pub(super) fn refuse(&mut self, line: u64, problems: impl IntoIterator<Item = RowProblem>) {
        self.rejected += 1;
        let free = MOST_ERRORS.saturating_sub(self.errors.len());
        let errors = problems.into_iter().take(free).map(|problem| RowError {
            line,
            column: problem.column,
            detail: problem.detail,
        });
        self.errors.extend(errors);
    }

    /// Returns the report for a file with a rejected row, of which nothing is imported.
    pub(super) fn nothing_done(mut self) -> Self {
        (self.created, self.updated, self.readdressed, self.renamed) = (0, 0, 0, 0);
        (self.confirmed, self.named_by_other_address) = (0, 0);
        self
    }
}

/// The reason why a row is rejected.
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

/// An error that would reject a single object rejects the row. An internal error ends the import.
impl TryFrom<AdminError> for RowProblem {
    type Error = AdminError;
    fn try_from(refused: AdminError) -> Result<Self, AdminError> {
        match refused {
            AdminError::Internal(_) => Err(refused),
            AdminError::Invalid {
                field: "profile",
                expected,
            } => Ok(match expected.split_once(": ") {
                // The full name is in the column `display_name`, because `name` is the user name.
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

/// The write of a checked row.
pub(super) struct RowWrite<W> {
    /// The line on which the row begins, from 1.
    pub(super) line: u64,
    /// Whether the row creates its object.
    pub(super) is_new: bool,
    /// The write, with its audit entries.
    pub(super) write: W,
}

/// Saves checked rows in batches; `save` saves one. If an object changed since the check, only its row is rejected.
pub(super) async fn save_rows<W: Clone, F: Future<Output = Result<(), StoreError>>>(
    report: &mut ImportReport,
    rows: impl Iterator<Item = Result<RowWrite<W>, AdminError>>,
    save: impl Fn(Vec<W>) -> F,
) -> Result<(), AdminError> {
    let mut rows = rows.peekable();
    while rows.peek().is_some() {
        let batch = rows
            .by_ref()
            .take(BATCH)
            .collect::<Result<Vec<_>, AdminError>>()?;
        let all = batch.iter().map(|row| row.write.clone()).collect();
        let Err(error) = save(all).await else {
            continue;
        };
        row_problem(error)?;
        // At least one row of the batch is stale. The other rows are saved separately.
        for row in batch {
            if let Err(error) = save(vec![row.write]).await {
                let done = if row.is_new {
                    &mut report.created
                } else {
                    &mut report.updated
                };
                *done = done.saturating_sub(1);
                report.refuse(row.line, [row_problem(error)?]);
            }
        }
    }
    Ok(())
}

/// Returns the reason why a row is rejected if its object changed since the check. An internal error ends the import.
fn row_problem(error: StoreError) -> Result<RowProblem, AdminError> {
    RowProblem::try_from(AdminError::from(error))
}
