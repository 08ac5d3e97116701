//! An authenticator without a phone: a client of this host's own interface. It makes real proofs with a key of its own,
//! so automation and tests go the same way as people.

mod enrolled;
mod exchange;

use std::time::Duration;

use anyhow::Context;
use openssl::ec::{EcGroup, EcKey};
use openssl::nid::Nid;
use reqwest::Method;
use serde_json::{Value, json};

use crate::authenticator::exchange::{agreed, client, public_key, signature, text, token_of};
use assent_model::clock::{Clock, SystemClock};
use assent_model::device::PushSubscription;
use assent_model::id::DeviceId;
use assent_model::statement::{ApprovalStatement, Decision, EnrolmentStatement};

pub use enrolled::{Application, Authenticator, LoginLook, Request};
pub use exchange::Reply;

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
        let look = agreed(
            client()
                .await?
                .post(format!("{api}/enrolments/preview"))
                .json(&json!({"token": token})),
        )
        .await?;
        let issuer = text(&look, "issuer")?;
        let key = EcKey::generate(&*EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?)?;
        let public = public_key(&key)?;
        let thumbprint = public.thumbprint();
        let statement = EnrolmentStatement {
            issuer: &issuer,
            token,
            device_name: name,
            key_thumbprint: &thumbprint,
        };
        let body = json!({
            "token": token,
            "device_name": name,
            "public_key": public,
            "signature": signature(&key, &statement.text())?,
        });
        let enrolled = agreed(
            client()
                .await?
                .post(format!("{api}/enrolments"))
                .json(&body),
        )
        .await?;
        let authenticator = Self {
            origin,
            issuer,
            device: text(&enrolled, "device_id")?
                .parse()
                .context("the answer has no device id")?,
            account: text(&enrolled, "account")?,
            private_key: String::from_utf8(key.private_key_to_pem()?)?,
        };
        if let Some(push) = push {
            let body = serde_json::to_vec(&json!({"subscription": push}))?;
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
    pub async fn waiting(&self, wait: u32) -> anyhow::Result<Vec<Request>> {
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
            let answer = reply.agreed()?;
            // Nobody reads the notifications here, so it does not wait for them again.
            let last = answer
                .get("notifications")
                .and_then(Value::as_array)
                .and_then(|notifications| notifications.last()?.get("id")?.as_str());
            known = last
                .map(|last| format!("&known={last}"))
                .unwrap_or_default();
            let requests: Vec<Request> =
                serde_json::from_value(answer.get("requests").cloned().unwrap_or_default())?;
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
        let look = reply.agreed()?;
        let name = look
            .pointer("/application/name")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        Ok(LoginLook {
            application: name,
            place: text(&look, "place")?,
            browser: text(&look, "browser")?,
        })
    }

    /// Says that this authenticator's person signs in at the login page whose code holds this link. What follows is a request
    /// like any other.
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
    pub async fn decide(&self, request: &Request, number: Option<&str>) -> anyhow::Result<String> {
        let signature = self.sign(&self.statement(request, number).text())?;
        text(
            &self
                .send_proof(request.id, number, &signature)
                .await?
                .agreed()?,
            "outcome",
        )
    }

    /// Says that a request was not the person's: requests reach no phone of theirs for a while.
    pub async fn not_me(&self, request: &Request) -> anyhow::Result<String> {
        let statement = ApprovalStatement {
            decision: Decision::NotMe,
            ..self.statement(request, None)
        };
        let signature = self.sign(&statement.text())?;
        text(
            &self
                .send(request.id, Decision::NotMe, "", &signature)
                .await?
                .agreed()?,
            "outcome",
        )
    }

    /// Until when requests reach no phone of the person, in seconds since the epoch.
    pub async fn cooldown_until(&self) -> anyhow::Result<Option<i64>> {
        let reply = self
            .call(Method::GET, "/authenticator/api/requests", "", Vec::new())
            .await?;
        Ok(reply
            .agreed()?
            .get("cooldown_until")
            .and_then(Value::as_i64))
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
