//! How far a login has come, as its browser finds it.

use crate::domain::approvals::channels;
use crate::domain::{InternalError, Services};
use assent_model::approval::{Approval, ApprovalStage};
use assent_model::id::{LoginId, SessionId};
use assent_model::login::{Login, LoginStage};
use assent_model::secret::Digest;
use assent_model::session::Authentication;

/// A login as the browser that began it finds it.
#[derive(Debug)]
pub enum LoginView {
    /// The person has not yet said who they are.
    Identify(Login),
    /// The person was signed in already, in this session; whether it is still this browser's, and enough, is not known.
    SignedIn(Login, SessionId),
    /// The phone was asked.
    Waiting(Login, Approval),
    /// Nothing came of the approval.
    Ended(Login, LoginEnd),
    /// The person approved; the login can be answered.
    Approved(Login, GivenApproval),
    /// The application was answered before.
    Answered(Login),
    /// There is no such login in this browser.
    Unknown,
}

impl LoginView {
    /// The login, if there is one in this browser.
    pub const fn login(&self) -> Option<&Login> {
        match self {
            Self::Identify(login)
            | Self::SignedIn(login, _)
            | Self::Waiting(login, _)
            | Self::Ended(login, _)
            | Self::Approved(login, _)
            | Self::Answered(login) => Some(login),
            Self::Unknown => None,
        }
    }
}

/// Why nothing came of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginEnd {
    /// The person denied.
    Denied,
    /// Nobody answered in time, or nobody could.
    Expired,
    /// The person gave up in the browser.
    Cancelled,
    /// Two sign-ins with this name started at the same time, and the user could not have distinguished them.
    Conflict,
    /// The number was wrong too often.
    NumberMismatch,
    /// A newer request of the same browser took its place.
    Replaced,
}

/// An approval that was given.
#[derive(Clone, Debug)]
pub struct GivenApproval {
    pub(super) approval: Approval,
    pub(super) authentication: Authentication,
    /// It is a test sign-in's, so the session is for that alone.
    pub(super) is_test_sign_in: bool,
}

impl GivenApproval {
    /// Whether another browser's device, or a phone's camera, began it with the code of the login's page. The browser
    /// does not know its user yet.
    pub const fn is_scanned_elsewhere(&self) -> bool {
        self.approval.scanned_by.is_some() && !self.approval.is_same_browser
    }
}

/// The name that was last typed in a login; `None` if nothing was typed, or a scanned code took the place of what was.
///
/// # Errors
/// If the database fails.
pub async fn typed_name(
    services: &Services,
    login: LoginId,
) -> Result<Option<String>, InternalError> {
    let latest = services.store.approval_of_login(login).await?;
    Ok(latest
        .filter(|approval| approval.scanned_by.is_none())
        .map(|approval| approval.shown.account))
}

/// Looks at a login. A browser finds only its own logins.
///
/// # Errors
/// If the database fails.
pub async fn view(
    services: &Services,
    id: LoginId,
    browser: Digest,
) -> Result<LoginView, InternalError> {
    let now = services.now();
    let Some(login) = services
        .store
        .login(id, now)
        .await?
        .filter(|login| login.browser == browser)
    else {
        return Ok(LoginView::Unknown);
    };
    let approval = match login.stage {
        LoginStage::Identify => return Ok(LoginView::Identify(login)),
        LoginStage::SignedIn(session) => return Ok(LoginView::SignedIn(login, session)),
        LoginStage::Answered => return Ok(LoginView::Answered(login)),
        LoginStage::Asked(approval) => services.store.approval(approval).await?,
    };
    let Some(approval) = approval else {
        return Ok(LoginView::Ended(login, LoginEnd::Expired));
    };
    Ok(match approval.stage_at(now) {
        // Its user showed who they are: the page reveals nothing.
        ApprovalStage::Withdrawn if approval.number.is_none() => {
            LoginView::Ended(login, LoginEnd::Expired)
        }
        // A withdrawn or reported request looks like a pending one: the page must not show that the name is known, or
        // that its user answered.
        ApprovalStage::Requested | ApprovalStage::Withdrawn | ApprovalStage::Reported => {
            LoginView::Waiting(login, approval)
        }
        ApprovalStage::Approved { by, at } => {
            let authentication = by.authentication(at);
            // The operator may have taken the trust away from a vendor in between, or the application its setting.
            if channels::is_enough_for(services, &login.request, &authentication).await? {
                let is_test_sign_in = !login.request.purpose().is_application();
                LoginView::Approved(
                    login,
                    GivenApproval {
                        approval,
                        authentication,
                        is_test_sign_in,
                    },
                )
            } else {
                LoginView::Ended(login, LoginEnd::Expired)
            }
        }
        ApprovalStage::Denied => LoginView::Ended(login, LoginEnd::Denied),
        ApprovalStage::Expired => LoginView::Ended(login, LoginEnd::Expired),
        ApprovalStage::Cancelled => LoginView::Ended(login, LoginEnd::Cancelled),
        ApprovalStage::Conflicted => LoginView::Ended(login, LoginEnd::Conflict),
        ApprovalStage::Replaced => LoginView::Ended(login, LoginEnd::Replaced),
        ApprovalStage::Failed(_) => LoginView::Ended(login, LoginEnd::NumberMismatch),
    })
}
