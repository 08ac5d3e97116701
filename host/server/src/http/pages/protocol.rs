//! The pages that carry messages to and from applications.

use askama::Template;

use crate::http::layout::Layout;

/// An answer that the browser posts to the application: by script, or when the person presses the button.
#[derive(Clone, Debug, Template)]
#[template(path = "form_post.html")]
pub struct FormPostPage {
    /// What every page has.
    pub layout: Layout,
    /// The name of the application that is answered, unless it is gone.
    pub application: Option<String>,
    /// The application's redirect URI.
    pub action: String,
    /// The fields, by name and value.
    pub fields: Vec<(&'static str, String)>,
}

/// A SAML message on its way to a service provider: a form that posts itself, by the one script that the page's own
/// policy allows.
#[derive(Clone, Debug, Template)]
#[template(path = "saml_post.html")]
pub struct SamlPostPage {
    /// What every page has.
    pub layout: Layout,
    /// The name of the service provider.
    pub application: String,
    /// Its URL.
    pub action: String,
    /// The fields, by name and value.
    pub fields: Vec<(&'static str, String)>,
    /// What tells the page's script from others (Content Security Policy Level 3 section 2.3.1).
    pub nonce: String,
}

/// The question whether to sign in to a service provider, where a sign-on begins at this server.
#[derive(Clone, Debug, Template)]
#[template(path = "saml_start.html")]
pub struct SamlStartPage {
    /// What every page has.
    pub layout: Layout,
    /// The name of the service provider.
    pub application: String,
    /// Where the form is sent: `csrf` and, if there is one, `RelayState`.
    pub action: String,
    /// The token that it carries.
    pub csrf: String,
    /// What the link chose of the registered ones.
    pub relay_state: Option<String>,
}

/// The answer of a test sign-in was taken up.
#[derive(Clone, Debug, Template)]
#[template(path = "test_sign_in.html")]
pub struct TestSignInPage {
    /// What every page has.
    pub layout: Layout,
    /// Whether the application would have signed the person in.
    pub done: bool,
}
