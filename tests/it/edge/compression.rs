//! The compression of responses: of documents and lists that each client may see, and never of a response with a secret
//! (BREACH).

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use reqwest::header::HeaderMap;
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Browser, Respond, TestHost, Text, http_client, id};
use crate::saml::service_provider::TestServiceProvider;

/// Whether the responses of a route are compressed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// A public document.
    Document,
    /// A list, by the choices of the admin API.
    AdminApi,
    /// Never, with the reason.
    Never(&'static str),
}

const FORM: Choice = Choice::Never("a page with CSRF tokens, or its form");
const TOKENS: Choice = Choice::Never("tokens, codes or claims");
const SMALL: Choice = Choice::Never("a small response without a body to compress");
const REDIRECT: Choice =
    Choice::Never("a redirect or a form with a code or a message for an application");

/// The choice of each route of the server, as the sources name it.
const CHOICES: &[(&str, Choice)] = &[
    ("/", FORM),
    (
        "/.well-known/oauth-authorization-server/oidc",
        Choice::Document,
    ),
    ("/activity", FORM),
    ("/admin", FORM),
    ("/admin/api/v1", Choice::AdminApi),
    ("/admin/test-sign-ins/{id}", REDIRECT),
    ("/admin/{*page}", FORM),
    (
        "/api",
        Choice::Never("the authenticator's API, with numbers, links and codes"),
    ),
    ("/applications/{id}/start", REDIRECT),
    ("/approvals/callbacks/{id}", SMALL),
    ("/assets/{*path}", Choice::Document),
    ("/authenticator", Choice::Never("routes of its own, below")),
    ("/connection", SMALL),
    ("/consents", FORM),
    ("/consents/withdraw", FORM),
    ("/device", Choice::Never("a page with a code")),
    ("/devices", FORM),
    ("/devices/add", FORM),
    ("/devices/protection", FORM),
    ("/devices/recovery-codes", FORM),
    (
        "/devices/recovery-codes/{id}",
        Choice::Never("recovery codes"),
    ),
    ("/devices/recovery-codes/{id}/confirm", FORM),
    ("/devices/recovery-codes/{id}/decided", SMALL),
    ("/devices/{id}/name", FORM),
    ("/devices/{id}/passkey-sign-in", FORM),
    ("/devices/{id}/revoke", FORM),
    ("/healthz", SMALL),
    ("/login/{id}", FORM),
    ("/login/{id}/again", FORM),
    ("/login/{id}/cancel", FORM),
    ("/login/{id}/confirm", FORM),
    ("/login/{id}/consent", FORM),
    ("/login/{id}/continue", FORM),
    ("/login/{id}/events", Choice::Never("an event stream")),
    ("/login/{id}/leave", FORM),
    ("/login/{id}/passkey", FORM),
    (
        "/login/{id}/passkey/challenge",
        Choice::Never("a challenge"),
    ),
    ("/login/{id}/return", REDIRECT),
    ("/login/{id}/state", SMALL),
    (
        "/logos/{application}",
        Choice::Never("images, most of which are compressed already"),
    ),
    ("/manifest.webmanifest", Choice::Document),
    ("/metrics", Choice::Never("for the operator's own network")),
    ("/oidc/.well-known/openid-configuration", Choice::Document),
    ("/oidc/auth", REDIRECT),
    ("/oidc/jwks", Choice::Document),
    ("/oidc/receipts/keys", Choice::Document),
    ("/oidc/me", TOKENS),
    ("/oidc/session/end", REDIRECT),
    ("/oidc/token", TOKENS),
    ("/oidc/token/introspection", TOKENS),
    ("/oidc/token/revocation", SMALL),
    ("/oidc/par", SMALL),
    ("/oidc/backchannel", SMALL),
    ("/oidc/device_authorization", SMALL),
    ("/oidc/receipts/{id}", TOKENS),
    ("/oidc/register", TOKENS),
    ("/oidc/register/{client_id}", TOKENS),
    (
        "/openapi.json",
        Choice::Never("a document that programs read once"),
    ),
    ("/profile", FORM),
    ("/profile/{application}", FORM),
    ("/readyz", SMALL),
    ("/requests", FORM),
    ("/requests/resume", FORM),
    ("/requests/{id}/permit", FORM),
    ("/requests/{id}/stop", FORM),
    ("/recover", FORM),
    ("/recover/done", Choice::Never("a link that is shown once")),
    ("/session/end", FORM),
    ("/session/ended", FORM),
    ("/sessions", FORM),
    ("/sessions/end-all", FORM),
    ("/sessions/end-others", FORM),
    ("/sessions/{id}/end", FORM),
    ("/sign-in", REDIRECT),
    ("/sign-out", FORM),
    ("/sso/SingleLogoutService/{application}", REDIRECT),
    ("/sso/SingleSignOnService/{application}", REDIRECT),
    ("/sso/logout/{id}", REDIRECT),
    ("/sso/logout/{id}/{request}", REDIRECT),
    ("/sso/metadata/{application}", Choice::Document),
    ("/sso/sign-on/{id}", REDIRECT),
    ("/sw.js", Choice::Document),
    ("/{*path}", Choice::AdminApi),
];

