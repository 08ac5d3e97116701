//! Clients that a manifest describes: a missing member has the value of a new client.

use serde_json::json;

use super::change::{ClientChange, SubjectKind};
use super::commands::{authorize, made};
use super::secrets::forget_unfit_secrets;
use crate::domain::Services;
use crate::domain::admin::{Result, invalid};
use assent_model::application::{Application, OidcSettings, SubjectType};
use assent_model::caller::{Authorization, Caller};
use assent_model::client_auth::{ClientAuthMethod, ClientAuthentication, ClientKeys};
use assent_model::client_secret::ClientSecrets;
use assent_model::redirect::RedirectUri;

impl ClientChange {
    /// Returns the change that creates a client like this one. It sets every member that a client can have.
    pub(in crate::domain::admin) fn from_settings(name: &str, settings: &OidcSettings) -> Self {
        let OidcSettings {
            enabled,
            application_type,
            redirect_uris,
            post_logout_redirect_uris,
            scopes,
            grant_types,
            authentication,
            id_token_algorithm,
            slim_id_token,
            session_state,
            subject_type,
            consent,
            passkey_sign_in,
            backchannel_logout,
            initiate_login_uri,
            lenient_assertion_audience,
            recipe,
            require_pkce,
            admin_scopes,
        } = settings;
        let (subject_kind, sector) = match subject_type {
            SubjectType::Public => (SubjectKind::Public, None),
            SubjectType::Pairwise { sector } => (SubjectKind::Pairwise, Some(sector.clone())),
        };
        let (jwks, jwks_uri, certificate) = match authentication {
            ClientAuthentication::PrivateKeyJwt(ClientKeys::Jwks(keys)) => {
                (Some(json!({"keys": keys})), None, None)
            }
            ClientAuthentication::PrivateKeyJwt(ClientKeys::JwksUri(uri)) => {
                (None, Some(uri.to_string()), None)
            }
            ClientAuthentication::TlsClientCertificate(certificate) => {
                (None, None, Some(certificate.pem.clone()))
            }
            ClientAuthentication::ClientSecretBasic
            | ClientAuthentication::ClientSecretPost
            | ClientAuthentication::ClientSecretJwt => (None, None, None),
        };
        let texts = |uris: &[RedirectUri]| uris.iter().map(|uri| uri.as_str().to_owned()).collect();
        Self {
            application_type: Some(*application_type),
            name: Some(name.to_owned()),
            enabled: Some(*enabled),
            redirect_uris: Some(texts(redirect_uris)),
            post_logout_redirect_uris: Some(texts(post_logout_redirect_uris)),
            scopes: Some(
                scopes
                    .iter()
                    .map(|scope| scope.as_str().to_owned())
                    .collect(),
            ),
            grant_types: Some(grant_types.iter().copied().collect()),
            token_endpoint_auth_method: Some(settings.auth_method()),
            jwks: jwks.map(Some),
            jwks_uri: jwks_uri.map(Some),
            public_key: None,
            certificate: certificate.map(Some),
            id_token_signed_response_alg: Some(*id_token_algorithm),
            slim_id_token: Some(*slim_id_token),
            session_state: Some(*session_state),
            subject_type: Some(subject_kind),
            sector_identifier: sector.map(Some),
            consent: Some(*consent),
            passkey_sign_in: Some(*passkey_sign_in),
            backchannel_logout_uri: Some(
                backchannel_logout
                    .as_ref()
                    .map(|logout| logout.uri.to_string()),
            ),
            backchannel_logout_session_required: Some(
                backchannel_logout
                    .as_ref()
                    .is_some_and(|logout| logout.session_required),
            ),
            initiate_login_uri: Some(
                initiate_login_uri
                    .as_ref()
                    .map(|uri| uri.as_str().to_owned()),
            ),
            lenient_assertion_audience: Some(*lenient_assertion_audience),
            recipe: Some(recipe.clone()),
            require_pkce: Some(*require_pkce),
            admin_scopes: Some(admin_scopes.clone()),
        }
    }
}

/// Returns the client that a manifest describes. An existing client keeps its identifier, and the secrets that its
/// authentication method uses. `client_secret_jwt` cannot use the secrets of another method.
pub(in crate::domain::admin) fn described_client(
    services: &Services,
    change: ClientChange,
    known: Option<&Application>,
) -> Result<Application> {
    let kind = change
        .application_type
        .ok_or_else(|| invalid("application_type", "expected web, spa or native"))?;
    if known.is_some_and(|known| known.settings.application_type != kind) {
        return Err(invalid(
            "application_type",
            "it cannot be changed; create a new application with another key",
        ));
    }
    let made = made(services, kind, change)?;
    let Some(known) = known else {
        return Ok(made);
    };
    let mut after = Application {
        name: made.name,
        settings: made.settings,
        updated_at: made.updated_at,
        ..known.clone()
    };
    let method = after.settings.auth_method();
    if method == ClientAuthMethod::ClientSecretJwt && method != known.settings.auth_method() {
        after.secrets = ClientSecrets::default();
    }
    forget_unfit_secrets(&mut after);
    Ok(after)
}

/// Authorizes the caller to set all members of this description of a client by a manifest.
pub(in crate::domain::admin) fn authorize_description(
    caller: &Caller,
    change: &ClientChange,
    known: Option<&Application>,
) -> Result<Authorization> {
    let authorization = authorize(caller, change)?;
    Ok(match known {
        Some(known) => authorization.and(caller.authorize_application(known)?),
        None => authorization,
    })
}
