//! A device's answer to an approval request. A device sends it directly or through an approval channel, which returns
//! it as `Evidence` (plugin contract). It consists of untrusted bytes until the signature by the device's key is
//! verified.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Deserializer};
use webauthn_rs::prelude::{PublicKeyCredential, RequestChallengeResponse};

use crate::domain::approvals::prompt::{Prompt, prompt_of};
use crate::domain::approvals::purpose;
use crate::domain::approvals::record::audit_note;
use crate::domain::devices::passkey;
use crate::domain::devices::passkey::AssertionCheck;
use crate::domain::{InternalError, Services};
use assent_model::approval::{Approval, ApprovalStage, MatchingNumber};
use assent_model::audit::{Actor, AuditContext, Event, Origin};
use assent_model::device::Device;
use assent_model::id::{ApprovalId, DeviceId};
use assent_model::language::Language;
use assent_model::passkey::PasskeyPurpose;
use assent_model::secret::Digest;
use assent_model::session::Amr;
use assent_model::statement::{ApprovalStatement, Binding, Decision, application_identifier};
use assent_plugin_host::Evidence;
use assent_store::{AnswerOutcome, DeviceAnswer};
use assent_telemetry::SPANS;

/// A device's answer. As JSON, it is the proof that an approval channel carries.
#[derive(Clone, Debug, Deserialize)]
pub struct DeviceProof {
    /// The user's decision.
    pub decision: Decision,
    /// The number that the user typed. Empty for a denial.
    #[serde(default)]
    pub number: String,
    /// The signature of the [`ApprovalStatement`]; base64url.
    #[serde(deserialize_with = "signature")]
    pub signature: Vec<u8>,
    /// The assertion of the device's passkey, if the device has one and the user approved.
    #[serde(default)]
    pub passkey: Option<Box<PublicKeyCredential>>,
    /// The language in which the device showed the request. A proof through a channel that names none is in English.
    #[serde(default)]
    pub language: Language,
    /// The digest of the browser cookie that came with the proof, in place of a number. A proof through a channel has
    /// none.
    #[serde(skip)]
    pub same_browser: Option<Digest>,
}

impl DeviceProof {
    /// Returns the signed value that binds the approval to the browser.
    fn binding(&self) -> Binding<'_> {
        match (self.same_browser, self.decision) {
            (Some(_), Decision::Approve) => Binding::SameBrowser,
            _ => Binding::Number(&self.number),
        }
    }
}

/// Decodes a signature. Invalid base64url becomes the empty signature, which never verifies.
fn signature<'de, D: Deserializer<'de>>(text: D) -> Result<Vec<u8>, D::Error> {
    Ok(URL_SAFE_NO_PAD
        .decode(String::deserialize(text)?)
        .unwrap_or_default())
}

/// The reason for which an answer has no effect.
#[derive(Debug)]
pub enum AnswerError {
    /// The number was wrong.
    NumberMismatch {
        /// The number of attempts that remain.
        attempts_left: u32,
        /// Another unexpired request of the same user with this number: pending, replaced or cancelled.
        other: Option<Box<Prompt>>,
    },
    /// The device is not in the waiting browser, so the user must type the number.
    OtherBrowser,
    /// The signature is not by this device, or not of the details of the request.
    BadProof,
    /// The device has a passkey, whose assertion is required too. The value has the options for the browser. The
    /// request remains pending.
    PasskeyRequired(Box<RequestChallengeResponse>),
    /// The assertion is not the passkey's response to the challenge for this approval. The request remains pending.
    PasskeyRefused,
    /// The request was decided before.
    AlreadyDecided,
    /// The request expired.
    Expired,
    /// There is no such request for this user.
    Unknown,
    /// The store failed, or the challenge for a passkey could not be created.
    Internal(InternalError),
}

impl<E: Into<InternalError>> From<E> for AnswerError {
    fn from(error: E) -> Self {
        Self::Internal(error.into())
    }
}

