//! Approvals: asking the phone, and taking its answer.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Deserializer};
use webauthn_rs::prelude::{PublicKeyCredential, RequestChallengeResponse};

use crate::domain::approvals::prompts::{Prompt, prompt_of};
use crate::domain::approvals::{carry, channels};
use crate::domain::devices::passkey;
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::protected_actions::with_outline;
use crate::domain::sign_in::access::{Access, access};
use crate::domain::sign_in::known_browsers::BrowserStatus;
use crate::domain::sign_in::test_sign_in;
use crate::domain::sign_in::test_sign_in::Attempt;
use crate::domain::{InternalError, Services, audit};
use assent_model::action_approval::ActionApproval;
use assent_model::approval::{
    Approval, ApprovalStage, ApprovalSubject, CooldownPolicy, MatchingNumber, NUMBER_ATTEMPTS,
    PromptDetails, RequestKind,
};
use assent_model::audit::{Actor, AuditContext, Entry, Event, Origin};
use assent_model::device::Device;
use assent_model::id::{ActionApprovalId, ApprovalId, DeviceId, Did, UserId};
use assent_model::login::{BrowserContext, Login};
use assent_model::name::LoginName;
use assent_model::passkey::PasskeyPurpose;
use assent_model::secret::Digest;
use assent_model::session::Amr;
use assent_model::statement::{ApprovalStatement, Decision, application_identifier};
use assent_model::user::{LifecycleState, User};
use assent_plugin_host::Trust;
use assent_store::{
    AnswerOutcome, ApprovalRequest, AuditNote, DeviceAnswer, RefusedRequest, RequestOutcome,
    UserGuard,
};

/// Requests an approval for a typed name.
///
/// An unknown name, and a user who may not sign in or has a cooldown, get the same page, the same queries and the same
/// two minutes; only the request is not sent. So the answer does not reveal which names exist. `standing` says whether
/// the user of the name signed in in this browser before. The limits count a request from a stale browser as one from a
/// known browser, so the answer does not reveal the report either. It reaches the devices only within the places of
/// unknown browsers.
///
/// # Errors
/// If the store fails.
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
        asked: user_id,
        is_open,
    } = whose(services, name, standing, login.request.application()).await?;
    let question = ApprovalDraft {
        subject: RequestSubject::SignIn(login),
        name,
        known,
        user_id,
        is_open,
        kind,
        scanned_by: None,
        context,
    };
    open_request(services, question, from).await
}

