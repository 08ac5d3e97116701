//! `session_state` in the token response: off by default, and otherwise equal to the `sid` of the ID token.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::refresh::{offline_tokens, refresh, refresh_token};
use crate::harness::{Json, TestHost, Text, jwt_claims};

fn sid(tokens: &Value) -> Value {
    jwt_claims(tokens["id_token"].text())["sid"].clone()
}

#[tokio::test]
async fn the_token_response_repeats_the_sid_with_the_setting() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let without = offline_tokens(&host, &ada).await;
    assert!(
        !without.members().contains_key("session_state"),
        "{without}"
    );
    let path = format!("/applications/{}", ada.application.id);
    let pairwise = json!({"session_state": true, "subject_type": "pairwise"});
    for settings in [json!({"session_state": true}), pairwise] {
        let changed = host.admin_ok(Method::PATCH, &path, settings).await;
        assert_eq!(changed["session_state"], true);
        let first = offline_tokens(&host, &ada).await;
        assert!(sid(&first).is_string(), "{first}");
        assert_eq!(first["session_state"], sid(&first));
        let token = refresh_token(&first);
        let (status, second) = refresh(&host.base, &ada.application, token, &[]).await;
        assert_eq!(status, StatusCode::OK, "{second}");
        assert_eq!(second["session_state"], sid(&first));
        assert_eq!(second["session_state"], sid(&second));
        // Without an ID token, the application does not know the session.
        let scope = [("scope", "profile")];
        let token = refresh_token(&second);
        let (status, third) = refresh(&host.base, &ada.application, token, &scope).await;
        assert_eq!(status, StatusCode::OK, "{third}");
        assert!(
            third["id_token"].is_null() && third["session_state"].is_null(),
            "{third}"
        );
    }
}
