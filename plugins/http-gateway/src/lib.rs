//! Asks a vendor's authenticator whether the person approves, over a plain HTTP interface with JSON.
//!
//! The vendor's word counts, so the operator has to say that it is trusted. A smallest set of settings:
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
//! An administrator says what the vendor knows each person by:
//! `PUT /admin/api/v1/users/{id}/external-authenticators/vendor` with `{"address": "..."}`. Credentials (a signature by
//! RFC 9421 or a header) are added by the host when a request leaves, and are never in these settings. The signature is
//! HMAC-SHA256 over `@method`, `@target-uri` and `content-digest`, with the label `assent`; its key is the text of the
//! secret's file without the white space around it, not decoded.
//!
//! # What the vendor serves
//!
//! `POST {base_url}/approvals` puts the question:
//!
//! ```json
//! {"request_id": "...", "user": "...", "application": "...", "account": "...", "place": "...", "browser": "...",
//!  "binding_message": "KQRT", "expires_at": 1800000120,
//!  "callback_url": "https://id.example.org/approvals/callbacks/..."}
//! ```
//!
//! The person's browser shows the letters of `binding_message` as well. The vendor's app is to show them beside the
//! question: then nobody approves a sign-in that somebody else has begun in their name.
//!
//! The header `Idempotency-Key` has the request id too: the same question may come twice and is to be put once. The
//! answer is 200, 201 or 202 with `{"id": "...", "poll_after_ms": 2000}`, of which the second may be missing. 404 and
//! 410 say that there is no such `user`, so that another channel is tried. So it is after 429 and 5xx.
//!
//! `GET {base_url}/approvals/{id}` says how the request stands: 200 with `{"request_id": "...", "status": "..."}` and,
//! if it likes, `poll_after_ms`. The status is `pending`, `approved`, `denied` or `expired`. An answer that does not
//! name the very request id is not believed. After 429 and 5xx it is asked again, when `Retry-After` says.
//!
//! `POST {callback_url}` with `{"request_id": "..."}` by the vendor says that there is news; the host then asks at
//! once. It needs no credential, since it decides nothing.
//!
//! # Where a vendor has it otherwise
//!
//! - `begin_path`, `/approvals`; `status_path`, `/approvals/{id}`; `cancel_path`, none: where a request that is over is
//!   taken back, with `cancel_method`, `delete` or `post`. `{id}` in a path is the vendor's id, `{request_id}` ours.
//! - `poll_interval`, `2s`: how long to wait between two questions if the vendor does not say. Units: `ms`, `s`, `m`.
//! - `[config.question]`: the names of the question's fields, such as `user = "username"`. A name that is empty leaves
//!   the field out.
//! - `[config.extra]`: fields that are added to each question as they are.
//! - `[config.answer]`: the names of the fields of answers and callbacks: `id`, `request_id`, `status` and
//!   `poll_after_ms`. `data.state` is the field `state` in the object `data`.
//! - `[config.statuses]`: the vendor's words, each a list: `pending`, `approved`, `denied` and `expired`.

mod config;
#[cfg(test)]
mod tests;

use assent_plugin_sdk::delegated::{
    Begun, Callback, DelegatedApprovalChannel, Failure, Host, HttpError, Method, Question, Request,
    Response, State,
};
use assent_plugin_sdk::{Description, Map, Value, json};
pub use config::Config;
use serde::{Deserialize, Serialize};

/// Asks a vendor.
pub struct HttpGateway;

/// How long to wait where the vendor can't answer and does not say, in seconds.
const RETRY_AFTER: u32 = 5;
/// The longest wait that is passed on, in seconds: an approval lives for minutes.
const LONGEST_RETRY: u32 = 600;
/// The longest id of a vendor, in bytes.
const LONGEST_ID: usize = 1024;

/// What a request is found by again.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Handle {
    /// The vendor's id.
    id: String,
    /// Ours.
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

/// The vendor's answer, if it did what it was asked.
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

/// `Retry-After` in seconds; its other form, a date, is answered with the default.
fn retry_after(response: &Response) -> u32 {
    let said = response
        .header("retry-after")
        .and_then(|value| value.trim().parse().ok());
    said.unwrap_or(RETRY_AFTER).clamp(1, LONGEST_RETRY)
}

/// The JSON object of an answer.
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
        .map_err(|_| Failure::Rejected("the request was begun by another plugin".to_owned()))
}
