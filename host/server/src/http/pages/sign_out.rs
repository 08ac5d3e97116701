//! The sign-out pages.

use askama::Template;

use crate::domain::sessions::signed_out_clients::LogoutFrame;
use crate::http::layout::Layout;

/// The page that asks whether the user wants to sign out.
#[derive(Clone, Debug, Template)]
#[template(path = "sign_out.html")]
pub struct SignOutPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The user's name.
    pub name: String,
    /// The name of the application that requests it, if it proved its identity.
    pub application: Option<String>,
    /// The name of the application to which the browser returns, if it did not prove its identity.
    pub returns_to: Option<String>,
    /// The target of the form with the fields `csrf`, `request` and `answer`, which is `yes` or `no`.
    pub action: String,
    /// The application's request, which the form contains.
    pub request: String,
    /// The CSRF token of the form.
    pub csrf: String,
}

/// The page after the sign-out.
#[derive(Clone, Debug, Template)]
#[template(path = "signed_out.html")]
pub struct SignedOutPage {
    /// The layout of the page.
    pub layout: Layout,
    /// Whether the removal of the device that signed this browser in was the cause.
    pub by_device: bool,
    /// The names of the applications that confirmed the sign-out.
    pub confirmed: Vec<String>,
    /// The names of the applications whose sign-out pages this browser loaded. That is no confirmation.
    pub loaded: Vec<String>,
    /// The names of the applications without a confirmation.
    pub unconfirmed: Vec<String>,
    /// Whether there are others without a confirmation, whose names this browser must not learn.
    pub others: bool,
}

/// The page that loads the sign-out pages of OpenID Connect clients in hidden frames. It continues when all are loaded,
/// or when their time has expired.
#[derive(Clone, Debug, Template)]
#[template(path = "logout_frames.html")]
pub struct LogoutFramesPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The frames.
    pub frames: Vec<LogoutFrame>,
    /// The names of the other applications that confirmed the sign-out.
    pub confirmed: Vec<String>,
    /// The names of the other applications without a confirmation.
    pub unconfirmed: Vec<String>,
    /// The delay until the page continues, in seconds.
    pub seconds: u32,
}

/// The page that notifies a SAML application of a logout, in a frame. It reloads itself when the time for the
/// application has expired.
#[derive(Clone, Debug, Template)]
#[template(path = "saml_logout.html")]
pub struct SamlLogoutPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The name of the notified application.
    pub application: String,
    /// The address of the frame.
    pub frame: String,
    /// The number of the application in the sequence, from 1.
    pub turn: u32,
    /// The number of applications in the sequence.
    pub of: u32,
    /// The delay until the page reloads itself, in seconds.
    pub seconds: u32,
}

/// The last page in the frame, which the surrounding page detects. If an application has left its frame, this page
/// continues with its own script.
#[derive(Clone, Debug, Template)]
#[template(path = "saml_logout_answered.html")]
pub struct SamlLogoutAnsweredPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The surrounding page, a path of this server.
    pub next: String,
    /// The nonce that allows the page's script.
    pub nonce: String,
}
