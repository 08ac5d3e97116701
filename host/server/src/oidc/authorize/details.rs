//! `authorization_details` of an authorization request (RFC 9396 sections 2 and 5).

use super::super::error::AuthorizeErrorCode;
use super::super::parameters::Parameters;
use super::checks::{CheckError, fail};
use crate::domain::{InternalError, Services};
use assent_model::application::Application;
use assent_model::authorization_details::requested::{AuthorizationDetails, RequestedDetails};

/// Reads and checks the parameter. A request without it has no details, and reads nothing.
///
/// # Errors
/// If the database fails. The inner error is for the application.
pub(super) async fn read(
    services: &Services,
    application: &Application,
    parameters: &Parameters,
) -> Result<Result<AuthorizationDetails, CheckError>, InternalError> {
    let Some(text) = parameters.get("authorization_details") else {
        return Ok(Ok(AuthorizationDetails::default()));
    };
    let rejected = |error: &dyn std::fmt::Display| {
        fail(
            AuthorizeErrorCode::InvalidAuthorizationDetails,
            error.to_string(),
        )
    };
    let requested = match RequestedDetails::parse(text) {
        Ok(requested) => requested,
        Err(error) => return Ok(rejected(&error)),
    };
    let registered = services.store.details_types(&requested.types()).await?;
    let permitted = &application.settings.authorization_details_types;
    let checked = requested.check(&registered, |name| permitted.contains(name));
    Ok(checked.or_else(|error| rejected(&error)))
}
