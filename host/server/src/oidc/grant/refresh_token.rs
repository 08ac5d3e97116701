//! `refresh_token` (RFC 6749 section 6, OpenID Connect Core 1.0 section 12).
//!
//! Each use returns a new refresh token. Reuse of the old one revokes the whole family, because one of its two holders
//! is not the client. The one exception is a retry of a client that lost the response: see
//! [`RefreshRetry`].

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::domain::approvals::channels;
use crate::domain::claims::standard_claims;
use crate::domain::claims::standard_claims::ClaimSubject;
use crate::domain::{InternalError, Services, audit};
use crate::oidc::client_auth::AuthenticatedClient;
use crate::oidc::error::TokenError;
use crate::oidc::grant::checks::{person, required};
use crate::oidc::grant::new_tokens::{TokenResponse, new_access, new_refresh};
use crate::oidc::id_token;
use crate::oidc::parameters::Parameters;
use assent_model::application::Application;
use assent_model::audit::{Actor, AuditContext, Entry, Event, Origin};
use assent_model::clock::Timestamp;
use assent_model::id::TokenId;
use assent_model::scope::{Scope, Scopes};
use assent_model::secret::Token;
use assent_model::token::{IssuedPair, TokenScopes, prefix};
use assent_plugin_host::{MapFailureKind, Sink};
use assent_store::{RefreshTokenState, Rotation, StoreError, UserAccount};

/// How long a repeat waits before it is answered. Requests that race each other are all there by then, and more than
/// one repeat is a reuse.
const SETTLE: Duration = Duration::from_millis(500);

const INVALID: TokenError =
    TokenError::InvalidGrant("the refresh token is invalid, expired or already used");

pub(super) async fn exchange(
    services: &Services,
    client: &AuthenticatedClient,
    parameters: &Parameters,
) -> Result<TokenResponse, TokenError> {
    let application = &client.application;
    let found = find(services, client, required(parameters, "refresh_token")?).await?;
    let family = &found.family;
    let scopes = scopes(
        &family.scopes,
        &application.settings.scopes,
        parameters.get("scope"),
    )?;
    let person = person(services, client, family.subject).await?;
    let authentication = &family.context.authentication;
    // The operator may have taken a vendor's trust away since.
    if !channels::is_enough(services, Some(&application.id), authentication) {
        return Err(TokenError::InvalidGrant("the person has to sign in again"));
    }
    // Before the token is used: a plugin that fails costs no user their sign-in.
    let claims = mapped_claims(services, application, &found, &person, &scopes).await?;
    let lifetimes = services.settings.lifetimes;
    let now = services.now();
    let retry = RefreshRetry::new(services, now);
    let (access_token, mut access) = new_access(
        services,
        client,
        Some(family.id),
        TokenScopes::Oidc(scopes.clone()),
        lifetimes.access_token.get(),
    );
    access.track_use_until = retry.track_use_until();
    let (refresh_token, refresh) =
        new_refresh(services, client, family.id, family.created_at).ok_or(INVALID)?;
    let pair = IssuedPair {
        access,
        refresh: Some(refresh),
    };
    let by = AuditContext::new(Actor::Application(application.id.clone()), Origin::NOWHERE);
    let reuse = audit::entry(services, Event::RefreshTokenReused, &by)
        .about(person.user.id)
        .in_application(application.id.clone());
    let rotation = retry.rotate(services, found.grant.id, pair, reuse).await?;
    if rotation != Rotation::Rotated {
        tracing::warn!(application = %application.id, family = %family.id, "refresh token reused, token family \
            revoked");
        return Err(INVALID);
    }
    let id_token = match claims {
        Some(claims) => {
            Some(id_token::issue(services, application, claims, access_token.expose()).await?)
        }
        None => None,
    };
    Ok(TokenResponse {
        access_token: access_token.expose().to_owned(),
        token_type: "Bearer",
        expires_in: lifetimes.access_token.get().as_secs(),
        id_token,
        refresh_token: Some(refresh_token.expose().to_owned()),
        scope: scopes.to_string(),
    })
}

/// The claims of a new ID token; `None` where the scopes have no `openid`. The mappers run whenever the family has it,
/// since a mapper that denies the user ends the refresh.
async fn mapped_claims(
    services: &Services,
    application: &Application,
    found: &RefreshTokenState,
    person: &UserAccount,
    scopes: &Scopes,
) -> Result<Option<Map<String, Value>>, TokenError> {
    let family = &found.family;
    if !family.scopes.has(Scope::OpenId) {
        return Ok(None);
    }
    let authentication = &family.context.authentication;
    let allowed = family.context.claims.allowed(&application.settings.scopes);
    let subject = ClaimSubject {
        application,
        user: &person.user,
        account: &person.account,
        scopes,
        authentication: Some(authentication),
        sub: &standard_claims::subject_of(services, application, &person.user)?,
        requested: &allowed.id_token,
    };
    let mapped = standard_claims::map(services, subject, Sink::IdToken).await.map_err(|failure| {
        tracing::error!(application = %application.id, plugin = failure.plugin, %failure, "token refresh failed in a \
             plugin");
        match failure.kind {
            MapFailureKind::Deny(_) => {
                TokenError::InvalidGrant("the person may no longer use the application")
            }
            MapFailureKind::Fault(detail) => {
                let detail = format!("`{}` {detail}", failure.plugin);
                TokenError::Internal(InternalError::Plugin(detail))
            }
        }
    })?;
    let sid = standard_claims::sid_of(services, application, &family.context.sid)?;
    Ok(scopes
        .has(Scope::OpenId)
        .then(|| id_token::with_sign_in(services, mapped, &subject, authentication, &sid)))
}

