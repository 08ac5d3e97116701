//! Terminal output. It contains no control characters that could steer the terminal.
//!
//! Output that cannot be written, because the reader closed the pipe or the disk is full, never ends a program:
//!
//! - [`report`] and [`note`] are about work, whose exit code is the result. Lost lines do not change it.
//! - [`print()`] writes the result itself. The caller fails if it is lost, unless the reader closed the pipe.
//! - [`print_once`] writes what cannot be printed again. The caller always fails if it is lost.

use std::fmt::Display;
use std::io::{IsTerminal, Write};

use anyhow::{anyhow, bail};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use assent_model::printable::is_printable;

/// The minimum width of a column.
const NARROWEST: usize = 10;
/// The number of spaces between two columns.
const GAP: usize = 2;

/// Returns a text in one line, with `\u{fffd}` for each unprintable character.
pub fn harmless(text: &str) -> String {
    text.chars()
        .map(|character| {
            if is_printable(character) {
                character
            } else {
                char::REPLACEMENT_CHARACTER
            }
        })
        .collect()
}

/// Returns JSON for a terminal: the same value, with an escape for each unprintable character.
pub fn harmless_json(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        // Line feeds separate values; inside strings, JSON escapes them.
        if is_printable(character) || character == '\n' {
            shown.push(character);
        } else {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                shown.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    shown
}

/// Writes to standard output.
///
/// # Errors
/// [`std::io::Error`], of the kind `BrokenPipe` if the reader closed the pipe.
pub fn print(text: &str) -> anyhow::Result<()> {
    print_bytes(text.as_bytes())
}

/// Writes bytes to standard output.
///
/// # Errors
/// As [`print`].
pub fn print_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)?;
    Ok(out.flush()?)
}

/// Writes something to standard output that cannot be printed again, such as a token. `advice` says what to do if it is
/// lost.
///
/// # Errors
/// If it cannot be written, even if the reader closed the pipe.
pub fn print_once(text: &str, advice: &str) -> anyhow::Result<()> {
    print(text).map_err(|error| lost(&error, advice))
}

fn lost(error: &anyhow::Error, advice: &str) -> anyhow::Error {
    anyhow!("the output could not be written and is lost ({error}); {advice}")
}

/// Returns the result of a command whose work is done, but whose output may be lost. That is a failure only if it
/// cannot be printed again; then `advice` says what to do.
///
/// # Errors
/// Other errors than those of the output, and the loss of output that cannot be printed again.
pub fn after_work(printed: anyhow::Result<()>, advice: Option<&str>) -> anyhow::Result<()> {
    match (printed, advice) {
        (Err(error), advice) if error.is::<std::io::Error>() => {
            advice.map_or(Ok(()), |advice| Err(lost(&error, advice)))
        }
        (printed, _) => printed,
    }
}

/// Writes a text about the work of the command to standard output. It is lost if it cannot be written.
pub fn report(text: impl Display) {
    let mut out = std::io::stdout().lock();
    let _ = write!(out, "{text}").and_then(|()| out.flush());
}

/// Writes a line as [`report`] does.
pub fn report_line(line: impl Display) {
    report(format_args!("{line}\n"));
}

