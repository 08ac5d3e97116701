//! Clients that a manifest describes: a missing member has the value of a new client.

use super::commands::{authorize, new_client};
use super::document::ClientChange;
use super::secrets::forget_unfit_secrets;
use crate::domain::Services;
use crate::domain::admin::{Result, invalid};
use assent_model::application::Application;
use assent_model::caller::{Authorization, Caller};
use assent_model::client_auth::ClientAuthMethod;
use assent_model::client_secret::ClientSecrets;

/// Returns the client that a manifest describes. An existing client keeps its identifier, and the secrets that its
/// authentication method uses. `client_secret_jwt` cannot use the secrets of another method.
pub(in crate::domain::admin) fn described_client(
    services: &Services,
    change: ClientChange,
    known: Option<&Application>,
) -> Result<Application> {
    let kind = change
        .application_type
        .ok_or_else(|| invalid("application_type", "expected web, spa or native"))?;
    if known.is_some_and(|known| known.settings.application_type != kind) {
        return Err(invalid(
            "application_type",
            "it cannot be changed; create a new application with another key",
        ));
    }
    let made = new_client(services, kind, change)?;
    let Some(known) = known else {
        return Ok(made);
    };
    let mut after = Application {
        name: made.name,
        settings: made.settings,
        updated_at: made.updated_at,
        ..known.clone()
    };
    let method = after.settings.auth_method();
    if method == ClientAuthMethod::ClientSecretJwt && method != known.settings.auth_method() {
        after.secrets = ClientSecrets::default();
    }
    forget_unfit_secrets(&mut after);
    Ok(after)
}

/// Authorizes the caller to set all members of this description of a client by a manifest.
pub(in crate::domain::admin) fn authorize_description(
    caller: &Caller,
    change: &ClientChange,
    known: Option<&Application>,
) -> Result<Authorization> {
    let authorization = authorize(caller, change)?;
    Ok(match known {
        Some(known) => authorization.and(caller.authorize_application(known)?),
        None => authorization,
    })
}
