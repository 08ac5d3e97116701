//! The pages that send messages to and from applications.

use askama::Template;

use crate::http::layout::Layout;

/// A response that the browser posts to the application: by script, or after a press of the button.
#[derive(Clone, Debug, Template)]
#[template(path = "form_post.html")]
pub struct FormPostPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The name of the receiving application; `None` if it no longer exists.
    pub application: Option<String>,
    /// The application's redirect URI.
    pub action: String,
    /// The fields, by name and value.
    pub fields: Vec<(&'static str, String)>,
}

/// A SAML message for a service provider: a form that a script submits. The page's own policy allows only that script.
#[derive(Clone, Debug, Template)]
#[template(path = "saml_post.html")]
pub struct SamlPostPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The name of the service provider.
    pub application: String,
    /// The target URL of the service provider.
    pub action: String,
    /// The fields, by name and value.
    pub fields: Vec<(&'static str, String)>,
    /// The nonce that allows the page's script (Content Security Policy Level 3 section 2.3.1).
    pub nonce: String,
}

/// The page that asks the user before a sign-on that begins at this server (IdP-initiated).
#[derive(Clone, Debug, Template)]
#[template(path = "saml_start.html")]
pub struct SamlStartPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The name of the service provider.
    pub application: String,
    /// The target of the form with the fields `csrf` and, if there is one, `RelayState`.
    pub action: String,
    /// The CSRF token of the form.
    pub csrf: String,
    /// The relay state that the link selects from the registered ones.
    pub relay_state: Option<String>,
}

/// The page at the end of a test sign-in.
#[derive(Clone, Debug, Template)]
#[template(path = "test_sign_in.html")]
pub struct TestSignInPage {
    /// The layout of the page.
    pub layout: Layout,
    /// Whether the application would have signed the user in.
    pub done: bool,
}