/// Adds the paths of the routes in the sources below a folder: those in `.route("..")` and `.nest("..")`.
fn add_routes(folder: &Path, routes: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            add_routes(&path, routes);
            continue;
        }
        let source = std::fs::read_to_string(&path).expect("a source");
        for call in [".route(", ".nest("] {
            for rest in source.split(call).skip(1) {
                let Some(text) = rest.trim_start().strip_prefix('"') else {
                    continue;
                };
                let path = text.split('"').next().expect("a text");
                if path.starts_with('/') {
                    routes.insert(path.to_owned());
                }
            }
        }
    }
}

/// A new route fails here until its responses have a choice. Choose `Document` only if no response of the route
/// contains a CSRF token, a code, a token, a secret, or a link that is shown once.
#[test]
fn each_route_has_a_choice() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/server/src/http");
    let mut routes = BTreeSet::new();
    add_routes(&folder, &mut routes);
    let chosen: BTreeSet<String> = CHOICES.iter().map(|(path, _)| (*path).to_owned()).collect();
    let missing: Vec<_> = routes.difference(&chosen).collect();
    assert!(missing.is_empty(), "no choice for {missing:?}");
    let unknown: Vec<_> = chosen.difference(&routes).collect();
    assert!(unknown.is_empty(), "there are no routes {unknown:?}");
    // The layer that compresses documents is on exactly these routes.
    let router = std::fs::read_to_string(folder.join("router.rs")).expect("a source");
    let layers = router.matches("document(documents, ").count()
        + router.matches("document(&documents, ").count();
    let documents = CHOICES
        .iter()
        .filter(|(_, choice)| *choice == Choice::Document);
    assert_eq!(layers, documents.count());
}

async fn request(method: Method, url: &str, headers: &[(&str, &str)]) -> Response {
    let request = headers.iter().fold(
        http_client().request(method, url),
        |request, (name, value)| request.header(*name, *value),
    );
    request.response().await
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(Text::text)
}

/// Whether caches know that the response depends on `Accept-Encoding`.
fn varies(headers: &HeaderMap) -> bool {
    headers
        .get_all("vary")
        .iter()
        .flat_map(|line| line.text().split(','))
        .any(|name| name.trim().eq_ignore_ascii_case("accept-encoding"))
}

async fn documents(host: &TestHost) -> Vec<String> {
    let provider = TestServiceProvider::register(host, json!({})).await;
    let page = Browser::new(&host.base).get("/").await;
    let stylesheet = page.between("<link rel=\"stylesheet\" href=\"", "\"");
    let mut paths = vec![stylesheet];
    paths.extend(
        [
            "/assets/console/main.js",
            "/assets/console/german.json",
            "/assets/authenticator/messages.js",
            "/authenticator/sw.js",
            "/authenticator/manifest.webmanifest",
            "/oidc/.well-known/openid-configuration",
            "/oidc/.well-known/openid-configuration?by=router",
            "/.well-known/oauth-authorization-server/oidc",
            "/oidc/jwks",
            "/oidc/jwks?by=router",
        ]
        .map(str::to_owned),
    );
    paths.push(
        provider
            .sign_on()
            .replace("SingleSignOnService", "metadata"),
    );
    paths
}

