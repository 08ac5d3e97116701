//! `refresh_token` (RFC 6749 section 6, OpenID Connect Core 1.0 section 12).
//!
//! Each use gives a new refresh token; the used one is worth nothing, and whoever sends it again ends the whole family,
//! since one of the two who have it should not. There is one exception, for an answer that was lost on its way: see
//! [`rotate`].

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::{TokenResponse, new_access, new_refresh, person, required};
use crate::clock::Timestamp;
use crate::domain::claims::{self, Subject};
use crate::domain::{Broken, Host, audit, channels};
use crate::id::TokenId;
use crate::model::audit::{Actor, By, Entry, Event, Origin};
use crate::model::scope::{Scope, Scopes};
use crate::model::token::{IssuedPair, prefix};
use crate::oidc::client_auth::Client;
use crate::oidc::error::TokenError;
use crate::oidc::id_token;
use crate::oidc::parameters::Parameters;
use crate::plugins::{MapFailureKind, Sink};
use crate::secret::Token;
use crate::store::{FoundRefresh, Person, Rotation, StoreError};

/// How long a repeat waits before it is answered. Requests that race each other are all there by then, and more than one
/// repeat is a reuse.
const SETTLE: Duration = Duration::from_millis(500);

const INVALID: TokenError = TokenError::InvalidGrant("the refresh token is invalid, expired or already used");

pub(super) async fn exchange(
    host: &Host,
    client: &Client,
    parameters: &Parameters,
) -> Result<TokenResponse, TokenError> {
    let application = &client.application;
    let found = find(host, client, required(parameters, "refresh_token")?).await?;
    let family = &found.family;
    let scopes = scopes(&family.scopes, &application.settings.scopes, parameters.get("scope"))?;
    let Person { user, account } = person(host, client, family.subject).await?;
    let authentication = &family.context.authentication;
    // The operator may have taken a vendor's trust away since.
    if !channels::is_enough(host, Some(&application.id), authentication) {
        return Err(TokenError::InvalidGrant("the person has to sign in again"));
    }
    // Before the token is used up: a plugin that fails costs nobody their sign-in. Without `openid` there is no ID token to
    // make claims for, but a person who is turned away by now is turned away all the same.
    let claims = if family.scopes.has(Scope::OpenId) {
        let subject = Subject {
            application,
            user: &user,
            account: &account,
            scopes: &scopes,
            authentication: Some(authentication),
            sub: &claims::subject_of(host, application, &user)?,
            requested: &family.context.claims.allowed(&application.settings.scopes).id_token,
        };
        let mapped = claims::map(host, subject, Sink::IdToken).await.map_err(|failure| {
            tracing::error!(application = %application.id, plugin = failure.plugin, %failure, "a refresh fails: a plugin did");
            match failure.kind {
                MapFailureKind::Deny(_) => TokenError::InvalidGrant("the person may no longer use the application"),
                MapFailureKind::Fault(detail) => TokenError::Broken(Broken::Plugin(format!("`{}` {detail}", failure.plugin))),
            }
        })?;
        let sid = claims::sid_of(host, application, &family.context.sid)?;
        let wanted = scopes.has(Scope::OpenId);
        wanted.then(|| id_token::with_sign_in(host, mapped, &subject, authentication, &sid))
    } else {
        None
    };
    let lifetimes = host.settings.lifetimes;
    let now = host.now();
    let window = Duration::from_secs(lifetimes.refresh_repeat.into());
    let (access_token, mut access) = new_access(host, client, Some(family.id), scopes.clone(), lifetimes.access_token);
    let repeatable_since = (!window.is_zero()).then(|| now - window);
    access.watched_until = repeatable_since.map(|_| now + window + SETTLE);
    let (refresh_token, refresh) = new_refresh(host, client, family.id, family.created_at).ok_or(INVALID)?;
    let pair = IssuedPair { access, refresh: Some(refresh) };
    let id = found.grant.id;
    let by = By::new(Actor::Application(application.id.clone()), Origin::NOWHERE);
    let reuse = audit::entry(host, Event::RefreshReused, &by).about(user.id).of(application.id.clone());
    let rotation = rotate(host, Rotating { id, pair, repeatable_since, reuse, now }).await?;
    if rotation != Rotation::Rotated {
        tracing::warn!(application = %application.id, family = %family.id, "a refresh token came again; its family is revoked");
        return Err(INVALID);
    }
    let id_token = match claims {
        Some(claims) => Some(id_token::issue(host, application, claims, access_token.expose()).await?),
        None => None,
    };
    Ok(TokenResponse {
        access_token: access_token.expose().to_owned(),
        token_type: "Bearer",
        expires_in: lifetimes.access_token,
        id_token,
        refresh_token: Some(refresh_token.expose().to_owned()),
        scope: scopes.to_string(),
    })
}

