//! The approval request of a test sign-in, as one of its steps.

use serde_json::json;

use crate::domain::sign_in::access;
use crate::domain::sign_in::access::AccessDenied;
use crate::domain::sign_in::test_sign_in::record::record_step;
use crate::domain::{InternalError, Services, audit};
use assent_model::approval::Approval;
use assent_model::id::{TestSignInId, UserId};
use assent_model::test_sign_in::{StepNote, TestSignIn, TestSignInStep};
use assent_store::RequestOutcome;

/// An attempt to send an approval request.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// The user with the typed name.
    pub known: Option<UserId>,
    /// Whether the user may sign in, apart from the rate limits.
    pub is_open: bool,
    /// The result.
    pub outcome: RequestOutcome,
}

/// Records for a test sign-in whether a device received the request, or the reason why not. The login page never shows
/// this. The administrator who began the test sign-in sees it only for the own name. All other names, existing or
/// unknown, have the same result.
pub async fn record_approval_request(
    services: &Services,
    id: TestSignInId,
    approval: &Approval,
    attempt: Attempt,
) -> Result<(), InternalError> {
    let Some(test_sign_in) = services.store.test_sign_in(id).await? else {
        return Ok(());
    };
    let note = match attempt.outcome {
        RequestOutcome::NotOpen | RequestOutcome::TooMany | RequestOutcome::NumberTaken => {
            return Ok(());
        }
        _ if attempt.known != Some(test_sign_in.user) => {
            StepNote::bad("your device received no request: the name is not yours")
        }
        RequestOutcome::Prompted(_) => {
            StepNote::good("the device shows the request, and waits for the number").with(json!({
                "application": approval.shown.application_name,
                "place": approval.shown.browser.place,
                "browser": approval.shown.browser.browser,
            }))
        }
        RequestOutcome::NotPrompted => {
            missing_request_note(services, &test_sign_in, approval, attempt.is_open).await?
        }
    };
    record_step(services, id, TestSignInStep::ApprovalRequest, note).await
}

/// Returns the reason why the administrator's devices received no request.
async fn missing_request_note(
    services: &Services,
    test_sign_in: &TestSignIn,
    approval: &Approval,
    is_open: bool,
) -> Result<StepNote, InternalError> {
    let begin = "your devices received no request";
    if let Some(until) = services
        .store
        .cooldown_until(test_sign_in.user, approval.requested_at)
        .await?
    {
        let until = audit::moment_text(until);
        let detail = format!(
            "{begin} yet: requests are paused until {until}, because some were denied; resume them in your \
             authenticator, and the request arrives while the sign-in page waits"
        );
        return Ok(StepNote::bad(detail).with(json!({ "cooldown_until": until })));
    }
    let why = match (is_open, approval.user_id) {
        (false, _) => obstacle(services, test_sign_in)
            .await?
            .map_or("you may not sign in here", AccessDenied::words),
        (true, None) => "there were too many requests in a short time; try again in a few minutes",
        (true, Some(_)) => {
            "too many requests are pending on your device; decide them, or scan the QR code of the page"
        }
    };
    Ok(StepNote::bad(format!("{begin}: {why}")))
}

async fn obstacle(
    services: &Services,
    test_sign_in: &TestSignIn,
) -> Result<Option<AccessDenied>, InternalError> {
    match services.store.user(test_sign_in.user).await? {
        Some(user) => access::access_denial(services, &user, &test_sign_in.application).await,
        None => Ok(None),
    }
}