#[tokio::test(flavor = "multi_thread")]
async fn each_public_document_has_a_representation_for_each_coding() {
    let settings = "[rate_limits]\nlogin_pages_per_ip = { per_minute = 0 }\n";
    let host = TestHost::start_with_settings(settings).await;
    for path in documents(&host).await {
        let url = format!("{}{path}", host.base);
        let plain = request(Method::GET, &url, &[]).await;
        assert_eq!(plain.status(), StatusCode::OK, "{path}");
        assert_eq!(header(plain.headers(), "content-encoding"), None, "{path}");
        assert!(varies(plain.headers()), "{path}: {:?}", plain.headers());
        let mut tags = BTreeSet::from([header(plain.headers(), "etag").expect("a tag").to_owned()]);
        let kind = header(plain.headers(), "content-type").map(str::to_owned);
        let body = plain.bytes().await.expect("a body");
        for (accept, coding) in [
            ("gzip, deflate, br, zstd", Some("br")),
            ("br;q=0, gzip;q=0.5", Some("gzip")),
            ("gzip;q=0, br;q=0", None),
            ("identity", None),
            ("*;q=0", None),
            ("zstd", None),
        ] {
            // The second response comes from memory.
            for _ in 0..2 {
                let accept = ("accept-encoding", accept);
                let response = request(Method::GET, &url, &[accept]).await;
                let headers = response.headers().clone();
                assert_eq!(
                    header(&headers, "content-encoding"),
                    coding,
                    "{path} {accept:?}"
                );
                assert_eq!(header(&headers, "content-type"), kind.as_deref(), "{path}");
                assert!(varies(&headers), "{path}");
                let tag = header(&headers, "etag").expect("a tag").to_owned();
                let sent = response.bytes().await.expect("a body");
                let length = header(&headers, "content-length").expect("a length");
                assert_eq!(length, sent.len().to_string(), "{path} {accept:?}");
                match coding {
                    None => assert_eq!(sent, body, "{path}"),
                    Some("gzip") => {
                        let mut read = Vec::new();
                        GzDecoder::new(&sent[..])
                            .read_to_end(&mut read)
                            .expect("gzip");
                        assert_eq!(read, body, "{path}");
                    }
                    Some(_) => assert!(sent.len() < body.len(), "{path}"),
                }
                let head = request(Method::HEAD, &url, &[accept]).await;
                assert_eq!(head.headers().get("etag"), headers.get("etag"), "{path}");
                assert_eq!(
                    header(head.headers(), "content-length"),
                    Some(length),
                    "{path}"
                );
                for known in [
                    tag.clone(),
                    format!("W/{tag}"),
                    format!("\"x\", {tag}"),
                    "*".to_owned(),
                ] {
                    let known = ("if-none-match", known.as_str());
                    let unchanged = request(Method::GET, &url, &[accept, known]).await;
                    assert_eq!(
                        unchanged.status(),
                        StatusCode::NOT_MODIFIED,
                        "{path} {known:?}"
                    );
                    assert_eq!(header(unchanged.headers(), "etag"), Some(tag.as_str()));
                    assert!(varies(unchanged.headers()), "{path}");
                    assert_eq!(unchanged.bytes().await.expect("no body").len(), 0);
                }
                for other in tags.iter().filter(|other| **other != tag) {
                    let other = ("if-none-match", other.as_str());
                    let changed = request(Method::GET, &url, &[accept, other]).await;
                    assert_eq!(changed.status(), StatusCode::OK, "{path} {other:?}");
                }
                tags.insert(tag);
            }
        }
        assert_eq!(tags.len(), 3, "{path}: one tag for each coding: {tags:?}");
    }
    // An image is compressed already.
    let icon = format!("{}/assets/icons/icon-192.png", host.base);
    let response = request(Method::GET, &icon, &[("accept-encoding", "br, gzip")]).await;
    assert_eq!(header(response.headers(), "content-encoding"), None);
    assert!(!varies(response.headers()));
    let tag = header(response.headers(), "etag")
        .expect("a tag")
        .to_owned();
    let response = request(Method::GET, &icon, &[("if-none-match", &tag)]).await;
    assert_eq!(response.status(), StatusCode::NOT_MODIFIED);
}

const ANY: (&str, &str) = ("accept-encoding", "gzip, br, *");

