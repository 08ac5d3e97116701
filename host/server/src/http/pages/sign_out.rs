//! The pages of signing out.

use askama::Template;

use crate::http::layout::Layout;

/// Do you want to sign out?
#[derive(Clone, Debug, Template)]
#[template(path = "sign_out.html")]
pub struct SignOutPage {
    /// What every page has.
    pub layout: Layout,
    /// The person's name.
    pub name: String,
    /// The name of the application that asks, where it could show that it does.
    pub application: Option<String>,
    /// The name of the application to which the browser returns, where nothing shows that it asks.
    pub returns_to: Option<String>,
    /// Where the form is sent: `csrf`, `request` and `answer`, which is `yes` or `no`.
    pub action: String,
    /// The application's request, which the form carries.
    pub request: String,
    /// The token that the form carries.
    pub csrf: String,
}

/// You are signed out.
#[derive(Clone, Debug, Template)]
#[template(path = "signed_out.html")]
pub struct SignedOutPage {
    /// What every page has.
    pub layout: Layout,
    /// Whether that came of removing the device that had signed this browser in.
    pub by_device: bool,
    /// The names of SAML applications that could not be told.
    pub untold: Vec<String>,
    /// Whether there are others, which this browser may not learn.
    pub others: bool,
}

/// A SAML application is told of a logout, in a frame. The page loads itself again when its time is over.
#[derive(Clone, Debug, Template)]
#[template(path = "saml_logout.html")]
pub struct SamlLogoutPage {
    /// What every page has.
    pub layout: Layout,
    /// Who is told.
    pub application: String,
    /// What the frame holds.
    pub frame: String,
    /// Its turn, from 1 on.
    pub turn: u32,
    /// How many turns there are.
    pub of: u32,
    /// After how many seconds the page loads itself again.
    pub seconds: u32,
}

/// What the frame holds at the end, which the page around it sees. By itself, where an application has left its frame,
/// it goes on by its own script.
#[derive(Clone, Debug, Template)]
#[template(path = "saml_logout_answered.html")]
pub struct SamlLogoutAnsweredPage {
    /// What every page has.
    pub layout: Layout,
    /// The page around it, a path of our own.
    pub next: String,
    /// What tells the page's script from others.
    pub nonce: String,
}
