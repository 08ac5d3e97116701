//! The steps of a test sign-in that its approval makes: whether the phone was asked, and what was answered there.

use serde_json::json;

use crate::domain::sign_in::access;
use crate::domain::sign_in::access::Obstacle;
use crate::domain::sign_in::login;
use crate::domain::sign_in::login::{Ended, View};
use crate::domain::sign_in::test_sign_in::{Noted, note};
use crate::domain::{Host, InternalError, audit};
use assent_model::approval::{Approval, ApprovalStage};
use assent_model::clock::Timestamp;
use assent_model::id::{TestSignInId, UserId};
use assent_model::name::LoginName;
use assent_model::test_sign_in::{StepNote, TestSignIn, TestSignInStep};
use assent_store::RequestOutcome;

/// An attempt to ask a phone.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// Who has the name.
    pub known: Option<UserId>,
    /// Whether they may sign in, however often they are asked.
    pub is_open: bool,
    /// What came of it.
    pub asked: RequestOutcome,
}

/// Notes for a test sign-in whether the phone was asked, and why not. The login's page tells that to nobody; whoever began the test sign-in is
/// told it of their own name, and of all other names, and those that nobody has, the same.
pub async fn asked(
    host: &Host,
    id: TestSignInId,
    approval: &Approval,
    attempt: Attempt,
) -> Result<(), InternalError> {
    let Some(test_sign_in) = host.store.test_sign_in(id).await? else {
        return Ok(());
    };
    let told = match attempt.asked {
        RequestOutcome::NotOpen | RequestOutcome::TooMany => return Ok(()),
        _ if attempt.known != Some(test_sign_in.user) => {
            StepNote::bad("your phone was not asked: the name is not yours")
        }
        RequestOutcome::Person(_) => {
            StepNote::good("the phone shows the request, and waits for the number").with(json!({
                "application": approval.shown.application_name,
                "place": approval.shown.place,
                "browser": approval.shown.browser,
            }))
        }
        RequestOutcome::Nobody => unasked(host, &test_sign_in, approval, attempt.is_open).await?,
    };
    note(host, id, TestSignInStep::Asked, told).await
}

/// Why no request went to the phone of whoever began the test sign-in.
async fn unasked(
    host: &Host,
    test_sign_in: &TestSignIn,
    approval: &Approval,
    is_open: bool,
) -> Result<StepNote, InternalError> {
    let begin = "no request went to your phone";
    if let Some(until) = host
        .store
        .cooldown_until(test_sign_in.user, approval.requested_at)
        .await?
    {
        let until = audit::moment_text(until);
        let detail = format!(
            "{begin}: requests to it are paused until {until}, since some were denied; wait, or lift the pause in your \
             authenticator, and begin the sign-in again"
        );
        return Ok(StepNote::bad(detail).with(json!({ "cooldown_until": until })));
    }
    let why = match (is_open, approval.user_id) {
        (false, _) => obstacle(host, test_sign_in)
            .await?
            .map_or("you may not sign in here", Obstacle::words),
        (true, None) => "you were asked too often in a short time; try again in a few minutes",
        (true, Some(_)) => {
            "too many requests wait on your phone; answer them, or scan the code of the page"
        }
    };
    Ok(StepNote::bad(format!("{begin}: {why}")))
}

async fn obstacle(
    host: &Host,
    test_sign_in: &TestSignIn,
) -> Result<Option<Obstacle>, InternalError> {
    match host.store.user(test_sign_in.user).await? {
        Some(user) => access::kept_out(host, &user, &test_sign_in.application).await,
        None => Ok(None),
    }
}

/// The steps that the login's own rows tell of.
pub(super) async fn of_login(
    host: &Host,
    test_sign_in: &TestSignIn,
) -> Result<Vec<Noted>, InternalError> {
    let Some(login) = test_sign_in.login else {
        return Ok(Vec::new());
    };
    let approval = match login::view(host, login, test_sign_in.browser).await? {
        View::Waiting(_, approval) => Some(approval),
        view => match view.login().map(|login| login.id) {
            Some(id) => host.store.approval_of_login(id).await?,
            None => None,
        },
    };
    let Some(approval) = approval else {
        return Ok(Vec::new());
    };
    // What is of somebody else is none of theirs who began the test sign-in, nor whether there is somebody.
    if !is_own(host, test_sign_in, &approval).await? {
        let note = StepNote::bad(
            "another name than yours was given; only the administrator who began the test sign-in can complete it",
        );
        return Ok(vec![(TestSignInStep::Named, approval.requested_at, note)]);
    }
    Ok(of_approval(&approval, host.now()))
}

/// Whether who began the test sign-in is meant by the name that was given.
async fn is_own(
    host: &Host,
    test_sign_in: &TestSignIn,
    approval: &Approval,
) -> Result<bool, InternalError> {
    if let Some(user) = approval.user_id {
        return Ok(user == test_sign_in.user);
    }
    let Ok(name) = approval.shown.account.parse::<LoginName>() else {
        return Ok(false);
    };
    Ok(host
        .store
        .user_by_login(&name)
        .await?
        .is_some_and(|user| user.id == test_sign_in.user))
}

fn of_approval(approval: &Approval, now: Timestamp) -> Vec<Noted> {
    let scanned = approval.scanned_by.is_some();
    let how = if scanned {
        "the phone scanned the code of the page"
    } else {
        "the name was typed"
    };
    let named = StepNote::good(how).with(json!({ "name": approval.shown.account }));
    let mut steps = vec![(TestSignInStep::Named, approval.requested_at, named)];
    let ended =
        |at: Timestamp, ended: Ended| (TestSignInStep::Approved, at, StepNote::bad(of_end(ended)));
    let step = match approval.stage_at(now) {
        ApprovalStage::Requested => None,
        // The page continues to wait. An earlier step has the reason why a request was not sent.
        ApprovalStage::Withdrawn | ApprovalStage::Reported => None,
        ApprovalStage::Replaced => Some(ended(approval.requested_at, Ended::Replaced)),
        ApprovalStage::Approved { by, at } => {
            let authentication = by.authentication(at);
            let data = json!({
                "amr": authentication.amr,
                "acr": authentication.acr().as_str(),
                "waited_ms": at.millis() - approval.requested_at.millis(),
            });
            Some((
                TestSignInStep::Approved,
                at,
                StepNote::good("approved, and the proof was verified").with(data),
            ))
        }
        ApprovalStage::Denied => Some(ended(approval.requested_at, Ended::Denied)),
        ApprovalStage::Expired => Some(ended(approval.expires_at, Ended::Expired)),
        ApprovalStage::Cancelled => Some(ended(approval.requested_at, Ended::Cancelled)),
        ApprovalStage::Conflicted => Some(ended(approval.requested_at, Ended::Conflict)),
        ApprovalStage::Failed(_) => Some(ended(approval.requested_at, Ended::WrongNumber)),
    };
    steps.extend(step);
    steps
}

const fn of_end(ended: Ended) -> &'static str {
    match ended {
        Ended::Denied => "denied on the phone",
        Ended::Expired => "nobody approved in time",
        Ended::Cancelled => "given up in the browser",
        Ended::Conflict => {
            "another sign-in with this name started in another browser, and a channel without letters may carry it"
        }
        Ended::WrongNumber => "the number was wrong too often",
        Ended::Replaced => "a newer request of the same browser took its place",
    }
}
