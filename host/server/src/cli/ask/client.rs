//! A client of back-channel requests in poll mode (OpenID CIBA Core 1.0), against the discovery of any issuer.

use std::fmt;
use std::time::Duration;

use reqwest::header::RETRY_AFTER;
use reqwest::{RequestBuilder, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

use crate::cli::ask::credentials::Credentials;
use crate::cli::trusted_address::is_trusted;

/// The timeout of one call.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The time between two polls, if the server names none (OpenID CIBA Core 1.0 section 7.3).
const INTERVAL: u64 = 5;
const GRANT: &str = "urn:openid:params:grant-type:ciba";

/// A call without the expected result.
#[derive(Debug)]
pub(super) enum CallError {
    /// No server answered.
    Unreachable(String),
    /// The server returned an error (RFC 6749 section 5.2).
    Rejected(Rejection),
    /// The answer cannot be used.
    Unusable(String),
}

/// An error of the server.
#[derive(Debug)]
pub(super) struct Rejection {
    status: StatusCode,
    /// The `error` code.
    pub(super) code: String,
    description: String,
    /// The shortest time until the next attempt, in seconds.
    retry_after: Option<u64>,
}

impl CallError {
    /// Whether the same call may succeed later: no server answered, or it is overloaded.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            Self::Rejected(rejection) => {
                rejection.status.is_server_error()
                    || rejection.status == StatusCode::TOO_MANY_REQUESTS
            }
            Self::Unusable(_) => false,
        }
    }

    /// The code for scripts.
    pub(super) fn code(&self) -> &str {
        match self {
            Self::Unreachable(_) => "unreachable",
            Self::Rejected(rejection) => &rejection.code,
            Self::Unusable(_) => "unusable_answer",
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rejection = match self {
            Self::Unreachable(text) | Self::Unusable(text) => return f.write_str(text),
            Self::Rejected(rejection) => rejection,
        };
        match rejection.code.as_str() {
            "unknown_user_id" => f.write_str(
                "the user does not exist, or has no access to this application: check the name, and give the user \
                 access in the console",
            ),
            "invalid_client" => write!(
                f,
                "the client is not authorized: check client_id and client_secret, and that the application uses \
                 client_secret_basic ({})",
                rejection.description
            ),
            "unauthorized_client" => write!(
                f,
                "the application may not ask users without a browser: it must be enabled, authenticate itself, and \
                 have the grant type {GRANT}"
            ),
            code => {
                write!(f, "{code}: {}", rejection.description)?;
                match rejection.retry_after {
                    Some(seconds) => write!(f, " (in {seconds} s)"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl std::error::Error for CallError {}

/// The members of discovery that this client needs (OpenID Connect Discovery 1.0 section 3).
#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    token_endpoint: Url,
    revocation_endpoint: Option<Url>,
    backchannel_authentication_endpoint: Option<Url>,
    receipts_endpoint: Option<Url>,
}

/// The addresses of an issuer.
struct Endpoints {
    token: Url,
    revocation: Option<Url>,
    backchannel: Url,
    receipts: Option<Url>,
}

/// An application at its issuer.
pub(super) struct Client {
    http: reqwest::Client,
    credentials: Credentials,
    endpoints: Endpoints,
}

/// A request that the server accepted (OpenID CIBA Core 1.0 section 7.3).
#[derive(Deserialize)]
pub(super) struct AcceptedRequest {
    auth_req_id: String,
    expires_in: u64,
    interval: Option<u64>,
    /// The digits that the user types on the device, if the application has the binding `typed`. The member is one of
    /// this server.
    pub(super) binding_number: Option<String>,
}

impl AcceptedRequest {
    /// The lifetime of the request.
    pub(super) const fn lifetime(&self) -> Duration {
        Duration::from_secs(self.expires_in)
    }

    /// The shortest time between two polls.
    pub(super) fn interval(&self) -> Duration {
        Duration::from_secs(self.interval.unwrap_or(INTERVAL).max(1))
    }
}

/// The question to a user.
pub(super) struct Question<'a> {
    /// The name or email address.
    pub(super) user: &'a str,
    /// The message that the device shows.
    pub(super) message: &'a str,
    /// The lifetime of the request.
    pub(super) expires: Option<Duration>,
}

/// The result of a poll.
pub(super) enum Poll {
    /// The user has not answered.
    Pending,
    /// The same, and the client polls too fast.
    SlowDown,
    /// The user approved.
    Approved(Approval),
    /// The user denied, or may not use the application.
    Denied,
    /// No answer arrived in time.
    Expired,
}

/// The members of a token response that matter here.
#[derive(Deserialize)]
pub(super) struct Approval {
    access_token: String,
    /// The identifier of the receipt, if the server keeps receipts.
    pub(super) receipt_id: Option<String>,
}

/// The answer of the receipt endpoint.
#[derive(Deserialize)]
struct ReceiptAnswer {
    receipt: String,
}

#[derive(Deserialize)]
struct ErrorAnswer {
    error: String,
    #[serde(default)]
    error_description: String,
}

impl Client {
    /// Reads the discovery of the issuer.
    pub(super) async fn discover(credentials: Credentials) -> Result<Self, CallError> {
        let issuer = &credentials.issuer;
        let unusable = |why: String| CallError::Unusable(format!("{issuer}: {why}"));
        let url = format!("{issuer}/.well-known/openid-configuration");
        let url = Url::parse(&url).map_err(|_| unusable("the issuer is not a URL".to_owned()))?;
        if !is_trusted(&url) {
            let why = "use https, because anyone could read the secret on the way";
            return Err(unusable(why.to_owned()));
        }
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(TIMEOUT)
            .build()
            .map_err(|error| unreachable(&error))?;
        let found: Discovery = read(http.get(url)).await?;
        if found.issuer.trim_end_matches('/') != issuer.as_str() {
            return Err(unusable(format!("its issuer is {}", found.issuer)));
        }
        let backchannel = found.backchannel_authentication_endpoint;
        let backchannel = backchannel
            .ok_or_else(|| unusable("it does not support requests without a browser".to_owned()))?;
        let endpoints = Endpoints {
            token: found.token_endpoint,
            revocation: found.revocation_endpoint,
            backchannel,
            receipts: found.receipts_endpoint,
        };
        let Endpoints {
            token,
            revocation,
            backchannel,
            receipts,
        } = &endpoints;
        let optional = revocation.iter().chain(receipts);
        if let Some(url) = [token, backchannel]
            .into_iter()
            .chain(optional)
            .find(|url| !is_trusted(url))
        {
            return Err(unusable(format!("its address {url} has no https")));
        }
        Ok(Self {
            http,
            credentials,
            endpoints,
        })
    }

    /// The issuer's URL.
    pub(super) fn issuer(&self) -> &str {
        &self.credentials.issuer
    }

    /// The client ID.
    pub(super) fn id(&self) -> &str {
        &self.credentials.client_id
    }

    /// Begins a request.
    pub(super) async fn begin(
        &self,
        question: &Question<'_>,
    ) -> Result<AcceptedRequest, CallError> {
        let expiry = question
            .expires
            .map(|expires| expires.as_secs().to_string());
        let mut form = vec![
            ("scope", "openid"),
            ("login_hint", question.user),
            ("binding_message", question.message),
        ];
        form.extend(expiry.as_deref().map(|expiry| ("requested_expiry", expiry)));
        let request = self.http.post(self.endpoints.backchannel.clone());
        read(self.authenticated(request).form(&form)).await
    }

    /// Polls once for the result.
    pub(super) async fn poll(&self, request: &AcceptedRequest) -> Result<Poll, CallError> {
        let form = [
            ("grant_type", GRANT),
            ("auth_req_id", request.auth_req_id.as_str()),
        ];
        let call = self.http.post(self.endpoints.token.clone());
        match read(self.authenticated(call).form(&form)).await {
            Ok(approval) => Ok(Poll::Approved(approval)),
            Err(CallError::Rejected(rejection)) => match rejection.code.as_str() {
                "authorization_pending" => Ok(Poll::Pending),
                "slow_down" => Ok(Poll::SlowDown),
                "access_denied" => Ok(Poll::Denied),
                "expired_token" => Ok(Poll::Expired),
                _ => Err(CallError::Rejected(rejection)),
            },
            Err(error) => Err(error),
        }
    }

    /// Withdraws a request: it disappears from the user's devices.
    pub(super) async fn withdraw(&self, request: &AcceptedRequest) -> Result<(), CallError> {
        self.revoke(&request.auth_req_id).await
    }

    /// Revokes the token of an approval, because the approval itself is all that matters.
    pub(super) async fn discard(&self, approval: &Approval) -> Result<(), CallError> {
        self.revoke(&approval.access_token).await
    }

    async fn revoke(&self, token: &str) -> Result<(), CallError> {
        let Some(url) = &self.endpoints.revocation else {
            let why = "the issuer has no revocation endpoint";
            return Err(CallError::Unusable(why.to_owned()));
        };
        let request = self.http.post(url.clone()).form(&[("token", token)]);
        send(self.authenticated(request)).await.map(|_| ())
    }

    /// Returns the text of a receipt, and the address of the issuer's receipt keys.
    pub(super) async fn receipt(&self, id: &str) -> Result<(String, String), CallError> {
        let Some(base) = &self.endpoints.receipts else {
            let why = "the issuer has no receipts for applications";
            return Err(CallError::Unusable(why.to_owned()));
        };
        let below = |name: &str| {
            let mut url = base.clone();
            if let Ok(mut parts) = url.path_segments_mut() {
                parts.push(name);
            }
            url
        };
        let request = self.http.get(below(id));
        let answer: ReceiptAnswer = read(self.authenticated(request)).await?;
        Ok((answer.receipt, below("keys").to_string()))
    }

    /// Authenticates a request (RFC 6749 section 2.3.1).
    fn authenticated(&self, request: RequestBuilder) -> RequestBuilder {
        let encoded =
            |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let Credentials {
            client_id, secret, ..
        } = &self.credentials;
        request.basic_auth(encoded(client_id), Some(encoded(secret.expose())))
    }
}

async fn read<T: DeserializeOwned>(request: RequestBuilder) -> Result<T, CallError> {
    let body = send(request).await?;
    // The error would quote the answer, which may have tokens.
    serde_json::from_slice(&body)
        .map_err(|_| CallError::Unusable("the server returned an unexpected answer".to_owned()))
}

/// Sends a request, and returns the body of its success.
async fn send(request: RequestBuilder) -> Result<Vec<u8>, CallError> {
    let answer = request.send().await.map_err(|error| unreachable(&error))?;
    let status = answer.status();
    let retry_after = answer
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.parse().ok());
    let body = answer.bytes().await.map_err(|error| unreachable(&error))?;
    if status.is_success() {
        return Ok(body.into());
    }
    let read = serde_json::from_slice(&body);
    let ErrorAnswer {
        error: code,
        error_description: description,
    } = read.unwrap_or_else(|_| ErrorAnswer {
        error: status.as_u16().to_string(),
        error_description: format!("the server answered with the status {status}"),
    });
    Err(CallError::Rejected(Rejection {
        status,
        code,
        description,
        retry_after,
    }))
}

fn unreachable(error: &reqwest::Error) -> CallError {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    CallError::Unreachable(text)
}
