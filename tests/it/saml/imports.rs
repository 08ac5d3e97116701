//! The notes about a saved service provider, and metadata in the encodings of common programs.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::metadata_import::{Certificates, MELLON, import_ok};
use super::service_provider::{ACS, TestServiceProvider};
use crate::harness::{TestHost, Text, component, id};

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Returns metadata with about `bytes` bytes. The padding is in an extension, which no parser uses.
fn of_size(metadata: &str, bytes: usize) -> String {
    let item = format!(
        "<x:item xmlns:x=\"urn:x\">{}\n</x:item>",
        "some \"filler\" ".repeat(40)
    );
    let (before, after) = metadata.split_once("<SPSSODescriptor").expect("metadata");
    let room = bytes.saturating_sub(metadata.len() + 40);
    let filler = item.repeat(room / item.len());
    format!("{before}<Extensions>{filler}</Extensions><SPSSODescriptor{after}")
}

#[tokio::test]
async fn metadata_of_one_mebibyte_is_accepted_and_more_rejected() {
    let host = TestHost::start().await;
    let metadata = Certificates::new().in_text(MELLON);
    let large = of_size(&metadata, 1 << 20);
    assert!(
        large.len() > 1_000_000 && large.len() <= 1 << 20,
        "{}",
        large.len()
    );
    let created = import_ok(&host, &large, json!({"name": "Large"})).await;
    assert_eq!(
        created["acs"][0]["url"],
        "https://mellon.example/mellon/postResponse"
    );
    let path = format!("/applications/{}/metadata", id(&created));
    let shown = host
        .admin_ok(Method::POST, &path, json!({"metadata": large}))
        .await;
    assert_eq!(shown["changes"], json!([]));
    let larger = json!({"metadata": of_size(&metadata, 1_200_000)});
    let (status, problem) = host.admin(Method::POST, &path, larger).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
}

#[tokio::test]
async fn metadata_may_be_in_utf_16_or_latin_1() {
    let host = TestHost::start().await;
    let plain = Certificates::new().in_text(MELLON);
    let (_, content) = plain.split_once("?>").unwrap_or(("", &plain));
    let content = content.replace("mellon.example/mellon/metadata", "mellon.example/zürich");
    let declared =
        |encoding: &str| format!("<?xml version=\"1.0\" encoding=\"{encoding}\"?>{content}");
    let latin1: Vec<u8> = declared("ISO-8859-1")
        .chars()
        .map(|c| u8::try_from(u32::from(c)).expect("Latin-1"))
        .collect();
    for metadata in [
        // The text, with a declaration of the encoding of its file.
        declared("UTF-16"),
        declared("ISO-8859-1"),
        // The file itself.
        STANDARD.encode(latin1),
        STANDARD.encode(utf16(&declared("UTF-16"))),
        STANDARD.encode(utf16(&format!("\u{feff}{content}"))),
    ] {
        let created = import_ok(&host, &metadata, json!({"name": "Zürich"})).await;
        assert_eq!(created["entity_id"], "https://mellon.example/zürich");
    }
    let broken = STANDARD.encode([0xff, 0xfe, b'<']);
    let body = json!({"protocol": "saml", "name": "x", "metadata": broken});
    let (status, problem) = host.admin(Method::POST, "/applications", body).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(problem["detail"].text().contains("UTF-16"), "{problem}");
}

#[tokio::test]
async fn a_metadata_timestamp_may_have_an_offset() {
    let host = TestHost::start().await;
    let metadata = Certificates::new().in_text(MELLON);
    let until =
        |at: &str| metadata.replace(" entityID=", &format!(" validUntil=\"{at}\" entityID="));
    import_ok(
        &host,
        &until("2099-01-01T00:00:00+02:00"),
        json!({"name": "x"}),
    )
    .await;
    let body =
        json!({"protocol": "saml", "name": "x", "metadata": until("2020-01-01T01:00:00+02:00")});
    let (_, problem) = host.admin(Method::POST, "/applications", body).await;
    assert!(
        problem["detail"].text().contains("2019-12-31T23:00:00Z"),
        "{problem}"
    );
}

fn notes(answer: &Value) -> String {
    answer["notes"].to_string()
}

