//! The purposes of approval requests: a sign-in, a protected action, a back-channel request of an application, which
//! also begins by the code of a device (RFC 8628) and may need a second approval, or the check of a caller.
//!
//! A purpose has its own text on the device, its own channels, its own details in the audit log, and its own
//! consequence of a report. A new purpose is a variant of [`ApprovalSubject`] and of `Purpose`, with an arm in the
//! functions here. The store has the limits of each [kind of request](assent_model::approval::RequestKind).

use crate::domain::approvals::channel;
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::protected_actions::{ProtectedAction, SummaryError, summarize, with_outline};
use crate::domain::sign_in::scope_words;
use crate::domain::{InternalError, Services, audit};
use assent_model::action_approval::{ActionApproval, ActionProposal, ActionRequester};
use assent_model::approval::{Approval, ApprovalSubject, MatchingNumber};
use assent_model::audit::{Actor, AuditContext, Entry, Event};
use assent_model::authorization_details::requested::DetailsTexts;
use assent_model::backchannel::{BackchannelBinding, BackchannelRequest, BindingMessage};
use assent_model::backchannel_delivery::NewResultDelivery;
use assent_model::caller_check::CallerCheck;
use assent_model::clock::Timestamp;
use assent_model::device_authorization::EnteredCode;
use assent_model::entropy::Entropy;
use assent_model::id::{DeviceId, Did, ReportId};
use assent_model::language::Language;
use assent_model::login::{Login, LoginRequest};
use assent_model::receipt::content::ReceiptSubject;
use assent_model::report::{NewReport, ReportSubject};
use assent_model::scope::Scopes;
use assent_model::secret::Digest;
use assent_model::statement::StatementSubject;
use assent_plugin_host::Trust;
use assent_store::{BackchannelDraft, UserGuard};

/// A protected action, before its approval is requested.
pub(crate) struct RequestedAction {
    /// The row.
    pub(crate) approval: ActionApproval,
    /// The user affected by the action, in the version that the summary names.
    pub(crate) target: Option<UserGuard>,
    /// The actor in the audit log.
    pub(crate) by: Actor,
}

/// A back-channel request, before its approval is requested.
pub(crate) struct BackchannelQuestion {
    /// The row.
    pub(crate) request: BackchannelRequest,
    /// The delivery of its result; `None` if the application polls.
    pub(crate) delivery: Option<NewResultDelivery>,
    /// The name of the application.
    pub(crate) application_name: String,
    /// The digits to type, if the application chose them.
    pub(crate) chosen_number: Option<MatchingNumber>,
    /// The requests to the users of whom one must approve too.
    pub(crate) seconds: Vec<Approval>,
}

