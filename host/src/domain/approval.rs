//! Approvals: asking the phone, and taking its answer.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use webauthn_rs::prelude::PublicKeyCredential;

use super::account::{Access, access};
use super::known_browsers::Standing;
use super::signals::Signal;
use super::trials::Attempt;
use super::{Broken, Host, audit, channels, passkey, seconds, trials};
use crate::id::{ApprovalId, DeviceId, Did, UserId};
use crate::model::approval::{Approval, ApprovalStage, MatchingNumber, NUMBER_ATTEMPTS, Pause, RequestKind, Shown};
use crate::model::audit::{Actor, By, Entry, Event, Origin};
use crate::model::device::Device;
use crate::model::login::{BrowserContext, Login, LoginRequest};
use crate::model::name::LoginName;
use crate::model::passkey::Purpose;
use crate::model::session::Amr;
use crate::model::statement::{ApprovalStatement, Decision, application_identifier};
use crate::model::step::{MENTIONS, Mentioned, ShownStep};
use crate::model::user::{LifeState, User};
use crate::plugins::Trust;
use crate::secret::Digest;
use crate::store::{Answer, ApprovalRequest, Asked, Noted, RefusedRequest, Verdict};

/// Requests an approval for a typed name.
///
/// An unknown name, and a user who may not sign in or has a cooldown, get the same page, the same queries and the same two
/// minutes; only the request is not sent. So the answer does not reveal which names exist. `standing` says whether the user of
/// the name signed in in this browser before. The limits count a request from a stale browser as one from a known browser, so the
/// answer does not reveal the report either. It reaches the devices only within the places of unknown browsers.
pub async fn ask(
    host: &Arc<Host>,
    login: &Login,
    (name, standing): (&LoginName, Standing),
    context: BrowserContext,
    from: Origin,
) -> Result<Asked, Broken> {
    let kind = match standing {
        Standing::Known => RequestKind::KnownBrowser,
        Standing::Stale => RequestKind::StaleBrowser,
        Standing::Unknown => RequestKind::Typed,
    };
    let Named { known, asked: user_id, is_open } = whose(host, name, standing, login.request.application()).await?;
    let question = Question { name, known, user_id, is_open, kind, scanned_by: None, context, step: None };
    put(host, login, question, from).await
}

/// Notes that a limit refused a typed name. The refused page waits for nothing, but its user expects a prompt now. A stranger who
/// used up the limit on purpose must not have the user approve the stranger's: so it counts as a second request does, where
/// a channel without letters could carry the other one.
///
/// It writes even though a limit was reached, which the limit of pages for each network bounds. The queries are the same for any
/// name.
pub async fn refuse(host: &Host, login: &Login, name: &LoginName) -> Result<(), Broken> {
    if !channels::are_letterless(host) {
        return Ok(());
    }
    let known = host.store.user_by_login(name).await?.map(|user| user.id);
    let refused_at = host.now();
    let refused = RefusedRequest {
        name_digest: Digest::of(name.as_str().as_bytes()),
        known,
        browser: login.browser,
        refused_at,
        counts_until: refused_at + seconds(host.settings.lifetimes.approval),
    };
    Ok(host.store.refuse_request(refused).await?)
}

/// Asks the phones of a person one of whose devices, the one that says so, scanned the code of a login's page. What others
/// who type the person's name do to it does not hold it up: no pause, and no limit of theirs.
pub(super) async fn ask_by_scan(
    host: &Arc<Host>,
    login: &Login,
    device: &Device,
    user: &User,
    from: Origin,
) -> Result<Asked, Broken> {
    let question = Question {
        name: &user.name,
        known: Some(user.id),
        user_id: Some(user.id),
        is_open: true,
        kind: RequestKind::Qr,
        scanned_by: Some(device.id),
        context: login.context.clone(),
        step: None,
    };
    put(host, login, question, from).await
}

/// Asks the phones of somebody about a step that they take in the console. The session there came of an approval by `device`,
/// so, as with a scan, nobody who types the person's name holds it up.
pub(super) async fn ask_about_step(
    host: &Arc<Host>,
    login: &Login,
    device: DeviceId,
    user: &User,
    (step, mentions, from): (ShownStep, Option<Mentioned>, Origin),
) -> Result<Asked, Broken> {
    let question = Question {
        name: &user.name,
        known: Some(user.id),
        user_id: Some(user.id),
        is_open: true,
        kind: RequestKind::Action,
        scanned_by: Some(device),
        context: login.context.clone(),
        step: Some((step, mentions)),
    };
    put(host, login, question, from).await
}

