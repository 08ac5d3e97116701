//! The format of the API: problems, methods, media types, cross-origin requests and the OpenAPI document.

use assent::http::admin_api::openapi::text as openapi_document;
use assent::http::admin_api::rules;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Caller, sent};
use crate::harness::{Json, TestHost, Text, http_client, id};

#[tokio::test]
async fn problems_name_their_type_and_location() {
    let host = TestHost::start().await;
    let caller = Caller::machine(&host);
    let application =
        |uris: Value| json!({"name": "x", "application_type": "web", "redirect_uris": uris});
    for (path, body, status, kind, pointer) in [
        (
            "/applications",
            application(json!(["https://a.example", 1])),
            400,
            "malformed",
            "/redirect_uris/1",
        ),
        (
            "/applications",
            json!({"nam/e~": 1}),
            400,
            "malformed",
            "/nam~1e~0",
        ),
        (
            "/applications",
            application(json!([])),
            422,
            "invalid",
            "/redirect_uris",
        ),
        (
            "/users",
            json!({"name": "eve", "profile": {"name": 1}}),
            422,
            "invalid",
            "/profile",
        ),
        (
            "/users",
            json!({"name": "eve", "state": "gone"}),
            400,
            "malformed",
            "/state",
        ),
        ("/users", json!([]), 400, "malformed", ""),
    ] {
        let answer = caller.call(Method::POST, path, body.clone()).await;
        let what = format!("{path} {body}: {}", answer.body);
        assert_eq!(
            (answer.status.as_u16(), answer.problem()),
            (status, kind),
            "{what}"
        );
        assert_eq!(answer.headers["content-type"], "application/problem+json");
        assert_eq!(answer.body["errors"][0]["pointer"], pointer, "{what}");
        assert!(
            answer.body["title"].is_string() && answer.body["status"] == status,
            "{what}"
        );
    }
    for query in [
        "/users?limit=0",
        "/users?limit=201",
        "/users?limit=x",
        "/users?after=x",
        "/users?page=2",
        "/users?state=gone",
        "/users?limit=1&limit=2",
        "/audit?limit=x",
    ] {
        let answer = caller.get(query).await;
        assert_eq!(
            (answer.status, answer.problem()),
            (StatusCode::BAD_REQUEST, "malformed"),
            "{query}: {}",
            answer.body
        );
    }
    let broken = sent(
        caller
            .request(Method::POST, "/users")
            .header("content-type", "application/json")
            .body("{"),
    )
    .await;
    assert_eq!(
        (broken.status, broken.problem()),
        (StatusCode::BAD_REQUEST, "malformed")
    );
    assert!(
        broken.body["detail"].text().contains("line 1 column 1"),
        "{}",
        broken.body
    );
}

