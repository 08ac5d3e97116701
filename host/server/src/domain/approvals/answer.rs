//! A device's answer to an approval request. A device sends it directly or through an approval channel, which returns
//! it as `Evidence` (plugin contract). It consists of untrusted bytes until the signature by the device's key is
//! verified.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use webauthn_rs::prelude::{PublicKeyCredential, RequestChallengeResponse};

use crate::domain::approvals::prompt::{Prompt, prompt_of};
use crate::domain::approvals::purpose;
use crate::domain::approvals::purpose::PurposeText;
use crate::domain::approvals::receipt::{AnswerSource, UsedPasskey, receipt_of};
use crate::domain::approvals::record::audit_note;
use crate::domain::devices::passkey;
use crate::domain::devices::passkey::AssertionCheck;
use crate::domain::devices::passkey_schemas::PasskeyAssertion;
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::{InternalError, Services};
use assent_model::approval::{Approval, ApprovalStage, ApprovalSubject, MatchingNumber};
use assent_model::audit::{Actor, AuditContext, Event, Origin};
use assent_model::clock::Timestamp;
use assent_model::device::Device;
use assent_model::id::{ApprovalId, DeviceId};
use assent_model::language::Language;
use assent_model::passkey::PasskeyPurpose;
use assent_model::receipt::content::NewReceipt;
use assent_model::secret::Digest;
use assent_model::session::Amr;
use assent_model::statement::{ApprovalStatement, Binding, Decision, application_identifier};
use assent_plugin_host::Evidence;
use assent_store::{AnswerOutcome, DeviceAnswer};
use assent_telemetry::SPANS;

/// The user's decision about a request, with its proof.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DecisionProof {
    pub(crate) decision: Decision,
    /// The typed number: two digits, or up to four of a back-channel request; empty unless the user approves a request
    /// with a number.
    #[serde(default)]
    #[schema(required = false)]
    pub number: String,
    /// Whether the user approves without a number, because the sign-in is in the browser of the device: the call has
    /// the browser cookie, and the statement says so in place of the number.
    #[serde(default)]
    #[schema(required = false)]
    pub same_browser: bool,
    /// The signature of the approval statement: ECDSA with SHA-256, `r` and `s` of 32 bytes each, base64url.
    pub signature: String,
    /// The assertion of the device's passkey, if it has one and the user approves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PasskeyAssertion>)]
    pub passkey: Option<Box<PublicKeyCredential>>,
}

/// The surroundings of an answer.
#[derive(Clone, Debug)]
pub struct AnswerContext {
    /// The sender.
    pub origin: Origin,
    /// The language in which the device showed the request.
    pub language: Language,
    /// The digest of the browser cookie that came with the proof. A proof through a channel has none.
    pub browser: Option<Digest>,
}

impl DecisionProof {
    /// Returns the signed value that binds the approval to the browser.
    fn binding(&self) -> Binding<'_> {
        match (self.same_browser, self.decision) {
            (true, Decision::Approve) => Binding::SameBrowser,
            _ => Binding::Number(&self.number),
        }
    }

    /// Whether the device signed this statement. A text that is not base64url is no valid signature.
    fn is_signed_by(&self, device: &Device, statement: &str) -> bool {
        URL_SAFE_NO_PAD
            .decode(&self.signature)
            .is_ok_and(|signature| device.key.verifies(statement, &signature))
    }
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
    /// The application accepts only approvals with a passkey, and the device has none. The request remains pending.
    PasskeyMissing,
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
    proof: &DecisionProof,
    context: AnswerContext,
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
        _ => return repeat_decision(services, device, approval, proof, context.language).await,
    }
    let language = context.language;
    let (approval, statement) = signed_text(services, device, approval, proof, language).await?;
    if !proof.is_signed_by(device, &statement) {
        tracing::warn!(approval = %id, device = %device.id, "approval proof rejected: invalid signature");
        return Err(AnswerError::BadProof);
    }
    let by = AuditContext::new(Actor::Device(device.id), context.origin);
    let browser = context.browser;
    let answer =
        verified_answer(services, device, &approval, proof, &statement, browser, &by).await?;
    let event = match &answer {
        DeviceAnswer::Report(_) => Event::SignInReported,
        DeviceAnswer::Deny => Event::SignInDenied,
        DeviceAnswer::Approve { .. } => Event::SignInApproved,
        DeviceAnswer::NumberMismatch(_) => Event::NumberMatchFailed,
    };
    let mut note = audit_note(services, event, &approval, &by);
    if event == Event::SignInApproved && proof.same_browser {
        note.entry = note.entry.with("same_browser", true);
    }
    let receipt =
        receipt_of_answer(services, device, &approval, proof, &statement, &answer, now).await?;
    let note = note.with_receipt(receipt);
    let metrics = &services.metrics.approvals;
    let outcome = services
        .store
        .answer_approval(id, device.id, answer, note, now)
        .await?;
    let (result, outcome) = match outcome {
        AnswerOutcome::Counted => {
            if decision == Decision::Report {
                purpose::end_reported(services, &approval.subject, &by).await?;
                tracing::warn!(user = %device.user_id, approval = %id, "approval request reported by its user");
            }
            if matches!(
                approval.subject,
                ApprovalSubject::Backchannel { .. } | ApprovalSubject::SecondApproval { .. }
            ) {
                services.wakeups.send(Wakeup::BackchannelDecided);
            }
            metrics.count_decision(&approval, event, services.now());
            (Ok(decision), decision.outcome().as_str())
        }
        AnswerOutcome::NumberMismatch { attempts_left } => {
            metrics.count_decision(&approval, event, services.now());
            tracing::info!(approval = %id, device = %device.id, attempts_left, "number mismatch");
            let other = other_with_number(services, device, id, proof, language).await?;
            return Err(AnswerError::NumberMismatch {
                attempts_left,
                other: other.map(Box::new),
            });
        }
        AnswerOutcome::NoPasskey => (Err(AnswerError::PasskeyRefused), "passkey_refused"),
        AnswerOutcome::Late if is_earlier(services, device, id, decision).await? => {
            (Ok(decision), decision.outcome().as_str())
        }
        AnswerOutcome::Late => (Err(AnswerError::AlreadyDecided), "already_decided"),
    };
    tracing::info!(approval = %id, device = %device.id, outcome, "approval answered");
    result
}

