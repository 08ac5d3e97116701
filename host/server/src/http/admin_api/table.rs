//! Tables as files (CSV, RFC 4180), for spreadsheets.
//!
//! A spreadsheet evaluates a cell that begins with `=` as a formula, and users who choose their own names could inject
//! one (CSV injection). A spreadsheet that separates cells at `;` or tabs finds such a beginning within a cell, too. So
//! the writer puts an apostrophe before a character that would begin a formula, and the reader removes it.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use csv::{ReaderBuilder, Terminator, WriterBuilder};

use super::input;
use crate::domain::admin::ImportRow;
use crate::http::header_text;
use crate::http::problem::{Problem, ProblemKind};

/// The byte order mark, by which spreadsheets recognise UTF-8.
pub(super) const MARK: &str = "\u{feff}";

/// The maximum number of rows of a table, because the server checks all rows before it changes anything.
const MOST_ROWS: usize = 50_000;

/// The body of a request with a table.
pub(super) struct CsvBody(Bytes);

impl<S: Send + Sync> FromRequest<S> for CsvBody {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        is_table(request.headers())?;
        input::body(request, state).await.map(Self)
    }
}

fn is_table(headers: &HeaderMap) -> Result<(), Problem> {
    if header_text::media_type(headers) == "text/csv" {
        return Ok(());
    }
    Err(Problem::with_kind(
        ProblemKind::MediaType,
        "the body is a CSV file; send it with the header Content-Type: text/csv",
    ))
}

impl CsvBody {
    /// Returns the rows of a file. Parsing a large file runs on another thread, so that it blocks no other request.
    pub(super) async fn read(
        self,
        columns: &'static [&'static str],
    ) -> Result<Vec<ImportRow>, Problem> {
        tokio::task::spawn_blocking(move || self.rows(columns))
            .await
            .map_err(|error| {
                tracing::error!(%error, "CSV file not read");
                Problem::with_kind(
                    ProblemKind::Internal,
                    "the server could not read the CSV file",
                )
            })?
    }

    /// Returns the rows. Columns other than `columns` are errors. Commas separate the cells, or semicolons if the first
    /// line has no commas.
    fn rows(&self, columns: &'static [&'static str]) -> Result<Vec<ImportRow>, Problem> {
        let malformed = |detail: String| Problem::with_kind(ProblemKind::Malformed, detail);
        let text = std::str::from_utf8(&self.0).map_err(|_| {
            malformed("the file is not UTF-8; spreadsheets call it \"CSV UTF-8\"".to_owned())
        })?;
        if text.contains('\0') {
            return Err(malformed("the file contains the character NUL".to_owned()));
        }
        let text = text.strip_prefix(MARK).unwrap_or(text);
        let first = text.lines().next().unwrap_or_default();
        let delimiter = if first.contains(';') && !first.contains(',') {
            b';'
        } else {
            b','
        };
        let mut reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .flexible(true)
            .from_reader(text.as_bytes());
        let unreadable = |error: csv::Error| malformed(format!("the file cannot be read: {error}"));
        let header =
            known_columns(reader.headers().map_err(unreadable)?, columns).map_err(malformed)?;
        let header: Arc<[&'static str]> = header.into();
        let mut rows = Vec::new();
        let mut place = LineCount {
            text: text.as_bytes(),
            passed: 0,
            line: 1,
        };
        for record in reader.records() {
            let record = record.map_err(unreadable)?;
            let line = place.line_at(record.position());
            // Spreadsheets leave such lines at the end of a file.
            if record.iter().all(str::is_empty) {
                continue;
            }
            if record.len() != header.len() {
                let (expected, found) = (header.len(), record.len());
                let detail = format!(
                    "line {line} has {found} cells and not {expected}, as the first line has"
                );
                return Err(Problem::with_kind(ProblemKind::Invalid, detail));
            }
            if rows.len() == MOST_ROWS {
                let detail = format!("the file has more than {MOST_ROWS} rows; import it in parts");
                return Err(Problem::with_kind(ProblemKind::TooLarge, detail));
            }
            rows.push(ImportRow::new(
                line,
                Arc::clone(&header),
                record.iter().map(unguard_cell).collect(),
            ));
        }
        Ok(rows)
    }
}

