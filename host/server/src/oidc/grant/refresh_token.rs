//! `refresh_token` (RFC 6749 section 6, OpenID Connect Core 1.0 section 12).
//!
//! Each use returns a new refresh token. Reuse of the old one revokes the whole family, because one of its two holders
//! is not the client. The one exception is a retry of a client that lost the response: see
//! [`RefreshRetry`]. The tokens of an application with a security profile are not rotated, because they are bound to
//! its keys (FAPI 2.0 Security Profile section 5.3.2.1).

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::domain::approvals::channel;
use crate::domain::approvals::channel::Asker;
use crate::domain::claims::standard_claims;
use crate::domain::claims::standard_claims::ClaimSubject;
use crate::domain::sign_in::access;
use crate::domain::{InternalError, Services, audit};
use crate::oidc::client_auth::AuthenticatedClient;
use crate::oidc::error::TokenError;
use crate::oidc::grant::details;
use crate::oidc::grant::new_tokens::{
    AccessDraft, REUSE_DETECTION, TokenResponse, issue_refresh, refresh_expiry,
};
use crate::oidc::id_token;
use crate::oidc::parameters::Parameters;
use crate::oidc::tokens::{OpenRefresh, Presented};
use assent_model::application::Application;
use assent_model::audit::{Actor, AuditContext, Entry, Event, Origin};
use assent_model::clock::Timestamp;
use assent_model::saml::MessageClaim;
use assent_model::scope::{Scope, Scopes};
use assent_model::token::{FamilyTokenSource, RefreshGrant, TokenScopes, TokenSource};
use assent_model::token_binding::TokenBinding;
use assent_plugin_host::{MapFailureKind, Sink};
use assent_store::{NewAccess, Rotation, RotationRequest, StoreError, TokenFamily, UserAccount};

/// The time for which a retry waits before its response. Racing requests have all arrived by then, and more than one
/// retry is reuse.
const SETTLE: Duration = Duration::from_millis(500);

/// The maximum time after the window at which another instance may admit a retry: the difference of clocks, and the
/// wait for the database.
const DELAY: Duration = Duration::from_secs(15);

const INVALID: TokenError =
    TokenError::InvalidGrant("the refresh token is invalid, expired or already used");

pub(super) async fn exchange(
    services: &Services,
    client: &AuthenticatedClient,
    parameters: &Parameters,
    presented: Option<Presented>,
) -> Result<TokenResponse, TokenError> {
    let application = &client.application;
    parameters.required("refresh_token")?;
    let presented = find(services, client, presented)?;
    let family = &*presented.state.family;
    let scopes = scopes(
        &family.scopes,
        &application.settings.scopes,
        parameters.get("scope"),
    )?;
    let granted = &family.context.authorization_details;
    let requested = parameters.get("authorization_details");
    let details = details::selection(application, granted, requested)?;
    let holder = access::holder_of(services, &presented.state)
        .await?
        .ok_or(TokenError::ACCOUNT_CLOSED)?;
    let authentication = &family.context.authentication;
    // Since the grant, the operator may have ended the trust in a vendor, or the application may have disabled
    // passkeys.
    if !channel::is_enough(services, Asker::client(application), authentication) {
        return Err(TokenError::InvalidGrant("the user must sign in again"));
    }
    // This runs before the token is used, so that a failing plugin does not end the user's sign-in.
    let claims = mapped_claims(services, application, family, &holder, &scopes).await?;
    let lifetime = services.settings.lifetimes.access_token.get();
    let refresh_expiry = refresh_expiry(services, family.created_at).ok_or(INVALID)?;
    let access = AccessDraft::new(services, lifetime);
    let by = AuditContext::new(Actor::Application(application.id.clone()), Origin::NONE);
    let reuse = audit::entry(services, Event::RefreshTokenReused, &by)
        .about(holder.user.id)
        .in_application(application.id.clone());
    let retry = RefreshRetry::new(services, application, services.now());
    let rotation = retry
        .rotate(
            services,
            &presented.grant,
            access.to_new_access(),
            refresh_expiry + lifetime + REUSE_DETECTION,
            reuse,
            client.proof.map(|proof| proof.claim),
        )
        .await?;
    let (counter, epoch) = match rotation {
        Rotation::Rotated { counter, epoch } => (counter, epoch),
        Rotation::AccountClosed => return Err(TokenError::ACCOUNT_CLOSED),
        Rotation::ProofReplayed => return Err(TokenError::PROOF_REPLAYED),
        Rotation::Retried => return Err(INVALID),
        Rotation::Unknown => {
            tracing::warn!(
                application = %application.id, family = %family.id,
                "refresh token newer than the database: after the restore of a backup run `assent admin revoke-tokens`"
            );
            return Err(INVALID);
        }
        Rotation::Reused => {
            tracing::warn!(
                application = %application.id, family = %family.id,
                "refresh token reused, token family revoked"
            );
            return Err(INVALID);
        }
    };
    let source = TokenSource::Family(FamilyTokenSource {
        family: family.id,
        counter,
        track_use_until: retry.track_use_until(),
    });
    let access_token = access.issue(
        services,
        client,
        source,
        (TokenScopes::Oidc(scopes.clone()), details),
        epoch,
    )?;
    let refresh_token = issue_refresh(services, client, family.id, counter, epoch, refresh_expiry)?;
    let session_state = claims
        .as_ref()
        .and_then(|claims| id_token::session_state(application, claims));
    let id_token = match claims {
        Some(claims) => {
            Some(id_token::issue(services, application, claims, access_token.expose()).await?)
        }
        None => None,
    };
    Ok(TokenResponse {
        access_token: access_token.expose().to_owned(),
        token_type: TokenBinding::token_type(client.binding()),
        expires_in: lifetime.as_secs(),
        id_token,
        refresh_token: Some(refresh_token.expose().to_owned()),
        scope: scopes.to_string(),
        authorization_details: details::elements(granted, details),
        session_state,
        receipt_id: None,
        second_receipt_id: None,
    })
}

