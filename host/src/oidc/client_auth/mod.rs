//! Client authentication at the token endpoint (RFC 6749 section 2.3): `client_secret_basic` for web applications,
//! `none` for SPAs and native apps. An application has one method, and no other is accepted.

pub mod basic;

use super::error::TokenError;
use super::parameters::Parameters;
use crate::domain::limits::Network;
use crate::domain::{Broken, Host};
use crate::id::Did;
use crate::model::application::Application;
use crate::secret::Secret;

/// How a client says who it is.
enum Presented {
    /// With the `Authorization` header.
    Basic { id: Did, secret: Secret },
    /// With `client_id` alone.
    Nothing { id: Did },
}

/// Finds out which application calls. Of one application and place only so many may fail, so that secrets can't be
/// guessed; who succeeds is not counted.
pub async fn authenticate(
    host: &Host,
    from: Network,
    authorization: Option<&str>,
    parameters: &Parameters,
) -> Result<Application, TokenError> {
    let by_header = authorization.is_some();
    let presented = presented(authorization, parameters)?;
    let (Presented::Basic { id, .. } | Presented::Nothing { id }) = &presented;
    let limit = &host.limits.client_failures;
    let caller = (id.clone(), from);
    limit.check(&caller, host.now()).map_err(TokenError::TooManyFailures)?;
    let found = host.store.application(id).await.map_err(Broken::from)?;
    let good = found.filter(|application| {
        let confidential = application.settings.application_type.is_confidential();
        match &presented {
            Presented::Basic { secret, .. } => confidential && application.secret == Some(secret.digest()),
            Presented::Nothing { .. } => !confidential,
        }
    });
    good.ok_or_else(|| {
        // Whether this one was still within the limit is for the next request to find out.
        let _ = limit.take(&caller, host.now());
        TokenError::InvalidClient { by_header }
    })
}

fn presented(authorization: Option<&str>, parameters: &Parameters) -> Result<Presented, TokenError> {
    let client_id = parameters.get("client_id");
    let in_body = parameters.get("client_secret").is_some() || parameters.get("client_assertion").is_some();
    match authorization {
        Some(_) if in_body => {
            Err(TokenError::InvalidRequest("the client authenticates in two ways at once; use one".to_owned()))
        }
        Some(header) => {
            let (id, secret) = basic::parse(header).ok_or(TokenError::InvalidClient { by_header: true })?;
            if client_id.is_some_and(|other| other != id.as_str()) {
                return Err(TokenError::InvalidRequest("client_id differs from the Authorization header's".to_owned()));
            }
            Ok(Presented::Basic { id, secret })
        }
        None if in_body => Err(TokenError::InvalidClient { by_header: false }),
        None => {
            let id = client_id.ok_or_else(|| TokenError::InvalidRequest("client_id is missing".to_owned()))?;
            let id = id.parse().map_err(|_| TokenError::InvalidClient { by_header: false })?;
            Ok(Presented::Nothing { id })
        }
    }
}
