//! UserInfo (OpenID Connect Core 1.0 section 5.3).

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::bearer::{BearerError, BearerToken, accept};
use super::dpop::proof::ProofHeader;
use super::parameters::Parameters;
use super::request_parts::parts_of;
use super::tokens::PresentedText;
use crate::domain::claims::result_cache::ResultKey;
use crate::domain::claims::standard_claims;
use crate::domain::claims::standard_claims::{ApplicationClaims, ClaimSubject};
use crate::domain::claims::token_claims::IssuerClaims;
use crate::domain::keys::signing_keys;
use crate::domain::operations::recent_requests::{self, RequestError};
use crate::domain::operations::request_queue::Sender;
use crate::domain::sign_in::access;
use crate::domain::{InternalError, Services};
use crate::keys::TokenType;
use assent_model::application::{Application, RegisteredApplication};
use assent_model::scope::{Scope, Scopes};
use assent_model::token_binding::TokenBinding;
use assent_plugin_host::{Fault, MapFailureKind, PluginSet, Sink};
use assent_store::{TokenFamily, UserAccount};
use assent_telemetry::SPANS;

/// The path of the endpoint.
pub const PATH: &str = "/oidc/me";

/// A response (OpenID Connect Core section 5.3.2).
#[derive(Debug)]
pub enum UserInfo {
    /// JSON.
    Plain(Arc<Map<String, Value>>),
    /// A JWT, if the application has `userinfo_signed_response_alg`.
    Signed(String),
}

/// The token, application and user of a UserInfo request.
struct Inquiry {
    application: Arc<Application>,
    holder: Arc<UserAccount>,
    family: Arc<TokenFamily>,
    scopes: Scopes,
}

/// Returns the claims that the scopes of an access token permit.
///
/// # Errors
/// [`BearerError`] if the token is not valid or the server fails.
#[tracing::instrument(target = SPANS, skip_all, name = "oidc.userinfo")]
pub async fn respond(services: &Services, shown: BearerToken<'_>) -> Result<UserInfo, BearerError> {
    let inquiry = inquire(services, shown).await?;
    let claims = claims(services, &inquiry).await?;
    let Some(algorithm) = inquiry.application.settings.userinfo_algorithm else {
        return Ok(UserInfo::Plain(claims));
    };
    let IssuerClaims { iss, aud } = IssuerClaims::new(services, &inquiry.application);
    let mut claims = Map::clone(&claims);
    claims.insert("iss".to_owned(), json!(iss));
    claims.insert("aud".to_owned(), json!(aud));
    let key = signing_keys::signer(services, algorithm).await?;
    let signed = key.sign(claims, TokenType::Response);
    Ok(UserInfo::Signed(signed.map_err(InternalError::from)?))
}

/// Notes a rejected request for the administrator of the application whose token it has. The caller may have stolen the
/// token, so it counts as a stranger. Accepted requests are not noted, because each sign-in has one, nor is one with an
/// expired token, which is no mistake of the application.
pub fn note_rejection(
    services: &Services,
    token: &str,
    authorization: Option<&str>,
    proof: ProofHeader<'_>,
    error: &BearerError,
) {
    let Some(PresentedText::Access(token)) = PresentedText::access(services, token) else {
        return;
    };
    let reason = match (error, token.grant.binding) {
        (BearerError::Internal(_) | BearerError::Busy, _) => return,
        (BearerError::InvalidToken, Some(TokenBinding::DpopKey(_))) => {
            "the access token is bound to a DPoP key: send it with the scheme DPoP and a proof; or it is revoked"
                .to_owned()
        }
        (BearerError::InvalidToken, Some(TokenBinding::Certificate(_))) => {
            "the access token is bound to a client certificate: send it over a connection with this certificate; or \
             it is revoked"
                .to_owned()
        }
        (other, _) => other.to_string(),
    };
    let error = RequestError {
        code: error.code().unwrap_or_default().to_owned(),
        reason,
    };
    let application = &token.grant.application;
    let (sender, error) = (Sender::Stranger, Some(error));
    recent_requests::record(services, application, sender, PATH, error, || {
        let proof = proof.proof().ok().flatten();
        parts_of(&Parameters::of_pairs(Vec::new()), authorization, proof)
    });
}

