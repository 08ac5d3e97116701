//! The check of scopes in an administrator's request.

use crate::domain::admin::{Result, invalid};
use assent_model::scope::Scope;

/// Checks that all names are those of scopes.
///
/// # Errors
/// [`AdminError::Invalid`](crate::domain::admin::AdminError::Invalid) at `field` with the first unknown name.
pub(super) fn require_known_scopes<'a>(
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
