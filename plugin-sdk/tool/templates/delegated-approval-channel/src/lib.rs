//! Sends the question "is it you who signs in?" to a vendor's authenticator, and polls the vendor for the answer.
//!
//! Assent trusts the vendor's answer, so the plugin accepts an answer only for the request that it sent. Assent adds
//! the credentials (`credentials` in the operator's settings); the plugin never sees them.
//!
//! The question contains `binding_message`: a few letters that the user's browser shows too. The vendor's app must show
//! them beside the question. Otherwise a user could approve a sign-in that an attacker started.
//!
//! Settings:
//! - `base_url`: the address of the vendor's API. For a stub on this machine: `http://localhost:8099`.

use assent_plugin_sdk::delegated::{
    Begun, DelegatedApprovalChannel, Failure, Host, HttpError, Method, Question, Request, Response, State,
};
use assent_plugin_sdk::{Description, Value, json};
use serde::Deserialize;

/// Milliseconds between two polls.
const POLL_AFTER: u32 = 2_000;
/// The delay before a retry, in seconds, if the vendor's response names none.
const RETRY_AFTER: u32 = 5;

/// Calls the vendor.
pub struct Plugin;

/// The plugin's settings.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    base_url: String,
}

/// The vendor's answer about a request.
#[derive(Deserialize)]
struct Status {
    /// The id of the request, as the plugin sent it.
    reference: String,
    status: String,
}

impl DelegatedApprovalChannel for Plugin {
    type Config = Config;

    fn describe() -> Description {
        let summary = "Asks a vendor's authenticator whether the user approves";
        // `*`: the operator names the host of `base_url` in `http_hosts`.
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), summary).hosts(["*"]).config_schema(json!({
            "type": "object",
            "required": ["base_url"],
            "additionalProperties": false,
            "properties": { "base_url": { "type": "string" } },
        }))
    }

    fn validate(config: &Config) -> Result<(), Vec<String>> {
        if config.base_url.starts_with("https://") || config.base_url.starts_with("http://") {
            return Ok(());
        }
        Err(vec!["`base_url` must be an address such as https://api.vendor.example".to_owned()])
    }

    fn begin(host: &dyn Host, config: &Config, question: &Question) -> Result<Begun, Failure> {
        let body = json!({
            "reference": question.request_id,
            "person": question.address,
            "binding_message": question.binding,
            "text": format!("{} signs in to {}, {} in {}", question.account, question.application, question.browser,
                question.place),
            "expires_at": question.expires_at,
        });
        send(host, config, Method::Put, &question.request_id, Some(&body))?;
        Ok(Begun { handle: question.request_id.clone().into_bytes(), poll_after_ms: POLL_AFTER })
    }

    fn poll(host: &dyn Host, config: &Config, handle: &[u8]) -> Result<State, Failure> {
        let request_id = request_id(handle)?;
        let answer = send(host, config, Method::Get, request_id, None)?;
        let status: Status = parsed(&answer)?;
        if status.reference != request_id {
            return Err(Failure::Rejected("the vendor's answer is about another request".to_owned()));
        }
        Ok(match status.status.as_str() {
            "approved" => State::Approved,
            "denied" => State::Denied,
            "expired" => State::Expired,
            _ => State::Pending(POLL_AFTER),
        })
    }

    fn cancel(host: &dyn Host, config: &Config, handle: &[u8]) -> Result<(), Failure> {
        send(host, config, Method::Delete, request_id(handle)?, None).map(drop)
    }
}

/// Returns the id of the request, which is the handle. It has letters, digits and `-`, so it can be part of a URL.
fn request_id(handle: &[u8]) -> Result<&str, Failure> {
    std::str::from_utf8(handle).map_err(|_| Failure::Rejected("the handle does not belong to this plugin".to_owned()))
}

fn parsed<T: for<'de> Deserialize<'de>>(answer: &Response) -> Result<T, Failure> {
    let value: Result<Value, _> = std::str::from_utf8(&answer.body).unwrap_or_default().parse();
    let read = value.and_then(T::deserialize);
    read.map_err(|error| Failure::Rejected(format!("the vendor's answer cannot be read: {error}")))
}

fn send(
    host: &dyn Host,
    config: &Config,
    method: Method,
    request_id: &str,
    body: Option<&Value>,
) -> Result<Response, Failure> {
    let request = Request {
        method,
        url: format!("{}/requests/{request_id}", config.base_url.trim_end_matches('/')),
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: body.map(|body| body.to_string().into_bytes()).unwrap_or_default(),
    };
    match host.send(request) {
        Ok(answer) => match answer.status {
            200..=299 => Ok(answer),
            404 | 410 => Err(Failure::Gone),
            429 | 500..=599 => Err(Failure::RetryAfter(RETRY_AFTER)),
            status => Err(Failure::Rejected(format!("the vendor answered with the status {status}"))),
        },
        Err(HttpError::TimedOut | HttpError::Unreachable(_)) => Err(Failure::RetryAfter(RETRY_AFTER)),
        Err(error) => Err(Failure::Rejected(error.to_string())),
    }
}

assent_plugin_sdk::delegated_approval_channel!(Plugin);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixtures_hold() {
        assent_plugin_sdk::fixtures::assert_delegated_channel::<Plugin>("fixtures");
    }
}
