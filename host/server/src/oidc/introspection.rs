//! Token introspection (RFC 7662).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::client_auth::AuthenticatedClient;
use super::error::TokenError;
use super::grant::details;
use super::parameters::Parameters;
use super::tokens::{Presented, PresentedText};
use crate::domain::claims::result_cache::ResultKey;
use crate::domain::claims::standard_claims;
use crate::domain::claims::standard_claims::{ClaimSubject, subject_of};
use crate::domain::claims::token_claims::IssuerClaims;
use crate::domain::keys::signing_keys;
use crate::domain::sign_in::access;
use crate::domain::{InternalError, Services};
use crate::keys::TokenType;
use assent_model::application::{Application, RegisteredApplication};
use assent_model::authorization_details::granted::DetailsSelection;
use assent_model::clock::Timestamp;
use assent_model::id::Did;
use assent_model::scope::Scopes;
use assent_model::session::Acr;
use assent_model::token::TokenScopes;
use assent_model::token_binding::TokenBinding;
use assent_plugin_host::{Fault, MapFailureKind, Sink};
use assent_store::{FamilyState, TokenFamily, UserAccount};
use assent_telemetry::SPANS;

/// The response about a token. For a token that is not valid, or that the client must not see, it reveals only that.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Introspection {
    /// The token is valid.
    Active(Box<ActiveToken>),
    /// The token is not valid, or the client must not see it.
    Inactive(Inactive),
}

/// A valid token.
#[derive(Debug, Serialize)]
pub struct ActiveToken {
    active: bool,
    client_id: Did,
    sub: String,
    scope: String,
    /// The expiry, in seconds since the epoch.
    exp: i64,
    /// The time of issue, in seconds since the epoch.
    iat: i64,
    /// The authentication of the user (RFC 9470 section 6.2), if it is not the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    acr: Option<&'static str>,
    /// `DPoP` for a token that is bound to a DPoP key (RFC 9449 section 6.2).
    #[serde(skip_serializing_if = "Option::is_none")]
    token_type: Option<&'static str>,
    /// The key that the bearer must prove to hold (RFC 8705 section 3.2, RFC 9449 section 6.2).
    #[serde(skip_serializing_if = "Option::is_none")]
    cnf: Option<Value>,
    /// The authorization details of the token (RFC 9396 section 9.2).
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization_details: Option<Vec<Map<String, Value>>>,
    /// The claims that plugins add for resource servers. None has the name of a member above, because those names are
    /// protected.
    #[serde(flatten)]
    more: Arc<Map<String, Value>>,
}

/// A response without details about the token.
#[derive(Debug, Serialize)]
pub struct Inactive {
    active: bool,
}

const INACTIVE: Introspection = Introspection::Inactive(Inactive { active: false });

/// The data of a token of either kind.
struct KnownToken {
    is_refresh: bool,
    application: Did,
    family: Option<FamilyState>,
    scopes: TokenScopes,
    details: DetailsSelection,
    issued_at: Timestamp,
    expires_at: Timestamp,
    binding: Option<TokenBinding>,
}

/// Serves an introspection request of an authenticated client.
///
/// # Errors
/// [`TokenError`] if the request is not valid or the server fails.
#[tracing::instrument(target = SPANS, skip_all, name = "oidc.introspection")]
pub async fn introspect(
    services: &Services,
    client: &AuthenticatedClient,
    parameters: &Parameters,
    presented: Option<Presented>,
) -> Result<Introspection, TokenError> {
    parameters.required("token")?;
    let is_own = |owner: &Did| *owner == client.application.id;
    let known = match presented {
        Some(presented) => known_token(services, presented).await?,
        None => None,
    };
    let known = match known {
        Some(known) if is_own(&known.application) => Some(known),
        // Only its owner may see a refresh token.
        Some(KnownToken {
            is_refresh: true, ..
        }) => None,
        // A resource server may introspect tokens that it received. A public client cannot authenticate, so it sees
        // only its own tokens. A token for the admin API is valid only there, so no other client sees it as valid.
        Some(known) if known.scopes.oidc().is_some() => Some(known).filter(|_| {
            client
                .application
                .settings
                .application_type
                .is_confidential()
        }),
        Some(_) | None => None,
    };
    let Some(known) = known else {
        return Ok(INACTIVE);
    };
    let application = match is_own(&known.application) {
        true => Some(client.application.clone()),
        false => application_of(services, &known).await?,
    };
    let Some(application) = application else {
        return Ok(INACTIVE);
    };
    let (sub, more) = match (&known.family, known.scopes.oidc()) {
        (None, _) => (application.id.to_string(), Arc::default()),
        // Users do not grant admin scopes.
        (Some(_), None) => return Ok(INACTIVE),
        (Some(state), Some(scopes)) => {
            let Some(holder) = access::holder_of(services, state).await? else {
                return Ok(INACTIVE);
            };
            let sub = subject_of(services, &application, &holder.user)?;
            let family = &state.family;
            let more = more(services, &application, &holder, family, scopes, &sub).await?;
            let Some(more) = more else {
                return Ok(INACTIVE);
            };
            (sub, more)
        }
    };
    let authorization_details = known.family.as_ref().and_then(|state| {
        let granted = &state.family.context.authorization_details;
        details::elements(granted, known.details)
    });
    let acr = known
        .family
        .as_ref()
        .map(|state| state.family.context.authentication.acr());
    Ok(Introspection::Active(Box::new(ActiveToken {
        active: true,
        client_id: known.application,
        sub,
        scope: known.scopes.to_string(),
        exp: known.expires_at.seconds(),
        iat: known.issued_at.seconds(),
        acr: acr.filter(|acr| *acr != Acr::Device).map(Acr::as_str),
        token_type: match known.binding {
            Some(TokenBinding::DpopKey(_)) => Some(TokenBinding::token_type(known.binding)),
            Some(TokenBinding::Certificate(_)) | None => None,
        },
        cnf: known.binding.map(|binding| {
            let (method, value) = binding.confirmation();
            json!({ method: value })
        }),
        authorization_details,
        more,
    })))
}

