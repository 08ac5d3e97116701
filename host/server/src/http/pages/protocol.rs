//! The pages that send messages to and from applications.

use askama::Template;

use super::link::Link;
use crate::http::layout::Layout;
use crate::messages::Message;

/// A response or another message that the browser posts to the application: by script, or after a press of the button.
/// The script posts it only once.
#[derive(Clone, Debug, Template)]
#[template(path = "form_post.html")]
pub struct FormPostPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The title.
    pub title: Message,
    /// The name of the receiving application; `None` if it no longer exists.
    pub application: Option<String>,
    /// The address of the application that receives the form.
    pub action: String,
    /// The fields, by name and value.
    pub fields: Vec<(&'static str, String)>,
    /// The id of the message, by which the script recognises a message that it posted. Two messages may have the same
    /// fields.
    pub answer: String,
    /// Whether the response signs the user in.
    pub is_granted: bool,
    /// The link to the application, for a page that posted its form before.
    pub link: Link,
    /// The nonce of the script, if the policy of the page permits only that (Content Security Policy Level 3 section
    /// 2.3.1).
    pub nonce: Option<String>,
}

/// The page for a user whose application has received the answer to the sign-in already.
#[derive(Clone, Debug, Template)]
#[template(path = "already_signed_in.html")]
pub struct AlreadySignedInPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The name of the application.
    pub application: String,
    /// The link to the application.
    pub link: Link,
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
