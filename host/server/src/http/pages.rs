//! The pages: one struct a page, filled by a handler and rendered by its template in `templates/`.
//!
//! But for those that post a SAML message the pages hold no inline script, and none an inline style, and ask nothing of
//! another instance. The header they are made for:
//!
//! ```text
//! Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;
//!     connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action <set by each handler>;
//!     frame-ancestors 'none'; base-uri 'none'
//! ```
//!
//! `form-action` is `'self'` and, where a form's answer redirects to an application, that application's scheme too; on
//! the page whose form goes to an application, it is that scheme alone. Browsers hold redirects against it as well.
//! `data:` images are the enrolment's QR code. A page says nothing about whether an account exists.

mod link;
mod login;
mod protocol;
mod sign_out;

use askama::Template;

use super::texts::Message;

pub use super::layout::{Layout, Page, Support};
pub use link::Link;
pub use login::{
    Choice, ConfirmPage, ConsentPage, EndedPage, EndedPageKind, LoginPage, PasskeyForm,
    ReturnNotice, Scan, WaitingPage,
};
pub use protocol::{FormPostPage, SamlPostPage, SamlStartPage, TestSignInPage};
pub use sign_out::{SamlLogoutAnsweredPage, SamlLogoutPage, SignOutPage, SignedOutPage};

/// What stands in the place of an application's picture that there is none of: its name's first letter.
pub(super) fn initial_of(name: &str) -> String {
    let first = name.chars().next();
    first.map_or_else(String::new, |first| first.to_uppercase().to_string())
}

macro_rules! pages {
    ($($page:ident),* $(,)?) => {
        $(impl Page for $page {
            fn layout(&self) -> &Layout {
                &self.layout
            }
        })*
    };
}

pages!(
    LoginPage,
    RecoverPage,
    RecoveredPage,
    ConfirmPage,
    ConsentPage,
    FormPostPage,
    SamlPostPage,
    SamlStartPage,
    WaitingPage,
    EndedPage,
    ErrorPage,
    SignOutPage,
    SignedOutPage,
    TestSignInPage,
    SamlLogoutPage,
    SamlLogoutAnsweredPage,
    HomePage,
    ConsolePage,
    AuthenticatorApp,
);

/// A name and a recovery code, for whoever has no authenticator any more.
#[derive(Clone, Debug, Template)]
#[template(path = "recover.html")]
pub struct RecoverPage {
    /// What every page has.
    pub layout: Layout,
    /// Where the form is sent: `csrf`, `name`, `code`.
    pub action: String,
    /// The token that the form carries.
    pub csrf: String,
    /// What the name field holds already.
    pub name: String,
    /// Whether a name and code were rejected.
    pub rejected: bool,
    /// The way back: to the sign-in that led here, or to the start page.
    pub back: Link,
}

/// The code was good: the way on to enrol an authenticator.
#[derive(Clone, Debug, Template)]
#[template(path = "recovered.html")]
pub struct RecoveredPage {
    /// What every page has.
    pub layout: Layout,
    /// The path of the enrolment link.
    pub link: String,
    /// The way back to the sign-in that led here.
    pub back: Option<Link>,
}

/// A request that could not be served.
#[derive(Clone, Debug, Template)]
#[template(path = "error.html")]
pub struct ErrorPage {
    /// What every page has.
    pub layout: Layout,
    /// A short title.
    pub title: Message,
    /// What happened, in whole sentences.
    pub what_happened: Message,
    /// What the person can do, in whole sentences.
    pub what_to_do: Message,
    /// What finds this request in the log.
    pub reference: String,
    /// The id of the request, which all its lines of the log have; empty if there was none.
    pub request: String,
    /// Where the person can go on.
    pub next: Link,
    /// What the application's operator needs to find the mistake.
    pub details: Vec<OperatorDetail>,
}

/// One line of what an error page tells the application's operator.
#[derive(Clone, Debug)]
pub struct OperatorDetail {
    /// What it is.
    pub label: Message,
    /// Its value, as it came from outside or as it is registered.
    pub value: String,
}

/// The person whose browser this is.
#[derive(Clone, Debug)]
pub struct SignedInUser {
    /// The person's name.
    pub name: String,
    /// Where the form that signs out is sent: `csrf`.
    pub sign_out: String,
    /// The token that the form carries.
    pub csrf: String,
}

/// The front door, for whoever is not signed in.
#[derive(Clone, Debug, Template)]
#[template(path = "home.html")]
pub struct HomePage {
    /// What every page has.
    pub layout: Layout,
}

/// A consent that was taken back.
#[derive(Clone, Debug)]
pub struct Withdrawn {
    /// The application's name.
    pub application: String,
    /// Whether it has to ask again: not one that the operator lets in without asking.
    pub asks_again: bool,
}

/// What a person let applications know.
#[derive(Clone, Debug)]
pub struct Consents {
    /// One row an application.
    pub rows: Vec<ConsentRow>,
    /// Where the forms are sent that take a consent back: `csrf` and `application`.
    pub withdraw: String,
    /// The token that the forms carry.
    pub csrf: String,
}

/// What a person let one application know.
#[derive(Clone, Debug)]
pub struct ConsentRow {
    /// The application's name.
    pub application: String,
    /// Its Client ID.
    pub client_id: String,
    /// What it may do.
    pub scopes: Vec<Message>,
    /// The day on which the person agreed.
    pub since: Message,
    /// The day until which they are not asked again.
    pub until: Message,
    /// Whether it may keep access while the person is away. They are asked for that each time.
    pub offline: bool,
}

/// The console: a frame that its script fills.
#[derive(Clone, Debug, Template)]
#[template(path = "console.html")]
pub struct ConsolePage {
    /// What every page has.
    pub layout: Layout,
    /// The issuer's URL, which applications are told.
    pub issuer: String,
    /// This server's own address.
    pub address: String,
    /// The administrator, if they are signed in.
    pub user: Option<SignedInUser>,
}

/// The authenticator's web app: the same page for everybody, kept by its service worker.
#[derive(Clone, Debug, Template)]
#[template(path = "authenticator.html")]
pub struct AuthenticatorApp {
    /// What every page has.
    pub layout: Layout,
    /// The shortest cooldown after a report, in minutes.
    pub report_cooldown: u64,
}

#[cfg(test)]
mod tests;