/// Returns the columns that the first line of a file names.
///
/// # Errors
/// The reason why the line is wrong.
fn known_columns(
    line: &csv::StringRecord,
    columns: &'static [&'static str],
) -> Result<Vec<&'static str>, String> {
    let (mut header, mut unknown) = (Vec::new(), Vec::new());
    for cell in line {
        let name = cell.trim().to_lowercase();
        match columns.iter().copied().find(|column| *column == name) {
            Some(column) if header.contains(&column) => {
                return Err(format!("the first line names the column {column} twice"));
            }
            Some(column) => header.push(column),
            None => {
                let quoted = format!("\"{name}\"");
                unknown.push(match similar_column(&name, columns) {
                    Some(similar) => [quoted, format!("({similar}?)")].join(" "),
                    None => quoted,
                });
            }
        }
    }
    if !unknown.is_empty() {
        let unknown = unknown.join(", ");
        return Err(format!(
            "the first line names the columns, and these are unknown: {unknown}; an export has all columns"
        ));
    }
    if header.is_empty() {
        return Err("the file is empty".to_owned());
    }
    Ok(header)
}

/// Returns the column that an unknown name probably means.
fn similar_column(name: &str, columns: &'static [&'static str]) -> Option<&'static str> {
    let letters = |text: &str| text.replace(|letter: char| !letter.is_alphanumeric(), "");
    let typed = letters(name);
    columns
        .iter()
        .copied()
        .map(|column| (strsim::jaro_winkler(&typed, &letters(column)), column))
        .filter(|(similarity, _)| *similarity > 0.85)
        .max_by(|(first, _), (second, _)| first.total_cmp(second))
        .map(|(_, column)| column)
}

/// Finds the line of a record in a single pass through the text. The count of the CSV reader omits the blank lines
/// before a record, but an editor counts them.
struct LineCount<'a> {
    text: &'a [u8],
    passed: usize,
    line: u64,
}

impl LineCount<'_> {
    fn line_at(&mut self, position: Option<&csv::Position>) -> u64 {
        let start = position
            .and_then(|position| usize::try_from(position.byte()).ok())
            .unwrap_or(self.passed);
        while let Some(byte) = self.text.get(self.passed) {
            if self.passed >= start && !matches!(byte, b'\r' | b'\n') {
                break;
            }
            self.line += u64::from(*byte == b'\n');
            self.passed += 1;
        }
        self.line
    }
}

pub(super) fn lines<C: AsRef<str>>(
    rows: impl IntoIterator<Item = impl IntoIterator<Item = C>>,
) -> std::io::Result<Vec<u8>> {
    let mut writer = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .from_writer(Vec::new());
    for row in rows {
        writer
            .write_record(row.into_iter().map(|cell| guard_cell(cell.as_ref())))
            .map_err(std::io::Error::other)?;
    }
    writer
        .into_inner()
        .map_err(|error| std::io::Error::other(error.to_string()))
}

/// The characters that begin a formula.
const SIGNS: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// A position in a cell. Apostrophes, quotes and blanks do not change it, because a spreadsheet may skip them.
#[derive(Clone, Copy)]
enum CellPosition {
    Beginning,
    /// After a character that separates cells or lines in some spreadsheets.
    AfterSeparator,
    Within,
}

impl CellPosition {
    const fn behind(self, character: char) -> Self {
        match character {
            ';' | '\t' | '\r' | '\n' => Self::AfterSeparator,
            '\'' | '"' => self,
            blank if blank.is_whitespace() => self,
            _ => Self::Within,
        }
    }

    /// Whether this character needs an apostrophe before it at this position.
    fn endangers(self, character: char) -> bool {
        match self {
            Self::Beginning => {
                SIGNS.contains(&character) || matches!(character, '\t' | '\r' | '\n')
            }
            Self::AfterSeparator => SIGNS.contains(&character),
            Self::Within => false,
        }
    }
}

fn guard_cell(cell: &str) -> String {
    let (mut guarded, mut place) = (String::with_capacity(cell.len()), CellPosition::Beginning);
    for character in cell.chars() {
        if place.endangers(character) {
            guarded.push('\'');
        }
        guarded.push(character);
        place = place.behind(character);
    }
    guarded
}

