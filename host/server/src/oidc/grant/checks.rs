//! Checks that the grants have in common.

use std::time::Duration;

use crate::oidc::error::TokenError;
use crate::oidc::parameters::Parameters;

pub(super) fn required<'a>(parameters: &'a Parameters, name: &str) -> Result<&'a str, TokenError> {
    parameters
        .get(name)
        .ok_or_else(|| TokenError::InvalidRequest(format!("{name} is missing")))
}

/// The user or the account was suspended or terminated since the grant.
pub(super) const ACCOUNT_CLOSED: TokenError =
    TokenError::InvalidGrant("the user may no longer use the application");

/// The time after the last token of a family during which the reuse of its code or of an old refresh token is still
/// detected.
pub(super) const STILL_NOTICED: Duration = Duration::from_secs(24 * 60 * 60);
