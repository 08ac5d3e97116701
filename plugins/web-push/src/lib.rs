//! Wakes the built-in authenticator through the push service of the device's browser (RFC 8030).
//!
//! The address of the notice is the subscription's endpoint. The sealed bytes are the message, which the server has
//! already encrypted for the device (RFC 8291). The host adds its VAPID credential (RFC 8292) when the request leaves,
//! so this plugin holds no key. A push is only a hint: the device fetches the request from the server, so there is
//! nothing to poll for.
//!
//! The plugin has no settings.

use assent_plugin_sdk::Description;
use assent_plugin_sdk::approval::{
    ApprovalChannel, Begun, Failure, Host, HttpError, Method, Notice, Request, Response, State,
};
use serde::Deserialize;

/// Sends push messages.
pub struct WebPush;

/// The plugin has no settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// The delay before a retry if the response of the push service names none, in seconds.
const RETRY_AFTER: u32 = 5;
/// The longest delay that is reported, in seconds, because an approval lasts only minutes.
const LONGEST_RETRY: u32 = 600;
/// The longest topic (RFC 8030, section 5.4), in characters.
const TOPIC_LENGTH: usize = 32;

impl ApprovalChannel for WebPush {
    type Config = Config;

    fn describe() -> Description {
        Description::new(
            "web-push",
            env!("CARGO_PKG_VERSION"),
            env!("CARGO_PKG_DESCRIPTION"),
        )
        .hosts(["*"])
    }

    fn begin(host: &dyn Host, _config: &Config, notice: &Notice) -> Result<Begun, Failure> {
        let remaining = notice.expires_at.saturating_sub(host.now());
        if remaining == 0 {
            return Err(Failure::Rejected("the notice has expired".to_owned()));
        }
        let mut headers = vec![
            (
                "content-type".to_owned(),
                "application/octet-stream".to_owned(),
            ),
            ("content-encoding".to_owned(), "aes128gcm".to_owned()),
            ("ttl".to_owned(), remaining.to_string()),
            ("urgency".to_owned(), "high".to_owned()),
        ];
        if let Some(topic) = topic(&notice.collapse_key) {
            headers.push(("topic".to_owned(), topic));
        }
        let request = Request {
            method: Method::Post,
            url: notice.address.clone(),
            headers,
            body: notice.sealed.clone(),
        };
        outcome(host.send(request))?;
        Ok(Begun {
            handle: notice.request_id.clone().into_bytes(),
            poll_after_ms: None,
        })
    }

    fn poll(_host: &dyn Host, _config: &Config, _handle: &[u8]) -> Result<State, Failure> {
        Ok(State::Pending(RETRY_AFTER * 1000))
    }
}

assent_plugin_sdk::approval_channel!(WebPush);

/// Returns the collapse key as a topic, which has at most 32 characters of base64url (RFC 8030, section 5.4).
fn topic(collapse_key: &str) -> Option<String> {
    let allowed = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let topic: String = collapse_key
        .chars()
        .filter(allowed)
        .take(TOPIC_LENGTH)
        .collect();
    (!topic.is_empty()).then_some(topic)
}