/// Notes that a limit refused a typed name. The refused page waits for nothing, but its user expects a prompt now. A
/// stranger who used up the limit on purpose must not have the user approve the stranger's: so it counts as a second
/// request does, where a channel without letters could carry the other one.
///
/// It writes even though a limit was reached, which the limit of pages for each network bounds. The queries are the
/// same for any name.
///
/// # Errors
/// If the store fails.
pub async fn refuse(
    services: &Services,
    login: &Login,
    name: &LoginName,
) -> Result<(), InternalError> {
    if !channels::are_letterless(services) {
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

/// Asks the phones of a person one of whose devices, the one that says so, scanned the code of a login's page. What
/// others who type the person's name do to it does not hold it up: no pause, and no limit of theirs.
pub(crate) async fn ask_by_scan(
    services: &Arc<Services>,
    login: &Login,
    device: &Device,
    user: &User,
    from: Origin,
) -> Result<RequestOutcome, InternalError> {
    let question = ApprovalDraft {
        subject: RequestSubject::SignIn(login),
        name: &user.name,
        known: Some(user.id),
        user_id: Some(user.id),
        is_open: true,
        kind: RequestKind::Qr,
        scanned_by: Some(device.id),
        context: login.context.clone(),
    };
    open_request(services, question, from).await
}

/// A protected action, before its approval is requested.
pub(crate) struct RequestedAction {
    /// The row.
    pub(crate) approval: ActionApproval,
    /// The user whom the action concerns, as the summary names them.
    pub(crate) target: Option<UserGuard>,
}

/// Requests the approval of a protected action from the devices of the administrator. `device` approved the console
/// session, so, as with a QR sign-in, the limits of typed names do not apply.
///
/// # Errors
/// If the store fails.
pub(crate) async fn ask_about_action(
    services: &Arc<Services>,
    action: &RequestedAction,
    (device, user): (DeviceId, &User),
    context: BrowserContext,
    from: Origin,
) -> Result<RequestOutcome, InternalError> {
    let question = ApprovalDraft {
        subject: RequestSubject::ProtectedAction(action),
        name: &user.name,
        known: Some(user.id),
        user_id: Some(user.id),
        is_open: true,
        kind: RequestKind::Action,
        scanned_by: Some(device),
        context,
    };
    open_request(services, question, from).await
}

/// What a request is about.
#[derive(Clone, Copy)]
enum RequestSubject<'a> {
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

    /// The sign-in; `None` for a protected action.
    const fn login(self) -> Option<&'a Login> {
        match self {
            Self::SignIn(login) => Some(login),
            Self::ProtectedAction(_) => None,
        }
    }

    /// The protected action; `None` for a sign-in.
    const fn action(self) -> Option<&'a RequestedAction> {
        match self {
            Self::SignIn(_) => None,
            Self::ProtectedAction(action) => Some(action),
        }
    }

    /// The digest of the cookie of the browser that waits.
    const fn browser(self) -> Digest {
        match self {
            Self::SignIn(login) => login.browser,
            Self::ProtectedAction(action) => action.approval.browser,
        }
    }
}

/// A request for an approval.
struct ApprovalDraft<'a> {
    /// What it is about.
    subject: RequestSubject<'a>,
    /// The name that the device shows.
    name: &'a LoginName,
    /// The user with this name.
    known: Option<UserId>,
    /// The user whose devices receive the request.
    user_id: Option<UserId>,
    /// Whether this user may sign in, whatever the limits permit.
    is_open: bool,
    /// How it began.
    kind: RequestKind,
    /// The user's own device with which it began.
    scanned_by: Option<DeviceId>,
    /// The location and the name of the browser.
    context: BrowserContext,
}

/// Stores the request, for which the browser then waits, and sends it to the devices that it reaches.
async fn open_request(
    services: &Arc<Services>,
    question: ApprovalDraft<'_>,
    from: Origin,
) -> Result<RequestOutcome, InternalError> {
    let numbers = MatchingNumber::shuffled(&*services.entropy);
    let Some(&number) = numbers.first() else {
        return Ok(RequestOutcome::TooMany);
    };
    // The store takes the first number that is free.
    let approval = approval(services, &question, number).await?;
    let ApprovalDraft {
        subject,
        known,
        is_open,
        kind,
        scanned_by,
        ..
    } = question;
    let login = subject.login();
    let application = approval.shown.application.clone();
    let actor = scanned_by.map_or_else(
        || application.map_or(Actor::Server, Actor::Application),
        Actor::Device,
    );
    let mut entry = about(
        services,
        Event::SignInRequested,
        &approval,
        &AuditContext::new(actor, from),
    );
    // The user of the name may want to know of requests that reach no device.
    entry.user = known;
    let request = ApprovalRequest {
        approval: approval.clone(),
        action: subject.action().map(|action| action.approval.clone()),
        target: subject.action().and_then(|action| action.target),
        known,
        kind,
        browser: subject.browser(),
        without_binding: login
            .is_some_and(|login| channels::delegation(services, &login.request).without_letters),
        numbers,
        entry,
    };
    let asked = services.store.request_approval(request).await?;
    tracing::info!(subject = ?approval.subject, approval = %approval.id, outcome = ?asked, "approval requested");
    if let Some(test_sign_in) = login.and_then(|login| login.request.purpose().test_sign_in()) {
        let attempt = Attempt {
            known,
            is_open,
            asked,
        };
        test_sign_in::record_approval_request(services, test_sign_in, &approval, attempt).await?;
    }
    if let RequestOutcome::Prompted(user) = asked {
        services.wakeups.send(Wakeup::Asked(user));
        // The browser does not wait for the channels: the device finds the request by asking too.
        let trust = match (scanned_by, login) {
            (None, Some(login)) => channels::trusted(&login.request),
            // The user's device began it, and the user answers there. A vendor's question would name no browser.
            (Some(_), _) | (_, None) => &[Trust::Verified],
        };
        tokio::spawn(carry::carry_request(
            Arc::clone(services),
            user,
            approval,
            trust,
        ));
    }
    Ok(asked)
}