/// Returns a response as a JWT for the application that asked (RFC 9701 section 5).
///
/// # Errors
/// If the signing key fails.
pub async fn signed(
    services: &Services,
    client: &AuthenticatedClient,
    introspection: &Introspection,
) -> Result<String, InternalError> {
    let settings = &client.application.settings;
    let now = services.now();
    let IssuerClaims { iss, aud } = IssuerClaims::new(services, &client.application);
    let claims = [
        ("iss", json!(iss)),
        ("aud", json!(aud)),
        ("iat", json!(now.seconds())),
        ("token_introspection", json!(introspection)),
    ];
    let claims = claims.map(|(name, value)| (name.to_owned(), value));
    let algorithm = settings.introspection_algorithm;
    let algorithm = algorithm.unwrap_or(settings.id_token_algorithm);
    let key = signing_keys::signer(services, algorithm).await?;
    Ok(key.sign(claims.into_iter().collect(), TokenType::Introspection)?)
}

/// Returns the claims that plugins add for resource servers. Returns `None` if a plugin denies the user.
async fn more(
    services: &Services,
    application: &Application,
    holder: &UserAccount,
    family: &TokenFamily,
    scopes: &Scopes,
    sub: &str,
) -> Result<Option<Arc<Map<String, Value>>>, TokenError> {
    if !services
        .plugins
        .maps_claims_for(&application.id, Sink::Introspection)
    {
        return Ok(Some(Arc::default()));
    }
    let plugins = services.plugins.set();
    let results = &services.claim_results;
    let key = ResultKey::new(family.id, Sink::Introspection, scopes, application, holder);
    let now = services.now();
    if let Some(found) = results.get(&plugins, application, &key, now) {
        return Ok(Some(found));
    }
    let subject = ClaimSubject {
        application,
        user: &holder.user,
        account: &holder.account,
        scopes,
        authentication: Some(&family.context.authentication),
        sub,
        requested: &BTreeMap::new(),
    };
    let _place = services
        .rate_limits
        .claim_lookups
        .hold(family.id)
        .ok_or(TokenError::Busy)?;
    match standard_claims::map_by(services, &plugins, subject, Sink::Introspection).await {
        Ok(made) => {
            let claims = Arc::new(made.claims.clone());
            results.insert(&plugins, key, now, &made.steps, Arc::clone(&claims));
            Ok(Some(claims))
        }
        Err(failure) => {
            if let MapFailureKind::Deny(reason) = &failure.kind {
                tracing::info!(
                    application = %application.id, plugin = failure.plugin, reason,
                    "plugin denied the introspection"
                );
            } else {
                tracing::error!(
                    application = %application.id, plugin = failure.plugin, %failure,
                    "introspection failed in a plugin"
                );
            }
            match failure.kind {
                MapFailureKind::Fault(Fault::Busy) => Err(TokenError::Busy),
                MapFailureKind::Deny(_) => Ok(None),
                MapFailureKind::Fault(detail) => Err(TokenError::Internal(InternalError::Plugin(
                    format!("`{}` {detail}", failure.plugin),
                ))),
            }
        }
    }
}

async fn application_of(
    services: &Services,
    known: &KnownToken,
) -> Result<Option<Arc<Application>>, InternalError> {
    Ok(match &known.family {
        Some(state) => services
            .store
            .application_of(state)
            .await?
            .and_then(RegisteredApplication::client),
        None => services.store.application(&known.application).await?,
    })
}

async fn known_token(
    services: &Services,
    presented: Presented,
) -> Result<Option<KnownToken>, InternalError> {
    if matches!(presented.text, PresentedText::Refresh(_)) {
        let found = presented.into_open_refresh();
        let valid = found.filter(|found| found.is_valid(services.now()));
        return Ok(valid.map(|found| KnownToken {
            is_refresh: true,
            application: found.state.family.application.clone(),
            scopes: TokenScopes::Oidc(found.state.family.scopes.clone()),
            details: found
                .state
                .family
                .context
                .authorization_details
                .of_types(|_| true),
            issued_at: found.grant.issued_at,
            expires_at: found.grant.expires_at,
            binding: found.grant.dpop_key.map(TokenBinding::DpopKey),
            family: Some(found.state),
        }));
    }
    let found = presented.into_valid_access(services).await?;
    Ok(found.map(|found| KnownToken {
        is_refresh: false,
        application: found.grant.application,
        family: found.family,
        scopes: found.grant.scopes,
        details: found.grant.details,
        issued_at: found.grant.issued_at,
        expires_at: found.grant.expires_at,
        binding: found.grant.binding,
    }))
}
