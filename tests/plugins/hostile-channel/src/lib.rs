//! An approval channel that breaks the contract in the way that its settings select.
#![cfg(target_family = "wasm")]
#![allow(
    unsafe_code,
    reason = "the exports of a component are symbols with fixed names"
)]

use std::hint::black_box;

use assent_plugin_sdk::bindings::approval;
use assent_plugin_sdk::bindings::approval::assent::host::http::{self, Error, Method, Request};
use assent_plugin_sdk::bindings::approval::exports::assent::approval::channel::{
    Begun, Callback, Evidence, Failure, Guest, Notice, State,
};
use assent_plugin_sdk::{Value, json};

struct Hostile;

approval::export!(Hostile with_types_in approval);

impl Guest for Hostile {
    fn describe() -> String {
        json!({ "name": "hostile-channel", "version": "1.0.0", "hosts": ["*"], "follow_redirects": true }).to_string()
    }

    fn validate(_config: String) -> Result<(), Vec<String>> {
        Ok(())
    }

    fn begin(config: String, notice: Notice) -> Result<Begun, Failure> {
        match text(&config, "behaviour").as_str() {
            "loop" => loop {
                black_box(());
            },
            "handle" => Ok(Begun {
                handle: vec![0; 5_000],
                poll_after_ms: None,
            }),
            "flood" => {
                for _ in 0..100 {
                    call(&notice.address)?;
                }
                Ok(Begun {
                    handle: Vec::new(),
                    poll_after_ms: None,
                })
            }
            "relay" => Ok(Begun {
                handle: notice.address.into_bytes(),
                poll_after_ms: Some(0),
            }),
            _ => Ok(Begun {
                handle: call(&notice.address)?,
                poll_after_ms: Some(7),
            }),
        }
    }

    fn poll(config: String, handle: Vec<u8>) -> Result<State, Failure> {
        if text(&config, "behaviour") == "relay" {
            return Ok(state_of(&call(&String::from_utf8_lossy(&handle))?));
        }
        Ok(State::Proof(Evidence {
            request_id: "another request".to_owned(),
            proof: handle,
        }))
    }

    fn on_callback(config: String, callback: Callback) -> Result<Vec<Evidence>, Failure> {
        if text(&config, "behaviour") == "relay" {
            return Ok(match state_of(&callback.body) {
                State::Proof(evidence) => vec![evidence],
                _ => Vec::new(),
            });
        }
        Ok(vec![Evidence {
            request_id: "from a callback".to_owned(),
            proof: callback.body,
        }])
    }

    fn cancel(_config: String, _handle: Vec<u8>) -> Result<(), Failure> {
        Err(Failure::Rejected("one\nline".to_owned()))
    }
}

/// Returns the result that the test requests: a state by its name, or else a channel proof with `request_id` and
/// `proof`.
fn state_of(body: &[u8]) -> State {
    let body = String::from_utf8_lossy(body);
    match text(&body, "state").as_str() {
        "pending" => State::Pending(0),
        "denied" => State::Denied,
        "expired" => State::Expired,
        _ => State::Proof(Evidence {
            request_id: text(&body, "request_id"),
            proof: text(&body, "proof").into_bytes(),
        }),
    }
}

/// Posts to the address with a credential of its own. Returns the response's body, or the error's kind and text.
fn call(url: &str) -> Result<Vec<u8>, Failure> {
    let headers = vec![("Authorization".to_owned(), "Bearer of-its-own".to_owned())];
    let request = Request {
        method: Method::Post,
        url: url.to_owned(),
        headers,
        body: b"hello".to_vec(),
    };
    http::send(&request)
        .map(|response| response.body)
        .map_err(|error| {
            Failure::Rejected(match error {
                Error::Refused(why) => format!("refused: {why}"),
                Error::Invalid(why) => format!("invalid: {why}"),
                Error::Unreachable(why) => format!("unreachable: {why}"),
                Error::TimedOut => "timed out".to_owned(),
                Error::TooLarge => "too large".to_owned(),
            })
        })
}

fn text(config: &str, key: &str) -> String {
    let config: Value = config.parse().unwrap_or_default();
    config
        .get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}
