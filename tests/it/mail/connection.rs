//! The connection to the SMTP server: TLS, authentication, and the test email with the server's response.

use assent::smtp::error::{SmtpError, SmtpStep};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{MailServer, Security};
use crate::harness::{TestHost, Text, free_port};

async fn test_mail(host: &TestHost) -> (StatusCode, Value) {
    let body = json!({"to": "ada@example.org"});
    host.admin(Method::POST, "/mail/test", body).await
}

async fn check(host: &TestHost) -> Result<(), SmtpError> {
    let mailer = host.host.mailer.as_ref().expect("a server");
    mailer.check().await
}

/// Returns the step at which the check of the connection fails.
async fn failed_step(host: &TestHost) -> SmtpStep {
    check(host).await.expect_err("a failure").step
}

#[tokio::test]
async fn a_test_email_is_sent_over_each_kind_of_connection() {
    for security in [Security::None, Security::StartTls, Security::Implicit] {
        let mut server = MailServer::start(security).await;
        let host = TestHost::start_with_settings(&server.settings()).await;
        assert_eq!(check(&host).await, Ok(()), "{security:?}");
        let (status, answer) = test_mail(&host).await;
        assert_eq!(status, StatusCode::OK, "{security:?}: {answer}");
        assert!(answer["answer"].text().contains("queued"), "{answer}");
        let message = &server.messages(1).await[0];
        assert_eq!(message["is_authenticated"], security != Security::None);
        assert_eq!(message["is_encrypted"], security != Security::None);
        assert_eq!(message["hello"], "localhost");
        let log = host
            .admin_ok(Method::GET, "/audit?event=mail.tested", Value::Null)
            .await;
        assert_eq!(log["items"].as_array().map(Vec::len), Some(1));
    }
}

#[tokio::test]
async fn the_reply_of_the_server_is_shown() {
    let mut server = MailServer::start(Security::StartTls).await;
    let host = TestHost::start_with_settings(&server.settings()).await;
    server.answer(Some("554 5.7.1 relay access denied")).await;
    let (status, problem) = test_mail(&host).await;
    assert_eq!(status, StatusCode::CONFLICT, "{problem}");
    assert_eq!(problem["type"], "urn:assent:problem:mail-failed");
    let detail = problem["detail"].text();
    assert!(
        detail.contains("554") && detail.contains("relay access denied"),
        "{detail}"
    );
    assert!(
        detail.starts_with("message failed at localhost:"),
        "{detail}"
    );
}

#[tokio::test]
async fn a_wrong_password_fails_at_the_authentication_and_is_not_shown() {
    let server = MailServer::start(Security::StartTls).await;
    let host = TestHost::start_with_settings(&server.settings_with("hunter 3")).await;
    assert_eq!(failed_step(&host).await, SmtpStep::Authentication);
    let (_, problem) = test_mail(&host).await;
    let detail = problem["detail"].text();
    assert!(detail.starts_with("authentication failed"), "{detail}");
    assert!(
        detail.contains("535") && !detail.contains("hunter"),
        "{detail}"
    );
    let settings = host.admin_ok(Method::GET, "/settings", Value::Null).await;
    assert!(!settings.to_string().contains("hunter"), "{settings}");
}

#[tokio::test]
async fn nothing_is_sent_without_the_required_tls() {
    // The server does not offer STARTTLS.
    let mut server = MailServer::start(Security::None).await;
    let settings = server.settings().replace("\"none\"", "\"starttls\"");
    let host = TestHost::start_with_settings(&settings).await;
    assert_eq!(failed_step(&host).await, SmtpStep::Tls);
    assert!(
        test_mail(&host).await.1["detail"]
            .text()
            .contains("STARTTLS")
    );
    assert_eq!(server.attempts(0).await, 0);
}

#[tokio::test]
async fn a_certificate_must_be_trusted_and_have_the_name() {
    for security in [Security::StartTls, Security::Implicit] {
        let server = MailServer::start(security).await;
        let trusted = server.settings();
        let untrusted: String = trusted
            .lines()
            .filter(|line| !line.starts_with("ca_file"))
            .map(|line| format!("{line}\n"))
            .collect();
        let other_name = trusted.replace("localhost:", "127.0.0.1:");
        for settings in [untrusted, other_name] {
            let host = TestHost::start_with_settings(&settings).await;
            assert_eq!(failed_step(&host).await, SmtpStep::Tls, "{settings}");
        }
    }
}

#[tokio::test]
async fn a_server_that_is_down_fails_at_the_connection() {
    let settings = format!(
        "[mail]\nserver = \"localhost:{}\"\nsecurity = \"none\"\nfrom = \"id@example.org\"\n",
        free_port()
    );
    let host = TestHost::start_with_settings(&settings).await;
    assert_eq!(failed_step(&host).await, SmtpStep::Connect);
    let (_, problem) = test_mail(&host).await;
    assert!(
        problem["detail"].text().starts_with("connection failed"),
        "{problem}"
    );
}

#[tokio::test]
async fn without_settings_there_is_no_email() {
    let host = TestHost::start().await;
    assert!(host.host.mailer.is_none());
    let (status, problem) = test_mail(&host).await;
    assert_eq!(status, StatusCode::CONFLICT, "{problem}");
    assert!(problem["detail"].text().contains("[mail]"), "{problem}");
    let me = host.admin_ok(Method::GET, "/me", Value::Null).await;
    assert_eq!(me["sends_mail"], false);
    let to = json!({"to": "ada@example.org\r\nBcc: eve@example.org"});
    let server = MailServer::start(Security::None).await;
    let host = TestHost::start_with_settings(&server.settings()).await;
    let (status, _) = host.admin(Method::POST, "/mail/test", to).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    let me = host.admin_ok(Method::GET, "/me", Value::Null).await;
    assert_eq!(me["sends_mail"], true);
}
