//! The device authorization endpoint (RFC 8628 section 3.1). A device without a browser receives a code for the user,
//! who enters it in the authenticator, and polls the token endpoint for the result.

use std::sync::Arc;

use serde::Serialize;

use super::client_auth::AuthenticatedClient;
use super::error::TokenError;
use super::parameters::Parameters;
use crate::domain::operations::traffic::rate_limits::limit::RateLimitError;
use crate::domain::sign_in::device_authorization::{PAGE, digest_of_code, page_of_code};
use crate::domain::{InternalError, Services, browser_words};
use assent_model::application::{Application, GrantType};
use assent_model::audit::Origin;
use assent_model::device_authorization::{DeviceAuthorization, UserCode};
use assent_model::id::BackchannelRequestId;
use assent_model::login::BrowserContext;
use assent_model::scope::{Scope, Scopes};
use assent_model::secret::Token;
use assent_model::token::prefix;
use assent_telemetry::SPANS;

/// How often a new code is drawn, if another stored request has the drawn one. There are 25 billion codes.
const DRAWS: usize = 5;
/// Parameters that this endpoint does not support, with the reason.
const UNSUPPORTED: [(&str, &str); 3] = [
    (
        "authorization_details",
        "authorization_details are not supported at this endpoint: send them to the authorization endpoint",
    ),
    (
        "request",
        "signed requests are not supported at this endpoint: send the parameters in the body",
    ),
    (
        "request_uri",
        "request_uri is not supported at this endpoint: send the parameters in the body",
    ),
];

/// The response to a request (RFC 8628 section 3.2).
#[derive(Debug, Serialize)]
pub struct DeviceAuthorizationResponse {
    device_code: String,
    user_code: String,
    verification_uri: String,
    verification_uri_complete: String,
    /// The lifetime of both codes, in seconds.
    expires_in: u64,
    /// The shortest time between two polls, in seconds.
    interval: u64,
}

/// Accepts a request. The user is not known before the entry of the code.
///
/// # Errors
/// [`TokenError`] if a check or the database fails.
#[tracing::instrument(target = SPANS, skip_all, name = "oidc.device_authorization")]
pub async fn accept(
    services: &Arc<Services>,
    client: &AuthenticatedClient,
    parameters: &Parameters,
    from: Origin,
) -> Result<DeviceAuthorizationResponse, TokenError> {
    let application = &client.application;
    if !application
        .settings
        .grant_types
        .contains(&GrantType::DeviceCode)
    {
        return Err(TokenError::UnauthorizedClient);
    }
    for (name, why) in UNSUPPORTED {
        if parameters.has(name) {
            return Err(TokenError::InvalidRequest(why.to_owned()));
        }
    }
    let scopes = scopes(application, parameters)?;
    let settings = services.settings.oidc.device_authorization;
    let lifetime = settings.lifetime.get();
    let now = services.now();
    let id = BackchannelRequestId::new(now, &*services.entropy);
    let device_code = Token::new(prefix::DEVICE_CODE, id.as_bytes(), &*services.entropy);
    // The description of an HTTP library would tell the user nothing.
    let origin = BrowserContext {
        browser: String::new(),
        ..browser_words::describe_browser(services, from.address, "")
    };
    for _ in 0..DRAWS {
        let user_code = UserCode::random(&*services.entropy);
        let request = DeviceAuthorization {
            id,
            digest: device_code.digest(),
            user_code: digest_of_code(services, &user_code)?,
            application: application.id.clone(),
            scopes: scopes.clone(),
            origin: origin.clone(),
            requested_at: now,
            expires_at: now + lifetime,
            is_entered: false,
        };
        let is_added = services
            .store
            .add_device_authorization(request)
            .await
            .map_err(InternalError::from)?;
        if is_added {
            tracing::info!(application = %application.id, request = %id, "device authorization requested");
            let site = services.settings.origin();
            return Ok(DeviceAuthorizationResponse {
                device_code: device_code.expose().to_owned(),
                user_code: user_code.to_string(),
                verification_uri: format!("{site}{PAGE}"),
                verification_uri_complete: format!("{site}{}", page_of_code(&user_code)),
                expires_in: lifetime.as_secs(),
                interval: settings.interval.get().as_secs(),
            });
        }
    }
    Err(TokenError::TooMany(RateLimitError::SOON))
}

/// Returns the requested scopes that the application may have. Others are ignored, as at the authorization endpoint.
/// The device shows and signs them, so `offline_access` needs no `prompt`.
fn scopes(application: &Application, parameters: &Parameters) -> Result<Scopes, TokenError> {
    let settings = &application.settings;
    let requested = Scopes::parse_known(parameters.required("scope")?);
    let mut scopes = requested.both(&settings.scopes);
    if !settings.grant_types.contains(&GrantType::RefreshToken) {
        scopes = scopes.without(Scope::OfflineAccess);
    }
    match scopes.has(Scope::OpenId) {
        true => Ok(scopes),
        false => Err(TokenError::InvalidScope("scope must include openid")),
    }
}
