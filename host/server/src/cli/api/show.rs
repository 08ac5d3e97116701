//! How answers are shown: as a table, as the API's own JSON, or as what a script wants to know.

use std::collections::BTreeSet;
use std::io::IsTerminal;

use clap::Args;
use serde_json::Value;

use super::document::{Answer, Member, Shape};
use assent_admin_client::terminal::{Table, harmless};
use assent_admin_client::{preview, terminal};

/// The columns of lists whose items have more than a line holds: members, with a head of their own after `=`. A list without
/// an entry has one column for each member that is a single value.
const COLUMNS: [(&str, &[&str]); 10] = [
    (
        "User",
        &["id", "name", "email", "state", "console_role", "created_at"],
    ),
    (
        "Application",
        &[
            "id",
            "name",
            "protocol",
            "application_type",
            "token_endpoint_auth_method=auth_method",
            "entity_id",
        ],
    ),
    (
        "Account",
        &["id", "name", "roles", "state", "user_id", "application_id"],
    ),
    (
        "Session",
        &[
            "id",
            "begun_at",
            "used_at",
            "browser",
            "address",
            "applications",
        ],
    ),
    (
        "Consent",
        &[
            "application_id",
            "application_name",
            "scopes",
            "granted_at",
            "expires_at",
        ],
    ),
    (
        "Certificate",
        &["id", "stage", "created_at", "signs_from", "expires_at"],
    ),
    (
        "AuditEntry",
        &[
            "seq",
            "at",
            "event",
            "actor.kind=by",
            "actor.id=by_id",
            "user_id",
            "application_id",
        ],
    ),
    ("Key", &["kid", "alg", "state", "since", "until"]),
    ("Setting", &["key", "value", "source", "variable"]),
    (
        "PluginStatus",
        &[
            "plugin",
            "role",
            "version",
            "sha256",
            "measured.calls=calls",
            "measured.time_us.p50=p50_us",
            "measured.time_us.p99=p99_us",
            "measured.faults=faults",
        ],
    ),
];

/// What `--quiet` prints: the first of these that is there.
const NAMING: [&str; 8] = [
    "id",
    "link",
    "client_secret",
    "kid",
    "seq",
    "key",
    "channel",
    "application_id",
];

/// How an answer is shown.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "The answer")]
pub(super) struct Form {
    /// The API's own JSON.
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
    /// Ids alone, or what was made, such as a secret.
    #[arg(long, short)]
    quiet: bool,
}

impl Form {
    /// Whether people read it.
    pub(super) const fn is_text(self) -> bool {
        !self.json && !self.quiet
    }

    /// Whether what goes without saying is not said.
    pub(super) const fn is_quiet(self) -> bool {
        self.quiet
    }
}

/// A text as a shell takes it for one word.
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

/// JSON as standard output gets it: as it came, but on a terminal with nothing in it that steers.
pub(super) fn json(text: &str) -> String {
    if std::io::stdout().is_terminal() {
        terminal::harmless_json(text)
    } else {
        text.to_owned()
    }
}

/// Shows an answer that is one thing.
///
/// # Errors
/// If standard output takes no more, or the answer is no JSON.
pub(super) fn show(answer: &Answer, form: Form, bytes: &[u8]) -> anyhow::Result<()> {
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
        return terminal::print(&named(&value).map(|name| name + "\n").unwrap_or_default());
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
    if let Some(link) = value.get("link").and_then(Value::as_str)
        && std::io::stdout().is_terminal()
    {
        crate::cli::qr_code::print_qr(link);
    }
    let once = |member: &&Member| member.description.contains("this once");
    if answer
        .members
        .iter()
        .filter(once)
        .any(|member| value.get(&member.name).is_some_and(Value::is_string))
    {
        eprintln!("It is shown this once: keep it now.");
    }
    Ok(())
}

/// The table of columns that goes with a list in an answer.
fn items_of(answer: &Answer, name: &str) -> Option<String> {
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

/// A value as lines of name and text; lists of objects for themselves.
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
        Value::Null => {}
        value => lines.push((name.to_owned(), plain(value))),
    }
}

/// A value as text, which is not harmless yet.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) if !items.iter().any(|item| item.is_object() || item.is_array()) => {
            items.iter().map(plain).collect::<Vec<_>>().join(", ")
        }
        value => value.to_string(),
    }
}

/// What names a thing.
pub(super) fn named(value: &Value) -> Option<String> {
    NAMING
        .iter()
        .find_map(|name| value.get(name).filter(|value| !value.is_null()))
        .map(|value| harmless(&plain(value)))
}

/// A column: where its value stands, and its head.
struct Column {
    pub(super) pointer: String,
    pub(super) head: String,
}

impl Column {
    fn of(text: &str) -> Self {
        let (place, head) = text.split_once('=').unwrap_or((text, text));
        let head = head.replace(['_', '.'], " ").to_uppercase();
        Self {
            pointer: format!("/{}", place.replace('.', "/")),
            head,
        }
    }
}

/// The columns for a list of this schema, and a table for its first items.
pub(super) fn begin(
    schema: Option<&str>,
    members: Option<&[Member]>,
    items: &[Value],
) -> (Vec<Column>, Table) {
    let known = COLUMNS.iter().find(|(name, _)| Some(*name) == schema);
    let mut columns: Vec<Column> = match (known, members) {
        (Some((_, columns)), _) => columns.iter().map(|column| Column::of(column)).collect(),
        (None, Some(members)) if !members.is_empty() => {
            let single =
                |member: &&Member| !matches!(member.shape, Shape::Object(_) | Shape::List(_));
            members
                .iter()
                .filter(single)
                .map(|member| Column::of(&member.name))
                .collect()
        }
        _ => {
            let members = items.iter().filter_map(Value::as_object).flatten();
            let single = members
                .filter(|(_, value)| !value.is_null() && !value.is_object() && !value.is_array());
            let keys: BTreeSet<&str> = single.map(|(key, _)| key.as_str()).collect();
            let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
            keys.into_iter()
                .map(|key| Column {
                    pointer: format!("/{}", escaped(key)),
                    head: harmless(key).to_uppercase(),
                })
                .collect()
        }
    };
    columns.sort_by_key(|column| match column.pointer.as_str() {
        "/id" | "/seq" | "/kid" | "/key" => 0,
        "/name" | "/plugin" => 1,
        _ => 2,
    });
    let rows: Vec<Vec<String>> = std::iter::once(heads(&columns))
        .chain(items.iter().map(|item| cells(&columns, item)))
        .collect();
    let table = Table::of(&rows, terminal::width());
    (columns, table)
}

pub(super) fn heads(columns: &[Column]) -> Vec<String> {
    columns.iter().map(|column| column.head.clone()).collect()
}

pub(super) fn cells(columns: &[Column], item: &Value) -> Vec<String> {
    let cell = |column: &Column| {
        let text = item
            .pointer(&column.pointer)
            .map(|value| harmless(&plain(value)))
            .unwrap_or_default();
        if text.is_empty() {
            "-".to_owned()
        } else {
            text
        }
    };
    columns.iter().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_previews_have_schemas_in_the_document() {
        let document: Value =
            serde_json::from_str(crate::http::admin_api::openapi_document()).expect("JSON");
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
            serde_json::from_str(crate::http::admin_api::openapi_document()).expect("JSON");
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
    fn a_cursor_is_one_word_of_a_shell() {
        assert_eq!(quoted("019aa6bb.x"), "019aa6bb.x");
        assert_eq!(quoted("it's; rm"), "'it'\\''s; rm'");
        assert_eq!(quoted(""), "''");
    }
}
