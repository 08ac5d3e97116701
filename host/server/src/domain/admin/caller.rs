//! Service accounts as callers of the admin API.

use crate::domain::{InternalError, Services};
use assent_model::administration::AdminScopes;
use assent_model::audit::{Actor, AuditContext, Origin};
use assent_model::caller::{Caller, Principal};
use assent_model::id::Did;

/// Returns the caller for an application with a token of these admin scopes. `None` if none of the scopes is granted
/// any more.
///
/// # Errors
/// If the database fails.
pub async fn service_account(
    services: &Services,
    application: Did,
    token: &AdminScopes,
    from: Origin,
) -> Result<Option<Caller>, InternalError> {
    let Some(client) = services.store.application(&application).await? else {
        return Ok(None);
    };
    let scopes = client.settings.admin_scopes_of(token);
    let by = AuditContext::new(Actor::Application(application), from);
    Ok((!scopes.is_empty()).then_some(Caller {
        by,
        principal: Principal::Application(scopes),
    }))
}
