//! An approval request before it is stored, and its storage and delivery.

use std::sync::Arc;

use crate::domain::approvals::record::approval_entry;
use crate::domain::approvals::{channel, dispatch};
use crate::domain::sign_in::test_sign_in::approval_request;
use crate::domain::sign_in::test_sign_in::approval_request::Attempt;
use crate::domain::{InternalError, Services};
use assent_model::action_approval::ActionApproval;
use assent_model::approval::{
    Approval, ApprovalStage, ApprovalSubject, MatchingNumber, NUMBER_ATTEMPTS, PromptDetails,
    RequestKind,
};
use assent_model::audit::{Actor, AuditContext, Event, Origin};
use assent_model::id::{ApprovalId, DeviceId, UserId};
use assent_model::login::{BrowserContext, Login};
use assent_model::name::LoginName;
use assent_model::secret::Digest;
use assent_store::{ApprovalRequest, RequestOutcome, UserGuard};

/// A protected action, before its approval is requested.
pub(crate) struct RequestedAction {
    /// The row.
    pub(crate) approval: ActionApproval,
    /// The user affected by the action, in the version that the summary names.
    pub(crate) target: Option<UserGuard>,
    /// The actor in the audit log.
    pub(crate) by: Actor,
}

/// The subject of a request.
#[derive(Clone, Copy)]
pub(crate) enum RequestSubject<'a> {
    SignIn(&'a Login),
    ProtectedAction(&'a RequestedAction),
}

impl<'a> RequestSubject<'a> {
    fn of_approval(self) -> ApprovalSubject {
        match self {
            Self::SignIn(login) => ApprovalSubject::SignIn(login.id),
            Self::ProtectedAction(RequestedAction { approval, .. }) => {
                ApprovalSubject::ProtectedAction {
                    id: approval.id,
                    outline: approval.outline.clone(),
                }
            }
        }
    }

    /// Returns the sign-in. `None` for a protected action.
    const fn login(self) -> Option<&'a Login> {
        match self {
            Self::SignIn(login) => Some(login),
            Self::ProtectedAction(_) => None,
        }
    }

    /// Returns the protected action. `None` for a sign-in.
    const fn action(self) -> Option<&'a RequestedAction> {
        match self {
            Self::SignIn(_) => None,
            Self::ProtectedAction(action) => Some(action),
        }
    }

    /// Returns the digest of the cookie of the waiting browser.
    const fn browser(self) -> Digest {
        match self {
            Self::SignIn(login) => login.browser,
            Self::ProtectedAction(action) => action.approval.browser,
        }
    }
}

/// A draft of an approval request.
pub(crate) struct ApprovalDraft<'a> {
    /// The subject of the request.
    pub(crate) subject: RequestSubject<'a>,
    /// The name that the device shows.
    pub(crate) name: &'a LoginName,
    /// The user with this name.
    pub(crate) known: Option<UserId>,
    /// The user whose devices receive the request.
    pub(crate) user_id: Option<UserId>,
    /// Whether this user may sign in, apart from the rate limits.
    pub(crate) is_open: bool,
    /// The way in which the request began.
    pub(crate) kind: RequestKind,
    /// The user's own device with which the request began.
    pub(crate) scanned_by: Option<DeviceId>,
    /// The location and the name of the browser.
    pub(crate) context: BrowserContext,
    /// Whether the device with which the request began is in the waiting browser. Then no message is sent to the
    /// devices.
    pub(crate) is_same_browser: bool,
}

/// Stores the request, for which the browser then waits, and sends it to the devices that receive it.
pub(crate) async fn open_request(
    services: &Arc<Services>,
    draft: ApprovalDraft<'_>,
    from: Origin,
) -> Result<RequestOutcome, InternalError> {
    let numbers = MatchingNumber::shuffled(&*services.entropy);
    let Some(&number) = numbers.first() else {
        return Ok(RequestOutcome::TooMany);
    };
    // The store chooses the first free number.
    let approval = approval(services, &draft, number).await?;
    let ApprovalDraft {
        subject,
        known,
        is_open,
        kind,
        scanned_by,
        is_same_browser,
        ..
    } = draft;
    let login = subject.login();
    let application = approval.shown.application.clone();
    let actor = match (subject.action(), scanned_by) {
        (Some(action), _) => action.by.clone(),
        (None, Some(device)) => Actor::Device(device),
        (None, None) => application.map_or(Actor::Server, Actor::Application),
    };
    let mut entry = approval_entry(
        services,
        Event::SignInRequested,
        &approval,
        &AuditContext::new(actor, from),
    );
    // The entry names the user of the name even if the request reaches no device, so that the user can see it.
    entry.user = known;
    let request = ApprovalRequest {
        approval: approval.clone(),
        action: subject.action().map(|action| action.approval.clone()),
        target: subject.action().and_then(|action| action.target),
        known,
        kind,
        is_carried: !is_same_browser,
        without_binding: login
            .is_some_and(|login| channel::delegation(services, &login.request).without_letters),
        numbers,
        entry,
    };
    let outcome = services.store.request_approval(request).await?;
    tracing::info!(
        subject = %approval.subject,
        approval = %approval.id,
        outcome = outcome.as_str(),
        "approval requested"
    );
    if let Some(test_sign_in) = login.and_then(|login| login.request.purpose().test_sign_in()) {
        let attempt = Attempt {
            known,
            is_open,
            outcome,
        };
        approval_request::record_approval_request(services, test_sign_in, &approval, attempt)
            .await?;
    }
    if matches!(outcome, RequestOutcome::Prompted(_)) {
        services.metrics.approvals.count_request(&approval);
    }
    if let RequestOutcome::Prompted(user) = outcome
        && !is_same_browser
    {
        // The browser does not wait for the channels, because devices also find the request by polling.
        dispatch::begin(services, user, approval, login);
    }
    Ok(outcome)
}

/// Returns the approval of the draft.
async fn approval(
    services: &Services,
    draft: &ApprovalDraft<'_>,
    number: MatchingNumber,
) -> Result<Approval, InternalError> {
    let now = services.now();
    let login = draft.subject.login();
    let application_name = match login {
        Some(login) => application_name(services, login).await?,
        None => services.settings.operator.clone(),
    };
    Ok(Approval {
        id: ApprovalId::new(now, &*services.entropy),
        subject: draft.subject.of_approval(),
        user_id: draft.user_id,
        name_digest: Digest::sha256(draft.name.as_str().as_bytes()),
        browser: draft.subject.browser(),
        scanned_by: draft.scanned_by,
        is_same_browser: draft.is_same_browser,
        number: Some(number),
        shown: PromptDetails {
            application: login.and_then(|login| login.request.application()).cloned(),
            application_name,
            account: draft.name.to_string(),
            browser: draft.context.clone(),
        },
        requested_at: now,
        expires_at: now + services.settings.lifetimes.approval.get(),
        attempts_left: NUMBER_ATTEMPTS,
        stage: ApprovalStage::Requested,
    })
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
