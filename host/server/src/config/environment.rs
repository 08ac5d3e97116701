//! Environment variables that set settings.

/// The prefix of the environment variables.
pub(super) const ENVIRONMENT: &str = "ASSENT__";

fn variable(key: &str) -> String {
    format!("{ENVIRONMENT}{}", key.to_uppercase().replace('.', "__"))
}

/// Returns the text of the environment variable of this key, if it is set. Other variables are read as TOML values, but
/// a secret may look like a number or a list.
pub(super) fn text_of(key: &str) -> Option<String> {
    let variable = variable(key);
    let mut named = std::env::vars_os().filter_map(|(name, value)| {
        let is_it = name.to_str()?.eq_ignore_ascii_case(&variable);
        let value = is_it.then(|| value.into_string().ok()).flatten();
        value.filter(|value| !value.is_empty())
    });
    named.next()
}

/// Returns whether the environment variable of this key, in any case and with `__` for a dot, is empty. It counts as
/// unset, because service managers and container files write an unset value as an empty one.
pub(super) fn is_empty(key: &str) -> bool {
    let name = format!("{ENVIRONMENT}{key}");
    std::env::vars_os().any(|(known, value)| {
        value.is_empty()
            && known
                .to_str()
                .is_some_and(|known| known.eq_ignore_ascii_case(&name))
    })
}

/// Returns the environment variable that sets the value of a key, or a part of the value. For an entry of a list it may
/// be the variable of the list.
pub(super) fn variable_of(key: &str) -> Option<String> {
    let list = key
        .split('.')
        .take_while(|part| part.parse::<usize>().is_err());
    let list = list.collect::<Vec<_>>().join(".");
    set_variable(key).or_else(|| set_variable(&list))
}

/// Returns the environment variable of a key, or of a key below it, that is set.
fn set_variable(key: &str) -> Option<String> {
    let variable = variable(key);
    let below = format!("{variable}__");
    let named = std::env::vars_os()
        .filter(|(_, value)| !value.is_empty())
        .filter_map(|(name, _)| name.into_string().ok());
    let found = named.map(|name| (name.to_uppercase(), name));
    let found = found
        .into_iter()
        .find(|(upper, _)| *upper == variable || upper.starts_with(&below));
    found.map(|(_, name)| name)
}
