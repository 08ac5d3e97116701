//! The checks of a sign-on request, in their order. Until the sender and its response address are verified, an error
//! can only be a page. Afterwards it goes to the service provider as a status.

mod authn_context;

use std::sync::Arc;
use std::time::Duration;

use authn_context::{is_for_unspecified, is_met, is_met_by_any, names_phishing_resistant};

use super::denied::SignOnDenied;
use super::respond::{SignOnAnswer, failure_answer};
use crate::domain::{InternalError, Services};
use crate::saml::peer::{HeaderError, check_header, find, once, single_sign_on_url, trusted_keys};
use assent_model::application::RegisteredApplication;
use assent_model::clock::Timestamp;
use assent_model::id::{LoginId, SignOnId};
use assent_model::login::GivenAnswer;
use assent_model::name::QuotedText;
use assent_model::purpose::SignInPurpose;
use assent_model::redirect::{AdmittedRedirect, OwnRequest, RedirectPolicy};
use assent_model::saml::{
    Binding, MessageClaim, NameIdFormat, PasskeyContext, PendingSignOn, RelayStateError,
    RequestedSubject, ServiceProvider, SignOnRequest,
};
use assent_saml_core::binding::{BindingError, Incoming, MessageKind, Signature, TrustError};
use assent_saml_core::message::{AuthnRequest, MessageError, NameIdPolicy, UnsupportedError};
use assent_store::ReplayCheck;
use assent_telemetry::SPANS;

/// The maximum time between the request and the following redirect, with which the browser sends its cookies.
const LIFETIME: Duration = Duration::from_secs(5 * 60);

/// The reason why a request gets no response to a service provider. A page shows it, with a reference.
#[derive(Debug, thiserror::Error)]
pub enum Unanswerable {
    /// There is no service provider with the id in the path.
    #[error("no SAML application has this id")]
    Application,
    /// The application is disabled. The browser does not go there, because it may be disabled for a compromise.
    #[error("the application is disabled")]
    Disabled,
    /// The query or form contains no message.
    #[error(transparent)]
    Binding(#[from] BindingError),
    /// The message is a response.
    #[error("the message is a SAMLResponse, but this address expects a SAMLRequest")]
    Response,
    /// The origin of the message is not proven.
    #[error(transparent)]
    Untrusted(#[from] TrustError),
    /// The message is not a valid AuthnRequest.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The message is not from this service provider, not for this server, or not current.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The message is a replay.
    #[error(
        "the ID of the request was used before: it is a replay, or the application sent it twice"
    )]
    Replay,
    /// The request names a response address that is not registered.
    #[error(
        "the ACS that the request names is {0}, which is not registered; it must match a registered one exactly"
    )]
    Acs(QuotedText),
    /// The application does not permit a sign-on that begins at this server.
    #[error(
        "there is no SAMLRequest, and IdP-initiated sign-on is not enabled for this application (idp_initiated)"
    )]
    NotInitiated,
    /// The sign-on would begin at this server with an unknown RelayState.
    #[error(transparent)]
    RelayState(#[from] RelayStateError),
}

/// The reason why a request was rejected.
#[derive(Debug)]
pub enum SignOnError {
    /// A page shows the reason.
    Page(Unanswerable),
    /// The service provider receives the status.
    Answer(Box<SignOnAnswer>),
    /// An internal error.
    Internal(InternalError),
}

impl From<InternalError> for SignOnError {
    fn from(error: InternalError) -> Self {
        Self::Internal(error)
    }
}

impl<T: Into<Unanswerable>> From<T> for SignOnError {
    fn from(why: T) -> Self {
        Self::Page(why.into())
    }
}

/// A request that passed all checks but that for a replay.
#[derive(Clone, Debug)]
pub struct CheckedSignOn {
    /// The id under which the request is stored or answered.
    pub id: SignOnId,
    /// The request.
    pub request: SignOnRequest,
    /// The claim of its message.
    pub once: MessageClaim,
    /// The service provider.
    pub provider: Arc<ServiceProvider>,
}

