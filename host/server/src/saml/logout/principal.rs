//! The sessions that a LogoutRequest names (SAML core section 3.7.1).
//!
//! The status `Success` must not leave a session open that the request names. So a request either names sessions by a
//! name and an index that match each other, and these sessions end; or it gets `UnknownPrincipal`, and nothing ends.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{InternalError, Services};
use crate::saml::peer::entity_id;
use assent_model::id::UserId;
use assent_model::name::{LoginName, is_same_name, stored_spellings};
use assent_model::saml::{NameIdFormat, Participation, ServiceProvider};
use assent_model::secret::Digest;
use assent_saml_core::message::{LogoutRequest, NameId};

/// Returns the `sid` of each session that the request names; `None` for `UnknownPrincipal`.
///
/// Names are compared as at sign-in, so another spelling of a name is the same name. Without a SessionIndex these are
/// all sessions in which this service provider received the name. With a SessionIndex they are those of the index,
/// which proves that the sender knows the session. In that case the name of a signed request may also belong to no user
/// of the application. It must not be another user's, of another format, or qualified by another provider.
///
/// Every user knows the `SessionIndex` of their own session, because it is in the response that their browser carried.
/// So the response to an unsigned request depends only on that session, and not on the directory. Otherwise a user
/// could guess names.
pub(super) async fn named_sessions(
    services: &Services,
    provider: &ServiceProvider,
    request: &LogoutRequest,
    is_signed: bool,
) -> Result<Option<BTreeSet<String>>, InternalError> {
    let name = &request.name_id;
    if is_qualified_by_others(services, provider, name) {
        return Ok(None);
    }
    let indexes: BTreeSet<&String> = request.session_indexes.iter().collect();
    if indexes.is_empty() {
        // A name is not secret, so an unsigned request must not end sessions by it.
        if !is_signed {
            return Ok(None);
        }
        let called = called_by(services, provider, name).await?;
        let known = !called.is_empty() || has_signed_out(services, provider, name).await?;
        return Ok(known.then_some(called));
    }
    let indexes: Vec<Digest> = indexes
        .into_iter()
        .map(|index| Digest::sha256(index.as_bytes()))
        .collect();
    let parts = services
        .store
        .sessions_of_indexes(&provider.id, &indexes)
        .await?;
    if parts.is_empty() {
        // The sessions have ended already. Every client can write an unsigned request, so its response must not depend
        // on the signed-in users or on the directory.
        if !is_signed {
            return Ok(None);
        }
        let known = !called_by(services, provider, name).await?.is_empty()
            || has_signed_out(services, provider, name).await?;
        return Ok(known.then(BTreeSet::new));
    }
    let mut sessions: BTreeMap<String, Vec<Participation>> = BTreeMap::new();
    for part in parts {
        sessions.entry(part.sid.clone()).or_default().push(part);
    }
    for participations in sessions.values() {
        let fits = is_received_name(name, participations)
            || (is_signed && names_no_other_user(services, provider, name, participations).await?);
        if !fits {
            return Ok(None);
        }
    }
    Ok(Some(sessions.into_keys().collect()))
}

/// Returns the `sid` of each session in which this service provider received this name.
async fn called_by(
    services: &Services,
    provider: &ServiceProvider,
    name: &NameId,
) -> Result<BTreeSet<String>, InternalError> {
    let called = participations_named(services, provider, name).await?;
    Ok(called
        .into_iter()
        .filter(|part| is_in_format(name, part))
        .map(|part| part.sid)
        .collect())
}

/// Returns the participations in sessions in which this service provider received exactly this name, or else this name
/// in another spelling. In another spelling it must be the name of one user only. The directory answers that, so only a
/// signed request may ask it.
async fn participations_named(
    services: &Services,
    provider: &ServiceProvider,
    name: &NameId,
) -> Result<Vec<Participation>, InternalError> {
    let called = services
        .store
        .sessions_of_name(&provider.id, &name.value)
        .await?;
    // Two accounts may have names that differ only in case. The request then means the one that it spells.
    for spelling in std::iter::once(name.value.clone()).chain(stored_spellings(&name.value)) {
        let spelled: Vec<Participation> = called
            .iter()
            .filter(|part| part.name_id.value == spelling)
            .cloned()
            .collect();
        if !spelled.is_empty() {
            return Ok(spelled);
        }
    }
    let users: BTreeSet<UserId> = called.iter().map(|part| part.user_id).collect();
    if users.len() != 1 || !owners(services, provider, name).await?.is_subset(&users) {
        return Ok(Vec::new());
    }
    Ok(called)
}

