//! The relying parties in `tests/js` and `tests/py`. They execute calls, each in a line of JSON.

use serde_json::{Value, json};

use super::registration::Registration;
use crate::programs::Program;

/// The library of a relying party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Library {
    /// npm's `openid-client`.
    OpenidClient,
    /// Python's `Authlib`.
    Authlib,
}

/// A running relying party.
pub(super) struct RelyingParty {
    program: Program,
}

impl RelyingParty {
    /// Starts a relying party for this application. It configures itself from the issuer's discovery document.
    pub(super) async fn start(library: Library, registration: &Registration) -> Self {
        let mut program = match library {
            Library::OpenidClient => Program::node("relying_party.mjs"),
            Library::Authlib => Program::python("relying_party.py"),
        };
        program.send(&registration.returned).await;
        Self { program }
    }

    /// Executes a call that must succeed.
    pub(super) async fn call(&mut self, name: &str, details: Value) -> Value {
        let answer = self.attempt(name, details).await;
        assert!(answer.get("error").is_none(), "{name}: {answer}");
        answer
    }

    /// Executes a call that may fail with an error of the protocol.
    pub(super) async fn attempt(&mut self, name: &str, details: Value) -> Value {
        let mut returned = json!({"call": name});
        for (name, value) in details.as_object().into_iter().flatten() {
            returned[name] = value.clone();
        }
        self.program.ask(&returned).await
    }
}