/// The purpose of a new request.
#[derive(Clone, Copy)]
pub(super) enum Purpose<'a> {
    SignIn(&'a Login),
    ProtectedAction(&'a RequestedAction),
    Backchannel(&'a BackchannelQuestion),
    CallerCheck(&'a CallerCheck),
}

impl<'a> Purpose<'a> {
    /// Returns the subject of the approval.
    pub(super) fn subject(self) -> ApprovalSubject {
        match self {
            Self::SignIn(login) => ApprovalSubject::SignIn(login.id),
            Self::ProtectedAction(RequestedAction { approval, .. }) => {
                ApprovalSubject::ProtectedAction {
                    id: approval.id,
                    outline: approval.outline.clone(),
                }
            }
            Self::Backchannel(BackchannelQuestion { request, .. }) => match &request.entered_code {
                Some(entered) => ApprovalSubject::DeviceAuthorization {
                    id: request.id,
                    entered: entered.clone(),
                    scopes: request.scopes.clone(),
                },
                None => ApprovalSubject::Backchannel {
                    id: request.id,
                    message: request.message.clone(),
                    scopes: request.scopes.clone(),
                    binding: request.binding,
                },
            },
            Self::CallerCheck(check) => ApprovalSubject::CallerCheck {
                id: check.id,
                administrator: check.administrator.clone(),
            },
        }
    }

    /// Returns the application that the request is for. `None` for the server's own pages.
    pub(super) const fn application(self) -> Option<&'a Did> {
        match self {
            Self::SignIn(login) => login.request.application(),
            Self::ProtectedAction(_) | Self::CallerCheck(_) => None,
            Self::Backchannel(question) => Some(&question.request.application),
        }
    }

    /// Returns the expiry of the request.
    pub(super) fn expires_at(self, services: &Services) -> Timestamp {
        match self {
            Self::SignIn(_) | Self::ProtectedAction(_) => {
                services.now() + services.settings.lifetimes.approval.get()
            }
            Self::Backchannel(question) => question.request.expires_at,
            Self::CallerCheck(check) => check.expires_at,
        }
    }

    /// Returns the numbers of which the user types one, in random order. Empty for a back-channel request without
    /// digits to type.
    pub(super) fn numbers(self, entropy: &dyn Entropy) -> Vec<MatchingNumber> {
        match self {
            Self::SignIn(_) | Self::ProtectedAction(_) | Self::CallerCheck(_) => {
                MatchingNumber::shuffled(entropy)
            }
            Self::Backchannel(question) => match question.request.binding {
                BackchannelBinding::Shown | BackchannelBinding::Unbound => Vec::new(),
                BackchannelBinding::Typed => match question.chosen_number {
                    Some(chosen) => vec![chosen],
                    None => MatchingNumber::shuffled_of_three_digits(entropy),
                },
            },
        }
    }

    /// Returns the back-channel request with the limits in force. `None` for another purpose.
    pub(super) fn backchannel(self, services: &Services) -> Option<BackchannelDraft> {
        let Self::Backchannel(question) = self else {
            return None;
        };
        let settings = &services.settings.oidc.backchannel;
        Some(BackchannelDraft {
            request: question.request.clone(),
            delivery: question.delivery.clone(),
            seconds: question.seconds.clone(),
            most_open: settings.open_requests,
            paused_since: services.now() - settings.denial_pause.get(),
        })
    }

    /// Returns the check of a caller. `None` for another purpose.
    pub(super) fn caller_check(self) -> Option<CallerCheck> {
        match self {
            Self::CallerCheck(check) => Some(check.clone()),
            Self::SignIn(_) | Self::ProtectedAction(_) | Self::Backchannel(_) => None,
        }
    }

    /// Returns the sign-in. `None` for another purpose.
    pub(super) const fn login(self) -> Option<&'a Login> {
        match self {
            Self::SignIn(login) => Some(login),
            Self::ProtectedAction(_) | Self::Backchannel(_) | Self::CallerCheck(_) => None,
        }
    }

    /// Returns the protected action. `None` for another purpose.
    pub(super) const fn action(self) -> Option<&'a RequestedAction> {
        match self {
            Self::SignIn(_) | Self::Backchannel(_) | Self::CallerCheck(_) => None,
            Self::ProtectedAction(action) => Some(action),
        }
    }

    /// Returns the texts of the authorization details that the device shows.
    pub(super) fn details(self) -> DetailsTexts {
        match self {
            Self::SignIn(login) => match &login.request {
                LoginRequest::Oidc(request) => request.authorization_details.texts(),
                LoginRequest::Saml(_) | LoginRequest::Local { .. } => DetailsTexts::default(),
            },
            Self::ProtectedAction(_) | Self::CallerCheck(_) => DetailsTexts::default(),
            Self::Backchannel(question) => question.request.details.texts(),
        }
    }

    /// Returns the digest of the cookie of the waiting browser. No cookie has that of a back-channel request
    /// or of the check of a caller.
    pub(super) fn browser(self) -> Digest {
        match self {
            Self::SignIn(login) => login.browser,
            Self::ProtectedAction(action) => action.approval.browser,
            Self::Backchannel(question) => Digest::sha256(question.request.id.as_bytes()),
            Self::CallerCheck(check) => Digest::sha256(check.id.as_bytes()),
        }
    }

    /// Returns the actor in the audit log.
    pub(super) fn actor(self, scanned_by: Option<DeviceId>, application: Option<&Did>) -> Actor {
        match (self, scanned_by) {
            (Self::ProtectedAction(action), _) => action.by.clone(),
            (Self::CallerCheck(check), _) => check.asked_by.clone(),
            (Self::SignIn(_) | Self::Backchannel(_), Some(device)) => Actor::Device(device),
            (Self::SignIn(_) | Self::Backchannel(_), None) => application
                .cloned()
                .map_or(Actor::Server, Actor::Application),
        }
    }

    /// Returns the name of the application, or of the operator, that requests the approval.
    pub(super) async fn requester_name(self, services: &Services) -> Result<String, InternalError> {
        match self {
            Self::SignIn(login) => application_name(services, login).await,
            Self::ProtectedAction(_) | Self::CallerCheck(_) => {
                Ok(services.settings.operator.clone())
            }
            Self::Backchannel(question) => Ok(question.application_name.clone()),
        }
    }

    /// Returns the kinds of channels that may carry the request.
    pub(super) fn channels(self, scanned_by: Option<DeviceId>) -> &'static [Trust] {
        match (self, scanned_by) {
            (Self::SignIn(login), None) => channel::trusted(&login.request),
            // The user's device began the sign-in, and the user answers there. A vendor's question would name no
            // browser.
            (Self::SignIn(_), Some(_))
            | (Self::ProtectedAction(_) | Self::Backchannel(_) | Self::CallerCheck(_), _) => {
                &[Trust::Verified]
            }
        }
    }
}