/// Whether the name comes from another identity provider, or is for another service provider. The names of this server
/// have no qualifiers, which implies these two (SAML core section 8.3.7).
fn is_qualified_by_others(services: &Services, provider: &ServiceProvider, name: &NameId) -> bool {
    let is_other = |qualifier: &Option<String>, own: &str| {
        qualifier.as_deref().is_some_and(|other| other != own)
    };
    is_other(&name.name_qualifier, entity_id(services, provider))
        || is_other(&name.sp_name_qualifier, &provider.settings.entity_id)
}

/// Whether a request's name has the format of the name that the service provider received.
fn is_in_format(name: &NameId, part: &Participation) -> bool {
    match name.format.as_deref().map(NameIdFormat::from_uri) {
        None | Some(Some(NameIdFormat::Unspecified)) => true,
        Some(format) => format == Some(part.name_id.format),
    }
}

/// Whether a request has a name that the service provider received for the session, in any spelling.
fn is_received_name(name: &NameId, participations: &[Participation]) -> bool {
    participations
        .iter()
        .any(|part| is_in_format(name, part) && is_same_name(&part.name_id.value, &name.value))
}

/// Whether a name that the service provider did not receive for the session belongs to no other user of the
/// application. The directory answers that, so only a signed request may ask it.
async fn names_no_other_user(
    services: &Services,
    provider: &ServiceProvider,
    name: &NameId,
    participations: &[Participation],
) -> Result<bool, InternalError> {
    let Some(user) = participations
        .iter()
        .find(|part| is_in_format(name, part))
        .map(|part| part.user_id)
    else {
        return Ok(false);
    };
    // An opaque name cannot be guessed, so it was created for another user, or for another session.
    if is_opaque(name.value.trim()) {
        return Ok(false);
    }
    let called = participations_named(services, provider, name).await?;
    let owners = owners(services, provider, name).await?;
    Ok(called
        .iter()
        .map(|part| part.user_id)
        .chain(owners)
        .all(|owner| owner == user))
}

/// Whether a name belongs to users of the application without a session there.
async fn has_signed_out(
    services: &Services,
    provider: &ServiceProvider,
    name: &NameId,
) -> Result<bool, InternalError> {
    let owners = owners(services, provider, name).await?;
    for owner in &owners {
        if services
            .store
            .participates_in_saml(&provider.id, *owner)
            .await?
        {
            return Ok(false);
        }
    }
    Ok(!owners.is_empty())
}

/// Returns the users of the application with this email address or account name.
async fn owners(
    services: &Services,
    provider: &ServiceProvider,
    name: &NameId,
) -> Result<BTreeSet<UserId>, InternalError> {
    let spellings: Vec<String> = stored_spellings(&name.value).into_iter().collect();
    let accounts = services
        .store
        .accounts_by_names(&provider.id, &spellings)
        .await?;
    let mut owners: BTreeSet<UserId> = accounts
        .into_values()
        .map(|account| account.user_id)
        .collect();
    if owners.is_empty() {
        let called = services
            .store
            .accounts_called(&provider.id, &name.value)
            .await?;
        owners.extend(called.into_iter().map(|account| account.user_id));
    }
    if let Ok(address) = name.value.parse::<LoginName>()
        && let Some(user) = services.store.user_by_login(&address).await?
        && user.email.as_ref() == Some(&address)
        && services
            .store
            .account_of(user.id, &provider.id)
            .await?
            .is_some()
    {
        owners.insert(user.id);
    }
    Ok(owners)
}

/// Whether a text has the form of this server's opaque names.
fn is_opaque(text: &str) -> bool {
    text.strip_prefix('_')
        .is_some_and(|code| code.len() == 64 && code.bytes().all(|byte| byte.is_ascii_hexdigit()))
}
