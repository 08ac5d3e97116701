//! `authorization_details` of a request (RFC 9396 sections 2 and 5), at the authorization endpoint and at the
//! back-channel authentication endpoint.

use super::parameters::Parameters;
use crate::domain::{InternalError, Services};
use assent_model::application::Application;
use assent_model::authorization_details::requested::{
    AuthorizationDetails, DetailsError, RequestedDetails, SecondDemand,
};

/// Checked authorization details.
#[derive(Debug, Default)]
pub(super) struct CheckedDetails {
    /// The details.
    pub(super) details: AuthorizationDetails,
    /// The elements that a second approver must approve too.
    pub(super) second: Vec<SecondDemand>,
}

/// Reads and checks the parameter. A request without it has no details, and reads nothing.
///
/// # Errors
/// If the database fails. The inner error is for the application.
pub(super) async fn read(
    services: &Services,
    application: &Application,
    parameters: &Parameters,
) -> Result<Result<CheckedDetails, DetailsError>, InternalError> {
    let Some(text) = parameters.get("authorization_details") else {
        return Ok(Ok(CheckedDetails::default()));
    };
    let requested = match RequestedDetails::parse(text) {
        Ok(requested) => requested,
        Err(error) => return Ok(Err(error)),
    };
    let registered = services.store.details_types(&requested.types()).await?;
    let permitted = &application.settings.authorization_details_types;
    let second = requested.second_demands(&registered);
    let checked = requested.check(&registered, |name| permitted.contains(name));
    Ok(checked.map(|details| CheckedDetails { details, second }))
}