/// Returns the name of the application that requests an approval.
pub(crate) async fn application_name(
    services: &Services,
    login: &Login,
) -> Result<String, InternalError> {
    let found = match login.request.application() {
        Some(id) => services
            .store
            .registered(id)
            .await?
            .map(|application| application.name().to_owned()),
        None => None,
    };
    let found = if !login.request.purpose().is_application() {
        found.map(|name| format!("{name} (test sign-in)"))
    } else {
        found
    };
    Ok(found.unwrap_or_else(|| services.settings.operator.clone()))
}

/// Returns the kinds of channels that may carry a stored request. `None` if its sign-in has ended.
pub(super) async fn channels_of(
    services: &Services,
    approval: &Approval,
) -> Result<Option<&'static [Trust]>, InternalError> {
    match approval.subject {
        ApprovalSubject::SignIn(login) => {
            let login = services.store.login(login, services.now()).await?;
            Ok(login.map(|login| Purpose::SignIn(&login).channels(approval.scanned_by)))
        }
        ApprovalSubject::ProtectedAction { .. }
        | ApprovalSubject::Backchannel { .. }
        | ApprovalSubject::DeviceAuthorization { .. }
        | ApprovalSubject::SecondApproval { .. }
        | ApprovalSubject::CallerCheck { .. } => Ok(Some(&[Trust::Verified])),
    }
}

/// The text of a purpose on the device, which signs it together with the text that each request has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PurposeText {
    /// A sign-in has no further text.
    SignIn,
    /// The summary of a protected action.
    Action(String),
    /// A back-channel request.
    Backchannel {
        /// The message that the user compares.
        message: Option<BindingMessage>,
        /// The permissions of the scopes.
        scopes: Vec<String>,
        /// The way in which the user connects the request with the application.
        binding: BackchannelBinding,
    },
    /// A sign-in on a device whose code the user entered.
    DeviceAuthorization {
        /// The code, which the user compares.
        code: String,
        /// The time at which the device asked.
        asked_at: Timestamp,
        /// The permissions of the scopes.
        scopes: Vec<String>,
    },
    /// The second approval of a back-channel request.
    SecondApproval {
        /// The account for which the application asks.
        first: String,
        /// The message of the application.
        message: Option<BindingMessage>,
        /// The permissions of the scopes.
        scopes: Vec<String>,
        /// Whether only an approval with a passkey counts.
        by_passkey: bool,
    },
    /// The check of a caller, with the name of the administrator.
    CallerCheck(String),
}

