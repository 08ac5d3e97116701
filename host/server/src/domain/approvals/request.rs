//! Requests for an approval: for a typed name, a QR sign-in, a protected action, a back-channel request
//! and the check of a caller. Their storage, delivery and end.

use std::sync::Arc;

use crate::domain::approvals::purpose::{BackchannelQuestion, Purpose, RequestedAction};
use crate::domain::approvals::record::approval_entry;
use crate::domain::approvals::{channel, send};
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::sign_in::access::{Access, access};
use crate::domain::sign_in::known_browsers::BrowserStatus;
use crate::domain::sign_in::test_sign_in::approval_request;
use crate::domain::sign_in::test_sign_in::approval_request::Attempt;
use crate::domain::{InternalError, Services, audit};
use assent_model::action_approval::ActionRequester;
use assent_model::approval::{
    Approval, ApprovalStage, MatchingNumber, NUMBER_ATTEMPTS, PromptDetails, RequestKind,
};
use assent_model::audit::{Actor, AuditContext, Event, Origin};
use assent_model::caller_check::CallerCheck;
use assent_model::change::Change;
use assent_model::device::Device;
use assent_model::id::{ApprovalId, DeviceId, Did, UserId};
use assent_model::login::{BrowserContext, Login};
use assent_model::name::LoginName;
use assent_model::secret::Digest;
use assent_model::user::{LifecycleState, User};
use assent_store::{ApprovalRequest, RefusedRequest, RequestOutcome};
use assent_telemetry::SPANS;

/// Requests an approval for a typed name.
///
/// The response must not reveal which names exist. An unknown name, and a user who may not sign in or has a cooldown,
/// get the same page, queries and waiting time. Only the request is not sent.
///
/// `standing` says whether the user of the name signed in in this browser before. The rate limits count a request from
/// a stale browser like one from a known browser. Therefore the response does not reveal the report either. Such a
/// request reaches the devices only within the number of pending requests for unknown browsers.
#[tracing::instrument(target = SPANS, skip_all, name = "approval.request")]
pub async fn ask(
    services: &Arc<Services>,
    login: &Login,
    (name, standing): (&LoginName, BrowserStatus),
    context: BrowserContext,
    from: Origin,
) -> Result<RequestOutcome, InternalError> {
    let kind = match standing {
        BrowserStatus::Known => RequestKind::KnownBrowser,
        BrowserStatus::Stale => RequestKind::StaleBrowser,
        BrowserStatus::Unknown => RequestKind::Typed,
    };
    let NameOwner {
        known,
        prompted_user: user_id,
        is_open,
    } = name_owner(services, name, standing, login.request.application()).await?;
    let draft = ApprovalDraft {
        purpose: Purpose::SignIn(login),
        name,
        known,
        user_id,
        is_open,
        kind,
        scanned_by: None,
        context,
        is_same_browser: false,
    };
    open_request(services, draft, from).await
}

/// Records that a rate limit rejected a typed name. The user of the rejected page now expects a prompt, although the
/// page waits for none. An attacker who used up the limit must not receive the user's approval for the attacker's
/// request. The record therefore counts like a second request, if a channel without letters could carry the attacker's
/// request.
///
/// It is written although a limit was reached. The rate limit of login pages bounds these writes. The queries are the
/// same for any name.
pub async fn refuse(
    services: &Services,
    login: &Login,
    name: &LoginName,
) -> Result<(), InternalError> {
    if !channel::are_letterless(services) {
        return Ok(());
    }
    let known = services
        .store
        .user_by_login(name)
        .await?
        .map(|user| user.id);
    let refused_at = services.now();
    let refused = RefusedRequest {
        name_digest: Digest::sha256(name.as_str().as_bytes()),
        known,
        browser: login.browser,
        refused_at,
        counts_until: refused_at + services.settings.lifetimes.approval.get(),
    };
    Ok(services.store.refuse_request(refused).await?)
}

/// Requests an approval from the devices of a user who started a QR sign-in with one of them. Other clients that type
/// the user's name cannot delay it: it ignores cooldowns and their rate limits.
pub(crate) async fn ask_by_scan(
    services: &Arc<Services>,
    login: &Login,
    (device, user): (&Device, &User),
    is_same_browser: bool,
    from: Origin,
) -> Result<RequestOutcome, InternalError> {
    let draft = ApprovalDraft {
        purpose: Purpose::SignIn(login),
        name: &user.name,
        known: Some(user.id),
        user_id: Some(user.id),
        is_open: true,
        kind: RequestKind::Qr,
        scanned_by: Some(device.id),
        context: login.context.clone(),
        is_same_browser,
    };
    open_request(services, draft, from).await
}