async fn claims(
    services: &Services,
    inquiry: &Inquiry,
) -> Result<Arc<Map<String, Value>>, BearerError> {
    let plugins = services.plugins.set();
    let key = ResultKey::new(
        inquiry.family.id,
        Sink::Userinfo,
        &inquiry.scopes,
        &inquiry.application,
        &inquiry.holder,
    );
    let results = &services.claim_results;
    let now = services.now();
    if let Some(found) = results.get(&plugins, &inquiry.application, &key, now) {
        return Ok(found);
    }
    let made = map(services, &plugins, inquiry).await?;
    let claims = Arc::new(made.claims.clone());
    results.insert(&plugins, key, now, &made.steps, Arc::clone(&claims));
    Ok(claims)
}

/// Returns the same claims, with the calls of each plugin. It always calls the plugins.
///
/// # Errors
/// [`BearerError`] if the token is not valid or the server fails.
pub async fn traced_claims(
    services: &Services,
    shown: BearerToken<'_>,
) -> Result<ApplicationClaims, BearerError> {
    let inquiry = inquire(services, shown).await?;
    map(services, &services.plugins.set(), &inquiry).await
}

async fn inquire(services: &Services, shown: BearerToken<'_>) -> Result<Inquiry, BearerError> {
    let found = accept(services, shown).await?;
    let scopes = found
        .grant
        .scopes
        .oidc()
        .filter(|scopes| scopes.has(Scope::OpenId));
    let (Some(state), Some(scopes)) = (&found.family, scopes) else {
        return Err(BearerError::InsufficientScope(Scope::OpenId));
    };
    let application = services
        .store
        .application_of(state)
        .await
        .map_err(InternalError::from)?
        .and_then(RegisteredApplication::client);
    let holder = access::holder_of(services, state).await?;
    let (Some(application), Some(holder)) = (application, holder) else {
        return Err(BearerError::InvalidToken);
    };
    Ok(Inquiry {
        application,
        holder,
        family: Arc::clone(&state.family),
        scopes: scopes.clone(),
    })
}

async fn map(
    services: &Services,
    plugins: &PluginSet,
    inquiry: &Inquiry,
) -> Result<ApplicationClaims, BearerError> {
    let Inquiry {
        application,
        holder,
        family,
        scopes,
    } = inquiry;
    // The application may have fewer permissions now than at the time of the grant.
    let allowed = &application.settings.scopes;
    let requested = &family.context.claims.within_scopes(allowed).userinfo;
    let subject = ClaimSubject {
        application,
        user: &holder.user,
        account: &holder.account,
        scopes: &scopes.both(allowed),
        authentication: None,
        sub: &standard_claims::subject_of(services, application, &holder.user)?,
        requested,
    };
    let _place = services
        .rate_limits
        .claim_lookups
        .hold(family.id)
        .ok_or(BearerError::Busy)?;
    let made = standard_claims::map_by(services, plugins, subject, Sink::Userinfo).await;
    let mut made = made.map_err(|failure| {
        if let MapFailureKind::Deny(reason) = &failure.kind {
            tracing::info!(
                application = %application.id, plugin = failure.plugin, reason,
                "plugin denied UserInfo"
            );
        } else {
            tracing::error!(
                application = %application.id, plugin = failure.plugin, %failure,
                "UserInfo failed in a plugin"
            );
        }
        match failure.kind {
            MapFailureKind::Fault(Fault::Busy) => BearerError::Busy,
            MapFailureKind::Deny(_) => BearerError::InvalidToken,
            MapFailureKind::Fault(detail) => {
                let detail = format!("`{}` {detail}", failure.plugin);
                BearerError::Internal(InternalError::Plugin(detail))
            }
        }
    })?;
    // UserInfo returns claims about the sign-in only if the application requested them.
    let of_sign_in = standard_claims::of_authentication(&family.context.authentication).into_iter();
    let asked = of_sign_in.filter(|(name, _)| requested.contains_key(*name));
    made.claims
        .extend(asked.map(|(name, value)| (name.to_owned(), value)));
    Ok(made)
}