/// A use of a refresh token.
struct Rotating {
    id: TokenId,
    /// What it gives.
    pair: IssuedPair,
    /// A repeat of a use after this moment may be answered.
    repeatable_since: Option<Timestamp>,
    /// What the audit log is told of any other.
    reuse: Entry,
    now: Timestamp,
}

/// Uses the refresh token. A repeat is answered if it stays the only one, nothing of the first answer is used meanwhile, and
/// whoever sent it is still there to be answered.
///
/// A client that hangs up while it waits was told nothing, so its repeat is taken back, and its next try is a repeat like
/// the first. A thief gains nothing by it. Tokens are given only to a request that was there all the time, so whoever wants
/// them has to wait in the sight of all others: a second request in that time ends the family, whoever of the two hangs up
/// afterwards. To hang up and come again is only to wait anew. What counts is still that nothing of the first answer was
/// used, that it is within the window, and that one repeat is answered: once it is, the answer may be lost like any, and
/// the next request is a reuse. Where the host itself stops during the wait nobody takes the repeat back, and the next one
/// is a reuse too.
async fn rotate(host: &Host, rotating: Rotating) -> Result<Rotation, Broken> {
    let Rotating { id, pair, repeatable_since, reuse, now } = rotating;
    let (store, clock) = (host.store.clone(), Arc::clone(&host.clock));
    let (mut answer, rotated) = oneshot::channel();
    // A task of its own: a request whose client is gone is dropped, wherever it waits, and can take nothing back.
    tokio::spawn(async move {
        let mut rotation = store.rotate(id, pair.clone(), repeatable_since, reuse.clone(), now).await;
        if matches!(rotation, Ok(Rotation::Repeated)) {
            let hung_up = tokio::time::timeout(SETTLE, answer.closed()).await.is_ok();
            rotation = match hung_up {
                true => store.withdraw_repeat(id).await.map(|()| Rotation::Refused),
                false => store.repeat_rotation(id, pair, reuse, clock.now()).await,
            };
        }
        if let Err(Err(error)) = answer.send(rotation) {
            tracing::warn!(%error, "what came of a refresh could not be kept");
        }
    });
    Ok(rotated.await.map_err(|_| StoreError::Closed)??)
}

async fn find(host: &Host, client: &Client, text: &str) -> Result<FoundRefresh, TokenError> {
    let token = Token::parse(prefix::REFRESH, text).ok_or(INVALID)?;
    let found = host.store.refresh_token(TokenId::from_bytes(token.id()), host.now()).await.map_err(Broken::from)?;
    let found = found.filter(|found| found.grant.digest == token.digest()).ok_or(INVALID)?;
    if found.grant.application != client.application.id {
        tracing::warn!(application = %client.application.id, "a refresh token of another application was refused");
        return Err(INVALID);
    }
    Ok(found)
}

/// The scopes of the new access token: those asked for, which must be among the granted ones, or all of them; never more
/// than the application may have today.
fn scopes(granted: &Scopes, allowed: &Scopes, asked: Option<&str>) -> Result<Scopes, TokenError> {
    let granted = granted.both(allowed);
    match asked {
        None => Ok(granted),
        Some(text) => Scopes::parse(text)
            .filter(|asked| !asked.is_empty() && asked.within(&granted))
            .ok_or(TokenError::InvalidScope("a scope was not granted, or is unknown")),
    }
}
