//! UserInfo (OpenID Connect Core 1.0 section 5.3).

use serde_json::{Map, Value};

use super::bearer::{BearerError, BearerToken, accept};
use crate::domain::claims::standard_claims;
use crate::domain::claims::standard_claims::{ApplicationClaims, Subject};
use crate::domain::sign_in::access;
use crate::domain::{InternalError, Services};
use assent_model::application::RegisteredApplication;
use assent_model::scope::Scope;
use assent_plugin_host::{Fault, MapFailureKind, Sink};
use assent_store::UserAccount;

/// The claims that the scopes of an access token permit.
pub async fn claims(
    services: &Services,
    shown: BearerToken<'_>,
) -> Result<Map<String, Value>, BearerError> {
    Ok(traced_claims(services, shown).await?.claims)
}

/// The same, with what each plugin did.
pub async fn traced_claims(
    services: &Services,
    shown: BearerToken<'_>,
) -> Result<ApplicationClaims, BearerError> {
    let found = accept(services, shown).await?;
    let grant = found.grant;
    let scopes = grant
        .scopes
        .oidc()
        .filter(|scopes| scopes.has(Scope::OpenId));
    let (Some(state), Some(scopes)) = (found.family, scopes) else {
        return Err(BearerError::InsufficientScope(Scope::OpenId));
    };
    let application = services
        .store
        .application_of(&state)
        .await
        .map_err(InternalError::from)?
        .and_then(RegisteredApplication::client);
    let holder = access::holder_of(services, &state).await?;
    let (Some(application), Some(holder)) = (application, holder) else {
        return Err(BearerError::InvalidToken);
    };
    let UserAccount { user, account } = &*holder;
    let family = &state.family;
    // The application may be allowed less today than when it was granted.
    let allowed = &application.settings.scopes;
    let requested = &family.context.claims.allowed(allowed).userinfo;
    let subject = Subject {
        application: &application,
        user,
        account,
        scopes: &scopes.both(allowed),
        authentication: None,
        sub: &standard_claims::subject_of(services, &application, user)?,
        requested,
    };
    let _place = services
        .rate_limits
        .claim_lookups
        .hold(family.id)
        .ok_or(BearerError::Busy)?;
    let mut told = standard_claims::map(services, subject, Sink::Userinfo).await.map_err(|failure| {
        tracing::error!(application = %application.id, plugin = failure.plugin, %failure, "UserInfo failed in a \
            plugin");
        match failure.kind {
            MapFailureKind::Fault(Fault::Busy) => BearerError::Busy,
            MapFailureKind::Deny(_) => BearerError::InvalidToken,
            MapFailureKind::Fault(detail) => {
                let detail = format!("`{}` {detail}", failure.plugin);
                BearerError::Internal(InternalError::Plugin(detail))
            }
        }
    })?;
    // Here, the sign-in is told only to whom asks for it.
    let of_sign_in = standard_claims::of_authentication(&family.context.authentication).into_iter();
    let asked = of_sign_in.filter(|(name, _)| requested.contains_key(*name));
    told.claims
        .extend(asked.map(|(name, value)| (name.to_owned(), value)));
    Ok(told)
}
