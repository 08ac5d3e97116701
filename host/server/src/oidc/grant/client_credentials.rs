//! `client_credentials` (RFC 6749 section 4.4): the application acts as itself.

use std::sync::Arc;

use crate::domain::{InternalError, Services};
use crate::oidc::client_auth::AuthenticatedClient;
use crate::oidc::dpop::proof;
use crate::oidc::error::TokenError;
use crate::oidc::grant::new_tokens::{AccessDraft, TokenResponse};
use crate::oidc::parameters::Parameters;
use assent_model::administration::AdminScopes;
use assent_model::application::OidcSettings;
use assent_model::authorization_details::granted::DetailsSelection;
use assent_model::scope::{Scope, Scopes};
use assent_model::token::{TokenScopes, TokenSource};
use assent_model::token_binding::TokenBinding;

pub(super) async fn exchange(
    services: &Services,
    client: &AuthenticatedClient,
    parameters: &Parameters,
) -> Result<TokenResponse, TokenError> {
    proof::use_once(services, client.proof).await?;
    // The use of a proof took time, in which the application and the epoch may have changed.
    if let Some(epoch) = client.epoch.filter(|_| client.proof.is_none()) {
        return issue(services, client, epoch, parameters);
    }
    let mut client = client.clone();
    loop {
        let found = services
            .store
            .issuance_of(&client.application.id)
            .await
            .map_err(InternalError::from)?;
        let (version, epoch) = found.ok_or(CHANGED)?;
        if version == client.application.version {
            return issue(services, &client, epoch, parameters);
        }
        // The application changed after its authentication. Its credentials may not be sufficient any more.
        let before = Arc::clone(&client.application);
        let now = services
            .store
            .application(&before.id)
            .await
            .map_err(InternalError::from)?;
        client.application = now
            .filter(|now| {
                now.settings == before.settings && now.secrets.have_all_of(&before.secrets)
            })
            .ok_or(CHANGED)?;
    }
}

const CHANGED: TokenError = TokenError::InvalidClient {
    by_header: false,
    reason: "the application was changed meanwhile",
};

fn issue(
    services: &Services,
    client: &AuthenticatedClient,
    epoch: u32,
    parameters: &Parameters,
) -> Result<TokenResponse, TokenError> {
    let application = &client.application;
    // A public application cannot authenticate, so it has no tokens of its own.
    if !application.settings.application_type.is_confidential() {
        return Err(TokenError::UnauthorizedClient);
    }
    // No user approves the actions of an application as itself.
    if parameters.has("authorization_details") {
        return Err(TokenError::InvalidAuthorizationDetails(
            "authorization_details need a user who approves them: use the grant type authorization_code".to_owned(),
        ));
    }
    let granted = scopes(&application.settings, parameters.get("scope"))?;
    let lifetime = services.settings.lifetimes.client_credentials_token.get();
    let source = TokenSource::Application {
        version: application.version,
    };
    let draft = AccessDraft::new(services, lifetime);
    let token = draft.issue(
        services,
        client,
        source,
        (granted.clone(), DetailsSelection::NONE),
        epoch,
    )?;
    Ok(TokenResponse {
        access_token: token.expose().to_owned(),
        token_type: TokenBinding::token_type(client.binding()),
        expires_in: lifetime.as_secs(),
        id_token: None,
        refresh_token: None,
        scope: granted.to_string(),
        authorization_details: None,
        session_state: None,
        receipt_id: None,
        second_receipt_id: None,
    })
}

/// Returns the requested scopes, which the application must be permitted to use. Offline access is not possible without
/// a user.
fn scopes(settings: &OidcSettings, requested: Option<&str>) -> Result<TokenScopes, TokenError> {
    let Some(requested) = requested else {
        return Ok(TokenScopes::Oidc(Scopes::default()));
    };
    if let Some(admin) = AdminScopes::parse(requested).filter(|admin| !admin.is_empty()) {
        return match admin.within(&settings.admin_scopes) {
            true => Ok(TokenScopes::Admin(admin)),
            false => Err(TokenError::InvalidScope(
                "an admin scope is not allowed for the application",
            )),
        };
    }
    Scopes::parse(requested)
        .filter(|requested| requested.within(&settings.scopes) && !requested.has(Scope::OfflineAccess))
        .map(TokenScopes::Oidc)
        .ok_or(TokenError::InvalidScope(
            "a scope is unknown, or not allowed for the application; request admin scopes without other scopes",
        ))
}
