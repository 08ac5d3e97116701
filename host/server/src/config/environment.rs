//! Environment variables that set settings.

use std::path::Path;

/// The prefix of the environment variables.
pub(super) const ENVIRONMENT: &str = "ASSENT__";

/// Where a key's value comes from: the environment variable if there is one, else the file.
pub(super) fn source_of(key: &str, file: &Path) -> String {
    variable_of(key).unwrap_or_else(|| file.display().to_string())
}

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
