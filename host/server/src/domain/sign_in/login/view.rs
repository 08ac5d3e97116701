//! The state of a sign-in for its browser.

use crate::domain::approvals::channel;
use crate::domain::{InternalError, Services};
use assent_model::approval::{Approval, ApprovalStage, Approver};
use assent_model::authorization_details::requested::DetailsTexts;
use assent_model::id::{LoginId, SessionId};
use assent_model::login::{GivenAnswer, Login, LoginStage};
use assent_model::secret::Digest;
use assent_model::session::Authentication;

/// A sign-in from the view of the browser that began it.
#[derive(Debug)]
pub enum LoginView {
    /// The user has not typed a name yet.
    Identify(Login),
    /// The user was signed in already, in this session. The session may belong to another browser by now, or may not be
    /// sufficient.
    SignedIn(Login, SessionId),
    /// An approval request is pending.
    Waiting(Login, Approval),
    /// The approval request ended without an approval.
    Ended(Login, LoginEnd),
    /// The user approved, and the sign-in can be answered.
    Approved(Login, GivenApproval),
    /// The sign-in was answered before.
    Answered(Login, GivenAnswer),
    /// There is no such sign-in in this browser.
    Unknown,
}

impl LoginView {
    /// Returns the sign-in, if there is one in this browser.
    pub const fn login(&self) -> Option<&Login> {
        match self {
            Self::Identify(login)
            | Self::SignedIn(login, _)
            | Self::Waiting(login, _)
            | Self::Ended(login, _)
            | Self::Approved(login, _)
            | Self::Answered(login, _) => Some(login),
            Self::Unknown => None,
        }
    }
}

/// The reason why an approval request ended without an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginEnd {
    /// The user denied it.
    Denied,
    /// It expired, or no device received it.
    Expired,
    /// The user cancelled the sign-in in the browser.
    Cancelled,
    /// Two sign-ins with this name started at the same time, and the user could not have distinguished them.
    Conflict,
    /// The number was wrong too often.
    NumberMismatch,
    /// A newer request of the same browser replaced it.
    Replaced,
}

/// An approval by the user.
#[derive(Clone, Debug)]
pub struct GivenApproval {
    pub(super) approval: Approval,
    pub(super) authentication: Authentication,
    /// Whether it belongs to a test sign-in. The session is then only for that.
    pub(super) is_test_sign_in: bool,
}

impl GivenApproval {
    /// Returns whether the sign-in began when a device outside of this browser scanned the code of the page. The
    /// browser does not know its user yet.
    pub const fn is_scanned_elsewhere(&self) -> bool {
        self.approval.scanned_by.is_some() && !self.approval.is_same_browser
    }

    /// Returns the texts of authorization details that a device showed and signed. A vendor's authenticator and a
    /// passkey on the login page show none.
    pub(super) fn signed_details(&self) -> DetailsTexts {
        let is_by_device = matches!(
            self.approval.stage,
            ApprovalStage::Approved {
                by: Approver::Device { .. },
                ..
            }
        );
        match is_by_device {
            true => self.approval.shown.details.clone(),
            false => DetailsTexts::default(),
        }
    }
}

/// Returns the name that was last typed in a sign-in. `None` if no name was typed, or a QR sign-in replaced it.
pub async fn typed_name(
    services: &Services,
    login: LoginId,
) -> Result<Option<String>, InternalError> {
    let latest = services.store.approval_of_login(login).await?;
    Ok(latest
        .filter(|approval| approval.scanned_by.is_none())
        .map(|approval| approval.shown.account))
}

/// Returns the state of a sign-in. A browser finds only its own sign-ins.
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
    let approval = match login.stage.clone() {
        LoginStage::Identify => return Ok(LoginView::Identify(login)),
        LoginStage::SignedIn(session) => return Ok(LoginView::SignedIn(login, session)),
        LoginStage::Answered(given) => return Ok(LoginView::Answered(login, given)),
        LoginStage::Asked(approval) => services.store.approval(approval).await?,
    };
    let Some(approval) = approval else {
        return Ok(LoginView::Ended(login, LoginEnd::Expired));
    };
    Ok(match approval.stage_at(now) {
        // Its user was authenticated by a passkey, so the page reveals nothing new.
        ApprovalStage::Withdrawn if approval.number.is_none() => {
            LoginView::Ended(login, LoginEnd::Expired)
        }
        // A withdrawn or reported request looks like a pending one. The page must not show that the name is known, or
        // that its user answered.
        ApprovalStage::Requested | ApprovalStage::Withdrawn | ApprovalStage::Reported => {
            LoginView::Waiting(login, approval)
        }
        ApprovalStage::Approved { by, at } => {
            let authentication = by.authentication(at);
            // A session of this approval would have ended already.
            let is_too_old =
                authentication.at + services.settings.session.absolute_timeout.get() <= now;
            // In the meantime the operator may have removed the trust in a vendor, or an administrator the setting of
            // the application.
            if !is_too_old
                && channel::is_enough_for(services, &login.request, &authentication).await?
            {
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
