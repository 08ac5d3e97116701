//! Request ids: in each response, and in the log lines of its request.

use std::collections::HashSet;

use reqwest::{Method, StatusCode};

use crate::harness::{Browser, Log, Respond, TestHost, http_client};

const PROXY: &str = "[http]\ntrusted_proxies = [\"127.0.0.1\", \"::1\"]\n";

async fn id_of(host: &TestHost, path: &str, assigned: Option<&str>) -> (StatusCode, String) {
    let mut request = http_client().get(format!("{}{path}", host.base));
    if let Some(assigned) = assigned {
        request = request.header("x-request-id", assigned);
    }
    let response = request.response().await;
    let id = response.headers()["x-request-id"].to_str().expect("text");
    (response.status(), id.to_owned())
}

#[tokio::test]
async fn each_response_has_an_id_of_its_own() {
    let host = TestHost::start().await;
    let mut ids = HashSet::new();
    let paths = [
        ("/healthz", StatusCode::OK),
        ("/oidc/jwks", StatusCode::OK),
        ("/oidc/jwks", StatusCode::OK),
        ("/nowhere", StatusCode::NOT_FOUND),
        ("/oidc/me", StatusCode::UNAUTHORIZED),
        ("/admin/api/v1/users", StatusCode::UNAUTHORIZED),
    ];
    for (path, expected) in paths {
        let (status, id) = id_of(&host, path, Some("from-a-stranger")).await;
        assert_eq!(status, expected, "{path}");
        assert_ne!(id, "from-a-stranger", "{path}");
        assert!(ids.insert(id), "{path}");
    }
}

#[tokio::test]
async fn a_trusted_proxy_assigns_the_id_which_log_lines_have() {
    let log = Log::capture();
    let host = TestHost::start_with_settings(PROXY).await;
    let ada = host.ada().await;
    for path in ["/healthz", "/nowhere"] {
        assert_eq!(id_of(&host, path, Some("7f3a-1")).await.1, "7f3a-1");
        assert_ne!(id_of(&host, path, Some("not an id")).await.1, "not an id");
    }
    let rejected = ada.application.request(&[("response_type", Some("token"))]);
    let answer = Browser::new(&host.base)
        .request(Method::GET, &rejected)
        .header("x-request-id", "7f3a-2")
        .header("x-forwarded-for", "192.0.2.1")
        .response()
        .await;
    assert_eq!(answer.headers()["x-request-id"], "7f3a-2");
    assert!(log.has(&["request{id=\"7f3a-2\"}"]), "{:?}", log.lines());
}
