//! Wakes the user's authenticator: posts the sealed notice to the device's address.
//!
//! The authenticator then answers Assent itself, so the plugin has nothing to poll for and nothing to cancel.

use assent_plugin_sdk::Description;
use assent_plugin_sdk::approval::{ApprovalChannel, Begun, Failure, Host, HttpError, Method, Notice, Request, State};
use serde::Deserialize;

/// The delay before a retry, in seconds, if the response names none.
const RETRY_AFTER: u32 = 5;

/// Sends the notices.
pub struct Plugin;

/// The plugin has no settings.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl ApprovalChannel for Plugin {
    type Config = Config;

    fn describe() -> Description {
        let summary = "Wakes a user's authenticator";
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), summary)
            .hosts(["push.example.com"])
    }

    fn begin(host: &dyn Host, _config: &Config, notice: &Notice) -> Result<Begun, Failure> {
        let Some(left) = notice.expires_at.checked_sub(host.now()).filter(|left| *left > 0) else {
            return Err(Failure::Rejected("the notice has expired".to_owned()));
        };
        let request = Request {
            method: Method::Post,
            url: notice.address.clone(),
            headers: vec![("ttl".to_owned(), left.to_string())],
            body: notice.sealed.clone(),
        };
        match host.send(request) {
            Ok(answer) => match answer.status {
                200..=299 => Ok(Begun { handle: notice.request_id.clone().into_bytes(), poll_after_ms: None }),
                404 | 410 => Err(Failure::Gone),
                429 | 500..=599 => Err(Failure::RetryAfter(RETRY_AFTER)),
                status => Err(Failure::Rejected(format!("it was answered with the status {status}"))),
            },
            Err(HttpError::TimedOut | HttpError::Unreachable(_)) => Err(Failure::RetryAfter(RETRY_AFTER)),
            Err(error) => Err(Failure::Rejected(error.to_string())),
        }
    }

    fn poll(_host: &dyn Host, _config: &Config, _handle: &[u8]) -> Result<State, Failure> {
        Ok(State::Pending(60_000))
    }
}

assent_plugin_sdk::approval_channel!(Plugin);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixtures_hold() {
        assent_plugin_sdk::fixtures::assert_channel::<Plugin>("fixtures");
    }
}
