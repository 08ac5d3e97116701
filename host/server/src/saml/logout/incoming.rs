//! Messages of single logout from a browser.

use super::principal::named_sessions;
use super::propagation::{LogoutStart, begin, has_begun};
use crate::domain::sessions::session;
use crate::domain::{InternalError, Services};
use crate::saml::peer::{HeaderError, check_header, find, once, single_logout_url, trusted_keys};
use assent_model::audit::{Actor, AuditContext, Origin};
use assent_model::clock::Timestamp;
use assent_model::id::LogoutId;
use assent_model::saml::{
    LogoutAnswer, LogoutContinuation, LogoutOutcome, MessageClaim, ServiceProvider, SessionEnd,
};
use assent_saml_core::binding::{BindingError, Incoming, Signature, TrustError, TrustedMessage};
use assent_saml_core::message::status::{REQUESTER, SUCCESS, UNKNOWN_PRINCIPAL};
use assent_saml_core::message::{LogoutRequest, LogoutResponse, MessageError, Status};
use assent_store::ReplayCheck;
use assent_telemetry::SPANS;

/// The reason why a message gets no response to a service provider. A page shows the reason; no session ends.
#[derive(Debug, thiserror::Error)]
pub enum Unanswerable {
    /// There is no service provider with the id in the path.
    #[error("no SAML application has this id")]
    Application,
    /// The query or form contains no message.
    #[error(transparent)]
    Binding(#[from] BindingError),
    /// The origin of the message is not proven.
    #[error(transparent)]
    Untrusted(#[from] TrustError),
    /// The message is not a valid message of single logout.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The message is not from this service provider, not for this server, or not current.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The message has expired, by its own `NotOnOrAfter`.
    #[error("the NotOnOrAfter of the request has passed; is a clock wrong?")]
    Late,
    /// The message is a replay.
    #[error(
        "the ID of the request was used before: it is a replay, or the application sent it twice"
    )]
    Replay,
    /// The message is not signed, and names no session.
    #[error(
        "an unsigned LogoutRequest must name the session by its SessionIndex; register a certificate and sign it"
    )]
    Unnamed,
    /// The service provider knows no user by this name, and there is no address for a response.
    #[error(
        "the NameID of the request is not that of the session: it is unknown, another user's, or of another format"
    )]
    Principal,
    /// The response belongs to no request.
    #[error(
        "the InResponseTo of the response does not match a pending request to this application"
    )]
    Unsolicited,
}

/// The reason why a message was rejected.
#[derive(Debug)]
pub enum LogoutError {
    /// A page shows the reason.
    Page(Unanswerable),
    /// An internal error.
    Internal(InternalError),
}

impl From<InternalError> for LogoutError {
    fn from(error: InternalError) -> Self {
        Self::Internal(error)
    }
}

impl<T: Into<Unanswerable>> From<T> for LogoutError {
    fn from(why: T) -> Self {
        Self::Page(why.into())
    }
}

/// Returns the message's content. A service provider with a registered signing key must sign (SAML profiles sections
/// 4.4.4.1 and 4.4.4.2).
fn trusted_content<'m>(
    provider: &ServiceProvider,
    incoming: &'m Incoming,
) -> Result<TrustedMessage<'m>, LogoutError> {
    let signs =
        provider.settings.require_signed_requests || !provider.settings.certificates.is_empty();
    let requirement = if signs {
        Signature::Required
    } else {
        Signature::Optional
    };
    Ok(incoming.trusted_message(&trusted_keys(provider)?, requirement)?)
}

