//! The logos of applications: uploaded by an administrator, public, and always served as images.

use assent_test_macros::both_databases;
use reqwest::header::HeaderMap;
use reqwest::{Method, StatusCode};
use serde_json::Value;

use super::signed_in;
use crate::harness::{Browser, Database, Respond, Statements, TestHost, Text, get, http_client};

const PNG: &[u8] = include_bytes!("../../../host/server/assets/icons/badge-96.png");

async fn put_logo(host: &TestHost, id: &str, bytes: Vec<u8>) -> (StatusCode, Value) {
    let url = format!("{}/admin/api/v1/applications/{id}/logo", host.base);
    // The server ignores the declared type.
    let request = http_client()
        .put(url)
        .bearer_auth(&host.token)
        .header("content-type", "text/html")
        .body(bytes);
    let answer = request.response().await;
    (answer.status(), answer.json().await.unwrap_or_default())
}

async fn load(host: &TestHost, address: &str) -> (StatusCode, HeaderMap, Vec<u8>) {
    let answer = get(format!("{}{address}", host.base)).await;
    let (status, headers) = (answer.status(), answer.headers().clone());
    (
        status,
        headers,
        answer.bytes().await.expect("a body").to_vec(),
    )
}

#[both_databases]
async fn a_logo_is_set_shown_replaced_and_removed(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let application = &ada.application.id;
    let (status, view) = put_logo(&host, application, PNG.to_vec()).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {view}");
    assert_eq!(
        (view["media_type"].as_str(), view["bytes"].as_u64()),
        (Some("image/png"), Some(PNG.len() as u64))
    );
    let address = view["url"].text().to_owned();
    let page = signed_in(&host, &ada).await.get("/").await;
    assert!(
        page.body
            .contains(&format!("<img src=\"{address}\" alt=\"\"")),
        "{database:?}: {}",
        page.body
    );

    ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let waiting = ada.device.call_ok(Method::GET, "/requests", None).await;
    assert_eq!(
        waiting["requests"][0]["application"]["logo"], address,
        "{database:?}: {waiting}"
    );

    let (status, headers, bytes) = load(&host, &address).await;
    assert_eq!((status, bytes.as_slice()), (StatusCode::OK, PNG));
    assert_eq!(
        (&headers["content-type"], &headers["x-content-type-options"]),
        (&"image/png".parse().unwrap(), &"nosniff".parse().unwrap())
    );
    assert_eq!(
        headers["cache-control"],
        "public, max-age=31536000, immutable"
    );
    assert!(
        headers["content-security-policy"]
            .text()
            .ends_with("sandbox")
    );
    let unversioned = address.split('?').next().expect("a path");
    for other in [
        unversioned.to_owned(),
        format!("{unversioned}?v=0"),
        format!("{unversioned}?v=a&v=b"),
    ] {
        let (status, headers, _) = load(&host, &other).await;
        assert_eq!(
            (status, &headers["cache-control"]),
            (StatusCode::OK, &"no-cache".parse().unwrap()),
            "{other}"
        );
    }
    let known = http_client()
        .get(format!("{}{unversioned}", host.base))
        .header("if-none-match", &headers["etag"]);
    assert_eq!(known.response().await.status(), StatusCode::NOT_MODIFIED);

    let (_, view) = put_logo(&host, application, b"\xff\xd8\xff\xe0 JFIF".to_vec()).await;
    assert_ne!(view["url"], address, "another picture has another address");
    assert_eq!(
        load(&host, unversioned).await.1["content-type"],
        "image/jpeg"
    );
    let path = format!("/applications/{application}/logo");
    assert_eq!(host.admin_ok(Method::GET, &path, Value::Null).await, view);
    for _ in 0..2 {
        host.admin_ok(Method::DELETE, &path, Value::Null).await;
    }
    assert_eq!(load(&host, unversioned).await.0, StatusCode::NOT_FOUND);
    assert_eq!(
        host.admin(Method::GET, &path, Value::Null).await.0,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn the_pages_of_a_sign_in_show_the_logo() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let without = ada
        .application
        .login_page(&Browser::new(&host.base), &[])
        .await;
    assert!(!without.body.contains("app-logo"), "{}", without.body);
    let (_, view) = put_logo(&host, &ada.application.id, PNG.to_vec()).await;
    let logo = format!(
        "<img class=\"app-logo\" src=\"{}\" alt=\"\"",
        view["url"].text()
    );
    let browser = Browser::new(&host.base);
    let login = ada.application.login_page(&browser, &[]).await;
    let waiting = login.submit_name("ada").await;
    ada.approve(&waiting).await;
    let consent = browser.get(&waiting.url).await;
    assert!(consent.asks_for_consent());
    for page in [login, waiting, consent] {
        assert!(page.body.contains(&logo), "{}: {}", page.url, page.body);
    }
}

#[tokio::test]
async fn an_invalid_logo_is_rejected_and_the_old_logo_stays() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    put_logo(&host, &application.id, PNG.to_vec()).await;
    let mut large = PNG.to_vec();
    large.resize(64 * 1024 + 1, 0);
    let svg = b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>".to_vec();
    for (bytes, status) in [
        (svg, StatusCode::UNPROCESSABLE_ENTITY),
        (b"GIF89a".to_vec(), StatusCode::UNPROCESSABLE_ENTITY),
        (Vec::new(), StatusCode::UNPROCESSABLE_ENTITY),
        (large, StatusCode::PAYLOAD_TOO_LARGE),
    ] {
        let (found, problem) = put_logo(&host, &application.id, bytes).await;
        assert_eq!(found, status, "{problem}");
        if status == StatusCode::UNPROCESSABLE_ENTITY {
            assert_eq!(
                problem["detail"],
                "the body: expected an image in PNG, JPEG or WebP format"
            );
        }
    }
    assert_eq!(
        load(&host, &format!("/logos/{}", application.id)).await.2,
        PNG
    );
    let (status, _) = put_logo(
        &host,
        "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK",
        PNG.to_vec(),
    )
    .await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(
        load(&host, "/logos/nonsense").await.0,
        StatusCode::NOT_FOUND
    );
    let unauthorised = http_client().put(format!(
        "{}/admin/api/v1/applications/{}/logo",
        host.base, application.id
    ));
    assert_eq!(
        unauthorised.response().await.status(),
        StatusCode::UNAUTHORIZED
    );
}

/// A browser that has the logo gets no content, and the server reads none.
#[tokio::test]
async fn an_unchanged_logo_is_not_read_from_the_database() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    put_logo(&host, &application.id, PNG.to_vec()).await;
    let address = format!("/logos/{}", application.id);
    let (_, headers, _) = load(&host, &address).await;
    let statements = Statements::capture();
    let request = http_client()
        .get(format!("{}{address}", host.base))
        .header("if-none-match", headers["etag"].text());
    let answer = request.response().await;
    assert_eq!(answer.status(), StatusCode::NOT_MODIFIED);
    assert_eq!(statements.count("digest FROM application_logos"), 1);
    assert_eq!(statements.count("content FROM application_logos"), 0);
}

#[tokio::test]
async fn requests_for_logos_are_limited() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    put_logo(&host, &application.id, PNG.to_vec()).await;
    let limit = &host.host.rate_limits.logos_per_ip;
    let from = Some(std::net::IpAddr::from([127, 0, 0, 1])).into();
    while limit.count_call(&from, host.host.now()).is_ok() {}
    let answer = get(format!("{}/logos/{}", host.base, application.id)).await;
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(answer.headers().contains_key("retry-after"));
}
