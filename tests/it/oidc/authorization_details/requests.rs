//! Requests with authorization details, and their errors.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{TYPE, fixture, fixture_on, payment, permit, refusal};
use crate::harness::{Browser, Database, TestHost, Text, http_client};
use crate::oidc::pushed_requests::{address, push_form};

#[tokio::test]
async fn a_request_with_a_mistake_gets_an_error_that_says_what_to_do() {
    let (host, ada) = fixture().await;
    let changed = |members: Value| {
        let mut element = payment("1.00");
        for (name, value) in members.as_object().expect("members") {
            element[name] = value.clone();
        }
        json!([element]).to_string()
    };
    let missing = json!([{"type": "payment", "amount": "1", "currency": "EUR"}]).to_string();
    for (details, description) in [
        ("{}".to_owned(), "must be a JSON array of objects"),
        ("[]".to_owned(), "must have 1 to 5 elements"),
        (
            json!([{"type": "transfer"}]).to_string(),
            "authorization_details[0].type is unknown",
        ),
        (missing, "authorization_details[0].creditor is missing"),
        (
            changed(json!({"amount": "1".repeat(13)})),
            "authorization_details[0].amount is longer than 12 characters",
        ),
        (
            changed(json!({"creditor": {"name": "a\u{202e}b"}})),
            "authorization_details[0].creditor.name must not contain control characters",
        ),
        (
            changed(json!({"creditor": {"name": "ACME”. It permits “others"}})),
            "authorization_details[0].creditor.name must not contain quotes",
        ),
        (
            changed(json!({"creditor": {}})),
            "authorization_details[0].creditor must have a member, or be absent",
        ),
        (
            changed(json!({"fee": "5"})),
            "authorization_details[0].fee is not a member of the type; remove it",
        ),
        (
            changed(json!({"amount": "1".repeat(5000)})),
            "authorization_details is longer than 4096 bytes",
        ),
    ] {
        let (code, reason) = refusal(&host, &ada, &details).await;
        assert_eq!(code, "invalid_authorization_details", "{reason}");
        assert!(reason.contains(description), "{reason}");
    }
}

#[tokio::test]
async fn an_application_uses_only_its_types() {
    let (host, ada) = fixture().await;
    permit(&host, &ada, Value::Null).await;
    let details = json!([payment("1.00")]).to_string();
    let (code, reason) = refusal(&host, &ada, &details).await;
    assert_eq!(code, "invalid_authorization_details");
    assert!(reason.contains("the application may not use"), "{reason}");
}

#[tokio::test]
async fn a_deleted_type_is_unknown() {
    let (host, ada) = fixture().await;
    host.admin_ok(Method::DELETE, TYPE, Value::Null).await;
    let details = json!([payment("1.00")]).to_string();
    let (code, reason) = refusal(&host, &ada, &details).await;
    assert_eq!(code, "invalid_authorization_details");
    assert!(reason.contains("is unknown"), "{reason}");
}

#[tokio::test]
async fn no_page_for_the_details_is_interaction_required() {
    let (host, ada) = fixture().await;
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    let details = json!([payment("1.00")]).to_string();
    let changes = [
        ("authorization_details", Some(details.as_str())),
        ("prompt", Some("none")),
    ];
    let page = browser.get(&ada.application.request(&changes)).await;
    assert_eq!(page.parameter("error"), "interaction_required");
}

#[tokio::test]
async fn a_repeated_parameter_is_rejected() {
    let (host, ada) = fixture().await;
    let browser = Browser::new(&host.base);
    let request = ada.application.request(&[]);
    let twice = format!("{request}&authorization_details=a&authorization_details=b");
    let page = browser.get(&twice).await;
    assert_eq!(page.parameter("error"), "invalid_request");
}

#[both_databases]
async fn a_pushed_request_may_have_details(database: Database) {
    let (host, ada) = fixture_on(database).await;
    let form = |details: &Value| -> Vec<(String, String)> {
        let details = details.to_string();
        let request = ada
            .application
            .request(&[("authorization_details", Some(&details))]);
        let query = request.split_once('?').expect("a query").1;
        url::form_urlencoded::parse(query.as_bytes())
            .into_owned()
            .collect()
    };
    let wrong = form(&json!([{"type": "payment"}]));
    let (status, answer) = push_form(&host.base, &ada.application, &wrong).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(answer["error"], "invalid_authorization_details");
    let (status, answer) = push_form(
        &host.base,
        &ada.application,
        &form(&json!([payment("9.99")])),
    )
    .await;
    assert_eq!(status, StatusCode::CREATED, "{answer}");
    let browser = Browser::new(&host.base);
    let login = browser
        .get(&address(&ada.application.id, answer["request_uri"].text()))
        .await
        .followed()
        .await;
    let waiting = login.submit_name("ada").await;
    ada.approve(&waiting).await;
    let page = browser.get(&waiting.url).await;
    let code = page.decide("allow").await.parameter("code");
    let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(tokens["authorization_details"], json!([payment("9.99")]));
}

#[tokio::test]
async fn discovery_lists_the_types_if_there_are_some() {
    let host = TestHost::start().await;
    let document = || async {
        let url = format!("{}/oidc/.well-known/openid-configuration", host.base);
        let response = http_client().get(url).send().await.expect("a response");
        response.json::<Value>().await.expect("JSON")
    };
    let name = "authorization_details_types_supported";
    assert_eq!(document().await.get(name), None);
    host.admin_ok(Method::PUT, TYPE, super::payment_type())
        .await;
    assert_eq!(document().await[name], json!(["payment"]));
    host.admin_ok(Method::DELETE, TYPE, Value::Null).await;
    assert_eq!(document().await.get(name), None);
}