/// Writes a line to standard error. It is lost if it cannot be written.
pub fn note(line: impl Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Returns the width of the terminal, or `None` if standard output is not a terminal.
pub fn width() -> Option<usize> {
    let out = std::io::stdout();
    if !out.is_terminal() {
        return None;
    }
    terminal_size::terminal_size_of(out).map(|(terminal_size::Width(width), _)| usize::from(width))
}

/// Asks the user at the terminal to type a word.
///
/// # Errors
/// If the user types another word, or standard input cannot be read.
pub fn confirm(question: &str, word: &str) -> anyhow::Result<()> {
    let mut stderr = std::io::stderr();
    write!(
        stderr,
        "{} Type {} to go on: ",
        harmless(question),
        harmless(word)
    )?;
    let mut typed = String::new();
    std::io::stdin().read_line(&mut typed)?;
    if typed.trim() != harmless(word).trim() {
        bail!("nothing was done");
    }
    Ok(())
}

/// Whether a user at the terminal can be asked.
pub fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// A table with column widths that its first rows determine.
pub struct Table {
    widths: Vec<usize>,
    /// Whether cells are cut to the width of their column, because the terminal is too narrow.
    cut: bool,
}

impl Table {
    /// Returns a table for these rows; the first is the head. If the table exceeds the `width` of a terminal, the
    /// widest columns except the first become narrower. If this is not enough, the last columns are omitted.
    pub fn for_rows(rows: &[Vec<String>], width: Option<usize>) -> Self {
        let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
        let widest = |column: usize| {
            rows.iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.width())
                .max()
        };
        let mut widths: Vec<usize> = (0..columns)
            .map(|column| widest(column).unwrap_or_default())
            .collect();
        if let Some(width) = width {
            let least = |widths: &[usize]| -> usize {
                let narrow = widths.iter().enumerate().map(|(place, width)| {
                    if place == 0 {
                        *width
                    } else {
                        NARROWEST.min(*width)
                    }
                });
                narrow.sum::<usize>() + GAP * widths.len().saturating_sub(1)
            };
            while widths.len() > 2 && least(&widths) > width {
                widths.pop();
            }
            let room = width.saturating_sub(GAP * widths.len().saturating_sub(1));
            while widths.iter().sum::<usize>() > room {
                let narrowed = widths
                    .iter_mut()
                    .skip(1)
                    .filter(|width| **width > NARROWEST)
                    .max();
                let Some(widest) = narrowed else { break };
                *widest -= 1;
            }
        }
        Self {
            widths,
            cut: width.is_some(),
        }
    }

    /// Formats a row as a line.
    pub fn line(&self, row: &[String]) -> String {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&self.widths) {
            let shown = if self.cut {
                cut(cell, *width)
            } else {
                cell.clone()
            };
            line.push_str(&shown);
            line.push_str(&" ".repeat(width.saturating_sub(shown.width()) + GAP));
        }
        format!("{}\n", line.trim_end())
    }
}

/// Cuts a text to a maximum width.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut room = width.saturating_sub(1);
    for character in text.chars() {
        let Some(left) = room.checked_sub(character.width().unwrap_or_default()) else {
            break;
        };
        room = left;
        shown.push(character);
    }
    shown + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_invisible_characters_are_replaced_or_escaped() {
        assert_eq!(
            harmless("a\x1b[31mb\u{9b}c\u{202e}d\re\nf"),
            "a\u{fffd}[31mb\u{fffd}c\u{fffd}d\u{fffd}e\u{fffd}f"
        );
        for unseen in [
            '\u{61c}', '\u{115f}', '\u{1160}', '\u{180e}', '\u{3164}', '\u{ffa0}',
        ] {
            assert_eq!(harmless(&unseen.to_string()), "\u{fffd}", "{unseen:?}");
        }
        assert_eq!(harmless("Zoë 李 👩\u{200d}🚀"), "Zoë 李 👩\u{200d}🚀");
        let text = harmless_json("{\n \"a\u{9b}\": \"\u{202e}\u{e0041}\"}");
        assert_eq!(text, "{\n \"a\\u009b\": \"\\u202e\\udb40\\udc41\"}");
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["a\u{9b}"], "\u{202e}\u{e0041}");
    }

    #[test]
    fn a_table_fits_the_terminal_and_counts_wide_letters() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [
            row(["ID", "NAME", "X"]),
            row(["0123456789", "李李", "a long text that goes on and on"]),
        ];
        let whole = Table::for_rows(&rows, None);
        assert_eq!(whole.line(&rows[0]), "ID          NAME  X\n");
        assert_eq!(
            whole.line(&rows[1]),
            "0123456789  李李  a long text that goes on and on\n"
        );
        let fit = Table::for_rows(&rows, Some(30));
        assert_eq!(fit.line(&rows[1]), "0123456789  李李  a long text…\n");
        let narrow = Table::for_rows(&rows, Some(5));
        assert_eq!(narrow.line(&rows[1]), "0123456789  李李\n");
        assert_eq!(cut("李李李", 4), "李…");
    }
}