/// Processes a device's answer, and returns the decision that counts. Of concurrent answers, only one counts. A
/// decision that this device made before is returned again, because its response may have been lost.
///
/// # Errors
/// If the answer has no effect.
#[tracing::instrument(target = SPANS, skip_all, name = "approval.answer")]
pub async fn answer(
    services: &Services,
    device: &Device,
    id: ApprovalId,
    proof: &DeviceProof,
    from: Origin,
) -> Result<Decision, AnswerError> {
    let now = services.now();
    let decision = proof.decision;
    let found = services
        .store
        .approval(id)
        .await?
        .filter(|approval| approval.user_id == Some(device.user_id));
    let approval = found.ok_or(AnswerError::Unknown)?;
    match approval.stage_at(now) {
        ApprovalStage::Requested => {}
        // The user can still report an attacker's replaced or cancelled request, and a request that was denied first.
        ApprovalStage::Replaced
        | ApprovalStage::Cancelled
        | ApprovalStage::Conflicted
        | ApprovalStage::Denied
        | ApprovalStage::Failed(_)
            if decision == Decision::Report && now < approval.expires_at => {}
        ApprovalStage::Expired => return Err(AnswerError::Expired),
        _ => return repeated(services, device, approval, proof).await,
    }
    let (approval, statement) = signed_text(services, device, approval, proof).await?;
    if !device.key.verifies(&statement, &proof.signature) {
        tracing::warn!(approval = %id, device = %device.id, "approval proof rejected: invalid signature");
        return Err(AnswerError::BadProof);
    }
    let by = AuditContext::new(Actor::Device(device.id), from);
    let answer = verified_answer(services, device, &approval, proof, &statement, &by).await?;
    let event = match &answer {
        DeviceAnswer::Report { .. } => Event::SignInReported,
        DeviceAnswer::Deny { .. } => Event::SignInDenied,
        DeviceAnswer::Approve { .. } => Event::SignInApproved,
        DeviceAnswer::NumberMismatch { .. } => Event::NumberMatchFailed,
    };
    let mut note = audit_note(services, event, &approval, &by);
    if event == Event::SignInApproved && proof.same_browser.is_some() {
        note.entry = note.entry.with("same_browser", true);
    }
    let metrics = &services.metrics.approvals;
    let outcome = services
        .store
        .answer_approval(id, answer, note, now)
        .await?;
    let (result, outcome) = match outcome {
        AnswerOutcome::Counted => {
            if decision == Decision::Report {
                purpose::end_reported(services, &approval.subject, &by).await?;
                tracing::warn!(user = %device.user_id, approval = %id, "approval request reported by its user");
            }
            metrics.count_decision(&approval, event, services.now());
            (Ok(decision), decision.outcome())
        }
        AnswerOutcome::NumberMismatch { attempts_left } => {
            metrics.count_decision(&approval, event, services.now());
            tracing::info!(approval = %id, device = %device.id, attempts_left, "number mismatch");
            let other = other_with_number(services, device, id, proof).await?;
            return Err(AnswerError::NumberMismatch {
                attempts_left,
                other: other.map(Box::new),
            });
        }
        AnswerOutcome::NoPasskey => (Err(AnswerError::PasskeyRefused), "passkey_refused"),
        AnswerOutcome::Late if is_earlier(services, device, id, decision).await? => {
            (Ok(decision), decision.outcome())
        }
        AnswerOutcome::Late => (Err(AnswerError::AlreadyDecided), "already_decided"),
    };
    tracing::info!(approval = %id, device = %device.id, outcome, "approval answered");
    result
}

/// Returns a decision that this device made before, and whose response may have been lost. The device must prove it
/// again, and nothing changes.
async fn repeated(
    services: &Services,
    device: &Device,
    approval: Approval,
    proof: &DeviceProof,
) -> Result<Decision, AnswerError> {
    if !is_earlier(services, device, approval.id, proof.decision).await? {
        return Err(AnswerError::AlreadyDecided);
    }
    let (_, statement) = signed_text(services, device, approval, proof).await?;
    match device.key.verifies(&statement, &proof.signature) {
        true => Ok(proof.decision),
        false => Err(AnswerError::BadProof),
    }
}

/// Whether the device made this decision before.
async fn is_earlier(
    services: &Services,
    device: &Device,
    id: ApprovalId,
    decision: Decision,
) -> Result<bool, InternalError> {
    let earlier = services.store.decision_of_device(id, device.id).await?;
    Ok(earlier == Some(decision))
}

/// Returns the other unexpired request of the device's user with the number that the user typed for this one.
async fn other_with_number(
    services: &Services,
    device: &Device,
    but: ApprovalId,
    proof: &DeviceProof,
) -> Result<Option<Prompt>, InternalError> {
    let Some(number) = MatchingNumber::parse(&proof.number) else {
        return Ok(None);
    };
    let found = services
        .store
        .approval_with_number(device.user_id, but, number, services.now())
        .await?;
    match found {
        Some(other) => prompt_of(services, other, proof.language).await,
        None => Ok(None),
    }
}

/// Returns the answer of a proof with a valid signature.
async fn verified_answer(
    services: &Services,
    device: &Device,
    approval: &Approval,
    proof: &DeviceProof,
    statement: &str,
    by: &AuditContext,
) -> Result<DeviceAnswer, AnswerError> {
    let device_id = device.id;
    match proof.decision {
        Decision::Report => {
            return Ok(DeviceAnswer::Report {
                device: device_id,
                report: Box::new(purpose::new_report(services, approval)),
            });
        }
        Decision::Deny => return Ok(DeviceAnswer::Deny { device: device_id }),
        Decision::Approve => {}
    }
    if let Some(browser) = proof.same_browser {
        if !approval.is_sign_in_in(browser) {
            tracing::warn!(approval = %approval.id, device = %device_id, "approval rejected: other browser");
            return Err(AnswerError::OtherBrowser);
        }
    } else if approval.number.is_none() || MatchingNumber::parse(&proof.number) != approval.number {
        return Ok(DeviceAnswer::NumberMismatch {
            device: device_id,
            number: Digest::sha256(proof.number.as_bytes()),
        });
    }
    let challenge = PasskeyPurpose::Approve(statement);
    let left = approval.remaining(services.now());
    let assertion = proof.passkey.as_deref();
    let check = passkey::ask(services, device, challenge, assertion, left, by).await?;
    let (amr, passkey) = match check {
        AssertionCheck::NoPasskey => (vec![Amr::Swk, Amr::User], None),
        AssertionCheck::Shown(shown) => (vec![Amr::Swk, Amr::User, Amr::Mfa], Some(shown)),
        AssertionCheck::Required(options) => return Err(AnswerError::PasskeyRequired(options)),
        AssertionCheck::Refused => return Err(AnswerError::PasskeyRefused),
    };
    Ok(DeviceAnswer::Approve {
        device: device_id,
        amr,
        passkey,
    })
}

