//! Checks that the grants have in common.

use crate::domain::Services;
use crate::domain::sign_in::access;
use crate::oidc::client_auth::AuthenticatedClient;
use crate::oidc::error::TokenError;
use crate::oidc::parameters::Parameters;
use assent_model::token::GrantSubject;
use assent_store::UserAccount;

pub(super) fn required<'a>(parameters: &'a Parameters, name: &str) -> Result<&'a str, TokenError> {
    parameters
        .get(name)
        .ok_or_else(|| TokenError::InvalidRequest(format!("{name} is missing")))
}

/// The person of a grant and their account, if they may still use the application.
pub(super) async fn person(
    services: &Services,
    client: &AuthenticatedClient,
    subject: GrantSubject,
) -> Result<UserAccount, TokenError> {
    let found = access::person(services, subject, &client.application.id).await?;
    found.ok_or(TokenError::InvalidGrant(
        "the person may no longer use the application",
    ))
}