/// Checks a request from a browser, except whether it is a replay. A request of the server itself, which only the
/// policy admits, needs no signature. `known` is the application, if this HTTP request has read it.
///
/// # Errors
/// [`SignOnError`] if a check or the database fails.
#[tracing::instrument(target = SPANS, skip_all, name = "saml.authn_request")]
pub async fn check(
    services: &Services,
    application: &str,
    incoming: &Incoming,
    policy: RedirectPolicy<'_>,
    known: Option<&RegisteredApplication>,
) -> Result<CheckedSignOn, SignOnError> {
    let provider = match known {
        Some(known) => known.clone().service_provider(),
        None => find(services, application).await?,
    };
    let provider = provider.ok_or(Unanswerable::Application)?;
    if !provider.settings.enabled {
        return Err(Unanswerable::Disabled.into());
    }
    if incoming.kind() == MessageKind::Response {
        return Err(Unanswerable::Response.into());
    }
    let is_signed = provider.settings.require_signed_requests;
    let requirement = if is_signed && !policy.admits_own_requests() {
        Signature::Required
    } else {
        Signature::Optional
    };
    let trusted = incoming.trusted_message(&trusted_keys(&provider)?, requirement)?;
    let (header, message) = match AuthnRequest::read(trusted.root()) {
        Ok(message) => (message.header.clone(), Ok(message)),
        // The sender receives the error, after it is identified.
        Err(MessageError::Unsupported { header, what }) => {
            (*header, Err(SignOnDenied::Unsupported(what)))
        }
        Err(malformed) => return Err(malformed.into()),
    };
    let own = message.as_ref().ok().and_then(|message| {
        policy.own_request(&provider.id, &message.header.id, message.acs_url.as_deref())
    });
    // The policy exempts only the server's own request from the signature, and no other request of that browser.
    if is_signed && own.is_none() && !trusted.is_signed() {
        return Err(TrustError::Unsigned.into());
    }
    check_header(
        services,
        &provider,
        &header,
        &single_sign_on_url(services, &provider.id),
        trusted.is_signed(),
    )?;
    let login_hint = own.as_ref().map(|own| own.login_hint.clone());
    let redirect = consumer(&provider, message.as_ref().ok(), own)?;
    let mut request = SignOnRequest {
        application: provider.id.clone(),
        acs: redirect.uri,
        in_response_to: Some(header.id.clone()),
        relay_state: incoming.relay_state().map(str::to_owned),
        fresh_login: false,
        passive: false,
        name_id_format: provider.settings.name_id.default,
        subject: None,
        login_hint,
        needs_device: false,
        unspecified_context: false,
        passkey_context: PasskeyContext::Free,
        purpose: redirect.purpose,
    };
    let once = once(services, &provider, &header.id);
    if let Err(why) = message.and_then(|message| ask(&provider, message, &mut request)) {
        // A repeated request gets the same error, because an error grants nothing. Another message with this ID is a
        // replay.
        let (ReplayCheck::FirstUse | ReplayCheck::Replayed) = services
            .store
            .claim_message(once)
            .await
            .map_err(InternalError::from)?;
        let now = services.now();
        let login = LoginId::new(now, &*services.entropy);
        return Err(SignOnError::Answer(Box::new(
            failure_answer(services, &request, &provider, why, login, now).await?,
        )));
    }
    let id = sign_on_id(services, &once, incoming, header.issue_instant)?;
    Ok(CheckedSignOn {
        id,
        request,
        once,
        provider,
    })
}

/// Stores a checked request until the browser comes with its cookies, unless it is a replay.
///
/// # Errors
/// [`SignOnError`] for a replay, or if the database fails.
pub async fn store(services: &Services, checked: CheckedSignOn) -> Result<SignOnId, SignOnError> {
    let CheckedSignOn {
        id, request, once, ..
    } = checked;
    let pending = PendingSignOn {
        id,
        request,
        expires_at: services.now() + LIFETIME,
    };
    let check = services.store.store_sign_on_request(pending, once).await;
    let is_replayed = check.map_err(InternalError::from)? == ReplayCheck::Replayed;
    if is_replayed && !is_repeated(services, id).await? {
        return Err(Unanswerable::Replay.into());
    }
    Ok(id)
}

/// Returns the id of a request, which cannot be guessed. The same message with the same relay state has the same
/// id, so that a browser that sends it twice continues with one request. Only one browser can.
fn sign_on_id(
    services: &Services,
    once: &MessageClaim,
    incoming: &Incoming,
    at: Timestamp,
) -> Result<SignOnId, InternalError> {
    let relay_state = incoming.relay_state().unwrap_or_default();
    let digests = [once.digest, incoming.digest()].map(|digest| *digest.as_bytes());
    let message = [digests.concat().as_slice(), relay_state.as_bytes()].concat();
    let code = services.root_secret.derive("sign-on request", &message)?;
    Ok(SignOnId::derived(at, &code))
}

/// Whether a message with a used `ID` is the same message, which was accepted a moment ago.
async fn is_repeated(services: &Services, id: SignOnId) -> Result<bool, InternalError> {
    let since = services.now() + LIFETIME - GivenAnswer::REPEATABLE;
    Ok(services.store.has_sign_on_request(id, since).await?)
}