/// Requests the approval of a protected action from the devices of the administrator. In the console, `device` approved
/// the session. The limits of typed names therefore do not apply, as with a QR sign-in. A caller with a token is not
/// authenticated by the administrator's device, so a cooldown holds its request.
pub(crate) async fn ask_about_action(
    services: &Arc<Services>,
    action: &RequestedAction,
    (device, user): (DeviceId, &User),
    context: BrowserContext,
    from: Origin,
) -> Result<RequestOutcome, InternalError> {
    let draft = ApprovalDraft {
        purpose: Purpose::ProtectedAction(action),
        name: &user.name,
        known: Some(user.id),
        user_id: Some(user.id),
        is_open: true,
        kind: RequestKind::Action,
        scanned_by: match action.approval.requester {
            ActionRequester::Session(_) => Some(device),
            ActionRequester::Token => None,
        },
        context,
        is_same_browser: false,
    };
    open_request(services, draft, from).await
}

/// Requests the approval of a back-channel request from the devices of its user. `is_open`: whether the user may sign
/// in to the application, below the rate limits. Otherwise no device receives the request, and it expires.
pub(crate) async fn ask_by_backchannel(
    services: &Arc<Services>,
    question: &BackchannelQuestion,
    (user, is_open): (&User, bool),
    from: Origin,
) -> Result<RequestOutcome, InternalError> {
    let draft = ApprovalDraft {
        purpose: Purpose::Backchannel(question),
        name: &user.name,
        known: Some(user.id),
        user_id: is_open.then_some(user.id),
        is_open,
        kind: RequestKind::Backchannel,
        scanned_by: None,
        context: BrowserContext::default(),
        is_same_browser: false,
    };
    let outcome = open_request(services, draft, from).await?;
    if !question.seconds.is_empty() {
        // The outbox has the requests to those who may give the second approval.
        services.wakeups.send(Wakeup::Carried);
    }
    Ok(outcome)
}

/// Requests the approval of a sign-in on a device from the user whose enrolled device entered its code. The user began
/// it, so cooldowns do not apply. `context` has the location from which the device asked.
pub(crate) async fn ask_by_user_code(
    services: &Arc<Services>,
    question: &BackchannelQuestion,
    (device, user): (&Device, &User),
    context: BrowserContext,
    from: Origin,
) -> Result<RequestOutcome, InternalError> {
    let draft = ApprovalDraft {
        purpose: Purpose::Backchannel(question),
        name: &user.name,
        known: Some(user.id),
        user_id: Some(user.id),
        is_open: true,
        kind: RequestKind::DeviceAuthorization,
        scanned_by: Some(device.id),
        context,
        is_same_browser: false,
    };
    open_request(services, draft, from).await
}

/// Asks the devices of a user whether the user is on the phone. The caller has checked that the user may be asked.
pub(crate) async fn ask_caller(
    services: &Arc<Services>,
    check: &CallerCheck,
    user: &User,
    from: Origin,
) -> Result<RequestOutcome, InternalError> {
    let draft = ApprovalDraft {
        purpose: Purpose::CallerCheck(check),
        name: &user.name,
        known: Some(user.id),
        user_id: Some(user.id),
        is_open: true,
        kind: RequestKind::CallerCheck,
        scanned_by: None,
        context: BrowserContext::default(),
        is_same_browser: false,
    };
    open_request(services, draft, from).await
}

/// Waits until an approval is no longer pending: it was decided, or it expired.
pub async fn decided(services: &Services, approval: ApprovalId) -> Result<(), InternalError> {
    let mut listener = services.store.listen([Change::Approval(approval)]);
    loop {
        let found = services.store.approval(approval).await?;
        let Some(found) = found.filter(|found| found.stage_at(services.now()).is_waiting()) else {
            return Ok(());
        };
        listener.changed(Some(found.expires_at)).await;
    }
}

/// Cancels a pending request, because the user cancelled the sign-in in the browser.
pub async fn cancel(services: &Services, approval: ApprovalId) -> Result<(), InternalError> {
    Ok(services
        .store
        .cancel_approval(approval, services.now())
        .await?)
}

/// Ends the cooldown of a device's user at the user's request, and sends the requests that it held. Returns whether
/// there was a cooldown.
pub async fn lift_cooldown(
    services: &Services,
    device: &Device,
    from: Origin,
) -> Result<bool, InternalError> {
    let by = AuditContext::new(Actor::Device(device.id), from);
    let entry = audit::entry(services, Event::CooldownLifted, &by).about(device.user_id);
    let lifted = services
        .store
        .lift_cooldown(device.user_id, entry, services.now())
        .await?;
    if lifted {
        services.wakeups.send(Wakeup::Carried);
    }
    Ok(lifted)
}