impl PurposeText {
    /// Returns the text in its form for the signed statement.
    pub fn statement(&self) -> StatementSubject<'_> {
        match self {
            Self::SignIn => StatementSubject::SignIn,
            Self::Action(summary) => StatementSubject::Action(summary),
            Self::Backchannel {
                message, scopes, ..
            } => StatementSubject::Backchannel {
                message: message.as_ref().map_or("", BindingMessage::as_str),
                scopes,
            },
            Self::DeviceAuthorization {
                code,
                asked_at,
                scopes,
            } => StatementSubject::DeviceAuthorization {
                code,
                asked_at: *asked_at,
                scopes,
            },
            Self::SecondApproval {
                first,
                message,
                scopes,
                ..
            } => StatementSubject::SecondApproval {
                first,
                message: message.as_ref().map_or("", BindingMessage::as_str),
                scopes,
            },
            Self::CallerCheck(administrator) => StatementSubject::CallerCheck(administrator),
        }
    }
}

/// Returns the text of a purpose in the language of the device. Returns `None` if the summary of a protected action has
/// changed since the request.
///
/// The store has no summary of a protected action. The summary is rendered for each prompt, and must have the digest
/// that was stored with the request. The digest differs if a name changed, the subject of the action was deleted, or
/// the stored action was tampered with. Then the request ends.
pub(super) async fn text(
    services: &Services,
    subject: &ApprovalSubject,
    language: Language,
) -> Result<Option<PurposeText>, InternalError> {
    let id = match subject {
        ApprovalSubject::SignIn(_) => return Ok(Some(PurposeText::SignIn)),
        ApprovalSubject::CallerCheck { administrator, .. } => {
            return Ok(Some(PurposeText::CallerCheck(administrator.clone())));
        }
        ApprovalSubject::ProtectedAction { id, .. } => *id,
        ApprovalSubject::Backchannel {
            message,
            scopes,
            binding,
            ..
        } => {
            return Ok(Some(PurposeText::Backchannel {
                message: message.clone(),
                scopes: permissions(scopes, language),
                binding: *binding,
            }));
        }
        ApprovalSubject::DeviceAuthorization {
            entered: EnteredCode { code, asked_at },
            scopes,
            ..
        } => {
            return Ok(Some(PurposeText::DeviceAuthorization {
                code: code.to_string(),
                asked_at: *asked_at,
                scopes: permissions(scopes, language),
            }));
        }
        ApprovalSubject::SecondApproval {
            first,
            message,
            scopes,
            binding,
            ..
        } => {
            return Ok(Some(PurposeText::SecondApproval {
                first: first.account.clone(),
                message: message.clone(),
                scopes: permissions(scopes, language),
                by_passkey: *binding != BackchannelBinding::Shown,
            }));
        }
    };
    let found = services.store.action_approval(id, services.now()).await?;
    let proposal = found.and_then(|found| found.proposal);
    let Some(ActionProposal {
        action,
        summary_digest,
        ..
    }) = proposal
    else {
        return Ok(None);
    };
    let Ok(action) = serde_json::from_str::<ProtectedAction>(&action) else {
        return Ok(None);
    };
    match summarize(&services.store, &action).await {
        Ok(summary) if summary.digest() == summary_digest => {
            Ok(Some(PurposeText::Action(summary.text(language))))
        }
        Ok(_) | Err(SummaryError::Gone(_)) => Ok(None),
        Err(SummaryError::Store(error)) => Err(error.into()),
    }
}

/// Returns the permissions of scopes, in words.
fn permissions(scopes: &Scopes, language: Language) -> Vec<String> {
    let words = scope_words::in_words(scopes).into_iter();
    words.map(|words| words.plain(language)).collect()
}

