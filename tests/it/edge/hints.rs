//! Hints and formats for programs around the server.

use reqwest::header::{ACCEPT, CONTENT_TYPE, IF_MATCH};
use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::harness::{Body, Respond, TestHost, http_client, id};

#[tokio::test]
async fn a_discovery_address_with_another_slash_has_a_hint() {
    let host = TestHost::start().await;
    let discovery = format!("{}/oidc/.well-known/openid-configuration", host.base);
    for path in [
        "/oidc/.well-known/openid-configuration/",
        "//oidc/.well-known/openid-configuration",
        "/oidc//.well-known/openid-configuration",
    ] {
        let answer = http_client()
            .get(format!("{}{path}", host.base))
            .response()
            .await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
        let body = answer.read_text().await;
        assert!(body.contains(&discovery), "{path}: {body}");
    }
}

#[tokio::test]
async fn an_if_match_that_never_matches_says_so() {
    let host = TestHost::start().await;
    let ada = host.user("ada").await;
    for (tag, reason) in [
        ("W/\"1\"", "is a weak tag"),
        ("1", "no quotation marks"),
        ("nonsense", "no quotation marks"),
    ] {
        let answer = http_client()
            .request(
                Method::PATCH,
                format!("{}/admin/api/v1/users/{}", host.base, id(&ada)),
            )
            .bearer_auth(&host.token)
            .header(IF_MATCH, tag)
            .json(&json!({"email": "ada@example.net"}))
            .response()
            .await;
        assert_eq!(answer.status(), StatusCode::PRECONDITION_FAILED, "{tag}");
        let body = answer.read_text().await;
        assert!(body.contains(reason), "{tag}: {body}");
    }
}

#[tokio::test]
async fn metrics_have_the_format_that_the_request_prefers() {
    let settings = "[metrics]\nlisten = \"127.0.0.1:0\"\n";
    let host = TestHost::start_with_settings(settings).await;
    for (accept, kind, has_end) in [
        ("*/*", "application/openmetrics-text", true),
        ("text/plain", "text/plain; version=0.0.4", false),
    ] {
        let answer = http_client()
            .get(host.metrics_url())
            .header(ACCEPT, accept)
            .response()
            .await;
        let found = answer.headers()[CONTENT_TYPE].to_str().expect("a text");
        assert!(found.starts_with(kind), "{accept}: {found}");
        let text = answer.read_text().await;
        assert_eq!(text.ends_with("# EOF\n"), has_end, "{accept}");
        let counter = "# TYPE assent_task_restarts_total counter";
        assert_eq!(text.contains(counter), !has_end, "{accept}: {text}");
    }
}
