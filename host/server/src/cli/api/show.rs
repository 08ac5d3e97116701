//! The output of responses: as a table, as the API's own JSON, or as values for a script.

use std::collections::BTreeSet;
use std::io::IsTerminal;

use clap::Args;
use serde_json::Value;

use super::document::{BodyMember, ResponseDescription, Shape};
use crate::cli::api::columns::{COLUMNS, begin, cells, heads, plain, quiet_text};
use assent_admin_client::terminal::harmless;
use assent_admin_client::{preview, terminal};

/// The output format of a response.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "The output")]
pub(super) struct OutputFormat {
    /// The API's own JSON.
    #[arg(long, conflicts_with = "quiet")]
    pub(super) json: bool,
    /// Only ids, or the created value, such as a secret.
    #[arg(long, short)]
    pub(super) quiet: bool,
}

impl OutputFormat {
    /// Whether the output is text for a terminal.
    pub(super) const fn is_text(self) -> bool {
        !self.json && !self.quiet
    }

    /// Whether messages about success are omitted.
    pub(super) const fn is_quiet(self) -> bool {
        self.quiet
    }
}

/// Quotes a text so that a shell reads it as one word.
pub(super) fn quoted(text: &str) -> String {
    let is_plain = text
        .chars()
        .all(|character| character.is_ascii_alphanumeric() || "-_.:@/".contains(character));
    if is_plain && !text.is_empty() {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// Returns JSON for standard output: unchanged, but on a terminal without control characters.
pub(super) fn json(text: &str) -> String {
    if std::io::stdout().is_terminal() {
        terminal::harmless_json(text)
    } else {
        text.to_owned()
    }
}

/// Prints a response with a single object.
///
/// # Errors
/// If standard output cannot be written, or the response is not JSON.
pub(super) fn show(
    answer: &ResponseDescription,
    form: OutputFormat,
    bytes: &[u8],
) -> anyhow::Result<()> {
    if form.json {
        if std::io::stdout().is_terminal() {
            let value: Value = serde_json::from_slice(bytes)?;
            return terminal::print(&terminal::harmless_json(&format!("{value:#}\n")));
        }
        terminal::print_bytes(bytes)?;
        return if bytes.ends_with(b"\n") {
            Ok(())
        } else {
            terminal::print("\n")
        };
    }
    let preview = if form.quiet {
        None
    } else {
        preview::text(answer.schema.as_deref(), bytes)?
    };
    if let Some(text) = preview {
        return terminal::print(&text);
    }
    let value: Value = serde_json::from_slice(bytes)?;
    if form.quiet {
        return terminal::print(
            &quiet_text(&value)
                .map(|name| name + "\n")
                .unwrap_or_default(),
        );
    }
    let mut shown = String::new();
    let mut lists = Vec::new();
    let mut lines = Vec::new();
    flatten("", &value, &mut lines, &mut lists);
    let widest = lines
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or_default();
    for (name, text) in &lines {
        let mut parts = text.lines().map(harmless);
        shown.push_str(format!("{name:widest$}  {}", parts.next().unwrap_or_default()).trim_end());
        shown.push('\n');
        parts.for_each(|part| shown.push_str(&format!("{:widest$}  {part}\n", "")));
    }
    for (name, items) in lists {
        let items_schema = items_of(answer, &name);
        let (columns, table) = begin(items_schema.as_deref(), None, items);
        shown.push_str(&format!(
            "{}{name}\n{}",
            if shown.is_empty() { "" } else { "\n" },
            table.line(&heads(&columns))
        ));
        items
            .iter()
            .for_each(|item| shown.push_str(&table.line(&cells(&columns, item))));
    }
    terminal::print(&shown)?;
    if let Some(link) = value.get("link").and_then(Value::as_str) {
        crate::cli::serve::print_qr(link);
    }
    if has_secret(answer, bytes) {
        terminal::note("It is not shown again: store it now.");
    }
    Ok(())
}

/// Whether a response contains something that no other response contains, such as a secret.
pub(super) fn has_secret(answer: &ResponseDescription, bytes: &[u8]) -> bool {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else {
        return false;
    };
    has_secret_member(&answer.members, &value)
}

fn has_secret_member(members: &[BodyMember], value: &Value) -> bool {
    members.iter().any(|member| {
        let Some(value) = value.get(&member.name) else {
            return false;
        };
        let is_once = member.description.contains("Only this response contains");
        match (&member.shape, value) {
            (_, Value::String(_)) => is_once,
            (Shape::Object(members), value) => has_secret_member(members, value),
            (Shape::List(item), Value::Array(items)) => match &**item {
                Shape::Object(members) => items.iter().any(|item| has_secret_member(members, item)),
                _ => false,
            },
            _ => false,
        }
    })
}

/// Returns the name in the table of columns for a list in a response.
fn items_of(answer: &ResponseDescription, name: &str) -> Option<String> {
    let member = answer.members.iter().find(|member| member.name == name)?;
    match &member.shape {
        Shape::List(inner) => match &**inner {
            Shape::Object(members) => {
                let names: BTreeSet<&str> =
                    members.iter().map(|member| member.name.as_str()).collect();
                let fits = |columns: &[&str]| {
                    columns.iter().all(|column| {
                        names.contains(column.split(['.', '=']).next().unwrap_or_default())
                    })
                };
                COLUMNS
                    .iter()
                    .find(|(_, columns)| fits(columns))
                    .map(|(schema, _)| (*schema).to_owned())
            }
            _ => None,
        },
        _ => None,
    }
}

/// Flattens a value to lines with name and text. Lists of objects are printed separately.
fn flatten<'a>(
    name: &str,
    value: &'a Value,
    lines: &mut Vec<(String, String)>,
    lists: &mut Vec<(String, &'a Vec<Value>)>,
) {
    let below = |key: &str| {
        if name.is_empty() {
            harmless(key)
        } else {
            format!("{name}.{}", harmless(key))
        }
    };
    match value {
        Value::Object(members) => members
            .iter()
            .for_each(|(key, value)| flatten(&below(key), value, lines, lists)),
        Value::Array(items) if items.iter().any(Value::is_object) => {
            lists.push((name.to_owned(), items));
        }
        // The QR code of a link is drawn on a terminal, and its markup is not printed.
        Value::String(text) if text.starts_with("<?xml") => {}
        Value::Null => {}
        value => lines.push((name.to_owned(), plain(value))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_previews_have_schemas_in_the_document() {
        let document: Value =
            serde_json::from_str(crate::http::admin_api::openapi::text()).expect("JSON");
        for name in [preview::PREVIEW, preview::COMPARISON] {
            assert!(
                document["components"]["schemas"][name].is_object(),
                "{name}"
            );
        }
    }

    #[test]
    fn each_column_is_a_member_of_its_schema() {
        let document: Value =
            serde_json::from_str(crate::http::admin_api::openapi::text()).expect("JSON");
        let schemas = &document["components"]["schemas"];
        let named = |schema: &Value| {
            schema["$ref"]
                .as_str()
                .map(|name| name.rsplit('/').next().expect("a name").to_owned())
        };
        for (schema, columns) in COLUMNS {
            let either = schemas[schema]["oneOf"]
                .as_array()
                .cloned()
                .unwrap_or_else(|| vec![schemas[schema].clone()]);
            for column in columns {
                let first = column.split(['.', '=']).next().expect("a name");
                let has = |schema: &Value| match named(schema) {
                    Some(name) => schemas[name]["properties"][first].is_object(),
                    None => schema["properties"][first].is_object(),
                };
                assert!(either.iter().any(has), "{schema} has no {first}");
            }
        }
    }

    #[test]
    fn a_cursor_is_quoted_for_the_shell() {
        assert_eq!(quoted("019aa6bb.x"), "019aa6bb.x");
        assert_eq!(quoted("it's; rm"), "'it'\\''s; rm'");
        assert_eq!(quoted(""), "''");
    }
}