/// What is to be asked.
struct Question<'a> {
    /// The name that the person is shown.
    name: &'a LoginName,
    /// Whose it is.
    known: Option<UserId>,
    /// Whose phones are asked.
    user_id: Option<UserId>,
    /// Whether they may sign in, however often they are asked.
    is_open: bool,
    /// How it began.
    kind: RequestKind,
    /// The person's own device with which it began.
    scanned_by: Option<DeviceId>,
    /// What the browser tells about itself.
    context: BrowserContext,
    /// What is to happen in place of a sign-in, and who is mentioned in its words.
    step: Option<(ShownStep, Option<Mentioned>)>,
}

/// Keeps the request, which the login then waits for, and has it carried to the phones that it reaches.
async fn put(host: &Arc<Host>, login: &Login, question: Question<'_>, from: Origin) -> Result<Asked, Broken> {
    let now = host.now();
    let Question { name, known, user_id, is_open, kind, scanned_by, context, step } = question;
    let (step, mentions) = step.map_or((None, None), |(step, mentions)| (Some(step), mentions));
    let numbers = MatchingNumber::shuffled(&*host.entropy);
    let Some(&number) = numbers.first() else { return Ok(Asked::TooMany) };
    let approval = Approval {
        id: ApprovalId::new(now, &*host.entropy),
        login_id: login.id,
        user_id,
        name_digest: Digest::of(name.as_str().as_bytes()),
        scanned_by,
        // The store takes the first that is free.
        number,
        shown: Shown {
            application: login.request.application().cloned(),
            application_name: application_name(host, login).await?,
            account: name.to_string(),
            place: context.place,
            browser: context.browser,
            step,
        },
        mentions,
        requested_at: now,
        expires_at: now + seconds(host.settings.lifetimes.approval),
        attempts_left: NUMBER_ATTEMPTS,
        stage: ApprovalStage::Requested,
    };
    let asking = || login.request.application().map_or(Actor::Host, |id| Actor::Application(id.clone()));
    let actor = scanned_by.map_or_else(asking, Actor::Device);
    let mut entry = about(host, Event::SignInAsked, &approval, &By::new(actor, from));
    // Those who are not asked may want to know as well.
    entry.user = known;
    let letterless = channels::delegation(host, &login.request).without_letters;
    let request =
        ApprovalRequest { approval: approval.clone(), known, kind, browser: login.browser, letterless, numbers, entry };
    let asked = host.store.request_approval(request).await?;
    tracing::info!(login = %login.id, approval = %approval.id, ?asked, "approval requested");
    if let Some(trial) = login.request.trial() {
        trials::asked(host, trial, &approval, Attempt { known, is_open, asked }).await?;
    }
    if let Asked::Person(user) = asked {
        host.signals.send(Signal::Asked(user));
        // The browser does not wait for the channels: the phone finds the request by asking too.
        let trust = match scanned_by {
            // The user's device began it, and the user answers there. A vendor's question would name no browser.
            Some(_) => &[Trust::Verified],
            None => channels::trusted(&login.request),
        };
        tokio::spawn(channels::carry(Arc::clone(host), user, approval, trust));
    }
    Ok(asked)
}

/// What the application that asks is called.
pub(super) async fn application_name(host: &Host, login: &Login) -> Result<String, Broken> {
    let found = match login.request.application() {
        Some(id) => host.store.registered(id).await?.map(|application| application.name().to_owned()),
        None => None,
    };
    let found = if login.request.trial().is_some() { found.map(|name| format!("{name} (trial)")) } else { found };
    Ok(found.unwrap_or_else(|| host.settings.operator.clone()))
}

/// An entry of the audit log about a request.
fn about(host: &Host, event: Event, approval: &Approval, by: &By) -> Entry {
    let entry = audit::entry(host, event, by).with("request", approval.id.to_string());
    // What the person saw, so that they find it again in their history.
    let shown = &approval.shown;
    let mut entry = entry
        .personal("name", shown.account.as_str())
        .personal("asked_from", shown.place.as_str())
        .personal("asked_by", shown.browser.as_str());
    if let Some(step) = &shown.step {
        entry = entry.with("step", step.danger.as_str()).personal("step", step.words.as_str());
    }
    // Where the chain covers it, so that nobody else's erasure empties the entry. A name could be guessed from its digest.
    entry = match &approval.mentions {
        Some(Mentioned::User(id)) => entry.with(MENTIONS, id.to_string()),
        Some(Mentioned::Nobody(name)) => entry.personal(MENTIONS, name.to_text()),
        None => entry,
    };
    entry.mentions.clone_from(&approval.mentions);
    entry.user = approval.user_id;
    entry.application.clone_from(&approval.shown.application);
    entry
}