/// Returns the request, and the text that the device must have signed. The text is built from the server's own record,
/// never from the device's request. The summary of an action that changed or was executed is not stored any more, so
/// that its proof cannot be verified.
async fn signed_text(
    services: &Services,
    device: &Device,
    approval: Approval,
    proof: &DeviceProof,
) -> Result<(Approval, String), AnswerError> {
    let prompt = match proof.decision {
        // The text of a report has no summary.
        Decision::Report => Some(Prompt::new(approval, None, proof.language)),
        Decision::Approve | Decision::Deny => prompt_of(services, approval, proof.language).await?,
    };
    let Prompt {
        approval,
        browser,
        summary,
    } = prompt.ok_or(AnswerError::AlreadyDecided)?;
    let shown = &approval.shown;
    let text = ApprovalStatement {
        issuer: &services.issuer,
        request: approval.id,
        device: device.id,
        application: application_identifier(shown.application.as_ref(), &services.issuer),
        application_name: &shown.application_name,
        action: summary.as_deref(),
        account: &shown.account,
        place: &browser.place,
        browser: &browser.browser,
        expires: approval.expires_at,
        decision: proof.decision,
        binding: proof.binding(),
    }
    .text();
    Ok((approval, text))
}

/// The longest proof that is read, in bytes.
const LONGEST: usize = 4 << 10;

/// A device's answer as a channel carries it: the device's identifier, and the answer that it would send to this server
/// directly.
#[derive(Deserialize)]
struct CarriedProof {
    device: DeviceId,
    #[serde(flatten)]
    proof: DeviceProof,
}

/// The outcome of evidence that a channel returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum EvidenceOutcome {
    /// It decided the request.
    Decided,
    /// It changed nothing, because it is no valid proof or was too late. The log has the reason.
    Ignored,
}

/// Processes evidence that a channel sent on its own initiative.
///
/// # Errors
/// If the database fails, or the challenge for a passkey cannot be created.
pub async fn accept_evidence(
    services: &Services,
    channel: &str,
    evidence: &Evidence,
) -> Result<EvidenceOutcome, InternalError> {
    verify_evidence(services, channel, evidence, None).await
}

/// Processes evidence that a channel returned for this request and device. An answer to another request or from another
/// device is ignored.
///
/// # Errors
/// If the database fails, or the challenge for a passkey cannot be created.
pub async fn accept_answer(
    services: &Services,
    channel: &str,
    evidence: &Evidence,
    request: ApprovalId,
    device: DeviceId,
) -> Result<EvidenceOutcome, InternalError> {
    verify_evidence(services, channel, evidence, Some((request, device))).await
}

/// Verifies the proof as if the device had sent it directly. An invalid proof is a fault of the channel, and changes
/// nothing.
async fn verify_evidence(
    services: &Services,
    channel: &str,
    evidence: &Evidence,
    expected: Option<(ApprovalId, DeviceId)>,
) -> Result<EvidenceOutcome, InternalError> {
    let fault = |what: &str| {
        tracing::warn!(plugin = channel, reason = what, "channel proof rejected");
        Ok(EvidenceOutcome::Ignored)
    };
    if evidence.proof.len() > LONGEST {
        return fault("it is too long");
    }
    let Ok(request) = evidence.request_id.parse::<ApprovalId>() else {
        return fault("it does not specify a request");
    };
    let Ok(CarriedProof { device, proof }) = serde_json::from_slice(&evidence.proof) else {
        return fault("it cannot be read");
    };
    if expected.is_some_and(|expected| expected != (request, device)) {
        return fault("it belongs to another request or device");
    }
    let found = services
        .store
        .device(device)
        .await?
        .filter(|device| device.revoked_at.is_none());
    let Some(device) = found else {
        return fault("it does not come from an active device");
    };
    match answer(services, &device, request, &proof, Origin::NONE).await {
        Ok(_) => Ok(EvidenceOutcome::Decided),
        Err(AnswerError::BadProof | AnswerError::OtherBrowser) => {
            fault("its signature does not match the approval request")
        }
        Err(AnswerError::Unknown) => fault("the device's user has no such request"),
        Err(AnswerError::PasskeyRequired(_) | AnswerError::PasskeyRefused) => {
            fault("its device has a passkey, but the proof has no valid assertion of it")
        }
        Err(
            AnswerError::NumberMismatch { .. } | AnswerError::AlreadyDecided | AnswerError::Expired,
        ) => Ok(EvidenceOutcome::Ignored),
        Err(AnswerError::Internal(error)) => Err(error),
    }
}
