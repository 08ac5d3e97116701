//! The pages: one struct for each page, which a handler fills and its template in `templates/` renders.
//!
//! Pages contain no inline styles, and no inline scripts, except the page after a LogoutResponse. They load nothing
//! from other hosts. They are written for this header:
//!
//! ```text
//! Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;
//!     connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action <set by each handler>;
//!     frame-ancestors 'none'; base-uri 'none'
//! ```
//!
//! `form-action` is `'self'` and, if the response to a form redirects to an application, also the scheme of that
//! application. On the page whose form leads to an application, it is only that scheme. Browsers check redirects
//! against it as well. `data:` images are the enrolment's QR code. A page never reveals whether an account exists.

pub mod link;
pub mod login;
pub mod protocol;
pub mod sign_out;

use askama::Template;

use crate::messages::Message;

use super::layout::{Layout, Page};
use link::Link;
use login::{ConfirmPage, ConsentPage, EndedPage, LoginPage, Scan, WaitingPage};
use protocol::{AlreadySignedInPage, FormPostPage, SamlStartPage, TestSignInPage};
use sign_out::{
    LogoutFramesPage, SamlLogoutAnsweredPage, SamlLogoutPage, SignOutPage, SignedOutPage,
};

/// Returns the first letter of an application's name, which replaces a missing logo.
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
    DevicePage,
    ConfirmPage,
    ConsentPage,
    FormPostPage,
    AlreadySignedInPage,
    SamlStartPage,
    WaitingPage,
    EndedPage,
    ErrorPage,
    SignOutPage,
    SignedOutPage,
    TestSignInPage,
    LogoutFramesPage,
    SamlLogoutPage,
    SamlLogoutAnsweredPage,
    HomePage,
    ConsolePage,
    AuthenticatorApp,
);

/// The page with the form for a name and a recovery code, for a user without an authenticator.
#[derive(Clone, Debug, Template)]
#[template(path = "recover.html")]
pub struct RecoverPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The target of the form with the fields `csrf`, `name` and `code`.
    pub action: String,
    /// The CSRF token of the form.
    pub csrf: String,
    /// The initial value of the name field.
    pub name: String,
    /// Whether the server rejected a name and code.
    pub rejected: bool,
    /// The link back to the sign-in that led here, or to the start page.
    pub back: Link,
}

/// The page after a correct recovery code, with the link to enrol an authenticator.
#[derive(Clone, Debug, Template)]
#[template(path = "recovered.html")]
pub struct RecoveredPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The path of the enrolment link.
    pub link: String,
    /// The link back to the sign-in that led here.
    pub back: Option<Link>,
}

/// The page to which a device without a browser leads the user (RFC 8628). It leads to the authenticator.
#[derive(Clone, Debug, Template)]
#[template(path = "device.html")]
pub struct DevicePage {
    /// The layout of the page.
    pub layout: Layout,
    /// The code that the device shows, if the address has one.
    pub code: Option<String>,
    /// The code for a scan by a phone: the same link.
    pub scan: Option<Scan>,
    /// The path of the authenticator in this browser.
    pub authenticator: String,
}

/// The page for a request that the server could not serve.
#[derive(Clone, Debug, Template)]
#[template(path = "error.html")]
pub struct ErrorPage {
    /// The layout of the page.
    pub layout: Layout,
    /// A short title.
    pub title: Message,
    /// The description of the error, in complete sentences.
    pub what_happened: Message,
    /// Instructions for the user, in complete sentences.
    pub what_to_do: Message,
    /// The reference by which an operator finds this request in the log.
    pub reference: String,
    /// The id of the request, which all its log lines have; empty if there was none.
    pub request: String,
    /// The link with which the user can continue.
    pub next: Link,
    /// The details that the application's operator needs to find the mistake.
    pub details: Vec<OperatorDetail>,
}

/// One line of the details for the application's operator on an error page.
#[derive(Clone, Debug)]
pub struct OperatorDetail {
    /// The label of the value.
    pub label: Message,
    /// The value, as the request sent it or as it is registered.
    pub value: String,
    /// The instruction for the operator, if there is one for the value.
    pub advice: Option<Message>,
}

/// The user who is signed in in this browser.
#[derive(Clone, Debug)]
pub struct SignedInUser {
    /// The user's name.
    pub name: String,
    /// The target of the sign-out form with the field `csrf`.
    pub sign_out: String,
    /// The CSRF token of the form.
    pub csrf: String,
}

/// The start page, for browsers without a session.
#[derive(Clone, Debug, Template)]
#[template(path = "home.html")]
pub struct HomePage {
    /// The layout of the page.
    pub layout: Layout,
}

/// A consent that the user withdrew.
#[derive(Clone, Debug)]
pub struct Withdrawn {
    /// The application's name.
    pub application: String,
    /// Whether the application needs consent again. It does not if the operator exempts it from consent.
    pub asks_again: bool,
}

/// The consents of a user.
#[derive(Clone, Debug)]
pub struct Consents {
    /// One row for each application.
    pub rows: Vec<ConsentRow>,
    /// The target of the forms that withdraw a consent, with the fields `csrf` and `application`.
    pub withdraw: String,
    /// The CSRF token of the forms.
    pub csrf: String,
}

/// The consent of a user to one application.
#[derive(Clone, Debug)]
pub struct ConsentRow {
    /// The application's name.
    pub application: String,
    /// The application's client ID.
    pub client_id: String,
    /// The permissions of the application.
    pub scopes: Vec<Message>,
    /// The day of the consent.
    pub since: Message,
    /// The day when the consent expires.
    pub until: Message,
    /// Whether the application has offline access. The server asks for the user's consent to that each time.
    pub offline: bool,
}

/// The console: a frame that its script fills.
#[derive(Clone, Debug, Template)]
#[template(path = "console.html")]
pub struct ConsolePage {
    /// The layout of the page.
    pub layout: Layout,
    /// The issuer's URL, for applications.
    pub issuer: String,
    /// This server's own address.
    pub address: String,
    /// The administrator, if they are signed in.
    pub user: Option<SignedInUser>,
    /// The addresses of the modules. Without the list, a browser learns of them one after the other.
    pub modules: Vec<String>,
}

/// The authenticator's web app: the same page for every user, cached by its service worker.
#[derive(Clone, Debug, Template)]
#[template(path = "authenticator.html")]
pub struct AuthenticatorApp {
    /// The layout of the page.
    pub layout: Layout,
    /// The shortest cooldown after a report, in minutes.
    pub report_cooldown: u64,
}

#[cfg(test)]
mod tests;