/// Returns the claims of a new ID token; `None` if the scopes lack `openid`. The mappers run whenever the family has
/// `openid`, because a mapper that denies the user ends the refresh.
async fn mapped_claims(
    services: &Services,
    application: &Application,
    family: &TokenFamily,
    holder: &UserAccount,
    scopes: &Scopes,
) -> Result<Option<Map<String, Value>>, TokenError> {
    if !family.scopes.has(Scope::OpenId) {
        return Ok(None);
    }
    let authentication = &family.context.authentication;
    let allowed = family
        .context
        .claims
        .within_scopes(&application.settings.scopes);
    let subject = ClaimSubject {
        application,
        user: &holder.user,
        account: &holder.account,
        scopes,
        authentication: Some(authentication),
        sub: &standard_claims::subject_of(services, application, &holder.user)?,
        requested: &allowed.id_token,
    };
    let mapped = standard_claims::map(services, subject, Sink::IdToken)
        .await
        .map_err(|failure| {
            if let MapFailureKind::Deny(reason) = &failure.kind {
                tracing::info!(
                    application = %application.id, plugin = failure.plugin, reason,
                    "plugin denied the token refresh"
                );
            } else {
                tracing::error!(
                    application = %application.id, plugin = failure.plugin, %failure,
                    "token refresh failed in a plugin"
                );
            }
            match failure.kind {
                MapFailureKind::Deny(_) => {
                    TokenError::InvalidGrant("the user may no longer use the application")
                }
                MapFailureKind::Fault(detail) => {
                    let detail = format!("`{}` {detail}", failure.plugin);
                    TokenError::Internal(InternalError::Plugin(detail))
                }
            }
        })?;
    let sid = standard_claims::sid_of(services, application, &family.context.sid)?;
    let family = Some(family.id);
    Ok(scopes
        .has(Scope::OpenId)
        .then(|| id_token::with_sign_in(services, mapped, &subject, authentication, &sid, family)))
}

/// The only retry of a used refresh token, for a client that lost the response.
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
/// The server responds to a retry only if its client stays connected for [`SETTLE`]. A second retry during that time is
/// reuse and revokes the family, even if one of the clients disconnects. Reconnecting restarts the wait, so an attacker
/// gains nothing by it. If the instance stops during the wait, or the database fails, another retry is admitted after
/// 25 seconds; until then it is reuse.
struct RefreshRetry {
    now: Timestamp,
    /// Whether no use ends the token, so that there are no retries.
    stays_valid: bool,
    /// The time after the first use within which a retry is admitted. Zero admits none.
    window: Duration,
}