/// Adds the details of a purpose to an entry about its request.
pub(super) fn with_details(entry: Entry, subject: &ApprovalSubject) -> Entry {
    match subject {
        ApprovalSubject::SignIn(_) => entry,
        ApprovalSubject::ProtectedAction { outline, .. } => with_outline(entry, outline),
        // The first entry has the administrator as its actor. The name would outlast the administrator's erasure.
        ApprovalSubject::CallerCheck { id, .. } => entry.with("caller_check", id.to_string()),
        ApprovalSubject::Backchannel {
            id,
            message,
            scopes,
            binding,
        } => {
            let entry = entry
                .with("backchannel_request", id.to_string())
                .with("scopes", scopes.to_string())
                .with("binding", binding.as_str());
            match message {
                Some(message) => entry.personal("binding_message", message.as_str()),
                None => entry,
            }
        }
        ApprovalSubject::DeviceAuthorization { id, scopes, .. } => entry
            .with("device_authorization", id.to_string())
            .with("scopes", scopes.to_string()),
        ApprovalSubject::SecondApproval {
            id, first, scopes, ..
        } => entry
            .with("backchannel_request", id.to_string())
            .with("second_approval_for", first.user.to_string())
            .with("scopes", scopes.to_string()),
    }
}

/// Returns the purpose of a request in its receipt.
pub(super) const fn receipt_subject(subject: &ApprovalSubject) -> ReceiptSubject {
    match subject {
        ApprovalSubject::SignIn(_) => ReceiptSubject::SignIn,
        ApprovalSubject::ProtectedAction { .. } => ReceiptSubject::Action,
        ApprovalSubject::Backchannel { .. } => ReceiptSubject::Backchannel,
        ApprovalSubject::DeviceAuthorization { .. } => ReceiptSubject::DeviceAuthorization,
        ApprovalSubject::SecondApproval { .. } => ReceiptSubject::SecondApproval,
        ApprovalSubject::CallerCheck { .. } => ReceiptSubject::CallerCheck,
    }
}

/// Returns the report for administrators, with the details of the request that the user saw.
pub(super) fn new_report(services: &Services, approval: &Approval) -> NewReport {
    let shown = &approval.shown;
    NewReport {
        id: ReportId::new(services.now(), &*services.entropy),
        subject: match &approval.subject {
            ApprovalSubject::SignIn(_) => ReportSubject::SignIn(shown.application.clone()),
            ApprovalSubject::ProtectedAction { .. } => ReportSubject::Action,
            ApprovalSubject::CallerCheck { .. } => ReportSubject::CallerCheck,
            ApprovalSubject::Backchannel { .. }
            | ApprovalSubject::DeviceAuthorization { .. }
            | ApprovalSubject::SecondApproval { .. } => match &shown.application {
                Some(application) => ReportSubject::Backchannel(application.clone()),
                None => ReportSubject::SignIn(None),
            },
        },
        browser: shown.browser.clone(),
    }
}

/// Ends the access with which a reported request began: the console session of a protected action, because an attacker
/// uses the session. A caller with a token has no session, and a sign-in or a back-channel request has none yet. The
/// administrator of a reported check of a caller keeps the session: other administrators see the report.
pub(super) async fn end_reported(
    services: &Services,
    subject: &ApprovalSubject,
    by: &AuditContext,
) -> Result<(), InternalError> {
    let id = match subject {
        ApprovalSubject::SignIn(_)
        | ApprovalSubject::Backchannel { .. }
        | ApprovalSubject::DeviceAuthorization { .. }
        | ApprovalSubject::SecondApproval { .. }
        | ApprovalSubject::CallerCheck { .. } => return Ok(()),
        ApprovalSubject::ProtectedAction { id, .. } => *id,
    };
    let found = services.store.action_approval(id, services.now()).await?;
    let Some(action) = found else {
        return Ok(());
    };
    let ActionRequester::Session(session) = action.requester else {
        return Ok(());
    };
    let entry = audit::entry(services, Event::SessionEnded, by)
        .about(action.actor)
        .with("session", session.to_string());
    services
        .store
        .end_session_of(action.actor, session, entry, services.now())
        .await?;
    services.wakeups.send(Wakeup::LoggedOut);
    Ok(())
}
