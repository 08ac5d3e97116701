//! The SMTP client: it sends one message, or checks the connection. Messages and replies use `lettre`, and TLS uses
//! OpenSSL.

pub mod connection;
pub mod error;
mod reply_lines;

use std::path::Path;
use std::time::Duration;

use lettre::address::Envelope;
use lettre::message::Mailbox;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::AsyncSmtpConnection;
use lettre::transport::smtp::extension::ClientId;
use openssl::ssl::SslConnector;
use tracing::Instrument;
use tracing::field::Empty;

use assent_model::secret::Secret;
use assent_telemetry::SPANS;
use connection::StepError;
use error::one_line;

use connection::SmtpSecurity;
use error::{SmtpError, SmtpStep};

/// The SMTP server, and the way to use it.
#[derive(Clone, Debug)]
pub struct SmtpServer {
    /// The host name, which the certificate of the server must have.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The protection of the connection.
    pub security: SmtpSecurity,
    /// The user name and password.
    pub credentials: Option<(String, Secret)>,
    /// The sender of all messages.
    pub from: Mailbox,
    /// The name of this server in EHLO.
    pub hello_name: String,
    /// The timeout of one message.
    pub timeout: Duration,
}

/// The client that sends messages.
pub struct Mailer {
    server: SmtpServer,
    connector: SslConnector,
    hello: ClientId,
}

impl std::fmt::Debug for Mailer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mailer")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl Mailer {
    /// Returns a client of this server. It trusts these certificate authorities, in PEM, or those of the system.
    ///
    /// # Errors
    /// The error of the file with authorities, as a sentence.
    pub fn new(server: SmtpServer, authorities: Option<&Path>) -> Result<Self, String> {
        let hello = match server.hello_name.parse() {
            Ok(std::net::IpAddr::V4(address)) => ClientId::Ipv4(address),
            Ok(std::net::IpAddr::V6(address)) => ClientId::Ipv6(address),
            Err(_) => ClientId::Domain(server.hello_name.clone()),
        };
        Ok(Self {
            connector: connection::connector(authorities)?,
            server,
            hello,
        })
    }

    /// Returns the sender of all messages.
    pub const fn from(&self) -> &Mailbox {
        &self.server.from
    }

    /// Returns the timeout of one message.
    pub const fn timeout(&self) -> Duration {
        self.server.timeout
    }

    /// Returns the host and port of the server.
    pub fn address(&self) -> String {
        format!("{}:{}", self.server.host, self.server.port)
    }

    /// Sends one message, and returns the server's response in one line.
    ///
    /// # Errors
    /// [`SmtpError`], with the server's response.
    pub async fn send(&self, envelope: &Envelope, message: &[u8]) -> Result<String, SmtpError> {
        let span = tracing::info_span!(target: SPANS, "smtp.client", failed = Empty);
        let sending = self.in_time(async {
            let mut connection = self.open().await?;
            let answer = connection
                .send(envelope, message)
                .await
                .map_err(|error| self.error_of(SmtpStep::Message, &error))?;
            // The server has accepted the message already, regardless of its next response.
            let _ = connection.quit().await;
            let text = answer.message().collect::<Vec<_>>().join(" ");
            Ok(one_line(&format!("{} {text}", answer.code())))
        });
        let sent = sending.instrument(span.clone()).await;
        span.record("failed", sent.is_err());
        sent
    }

    /// Connects and authenticates, without sending a message.
    ///
    /// # Errors
    /// [`SmtpError`], with the server's response.
    pub async fn check(&self) -> Result<(), SmtpError> {
        self.in_time(async {
            let mut connection = self.open().await?;
            let _ = connection.quit().await;
            Ok(())
        })
        .await
    }

    async fn open(&self) -> Result<AsyncSmtpConnection, SmtpError> {
        let SmtpServer {
            host,
            port,
            security,
            credentials,
            ..
        } = &self.server;
        let mut connection =
            connection::connect(host, *port, *security, &self.connector, &self.hello)
                .await
                .map_err(|error| self.error(error))?;
        if let Some((user, password)) = credentials {
            let credentials = Credentials::new(user.clone(), password.expose().to_owned());
            connection
                .auth(&[Mechanism::Plain, Mechanism::Login], &credentials)
                .await
                .map_err(|error| self.error_of(SmtpStep::Authentication, &error))?;
        }
        Ok(connection)
    }

    async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, SmtpError>>,
    ) -> Result<T, SmtpError> {
        match tokio::time::timeout(self.server.timeout, work).await {
            Ok(done) => done,
            Err(_) => Err(self.error((
                SmtpStep::Connect,
                format!("no answer within {} s", self.server.timeout.as_secs()),
            ))),
        }
    }

    fn error(&self, (step, detail): StepError) -> SmtpError {
        SmtpError {
            step,
            server: self.address(),
            detail: one_line(&detail),
            is_permanent: false,
            may_have_arrived: false,
        }
    }

    /// Converts an error. A 5xx reply to a message is permanent. A 5xx reply to the authentication is caused by the
    /// settings, which an operator corrects, so the message is sent again later.
    fn error_of(&self, step: SmtpStep, error: &lettre::transport::smtp::Error) -> SmtpError {
        SmtpError {
            is_permanent: step == SmtpStep::Message && (error.is_permanent() || error.is_client()),
            may_have_arrived: step == SmtpStep::Message && error.is_response(),
            ..self.error((step, error.to_string()))
        }
    }
}
