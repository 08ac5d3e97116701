//! `authorization_details` of an authorization request (RFC 9396 sections 2 and 5).

use super::super::error::AuthorizeErrorCode;
use super::super::parameters::Parameters;
use super::super::requested_details;
use super::super::requested_details::CheckedDetails;
use super::checks::{CheckError, fail};
use crate::domain::{InternalError, Services};
use assent_model::application::Application;
use assent_model::authorization_details::requested::AuthorizationDetails;

/// Reads and checks the parameter. A browser cannot wait for a second approver, so a type that needs the approval of
/// one is rejected.
///
/// # Errors
/// If the database fails. The inner error is for the application.
pub(super) async fn read(
    services: &Services,
    application: &Application,
    parameters: &Parameters,
) -> Result<Result<AuthorizationDetails, CheckError>, InternalError> {
    let checked = requested_details::read(services, application, parameters).await?;
    let checked =
        checked.and_then(
            |CheckedDetails { details, second }| match second.into_iter().next() {
                Some(demand) => Err(demand.refusal()),
                None => Ok(details),
            },
        );
    Ok(checked.or_else(|error| {
        fail(
            AuthorizeErrorCode::InvalidAuthorizationDetails,
            error.to_string(),
        )
    }))
}
