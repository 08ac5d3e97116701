//! Programs that open the addresses of a message, and callers without the key of a device. They spend nothing.

use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::harness::{Browser, Json, Respond, TestHost, http_client};
use crate::oidc::refresh::{offline_tokens, refresh, refresh_token};

#[tokio::test]
async fn an_address_with_a_recovery_code_spends_nothing() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let codes = ada.device.recovery_codes().await;
    let browser = Browser::new(&host.base);
    for _ in 0..2 {
        let address = format!("/recover?name=ada&code={}", codes[0]);
        let page = browser.get(&address).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.body);
        assert!(!page.body.contains("#enrol="), "{}", page.body);
    }
    let form = [("name", "ada"), ("code", codes[0].as_str())];
    let page = browser.get("/recover").await;
    let answer = page.submit("/recover", &form).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
}

#[tokio::test]
async fn an_address_with_a_refresh_token_spends_nothing() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let tokens = offline_tokens(&host, &ada).await;
    let token = refresh_token(&tokens);
    let address = format!(
        "{}/oidc/token?grant_type=refresh_token&refresh_token={token}&client_id={}",
        host.base, ada.application.id
    );
    let opened = http_client().get(address).response().await;
    assert_eq!(opened.status(), StatusCode::METHOD_NOT_ALLOWED);
    let (status, refreshed) = refresh(&host.base, &ada.application, token, &[]).await;
    assert_eq!(status, StatusCode::OK, "{refreshed}");
}

#[tokio::test]
async fn a_call_without_the_key_of_a_device_decides_and_removes_nothing() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let second = host.authenticator(&ada.user).await;
    let browser = Browser::new(&host.base);
    let waiting = ada.begin_sign_in(&browser, &[]).await;
    let request = &ada.device.pending_requests(5).await[0];
    let decision = format!("requests/{}", request.id);
    let device = format!("devices/{}", second.device());
    for (method, path) in [
        (Method::GET, &decision),
        (Method::POST, &decision),
        (Method::GET, &device),
        (Method::DELETE, &device),
    ] {
        let address = format!("{}/authenticator/api/{path}", host.base);
        let body = json!({"decision": "approve", "number": waiting.number(), "signature": ""});
        let call = http_client().request(method.clone(), address).json(&body);
        let status = call.response().await.status();
        let is_refused = matches!(
            status,
            StatusCode::UNAUTHORIZED | StatusCode::METHOD_NOT_ALLOWED
        );
        assert!(is_refused, "{method} {path}: {status}");
    }
    let listed = ada.device.call_ok(Method::GET, "/devices", None).await;
    assert_eq!(listed["devices"].items().len(), 2, "{listed}");
    let outcome = ada.device.approve(request, &waiting.number()).await;
    assert_eq!(outcome, "approved");
}
