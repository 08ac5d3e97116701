//! The demo's pages. askama escapes all inserted values.

use askama::Template;
use serde_json::{Map, Value};

use crate::relying_party::SignedIn;

/// The start page.
#[derive(Template)]
#[template(path = "start.html")]
pub struct StartPage {
    /// The provider's issuer identifier.
    pub issuer: String,
    /// The demo's own address without a path.
    pub origin: String,
}

/// The page about the signed-in user, with all data from the provider.
#[derive(Template)]
#[template(path = "signed_in.html")]
pub struct SignedInPage {
    /// The best available name of the user.
    pub who: String,
    /// The ID token's claims, sorted by name.
    pub claims: Vec<Claim>,
    /// The UserInfo response as indented JSON.
    pub userinfo: Option<String>,
    /// Whether the demo can also end the user's session at the provider.
    pub signs_out_everywhere: bool,
}

/// The page after a sign-out at the provider.
#[derive(Template)]
#[template(path = "signed_out.html")]
pub struct SignedOutPage;

/// The page for a failed sign-in.
#[derive(Template)]
#[template(path = "failed.html")]
pub struct FailedPage {
    /// The event, in a few words.
    pub title: String,
    /// The meaning for the user.
    pub explanation: String,
    /// The `error` code, if the provider sent one (RFC 6749 section 4.1.2.1).
    pub code: Option<String>,
    /// The details for a developer.
    pub detail: Option<String>,
}

/// One row of the table of claims.
#[derive(Debug, PartialEq)]
pub struct Claim {
    /// The claim's name.
    pub name: String,
    /// Its value: a string as it is, any other value as JSON.
    pub value: String,
    /// The value again, indented, if it is a string that contains a JSON object, as `account` does.
    pub decoded: Option<String>,
}

impl SignedInPage {
    /// Creates the page for this response of the provider.
    pub fn new(signed_in: &SignedIn) -> Self {
        Self {
            who: display_name(&signed_in.id_token),
            claims: claims(&signed_in.id_token),
            userinfo: signed_in.userinfo.as_ref().map(indented_json),
            signs_out_everywhere: signed_in.sign_out.is_some(),
        }
    }
}

impl FailedPage {
    /// Creates the page for an error response of the provider (RFC 6749 section 4.1.2.1).
    pub fn of_response(code: &str, description: Option<&str>) -> Self {
        let (title, explanation) = match code {
            "access_denied" => (
                "You were not signed in",
                "The sign-in was denied, cancelled, or not approved in time.",
            ),
            "login_required" | "interaction_required" | "consent_required" => (
                "You are not signed in yet",
                "The provider must ask you a question first. Try again.",
            ),
            "temporarily_unavailable" | "server_error" => (
                "The sign-in is not available",
                "The provider cannot sign you in at the moment. Try again shortly.",
            ),
            _ => (
                "The sign-in failed",
                "The provider did not accept the request of this application.",
            ),
        };
        Self {
            title: title.into(),
            explanation: explanation.into(),
            code: Some(code.into()),
            detail: description.map(Into::into),
        }
    }

    /// Creates the page for an error on the demo's side of the protocol.
    pub fn of_failure(explanation: &str, detail: Option<String>) -> Self {
        Self {
            title: "The sign-in failed".into(),
            explanation: explanation.into(),
            code: None,
            detail,
        }
    }
}

/// Returns the best name of the user in the claims. The last choice is the subject, which always exists.
fn display_name(claims: &Map<String, Value>) -> String {
    ["name", "preferred_username", "upn", "email", "sub"]
        .into_iter()
        .filter_map(|claim| claims.get(claim)?.as_str())
        .find(|name| !name.trim().is_empty())
        .unwrap_or("someone without a name")
        .to_owned()
}

fn claims(claims: &Map<String, Value>) -> Vec<Claim> {
    let mut rows: Vec<Claim> = claims
        .iter()
        .map(|(name, value)| match value {
            Value::String(text) => Claim {
                name: name.clone(),
                value: text.clone(),
                decoded: embedded_json(text),
            },
            other => Claim {
                name: name.clone(),
                value: other.to_string(),
                decoded: None,
            },
        })
        .collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    rows
}

fn embedded_json(text: &str) -> Option<String> {
    let value: Value = serde_json::from_str(text).ok()?;
    (value.is_object() || value.is_array()).then(|| indented_json(&value))
}

fn indented_json(value: &Value) -> String {
    // The alternate form of a JSON value's `Display` is indented and cannot fail.
    format!("{value:#}")
}
