//! Approvals: asking the phone, and taking its answer.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Deserializer};

use super::account::{Access, access};
use super::signals::Signal;
use super::{Broken, Host, channels, seconds};
use crate::id::{ApprovalId, Did, UserId};
use crate::model::approval::{Approval, ApprovalStage, MatchingNumber, NUMBER_ATTEMPTS, Shown};
use crate::model::device::Device;
use crate::model::login::{BrowserContext, Login};
use crate::model::name::LoginName;
use crate::model::session::Amr;
use crate::model::statement::{ApprovalStatement, Decision, application_identifier};
use crate::model::user::{LifeState, User};
use crate::secret::Digest;
use crate::store::{Answer, Verdict};

/// Asks the phone of whoever has this name.
///
/// A name that belongs to nobody, or to somebody who may not sign in, gets the same page, the same queries and the
/// same two minutes; only no phone is asked. So nobody learns from the answer who exists. `false` if the login already
/// waits for an approval or was answered.
pub async fn ask(host: &Arc<Host>, login: &Login, name: &LoginName, context: BrowserContext) -> Result<bool, Broken> {
    let now = host.now();
    let user = eligible(host, name, login.request.application()).await?;
    let application = match login.request.application() {
        Some(id) => host.store.registered(id).await?.map(|application| application.name().to_owned()),
        None => None,
    };
    let approval = Approval {
        id: ApprovalId::new(now, &*host.entropy),
        login_id: login.id,
        user_id: user.as_ref().map(|user| user.id),
        name_digest: Digest::of(name.as_str().as_bytes()),
        number: MatchingNumber::random(&*host.entropy),
        shown: Shown {
            application: login.request.application().cloned(),
            application_name: application.unwrap_or_else(|| host.settings.operator.clone()),
            account: name.to_string(),
            place: context.place,
            browser: context.browser,
        },
        requested_at: now,
        expires_at: now + seconds(host.settings.lifetimes.approval),
        attempts_left: NUMBER_ATTEMPTS,
        stage: ApprovalStage::Requested,
    };
    let asked = host.store.request_approval(approval.clone()).await?;
    tracing::info!(login = %login.id, approval = %approval.id, asked, "approval requested");
    if let (true, Some(user)) = (asked, user) {
        host.signals.send(Signal::Asked(user.id));
        // The browser does not wait for the channels: the phone finds the request by asking too.
        let trust = channels::trusted(&login.request);
        tokio::spawn(channels::carry(Arc::clone(host), user.id, approval, trust));
    }
    Ok(asked)
}

/// The person with this name, if they may sign in to the application. The queries are the same for any name.
async fn eligible(host: &Host, name: &LoginName, application: Option<&Did>) -> Result<Option<User>, Broken> {
    let user = host.store.user_by_login(name).await?;
    let Some(application) = application else {
        return Ok(user.filter(|user| user.state == LifeState::Active));
    };
    match user {
        Some(user) => {
            // A person without an account is asked, and told once they have shown who they are.
            let closed = matches!(access(host, &user, application).await?, Access::Closed);
            Ok((!closed).then_some(user))
        }
        None => {
            let nobody = UserId::new(host.now(), &*host.entropy);
            host.store.account_of(nobody, application).await?;
            Ok(None)
        }
    }
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
}

/// What is no base64url is no signature either, and verifies as none.
fn signature<'de, D: Deserializer<'de>>(text: D) -> Result<Vec<u8>, D::Error> {
    Ok(URL_SAFE_NO_PAD.decode(String::deserialize(text)?).unwrap_or_default())
}

/// What came of a device's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The browser is let in.
    Approved,
    /// It is not.
    Denied,
    /// The number was wrong; it may be typed that often again.
    WrongNumber {
        /// How often a number may still be typed.
        attempts_left: u32,
    },
    /// The signature is not this device's over what it was shown.
    BadProof,
    /// The request was decided before.
    AlreadyDecided,
    /// The request's time is over.
    Expired,
    /// There is no such request for this person.
    Unknown,
}

/// Takes a device's answer. Whatever races, one answer counts.
pub async fn answer(host: &Host, device: &Device, id: ApprovalId, proof: &Proof) -> Result<Outcome, Broken> {
    let now = host.now();
    let found = host.store.approval(id).await?.filter(|approval| approval.user_id == Some(device.user_id));
    let Some(approval) = found else { return Ok(Outcome::Unknown) };
    match approval.stage_at(now) {
        ApprovalStage::Requested => {}
        ApprovalStage::Expired => return Ok(Outcome::Expired),
        _ => return Ok(Outcome::AlreadyDecided),
    }
    let statement = statement(host, device, &approval, proof);
    if !device.key.verifies(&statement, &proof.signature) {
        tracing::warn!(approval = %id, device = %device.id, "a proof was refused: its signature is not over what was shown");
        return Ok(Outcome::BadProof);
    }
    let number_fits = MatchingNumber::parse(&proof.number) == Some(approval.number);
    let verdict = match proof.decision {
        Decision::Deny => Verdict::Deny { device: device.id },
        Decision::Approve if number_fits => Verdict::Approve { device: device.id, amr: vec![Amr::Swk, Amr::User] },
        Decision::Approve => Verdict::WrongNumber { device: device.id, number: Digest::of(proof.number.as_bytes()) },
    };
    let counted = host.store.answer_approval(id, verdict, now).await?;
    host.signals.send(Signal::Decided(id));
    let outcome = match (counted, proof.decision) {
        (Answer::Counted, Decision::Approve) => Outcome::Approved,
        (Answer::Counted, Decision::Deny) => Outcome::Denied,
        (Answer::WrongNumber { attempts_left }, _) => Outcome::WrongNumber { attempts_left },
        (Answer::Late, _) => Outcome::AlreadyDecided,
    };
    tracing::info!(approval = %id, device = %device.id, ?outcome, "approval answered");
    Ok(outcome)
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
        account: &shown.account,
        place: &shown.place,
        browser: &shown.browser,
        expires: approval.expires_at,
        decision: proof.decision,
        number: &proof.number,
    }
    .text()
}