/// A draft of an approval request.
struct ApprovalDraft<'a> {
    /// The purpose of the request.
    purpose: Purpose<'a>,
    /// The name that the device shows.
    name: &'a LoginName,
    /// The user with this name.
    known: Option<UserId>,
    /// The user whose devices receive the request.
    user_id: Option<UserId>,
    /// Whether this user may sign in, apart from the rate limits.
    is_open: bool,
    /// The way in which the request began.
    kind: RequestKind,
    /// The user's own device with which the request began.
    scanned_by: Option<DeviceId>,
    /// The location and the name of the browser.
    context: BrowserContext,
    /// Whether the device with which the request began is in the waiting browser. Then no message is sent to the
    /// devices.
    is_same_browser: bool,
}

/// Stores the request, for which the browser then waits, and sends it to the devices that receive it.
async fn open_request(
    services: &Arc<Services>,
    draft: ApprovalDraft<'_>,
    from: Origin,
) -> Result<RequestOutcome, InternalError> {
    let numbers = draft.purpose.numbers(&*services.entropy);
    // The store chooses the first free number.
    let approval = approval(services, &draft, numbers.first().copied()).await?;
    let ApprovalDraft {
        purpose,
        known,
        is_open,
        kind,
        scanned_by,
        is_same_browser,
        ..
    } = draft;
    let actor = purpose.actor(scanned_by, approval.shown.application.as_ref());
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
        action: purpose.action().map(|action| action.approval.clone()),
        backchannel: purpose.backchannel(services),
        caller_check: purpose.caller_check(),
        target: purpose.action().and_then(|action| action.target),
        known,
        kind,
        is_carried: !is_same_browser,
        without_binding: purpose
            .login()
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
    let test_sign_in = purpose
        .login()
        .and_then(|login| login.request.purpose().test_sign_in());
    if let Some(test_sign_in) = test_sign_in {
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
        let trusted = purpose.channels(scanned_by);
        send::send_stored(services, user, approval, trusted);
    }
    Ok(outcome)
}

/// Returns the approval of the draft.
async fn approval(
    services: &Services,
    draft: &ApprovalDraft<'_>,
    number: Option<MatchingNumber>,
) -> Result<Approval, InternalError> {
    let now = services.now();
    let application = draft.purpose.application();
    let application_name = draft.purpose.requester_name(services).await?;
    Ok(Approval {
        id: ApprovalId::new(now, &*services.entropy),
        subject: draft.purpose.subject(),
        user_id: draft.user_id,
        name_digest: Digest::sha256(draft.name.as_str().as_bytes()),
        browser: draft.purpose.browser(),
        scanned_by: draft.scanned_by,
        is_same_browser: draft.is_same_browser,
        number,
        shown: PromptDetails {
            application: application.cloned(),
            application_name,
            account: draft.name.to_string(),
            browser: draft.context.clone(),
            details: draft.purpose.details(),
        },
        requested_at: now,
        expires_at: draft.purpose.expires_at(services),
        attempts_left: NUMBER_ATTEMPTS,
        stage: ApprovalStage::Requested,
    })
}

/// The user with a name, if there is one.
struct NameOwner {
    /// The user.
    known: Option<UserId>,
    /// The user, if the user may sign in to the application, is below the rate limit, and did not revoke the trust in
    /// the browser.
    prompted_user: Option<UserId>,
    /// Whether the user may sign in to the application.
    is_open: bool,
}

/// Finds the user with a name. The queries are the same for any name, so that their time does not reveal whether a user
/// has it.
async fn name_owner(
    services: &Services,
    name: &LoginName,
    standing: BrowserStatus,
    application: Option<&Did>,
) -> Result<NameOwner, InternalError> {
    let user = services.store.user_by_login(name).await?;
    let open = match (&user, application) {
        (Some(user), None) => user.state == LifecycleState::Active,
        // A user without an account receives a request too. The page shows the denial only after the approval.
        (Some(user), Some(application)) => {
            !matches!(access(services, user, application).await?, Access::Closed)
        }
        (None, Some(application)) => {
            let unknown = UserId::new(services.now(), &*services.entropy);
            services.store.access_of(unknown, application).await?;
            false
        }
        (None, None) => false,
    };
    let known = user.map(|user| user.id);
    let limit = match standing {
        BrowserStatus::Known => &services.rate_limits.prompts_from_known_browsers,
        BrowserStatus::Stale | BrowserStatus::Unknown => &services.rate_limits.prompts_per_user,
    };
    let prompted_user = known.filter(|user| open && limit.count_call(user, services.now()).is_ok());
    Ok(NameOwner {
        known,
        prompted_user,
        is_open: open,
    })
}