/// The approval that a question asks for.
async fn approval(
    services: &Services,
    question: &ApprovalDraft<'_>,
    number: MatchingNumber,
) -> Result<Approval, InternalError> {
    let now = services.now();
    let login = question.subject.login();
    let application_name = match login {
        Some(login) => application_name(services, login).await?,
        None => services.settings.operator.clone(),
    };
    Ok(Approval {
        id: ApprovalId::new(now, &*services.entropy),
        subject: question.subject.of_approval(),
        user_id: question.user_id,
        name_digest: Digest::sha256(question.name.as_str().as_bytes()),
        scanned_by: question.scanned_by,
        number,
        shown: PromptDetails {
            application: login.and_then(|login| login.request.application()).cloned(),
            application_name,
            account: question.name.to_string(),
            place: question.context.place.clone(),
            browser: question.context.browser.clone(),
        },
        requested_at: now,
        expires_at: now + services.settings.lifetimes.approval.get(),
        attempts_left: NUMBER_ATTEMPTS,
        stage: ApprovalStage::Requested,
    })
}

/// Returns when an approval is no longer pending: it was decided, or it expired.
///
/// # Errors
/// If the store fails.
pub async fn decided(services: &Services, approval: ApprovalId) -> Result<(), InternalError> {
    let mut listener = services.wakeups.listen();
    loop {
        let found = services.store.approval(approval).await?;
        if !found.is_some_and(|found| found.stage_at(services.now()).is_waiting()) {
            return Ok(());
        }
        listener.next(Wakeup::Decided(approval)).await;
    }
}

/// Cancels a pending request, because the user gave up in the browser.
///
/// # Errors
/// If the store fails.
pub async fn cancel(services: &Services, approval: ApprovalId) -> Result<(), InternalError> {
    services
        .store
        .cancel_approval(approval, services.now())
        .await?;
    services.wakeups.send(Wakeup::Decided(approval));
    Ok(())
}

/// What the application that asks is called.
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

/// An entry of the audit log about a request.
fn about(services: &Services, event: Event, approval: &Approval, by: &AuditContext) -> Entry {
    let entry = audit::entry(services, event, by).with("request", approval.id.to_string());
    // What the person saw, so that they find it again in their history.
    let shown = &approval.shown;
    let mut entry = entry
        .personal("name", shown.account.as_str())
        .personal("requested_from", shown.place.as_str())
        .personal("requested_with", shown.browser.as_str());
    if let ApprovalSubject::ProtectedAction { outline, .. } = &approval.subject {
        entry = with_outline(entry, outline);
    }
    entry.user = approval.user_id;
    entry.application.clone_from(&approval.shown.application);
    entry
}

/// What is noted of an answer to a request, if it counts.
pub(crate) fn audit_note(
    services: &Services,
    event: Event,
    approval: &Approval,
    by: &AuditContext,
) -> AuditNote {
    let settings = &services.settings.approvals;
    let pause = CooldownPolicy {
        steps: settings.cooldowns(),
        forgotten_after: settings.denial_reset_after.get(),
        within: settings.denial_window.get(),
        report: (event == Event::SignInReported).then(|| settings.report_cooldown.get()),
    };
    let begun = about(services, Event::CooldownStarted, approval, by);
    let mut entry = about(services, event, approval, by);
    // How long people wait, for the overview.
    if event == Event::SignInApproved && matches!(approval.subject, ApprovalSubject::SignIn(_)) {
        entry = entry.with(
            "approval_time_ms",
            (services.now().millis() - approval.requested_at.millis()).max(0),
        );
    }
    AuditNote {
        entry,
        cooldown: (pause, begun),
    }
}