impl RefreshRetry {
    fn new(services: &Services, application: &Application, now: Timestamp) -> Self {
        let stays_valid = application.settings.security_profile.is_some();
        let window = match stays_valid {
            true => Duration::ZERO,
            false => services.settings.lifetimes.refresh_token_grace.get(),
        };
        Self {
            now,
            stays_valid,
            window,
        }
    }

    /// The earliest first use that may be retried now.
    fn admitted_since(&self) -> Option<Timestamp> {
        (!self.window.is_zero()).then(|| self.now - self.window)
    }

    /// The time until which the server tracks the first use of the access token. No retry is admitted later.
    fn track_use_until(&self) -> Option<Timestamp> {
        (!self.window.is_zero()).then(|| self.now + self.window + SETTLE + DELAY)
    }

    /// Uses the refresh token, or retries its use. `reuse` is the audit entry of any other use.
    async fn rotate(
        &self,
        services: &Services,
        presented: &RefreshGrant,
        access: NewAccess,
        retain_until: Timestamp,
        reuse: Entry,
        proof: Option<MessageClaim>,
    ) -> Result<Rotation, InternalError> {
        let (admitted_since, now, stays_valid) =
            (self.admitted_since(), self.now, self.stays_valid);
        let (store, clock) = (services.store.clone(), Arc::clone(&services.clock));
        let (family, counter) = (presented.family, presented.counter);
        let (mut answer, rotated) = oneshot::channel();
        // This is a separate task, because the server drops the request of a client that disconnects, and a dropped
        // request could not withdraw the retry.
        tokio::spawn(async move {
            let mut rotation = store
                .rotate(RotationRequest {
                    family,
                    counter,
                    stays_valid,
                    access,
                    retry_admitted_since: admitted_since,
                    retain_until,
                    reuse: reuse.clone(),
                    proof,
                    now,
                })
                .await;
            if matches!(rotation, Ok(Rotation::Retried)) {
                let disconnected = tokio::time::timeout(SETTLE, answer.closed()).await.is_ok();
                rotation = match disconnected {
                    true => store
                        .withdraw_retry(family, counter, now)
                        .await
                        .map(|()| Rotation::Retried),
                    false => {
                        store
                            .answer_retry(family, counter, now, access, reuse, clock.now())
                            .await
                    }
                };
            }
            if let Err(Err(error)) = answer.send(rotation) {
                tracing::warn!(%error, "outcome of a token refresh not stored");
            }
        });
        Ok(rotated.await.map_err(|_| StoreError::Closed)??)
    }
}

/// Returns the family of a refresh token, unless it is revoked. The token may be a used one.
fn find(
    services: &Services,
    client: &AuthenticatedClient,
    presented: Option<Presented>,
) -> Result<OpenRefresh, TokenError> {
    let found = presented
        .and_then(Presented::into_open_refresh)
        .ok_or(INVALID)?;
    if found.state.family.application != client.application.id {
        tracing::warn!(application = %client.application.id, "refresh token rejected: granted to another application");
        return Err(INVALID);
    }
    let bound_to = found.grant.dpop_key;
    if bound_to.is_some() && bound_to != client.proof.map(|proof| proof.key) {
        return Err(TokenError::InvalidGrant(
            "the refresh token is bound to another DPoP key",
        ));
    }
    // A token that expired unused ends nothing. A used token is reuse, at any time.
    if found.grant.expires_at <= services.now() && found.grant.counter == found.state.counter {
        return Err(INVALID);
    }
    Ok(found)
}

/// Returns the scopes of the new access token. These are the requested ones, which must be among the granted ones, or
/// all of them. They never exceed the scopes that the application may have now.
fn scopes(
    granted: &Scopes,
    allowed: &Scopes,
    requested: Option<&str>,
) -> Result<Scopes, TokenError> {
    let granted = granted.both(allowed);
    match requested {
        None => Ok(granted),
        Some(text) => Scopes::parse(text)
            .filter(|requested| !requested.is_empty() && requested.within(&granted))
            .ok_or(TokenError::InvalidScope(
                "a scope was not granted, or is unknown",
            )),
    }
}
