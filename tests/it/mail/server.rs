//! The SMTP server of the tests, `tests/py/smtp_server.py`.

use serde_json::{Value, json};

use crate::harness::{temp_folder, tls};
use crate::programs::Program;

/// The protection of the connection to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    None,
    StartTls,
    Implicit,
}

impl Security {
    const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::StartTls => "starttls",
            Self::Implicit => "implicit",
        }
    }
}

/// A running SMTP server.
pub struct MailServer {
    program: Program,
    port: u64,
    security: Security,
    folder: tempfile::TempDir,
}

/// The user name and the password at the server.
const USER: (&str, &str) = ("assent", "hunter 2");

impl MailServer {
    pub async fn start(security: Security) -> Self {
        Self::start_at(security, None).await
    }

    /// Starts a server at this port, or at a free one.
    pub async fn start_at(security: Security, port: Option<u64>) -> Self {
        let folder = temp_folder();
        let (certificate, key) = tls::certificate_of("localhost");
        tls::files(folder.path(), &certificate, &key);
        let mut program = Program::python("smtp_server.py");
        let has_user = security != Security::None;
        let settings = json!({
            "security": security.as_str(),
            "certificate": folder.path().join("certificate.pem"),
            "key": folder.path().join("key.pem"),
            "user": has_user.then_some(USER.0),
            "password": has_user.then_some(USER.1),
            "port": port,
        });
        let started = program.ask(&settings).await;
        let port = started["port"].as_u64().expect("a port");
        Self {
            program,
            port,
            security,
            folder,
        }
    }

    /// Returns the settings of an instance that sends through this server.
    pub fn settings(&self) -> String {
        self.settings_with(USER.1)
    }

    /// Returns the settings with this password.
    pub fn settings_with(&self, password: &str) -> String {
        let mut settings = format!(
            "[mail]\nserver = \"localhost:{}\"\nsecurity = \"{}\"\nfrom = \"Books & Co <id@example.org>\"\n",
            self.port,
            self.security.as_str()
        );
        if self.security != Security::None {
            let authorities = self.folder.path().join("certificate.pem");
            settings.push_str(&format!(
                "user = \"{}\"\npassword = {password:?}\nca_file = {authorities:?}\n",
                USER.0
            ));
        }
        settings
    }

    /// Makes the server answer each message with this response. With `None`, the server accepts messages again.
    pub async fn answer(&mut self, answer: Option<&str>) {
        self.program.ask(&json!({"answer": answer})).await;
    }

    /// Waits until `count` messages were transferred, accepted or not.
    pub async fn attempts(&mut self, count: u64) -> u64 {
        let answer = self.program.ask(&json!({"attempts": count})).await;
        answer["attempts"].as_u64().expect("a number")
    }

    /// Waits until there are `count` accepted messages, and returns them.
    pub async fn messages(&mut self, count: usize) -> Vec<Value> {
        let answer = self.program.ask(&json!({"messages": count})).await;
        answer["messages"].as_array().expect("a list").clone()
    }
}