/// Serves a LogoutRequest: ends the named sessions, here first, then at their other service providers.
///
/// # Errors
/// [`LogoutError`] if the request is not valid or the server fails.
#[tracing::instrument(target = SPANS, skip_all, name = "saml.logout_request")]
pub async fn accept_request(
    services: &Services,
    application: &str,
    incoming: &Incoming,
) -> Result<LogoutStart, LogoutError> {
    let provider = find(services, application)
        .await?
        .ok_or(Unanswerable::Application)?;
    let trusted = trusted_content(&provider, incoming)?;
    let (header, request) = match LogoutRequest::read(trusted.root()) {
        Ok(request) => (request.header.clone(), Ok(request)),
        // The header is checked first, so that only a known sender gets a response.
        Err(MessageError::Unsupported { header, what }) => (*header, Err(what)),
        Err(malformed) => return Err(malformed.into()),
    };
    check_header(
        services,
        &provider,
        &header,
        &single_logout_url(services, &provider.id),
        trusted.is_signed(),
    )?;
    if let Ok(request) = &request {
        check_request(services, &provider, request, trusted.is_signed())?;
    }
    let once = once(services, &provider, &header.id);
    // The browser may send the request twice. The page of the logout admits only the browser of an ended session.
    let id = logout_id(services, &once, incoming, header.issue_instant)?;
    let check = services.store.claim_message(once).await;
    if check.map_err(InternalError::from)? == ReplayCheck::Replayed {
        return match has_begun(services, id).await? {
            true => Ok(LogoutStart::Notifying(id)),
            false => Err(Unanswerable::Replay.into()),
        };
    }
    let answer = provider
        .settings
        .single_logout
        .as_ref()
        .map(|service| LogoutAnswer {
            application: provider.id.clone(),
            destination: service.responses().to_checked(),
            binding: service.binding,
            in_response_to: header.id.clone(),
            relay_state: incoming.relay_state().map(str::to_owned),
        });
    let request = match request {
        Ok(request) => request,
        Err(what) => {
            let unsupported = MessageError::Unsupported {
                header: Box::new(header),
                what,
            };
            let status = what.status();
            return refuse(services, answer, id, status, unsupported.into()).await;
        }
    };
    let Some(sessions) = named_sessions(services, &provider, &request, trusted.is_signed()).await?
    else {
        let status = Status::new(REQUESTER, Some(UNKNOWN_PRINCIPAL));
        return refuse(services, answer, id, status, Unanswerable::Principal).await;
    };
    let by = AuditContext::new(Actor::Application(provider.id.clone()), Origin::NONE);
    let mut ended = SessionEnd::default();
    for sid in sessions {
        ended.add(session::end_named(services, sid, &by).await?);
    }
    // The requesting service provider has ended its own session.
    ended
        .participants
        .retain(|other| other.application != provider.id);
    let continuation = answer.map_or(LogoutContinuation::Page, LogoutContinuation::Respond);
    Ok(begin(services, ended, continuation, None, Some(id)).await?)
}

/// Returns the id of the logout that a message begins. It cannot be guessed. Another message with the same `ID` has
/// another one, so only the same message leads to the same logout.
fn logout_id(
    services: &Services,
    once: &MessageClaim,
    incoming: &Incoming,
    at: Timestamp,
) -> Result<LogoutId, InternalError> {
    let message = [*once.digest.as_bytes(), *incoming.digest().as_bytes()].concat();
    let code = services.root_secret.derive("logout", &message)?;
    Ok(LogoutId::derived(at, &code))
}

/// Checks the members of a request, except its header.
fn check_request(
    services: &Services,
    provider: &ServiceProvider,
    request: &LogoutRequest,
    is_signed: bool,
) -> Result<(), Unanswerable> {
    let skew = std::time::Duration::from_secs(provider.settings.clock_skew.into());
    if request
        .not_on_or_after
        .is_some_and(|until| until + skew <= services.now())
    {
        return Err(Unanswerable::Late);
    }
    // Every client can write an unsigned request, but only its service provider knows the `SessionIndex`.
    if !is_signed && request.session_indexes.is_empty() {
        return Err(Unanswerable::Unnamed);
    }
    Ok(())
}

/// Responds to a request that ends nothing. A page shows the reason if the service provider accepts no responses. A
/// repeated request gets the same status, so the rejection is stored like a logout.
async fn refuse(
    services: &Services,
    answer: Option<LogoutAnswer>,
    id: LogoutId,
    status: Status,
    why: Unanswerable,
) -> Result<LogoutStart, LogoutError> {
    let Some(answer) = answer else {
        return Err(why.into());
    };
    tracing::info!(application = %answer.application, reason = %why, "LogoutRequest rejected");
    let rejection = LogoutContinuation::Reject {
        answer,
        code: status.code,
        second: status.second,
    };
    let nothing = SessionEnd::default();
    Ok(begin(services, nothing, rejection, None, Some(id)).await?)
}

/// Accepts a LogoutResponse, which is the result of a turn. Returns the logout, which continues.
///
/// # Errors
/// [`LogoutError`] if the response is not valid or the server fails.
pub async fn accept_response(
    services: &Services,
    application: &str,
    incoming: &Incoming,
) -> Result<LogoutId, LogoutError> {
    let provider = find(services, application)
        .await?
        .ok_or(Unanswerable::Application)?;
    let trusted = trusted_content(&provider, incoming)?;
    let response = LogoutResponse::read(trusted.root())?;
    check_header(
        services,
        &provider,
        &response.header,
        &single_logout_url(services, &provider.id),
        trusted.is_signed(),
    )?;
    let request = response.in_response_to.ok_or(Unanswerable::Unsolicited)?;
    // A partial logout counts as a failure, because the user is still signed in at another place.
    let is_complete = response.status.code == SUCCESS && response.status.second.is_none();
    let outcome = if is_complete {
        LogoutOutcome::Ended
    } else {
        LogoutOutcome::Failed
    };
    let settled = services
        .store
        .settle_saml_logout(request, provider.id.clone(), outcome)
        .await
        .map_err(InternalError::from)?;
    settled.ok_or(LogoutError::Page(Unanswerable::Unsolicited))
}
