//! Environment variables that set settings.

/// The prefix of the environment variables.
pub(super) const ENVIRONMENT: &str = "ASSENT__";

/// The environment variable that a key's value, or a part of it, comes from.
pub(super) fn variable_of(key: &str) -> Option<String> {
    let variable = format!("{ENVIRONMENT}{}", key.to_uppercase().replace('.', "__"));
    let below = format!("{variable}__");
    let named = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let found = named.map(|name| (name.to_uppercase(), name));
    let found = found
        .into_iter()
        .find(|(upper, _)| *upper == variable || upper.starts_with(&below));
    found.map(|(_, name)| name)
}