/// Returns the request of a sign-on that begins at this server (SAML profiles section 4.1.5), with the RelayState of a
/// link.
///
/// # Errors
/// [`SignOnError`] if a check or the database fails.
pub async fn check_unsolicited(
    services: &Services,
    application: &str,
    relay_state: Option<&str>,
) -> Result<(SignOnRequest, Arc<ServiceProvider>), SignOnError> {
    let provider = find(services, application)
        .await?
        .ok_or(Unanswerable::Application)?;
    let settings = &provider.settings;
    if !settings.enabled {
        return Err(Unanswerable::Disabled.into());
    }
    if !settings.idp_initiated.enabled {
        return Err(Unanswerable::NotInitiated.into());
    }
    let request = SignOnRequest {
        application: provider.id.clone(),
        acs: settings
            .default_acs()
            .ok_or_else(|| Unanswerable::Acs(QuotedText::new("")))?,
        in_response_to: None,
        relay_state: settings.idp_initiated.relay_state(relay_state)?,
        fresh_login: false,
        passive: false,
        name_id_format: settings.name_id.default,
        subject: None,
        login_hint: None,
        needs_device: false,
        unspecified_context: false,
        passkey_context: PasskeyContext::Free,
        purpose: SignInPurpose::Application,
    };
    Ok((request, provider))
}

/// Returns the address of the response: only a registered address, or for the server's own request its own address.
fn consumer(
    provider: &ServiceProvider,
    message: Option<&AuthnRequest>,
    own: Option<OwnRequest<'_>>,
) -> Result<AdmittedRedirect, Unanswerable> {
    if let Some(own) = own {
        return Ok(own.redirect);
    }
    let settings = &provider.settings;
    let (found, requested) = match message {
        Some(AuthnRequest {
            acs_url: Some(url), ..
        }) => (settings.acs_by_url(url), url.clone()),
        Some(AuthnRequest {
            acs_index: Some(index),
            ..
        }) => (settings.acs_by_index(*index), index.to_string()),
        _ => (settings.default_acs(), String::new()),
    };
    let uri = found.ok_or_else(|| Unanswerable::Acs(QuotedText::new(&requested)))?;
    Ok(AdmittedRedirect {
        uri,
        purpose: SignInPurpose::Application,
    })
}

/// Applies the options of the message, if they are supported.
fn ask(
    provider: &ServiceProvider,
    message: AuthnRequest,
    request: &mut SignOnRequest,
) -> Result<(), SignOnDenied> {
    if message
        .protocol_binding
        .is_some_and(|binding| binding != Binding::Post.uri())
    {
        return Err(SignOnDenied::UnsupportedBinding);
    }
    if let Some(policy) = &message.name_id_policy {
        request.name_id_format = name_id_format(provider, policy)?;
    }
    if let Some(context) = &message.requested_authn_context {
        let named = provider.settings.passkey_sign_in && names_phishing_resistant(context);
        request.passkey_context = match (is_met(context), named) {
            (true, true) => PasskeyContext::Named,
            (true, false) => PasskeyContext::Unnamed,
            (false, true) => PasskeyContext::Required,
            (false, false) => return Err(SignOnDenied::NoAuthnContext),
        };
        request.needs_device = !is_met_by_any(context);
        request.unspecified_context = is_for_unspecified(context);
    }
    if let Some(subject) = message.subject {
        // A request cannot choose the subject confirmation: it is always `bearer`.
        if subject.has_confirmation {
            return Err(SignOnDenied::Unsupported(
                UnsupportedError::SubjectConfirmation,
            ));
        }
        let name = subject.name_id;
        if name
            .sp_name_qualifier
            .is_some_and(|qualifier| qualifier != provider.settings.entity_id)
        {
            return Err(SignOnDenied::OtherSubject);
        }
        let opaque = [NameIdFormat::Persistent, NameIdFormat::Transient].map(NameIdFormat::uri);
        if !name
            .format
            .as_deref()
            .is_some_and(|format| opaque.contains(&format))
        {
            request.login_hint = name.value.parse().ok();
        }
        request.subject = Some(RequestedSubject {
            format: name.format,
            value: name.value,
        });
    }
    request.fresh_login = message.force_authn;
    request.passive = message.is_passive;
    Ok(())
}

/// Returns the format that a policy requests (SAML core section 3.4.1.1). `AllowCreate` has no effect, because each
/// user has a name in each format from the beginning.
fn name_id_format(
    provider: &ServiceProvider,
    policy: &NameIdPolicy,
) -> Result<NameIdFormat, SignOnDenied> {
    let settings = &provider.settings;
    // Names for a group of service providers are not supported.
    if policy
        .sp_name_qualifier
        .as_ref()
        .is_some_and(|qualifier| *qualifier != settings.entity_id)
    {
        return Err(SignOnDenied::InvalidNameIdPolicy);
    }
    match &policy.format {
        None => Ok(settings.name_id.default),
        Some(uri) => settings
            .name_id
            .requested_format(uri)
            .ok_or(SignOnDenied::InvalidNameIdPolicy),
    }
}
