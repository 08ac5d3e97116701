//! An attacker cannot lock out a network, neither with a cross-site page nor with unauthenticated calls.

use assent_store::sql;
use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use crate::harness::{
    Body, Browser, Respond, TestHost, Text, http_client, http_client_builder, id,
};

/// The headers of a request that a page of another site sends with `fetch`.
const FOREIGN: [(&str, &str); 4] = [
    ("sec-fetch-site", "cross-site"),
    ("sec-fetch-mode", "no-cors"),
    ("sec-fetch-dest", "empty"),
    ("origin", "https://evil.example"),
];
/// The headers of a request for an image on such a page.
const IMAGE: [(&str, &str); 3] = [
    ("sec-fetch-site", "cross-site"),
    ("sec-fetch-mode", "no-cors"),
    ("sec-fetch-dest", "image"),
];
/// The headers of a request for a frame on such a page.
const FRAME: [(&str, &str); 3] = [
    ("sec-fetch-site", "cross-site"),
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-dest", "iframe"),
];
/// The headers of a request for a link on such a page.
const LINK: [(&str, &str); 3] = [
    ("sec-fetch-site", "cross-site"),
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-dest", "document"),
];

fn with(request: RequestBuilder, headers: &[(&str, &str)]) -> RequestBuilder {
    headers.iter().fold(request, |request, (name, value)| {
        request.header(*name, *value)
    })
}

fn client() -> Client {
    http_client_builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .expect("a client")
}

async fn status(request: RequestBuilder) -> StatusCode {
    request.response().await.status()
}

async fn limited(limits: &str) -> TestHost {
    let settings = format!("[rate_limits]\n{limits}\n");
    TestHost::start_with_settings(&settings).await
}

/// ATTACKS: an attacker sends calls without proof from an office's address. Approvals, the console and recovery still
/// work there.
#[tokio::test]
async fn unsigned_device_calls_lock_out_no_shared_network() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    host.set_console_role(&ada.user, "owner").await;
    let codes = ada.device.recovery_codes().await;
    let console = Browser::new(&host.base);
    let login = console.get("/admin").await.followed().await;
    let waiting = login.submit_name("ada").await;
    ada.approve(&waiting).await;
    assert_eq!(
        console.get(&waiting.url).await.followed().await.status,
        StatusCode::OK
    );

    let client = client();
    for path in ["/authenticator/api/requests", "/admin/api/v1/me"] {
        let url = format!("{}{path}", host.base);
        for _ in 0..100 {
            assert_eq!(
                status(with(client.get(&url), &FOREIGN)).await,
                StatusCode::FORBIDDEN,
                "{path}"
            );
        }
        let mut refused = Vec::new();
        for _ in 0..100 {
            refused.push(status(client.get(&url)).await);
        }
        assert!(
            refused[..60]
                .iter()
                .all(|status| *status == StatusCode::UNAUTHORIZED),
            "{path}: {refused:?}"
        );
        assert_eq!(
            refused[99],
            StatusCode::TOO_MANY_REQUESTS,
            "{path}: invalid calls are limited"
        );
    }

    // The device, the console, the operator token and recovery still work.
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    let me = console
        .request(Method::GET, "/admin/api/v1/me")
        .header("sec-fetch-site", "same-origin");
    assert_eq!(status(me).await, StatusCode::OK);
    host.admin_ok(Method::GET, "/users", Value::Null).await;
    let page = Browser::new(&host.base).get("/recover").await;
    let code = codes[0].as_str();
    let recovered = page
        .submit("/recover", &[("name", "ada"), ("code", code)])
        .await;
    assert_eq!(recovered.location().path(), "/recover/done");
}

/// The rejection of an authenticated device for another reason does not count as a missing proof.
#[tokio::test]
async fn wrong_numbers_of_an_authenticated_device_are_not_unauthenticated_requests() {
    let host = limited("unauthenticated_requests = { per_minute = 1, burst = 1 }").await;
    let ada = host.ada().await;
    for _ in 0..5 {
        let scanned = ada
            .device
            .ask(
                Method::POST,
                "/qr-sign-ins/preview",
                Some(json!({"token": "lo_nonsense"})),
            )
            .await;
        assert!(
            !scanned
                .expect_err("an unknown code")
                .to_string()
                .contains("failed attempts")
        );
    }
    let client = client();
    let url = format!("{}/authenticator/api/requests", host.base);
    assert_eq!(
        status(client.get(&url)).await,
        StatusCode::UNAUTHORIZED,
        "the first call that counts"
    );
    assert_eq!(
        status(client.get(&url)).await,
        StatusCode::TOO_MANY_REQUESTS
    );
}

