//! Programs of other projects that run beside an instance, as children of the test: Apache, PHP, and the programs of
//! `tests/js`, `tests/py` and `tests/java`, which receive lines of JSON. Also a user who visits their pages.

mod apache;
pub mod html;
mod php;
mod visit;

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

pub use apache::{Apache, write_page};
pub use php::Php;
pub use visit::{Arrival, Decision, arrive};

use crate::harness::{PATIENCE, Pipes, binary, parse_json};

/// A running program that reads lines of JSON and answers each, usually with one line.
pub struct Program {
    _process: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Program {
    /// Starts a program of `tests/js`.
    pub fn node(script: &str) -> Self {
        Self::interpret(Path::new("node"), &Path::new("js").join(script))
    }

    /// Starts a program of `tests/py`, with the Python interpreter that has its packages.
    pub fn python(script: &str) -> Self {
        Self::interpret(&python(), &Path::new("py").join(script))
    }

    /// Starts a class of `tests/java`, which `scripts/clients` has compiled.
    pub fn java(class: &str) -> Self {
        let folder = target().join("java");
        let classes = folder.join("classes");
        assert!(
            classes.join(class).with_extension("class").is_file(),
            "{class} is not in {}: run `scripts/clients`",
            classes.display()
        );
        let path = format!("{}:{}/jars/*", classes.display(), folder.display());
        let mut command = Command::new("java");
        command.args(["-cp", &path, class]);
        Self::start(command)
    }

    fn interpret(interpreter: &Path, script: &Path) -> Self {
        let mut command = Command::new(interpreter);
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(script));
        Self::start(command)
    }

    fn start(mut command: Command) -> Self {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        let mut process = command
            .spawn()
            .expect("the program is missing: run `make test`");
        let input = process.input();
        let output = process.output_lines();
        Self {
            _process: process,
            input,
            output,
        }
    }

    /// Sends a value, and returns the program's answer.
    pub async fn ask(&mut self, value: &Value) -> Value {
        self.send(value).await;
        self.next().await
    }

    /// Returns the next line of a program that writes several for one value.
    pub async fn next(&mut self) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.output.next_line()).await;
        let line = line
            .expect("in time")
            .expect("readable")
            .expect("an answer: see its error output above");
        parse_json(&line)
    }

    /// Sends a value that the program does not answer.
    pub async fn send(&mut self, value: &Value) {
        self.input
            .write_all(format!("{value}\n").as_bytes())
            .await
            .expect("it listens");
    }
}

/// Returns the folder of the build output.
pub fn target() -> PathBuf {
    binary("assent")
        .ancestors()
        .nth(2)
        .expect("the target folder")
        .to_owned()
}

fn python() -> PathBuf {
    let python = target().join("venv/bin/python");
    assert!(
        python.is_file(),
        "{} is missing: run `make test`",
        python.display()
    );
    python
}
