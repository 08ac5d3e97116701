//! Sends approval requests to a vendor's authenticator, over a plain HTTP interface with JSON.
//!
//! The server trusts the vendor's decision, so the operator must set `trust = "delegated"`. The smallest settings are:
//!
//! ```toml
//! [[plugins.approval_channels]]
//! name = "vendor"
//! file = "/usr/lib/assent/plugins/http-gateway.wasm"
//! trust = "delegated"
//! http_hosts = ["api.vendor.example"]
//! credentials = [{ kind = "signature", key_id = "assent", secret_file = "/etc/assent/vendor.key" }]
//! config = { base_url = "https://api.vendor.example/v1" }
//! ```
//!
//! An administrator sets the user's identifier at the vendor:
//! `PUT /admin/api/v1/users/{id}/external-authenticators/vendor` with `{"identifier": "..."}`. The host adds
//! credentials (a signature by RFC 9421, or a header) when a request leaves, so they are never in these settings. The
//! signature is HMAC-SHA256 over `@method`, `@target-uri` and `content-digest`, with the label `assent`. Its key is the
//! text of the secret's file without surrounding white space; it is not decoded.
//!
//! # The vendor's interface
//!
//! `POST {base_url}/approvals` sends the question:
//!
//! ```json
//! {"request_id": "...", "user": "...", "application": "...", "account": "...", "place": "...", "browser": "...",
//!  "binding_message": "KQRT", "expires_at": 1800000120,
//!  "callback_url": "https://id.example.org/approvals/callbacks/..."}
//! ```
//!
//! The user's browser shows the letters of `binding_message` too. The vendor's app must show them beside the question,
//! so that a user does not approve a sign-in that an attacker started.
//!
//! The header `Idempotency-Key` contains the request id. The same question may arrive twice, and the vendor must send
//! it to the user only once. The response is 200, 201 or 202 with `{"id": "...", "poll_after_ms": 2000}`;
//! `poll_after_ms` is optional. 404 and 410 mean that the vendor has no such `user`. Then, and also after 429 and 5xx,
//! the server tries another channel.
//!
//! `GET {base_url}/approvals/{id}` returns the state of the request: 200 with `{"request_id": "...", "status": "..."}`
//! and an optional `poll_after_ms`. The status is `pending`, `approved`, `denied` or `expired`. The plugin rejects a
//! response that does not contain exactly this request id. After 429 and 5xx the server polls again, after the delay in
//! `Retry-After`.
//!
//! `POST {callback_url}` from the vendor with `{"request_id": "..."}` reports that the state may have changed. The
//! server then polls at once. The callback needs no credential, because it decides nothing.
//!
//! # Settings for other interfaces
//!
//! - `begin_path`, by default `/approvals`; `status_path`, by default `/approvals/{id}`; `cancel_path`, by default
//!   none: the path that cancels a request, with `cancel_method`, `delete` or `post`. `{id}` in a path is the vendor's
//!   id, and `{request_id}` is the id of Assent.
//! - `poll_interval`, by default `2s`: the delay between two polls if the vendor does not specify it. Units: `ms`, `s`,
//!   `m`.
//! - `[config.question]`: the names of the question's fields, such as `user = "username"`. An empty name omits the
//!   field.
//! - `[config.extra]`: fields that are added to each question without a change.
//! - `[config.answer]`: the names of the fields of responses and callbacks: `id`, `request_id`, `status` and
//!   `poll_after_ms`. `data.state` is the field `state` in the object `data`.
//! - `[config.statuses]`: the vendor's words, each a list: `pending`, `approved`, `denied` and `expired`.

pub mod config;
#[cfg(test)]
mod tests;

use assent_plugin_sdk::delegated::{
    Begun, Callback, DelegatedApprovalChannel, Failure, Host, HttpError, Method, Question, Request,
    Response, State,
};
use assent_plugin_sdk::{Description, Map, Value, json};
use config::Config;
use serde::{Deserialize, Serialize};

/// Sends approval requests to a vendor.
pub struct HttpGateway;

/// The delay before a retry if the vendor's response names none, in seconds.
const RETRY_AFTER: u32 = 5;
/// The longest delay that is reported, in seconds, because an approval lasts only minutes.
const LONGEST_RETRY: u32 = 600;
/// The longest id of a vendor, in bytes.
const LONGEST_ID: usize = 1024;

/// The data by which a request is found again.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Handle {
    /// The vendor's id.
    id: String,
    /// Assent's id of the request.
    request_id: String,
}

impl DelegatedApprovalChannel for HttpGateway {
    type Config = Config;

    fn describe() -> Description {
        Description::new(
            "http-gateway",
            env!("CARGO_PKG_VERSION"),
            env!("CARGO_PKG_DESCRIPTION"),
        )
        .hosts(["*"])
        .config_schema(config::schema())
    }

    fn validate(config: &Config) -> Result<(), Vec<String>> {
        config.check()
    }