/// Whose a name is.
struct NameOwner {
    /// Who has it.
    known: Option<UserId>,
    /// The same, if they may sign in to the application, are not asked too often, and did not revoke the trust in the
    /// browser.
    asked: Option<UserId>,
    /// Whether they may sign in to the application.
    is_open: bool,
}

/// Finds whose a name is. The queries are the same for any name.
async fn whose(
    services: &Services,
    name: &LoginName,
    standing: BrowserStatus,
    application: Option<&Did>,
) -> Result<NameOwner, InternalError> {
    let user = services.store.user_by_login(name).await?;
    let open = match (&user, application) {
        (Some(user), None) => user.state == LifecycleState::Active,
        // A person without an account is asked, and told once they have shown who they are.
        (Some(user), Some(application)) => {
            !matches!(access(services, user, application).await?, Access::Closed)
        }
        (None, Some(application)) => {
            let nobody = UserId::new(services.now(), &*services.entropy);
            services.store.account_of(nobody, application).await?;
            false
        }
        (None, None) => false,
    };
    let known = user.map(|user| user.id);
    let limit = match standing {
        BrowserStatus::Known => &services.rate_limits.prompts_from_known_browsers,
        BrowserStatus::Stale | BrowserStatus::Unknown => &services.rate_limits.prompts_per_user,
    };
    let asked = known.filter(|user| open && limit.count_call(user, services.now()).is_ok());
    Ok(NameOwner {
        known,
        asked,
        is_open: open,
    })
}

/// A device's answer. As JSON, it is the proof that an approval channel carries.
#[derive(Clone, Debug, Deserialize)]
pub struct DeviceProof {
    /// The user's decision.
    pub decision: Decision,
    /// The number that was typed; empty when the person denied.
    #[serde(default)]
    pub number: String,
    /// The signature of the [`ApprovalStatement`]; base64url.
    #[serde(deserialize_with = "signature")]
    pub signature: Vec<u8>,
    /// The assertion of the device's passkey, where it has one and the person approved.
    #[serde(default)]
    pub passkey: Option<Box<PublicKeyCredential>>,
}

/// What is no base64url is no signature either, and verifies as none.
fn signature<'de, D: Deserializer<'de>>(text: D) -> Result<Vec<u8>, D::Error> {
    Ok(URL_SAFE_NO_PAD
        .decode(String::deserialize(text)?)
        .unwrap_or_default())
}

/// What came of a device's answer.
#[derive(Clone, Debug)]
pub enum DecisionResult {
    /// The browser is let in.
    Approved,
    /// It is not.
    Denied,
    /// It is not, and requests reach no phone of the person for a while.
    Reported,
    /// The number was wrong; it may be typed that often again.
    NumberMismatch {
        /// How often a number may still be typed.
        attempts_left: u32,
        /// The unexpired request of the same user that has this number, if one has: pending, replaced or cancelled.
        other: Option<Box<Prompt>>,
    },
    /// The signature is not this device's over what it was shown.
    BadProof,
    /// The device has a passkey, which must be shown as well: these are the options for the browser. Nothing is
    /// decided.
    PasskeyRequired(Box<RequestChallengeResponse>),
    /// What was shown is not the passkey's answer to the question that was put for this very approval. Nothing is
    /// decided.
    PasskeyRefused,
    /// The request was decided before.
    AlreadyDecided,
    /// The request's time is over.
    Expired,
    /// There is no such request for this person.
    Unknown,
}

