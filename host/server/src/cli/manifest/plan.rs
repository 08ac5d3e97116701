//! A plan as text.

use serde::Deserialize;
use serde_json::Value;

use assent_admin_client::terminal::harmless;

/// A plan of the server.
#[derive(Debug, Deserialize)]
pub(super) struct Plan {
    owner: String,
    pub(super) digest: String,
    changes: Vec<Change>,
    warnings: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Change {
    action: Action,
    kind: String,
    key: String,
    fields: Vec<FieldChange>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Create,
    Update,
    Adopt,
    Delete,
}

#[derive(Debug, Deserialize)]
struct FieldChange {
    name: String,
    before: Value,
    after: Value,
}

impl Action {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Create, "to create"),
        (Self::Update, "to update"),
        (Self::Adopt, "to adopt"),
        (Self::Delete, "to delete"),
    ];

    const fn mark(self) -> char {
        match self {
            Self::Create => '+',
            Self::Update => '~',
            Self::Adopt => '=',
            Self::Delete => '-',
        }
    }
}

impl Plan {
    pub(super) const fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Returns the changes, with a line for each and a line for each of its members.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for change in &self.changes {
            let (mark, kind, key) = (change.action.mark(), &change.kind, &change.key);
            text.push_str(&format!("{mark} {} {}\n", harmless(kind), harmless(key)));
            for FieldChange {
                name,
                before,
                after,
            } in &change.fields
            {
                let name = harmless(name);
                let values = match (before, after) {
                    (Value::Null, after) => value_text(after),
                    (before, after) => format!("{} -> {}", value_text(before), value_text(after)),
                };
                text.push_str(&format!("    {name}: {values}\n"));
            }
        }
        for warning in &self.warnings {
            let warning = harmless(warning);
            text.push_str(&format!("Warning: {}.\n", warning.trim_end_matches('.')));
        }
        let owner = harmless(&self.owner);
        if self.is_empty() {
            text.push_str(&format!("Nothing to change for {owner}.\n"));
            return text;
        }
        let counts = Action::ALL.into_iter().filter_map(|(action, words)| {
            let changes = self.changes.iter();
            let count = changes.filter(|change| change.action == action).count();
            (count > 0).then(|| format!("{count} {words}"))
        });
        let counts: Vec<String> = counts.collect();
        let digest: String = self.digest.chars().take(32).collect();
        text.push_str(&format!(
            "Plan {} for {owner}: {}.\n",
            harmless(&digest),
            counts.join(", ")
        ));
        text
    }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        value => harmless(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_shows_each_change_and_each_value() {
        let plan = r#"{"owner": "team", "prune": true, "digest": "0123456789abcdef", "warnings": ["look here"],
            "changes": [
                {"action": "create", "kind": "application", "key": "wiki", "id": null,
                 "fields": [{"name": "name", "before": null, "after": "Wi\u001bki"}]},
                {"action": "update", "kind": "group", "key": "staff", "id": "1",
                 "fields": [{"name": "description", "before": "a", "after": null}]},
                {"action": "delete", "kind": "account", "key": "wiki/ada", "id": "2", "fields": []}]}"#;
        let plan: Plan = serde_json::from_str(plan).expect("a plan");
        assert_eq!(
            plan.text(),
            "+ application wiki\n    name: \"Wi\\u001bki\"\n~ group staff\n    description: \"a\" -> nothing\n\
             - account wiki/ada\nWarning: look here.\n\
             Plan 0123456789abcdef for team: 1 to create, 1 to update, 1 to delete.\n"
        );
    }
}
