//! Authorization details (RFC 9396): a type that an administrator registers, a user who sees and signs its text, and
//! the tokens.

mod approval;
mod requests;
mod tokens;
mod types;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Browser, Database, Page, TestHost, TestUser, Text};

/// The path of the type in the admin API.
pub(super) const TYPE: &str = "/authorization-details-types/payment";

/// Returns the content of the type `payment`.
pub(super) fn payment_type() -> Value {
    json!({
        "schema": {
            "type": "object",
            "properties": {
                "amount": {"type": "string", "maxLength": 12},
                "currency": {"type": "string", "enum": ["EUR", "CHF"]},
                "creditor": {
                    "type": "object",
                    "properties": {"name": {"type": "string", "maxLength": 35}},
                    "required": ["name"],
                },
            },
            "required": ["amount", "currency", "creditor"],
        },
        "templates": {
            "en": "Pay {amount} {currency} to {creditor.name}",
            "de": "{amount} {currency} an {creditor.name} zahlen",
        },
    })
}

/// Returns an element of the type.
pub(super) fn payment(amount: &str) -> Value {
    json!({"type": "payment", "amount": amount, "currency": "EUR", "creditor": {"name": "Bob & Co"}})
}

/// The text of [`payment`] in English.
pub(super) fn text(amount: &str) -> String {
    format!("Pay \u{2068}{amount}\u{2069} \u{2068}EUR\u{2069} to \u{2068}Bob & Co\u{2069}")
}

/// Returns a host with the type, and a user whose application may use it.
pub(super) async fn fixture_on(database: Database) -> (TestHost, TestUser) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    host.admin_ok(Method::PUT, TYPE, payment_type()).await;
    permit(&host, &ada, json!(["payment"])).await;
    (host, ada)
}

pub(super) async fn fixture() -> (TestHost, TestUser) {
    fixture_on(Database::Sqlite).await
}

/// Sets the types that the application may use.
pub(super) async fn permit(host: &TestHost, ada: &TestUser, types: Value) {
    let path = format!("/applications/{}", ada.application.id);
    let change = json!({"authorization_details_types": types});
    host.admin_ok(Method::PATCH, &path, change).await;
}

/// Returns the error of an authorization request with these details, and its description.
pub(super) async fn refusal(host: &TestHost, ada: &TestUser, details: &str) -> (String, String) {
    let browser = Browser::new(&host.base);
    let changes = [("authorization_details", Some(details))];
    let page = browser.get(&ada.application.request(&changes)).await;
    (page.parameter("error"), page.parameter("error_description"))
}

/// Begins a sign-in with these details, and approves it on the device. Returns the next page.
pub(super) async fn approved(
    ada: &TestUser,
    browser: &Browser,
    details: &Value,
    more: &[(&str, Option<&str>)],
) -> Page {
    let details = details.to_string();
    let mut changes = vec![("authorization_details", Some(details.as_str()))];
    changes.extend(more);
    let waiting = ada.begin_sign_in(browser, &changes).await;
    ada.approve(&waiting).await;
    browser.get(&waiting.url).await
}

/// Signs in with these details, and exchanges the code. Returns the token response.
pub(super) async fn tokens(
    host: &TestHost,
    ada: &TestUser,
    details: &Value,
    more: &[(&str, Option<&str>)],
) -> Value {
    let browser = Browser::new(&host.base);
    let page = approved(ada, &browser, details, more).await;
    let code = page.decide("allow").await.parameter("code");
    let (status, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    assert!(!tokens["access_token"].text().is_empty());
    tokens
}
