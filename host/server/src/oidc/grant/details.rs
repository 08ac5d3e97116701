//! The authorization details of new tokens (RFC 9396 sections 6 and 7).

use serde_json::{Map, Value};

use crate::oidc::error::TokenError;
use assent_model::application::Application;
use assent_model::authorization_details::granted::{DetailsSelection, GrantedDetails};
use assent_model::authorization_details::requested::RequestedDetails;

/// Returns the elements of a new token: all that the user granted, or those that the token request names, and only of
/// types that the application may use now.
///
/// # Errors
/// [`TokenError::InvalidAuthorizationDetails`] if the request names an element that was not granted.
pub(super) fn selection(
    application: &Application,
    granted: &GrantedDetails,
    requested: Option<&str>,
) -> Result<DetailsSelection, TokenError> {
    let permitted = &application.settings.authorization_details_types;
    let is_permitted = |name: &str| permitted.iter().any(|one| one.as_str() == name);
    let within = granted.of_types(is_permitted);
    let Some(text) = requested else {
        return Ok(within);
    };
    let requested = RequestedDetails::parse(text)
        .map_err(|error| TokenError::InvalidAuthorizationDetails(error.to_string()))?;
    granted.narrowed(within, &requested).ok_or_else(|| {
        TokenError::InvalidAuthorizationDetails(
            "an element of authorization_details was not granted: repeat elements of the token response, each with all \
             its members"
                .to_owned(),
        )
    })
}

/// Returns the elements for a response. `None` if there are none.
pub(in crate::oidc) fn elements(
    granted: &GrantedDetails,
    selection: DetailsSelection,
) -> Option<Vec<Map<String, Value>>> {
    let elements = granted.selected(selection);
    (!elements.is_empty()).then(|| elements.into_iter().cloned().collect())
}
