//! A user's device, with calls that must succeed. The calls of [`Authenticator`], to which a device dereferences, are
//! for requests that the instance should reject.

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use assent::authenticator::enrolled::{Authenticator, PendingRequest};
use assent::authenticator::exchange::Reply;
use assent_model::device::PushSubscription;
use reqwest::Method;
use serde_json::Value;

/// An enrolled authenticator. A method that fails panics with the attempted action and the instance's answer.
#[derive(Clone)]
pub struct Device(Arc<Authenticator>);

impl Deref for Device {
    type Target = Authenticator;

    fn deref(&self) -> &Authenticator {
        &self.0
    }
}

impl Device {
    /// Enrols a device by this link.
    pub async fn enrol(link: &str, name: &str) -> Self {
        Self::enrol_with_push(link, name, None).await
    }

    /// Enrols a device by this link, with its push subscription.
    pub async fn enrol_with_push(link: &str, name: &str, push: Option<PushSubscription>) -> Self {
        match Authenticator::enrol(link, name, push).await {
            Ok(authenticator) => Self(Arc::new(authenticator)),
            Err(error) => panic!("{name} should enrol by {link}: {error:#}"),
        }
    }

    /// Saves the device in a new file, as `assent authenticator enrol` does.
    pub fn save_to(&self, path: &Path) {
        let saved = Authenticator::new_file(path).and_then(|mut file| self.save(&mut file));
        saved.unwrap_or_else(|error| {
            panic!(
                "the device should be saved in {}: {error:#}",
                path.display()
            )
        });
    }

    /// Returns the pending requests. Without one, waits up to `seconds` for the first.
    pub async fn pending_requests(&self, seconds: u32) -> Vec<PendingRequest> {
        let requests = self.waiting(seconds).await;
        requests.unwrap_or_else(|error| panic!("{self:?} should list its requests: {error:#}"))
    }

    /// Approves a request with this number, and returns the outcome.
    pub async fn approve(&self, request: &PendingRequest, number: &str) -> String {
        self.submit_decision(request, Some(number)).await
    }

    /// Denies a request, and returns the outcome.
    pub async fn deny(&self, request: &PendingRequest) -> String {
        self.submit_decision(request, None).await
    }

    /// Approves a request if there is a number, and denies it otherwise. Returns the outcome.
    pub async fn submit_decision(&self, request: &PendingRequest, number: Option<&str>) -> String {
        let outcome = self.decide(request, number).await;
        outcome.unwrap_or_else(|error| {
            panic!("the server should accept the decision {number:?} on {request:?}: {error:#}")
        })
    }

    /// Reports a request, and returns the outcome.
    pub async fn submit_report(&self, request: &PendingRequest) -> String {
        let outcome = self.report(request).await;
        outcome.unwrap_or_else(|error| {
            panic!("the server should accept the report of {request:?}: {error:#}")
        })
    }

    /// Sends the signature of a decision, and returns the instance's answer.
    pub async fn submit_proof(
        &self,
        request: &PendingRequest,
        number: Option<&str>,
        signature: &str,
    ) -> Reply {
        let reply = self.send_proof(request.id, number, signature).await;
        reply.unwrap_or_else(|error| {
            panic!("the server should answer a proof for {request:?}: {error:#}")
        })
    }

    /// Scans the QR code of a login page.
    pub async fn scan_code(&self, link: &str) {
        let scanned = self.scan(link).await;
        scanned.unwrap_or_else(|error| {
            panic!("the server should accept the scan of {link}: {error:#}")
        });
    }

    /// Returns the end of the cooldown, in seconds since the epoch.
    pub async fn cooldown_end(&self) -> Option<i64> {
        let end = self.cooldown_until().await;
        end.unwrap_or_else(|error| panic!("{self:?} should read its cooldown: {error:#}"))
    }

    /// Ends the cooldown.
    pub async fn end_cooldown(&self) {
        let ended = self.lift_cooldown().await;
        ended.unwrap_or_else(|error| panic!("{self:?} should end the cooldown: {error:#}"));
    }

    /// Returns the device's signature over a text.
    pub fn signature(&self, text: &str) -> String {
        let signature = self.sign(text);
        signature.unwrap_or_else(|error| panic!("{self:?} should sign {text:?}: {error:#}"))
    }

    /// Calls an endpoint below `/authenticator/api`, which must succeed, and returns the answer.
    pub async fn call_ok(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let answer = self.ask(method.clone(), path, body).await;
        answer.unwrap_or_else(|error| panic!("{method} {path} should succeed: {error:#}"))
    }

    /// Creates recovery codes, and confirms them.
    pub async fn recovery_codes(&self) -> Vec<String> {
        let created = self.call_ok(Method::POST, "/recovery-codes", None).await;
        self.confirm_codes(&created).await;
        parse_codes(&created)
    }

    /// Confirms new recovery codes.
    pub async fn confirm_codes(&self, created: &Value) {
        let id = created["id"].as_str().expect("an id");
        let path = format!("/recovery-codes/{id}/confirm");
        self.call_ok(Method::POST, &path, None).await;
    }

    /// Calls an endpoint below `/authenticator/api`, and returns the instance's answer with any status.
    pub async fn call_any(&self, method: Method, path: &str, body: Option<&Value>) -> Reply {
        let body = body.map(|body| body.to_string().into_bytes());
        let path = format!("/authenticator/api{path}");
        let reply = self
            .call(method.clone(), &path, "", body.unwrap_or_default())
            .await;
        reply.unwrap_or_else(|error| panic!("the server should answer {method} {path}: {error:#}"))
    }
}

/// Returns the recovery codes of an answer.
pub fn parse_codes(created: &Value) -> Vec<String> {
    serde_json::from_value(created["codes"].clone()).expect("a list")
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