/// Translates the response of a push service (RFC 8030, sections 5, 7.3 and 8.4).
fn outcome(answer: Result<Response, HttpError>) -> Result<(), Failure> {
    match answer {
        Ok(response) => match response.status {
            200..=202 => Ok(()),
            404 | 410 => Err(Failure::Gone),
            429 | 500..=599 => Err(Failure::RetryAfter(retry_after(&response))),
            status => Err(Failure::Rejected(format!(
                "the push service answered {status}"
            ))),
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    struct Service {
        answer: Result<Response, HttpError>,
        seen: RefCell<Vec<Request>>,
    }

    impl Host for Service {
        fn now(&self) -> u64 {
            1_000
        }
        fn send(&self, request: Request) -> Result<Response, HttpError> {
            self.seen.borrow_mut().push(request);
            self.answer.clone()
        }
    }

    fn notice() -> Notice {
        Notice {
            request_id: "018f".to_owned(),
            expires_at: 1_120,
            address: "https://push.example/abc".to_owned(),
            sealed: vec![1, 2, 3],
            collapse_key: "user:018f 0123456789abcdefghijklmnopqrstuv".to_owned(),
            callback_url: "https://id.example/approvals/callbacks/x".to_owned(),
        }
    }

    fn send(answer: Result<Response, HttpError>) -> (Result<Begun, Failure>, Vec<Request>) {
        let service = Service {
            answer,
            seen: RefCell::default(),
        };
        let result = WebPush::begin(&service, &Config {}, &notice());
        (result, service.seen.into_inner())
    }

    fn status(status: u16) -> Result<Response, HttpError> {
        Ok(Response {
            status,
            ..Response::default()
        })
    }

    #[test]
    fn the_message_is_posted_unchanged() {
        let (result, requests) = send(status(201));
        assert_eq!(result.expect("begun").handle, b"018f");
        let [request] = requests.as_slice() else {
            panic!("one request")
        };
        assert_eq!(
            (request.method, request.url.as_str()),
            (Method::Post, "https://push.example/abc")
        );
        assert_eq!(request.body, [1, 2, 3]);
        let header = |name: &str| {
            request
                .headers
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.as_str())
        };
        assert_eq!(header("content-encoding"), Some("aes128gcm"));
        assert_eq!(header("ttl"), Some("120"));
        assert_eq!(header("urgency"), Some("high"));
        assert_eq!(header("topic"), Some("user018f0123456789abcdefghijklmn"));
        assert_eq!(header("authorization"), None);
    }

    #[test]
    fn each_response_has_a_result() {
        let failure = |answer| send(answer).0.err();
        for accepted in [200, 201, 202] {
            assert!(failure(status(accepted)).is_none(), "{accepted}");
        }
        for gone in [404, 410] {
            assert!(
                matches!(failure(status(gone)), Some(Failure::Gone)),
                "{gone}"
            );
        }
        for later in [429, 500, 503] {
            assert!(
                matches!(
                    failure(status(later)),
                    Some(Failure::RetryAfter(RETRY_AFTER))
                ),
                "{later}"
            );
        }
        for rejected in [204, 301, 400, 403, 413] {
            assert!(
                matches!(failure(status(rejected)), Some(Failure::Rejected(_))),
                "{rejected}"
            );
        }
        assert!(matches!(
            failure(Err(HttpError::TimedOut)),
            Some(Failure::RetryAfter(_))
        ));
        assert!(matches!(
            failure(Err(HttpError::Refused("no".to_owned()))),
            Some(Failure::Rejected(_))
        ));
    }

    #[test]
    fn the_push_service_sets_the_wait_within_limits() {
        let wait = |value: &str| {
            let headers = vec![("retry-after".to_owned(), value.to_owned())];
            send(Ok(Response {
                status: 429,
                headers,
                body: Vec::new(),
            }))
            .0
        };
        assert!(matches!(wait("30"), Err(Failure::RetryAfter(30))));
        assert!(matches!(wait("0"), Err(Failure::RetryAfter(1))));
        assert!(matches!(
            wait("86400"),
            Err(Failure::RetryAfter(LONGEST_RETRY))
        ));
        assert!(matches!(
            wait("Fri, 31 Dec 1999 23:59:59 GMT"),
            Err(Failure::RetryAfter(RETRY_AFTER))
        ));
    }

    #[test]
    fn an_expired_notice_is_not_sent() {
        let service = Service {
            answer: status(201),
            seen: RefCell::default(),
        };
        let late = Notice {
            expires_at: 1_000,
            ..notice()
        };
        assert!(matches!(
            WebPush::begin(&service, &Config {}, &late),
            Err(Failure::Rejected(_))
        ));
        assert!(service.seen.into_inner().is_empty());
    }

    #[test]
    fn a_poll_stays_pending_and_a_cancellation_does_nothing() {
        let service = Service {
            answer: status(201),
            seen: RefCell::default(),
        };
        assert!(matches!(
            WebPush::poll(&service, &Config {}, b"018f"),
            Ok(State::Pending(_))
        ));
        assert!(WebPush::cancel(&service, &Config {}, b"018f").is_ok());
    }
}
