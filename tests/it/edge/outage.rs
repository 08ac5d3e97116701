//! An outage of the database: each API answers 503 with `Retry-After`, in its own format.

use reqwest::{RequestBuilder, StatusCode};
use serde_json::Value;

use crate::harness::{Body, Respond, TestHost, Text, http_client};

/// Checks that the response allows a retry after two seconds. Returns its body.
async fn unavailable(request: RequestBuilder) -> Value {
    let response = request.response().await;
    assert_eq!(
        response.status(),
        StatusCode::SERVICE_UNAVAILABLE,
        "{}",
        response.url()
    );
    assert_eq!(response.headers()["retry-after"], "2", "{}", response.url());
    serde_json::from_str(&response.read_text().await).unwrap_or_default()
}

#[tokio::test]
async fn every_api_reports_a_database_outage_as_retryable() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let code = ada.sign_in(&browser).await;
    let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    let access = tokens["access_token"].text();
    let at = |path: &str| format!("{}{path}", host.base);
    host.host.store.close().await;

    let secret = ada.application.secret.as_deref();
    for path in [
        "/oidc/token",
        "/oidc/token/introspection",
        "/oidc/token/revocation",
        "/oidc/par",
        "/oidc/backchannel",
        "/oidc/device_authorization",
        "/oidc/receipts/0",
    ] {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", &ada.application.redirect_uri),
            ("code_verifier", crate::harness::VERIFIER),
            ("token", access),
        ];
        let request = http_client().post(at(path)).form(&form);
        let answer = unavailable(request.basic_auth(&ada.application.id, secret)).await;
        assert_eq!(answer["error"], "temporarily_unavailable", "{path}");
    }
    let answer = unavailable(http_client().get(at("/oidc/me")).bearer_auth(access)).await;
    assert_eq!(answer["error"], "temporarily_unavailable");

    let request = http_client().get(at("/admin/api/v1/users"));
    let problem = unavailable(request.bearer_auth(&host.token)).await;
    assert_eq!(problem["type"], "urn:assent:problem:unavailable");
    assert_eq!(problem["status"], 503);

    let error = ada.device.waiting(0).await.expect_err("an outage");
    assert!(
        error.to_string().contains("temporarily_unavailable"),
        "{error}"
    );

    unavailable(http_client().get(at(&format!("/sso/metadata/{}", ada.application.id)))).await;
    unavailable(http_client().get(at(&format!("/logos/{}", ada.application.id)))).await;
    unavailable(http_client().get(at("/readyz"))).await;
}
