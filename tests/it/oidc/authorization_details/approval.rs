//! The approval of authorization details: their text on the device, on the consent page and in the signature.

use assent_model::statement::{ApprovalStatement, Decision};
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::json;

use super::{TYPE, approved, fixture, fixture_on, payment, payment_type, text};
use crate::harness::{Browser, Database};

#[both_databases]
async fn device_and_consent_page_show_the_same_text(database: Database) {
    let (host, ada) = fixture_on(database).await;
    let browser = Browser::new(&host.base);
    let details = json!([payment("12.50"), payment("7.00")]).to_string();
    let changes = [("authorization_details", Some(details.as_str()))];
    let waiting = ada.begin_sign_in(&browser, &changes).await;
    let request = &ada.device.pending_requests(5).await[0];
    assert_eq!(request.details, [text("12.50"), text("7.00")]);
    ada.approve(&waiting).await;
    let page = browser.get(&waiting.url).await;
    assert!(page.asks_for_consent(), "{}", page.body);
    for amount in ["12.50", "7.00"] {
        let shown = text(amount).replace('&', "&#38;");
        assert!(page.body.contains(&shown), "{}", page.body);
    }
}

#[tokio::test]
async fn a_german_device_and_page_show_the_german_text() {
    let (host, ada) = fixture().await;
    let browser = Browser::reading(&host.base, "de");
    let page = approved(&ada, &browser, &json!([payment("12.50")]), &[]).await;
    assert!(
        page.body.contains("Bob &#38; Co\u{2069} zahlen"),
        "{}",
        page.body
    );
}

#[tokio::test]
async fn a_device_that_does_not_show_the_details_cannot_approve() {
    let (host, ada) = fixture().await;
    let browser = Browser::new(&host.base);
    let details = json!([payment("12.50"), payment("7.00")]).to_string();
    let changes = [("authorization_details", Some(details.as_str()))];
    let waiting = ada.begin_sign_in(&browser, &changes).await;
    let request = &ada.device.pending_requests(5).await[0];
    let number = waiting.number();
    let shown: [&[String]; 3] = [&[], &request.details[..1], &[text("12.50"), text("7.01")]];
    for details in shown {
        let blind = ApprovalStatement {
            details,
            ..ada.device.statement(request, Some(&number))
        };
        let signature = ada.device.signature(&blind.text());
        let reply = ada
            .device
            .send(request.id, Decision::Approve, &number, &signature)
            .await
            .expect("an answer");
        assert_eq!(reply.status, StatusCode::FORBIDDEN, "{}", reply.body);
        assert_eq!(reply.body["error"], "invalid_proof");
    }
    ada.approve(&waiting).await;
}

#[tokio::test]
async fn a_changed_type_does_not_change_a_pending_request() {
    let (host, ada) = fixture().await;
    let browser = Browser::new(&host.base);
    let details = json!([payment("12.50")]).to_string();
    let changes = [("authorization_details", Some(details.as_str()))];
    let waiting = ada.begin_sign_in(&browser, &changes).await;
    let mut changed = payment_type();
    changed["templates"]["en"] = json!("Read {amount} {currency} {creditor.name}");
    host.admin_ok(Method::PUT, TYPE, changed).await;
    let request = &ada.device.pending_requests(5).await[0];
    assert_eq!(request.details, [text("12.50")]);
    ada.approve(&waiting).await;
    let page = browser.get(&waiting.url).await;
    assert!(page.body.contains("Pay \u{2068}12.50"), "{}", page.body);
}

#[tokio::test]
async fn no_session_and_no_consent_replaces_the_approval() {
    let (host, ada) = fixture().await;
    let browser = Browser::new(&host.base);
    let first = approved(&ada, &browser, &json!([payment("12.50")]), &[]).await;
    let back = first.decide("allow").await;
    assert!(!back.parameter("code").is_empty());
    // The same details again, in the session that the approval began.
    let details = json!([payment("12.50")]).to_string();
    let changes = [("authorization_details", Some(details.as_str()))];
    let waiting = ada.begin_sign_in(&browser, &changes).await;
    let request = &ada.device.pending_requests(5).await[0];
    assert_eq!(request.details, [text("12.50")]);
    ada.approve(&waiting).await;
    let page = browser.get(&waiting.url).await;
    assert!(page.asks_for_consent(), "{}", page.body);
    // A request without details needs neither.
    let without = browser.get(&ada.application.request(&[])).await;
    assert!(!without.parameter("code").is_empty());
}

#[tokio::test]
async fn implied_consent_does_not_cover_details() {
    let (host, ada) = fixture().await;
    let path = format!("/applications/{}", ada.application.id);
    let change = json!({"consent": "implied"});
    host.admin_ok(Method::PATCH, &path, change).await;
    let browser = Browser::new(&host.base);
    let page = approved(&ada, &browser, &json!([payment("12.50")]), &[]).await;
    assert!(page.asks_for_consent(), "{}", page.body);
    let denied = page.decide("deny").await;
    assert_eq!(denied.parameter("error"), "access_denied");
}

#[tokio::test]
async fn a_request_without_details_signs_no_line_for_them() {
    let (host, ada) = fixture().await;
    let browser = Browser::new(&host.base);
    let waiting = ada.begin_sign_in(&browser, &[]).await;
    let request = &ada.device.pending_requests(5).await[0];
    assert!(request.details.is_empty());
    let statement = ada.device.statement(request, Some("10")).text();
    assert!(!statement.contains("detail"), "{statement}");
    ada.approve(&waiting).await;
}
