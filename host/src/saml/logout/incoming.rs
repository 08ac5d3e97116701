//! Messages of single logout that a browser brings.

use super::turns::{Begun, begin};
use crate::domain::{Broken, Host, session};
use crate::id::LogoutId;
use crate::model::audit::{Actor, By, Origin};
use crate::model::saml::{
    Afterwards, LogoutAnswer, LogoutOutcome, NameIdFormat, Participation, ServiceProvider, SessionEnd,
};
use crate::saml::binding::{BindingError, Incoming, Signature, Trusted, Untrusted};
use crate::saml::message::status::SUCCESS;
use crate::saml::message::{LogoutRequest, LogoutResponse, MessageError, NameId};
use crate::saml::partner::{UnfitHeader, check_header, find, once, session_index, single_logout_url, trusted_keys};

/// Why a message can't be answered to a service provider. A page says so; no session ends.
#[derive(Debug, thiserror::Error)]
pub enum Unanswerable {
    /// There is no service provider with the id in the path.
    #[error("no SAML application has this id")]
    Application,
    /// The query or form brings no message.
    #[error(transparent)]
    Binding(#[from] BindingError),
    /// The message is nobody's.
    #[error(transparent)]
    Untrusted(#[from] Untrusted),
    /// The message is no message of single logout as it must be.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The message is not from this service provider, not for this host, or not of now.
    #[error(transparent)]
    Header(#[from] UnfitHeader),
    /// It says itself that it is too late for it.
    #[error("the NotOnOrAfter of the request is over; is a clock wrong?")]
    Late,
    /// It came before.
    #[error("the request has an ID that came before: it was sent twice, or somebody repeats it")]
    Replay,
    /// It is not signed, and names no session.
    #[error(
        "an unsigned LogoutRequest has to name the session by its SessionIndex; register a certificate and sign it"
    )]
    Unnamed,
    /// It answers nothing that was asked.
    #[error("the InResponseTo of the response is of no request that is open with this application")]
    Unasked,
}

/// Why a message was not served.
#[derive(Debug)]
pub enum Rejected {
    /// A page says so.
    Page(Unanswerable),
    /// The host broke.
    Broken(Broken),
}

impl From<Broken> for Rejected {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl<T: Into<Unanswerable>> From<T> for Rejected {
    fn from(why: T) -> Self {
        Self::Page(why.into())
    }
}

/// The message's content. Whoever registered what they sign with must sign (SAML profiles sections 4.4.4.1 and 4.4.4.2).
fn trusted<'m>(provider: &ServiceProvider, incoming: &'m Incoming) -> Result<Trusted<'m>, Rejected> {
    let signs = provider.settings.require_signed_requests || !provider.settings.certificates.is_empty();
    let wanted = if signs { Signature::Required } else { Signature::Optional };
    Ok(incoming.trusted(&trusted_keys(provider)?, wanted)?)
}

/// Serves a LogoutRequest: the sessions that it names end, here first, then at their other service providers.
pub async fn requested(host: &Host, application: &str, incoming: &Incoming) -> Result<Begun, Rejected> {
    let provider = find(host, application).await?.ok_or(Unanswerable::Application)?;
    let trusted = trusted(&provider, incoming)?;
    let request = LogoutRequest::read(trusted.root())?;
    check_header(host, &provider, &request.header, &single_logout_url(host, &provider.id), trusted.is_signed())?;
    let now = host.now();
    let skew = std::time::Duration::from_secs(provider.settings.clock_skew.into());
    if request.not_on_or_after.is_some_and(|until| until + skew <= now) {
        return Err(Unanswerable::Late.into());
    }
    // Anybody can write an unsigned request, but the name of a session is known to its service provider alone.
    if !trusted.is_signed() && request.session_indexes.is_empty() {
        return Err(Unanswerable::Unnamed.into());
    }
    let once = once(host, &provider, &request.header.id);
    if !host.store.claim_message(once).await.map_err(Broken::from)? {
        return Err(Unanswerable::Replay.into());
    }
    let answer = provider.settings.single_logout.as_ref().map(|service| LogoutAnswer {
        application: provider.id.clone(),
        destination: service.responses().checked(),
        binding: service.binding,
        in_response_to: request.header.id.clone(),
        relay_state: incoming.relay_state().map(str::to_owned),
    });
    let name = &request.name_id;
    let known = host.store.sessions_of_name(&provider.id, &name.value).await.map_err(Broken::from)?;
    let by = By::new(Actor::Application(provider.id.clone()), Origin::NOWHERE);
    let mut ended = SessionEnd::default();
    for session in known.into_iter().filter(|session| is_meant(name, session)) {
        let index = session_index(host, &provider.id, &session.sid)?;
        // Where none is named it is all of them (SAML core section 3.7.1).
        if request.session_indexes.is_empty() || request.session_indexes.contains(&index) {
            let SessionEnd { participants, holders } = session::end_named(host, session.sid, &by).await?;
            ended.participants.extend(participants);
            ended.holders.extend(holders);
        }
    }
    // The one that asks has ended its own.
    ended.participants.retain(|other| other.application != provider.id);
    let afterwards = answer.map_or(Afterwards::Page, Afterwards::Respond);
    Ok(begin(host, ended, afterwards).await?)
}

/// Whether a request's name is the one that was told, which it is in one format.
fn is_meant(name: &NameId, session: &Participation) -> bool {
    match name.format.as_deref().map(NameIdFormat::from_uri) {
        None | Some(Some(NameIdFormat::Unspecified)) => true,
        Some(format) => format == Some(session.name_id.format),
    }
}

/// Takes a LogoutResponse: what came of a turn. The logout, which goes on.
pub async fn answered(host: &Host, application: &str, incoming: &Incoming) -> Result<LogoutId, Rejected> {
    let provider = find(host, application).await?.ok_or(Unanswerable::Application)?;
    let trusted = trusted(&provider, incoming)?;
    let response = LogoutResponse::read(trusted.root())?;
    check_header(host, &provider, &response.header, &single_logout_url(host, &provider.id), trusted.is_signed())?;
    let request = response.in_response_to.ok_or(Unanswerable::Unasked)?;
    // In part is not at all: somebody is still signed in somewhere.
    let told = response.status.code == SUCCESS && response.status.second.is_none();
    let outcome = if told { LogoutOutcome::Told } else { LogoutOutcome::Failed };
    let settled = host.store.settle_saml_logout(request, provider.id.clone(), outcome).await.map_err(Broken::from)?;
    settled.ok_or(Rejected::Page(Unanswerable::Unasked))
}