#[tokio::test]
async fn failures_at_one_api_do_not_count_at_another() {
    let host = limited("unauthenticated_requests = { per_minute = 1, burst = 1 }").await;
    let client = client();
    let authenticator = || client.get(format!("{}/authenticator/api/requests", host.base));
    let admin = || client.get(format!("{}/admin/api/v1/me", host.base));
    let recover = async || {
        let page = Browser::new(&host.base).get("/recover").await;
        page.submit(
            "/recover",
            &[("name", "ada"), ("code", "AAAA-AAAA-AAAA-AAAA")],
        )
        .await
        .status
    };
    assert_eq!(status(authenticator()).await, StatusCode::UNAUTHORIZED);
    assert_eq!(status(admin()).await, StatusCode::UNAUTHORIZED);
    assert_eq!(recover().await, StatusCode::UNPROCESSABLE_ENTITY);
    for _ in 0..2 {
        assert_eq!(status(authenticator()).await, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(status(admin()).await, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(recover().await, StatusCode::TOO_MANY_REQUESTS);
    }
}

#[tokio::test]
async fn failures_of_others_do_not_lock_out_a_public_client() {
    let host = TestHost::start().await;
    let public = host.native_application().await;
    let client = http_client();
    let url = format!("{}/oidc/token", host.base);
    for _ in 0..100 {
        let form = [
            ("client_id", public.id.as_str()),
            ("client_secret", "x"),
            ("grant_type", "refresh_token"),
        ];
        assert_eq!(
            status(client.post(&url).form(&form)).await,
            StatusCode::UNAUTHORIZED
        );
    }
    let form = [
        ("client_id", public.id.as_str()),
        ("grant_type", "refresh_token"),
        ("refresh_token", "x"),
    ];
    let answer = client.post(&url).form(&form).response().await;
    let body: Value = answer.read_json().await;
    assert!(
        ["invalid_grant", "unauthorized_client"]
            .iter()
            .any(|error| body["error"] == *error),
        "{body}"
    );
}

#[tokio::test]
async fn a_cross_site_page_cannot_exhaust_token_endpoint_limits() {
    let host = limited(
        "token_requests_per_ip = { per_minute = 1, burst = 2 }\nclient_auth_failures = { per_minute = 1, burst = 1 }",
    )
    .await;
    let body = json!({
        "name": "Books", "application_type": "spa", "redirect_uris": ["https://books.example/callback"],
    });
    let spa = host.admin_ok(Method::POST, "/applications", body).await;
    let web = host.web_application().await;
    let client = http_client();
    for path in [
        "/oidc/token",
        "/oidc/token/revocation",
        "/oidc/par",
        "/oidc/backchannel",
        "/oidc/device_authorization",
        "/oidc/receipts/0",
        "/oidc/register",
        "/oidc/token/introspection",
    ] {
        for _ in 0..20 {
            let form = [
                ("client_id", web.id.as_str()),
                ("client_secret", "x"),
                ("grant_type", "refresh_token"),
            ];
            let request = with(
                client.post(format!("{}{path}", host.base)).form(&form),
                &FOREIGN,
            );
            assert_eq!(status(request).await, StatusCode::FORBIDDEN, "{path}");
        }
    }
    let form = [
        ("client_id", id(&spa)),
        ("grant_type", "refresh_token"),
        ("refresh_token", "x"),
    ];
    for (origin, site) in [
        ("https://books.example", "cross-site"),
        ("https://books.example", "same-site"),
    ] {
        let request = client.post(format!("{}/oidc/token", host.base)).form(&form);
        let answer = with(request, &[("sec-fetch-site", site), ("origin", origin)])
            .response()
            .await;
        assert_eq!(answer.headers()["access-control-allow-origin"], origin);
        let body: Value = answer.read_json().await;
        let goes_on = ["invalid_grant", "unauthorized_client"]
            .iter()
            .any(|error| body["error"] == *error);
        assert!(goes_on, "{site}: {body}");
    }
}

#[tokio::test]
async fn a_cross_site_page_can_neither_begin_sign_ins_nor_exhaust_their_limits() {
    let host = limited("login_pages_per_ip = { per_minute = 1, burst = 4 }").await;
    let ada = host.ada().await;
    let client = client();
    let auth = format!("{}{}", host.base, ada.application.request(&[]));
    let silent = format!(
        "{}{}",
        host.base,
        ada.application.request(&[("prompt", Some("none"))])
    );
    for _ in 0..20 {
        for path in ["/sign-in?to=/", "/login/x", "/admin", "/recover"] {
            let request = with(client.get(format!("{}{path}", host.base)), &IMAGE);
            assert_eq!(status(request).await, StatusCode::FORBIDDEN, "{path}");
        }
        assert_eq!(
            status(with(client.get(&auth), &IMAGE)).await,
            StatusCode::FORBIDDEN
        );
        assert_eq!(
            status(with(client.get(&auth), &FOREIGN)).await,
            StatusCode::FORBIDDEN
        );
        // A frame could not show the sign-in.
        assert_eq!(
            status(with(client.get(&auth), &FRAME)).await,
            StatusCode::FORBIDDEN
        );
        assert_eq!(
            status(with(client.post(format!("{}/recover", host.base)), &LINK)).await,
            StatusCode::FORBIDDEN
        );
    }
    let logins = async || {
        let row: (i64,) = sql::query_as("SELECT COUNT(*) FROM logins")
            .fetch_one(&mut host.connection().await)
            .await
            .expect("a count");
        row.0
    };
    assert_eq!(logins().await, 0);
    // Applications renew tokens in a frame. These requests have a rate limit of their own.
    for _ in 0..4 {
        let answer = with(client.get(&silent), &FRAME).response().await;
        assert!(
            answer.headers()["location"]
                .text()
                .contains("error=login_required")
        );
    }
    assert_eq!(
        status(with(client.get(&silent), &FRAME)).await,
        StatusCode::TOO_MANY_REQUESTS
    );
    assert_eq!(logins().await, 0);
    // An application sends its users to this endpoint with a link and with a form.
    assert_eq!(
        status(with(client.get(&auth), &LINK)).await,
        StatusCode::SEE_OTHER
    );
    let (url, query) = auth.split_once('?').expect("a query");
    let form = client
        .post(url)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(query.to_owned());
    assert!(status(with(form, &LINK)).await.is_redirection());
    assert_eq!(logins().await, 1);
}