/// What is noted of an answer to a request, if it counts.
pub(super) fn noted(host: &Host, event: Event, approval: &Approval, by: &By) -> Noted {
    let settings = &host.settings.approvals;
    let pause = Pause {
        steps: settings.steps(),
        forgotten_after: seconds(settings.forget_denials),
        within: seconds(settings.denial_window),
        report: (event == Event::SignInNotMe).then(|| seconds(settings.not_me_pause)),
    };
    let begun = about(host, Event::PauseBegun, approval, by);
    let mut entry = about(host, event, approval, by);
    // How long people wait, for the overview.
    if event == Event::SignInApproved && approval.shown.step.is_none() {
        entry = entry.with("waited_ms", (host.now().millis() - approval.requested_at.millis()).max(0));
    }
    Noted { entry, pause: (pause, begun) }
}

/// Whose a name is.
struct Named {
    /// Who has it.
    known: Option<UserId>,
    /// The same, if they may sign in to the application and are not asked too often.
    asked: Option<UserId>,
    /// Whether they may sign in to the application.
    is_open: bool,
}

/// Finds whose a name is. The queries are the same for any name.
async fn whose(host: &Host, name: &LoginName, standing: Standing, application: Option<&Did>) -> Result<Named, Broken> {
    let user = host.store.user_by_login(name).await?;
    let open = match (&user, application) {
        (Some(user), None) => user.state == LifeState::Active,
        // A person without an account is asked, and told once they have shown who they are.
        (Some(user), Some(application)) => !matches!(access(host, user, application).await?, Access::Closed),
        (None, Some(application)) => {
            let nobody = UserId::new(host.now(), &*host.entropy);
            host.store.account_of(nobody, application).await?;
            false
        }
        (None, None) => false,
    };
    let known = user.map(|user| user.id);
    let limit = match standing {
        Standing::Known => &host.limits.known_browsers,
        Standing::Stale | Standing::Unknown => &host.limits.person,
    };
    let asked = known.filter(|user| open && limit.take(user, host.now()).is_ok());
    Ok(Named { known, asked, is_open: open })
}

/// A device's answer, as it came: the JSON that devices send.
#[derive(Clone, Debug, Deserialize)]
pub struct Proof {
    /// What the person decided.
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
    Ok(URL_SAFE_NO_PAD.decode(String::deserialize(text)?).unwrap_or_default())
}

/// What came of a device's answer.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The browser is let in.
    Approved,
    /// It is not.
    Denied,
    /// It is not, and requests reach no phone of the person for a while.
    NotMe,
    /// The number was wrong; it may be typed that often again.
    WrongNumber {
        /// How often a number may still be typed.
        attempts_left: u32,
        /// The unexpired request of the same user that has this number, if one has: pending, replaced or cancelled.
        other: Option<Box<Approval>>,
    },
    /// The signature is not this device's over what it was shown.
    BadProof,
    /// The device has a passkey, which must be shown as well: these are the options for the browser. Nothing is decided.
    PasskeyRequired(Value),
    /// What was shown is not the passkey's answer to the question that was put for this very approval. Nothing is decided.
    PasskeyRefused,
    /// The request was decided before.
    AlreadyDecided,
    /// The request's time is over.
    Expired,
    /// There is no such request for this person.
    Unknown,
}

