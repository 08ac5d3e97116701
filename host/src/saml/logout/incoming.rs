//! Messages of single logout that a browser brings.

use super::outgoing::{Outgoing, respond};
use super::turns::{Begun, begin};
use crate::domain::{Broken, Host, session};
use crate::id::{Did, LogoutId};
use crate::model::saml::{Afterwards, LogoutAnswer, LogoutOutcome, NameIdFormat, Participation, ServiceProvider};
use crate::saml::binding::{BindingError, Incoming, Signature, Trusted, Untrusted};
use crate::saml::message::status::{REQUESTER, SUCCESS};
use crate::saml::message::{LogoutRequest, LogoutResponse, MessageError, NameId, Status};
use crate::saml::partner::{UnfitHeader, check_header, once, single_logout_url, trusted_keys};

const REQUEST_DENIED: &str = "urn:oasis:names:tc:SAML:2.0:status:RequestDenied";

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

/// What a LogoutRequest came to.
#[derive(Debug)]
pub enum Ended {
    /// The session, if there was one, has ended, and this follows.
    Ended(Begun),
    /// Nothing ended, and the service provider is told why.
    Refused(Outgoing),
    /// Nothing ended, and the service provider takes no answer.
    Unheard,
}

async fn find(host: &Host, application: &str) -> Result<std::sync::Arc<ServiceProvider>, Rejected> {
    let id: Did = application.parse().map_err(|_| Unanswerable::Application)?;
    let found = host.store.service_provider(&id).await.map_err(Broken::from)?;
    found.ok_or(Rejected::Page(Unanswerable::Application))
}

/// The message's content. Whoever registered what they sign with must sign (SAML profiles sections 4.4.4.1 and 4.4.4.2).
fn trusted<'m>(provider: &ServiceProvider, incoming: &'m Incoming) -> Result<Trusted<'m>, Untrusted> {
    let signs = provider.settings.require_signed_requests || !provider.settings.certificates.is_empty();
    let wanted = if signs { Signature::Required } else { Signature::Optional };
    incoming.trusted(&trusted_keys(provider), wanted)
}

/// Serves a LogoutRequest: the sessions that it names end, here first, then at their other service providers.
pub async fn requested(host: &Host, application: &str, incoming: &Incoming) -> Result<Ended, Rejected> {
    let provider = find(host, application).await?;
    let trusted = trusted(&provider, incoming)?;
    let request = LogoutRequest::read(trusted.root())?;
    check_header(host, &provider, &request.header, &single_logout_url(host, &provider.id))?;
    let now = host.now();
    let skew = std::time::Duration::from_secs(provider.settings.clock_skew.into());
    if request.not_on_or_after.is_some_and(|until| until + skew <= now) {
        return Err(Unanswerable::Late.into());
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
    // Anybody can write an unsigned request, but the name of a session is known to its service providers alone.
    if !trusted.is_signed() && request.session_indexes.is_empty() {
        return Ok(match answer {
            Some(answer) => {
                let message = "an unsigned LogoutRequest has to name the session by its SessionIndex".to_owned();
                let status = Status { message: Some(message), ..Status::new(REQUESTER, Some(REQUEST_DENIED)) };
                Ended::Refused(respond(host, &provider, answer, status).await?)
            }
            None => Ended::Unheard,
        });
    }
    let name = &request.name_id;
    let sessions = host.store.sessions_of_name(&provider.id, &name.value, &request.session_indexes).await;
    let mut others = Vec::new();
    for session in sessions.map_err(Broken::from)? {
        if is_meant(name, &session) {
            others.extend(session::end_named(host, session.sid).await?);
        }
    }
    // The one that asks has ended its own.
    others.retain(|other| other.application != provider.id);
    let afterwards = answer.map_or(Afterwards::Page, Afterwards::Respond);
    Ok(Ended::Ended(begin(host, others, afterwards).await?))
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
    let provider = find(host, application).await?;
    let trusted = trusted(&provider, incoming)?;
    let response = LogoutResponse::read(trusted.root())?;
    check_header(host, &provider, &response.header, &single_logout_url(host, &provider.id))?;
    let request = response.in_response_to.ok_or(Unanswerable::Unasked)?;
    // In part is not at all: somebody is still signed in somewhere.
    let told = response.status.code == SUCCESS && response.status.second.is_none();
    let outcome = if told { LogoutOutcome::Told } else { LogoutOutcome::Failed };
    let settled = host.store.settle_saml_logout(request, provider.id.clone(), outcome).await.map_err(Broken::from)?;
    settled.ok_or(Rejected::Page(Unanswerable::Unasked))
}
