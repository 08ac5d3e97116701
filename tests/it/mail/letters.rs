//! The contents of the emails, and the protection against header injection by values.

use assent::domain::mail::letter::Letter;
use assent_model::language::Language;
use reqwest::Method;
use serde_json::{Value, json};

use super::{MailServer, Security, invite, link_in};
use crate::harness::{TestHost, Text, id};

/// Returns the values of a header.
fn header<'m>(message: &'m Value, name: &str) -> Vec<&'m str> {
    let headers = message["headers"].as_array().expect("headers");
    headers
        .iter()
        .filter(|header| header[0].text().eq_ignore_ascii_case(name))
        .map(|header| header[1].text())
        .collect()
}

#[tokio::test]
async fn an_invitation_has_the_headers_and_parts_of_an_automatic_message() {
    let mut server = MailServer::start(Security::None).await;
    let host = TestHost::start_with_settings(&server.settings()).await;
    let ada = host.user("ada").await;
    let invited = invite(&host, &[&ada]).await;
    let created = &invited["items"][0];
    assert_eq!(
        (&created["link"], &created["qr_code"], &created["skipped"]),
        (&Value::Null, &Value::Null, &Value::Null),
        "the link is only in the email"
    );
    let message = &server.messages(1).await[0];
    assert_eq!(message["from"], "id@example.org");
    assert_eq!(message["to"], json!(["ada@example.org"]));
    assert_eq!(message["type"], "multipart/alternative");
    assert_eq!(header(message, "From"), ["Books & Co <id@example.org>"]);
    assert_eq!(header(message, "To"), ["Ada Lovelace <ada@example.org>"]);
    assert_eq!(header(message, "Auto-Submitted"), ["auto-generated"]);
    assert_eq!(header(message, "Content-Language"), ["en"]);
    assert_eq!(header(message, "Date").len(), 1);
    let [id] = header(message, "Message-ID")[..] else {
        panic!("one Message-ID: {message}");
    };
    assert!(id.starts_with('<') && id.ends_with('>'), "{id}");
    let link = link_in(message);
    let html = message["html"].text();
    assert!(html.contains(&format!("href=\"{link}\"")), "{html}");
    assert!(html.starts_with("<!doctype html>"), "{html}");
    assert!(!html.contains("src=") && !html.contains("url("), "{html}");
}

#[tokio::test]
async fn each_user_reads_the_invitation_in_their_own_language_or_the_configured_one() {
    let mut server = MailServer::start(Security::None).await;
    let settings = format!("[branding]\nlanguage = \"de\"\n{}", server.settings());
    let host = TestHost::start_with_settings(&settings).await;
    let (ada, grace) = (host.user("ada").await, host.user("grace").await);
    let path = format!("/users/{}", id(&grace));
    let locale = json!({"profile": {"locale": "en-GB"}});
    host.admin_ok(Method::PATCH, &path, locale).await;
    invite(&host, &[&ada, &grace]).await;
    for message in server.messages(2).await {
        let (greeting, language) = match message["to"][0].text() {
            "ada@example.org" => ("Guten Tag Ada Lovelace,", "de"),
            _ => ("Hello Ada Lovelace,", "en"),
        };
        assert!(message["text"].text().starts_with(greeting), "{message}");
        assert_eq!(header(&message, "Content-Language"), [language]);
        assert!(
            message["html"]
                .text()
                .contains(&format!("lang=\"{language}\""))
        );
    }
}

#[tokio::test]
async fn no_value_adds_a_header_or_a_recipient() {
    let host = TestHost::start().await;
    let services = &host.host;
    let from = "id@example.org".parse().expect("a mailbox");
    let evil = "Eve\r\nBcc: eve@evil.example\r\n\r\n<b>\"x\" & y";
    let letter = Letter::invitation(
        services,
        Language::English,
        evil,
        "https://id.example.org/authenticator#enrol=x",
        services.now(),
    );
    let message = letter
        .mail_to(services, &from, Some(evil), "ada@example.org", "id")
        .expect("a message");
    let text = String::from_utf8(message.formatted()).expect("text");
    let (headers, _) = text.split_once("\r\n\r\n").expect("headers");
    let names: Vec<&str> = headers
        .split("\r\n")
        .filter(|line| !line.starts_with([' ', '\t']))
        .filter_map(|line| line.split_once(':'))
        .map(|(name, _)| name)
        .collect();
    assert!(!names.contains(&"Bcc"), "{headers}");
    assert_eq!(message.envelope().to().len(), 1);
    assert!(!letter.html().contains("<b>"), "{}", letter.html());
    assert!(!letter.subject().contains(['\r', '\n']));
    for address in [
        "ada@example.org\r\nBcc: eve@evil.example",
        "ada@example.org, eve@evil.example",
        "ada@example.org>\r\nRCPT TO:<eve@evil.example",
        "ada",
    ] {
        let refused = letter.mail_to(services, &from, None, address, "id");
        assert!(refused.is_err(), "{address:?}");
    }
}

#[tokio::test]
async fn the_preview_is_the_invitation_with_a_link_that_does_not_work() {
    let host = TestHost::start().await;
    for (language, subject) in [("en", "Your invitation"), ("de", "Ihre Einladung")] {
        let path = format!("/mail/preview?language={language}");
        let preview = host.admin_ok(Method::GET, &path, Value::Null).await;
        assert!(preview["subject"].text().starts_with(subject), "{preview}");
        assert_eq!(preview["from"], Value::Null);
        assert!(!preview.to_string().contains("#enrol="), "{preview}");
    }
}