/// Takes a device's answer. Whatever races, one answer counts.
pub async fn answer(
    host: &Host,
    device: &Device,
    id: ApprovalId,
    proof: &Proof,
    from: Origin,
) -> Result<Outcome, Broken> {
    let now = host.now();
    let found = host.store.approval(id).await?.filter(|approval| approval.user_id == Some(device.user_id));
    let Some(approval) = found else { return Ok(Outcome::Unknown) };
    match approval.stage_at(now) {
        ApprovalStage::Requested => {}
        // The user can still report an attacker's replaced or cancelled request, and a request that was denied first.
        ApprovalStage::Replaced
        | ApprovalStage::Cancelled
        | ApprovalStage::Conflicted
        | ApprovalStage::Denied
        | ApprovalStage::Failed(_)
            if proof.decision == Decision::NotMe && now < approval.expires_at => {}
        ApprovalStage::Expired => return Ok(Outcome::Expired),
        _ => return Ok(Outcome::AlreadyDecided),
    }
    let statement = statement(host, device, &approval, proof);
    if !device.key.verifies(&statement, &proof.signature) {
        tracing::warn!(approval = %id, device = %device.id, "a proof was refused: its signature is not over what was shown");
        return Ok(Outcome::BadProof);
    }
    let by = By::new(Actor::Device(device.id), from);
    let typed = MatchingNumber::parse(&proof.number);
    let number_fits = typed == Some(approval.number);
    let (verdict, event) = match proof.decision {
        Decision::NotMe => (Verdict::NotMe { device: device.id }, Event::SignInNotMe),
        Decision::Deny => (Verdict::Deny { device: device.id }, Event::SignInDenied),
        Decision::Approve if number_fits => {
            let (purpose, left) = (Purpose::Approve(&statement), approval.remaining(now));
            let (amr, shown) = match passkey::ask(host, device, purpose, proof.passkey.as_deref(), left, &by).await? {
                passkey::Asked::NoPasskey => (vec![Amr::Swk, Amr::User], None),
                passkey::Asked::Shown(shown) => (vec![Amr::Swk, Amr::User, Amr::Mfa], Some(shown)),
                passkey::Asked::Required(options) => return Ok(Outcome::PasskeyRequired(options)),
                passkey::Asked::Refused => return Ok(Outcome::PasskeyRefused),
            };
            (Verdict::Approve { device: device.id, amr, passkey: shown }, Event::SignInApproved)
        }
        Decision::Approve => {
            let number = Digest::of(proof.number.as_bytes());
            (Verdict::WrongNumber { device: device.id, number }, Event::SignInWrongNumber)
        }
    };
    let counted = host.store.answer_approval(id, verdict, noted(host, event, &approval, &by), now).await?;
    host.signals.send(Signal::Decided(id));
    if counted == Answer::Counted && proof.decision == Decision::NotMe && approval.shown.step.is_some() {
        end_console(host, &approval, &by).await?;
    }
    let outcome = match (counted, proof.decision) {
        (Answer::Counted, Decision::Approve) => Outcome::Approved,
        (Answer::Counted, Decision::Deny) => Outcome::Denied,
        (Answer::Counted, Decision::NotMe) => Outcome::NotMe,
        (Answer::WrongNumber { attempts_left }, _) => {
            let other = match typed {
                Some(number) => host.store.approval_with_number(device.user_id, id, number, now).await?,
                None => None,
            };
            tracing::info!(approval = %id, device = %device.id, attempts_left, "wrong number for an approval");
            return Ok(Outcome::WrongNumber { attempts_left, other: other.map(Box::new) });
        }
        (Answer::NoPasskey, _) => Outcome::PasskeyRefused,
        (Answer::Late, _) => Outcome::AlreadyDecided,
    };
    tracing::info!(approval = %id, device = %device.id, ?outcome, "approval answered");
    Ok(outcome)
}

/// Somebody took a step in the console that was not the person's: the session there is in other hands, and ends.
async fn end_console(host: &Host, approval: &Approval, by: &By) -> Result<(), Broken> {
    let login = host.store.login(approval.login_id, host.now()).await?;
    let Some(LoginRequest::Step(step)) = login.map(|login| login.request) else { return Ok(()) };
    let entry = audit::entry(host, Event::SessionEnded, by).about(step.user).with("session", step.session.to_string());
    host.store.end_session_of(step.user, step.session, entry, host.now()).await?;
    host.signals.send(Signal::LoggedOut);
    Ok(())
}

/// Ends the pause of a device's owner, because they say so. Whether there was one.
pub async fn lift_pause(host: &Host, device: &Device, from: Origin) -> Result<bool, Broken> {
    let by = By::new(Actor::Device(device.id), from);
    let entry = audit::entry(host, Event::PauseLifted, &by).about(device.user_id);
    Ok(host.store.lift_pause(device.user_id, entry, host.now()).await?)
}

/// The text that the device must have signed. It is made from the host's own record, never from what the device sent.
fn statement(host: &Host, device: &Device, approval: &Approval, proof: &Proof) -> String {
    let shown = &approval.shown;
    ApprovalStatement {
        issuer: &host.issuer,
        request: approval.id,
        device: device.id,
        application: application_identifier(shown.application.as_ref(), &host.issuer),
        application_name: &shown.application_name,
        step: shown.step.as_ref().map(|step| step.words.as_str()),
        account: &shown.account,
        place: &shown.place,
        browser: &shown.browser,
        expires: approval.expires_at,
        decision: proof.decision,
        number: &proof.number,
    }
    .text()
}
