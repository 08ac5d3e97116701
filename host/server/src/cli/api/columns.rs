//! The columns of tables on the terminal.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::cli::api::document::{BodyMember, Shape};
use assent_admin_client::terminal;
use assent_admin_client::terminal::{Table, harmless};

/// The columns of lists whose items do not fit in a line: members, with a title of their own after `=`. A list without
/// an entry has one column for each member with a single value.
pub(super) const COLUMNS: [(&str, &[&str]); 14] = [
    (
        "User",
        &["id", "name", "email", "state", "console_role", "created_at"],
    ),
    (
        "Invitation",
        &[
            "user_id",
            "name",
            "email",
            "state",
            "inviter_name",
            "sent_at",
            "expires_at",
        ],
    ),
    (
        "CreatedInvitation",
        &["user_id", "name", "link", "expires_at", "skipped"],
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
        "AssignedApplication",
        &["application_id", "application_name", "roles"],
    ),
    (
        "GroupAssignment",
        &["group.id=group_id", "group.name=group", "roles"],
    ),
    (
        "Account",
        &["id", "name", "roles", "state", "user_id", "application_id"],
    ),
    (
        "Session",
        &[
            "id",
            "signed_in_at",
            "used_at",
            "browser",
            "ip_address",
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
    ("SigningKey", &["kid", "alg", "stage", "since", "until"]),
    ("Setting", &["key", "value", "source", "variable"]),
    (
        "PluginStatus",
        &[
            "plugin",
            "role",
            "version",
            "sha256",
            "metrics.calls=calls",
            "metrics.time_us.p50=p50_us",
            "metrics.time_us.p99=p99_us",
            "metrics.faults=faults",
        ],
    ),
];

/// The members that `--quiet` prints, in order of preference.
const NAMING: [&str; 10] = [
    "id",
    "link",
    "client_secret",
    "kid",
    "seq",
    "key",
    "channel",
    "application_id",
    "user_id",
    "group",
];

/// Returns a value as text, in which control characters are not escaped yet.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) if !items.iter().any(|item| item.is_object() || item.is_array()) => {
            items.iter().map(plain).collect::<Vec<_>>().join(", ")
        }
        value => value.to_string(),
    }
}

/// Returns the text that `--quiet` prints for an object: its id, its name, or a new secret. A text stands for itself.
pub(super) fn quiet_text(value: &Value) -> Option<String> {
    // A new secret, which is not returned again. An application with one is named by its id.
    let secret = value
        .get("client_secret")
        .filter(|secret| secret.is_string() && value.get("name").is_none());
    let mut members = secret
        .into_iter()
        .chain(NAMING.iter().filter_map(|name| value.get(name)));
    match members.find(|value| !value.is_null()) {
        Some(inner @ Value::Object(_)) => quiet_text(inner),
        Some(name) => Some(harmless(&plain(name))),
        None => value.as_str().map(harmless),
    }
}

/// A column: the position of its value, and its title.
pub(super) struct Column {
    pub(super) pointer: String,
    pub(super) head: String,
}

impl Column {
    fn parse(text: &str) -> Self {
        let (place, head) = text.split_once('=').unwrap_or((text, text));
        let head = head.replace(['_', '.'], " ").to_uppercase();
        Self {
            pointer: format!("/{}", place.replace('.', "/")),
            head,
        }
    }
}

/// Returns the columns for a list of this schema, and a table for its first items.
pub(super) fn begin(
    schema: Option<&str>,
    members: Option<&[BodyMember]>,
    items: &[Value],
) -> (Vec<Column>, Table) {
    let known = COLUMNS.iter().find(|(name, _)| Some(*name) == schema);
    let mut columns: Vec<Column> = match (known, members) {
        (Some((_, columns)), _) => columns.iter().map(|column| Column::parse(column)).collect(),
        (None, Some(members)) if !members.is_empty() => {
            let single =
                |member: &&BodyMember| !matches!(member.shape, Shape::Object(_) | Shape::List(_));
            members
                .iter()
                .filter(single)
                .map(|member| Column::parse(&member.name))
                .collect()
        }
        // The items are texts.
        _ if items.iter().any(Value::is_string) => vec![Column {
            pointer: String::new(),
            head: "VALUE".to_owned(),
        }],
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
    let table = Table::for_rows(&rows, terminal::width());
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
