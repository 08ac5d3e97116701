//! The responses of the protocols to applications: discovery, tokens, metadata and messages, with each success and each
//! error. Tokens and SAML messages are decoded first.

mod oidc;
mod saml;

use std::fmt::Write;

use reqwest::RequestBuilder;
use serde_json::Value;

use super::json::{indented, without_measurements};
use super::world::{Answer, World, answer_of};
use crate::harness::{Page, jwt_claims, jwt_header};

/// The responses of one subject.
struct Log {
    text: String,
}

impl Log {
    fn new() -> Self {
        Self {
            text: String::new(),
        }
    }

    /// Sends a request, and writes the response.
    async fn send(&mut self, title: &str, request: RequestBuilder) -> Value {
        let answer = answer_of(request).await;
        self.write(title, &answer);
        serde_json::from_str(&answer.body).unwrap_or_default()
    }

    fn page(&mut self, title: &str, page: &Page) {
        let answer = Answer {
            status: page.status.as_u16(),
            headers: super::world::shown_headers(&page.headers),
            body: page.body.clone(),
        };
        self.write(title, &answer);
    }

    fn write(&mut self, title: &str, answer: &Answer) {
        let is_json = answer.body.starts_with('{');
        let body = match is_json {
            true => indented(&without_measurements(&answer.body)),
            // A line for each element.
            false => answer.body.replace("><", ">\n<"),
        };
        let headers: String = answer
            .headers
            .iter()
            .map(|header| format!("  {header}\n"))
            .collect();
        let _ = writeln!(
            self.text,
            "# {title}\n{}\n{headers}{}\n",
            answer.status,
            with_decoded_tokens(&body)
        );
    }

    fn finish(&self, world: &World) -> String {
        world.normalised(&self.text)
    }
}

/// Replaces each JWT by its header and claims.
fn with_decoded_tokens(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let mut decoded = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("eyJ") {
        let (before, token) = rest.split_at(at);
        decoded.push_str(before);
        let (token, after) = token.split_at(token.find(|c| !is_part(c)).unwrap_or(token.len()));
        match token.matches('.').count() {
            2 => {
                let _ = write!(decoded, "<jwt {} {}>", jwt_header(token), jwt_claims(token));
            }
            _ => decoded.push_str(token),
        }
        rest = after;
    }
    decoded + rest
}
