//! An authenticator without a phone: a client of this server's own interface. It makes real proofs with a key of its
//! own, so automation and tests go the same way as people.

mod enrolled;
mod exchange;

use std::time::Duration;

use anyhow::Context;
use openssl::ec::{EcGroup, EcKey};
use openssl::nid::Nid;
use reqwest::Method;
use serde::Deserialize;

use crate::authenticator::exchange::{agreed, client, public_key, signature, token_of};
use crate::http::devices::{
    DecisionOutcome, EnrolledDevice, EnrolmentBody, EnrolmentPreview, EnrolmentToken, PushBody,
};
use crate::http::sign_in::qr_sign_in::QrSignInPreview;
use assent_model::clock::{Clock, SystemClock};
use assent_model::device::PushSubscription;
use assent_model::id::{AuditId, DeviceId};
use assent_model::statement::{ApprovalStatement, Decision, EnrolmentStatement};

pub use enrolled::{Application, Authenticator, LoginLook, PendingRequest};
pub use exchange::Reply;

/// What waits for the user: the members that this client reads.
#[derive(Deserialize)]
struct Pending {
    cooldown_until: Option<i64>,
    requests: Vec<PendingRequest>,
    notifications: Vec<Notification>,
}

/// A notification, which this client does not show.
#[derive(Deserialize)]
struct Notification {
    id: AuditId,
}

impl Authenticator {
    /// Enrols by a link: makes a key, proves that it has it, and uses the link up.
    pub async fn enrol(
        link: &str,
        name: &str,
        push: Option<PushSubscription>,
    ) -> anyhow::Result<Self> {
        let (page, token) = link
            .split_once("#enrol=")
            .context("the link has no #enrol= in it")?;
        let origin = url::Url::parse(page)
            .context("the link is no address")?
            .origin()
            .ascii_serialization();
        let api = format!("{origin}/authenticator/api");
        let EnrolmentPreview { issuer, .. } = agreed(
            client()
                .await?
                .post(format!("{api}/enrolments/preview"))
                .json(&EnrolmentToken {
                    token: token.to_owned(),
                }),
        )
        .await?;
        let key = EcKey::generate(&*EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?)?;
        let public = public_key(&key)?;
        let thumbprint = public.thumbprint();
        let statement = EnrolmentStatement {
            issuer: &issuer,
            token,
            device_name: name,
            key_thumbprint: &thumbprint,
        };
        let body = EnrolmentBody {
            token: token.to_owned(),
            device_name: name.to_owned(),
            public_key: public,
            signature: signature(&key, &statement.text())?,
        };
        let EnrolledDevice {
            device_id, account, ..
        } = agreed(
            client()
                .await?
                .post(format!("{api}/enrolments"))
                .json(&body),
        )
        .await?;
        let authenticator = Self {
            origin,
            issuer,
            device: device_id,
            account,
            private_key: String::from_utf8(key.private_key_to_pem()?)?,
        };
        if push.is_some() {
            let body = serde_json::to_vec(&PushBody { subscription: push })?;
            authenticator
                .call(Method::PUT, "/authenticator/api/device/push", "", body)
                .await?
                .agreed()?;
        }
        Ok(authenticator)
    }

    /// Whose authenticator it is.
    pub fn account(&self) -> &str {
        &self.account
    }

    /// The issuer that it was enrolled with.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The device.
    pub const fn device(&self) -> DeviceId {
        self.device
    }

    /// The requests that wait for the person. With none, waits up to `wait` seconds for one.
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
            // Nobody reads the notifications here, so it does not wait for them again.
            known = notifications
                .last()
                .map(|Notification { id }| format!("&last_notification={id}"))
                .unwrap_or_default();
            if !requests.is_empty() || left == 0 {
                return Ok(requests);
            }
        }
    }

    /// What the login is for whose page has this link in its code, and in which browser; its page learns nothing of it.
    pub async fn look_at_login(&self, link: &str) -> anyhow::Result<LoginLook> {
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
        Ok(LoginLook {
            application: application.name,
            place,
            browser,
        })
    }

    /// Says that this authenticator's person signs in at the login page whose code holds this link. What follows is a
    /// request like any other.
    pub async fn scan(&self, link: &str) -> anyhow::Result<()> {
        self.call(
            Method::POST,
            "/authenticator/api/qr-sign-ins",
            "",
            token_of(link)?,
        )
        .await?
        .agreed()?;
        Ok(())
    }

    /// Approves a request with the number that the browser shows, or denies it. The outcome in a word.
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

    /// Says that a request was not the person's: requests reach no phone of theirs for a while.
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

    /// Until when requests reach no phone of the person, in seconds since the epoch.
    pub async fn cooldown_until(&self) -> anyhow::Result<Option<i64>> {
        let reply = self
            .call(Method::GET, "/authenticator/api/requests", "", Vec::new())
            .await?;
        let Pending { cooldown_until, .. } = reply.read()?;
        Ok(cooldown_until)
    }

    /// Ends the pause that a denial began.
    pub async fn lift_cooldown(&self) -> anyhow::Result<()> {
        self.call(
            Method::DELETE,
            "/authenticator/api/cooldown",
            "",
            Vec::new(),
        )
        .await?
        .agreed()?;
        Ok(())
    }
}
