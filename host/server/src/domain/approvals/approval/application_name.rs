//! The name of the application that requests an approval.

use crate::domain::error::InternalError;
use crate::domain::services::Services;
use assent_model::login::Login;

/// Returns the name of the application that requests an approval.
pub(crate) async fn application_name(
    services: &Services,
    login: &Login,
) -> Result<String, InternalError> {
    let found = match login.request.application() {
        Some(id) => services
            .store
            .registered(id)
            .await?
            .map(|application| application.name().to_owned()),
        None => None,
    };
    let found = if !login.request.purpose().is_application() {
        found.map(|name| format!("{name} (test sign-in)"))
    } else {
        found
    };
    Ok(found.unwrap_or_else(|| services.settings.operator.clone()))
}
