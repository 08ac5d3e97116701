//! Signed calls of the server's authenticator API, and their responses.

use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openssl::bn::{BigNum, BigNumContext};
use openssl::ec::EcKey;
use openssl::ecdsa::EcdsaSig;
use openssl::pkey::Private;
use reqwest::{Client, Method, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::authenticator::enrolled::{Authenticator, PendingRequest};
use crate::authenticator::link::token_in;
use crate::domain::approvals::answer::DecisionProof;
use crate::http::devices::ErrorCode;
use crate::http::sign_in::qr_sign_in::QrSignInToken;
use assent_model::clock::{Clock, SystemClock, Timestamp};
use assent_model::device::DeviceKey;
use assent_model::id::ApprovalId;
use assent_model::statement::{
    ApprovalStatement, Binding, CallStatement, Decision, StatementSubject,
};
use assent_model::token::prefix;

impl Authenticator {
    /// Returns the statement to sign about a request: an approval with a number, or a denial without one.
    pub fn statement<'a>(
        &'a self,
        request: &'a PendingRequest,
        number: Option<&'a str>,
    ) -> ApprovalStatement<'a> {
        ApprovalStatement {
            issuer: &self.issuer,
            request: request.id,
            device: self.device,
            application: &request.application.id,
            application_name: &request.application.name,
            subject: subject_of(request),
            details: &request.details,
            account: &request.account,
            place: &request.place,
            browser: &request.browser,
            expires: Timestamp::from_seconds(request.expires_at),
            decision: if number.is_some() {
                Decision::Approve
            } else {
                Decision::Deny
            },
            binding: Binding::Number(number.unwrap_or_default()),
        }
    }

    /// Sends a decision with its signature.
    ///
    /// # Errors
    /// If the server cannot be reached.
    pub async fn send_proof(
        &self,
        id: ApprovalId,
        number: Option<&str>,
        signature: &str,
    ) -> anyhow::Result<Reply> {
        let decision = if number.is_some() {
            Decision::Approve
        } else {
            Decision::Deny
        };
        self.send(id, decision, number.unwrap_or_default(), signature)
            .await
    }

    /// Sends any decision, with the number that the user typed.
    ///
    /// # Errors
    /// If the server cannot be reached.
    pub async fn send(
        &self,
        id: ApprovalId,
        decision: Decision,
        number: &str,
        signature: &str,
    ) -> anyhow::Result<Reply> {
        let body = DecisionProof {
            decision,
            number: number.to_owned(),
            same_browser: false,
            signature: signature.to_owned(),
            passkey: None,
        };
        self.call(
            Method::POST,
            &format!("/authenticator/api/requests/{id}"),
            "",
            serde_json::to_vec(&body)?,
        )
        .await
    }

    /// Signs a text with the device's key. Returns the signature in the format of WebCrypto: `r` and `s` of 32 bytes
    /// each, base64url.
    ///
    /// # Errors
    /// If the private key cannot be read, or the cryptographic library fails.
    pub fn sign(&self, text: &str) -> anyhow::Result<String> {
        let key = EcKey::private_key_from_pem(self.private_key.as_bytes())
            .context("the file holds no private key")?;
        signature(&key, text)
    }

    /// Calls an operation of the API by its path below `/authenticator/api`, with a JSON body. Returns the body of the
    /// response.
    ///
    /// # Errors
    /// If the server cannot be reached or rejects the call.
    pub async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> anyhow::Result<Value> {
        let body = body
            .map(|body| serde_json::to_vec(&body))
            .transpose()?
            .unwrap_or_default();
        self.call(method, &format!("/authenticator/api{path}"), "", body)
            .await?
            .into_body()
    }

    /// Sends a call that the device signs. If the server rejects the time of the call, sends the call once more with
    /// the server's time.
    ///
    /// # Errors
    /// If the server cannot be reached, or rejects the time again.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        query: &str,
        body: Vec<u8>,
    ) -> anyhow::Result<Reply> {
        let mut time = SystemClock.now().seconds();
        for _ in 0..2 {
            let statement = CallStatement {
                issuer: &self.issuer,
                device: self.device,
                time,
                method: method.as_str(),
                path,
                body: &body,
            };
            let header = format!(
                "Assent-Device {}.{time}.{}",
                self.device,
                self.sign(&statement.text())?
            );
            let url = format!("{}{path}{query}", self.origin);
            let mut request = client()
                .await?
                .request(method.clone(), url)
                .header("authorization", header)
                // The command-line client uses English. The signature covers the summary in the language of the call.
                .header("accept-language", "en");
            if !body.is_empty() {
                request = request
                    .header("content-type", "application/json")
                    .body(body.clone());
            }
            let reply = exchange(request).await?;
            let error = reply.error();
            if error.error != ErrorCode::ClockDifference.as_str() {
                return Ok(reply);
            }
            time = error
                .now
                .context("the server rejected the time of this machine and returned no time")?;
        }
        bail!("the server rejected the time of this machine; synchronise the clock, then try again")
    }
}

