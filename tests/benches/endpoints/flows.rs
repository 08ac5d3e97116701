//! The complete flows that users wait for: a sign-in with a session, in both protocols, and with a pushed request.

use std::io::Write;
use std::net::SocketAddr;
use std::rc::Rc;

use assent_model::clock::{Clock, SystemClock};
use assent_tests::harness::VERIFIER;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use url::form_urlencoded;
use url::form_urlencoded::byte_serialize;

use super::load::{Caller, Post, Response, get};

/// An authorization request that a session answers, followed by the exchange of the code.
pub struct SessionSignIn {
    /// The authorization request of a browser with a session.
    pub request: Rc<str>,
    pub post: Post,
    pub redirect_uri: String,
    /// The code that the last authorization request returned.
    pub code: Option<String>,
}

impl Caller for SessionSignIn {
    fn next(&mut self) -> Option<Rc<str>> {
        let Some(code) = self.code.take() else {
            return Some(Rc::clone(&self.request));
        };
        let redirect: String = byte_serialize(self.redirect_uri.as_bytes()).collect();
        let form = format!(
            "grant_type=authorization_code&code={code}&redirect_uri={redirect}&code_verifier={VERIFIER}"
        );
        Some(self.post.with(&form).into())
    }

    fn answered(&mut self, response: Response<'_>) -> bool {
        let Some(location) = response.header("location") else {
            return true;
        };
        let url = url::Url::parse(location).expect("an address");
        let code = url
            .query_pairs()
            .find(|(name, _)| name == "code")
            .map(|(_, code)| code.into_owned());
        self.code = Some(code.unwrap_or_else(|| panic!("no code: {location}")));
        false
    }
}

/// The same, with the authorization request pushed before (RFC 9126).
pub struct PushedSignIn {
    /// The request that pushes it.
    pub push: Rc<str>,
    pub address: SocketAddr,
    pub cookies: String,
    pub client_id: String,
    /// The sign-in that follows.
    pub sign_in: SessionSignIn,
    pub is_pushed: bool,
}

impl Caller for PushedSignIn {
    fn next(&mut self) -> Option<Rc<str>> {
        match self.is_pushed {
            true => self.sign_in.next(),
            false => Some(Rc::clone(&self.push)),
        }
    }

    fn answered(&mut self, response: Response<'_>) -> bool {
        if self.is_pushed {
            let is_complete = self.sign_in.answered(response);
            self.is_pushed = !is_complete;
            return is_complete;
        }
        let answer: serde_json::Value = serde_json::from_slice(response.body).expect("JSON");
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("client_id", &self.client_id)
            .append_pair(
                "request_uri",
                answer["request_uri"].as_str().expect("a URI"),
            )
            .finish();
        let path = format!("/oidc/auth?{query}");
        self.sign_in.request = get(self.address, &path, &self.cookies).into();
        self.is_pushed = true;
        false
    }
}

/// A SAML AuthnRequest with the HTTP-Redirect binding, until the page that posts the response.
pub struct SamlSignOn {
    pub address: SocketAddr,
    pub cookies: String,
    /// The path of the single sign-on service.
    pub path: String,
    pub issuer: String,
    pub next: Option<String>,
}

impl SamlSignOn {
    fn get(&self, path: &str) -> Rc<str> {
        get(self.address, path, &self.cookies).into()
    }
}

impl Caller for SamlSignOn {
    fn next(&mut self) -> Option<Rc<str>> {
        if let Some(path) = self.next.take() {
            return Some(self.get(&path));
        }
        let mut id = [0; 16];
        openssl::rand::rand_bytes(&mut id).expect("random bytes");
        let now = jiff::Timestamp::from_second(SystemClock.now().seconds())
            .expect("a time")
            .strftime("%Y-%m-%dT%H:%M:%SZ");
        let xml = format!(
            "<samlp:AuthnRequest xmlns:samlp=\"urn:oasis:names:tc:SAML:2.0:protocol\" \
             xmlns:saml=\"urn:oasis:names:tc:SAML:2.0:assertion\" ID=\"_{}\" Version=\"2.0\" \
             IssueInstant=\"{now}\"><saml:Issuer>{}</saml:Issuer></samlp:AuthnRequest>",
            hex::encode(id),
            self.issuer
        );
        let mut deflated = DeflateEncoder::new(Vec::new(), Compression::fast());
        deflated.write_all(xml.as_bytes()).expect("deflated");
        let message = STANDARD.encode(deflated.finish().expect("deflated"));
        let message: String = byte_serialize(message.as_bytes()).collect();
        Some(self.get(&format!("{}?SAMLRequest={message}", self.path)))
    }

    fn answered(&mut self, response: Response<'_>) -> bool {
        self.next = response.header("location").map(str::to_owned);
        assert!(
            self.next.is_some()
                || response
                    .body
                    .windows(12)
                    .any(|part| part == b"SAMLResponse"),
            "{}",
            String::from_utf8_lossy(response.body)
        );
        self.next.is_none()
    }
}
