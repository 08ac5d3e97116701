//! The audit entries about users.

use serde_json::{Map, Value, json};

use crate::domain::{Services, audit};
use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::user::{ConsoleRole, User};

/// Returns the entry about a new user.
pub(in crate::domain::admin) fn creation(
    services: &Services,
    user: &User,
    by: &AuditContext,
) -> Entry {
    let entry = audit::entry(services, Event::UserCreated, by)
        .about(user.id)
        .with("state", user.state.as_str());
    let entry = match user.console_role {
        Some(role) => entry.with("console_role", role.as_str()),
        None => entry,
    };
    entry.personal("after", Value::Object(audited_members(user)))
}

/// Returns the entries about a change, with the old and new values of the changed members.
pub(in crate::domain::admin) fn differences(
    services: &Services,
    before: &User,
    after: &User,
    by: &AuditContext,
) -> Vec<Entry> {
    let entry = |event| audit::entry(services, event, by).about(after.id);
    let mut entries = Vec::new();
    let (was, is) = differing_members(audited_members(before), audited_members(after));
    let role = |user: &User| user.console_role.map(ConsoleRole::as_str);
    if !is.is_empty() || !was.is_empty() || role(before) != role(after) {
        let mut changed = entry(Event::UserUpdated);
        if role(before) != role(after) {
            changed = changed
                .with("before", json!({"console_role": role(before)}))
                .with("after", json!({"console_role": role(after)}));
        }
        entries.push(
            changed
                .personal("before", Value::Object(was))
                .personal("after", Value::Object(is)),
        );
    }
    if before.state != after.state {
        entries.push(audit::of_state(
            entry(Event::UserLifecycleChanged),
            before.state,
            after.state,
        ));
    }
    entries
}

/// Returns the members that identify a user.
fn audited_members(user: &User) -> Map<String, Value> {
    let mut members = match serde_json::to_value(&user.profile) {
        Ok(Value::Object(profile)) => profile,
        _ => Map::new(),
    };
    members.insert("login_name".to_owned(), json!(user.name));
    members.insert("email".to_owned(), json!(user.email));
    members.insert("email_confirmed".to_owned(), json!(user.email_confirmed));
    members
}

/// Returns the members that differ.
pub(in crate::domain::admin) fn differing_members(
    mut before: Map<String, Value>,
    mut after: Map<String, Value>,
) -> (Map<String, Value>, Map<String, Value>) {
    before.retain(|name, value| {
        let same = after.get(name) == Some(value);
        if same {
            after.remove(name);
        }
        !same
    });
    (before, after)
}