    fn begin(host: &dyn Host, config: &Config, question: &Question) -> Result<Begun, Failure> {
        let body = json!(config.question_fields(question))
            .to_string()
            .into_bytes();
        let request = Request {
            method: Method::Post,
            url: config.url(&config.begin_path, "", &question.request_id),
            headers: vec![
                ("accept".to_owned(), "application/json".to_owned()),
                ("content-type".to_owned(), "application/json".to_owned()),
                ("idempotency-key".to_owned(), question.request_id.clone()),
            ],
            body,
        };
        let answer = object(&outcome(host.send(request))?)?;
        if config
            .answer
            .request_id
            .value_in(&answer)
            .is_some_and(|named| named.as_str() != Some(&question.request_id))
        {
            return Err(Failure::Rejected(
                "the vendor's answer is about another request".to_owned(),
            ));
        }
        let id = match config.answer.id.value_in(&answer) {
            Some(Value::String(id)) => id.clone(),
            Some(Value::Number(id)) => id.to_string(),
            _ => {
                return Err(Failure::Rejected(format!(
                    "the vendor's answer has no `{}`",
                    config.answer.id
                )));
            }
        };
        if id.is_empty() || id.len() > LONGEST_ID {
            return Err(Failure::Rejected(format!(
                "the vendor's id is empty or longer than {LONGEST_ID} bytes"
            )));
        }
        let handle = Handle {
            id,
            request_id: question.request_id.clone(),
        };
        Ok(Begun {
            handle: json!(handle).to_string().into_bytes(),
            poll_after_ms: config.poll_after(&answer),
        })
    }

    fn poll(host: &dyn Host, config: &Config, handle: &[u8]) -> Result<State, Failure> {
        let Handle { id, request_id } = read(handle)?;
        let request = Request {
            method: Method::Get,
            url: config.url(&config.status_path, &id, &request_id),
            headers: vec![("accept".to_owned(), "application/json".to_owned())],
            body: Vec::new(),
        };
        let answer = object(&outcome(host.send(request))?)?;
        if config
            .answer
            .request_id
            .value_in(&answer)
            .and_then(Value::as_str)
            != Some(&request_id)
        {
            return Err(Failure::Rejected(
                "the vendor's answer does not name this request".to_owned(),
            ));
        }
        let status = config
            .answer
            .status
            .value_in(&answer)
            .and_then(Value::as_str)
            .unwrap_or_default();
        let statuses = &config.statuses;
        let says = |words: &[String]| words.iter().any(|word| word == status);
        if says(&statuses.approved) {
            Ok(State::Approved)
        } else if says(&statuses.denied) {
            Ok(State::Denied)
        } else if says(&statuses.expired) {
            Ok(State::Expired)
        } else if says(&statuses.pending) {
            Ok(State::Pending(config.poll_after(&answer)))
        } else {
            let shown: String = status.chars().take(40).collect();
            Err(Failure::Rejected(format!(
                "the vendor's status `{shown}` is not among `statuses`"
            )))
        }
    }

    fn on_callback(
        _host: &dyn Host,
        config: &Config,
        callback: &Callback,
    ) -> Result<Vec<String>, Failure> {
        let body: Value = serde_json::from_slice(&callback.body)
            .map_err(|error| Failure::Rejected(format!("a callback is not JSON: {error}")))?;
        let named = config
            .answer
            .request_id
            .value_in(&body)
            .and_then(Value::as_str);
        Ok(named.map(str::to_owned).into_iter().collect())
    }

    fn cancel(host: &dyn Host, config: &Config, handle: &[u8]) -> Result<(), Failure> {
        let Some(path) = &config.cancel_path else {
            return Ok(());
        };
        let Handle { id, request_id } = read(handle)?;
        let request = Request {
            method: config.cancel_method.into(),
            url: config.url(path, &id, &request_id),
            headers: vec![("idempotency-key".to_owned(), format!("{request_id}-cancel"))],
            body: Vec::new(),
        };
        outcome(host.send(request)).map(drop)
    }
}

assent_plugin_sdk::delegated_approval_channel!(HttpGateway);

/// Returns the response if it is a success.
fn outcome(answer: Result<Response, HttpError>) -> Result<Response, Failure> {
    match answer {
        Ok(response) => match response.status {
            200..=204 => Ok(response),
            404 | 410 => Err(Failure::Gone),
            429 | 500..=599 => Err(Failure::RetryAfter(retry_after(&response))),
            status => Err(Failure::Rejected(format!("the vendor answered {status}"))),
        },
        Err(HttpError::Unreachable(_) | HttpError::TimedOut) => {
            Err(Failure::RetryAfter(RETRY_AFTER))
        }
        Err(error) => Err(Failure::Rejected(error.to_string())),
    }
}

/// Returns `Retry-After` in seconds. For the other form, a date, it returns the default.
fn retry_after(response: &Response) -> u32 {
    let seconds = response
        .header("retry-after")
        .and_then(|value| value.trim().parse().ok());
    seconds.unwrap_or(RETRY_AFTER).clamp(1, LONGEST_RETRY)
}

fn object(response: &Response) -> Result<Value, Failure> {
    match serde_json::from_slice::<Map<String, Value>>(&response.body) {
        Ok(object) => Ok(Value::Object(object)),
        Err(_) => Err(Failure::Rejected(
            "the vendor's answer is not a JSON object".to_owned(),
        )),
    }
}

fn read(handle: &[u8]) -> Result<Handle, Failure> {
    serde_json::from_slice(handle)
        .map_err(|_| Failure::Rejected("another plugin began the request".to_owned()))
}