/// Returns the receipt of a verified answer. A wrong number decides nothing, so it has none.
async fn receipt_of_answer(
    services: &Services,
    device: &Device,
    approval: &Approval,
    proof: &DecisionProof,
    statement: &str,
    answer: &DeviceAnswer,
    now: Timestamp,
) -> Result<Option<NewReceipt>, InternalError> {
    let used = match answer {
        DeviceAnswer::NumberMismatch(_) => return Ok(None),
        DeviceAnswer::Approve { passkey, .. } => passkey.as_deref(),
        DeviceAnswer::Deny | DeviceAnswer::Report(_) => None,
    };
    let passkey = used
        .zip(proof.passkey.as_deref())
        .map(|(used, assertion)| UsedPasskey {
            assertion,
            credential: &used.credential,
        });
    let source = AnswerSource::Device {
        device,
        statement,
        signature: &proof.signature,
        passkey,
    };
    receipt_of(services, approval, proof.decision, source, now).await
}

/// Returns a decision that this device made before, and whose response may have been lost. The device must prove it
/// again, and nothing changes.
async fn repeat_decision(
    services: &Services,
    device: &Device,
    approval: Approval,
    proof: &DecisionProof,
    language: Language,
) -> Result<Decision, AnswerError> {
    if !is_earlier(services, device, approval.id, proof.decision).await? {
        return Err(AnswerError::AlreadyDecided);
    }
    let (_, statement) = signed_text(services, device, approval, proof, language).await?;
    match proof.is_signed_by(device, &statement) {
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
    proof: &DecisionProof,
    language: Language,
) -> Result<Option<Prompt>, InternalError> {
    let Some(number) = MatchingNumber::parse(&proof.number) else {
        return Ok(None);
    };
    let found = services
        .store
        .approval_with_number(device.user_id, but, number, services.now())
        .await?;
    match found {
        Some(other) => prompt_of(services, other, language).await,
        None => Ok(None),
    }
}

/// Returns the answer of a proof with a valid signature of this statement.
async fn verified_answer(
    services: &Services,
    device: &Device,
    approval: &Approval,
    proof: &DecisionProof,
    statement: &str,
    browser: Option<Digest>,
    by: &AuditContext,
) -> Result<DeviceAnswer, AnswerError> {
    match proof.decision {
        Decision::Report => {
            let report = purpose::new_report(services, approval);
            return Ok(DeviceAnswer::Report(Box::new(report)));
        }
        Decision::Deny => return Ok(DeviceAnswer::Deny),
        Decision::Approve => {}
    }
    if proof.same_browser {
        if !browser.is_some_and(|browser| approval.is_sign_in_in(browser)) {
            tracing::warn!(approval = %approval.id, device = %device.id, "approval rejected: other browser");
            return Err(AnswerError::OtherBrowser);
        }
    } else if !approval.accepts_number(&proof.number) {
        let number = Digest::sha256(proof.number.as_bytes());
        return Ok(DeviceAnswer::NumberMismatch(number));
    }
    let challenge = PasskeyPurpose::Approve(statement);
    let left = approval.remaining(services.now());
    let assertion = proof.passkey.as_deref();
    let check = passkey::ask(services, device, challenge, assertion, left, by).await?;
    let (amr, passkey) = match check {
        AssertionCheck::NoPasskey if approval.needs_passkey() => {
            tracing::info!(approval = %approval.id, device = %device.id, "approval rejected: no passkey");
            return Err(AnswerError::PasskeyMissing);
        }
        AssertionCheck::NoPasskey => (vec![Amr::Swk, Amr::User], None),
        AssertionCheck::Shown(shown) => (vec![Amr::Swk, Amr::User, Amr::Mfa], Some(shown)),
        AssertionCheck::Required(options) => return Err(AnswerError::PasskeyRequired(options)),
        AssertionCheck::Refused => return Err(AnswerError::PasskeyRefused),
    };
    Ok(DeviceAnswer::Approve { amr, passkey })
}

/// Returns the request, and the text that the device must have signed. The text is built from the server's own record,
/// never from the device's request. The summary of an action that changed or was executed is not stored any more, so
/// that its proof cannot be verified.
async fn signed_text(
    services: &Services,
    device: &Device,
    approval: Approval,
    proof: &DecisionProof,
    language: Language,
) -> Result<(Approval, String), AnswerError> {
    let prompt = match proof.decision {
        // The text of a report has none of the purpose.
        Decision::Report => Some(Prompt::new(approval, PurposeText::SignIn, language)),
        Decision::Approve | Decision::Deny => prompt_of(services, approval, language).await?,
    };
    let Prompt {
        approval,
        browser,
        text: purpose,
        details,
    } = prompt.ok_or(AnswerError::AlreadyDecided)?;
    let shown = &approval.shown;
    let text = ApprovalStatement {
        issuer: &services.issuer,
        request: approval.id,
        device: device.id,
        application: application_identifier(shown.application.as_ref(), &services.issuer),
        application_name: &shown.application_name,
        subject: purpose.statement(),
        details: &details,
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
    /// A proof without a language is in English.
    #[serde(default)]
    language: Language,
    #[serde(flatten)]
    proof: DecisionProof,
}

/// Processes evidence that a channel sent on its own initiative. Returns the decision that counts. `None` if the
/// evidence changed nothing, because it is no valid proof or was too late: the log has the reason.
///
/// # Errors
/// If the database fails, or the challenge for a passkey cannot be created.
pub async fn accept_evidence(
    services: &Services,
    channel: &str,
    evidence: &Evidence,
) -> Result<Option<Decision>, InternalError> {
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
) -> Result<Option<Decision>, InternalError> {
    verify_evidence(services, channel, evidence, Some((request, device))).await
}

/// Verifies the proof as if the device had sent it directly. An invalid proof is a fault of the channel, and changes
/// nothing.
async fn verify_evidence(
    services: &Services,
    channel: &str,
    evidence: &Evidence,
    expected: Option<(ApprovalId, DeviceId)>,
) -> Result<Option<Decision>, InternalError> {
    let fault = |what: &str| {
        tracing::warn!(plugin = channel, reason = what, "channel proof rejected");
        Ok(None)
    };
    if evidence.proof.len() > LONGEST {
        return fault("it is too long");
    }
    let Ok(request) = evidence.request_id.parse::<ApprovalId>() else {
        return fault("it does not specify a request");
    };
    let Ok(CarriedProof {
        device,
        language,
        mut proof,
    }) = serde_json::from_slice(&evidence.proof)
    else {
        return fault("it cannot be read");
    };
    // A channel is not the browser that waits.
    proof.same_browser = false;
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
    let context = AnswerContext {
        origin: Origin::NONE,
        language,
        browser: None,
    };
    match answer(services, &device, request, &proof, context).await {
        Ok(decision) => Ok(Some(decision)),
        Err(AnswerError::BadProof | AnswerError::OtherBrowser) => {
            fault("its signature does not match the approval request")
        }
        Err(AnswerError::Unknown) => fault("the device's user has no such request"),
        Err(AnswerError::PasskeyRequired(_) | AnswerError::PasskeyRefused) => {
            fault("its device has a passkey, but the proof has no valid assertion of it")
        }
        Err(AnswerError::PasskeyMissing) => {
            fault("the application accepts only approvals with a passkey, and the device has none")
        }
        Err(
            AnswerError::NumberMismatch { .. } | AnswerError::AlreadyDecided | AnswerError::Expired,
        ) => Ok(None),
        Err(AnswerError::Internal(error)) => Err(error),
    }
}
