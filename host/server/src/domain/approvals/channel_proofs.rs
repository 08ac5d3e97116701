//! Channel proofs: the answers of devices that approval channels return (`Evidence` in the plugin contract). They are
//! untrusted bytes until the signature by the device's key is verified.

use serde::Deserialize;

use crate::domain::approvals::answer;
use crate::domain::approvals::answer::{DecisionResult, DeviceProof};
use crate::domain::{InternalError, Services};
use assent_model::audit::Origin;
use assent_model::id::{ApprovalId, DeviceId};
use assent_plugin_host::Evidence;

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
    match answer::answer(services, &device, request, &proof, Origin::NONE).await? {
        DecisionResult::Approved | DecisionResult::Denied | DecisionResult::Reported => {
            Ok(EvidenceOutcome::Decided)
        }
        DecisionResult::BadProof | DecisionResult::OtherBrowser => {
            fault("its signature does not match the approval request")
        }
        DecisionResult::Unknown => fault("the device's user has no such request"),
        DecisionResult::PasskeyRequired(_) | DecisionResult::PasskeyRefused => {
            fault("its device has a passkey, but the proof has no valid assertion of it")
        }
        DecisionResult::NumberMismatch { .. }
        | DecisionResult::AlreadyDecided
        | DecisionResult::Expired => Ok(EvidenceOutcome::Ignored),
    }
}
