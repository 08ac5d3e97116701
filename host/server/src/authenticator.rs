//! An authenticator as a command-line client of this server's authenticator API. It creates valid proofs with its own
//! key, so that automation and tests use the same path as the users' devices.

pub mod enrolled;
pub mod enrolment;
pub mod exchange;
mod link;

use std::time::Duration;

use reqwest::Method;
use serde::Deserialize;

use crate::authenticator::exchange::token_of;
use crate::http::devices::DecisionOutcome;
use crate::http::sign_in::device_authorization::{DeviceAuthorizationEntry, EnteredUserCode};
use crate::http::sign_in::qr_sign_in::QrSignInPreview;
use assent_model::clock::{Clock, SystemClock};
use assent_model::id::{ApprovalId, AuditId, DeviceId};
use assent_model::statement::{ApprovalStatement, Decision};

use enrolled::{Authenticator, LoginPreview, PendingRequest};

/// The pending requests and notifications of a user: the members that this client reads.
#[derive(Deserialize)]
struct Pending {
    cooldown_until: Option<i64>,
    requests: Vec<PendingRequest>,
    notifications: Vec<Notification>,
}

/// An account notification, which this client does not show.
#[derive(Deserialize)]
struct Notification {
    id: AuditId,
}

impl Authenticator {
    /// Returns the name of the authenticator's user.
    pub fn account(&self) -> &str {
        &self.account
    }

    /// Returns the issuer with which the authenticator was enrolled.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Returns the identifier of the device.
    pub const fn device(&self) -> DeviceId {
        self.device
    }

    /// Returns the pending requests of the user. If there are none, waits up to `wait` seconds for one.
    ///
    /// # Errors
    /// If the server cannot be reached or rejects the call.
    pub async fn waiting(&self, wait: u32) -> anyhow::Result<Vec<PendingRequest>> {
        let deadline = SystemClock.now() + Duration::from_secs(wait.into());
        let mut known = String::new();
        loop {
            let left = deadline.remaining(SystemClock.now()).as_secs().min(25);
            let query = format!("?wait={left}{known}");
            let reply = self
                .call(
                    Method::GET,
                    "/authenticator/api/requests",
                    &query,
                    Vec::new(),
                )
                .await?;
            let Pending {
                requests,
                notifications,
                ..
            } = reply.read()?;
            // This client shows no notifications. It reports them as known, so that the server does not return them at
            // once again.
            known = notifications
                .last()
                .map(|Notification { id }| format!("&last_notification={id}"))
                .unwrap_or_default();
            if !requests.is_empty() || left == 0 {
                return Ok(requests);
            }
        }
    }

    /// Returns the application and the browser of the sign-in with this link in its QR code. The sign-in page does not
    /// notice it.
    ///
    /// # Errors
    /// If the link is invalid, or the server cannot be reached or rejects the call.
    pub async fn preview_login(&self, link: &str) -> anyhow::Result<LoginPreview> {
        let reply = self
            .call(
                Method::POST,
                "/authenticator/api/qr-sign-ins/preview",
                "",
                token_of(link)?,
            )
            .await?;
        let QrSignInPreview {
            application,
            place,
            browser,
            same_browser: _,
        } = reply.read()?;
        Ok(LoginPreview {
            application: application.name,
            place,
            browser,
        })
    }

    /// Starts a QR sign-in of this authenticator's user at the sign-in page with this link. The server then sends an
    /// ordinary approval request.
    ///
    /// # Errors
    /// If the link is invalid, or the server cannot be reached or rejects the call.
    pub async fn scan(&self, link: &str) -> anyhow::Result<()> {
        self.call(
            Method::POST,
            "/authenticator/api/qr-sign-ins",
            "",
            token_of(link)?,
        )
        .await?
        .into_body()?;
        Ok(())
    }

    /// Enters the code that another device shows. The server then sends an ordinary approval request, whose id is
    /// returned.
    ///
    /// # Errors
    /// If the server cannot be reached or rejects the code.
    pub async fn enter_code(&self, code: &str) -> anyhow::Result<ApprovalId> {
        let body = EnteredUserCode {
            user_code: code.to_owned(),
        };
        let reply = self
            .call(
                Method::POST,
                "/authenticator/api/device-authorizations",
                "",
                serde_json::to_vec(&body)?,
            )
            .await?;
        let DeviceAuthorizationEntry { request } = reply.read()?;
        request
            .parse()
            .map_err(|_| anyhow::anyhow!("the answer cannot be read"))
    }

    /// Approves a request with the number that the browser shows, or denies it. Returns the outcome as one word.
    ///
    /// # Errors
    /// If the server cannot be reached or rejects the decision.
    pub async fn decide(
        &self,
        request: &PendingRequest,
        number: Option<&str>,
    ) -> anyhow::Result<String> {
        let signature = self.sign(&self.statement(request, number).text())?;
        let reply = self.send_proof(request.id, number, &signature).await?;
        let DecisionOutcome { outcome } = reply.read()?;
        Ok(outcome.as_str().to_owned())
    }

    /// Reports that a request was not the user's own. A cooldown follows, during which no request reaches the user's
    /// devices. Returns the outcome as one word.
    ///
    /// # Errors
    /// If the server cannot be reached or rejects the report.
    pub async fn report(&self, request: &PendingRequest) -> anyhow::Result<String> {
        let statement = ApprovalStatement {
            decision: Decision::Report,
            ..self.statement(request, None)
        };
        let signature = self.sign(&statement.text())?;
        let reply = self
            .send(request.id, Decision::Report, "", &signature)
            .await?;
        let DecisionOutcome { outcome } = reply.read()?;
        Ok(outcome.as_str().to_owned())
    }

    /// Returns the end of the user's cooldown, in seconds since the epoch. `None`: there is no cooldown.
    ///
    /// # Errors
    /// If the server cannot be reached or rejects the call.
    pub async fn cooldown_until(&self) -> anyhow::Result<Option<i64>> {
        let reply = self
            .call(Method::GET, "/authenticator/api/requests", "", Vec::new())
            .await?;
        let Pending { cooldown_until, .. } = reply.read()?;
        Ok(cooldown_until)
    }

    /// Ends the cooldown that began after a denial.
    ///
    /// # Errors
    /// If the server cannot be reached or rejects the call.
    pub async fn lift_cooldown(&self) -> anyhow::Result<()> {
        self.call(
            Method::DELETE,
            "/authenticator/api/cooldown",
            "",
            Vec::new(),
        )
        .await?
        .into_body()?;
        Ok(())
    }
}