/// Returns the subject of the statement about a request.
fn subject_of(request: &PendingRequest) -> StatementSubject<'_> {
    if let Some(second) = &request.second_approval {
        return StatementSubject::SecondApproval {
            first: &second.first,
            message: second.message.as_deref().unwrap_or_default(),
            scopes: &second.scopes,
        };
    }
    match (
        &request.action,
        &request.backchannel,
        &request.device_authorization,
        &request.caller_check,
    ) {
        (Some(action), ..) => StatementSubject::Action(action),
        (None, Some(backchannel), ..) => StatementSubject::Backchannel {
            message: backchannel.message.as_deref().unwrap_or_default(),
            scopes: &backchannel.scopes,
        },
        (None, None, Some(device), _) => StatementSubject::DeviceAuthorization {
            code: &device.user_code,
            asked_at: Timestamp::from_seconds(device.asked_at),
            scopes: &device.scopes,
        },
        (None, None, None, Some(check)) => StatementSubject::CallerCheck(&check.administrator),
        (None, None, None, None) => StatementSubject::SignIn,
    }
}

/// A response of the server.
#[derive(Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: StatusCode,
    /// The JSON body, or null without one.
    pub body: Value,
}

impl Reply {
    /// Returns the body of a successful response.
    ///
    /// # Errors
    /// The reason of the server, if the response is not successful.
    pub fn into_body(self) -> anyhow::Result<Value> {
        if self.status.is_success() {
            return Ok(self.body);
        }
        let CallError { error, message, .. } = self.error();
        bail!("{error}: {message}")
    }

    /// Returns the body of a successful response, deserialized as this type.
    pub(super) fn read<T: DeserializeOwned>(self) -> anyhow::Result<T> {
        serde_json::from_value(self.into_body()?).context("the answer cannot be read")
    }

    fn error(&self) -> CallError {
        CallError::deserialize(&self.body).unwrap_or_default()
    }
}

/// An error response. The code is a text, because the server may be of another version.
#[derive(Deserialize)]
#[serde(default)]
struct CallError {
    error: String,
    message: String,
    now: Option<i64>,
}

impl Default for CallError {
    fn default() -> Self {
        Self {
            error: "error".to_owned(),
            message: "the server returned no reason".to_owned(),
            now: None,
        }
    }
}

/// Returns the HTTP client of all authenticators of this process. The creation of a client takes longer than most
/// calls, because it reads the certificate authorities of the machine. The client keeps no idle connections, because
/// such a connection might belong to a runtime that has ended.
pub(super) async fn client() -> anyhow::Result<&'static Client> {
    static CLIENT: OnceCell<Client> = OnceCell::const_new();
    let make = async || {
        Client::builder()
            .pool_max_idle_per_host(0)
            .build()
            .context("TLS cannot be set up on this machine")
    };
    CLIENT.get_or_try_init(make).await
}

/// The server did not respond. It may have received the request.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the server could not be reached")]
pub struct NoResponse;

pub(super) async fn exchange(request: reqwest::RequestBuilder) -> anyhow::Result<Reply> {
    let response = request
        .timeout(Duration::from_secs(40))
        .send()
        .await
        .context(NoResponse)?;
    let status = response.status();
    let bytes = response.bytes().await.context(NoResponse)?;
    let body = serde_json::from_slice(&bytes).unwrap_or_default();
    Ok(Reply { status, body })
}

/// Returns the body of a call about the QR sign-in with this link.
pub(super) fn token_of(link: &str) -> anyhow::Result<Vec<u8>> {
    let token = token_in::<32>(prefix::LOGIN_CODE, link)?;
    Ok(serde_json::to_vec(&QrSignInToken { token })?)
}

pub(super) fn public_key(key: &EcKey<Private>) -> anyhow::Result<DeviceKey> {
    let (mut x, mut y) = (BigNum::new()?, BigNum::new()?);
    let mut context = BigNumContext::new()?;
    key.public_key()
        .affine_coordinates(key.group(), &mut x, &mut y, &mut context)?;
    let coordinate = |n: &BigNum| -> anyhow::Result<[u8; 32]> {
        n.to_vec_padded(32)?
            .try_into()
            .map_err(|_| anyhow!("a coordinate has 32 bytes"))
    };
    Ok(DeviceKey::from_coordinates(
        coordinate(&x)?,
        coordinate(&y)?,
    )?)
}

pub(super) fn signature(key: &EcKey<Private>, text: &str) -> anyhow::Result<String> {
    let signature = EcdsaSig::sign(&openssl::sha::sha256(text.as_bytes()), key)?;
    let bytes = [
        signature.r().to_vec_padded(32)?,
        signature.s().to_vec_padded(32)?,
    ]
    .concat();
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
