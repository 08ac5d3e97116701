//! The descriptions of settings, from their JSON schema.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use super::Settings;

/// Returns the description of a setting by its key: the descriptions of the enclosing tables except the outermost, then
/// its own.
pub fn description_of(key: &str) -> Option<&'static str> {
    DESCRIPTIONS.get(key).map(String::as_str)
}

static DESCRIPTIONS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let schema = serde_json::to_value(schemars::schema_for!(Settings)).unwrap_or_default();
    let mut found = BTreeMap::new();
    describe(&schema, &schema, "", "", &mut found);
    found
});

/// Collects the descriptions of the members of a part of the schema, which is the table `key`.
fn describe(
    schema: &Value,
    part: &Value,
    key: &str,
    above: &str,
    found: &mut BTreeMap<String, String>,
) {
    let Some(members) = resolve(schema, part)
        .get("properties")
        .and_then(Value::as_object)
    else {
        return;
    };
    for (name, member) in members {
        let own = member["description"].as_str().unwrap_or_default();
        let own = own.replace('\n', " ");
        let (below, text) = match (key, above) {
            ("", _) => (name.clone(), own),
            (_, "") => (format!("{key}.{name}"), own),
            _ => (format!("{key}.{name}"), format!("{above} {own}")),
        };
        // The description of the outermost table is the heading of its settings.
        let inherited = if key.is_empty() { "" } else { text.as_str() };
        describe(schema, member, &below, inherited, found);
        found.insert(below, text);
    }
}

/// Returns a part of the schema, or the definition that it refers to. The reference may be one of several alternatives,
/// if the part may be null.
fn resolve<'a>(schema: &'a Value, part: &'a Value) -> &'a Value {
    let refers = |part: &'a Value| part.get("$ref").and_then(Value::as_str);
    let alternatives = part.get("anyOf").and_then(Value::as_array);
    let reference = refers(part).or_else(|| alternatives?.iter().find_map(refers));
    reference
        .and_then(|reference| schema.pointer(reference.trim_start_matches('#')))
        .unwrap_or(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::in_force;

    #[test]
    fn each_setting_in_force_has_a_description() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("assent.toml");
        std::fs::write(&file, "base_url = \"http://localhost:1\"\n").unwrap();
        let settings = crate::config::load(&file).unwrap();
        let known = in_force(&settings, None);
        let without: Vec<&str> = known
            .iter()
            .map(|setting| setting.key.as_str())
            .filter(|key| description_of(key).is_none_or(str::is_empty))
            .collect();
        assert_eq!(without, Vec::<&str>::new());
    }

    #[test]
    fn the_description_of_a_nested_setting_begins_with_its_table() {
        let text = description_of("rate_limits.sign_ins_per_ip.burst").unwrap();
        let table = description_of("rate_limits.sign_ins_per_ip").unwrap();
        assert!(text.starts_with(table), "{text}");
        assert!(text.contains("maximum burst"), "{text}");
        assert!(!text.contains("The rate limits."), "{text}");
    }
}
