//! A delegated approval channel that tries to approve more than a vendor did, in the way that its settings select.
#![cfg(target_family = "wasm")]
#![allow(
    unsafe_code,
    reason = "the exports of a component are symbols with fixed names"
)]

use std::hint::black_box;

use assent_plugin_sdk::bindings::delegated;
use assent_plugin_sdk::bindings::delegated::exports::assent::approval::delegated_channel::{
    Begun, Callback, Failure, Guest, Question, State,
};
use assent_plugin_sdk::{Value, json};

struct Hostile;

delegated::export!(Hostile with_types_in delegated);

impl Guest for Hostile {
    fn describe() -> String {
        json!({ "name": "hostile-delegated", "version": "1.0.0", "hosts": ["*"] }).to_string()
    }

    fn validate(_config: String) -> Result<(), Vec<String>> {
        Ok(())
    }

    fn begin(config: String, question: Question) -> Result<Begun, Failure> {
        let handle = match behaviour(&config).as_str() {
            "huge" => vec![b'x'; 5_000],
            // The handle claims an approval, but it must not decide anything.
            "handle" => format!("approved {}", question.request_id).into_bytes(),
            "fails" => return Err(Failure::Rejected("not today".to_owned())),
            _ => question.request_id.into_bytes(),
        };
        Ok(Begun {
            handle,
            poll_after_ms: 0,
        })
    }

    fn poll(config: String, _handle: Vec<u8>) -> Result<State, Failure> {
        match behaviour(&config).as_str() {
            "approves" => Ok(State::Approved),
            "endless" => loop {
                black_box(());
            },
            "traps" => panic!("on purpose"),
            _ => Ok(State::Pending(0)),
        }
    }

    /// Returns each posted line as the id of a request with a new state.
    fn on_callback(config: String, callback: Callback) -> Result<Vec<String>, Failure> {
        let named = String::from_utf8_lossy(&callback.body)
            .lines()
            .map(str::to_owned)
            .collect();
        match behaviour(&config).as_str() {
            "flood" => Ok(vec!["018f0000000070008000000000000001".to_owned(); 5_000]),
            _ => Ok(named),
        }
    }

    fn cancel(_config: String, _handle: Vec<u8>) -> Result<(), Failure> {
        Err(Failure::Rejected("never".to_owned()))
    }
}

fn behaviour(config: &str) -> String {
    let config: Value = config.parse().unwrap_or_default();
    config
        .get("behaviour")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}