#[tokio::test]
async fn no_response_with_a_secret_is_compressed() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let code = ada.sign_in(&browser).await;
    let login = ada
        .application
        .login_page(&Browser::new(&host.base), &[])
        .await;
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    for (browser, path) in [
        (&browser, "/".to_owned()),
        (&browser, "/devices".to_owned()),
        (&browser, "/devices/recovery-codes".to_owned()),
        (&browser, "/sessions".to_owned()),
        (&browser, "/consents".to_owned()),
        (&browser, "/profile".to_owned()),
        (&browser, "/session/end".to_owned()),
        (&browser, "/recover".to_owned()),
        (&browser, "/admin/users".to_owned()),
        (login.browser(), login.path()),
        (waiting.browser(), waiting.path()),
        (waiting.browser(), format!("{}/events", waiting.path())),
        (&browser, "/authenticator".to_owned()),
        (&browser, "/nothing-here".to_owned()),
    ] {
        let request = browser.request(Method::GET, &path).header(ANY.0, ANY.1);
        let response = request.response().await;
        assert_eq!(
            header(response.headers(), "content-encoding"),
            None,
            "{path}"
        );
    }
    let token = http_client()
        .post(format!("{}/oidc/token", host.base))
        .header(ANY.0, ANY.1)
        .basic_auth(&ada.application.id, ada.application.secret.as_ref())
        .form(&[
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", &ada.application.redirect_uri),
        ])
        .response()
        .await;
    assert_eq!(header(token.headers(), "content-encoding"), None);
    for (method, path) in [
        (Method::POST, format!("/users/{}/enrolments", id(&ada.user))),
        (
            Method::POST,
            format!("/applications/{}/secrets", ada.application.id),
        ),
        (Method::GET, "/me".to_owned()),
        (Method::GET, format!("/applications/{}", ada.application.id)),
    ] {
        let response = http_client()
            .request(method.clone(), format!("{}/admin/api/v1{path}", host.base))
            .bearer_auth(&host.token)
            .header(ANY.0, ANY.1)
            .response()
            .await;
        assert!(
            response.status().is_success(),
            "{method} {path}: {}",
            response.status()
        );
        assert_eq!(
            header(response.headers(), "content-encoding"),
            None,
            "{path}"
        );
    }
}

#[tokio::test]
async fn the_lists_of_the_console_are_compressed_from_1_kib_on() {
    let host = TestHost::start().await;
    for number in 0..12 {
        host.user(&format!("user-{number}")).await;
    }
    let list = async |query: &str, accept: &str| {
        http_client()
            .get(format!("{}/admin/api/v1/users?{query}", host.base))
            .bearer_auth(&host.token)
            .header("accept-encoding", accept)
            .response()
            .await
    };
    let plain = list("limit=10", "identity").await;
    assert_eq!(header(plain.headers(), "content-encoding"), None);
    assert!(varies(plain.headers()));
    let plain = plain.bytes().await.expect("a body");
    assert!(plain.len() > 1024, "{}", plain.len());
    let response = list("limit=10", "br, gzip;q=0.1").await;
    let headers = response.headers().clone();
    assert_eq!(header(&headers, "content-encoding"), Some("gzip"));
    assert_eq!(header(&headers, "cache-control"), Some("no-store"));
    assert!(varies(&headers));
    let sent = response.bytes().await.expect("a body");
    assert!(
        sent.len() < plain.len() / 2,
        "{} of {}",
        sent.len(),
        plain.len()
    );
    let list_of = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).expect("JSON");
    assert_eq!(
        serde_json::from_reader::<_, Value>(GzDecoder::new(&sent[..])).expect("JSON"),
        list_of(&plain)
    );
    for (query, accept) in [
        ("limit=1", "gzip"),
        ("limit=10", "gzip;q=0"),
        ("limit=10", "br"),
    ] {
        let response = list(query, accept).await;
        assert_eq!(
            header(response.headers(), "content-encoding"),
            None,
            "{query} {accept}"
        );
    }
    // An error repeats what the caller sent.
    let response = list(&format!("unknown={}", "x".repeat(2000)), "gzip").await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    assert_eq!(header(response.headers(), "content-encoding"), None);
}
