//! Values that applications of both protocols have in common.

use url::Url;

use crate::domain::admin::{Result, invalid};
use assent_model::name::display_text;
use assent_model::scope::Scope;
use assent_plugin_host::egress::Egress;

/// Validates the name of an application.
pub(in crate::domain::admin) fn application_name(text: &str) -> Result<String> {
    display_text(text, 120)
        .ok_or_else(|| invalid("name", "use 1 to 120 characters without control characters"))
}

/// Validates the id of a recipe of the console. The server does not know the recipes.
pub(in crate::domain::admin) fn recipe_id(text: String) -> Result<String> {
    let is_id = (1..=50).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if is_id {
        Ok(text)
    } else {
        let expected = "expected the id of a recipe of the console, such as grafana: 1 to 50 lower-case letters, \
                        digits and hyphens";
        Err(invalid("recipe", expected))
    }
}

/// Validates an address of the application's server, to which this server sends requests. Rejects an address that the
/// egress policy would reject later.
pub(in crate::domain::admin) fn server_address(
    field: &'static str,
    text: &str,
    egress: &Egress,
) -> Result<Url> {
    let url = (text.len() <= 2000)
        .then(|| Url::parse(text).ok())
        .flatten();
    let fits = |url: &Url| {
        matches!(url.scheme(), "https" | "http")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.fragment().is_none()
    };
    let url = url.filter(fits).ok_or_else(|| {
        invalid(
            field,
            "expected an address that starts with https://, without user name or fragment",
        )
    })?;
    egress.judge(&url).map_err(|refused| {
        let expected = "expected an address on the public internet that starts with https://; http and private \
             addresses \
                        only with [egress] allow_private_addresses = true in the settings";
        invalid(field, format!("{refused}; {expected}"))
    })?;
    Ok(url)
}

/// Checks that all names are those of scopes.
///
/// # Errors
/// [`AdminError::Invalid`](crate::domain::admin::AdminError::Invalid) at `field` with the first unknown name.
pub(in crate::domain::admin) fn require_known_scopes<'a>(
    field: &'static str,
    names: impl IntoIterator<Item = &'a str>,
) -> Result<()> {
    let known: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    match names.into_iter().find(|name| !known.contains(name)) {
        None => Ok(()),
        Some(unknown) => Err(invalid(
            field,
            format!(
                "{unknown:?} is unknown; expected some of {}",
                known.join(", ")
            ),
        )),
    }
}