/// Takes a device's answer. Whatever races, one answer counts.
///
/// # Errors
/// If the store fails.
pub async fn answer(
    services: &Services,
    device: &Device,
    id: ApprovalId,
    proof: &DeviceProof,
    from: Origin,
) -> Result<DecisionResult, InternalError> {
    let now = services.now();
    let found = services
        .store
        .approval(id)
        .await?
        .filter(|approval| approval.user_id == Some(device.user_id));
    let Some(approval) = found else {
        return Ok(DecisionResult::Unknown);
    };
    match approval.stage_at(now) {
        ApprovalStage::Requested => {}
        // The user can still report an attacker's replaced or cancelled request, and a request that was denied first.
        ApprovalStage::Replaced
        | ApprovalStage::Cancelled
        | ApprovalStage::Conflicted
        | ApprovalStage::Denied
        | ApprovalStage::Failed(_)
            if proof.decision == Decision::Report && now < approval.expires_at => {}
        ApprovalStage::Expired => return Ok(DecisionResult::Expired),
        _ => return Ok(DecisionResult::AlreadyDecided),
    }
    let prompt = match proof.decision {
        // The text of a report has no summary.
        Decision::Report => Prompt {
            approval,
            summary: None,
        },
        Decision::Approve | Decision::Deny => match prompt_of(services, approval).await? {
            Some(prompt) => prompt,
            None => return Ok(DecisionResult::AlreadyDecided),
        },
    };
    let statement = statement(services, device, &prompt, proof);
    let approval = prompt.approval;
    if !device.key.verifies(&statement, &proof.signature) {
        tracing::warn!(approval = %id, device = %device.id, "approval proof rejected: invalid signature");
        return Ok(DecisionResult::BadProof);
    }
    let by = AuditContext::new(Actor::Device(device.id), from);
    let verdict = match verdict(services, device, &approval, proof, &statement, &by).await? {
        Ok(verdict) => verdict,
        Err(outcome) => return Ok(outcome),
    };
    let event = match &verdict {
        DeviceAnswer::Report { .. } => Event::SignInReported,
        DeviceAnswer::Deny { .. } => Event::SignInDenied,
        DeviceAnswer::Approve { .. } => Event::SignInApproved,
        DeviceAnswer::NumberMismatch { .. } => Event::NumberMatchFailed,
    };
    let counted = services
        .store
        .answer_approval(
            id,
            verdict,
            audit_note(services, event, &approval, &by),
            now,
        )
        .await?;
    services.wakeups.send(Wakeup::Decided(id));
    if counted == AnswerOutcome::Counted
        && proof.decision == Decision::Report
        && let ApprovalSubject::ProtectedAction { id: action, .. } = approval.subject
    {
        end_console(services, action, &by).await?;
    }
    let outcome = match (counted, proof.decision) {
        (AnswerOutcome::Counted, Decision::Approve) => DecisionResult::Approved,
        (AnswerOutcome::Counted, Decision::Deny) => DecisionResult::Denied,
        (AnswerOutcome::Counted, Decision::Report) => DecisionResult::Reported,
        (AnswerOutcome::NumberMismatch { attempts_left }, _) => {
            tracing::info!(approval = %id, device = %device.id, attempts_left, "number mismatch");
            let other = other_with_number(services, device, id, &proof.number).await?;
            return Ok(DecisionResult::NumberMismatch {
                attempts_left,
                other: other.map(Box::new),
            });
        }
        (AnswerOutcome::NoPasskey, _) => DecisionResult::PasskeyRefused,
        (AnswerOutcome::Late, _) => DecisionResult::AlreadyDecided,
    };
    tracing::info!(approval = %id, device = %device.id, ?outcome, "approval answered");
    Ok(outcome)
}