#[tokio::test]
async fn unreadable_requests_are_rejected_as_problems() {
    let host = TestHost::start().await;
    let caller = Caller::machine(&host);
    let user = host.user("eve").await;
    let path = format!("/users/{}", id(&user));
    let body = || r#"{"profile":{"nickname":"x"}}"#;
    for (method, path, kind, status) in [
        (
            Method::PATCH,
            path.as_str(),
            "application/merge-patch+json",
            200,
        ),
        (Method::PATCH, &path, "application/json; charset=utf-8", 200),
        (Method::PATCH, &path, "text/plain", 415),
        (
            Method::POST,
            "/users",
            "application/x-www-form-urlencoded",
            415,
        ),
        (Method::POST, "/users", "application/merge-patch+json", 415),
        (Method::POST, "/applications", "text/plain", 415),
    ] {
        let answer = sent(
            caller
                .request(method, path)
                .header("content-type", kind)
                .body(body()),
        )
        .await;
        assert_eq!(answer.status, status, "{path} {kind}: {}", answer.body);
        assert!(status == 200 || answer.problem() == "unsupported-media-type");
    }
    let missing = sent(caller.request(Method::POST, "/users").body(body())).await;
    assert_eq!(missing.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    for method in [Method::DELETE, Method::PUT, Method::PATCH] {
        let answer = caller.call(method.clone(), "/users", Value::Null).await;
        assert_eq!(
            (answer.status, answer.problem()),
            (StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed")
        );
        let allow = answer.headers["allow"].text();
        let mut allow: Vec<_> = allow.split(',').map(str::trim).collect();
        allow.sort_unstable();
        assert_eq!(allow, ["GET", "HEAD", "POST"], "{method}");
    }
    let large = json!({"name": "x".repeat(70_000)});
    for chunked in [false, true] {
        let request = caller.request(Method::POST, "/users");
        let bytes = large.to_string();
        let request = match chunked {
            false => request.body(bytes),
            true => request.body(reqwest::Body::wrap_stream(futures_util::stream::iter([
                Ok::<_, std::io::Error>(bytes),
            ]))),
        };
        let answer = sent(request.header("content-type", "application/json")).await;
        assert_eq!(
            (answer.status, answer.problem()),
            (StatusCode::PAYLOAD_TOO_LARGE, "too-large"),
            "chunked: {chunked}"
        );
    }
    let nowhere = caller.get("/nothing").await;
    assert_eq!(
        (nowhere.status, nowhere.problem()),
        (StatusCode::NOT_FOUND, "not-found")
    );
}

#[tokio::test]
async fn cross_origin_pages_cannot_read_the_admin_api() {
    let host = TestHost::start().await;
    let spa = json!({"name": "x", "application_type": "spa", "redirect_uris": ["https://spa.example/cb"]});
    host.admin_ok(Method::POST, "/applications", spa).await;
    for origin in [
        "https://evil.example",
        "https://spa.example",
        "null",
        &host.base,
    ] {
        for (method, path) in [
            (Method::OPTIONS, "/users"),
            (Method::GET, "/users"),
            (Method::GET, "/openapi.json"),
        ] {
            let request = Caller::machine(&host)
                .request(method.clone(), path)
                .header("origin", origin);
            let answer = sent(request.header("access-control-request-method", "GET")).await;
            let shared = answer
                .headers
                .keys()
                .find(|name| name.as_str().starts_with("access-control-"));
            assert_eq!(shared, None, "{method} {path} {origin}");
        }
    }
}

#[tokio::test]
async fn the_openapi_document_is_public_and_describes_each_route() {
    let host = TestHost::start().await;
    let url = format!("{}/admin/api/v1/openapi.json", host.base);
    let served = sent(http_client().get(&url)).await;
    assert_eq!(served.status, StatusCode::OK);
    assert_eq!(served.headers["cache-control"], "public, max-age=300");
    let again = sent(
        http_client()
            .get(&url)
            .header("if-none-match", served.etag()),
    )
    .await;
    assert_eq!(again.status, StatusCode::NOT_MODIFIED);

    let document = served.body;
    assert_eq!(document["openapi"], "3.1.0");
    let mut ids = std::collections::BTreeSet::new();
    let mut described = 0;
    for (path, operations) in document["paths"].members() {
        for (method, operation) in operations.members() {
            let what = format!("{method} {path}");
            assert!(
                ids.insert(operation["operationId"].text().to_owned()),
                "{what}"
            );
            assert!(
                operation["summary"]
                    .as_str()
                    .is_some_and(|summary| !summary.is_empty()),
                "{what} has no summary"
            );
            assert!(
                operation["x-permission"].is_string(),
                "{what} has no permission"
            );
            assert!(operation["responses"].get("401").is_some(), "{what}");
            described += 1;
        }
    }
    assert_eq!(described, rules().len());
    // Every reference resolves.
    let text = document.to_string();
    for reference in text
        .split("\"$ref\":\"#")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
    {
        assert!(document.pointer(reference).is_some(), "{reference}");
    }
}

#[test]
fn the_committed_openapi_document_is_served() {
    let committed = include_str!("../../../config/admin-api.openapi.json");
    assert!(
        committed.trim_end() == openapi_document(),
        "run: cargo run -q -p assent -- config openapi > config/admin-api.openapi.json"
    );
}