#[tokio::test]
async fn an_import_returns_its_notes() {
    let host = TestHost::start().await;
    let metadata = Certificates::new().in_text(MELLON);
    let created = import_ok(&host, &metadata, json!({"name": "Wiki"})).await;
    assert!(
        notes(&created).contains("AssertionConsumerService was omitted where its binding is"),
        "{created}"
    );
    let shown = host
        .admin_ok(
            Method::GET,
            &format!("/applications/{}", id(&created)),
            Value::Null,
        )
        .await;
    assert!(shown.get("notes").is_none());
}

#[tokio::test]
async fn an_account_name_as_email_is_noted() {
    let host = TestHost::start().await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let path = format!("/applications/{}", service_provider.id);
    for (change, is_noted) in [
        (json!({"clock_skew_seconds": 10}), false),
        (json!({"name_id_source": "account_name"}), true),
        (json!({"name_id_format": "unspecified"}), false),
        (json!({"other_name_id_formats": ["emailAddress"]}), true),
        (json!({"name_id_source": "user_email"}), false),
    ] {
        let saved = host.admin_ok(Method::PATCH, &path, change.clone()).await;
        assert_eq!(
            notes(&saved).contains("need not be an email address"),
            is_noted,
            "{change}: {saved}"
        );
    }
}

/// Returns the settings of the plugin `claim-map` with these grants and this rule.
fn claim_map(writes: &str, rule: &str) -> String {
    let file = component("claim-map");
    format!(
        "[[plugins.claim_mappers]]\nname = \"claim-map\"\nfile = \"{}\"\nwrites = [{writes}]\n\
         [[plugins.claim_mappers.config.rules]]\n{rule}\nfrom = \"roles\"\n",
        file.display()
    )
}

#[tokio::test]
async fn custom_attributes_without_a_mapper_are_noted() {
    let attributes = json!([{"name": "mail", "values": ["{email}"]}]);
    for (plugins, is_noted) in [
        (claim_map("\"groups\"", "claim = \"groups\""), true),
        (
            claim_map("\"attribute:mail\"", "attribute = \"mail\""),
            false,
        ),
    ] {
        let host = TestHost::start_with_plugins(&plugins).await;
        let body =
            json!({"protocol": "saml", "name": "x", "entity_id": "urn:x", "acs": [{"url": ACS}]});
        let created = host.admin_ok(Method::POST, "/applications", body).await;
        assert!(created.get("notes").is_none(), "{created}");
        let path = format!("/applications/{}", id(&created));
        let saved = host
            .admin_ok(
                Method::PATCH,
                &path,
                json!({"custom_attributes": attributes}),
            )
            .await;
        assert_eq!(
            notes(&saved).contains("have no effect"),
            is_noted,
            "{plugins}: {saved}"
        );
    }
}

#[tokio::test]
async fn a_custom_attribute_is_validated_on_save() {
    let plugins = claim_map("\"groups\", \"attribute:*\"", "claim = \"groups\"");
    let host = TestHost::start_with_plugins(&plugins).await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let path = format!("/applications/{}", service_provider.id);
    let save = async |value: &str| {
        let change = json!({"custom_attributes": [{"name": "first", "values": []}, {"name": "mail", "values": ["x",
            value]}]});
        host.admin(Method::PATCH, &path, change).await
    };
    for value in [
        "",
        "a",
        "{email}",
        "{{x}}",
        "{roles}@{upn}",
        "{groups}",
        "{user_did}{phone_number}{zoneinfo}",
    ] {
        assert_eq!(save(value).await.0, StatusCode::OK, "{value}");
    }
    for (value, returned) in [
        ("ab {email", "the { at character 4 has no }"),
        ("é}", "the } at character 2 has no {"),
        ("a{}", "the { at character 2 begins no name of a claim"),
        ("a {e_mail}", "{e_mail} at character 3"),
        ("{department}", "{department} at character 1"),
        ("{sub}", "{sub} at character 1"),
        ("{user.email}", "{user.email} at character 1"),
    ] {
        let (status, problem) = save(value).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{value}");
        let detail = problem["detail"].text();
        assert!(
            detail.starts_with("custom_attributes: ") && detail.contains("\"mail\""),
            "{detail}"
        );
        assert!(detail.contains(returned), "{value}: {detail}");
    }
}
