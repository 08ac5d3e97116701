//! The connection to the SMTP server.

use std::path::Path;

use lettre::transport::smtp::client::{AsyncSmtpConnection, AsyncTokioStream};
use lettre::transport::smtp::extension::ClientId;
use openssl::error::ErrorStack;
use openssl::ssl::{SslConnector, SslMethod, SslVersion};
use openssl::x509::X509;
use openssl::x509::store::X509StoreBuilder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_openssl::SslStream;

use super::error::SmtpStep;
use super::reply_lines::ReplyLines;

/// The protection of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmtpSecurity {
    /// TLS after STARTTLS (RFC 3207). Without it no message is sent.
    StartTls,
    /// TLS from the beginning (RFC 8314).
    Implicit,
    /// No TLS.
    None,
}

/// The step that failed, and the reason.
pub(super) type StepError = (SmtpStep, String);

/// Returns a connector that trusts these certificate authorities, in PEM, in place of those of the system.
pub(super) fn connector(authorities: Option<&Path>) -> Result<SslConnector, String> {
    let failed = |error: ErrorStack| error.to_string();
    let mut builder = SslConnector::builder(SslMethod::tls_client()).map_err(failed)?;
    builder
        .set_min_proto_version(Some(SslVersion::TLS1_2))
        .map_err(failed)?;
    if let Some(file) = authorities {
        let pem = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let found = X509::stack_from_pem(&pem).map_err(failed)?;
        if found.is_empty() {
            return Err(format!("{}: there is no certificate", file.display()));
        }
        let mut store = X509StoreBuilder::new().map_err(failed)?;
        for certificate in found {
            store.add_cert(certificate).map_err(failed)?;
        }
        builder.set_cert_store(store.build());
    }
    Ok(builder.build())
}

/// Connects and greets the server.
pub(super) async fn connect(
    host: &str,
    port: u16,
    security: SmtpSecurity,
    connector: &SslConnector,
    hello: &ClientId,
) -> Result<AsyncSmtpConnection, StepError> {
    let failed = |error: std::io::Error| (SmtpStep::Connect, error.to_string());
    let mut stream = TcpStream::connect((host, port)).await.map_err(failed)?;
    let peer = stream.peer_addr().map_err(failed)?;
    let stream: Box<dyn AsyncTokioStream> = match security {
        SmtpSecurity::None => Box::new(ReplyLines::new(stream, peer, Vec::new())),
        SmtpSecurity::Implicit => {
            let stream = encrypt(stream, host, connector).await?;
            Box::new(ReplyLines::new(stream, peer, Vec::new()))
        }
        SmtpSecurity::StartTls => {
            begin_tls(&mut stream, hello).await?;
            let stream = encrypt(stream, host, connector).await?;
            // The client expects a greeting. The server sends none after STARTTLS (RFC 3207 section 4.2).
            Box::new(ReplyLines::new(stream, peer, b"220 TLS\r\n".to_vec()))
        }
    };
    AsyncSmtpConnection::connect_with_transport(stream, hello)
        .await
        .map_err(|error| (SmtpStep::Connect, error.to_string()))
}

async fn encrypt(
    stream: TcpStream,
    host: &str,
    connector: &SslConnector,
) -> Result<SslStream<TcpStream>, StepError> {
    let failed = |error: String| (SmtpStep::Tls, error);
    let ssl = connector
        .configure()
        .and_then(|configured| configured.into_ssl(host))
        .map_err(|error| failed(error.to_string()))?;
    let mut stream = SslStream::new(ssl, stream).map_err(|error| failed(error.to_string()))?;
    match std::pin::Pin::new(&mut stream).connect().await {
        Ok(()) => Ok(stream),
        Err(error) => {
            let verified = stream.ssl().verify_result();
            let why = match verified {
                openssl::x509::X509VerifyResult::OK => error.to_string(),
                untrusted => format!("the certificate is not trusted: {untrusted}"),
            };
            Err(failed(why))
        }
    }
}

/// Begins TLS with STARTTLS. It reads byte by byte. Data that an attacker adds after the last line in plain text is
/// therefore never read as a response of the server. It becomes a part of the handshake, which then fails.
async fn begin_tls(stream: &mut TcpStream, hello: &ClientId) -> Result<(), StepError> {
    expect(stream, "220", SmtpStep::Connect).await?;
    send(stream, &format!("EHLO {hello}\r\n")).await?;
    let offered = expect(stream, "250", SmtpStep::Connect).await?;
    if !offered
        .iter()
        .any(|line| line.eq_ignore_ascii_case("STARTTLS"))
    {
        let why = "the server does not offer STARTTLS, so nothing was sent";
        return Err((SmtpStep::Tls, why.to_owned()));
    }
    send(stream, "STARTTLS\r\n").await?;
    expect(stream, "220", SmtpStep::Tls).await?;
    Ok(())
}

async fn send(stream: &mut TcpStream, line: &str) -> Result<(), StepError> {
    stream
        .write_all(line.as_bytes())
        .await
        .map_err(|error| (SmtpStep::Connect, error.to_string()))
}

/// Returns the lines of a reply without their codes, if it has this code (RFC 5321 section 4.2).
async fn expect(
    stream: &mut TcpStream,
    code: &str,
    step: SmtpStep,
) -> Result<Vec<String>, StepError> {
    const MOST_LINES: usize = 100;
    let mut lines = Vec::new();
    loop {
        let line = read_line(stream).await.map_err(|why| (step, why))?;
        let (found, rest) = line.split_at_checked(3).unwrap_or((&line, ""));
        if found != code || lines.len() >= MOST_LINES {
            return Err((step, line));
        }
        let is_last = !rest.starts_with('-');
        lines.push(rest.get(1..).unwrap_or_default().trim().to_owned());
        if is_last {
            return Ok(lines);
        }
    }
}

async fn read_line(stream: &mut TcpStream) -> Result<String, String> {
    const LONGEST_LINE: usize = 1000;
    let mut line = Vec::new();
    while line.len() < LONGEST_LINE {
        match stream.read_u8().await {
            Ok(b'\n') => return Ok(String::from_utf8_lossy(&line).trim().to_owned()),
            Ok(byte) => line.push(byte),
            Err(error) => return Err(error.to_string()),
        }
    }
    Err("the answer is too long".to_owned())
}
