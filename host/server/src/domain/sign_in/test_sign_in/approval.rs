//! The steps of a test sign-in that result from its approval: the request to the device, and the answer.

use serde_json::json;

use crate::domain::sign_in::login;
use crate::domain::sign_in::login::view::{LoginEnd, LoginView};
use crate::domain::sign_in::test_sign_in::record::RecordedStep;
use crate::domain::{InternalError, Services};
use assent_model::approval::{Approval, ApprovalStage};
use assent_model::clock::Timestamp;
use assent_model::name::LoginName;
use assent_model::test_sign_in::{StepNote, TestSignIn, TestSignInStep};

/// Returns the steps that result from the sign-in's own rows.
pub(super) async fn of_login(
    services: &Services,
    test_sign_in: &TestSignIn,
) -> Result<Vec<RecordedStep>, InternalError> {
    let Some(login) = test_sign_in.login else {
        return Ok(Vec::new());
    };
    let approval = match login::view::view(services, login, test_sign_in.browser).await? {
        LoginView::Waiting(_, approval) => Some(approval),
        view => match view.login().map(|login| login.id) {
            Some(id) => services.store.approval_of_login(id).await?,
            None => None,
        },
    };
    let Some(approval) = approval else {
        return Ok(Vec::new());
    };
    // The administrator who began the test sign-in must not see data of another user, or whether the other user exists.
    if !is_own(services, test_sign_in, &approval).await? {
        let note = StepNote::bad(
            "the typed name is not yours; only the administrator who started the test sign-in can complete it",
        );
        return Ok(vec![(
            TestSignInStep::Identification,
            approval.requested_at,
            note,
        )]);
    }
    Ok(of_approval(&approval, services.now()))
}

/// Returns whether the typed name belongs to the administrator who began the test sign-in.
async fn is_own(
    services: &Services,
    test_sign_in: &TestSignIn,
    approval: &Approval,
) -> Result<bool, InternalError> {
    if let Some(user) = approval.user_id {
        return Ok(user == test_sign_in.user);
    }
    let Ok(name) = approval.shown.account.parse::<LoginName>() else {
        return Ok(false);
    };
    Ok(services
        .store
        .user_by_login(&name)
        .await?
        .is_some_and(|user| user.id == test_sign_in.user))
}

fn of_approval(approval: &Approval, now: Timestamp) -> Vec<RecordedStep> {
    let how = match (approval.number, approval.scanned_by) {
        (None, _) => "a passkey was used on the page",
        (Some(_), Some(_)) => "the device scanned the QR code of the page",
        (Some(_), None) => "the name was typed",
    };
    let named = StepNote::good(how).with(json!({ "name": approval.shown.account }));
    let mut steps = vec![(TestSignInStep::Identification, approval.requested_at, named)];
    let ended = |at: Timestamp, ended: LoginEnd| {
        (TestSignInStep::Approval, at, StepNote::bad(of_end(ended)))
    };
    let step = match approval.stage_at(now) {
        ApprovalStage::Requested => None,
        // The page continues to wait. An earlier step has the reason why a request was not sent.
        ApprovalStage::Withdrawn | ApprovalStage::Reported => None,
        ApprovalStage::Replaced => Some(ended(approval.requested_at, LoginEnd::Replaced)),
        ApprovalStage::Approved { by, at } => {
            let authentication = by.authentication(at);
            let data = json!({
                "amr": authentication.amr,
                "acr": authentication.acr().as_str(),
                "approval_time_ms": at.millis() - approval.requested_at.millis(),
            });
            Some((
                TestSignInStep::Approval,
                at,
                StepNote::good("approved, and the proof was verified").with(data),
            ))
        }
        ApprovalStage::Denied => Some(ended(approval.requested_at, LoginEnd::Denied)),
        ApprovalStage::Expired => Some(ended(approval.expires_at, LoginEnd::Expired)),
        ApprovalStage::Cancelled => Some(ended(approval.requested_at, LoginEnd::Cancelled)),
        ApprovalStage::Conflicted => Some(ended(approval.requested_at, LoginEnd::Conflict)),
        ApprovalStage::Failed(_) => Some(ended(approval.requested_at, LoginEnd::NumberMismatch)),
    };
    steps.extend(step);
    steps
}

const fn of_end(ended: LoginEnd) -> &'static str {
    match ended {
        LoginEnd::Denied => "denied on the device",
        LoginEnd::Expired => "expired without an approval",
        LoginEnd::Cancelled => "cancelled in the browser",
        LoginEnd::Conflict => {
            "another sign-in with this name started in another browser, and a channel without letters may carry it"
        }
        LoginEnd::NumberMismatch => "the number was wrong too often",
        LoginEnd::Replaced => "a newer request of the same browser replaced it",
    }
}