fn unguard_cell(cell: &str) -> String {
    let (mut unguarded, mut place) = (String::with_capacity(cell.len()), CellPosition::Beginning);
    let mut characters = cell.chars().peekable();
    while let Some(character) = characters.next() {
        let guards =
            character == '\'' && characters.peek().is_some_and(|next| place.endangers(*next));
        if !guards {
            unguarded.push(character);
        }
        place = place.behind(character);
    }
    unguarded
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed test")]

    use proptest::prelude::*;

    use super::*;

    const COLUMNS: [&str; 2] = ["name", "email"];

    fn read(text: impl Into<Bytes>) -> Result<Vec<ImportRow>, Problem> {
        CsvBody(text.into()).rows(&COLUMNS)
    }

    fn cells(rows: &[ImportRow]) -> Vec<[String; 2]> {
        rows.iter()
            .map(|row| COLUMNS.map(|column| row.text(column).unwrap_or_default().to_owned()))
            .collect()
    }

    #[test]
    fn the_formats_of_common_spreadsheets_are_read() {
        let expected = [["ada".to_owned(), "a,b;c \"x\"\r\ny".to_owned()]];
        for text in [
            "name,email\r\nada,\"a,b;c \"\"x\"\"\r\ny\"\r\n",
            "\u{feff}Name;EMAIL\r\nada;\"a,b;c \"\"x\"\"\r\ny\"\r\n;\r\n",
            "name , email\nada,\"a,b;c \"\"x\"\"\r\ny\"",
        ] {
            assert_eq!(cells(&read(text).unwrap()), expected, "{text:?}");
        }
        let rows = read("email\n\"a\nb\"\n\nc\n").unwrap();
        assert_eq!(rows.iter().map(|row| row.line).collect::<Vec<_>>(), [2, 5]);
        assert!(rows.iter().all(|row| row.text("name").is_none()));
    }

    #[test]
    fn malformed_tables_are_rejected() {
        for text in [
            "",
            "name,name\n",
            "name,other\n",
            "name,email\nada\n",
            "name\nada,b\n",
            "name\na\0",
        ] {
            assert!(read(text).is_err(), "{text:?}");
        }
        assert!(read(vec![b'n', b'a', b'm', b'e', b'\n', 0xff]).is_err());
    }

    #[test]
    fn a_wrong_first_line_is_explained() {
        for (text, expected) in [
            (
                "name,e-mail,phone\n",
                "the first line names the columns, and these are unknown: \"e-mail\" (email?), \"phone\"; an export \
                 has all columns",
            ),
            ("name,Name\n", "the first line names the column name twice"),
            ("", "the file is empty"),
        ] {
            let problem = read(text).unwrap_err();
            assert_eq!(problem.detail(), expected, "{text:?}");
        }
    }

    #[test]
    fn tables_with_too_many_rows_are_rejected() {
        let rows = |count: usize| read(format!("name\n{}", "x\n\n".repeat(count)));
        assert_eq!(rows(MOST_ROWS).unwrap().len(), MOST_ROWS);
        assert!(rows(MOST_ROWS + 1).is_err());
    }

    #[test]
    fn no_cell_is_a_formula() {
        for (cell, written) in [
            ("=1+1", "'=1+1"),
            ("+44", "'+44"),
            ("'=x", "''=x"),
            ("'x", "'x"),
            ("a=b", "a=b"),
            ("\tx", "'\tx"),
            ("x;=cmd|' /C calc'!A0;y", "x;'=cmd|' /C calc'!A0;y"),
            ("x\t\"+1\n @x;\n-", "x\t\"'+1\n '@x;\n'-"),
            ("x;'=y", "x;''=y"),
            ("x;y=z", "x;y=z"),
        ] {
            assert_eq!(guard_cell(cell), written);
            assert_eq!(unguard_cell(written), cell);
        }
        assert_eq!(unguard_cell("+44"), "+44", "a sign without a quote stays");
    }

    proptest! {
        #[test]
        fn no_separator_turns_a_cell_into_a_formula(
            cells in prop::collection::vec("[;,=+@'\" \r\n\tx-]{0,6}", 1..4),
        ) {
            let written = String::from_utf8(lines([cells]).unwrap()).unwrap();
            for piece in written.split([';', '\t', '\r', '\n']) {
                prop_assert!(!piece.trim_start_matches(['"', ' ']).starts_with(SIGNS), "{:?}", written);
            }
        }

        #[test]
        fn a_table_round_trips(
            rows in prop::collection::vec(["[^\0]*", "['=+@;, \"\r\n\ta＝-]*"], 0..8),
        ) {
            let is_filled = |row: &[String; 2]| row.iter().any(|cell| !cell.is_empty());
            let rows: Vec<[String; 2]> = rows.into_iter().filter(is_filled).collect();
            let header = COLUMNS.map(str::to_owned);
            let written = lines(std::iter::once(&header).chain(&rows)).unwrap();
            prop_assert_eq!(cells(&read(written).unwrap()), rows);
        }
    }
}