/// The other unexpired request of the device's user with the number that was typed for this one.
async fn other_with_number(
    services: &Services,
    device: &Device,
    but: ApprovalId,
    number: &str,
) -> Result<Option<Prompt>, InternalError> {
    let Some(number) = MatchingNumber::parse(number) else {
        return Ok(None);
    };
    let found = services
        .store
        .approval_with_number(device.user_id, but, number, services.now())
        .await?;
    match found {
        Some(other) => prompt_of(services, other).await,
        None => Ok(None),
    }
}

/// What a proof with a valid signature decides. `Err` is the outcome of an approval without the passkey that it needs.
async fn verdict(
    services: &Services,
    device: &Device,
    approval: &Approval,
    proof: &DeviceProof,
    statement: &str,
    by: &AuditContext,
) -> Result<Result<DeviceAnswer, DecisionResult>, InternalError> {
    let device_id = device.id;
    match proof.decision {
        Decision::Report => return Ok(Ok(DeviceAnswer::Report { device: device_id })),
        Decision::Deny => return Ok(Ok(DeviceAnswer::Deny { device: device_id })),
        Decision::Approve => {}
    }
    if MatchingNumber::parse(&proof.number) != Some(approval.number) {
        return Ok(Ok(DeviceAnswer::NumberMismatch {
            device: device_id,
            number: Digest::sha256(proof.number.as_bytes()),
        }));
    }
    let purpose = PasskeyPurpose::Approve(statement);
    let left = approval.remaining(services.now());
    let asked = passkey::ask(
        services,
        device,
        purpose,
        proof.passkey.as_deref(),
        left,
        by,
    )
    .await?;
    let (amr, passkey) = match asked {
        passkey::AssertionCheck::NoPasskey => (vec![Amr::Swk, Amr::User], None),
        passkey::AssertionCheck::Shown(shown) => (vec![Amr::Swk, Amr::User, Amr::Mfa], Some(shown)),
        passkey::AssertionCheck::Required(options) => {
            return Ok(Err(DecisionResult::PasskeyRequired(options)));
        }
        passkey::AssertionCheck::Refused => return Ok(Err(DecisionResult::PasskeyRefused)),
    };
    Ok(Ok(DeviceAnswer::Approve {
        device: device_id,
        amr,
        passkey,
    }))
}

/// Ends the console session of a reported action: another person uses the session.
async fn end_console(
    services: &Services,
    action: ActionApprovalId,
    by: &AuditContext,
) -> Result<(), InternalError> {
    let Some(action) = services
        .store
        .action_approval(action, services.now())
        .await?
    else {
        return Ok(());
    };
    let entry = audit::entry(services, Event::SessionEnded, by)
        .about(action.actor)
        .with("session", action.session.to_string());
    services
        .store
        .end_session_of(action.actor, action.session, entry, services.now())
        .await?;
    services.wakeups.send(Wakeup::LoggedOut);
    Ok(())
}

/// Ends the cooldown of a device's user at the user's request. Returns whether there was one.
///
/// # Errors
/// If the database fails.
pub async fn lift_cooldown(
    services: &Services,
    device: &Device,
    from: Origin,
) -> Result<bool, InternalError> {
    let by = AuditContext::new(Actor::Device(device.id), from);
    let entry = audit::entry(services, Event::CooldownLifted, &by).about(device.user_id);
    Ok(services
        .store
        .lift_cooldown(device.user_id, entry, services.now())
        .await?)
}

/// The text that the device must have signed. It is made from the server's own record, never from what the device sent.
fn statement(services: &Services, device: &Device, prompt: &Prompt, proof: &DeviceProof) -> String {
    let Prompt { approval, summary } = prompt;
    let shown = &approval.shown;
    ApprovalStatement {
        issuer: &services.issuer,
        request: approval.id,
        device: device.id,
        application: application_identifier(shown.application.as_ref(), &services.issuer),
        application_name: &shown.application_name,
        action: summary.as_deref(),
        account: &shown.account,
        place: &shown.place,
        browser: &shown.browser,
        expires: approval.expires_at,
        decision: proof.decision,
        number: &proof.number,
    }
    .text()
}
