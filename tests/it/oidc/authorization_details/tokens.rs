//! The authorization details of tokens: token responses, introspection and refresh.

use assent_test_macros::both_databases;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{approved, fixture, fixture_on, payment, permit, tokens};
use crate::harness::{Application, Body, Browser, Database, Respond, TestHost, Text, http_client};
use crate::oidc::refresh::{OFFLINE, refresh, refresh_token};

async fn introspect(host: &TestHost, application: &Application, token: &str) -> Value {
    let url = format!("{}/oidc/token/introspection", host.base);
    let request = http_client()
        .post(url)
        .basic_auth(&application.id, application.secret.as_ref());
    let response = request.form(&[("token", token)]).response().await;
    assert_eq!(response.status(), StatusCode::OK);
    response.read_json().await
}

#[both_databases]
async fn tokens_have_the_details_that_the_user_granted(database: Database) {
    let (host, ada) = fixture_on(database).await;
    let details = json!([payment("12.50"), payment("7.00")]);
    let tokens = tokens(&host, &ada, &details, &[]).await;
    assert_eq!(tokens["authorization_details"], details);
    let resource_server = host.web_application().await;
    for application in [&ada.application, &resource_server] {
        let answer = introspect(&host, application, tokens["access_token"].text()).await;
        assert_eq!(answer["authorization_details"], details, "{answer}");
    }
}

#[tokio::test]
async fn a_code_may_be_exchanged_for_a_part() {
    let (host, ada) = fixture().await;
    let browser = Browser::new(&host.base);
    let details = json!([payment("12.50"), payment("7.00")]);
    let page = approved(&ada, &browser, &details, &[]).await;
    let code = page.decide("allow").await.parameter("code");
    let exchange = async |part: &Value| {
        let part = part.to_string();
        let changes = [("authorization_details", Some(part.as_str()))];
        ada.application.exchange(&host.base, &code, &changes).await
    };
    let (status, answer) = exchange(&json!([payment("12.51")])).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(answer["error"], "invalid_authorization_details");
    let part = json!([payment("7.00")]);
    let (status, answer) = exchange(&part).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(answer["authorization_details"], part);
    let answer = introspect(&host, &ada.application, answer["access_token"].text()).await;
    assert_eq!(answer["authorization_details"], part);
}

#[both_databases]
async fn a_refresh_keeps_or_narrows_the_details(database: Database) {
    let (host, ada) = fixture_on(database).await;
    let details = json!([payment("12.50"), payment("7.00")]);
    let first = tokens(&host, &ada, &details, &OFFLINE).await;
    let part = json!([payment("7.00")]).to_string();
    let other = json!([payment("7.01")]).to_string();
    let form = [("authorization_details", other.as_str())];
    let refused = refresh(&host.base, &ada.application, refresh_token(&first), &form);
    let (status, answer) = refused.await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(answer["error"], "invalid_authorization_details");
    let form = [("authorization_details", part.as_str())];
    let narrowed = refresh(&host.base, &ada.application, refresh_token(&first), &form);
    let (status, second) = narrowed.await;
    assert_eq!(status, StatusCode::OK, "{second}");
    assert_eq!(second["authorization_details"], json!([payment("7.00")]));
    let answer = introspect(&host, &ada.application, second["access_token"].text()).await;
    assert_eq!(answer["authorization_details"], json!([payment("7.00")]));
    // The refresh token still has all (RFC 6749 section 6).
    let (_, third) = refresh(&host.base, &ada.application, refresh_token(&second), &[]).await;
    assert_eq!(third["authorization_details"], details);
    let of_refresh = introspect(&host, &ada.application, refresh_token(&third)).await;
    assert_eq!(of_refresh["authorization_details"], details);
}

#[tokio::test]
async fn a_refresh_drops_types_that_the_application_may_no_longer_use() {
    let (host, ada) = fixture().await;
    let first = tokens(&host, &ada, &json!([payment("12.50")]), &OFFLINE).await;
    permit(&host, &ada, Value::Null).await;
    let (status, second) = refresh(&host.base, &ada.application, refresh_token(&first), &[]).await;
    assert_eq!(status, StatusCode::OK, "{second}");
    assert_eq!(second.get("authorization_details"), None);
}

#[tokio::test]
async fn an_application_as_itself_has_no_details() {
    let (host, ada) = fixture().await;
    let application = &ada.application;
    let details = json!([payment("12.50")]).to_string();
    let form = [
        ("grant_type", "client_credentials"),
        ("authorization_details", &details),
    ];
    let request = http_client()
        .post(format!("{}/oidc/token", host.base))
        .basic_auth(&application.id, application.secret.as_ref());
    let response = request.form(&form).response().await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    let answer: Value = response.read_json().await;
    assert_eq!(answer["error"], "invalid_authorization_details");
}

#[tokio::test]
async fn tokens_without_details_lack_the_member() {
    let (host, ada) = fixture().await;
    let tokens = ada.tokens(&host, &Browser::new(&host.base)).await;
    assert_eq!(tokens.get("authorization_details"), None);
    let answer = introspect(&host, &ada.application, tokens["access_token"].text()).await;
    assert_eq!(answer.get("authorization_details"), None);
}
