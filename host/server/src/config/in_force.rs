//! The settings in force, and the source of each.

use std::path::Path;

use serde_json::Value;

use super::Settings;
use super::environment::variable_of;

use assent_model::text::to_utf8;

/// The keys with values that are secrets, or may contain a secret.
pub(super) const SECRETS: [&str; 4] = [
    "keys.master_key",
    "keys.previous_master_key",
    "database.url",
    "mail.password",
];

/// The source of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigSource {
    /// The default, because the setting is not set.
    Default,
    /// The settings file.
    File,
    /// This environment variable.
    Environment(String),
}

/// A setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The key with its tables, such as `http.listen`.
    pub key: String,
    /// The value. `None` if it is a secret.
    pub value: Option<Value>,
    /// Whether it has a value.
    pub is_set: bool,
    /// The source of the value.
    pub source: ConfigSource,
}

/// Returns the settings in force, in the order of their keys. Reads `file` again: a setting that was added to it since
/// the start has the source [`ConfigSource::File`], with the value that is still in force.
pub fn in_force(settings: &Settings, file: Option<&Path>) -> Vec<Setting> {
    let text = file
        .and_then(|file| std::fs::read(file).and_then(to_utf8).ok())
        .unwrap_or_default();
    let table = text.parse::<toml::Table>().map(toml::Value::Table).ok();
    let mut found = Vec::new();
    flatten(
        String::new(),
        serde_json::to_value(settings).unwrap_or_default(),
        &mut found,
    );
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    let is_in_file = |key: &str| {
        let named = table.as_ref().and_then(|table| {
            key.split('.')
                .try_fold(table, |table, part| table.get(part))
        });
        named.is_some()
    };
    let setting = |(key, value): (String, Value)| {
        let source = match variable_of(&key) {
            Some(variable) => ConfigSource::Environment(variable),
            None if is_in_file(&key) => ConfigSource::File,
            None => ConfigSource::Default,
        };
        let is_set = !value.is_null();
        let value = (!SECRETS.contains(&key.as_str())).then(|| without_configuration(value));
        Setting {
            key,
            value,
            is_set,
            source,
        }
    };
    found.into_iter().map(setting).collect()
}

/// Collects the keys below a table, each with its value.
fn flatten(key: String, value: Value, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let below = if key.is_empty() {
                    name
                } else {
                    format!("{key}.{name}")
                };
                flatten(below, value, found);
            }
        }
        value => found.push((key, value)),
    }
}

/// Returns a list without the `config` of its members, because a plugin's own settings may contain any value.
fn without_configuration(mut value: Value) -> Value {
    for member in value
        .as_array_mut()
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        member.remove("config");
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_in_force_has_its_source_and_secrets_have_no_value() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("assent.toml");
        let text = "base_url = \"http://localhost:1\"\n[database]\nurl = \"postgres://assent:hunter2@db/assent\"\n\
                    [keys]\nmaster_key = \"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"\n\
                    previous_master_key = \"BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"\n\
                    [mail]\nserver = \"smtp.example.org\"\nfrom = \"id@example.org\"\nuser = \"a\"\n\
                    password = \"hunter2\"\n\
                    [[plugins.claim_mappers]]\nname = \"a\"\nfile = \"a.wasm\"\nwrites = [\"account\"]\nconfig = { \
                         password = \"hunter2\" }\n";
        std::fs::write(&file, text).unwrap();
        let settings = super::super::load(&file).unwrap();
        let effective = in_force(&settings, Some(&file));
        let of = |key: &str| effective.iter().find(|setting| setting.key == key).unwrap();
        assert_eq!(of("base_url").source, ConfigSource::File);
        assert_eq!(
            (&of("audit.retention").source, of("audit.retention").is_set),
            (&ConfigSource::Default, true)
        );
        for secret in SECRETS {
            assert_eq!(
                (&of(secret).value, of(secret).is_set),
                (&None, true),
                "{secret}"
            );
        }
        let all = format!("{effective:?}");
        assert!(
            !all.contains("hunter2") && !all.contains("AAAAAAAA"),
            "{all}"
        );
        assert!(effective.is_sorted_by(|one, other| one.key < other.key));
    }

    /// A new setting with a secret must be added to the list above.
    #[test]
    fn settings_named_like_secrets_are_secrets_or_files() {
        let schema = serde_json::to_value(schemars::schema_for!(Settings))
            .unwrap()
            .to_string();
        let names = schema
            .split('"')
            .filter(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '_'));
        for name in names.filter(|name| {
            ["secret", "password", "token_value", "master_key"]
                .iter()
                .any(|word| name.contains(word))
        }) {
            let known =
                name.ends_with("_file") || SECRETS.iter().any(|secret| secret.ends_with(name));
            assert!(known, "{name} may be a secret; see SECRETS");
        }
    }
}