/// The one retry that a used refresh token has, for a client that lost the response.
///
/// ```text
///           first use                 retry within the window,
///                                     nothing of the first response used
/// unused ------------> rotated -----------------------------> settling
///                         |  ^                                 |  |  |
///                         |  |  the client disconnects         |  |  |
///                         |  +---------------------------------+  |  |
///                         |       (the retry is withdrawn)        |  |
///                         |              SETTLE has passed, the   |  |
///                         |              client is connected      |  |
///                         |            retried <------------------+  |
///                         |               |                          |
///       a later or another retry          | any use         another retry
///                         v               v                          v
///                      revoked: the whole family <-------------------+
/// ```
///
/// The server answers a retry only if its client stays connected for [`SETTLE`]. A second retry during that time is
/// reuse and revokes the family, even if one of the clients disconnects. Reconnecting restarts the wait, so it gains an
/// attacker nothing. If the instance stops during the wait, the retry is not withdrawn, and the next one is reuse.
struct RefreshRetry {
    now: Timestamp,
    /// How long after the first use a retry is admitted. Zero admits none.
    window: Duration,
}

impl RefreshRetry {
    fn new(services: &Services, now: Timestamp) -> Self {
        let window = services.settings.lifetimes.refresh_token_grace.get();
        Self { now, window }
    }

    /// The earliest first use that may be retried now.
    fn admitted_since(&self) -> Option<Timestamp> {
        (!self.window.is_zero()).then(|| self.now - self.window)
    }

    /// Until when the use of the access token counts: a retry is admitted only before it.
    fn track_use_until(&self) -> Option<Timestamp> {
        (!self.window.is_zero()).then(|| self.now + self.window + SETTLE)
    }

    /// Uses the refresh token, or retries its use. `pair` is what the client receives, `reuse` the audit entry of any
    /// other use.
    async fn rotate(
        &self,
        services: &Services,
        id: TokenId,
        pair: IssuedPair,
        reuse: Entry,
    ) -> Result<Rotation, InternalError> {
        let (admitted_since, now) = (self.admitted_since(), self.now);
        let (store, clock) = (services.store.clone(), Arc::clone(&services.clock));
        let (mut answer, rotated) = oneshot::channel();
        // A task of its own: the request of a client that disconnects is dropped, wherever it waits, and can withdraw
        // nothing.
        tokio::spawn(async move {
            let mut rotation = store
                .rotate(id, pair.clone(), admitted_since, reuse.clone(), now)
                .await;
            if matches!(rotation, Ok(Rotation::Repeated)) {
                let disconnected = tokio::time::timeout(SETTLE, answer.closed()).await.is_ok();
                rotation = match disconnected {
                    true => store.withdraw_repeat(id).await.map(|()| Rotation::Refused),
                    false => store.repeat_rotation(id, pair, reuse, clock.now()).await,
                };
            }
            if let Err(Err(error)) = answer.send(rotation) {
                tracing::warn!(%error, "outcome of a token refresh not stored");
            }
        });
        Ok(rotated.await.map_err(|_| StoreError::Closed)??)
    }
}

async fn find(
    services: &Services,
    client: &AuthenticatedClient,
    text: &str,
) -> Result<RefreshTokenState, TokenError> {
    let token = Token::parse(prefix::REFRESH, text).ok_or(INVALID)?;
    let found = services
        .store
        .refresh_token(TokenId::from_bytes(token.id()), services.now())
        .await
        .map_err(InternalError::from)?;
    let found = found
        .filter(|found| found.grant.digest == token.digest())
        .ok_or(INVALID)?;
    if found.grant.application != client.application.id {
        tracing::warn!(application = %client.application.id, "refresh token rejected: granted to another application");
        return Err(INVALID);
    }
    Ok(found)
}

/// The scopes of the new access token: those asked for, which must be among the granted ones, or all of them; never
/// more than the application may have today.
fn scopes(granted: &Scopes, allowed: &Scopes, asked: Option<&str>) -> Result<Scopes, TokenError> {
    let granted = granted.both(allowed);
    match asked {
        None => Ok(granted),
        Some(text) => Scopes::parse(text)
            .filter(|asked| !asked.is_empty() && asked.within(&granted))
            .ok_or(TokenError::InvalidScope(
                "a scope was not granted, or is unknown",
            )),
    }
}
