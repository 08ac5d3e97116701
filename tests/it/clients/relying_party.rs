//! The relying parties in `tests/js` and `tests/py`: programs that do what they are told in lines of JSON.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::registration::Registration;
use crate::harness::binary;

/// What a relying party is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Library {
    /// npm's `openid-client`.
    OpenidClient,
    /// Python's `Authlib`.
    Authlib,
}

/// A running relying party.
pub(super) struct RelyingParty {
    _process: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl RelyingParty {
    /// Starts one for this application; it configures itself from the issuer's discovery document.
    pub(super) async fn start(library: Library, registration: &Registration) -> Self {
        let mut command = library.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().expect("the program is missing: run `make test`");
        let input = process.stdin.take().expect("its input");
        let output = BufReader::new(process.stdout.take().expect("its output")).lines();
        let mut party = Self { _process: process, input, output };
        party.tell(&registration.told).await;
        party
    }

    /// A call that must succeed.
    pub(super) async fn call(&mut self, name: &str, details: Value) -> Value {
        let answer = self.attempt(name, details).await;
        assert!(answer.get("error").is_none(), "{name}: {answer}");
        answer
    }

    /// A call, which may be refused in the protocol's terms.
    pub(super) async fn attempt(&mut self, name: &str, details: Value) -> Value {
        let mut told = json!({"call": name});
        for (name, value) in details.as_object().into_iter().flatten() {
            told[name] = value.clone();
        }
        self.tell(&told).await;
        let line = tokio::time::timeout(Duration::from_secs(60), self.output.next_line()).await;
        let line = line.expect("in time").expect("readable").expect("an answer: see its error output above");
        serde_json::from_str(&line).expect("JSON")
    }

    async fn tell(&mut self, value: &Value) {
        self.input.write_all(format!("{value}\n").as_bytes()).await.expect("it listens");
    }
}

impl Library {
    fn command(self) -> Command {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
        match self {
            Self::OpenidClient => program(Path::new("node"), &tests.join("js/relying_party.mjs")),
            Self::Authlib => program(&python(), &tests.join("py/relying_party.py")),
        }
    }
}

/// The Python that has the packages of `tests/py`.
fn python() -> PathBuf {
    let python = binary("assent").ancestors().nth(2).expect("the target folder").join("venv/bin/python");
    assert!(python.is_file(), "{} is missing: run `make test`", python.display());
    python
}

fn program(interpreter: &Path, script: &Path) -> Command {
    let mut command = Command::new(interpreter);
    command.arg(script);
    command
}
