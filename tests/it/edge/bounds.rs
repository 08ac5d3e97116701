//! Oversized and slow requests are rejected at once.

use std::time::Duration;

use assent_model::clock::Clock;
use reqwest::{Method, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::{Body, Browser, Parsed, Respond, TestHost, Text, http_client, id, in_time};

async fn connect(host: &TestHost) -> TcpStream {
    let address = host
        .base
        .trim_start_matches("http://")
        .replace("localhost", "127.0.0.1");
    TcpStream::connect(address).await.expect("a connection")
}

/// Sends these bytes and nothing more. Returns the first line of the response.
async fn first_line(host: &TestHost, bytes: &[u8]) -> String {
    let mut stream = connect(host).await;
    // The instance may respond and close the connection before all bytes are written.
    let _ = stream.write_all(bytes).await;
    let mut answer = vec![0; 1024];
    let read = in_time(stream.read(&mut answer)).await.expect("an answer");
    String::from_utf8_lossy(&answer[..read])
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[tokio::test]
async fn an_oversized_request_head_is_rejected_before_it_ends() {
    let host = TestHost::start().await;
    let large = format!(
        "GET / HTTP/1.1\r\nhost: localhost\r\nx-large: {}",
        "x".repeat(70 * 1024)
    );
    assert_eq!(
        first_line(&host, large.as_bytes()).await,
        "HTTP/1.1 431 Request Header Fields Too Large"
    );
    let whole = format!(
        "GET / HTTP/1.1\r\nhost: localhost\r\nx-large: {}\r\n\r\n",
        "x".repeat(40 * 1024)
    );
    assert_eq!(
        first_line(&host, whole.as_bytes()).await,
        "HTTP/1.1 431 Request Header Fields Too Large"
    );
    let many = format!(
        "GET / HTTP/1.1\r\nhost: localhost\r\n{}\r\n",
        "x: y\r\n".repeat(200)
    );
    assert_eq!(
        first_line(&host, many.as_bytes()).await,
        "HTTP/1.1 431 Request Header Fields Too Large"
    );
    let usual = format!(
        "GET / HTTP/1.1\r\nhost: localhost\r\nx-large: {}\r\n\r\n",
        "x".repeat(24 * 1024)
    );
    assert_eq!(first_line(&host, usual.as_bytes()).await, "HTTP/1.1 200 OK");
    // A proxy may send a chain of certificates beside other long headers.
    let proxied = format!(
        "GET / HTTP/1.1\r\nhost: localhost\r\nclient-cert-chain: {}\r\nx-large: {}\r\n\r\n",
        "x".repeat(32 * 1024),
        "x".repeat(24 * 1024)
    );
    assert_eq!(
        first_line(&host, proxied.as_bytes()).await,
        "HTTP/1.1 200 OK"
    );
}

#[tokio::test]
async fn an_overlong_url_is_rejected() {
    let host = TestHost::start().await;
    let status = async |length: usize| {
        let response = http_client()
            .get(format!("{}/?{}", host.base, "x".repeat(length)))
            .send()
            .await;
        response.expect("an answer").status()
    };
    assert_eq!(status(16 * 1024).await, StatusCode::URI_TOO_LONG);
    assert_eq!(status(8 * 1024).await, StatusCode::OK);
}

#[tokio::test]
async fn an_oversized_content_length_is_rejected_before_the_body() {
    let host = TestHost::start().await;
    for (path, length) in [
        ("/oidc/token", 32 * 1024 + 1),
        ("/oidc/auth", 64 * 1024 + 1),
        ("/login/x", 64 * 1024 + 1),
        ("/admin/api/v1/users", 64 * 1024 + 1),
        ("/authenticator/api/enrolments", 64 * 1024 + 1),
    ] {
        let head = |length: usize| {
            format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n")
        };
        assert_eq!(
            first_line(&host, head(length).as_bytes()).await,
            "HTTP/1.1 413 Payload Too Large",
            "{path}"
        );
    }
    // A request without `Content-Length` is rejected when its body exceeds the limit.
    let chunk = "x".repeat(64 * 1024);
    let unsaid = format!(
        "POST /oidc/token HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-www-form-urlencoded\r\n\
         transfer-encoding: chunked\r\n\r\n{:x}\r\n{chunk}\r\n",
        chunk.len()
    );
    assert_eq!(
        first_line(&host, unsaid.as_bytes()).await,
        "HTTP/1.1 413 Payload Too Large"
    );
}

/// A browser receives a page for a rejected request, and a program receives plain text.
#[tokio::test]
async fn every_rejection_in_a_browser_is_a_page() {
    let host = TestHost::start().await;
    let client = http_client();
    let form = "application/x-www-form-urlencoded";
    for path in [
        "/oidc/auth",
        "/login/x",
        "/sso/SingleSignOnService/x",
        "/sso/SingleLogoutService/x",
        "/session/end",
    ] {
        let url = format!("{}{path}", host.base);
        let post = |body: String| client.post(&url).header("content-type", form).body(body);
        for (what, request, status, words) in [
            (
                "a large body",
                post("x".repeat(65 * 1024)),
                StatusCode::PAYLOAD_TOO_LARGE,
                "too large",
            ),
            (
                "NUL in the query",
                client.get(format!("{url}?x=%00")),
                StatusCode::BAD_REQUEST,
                "can’t be read",
            ),
            (
                "another method",
                client.put(&url),
                StatusCode::METHOD_NOT_ALLOWED,
                "can’t be used",
            ),
            (
                "large cookies",
                client
                    .get(&url)
                    .header("cookie", format!("a={}", "x".repeat(34 * 1024))),
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "cookies",
            ),
            (
                "a long address",
                client.get(format!("{url}?{}", "x".repeat(17 * 1024))),
                StatusCode::URI_TOO_LONG,
                "too long",
            ),
        ] {
            let plain = request.try_clone().expect("again").response().await;
            assert_eq!(plain.status(), status, "{path}: {what}");
            let page = request
                .header("accept", "text/html,application/xhtml+xml,*/*;q=0.8")
                .response()
                .await;
            assert_eq!(page.status(), status, "{path}: {what}");
            assert_eq!(
                page.headers()["content-type"],
                "text/html; charset=utf-8",
                "{path}: {what}"
            );
            assert!(
                page.headers().contains_key("content-security-policy"),
                "{path}: {what}"
            );
            assert_eq!(
                page.headers().contains_key("allow"),
                status == StatusCode::METHOD_NOT_ALLOWED,
                "{path}: {what}"
            );
            let body = page.read_text().await;
            assert!(
                body.contains("Reference <code") && body.contains(words),
                "{path}: {what}: {body}"
            );
        }
    }
    // The body is no form. The framework would answer with a text of its own.
    let body = client
        .post(format!("{}/session/end", host.base))
        .header("accept", "text/html")
        .body("x");
    let answer = body.response().await;
    assert_eq!(
        answer.headers()["content-type"],
        "text/html; charset=utf-8",
        "{}",
        answer.status()
    );
}

/// Returns arrays and objects of this depth, closed and unclosed.
fn nested(depth: usize) -> Vec<String> {
    [
        ("[".repeat(depth), "]".repeat(depth)),
        ("{\"a\":".repeat(depth / 3), "}".repeat(depth / 3)),
    ]
    .map(|(open, close)| [format!("{open}1{close}"), open])
    .concat()
}

async fn assert_serves(host: &TestHost) {
    assert_eq!(
        http_client()
            .get(format!("{}/healthz", host.base))
            .response()
            .await
            .status(),
        StatusCode::OK
    );
}

/// The instance rejects deeply nested JSON before any recursion, and continues to serve.
#[tokio::test]
async fn deeply_nested_json_is_rejected_at_each_endpoint() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    // The depths reach the largest bodies that these endpoints accept.
    let depths = [600, 10_000, 30_000];
    for text in depths.into_iter().flat_map(nested) {
        let start = &text[..20];
        for (method, path) in [
            (Method::POST, "/users".to_owned()),
            (Method::POST, "/applications".to_owned()),
            (Method::PATCH, format!("/users/{}", id(&ada.user))),
        ] {
            for body in [
                text.clone(),
                format!("{{\"name\":\"x\",\"profile\":{text}}}"),
            ] {
                let request = http_client()
                    .request(method.clone(), format!("{}/admin/api/v1{path}", host.base));
                let request = request
                    .bearer_auth(&host.token)
                    .header("content-type", "application/json");
                let answer = request.body(body).response().await;
                assert_eq!(
                    answer.status(),
                    StatusCode::BAD_REQUEST,
                    "{method} {path} {} {start}",
                    text.len()
                );
                assert_eq!(
                    answer.headers()["content-type"],
                    "application/problem+json",
                    "{method} {path}"
                );
            }
        }
        // The parser skips unknown members without recursion, so the test uses a known member.
        for path in ["/enrolments/preview", "/enrolments"] {
            let request = http_client().post(format!("{}/authenticator/api{path}", host.base));
            let request = request
                .header("content-type", "application/json")
                .body(format!("{{\"token\":{text}}}"));
            let status = request.response().await.status();
            assert!(status.is_client_error(), "{path} {status} {start}");
        }
        // The body has a valid signature of a device.
        for (method, path, member) in [
            (Method::POST, "/authenticator/api/qr-sign-ins", "token"),
            (
                Method::POST,
                "/authenticator/api/device-authorizations",
                "user_code",
            ),
            (
                Method::PUT,
                "/authenticator/api/device/push",
                "subscription",
            ),
        ] {
            let body = format!("{{\"{member}\":{text}}}").into_bytes();
            let reply = ada
                .device
                .call(method, path, "", body)
                .await
                .expect("an answer");
            assert!(
                reply.status.is_client_error(),
                "{path} {} {start}",
                reply.status
            );
        }
    }
    assert_serves(&host).await;
}

/// The parameter `claims` (OpenID Connect Core section 5.5) is JSON in a form of at most 8 KiB.
#[tokio::test]
async fn deeply_nested_claims_requests_are_rejected() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    for text in [600, 1_100].into_iter().flat_map(nested) {
        for claims in [
            text.clone(),
            format!("{{\"userinfo\":{text}}}"),
            format!("{{\"id_token\":{{\"name\":{text}}}}}"),
        ] {
            let request = ada.application.request(&[("claims", Some(&claims))]);
            let form: Vec<(String, String)> =
                url::form_urlencoded::parse(request.split_once('?').expect("a query").1.as_bytes())
                    .into_owned()
                    .collect();
            let form: Vec<(&str, &str)> = form
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect();
            let browser = Browser::new(&host.base);
            for page in [
                browser.post("/oidc/auth", &form).await.followed().await,
                browser.get(&request).await,
            ] {
                assert_eq!(
                    page.status,
                    StatusCode::SEE_OTHER,
                    "{} {}",
                    text.len(),
                    page.body
                );
                assert_eq!(page.parameter("error"), "invalid_request", "{}", text.len());
            }
        }
    }
    assert_serves(&host).await;
}

/// Endpoints of applications answer in JSON, whatever part of the server rejected the request.
#[tokio::test]
async fn application_endpoints_reject_in_json() {
    let host = TestHost::start().await;
    let client = http_client();
    for path in [
        "/oidc/token",
        "/oidc/token/introspection",
        "/oidc/token/revocation",
        "/oidc/par",
        "/oidc/backchannel",
        "/oidc/device_authorization",
    ] {
        let url = format!("{}{path}", host.base);
        let form = |length: usize| client.post(&url).form(&[("token", "x".repeat(length))]);
        let chunks = futures_util::stream::iter(
            (0..9).map(|_| Ok::<_, std::io::Error>("x".repeat(8 * 1024))),
        );
        let unsaid = client
            .post(&url)
            .header("content-type", "application/x-www-form-urlencoded");
        for (request, status) in [
            (form(32 * 1024), StatusCode::PAYLOAD_TOO_LARGE),
            (form(64 * 1024), StatusCode::PAYLOAD_TOO_LARGE),
            (
                unsaid.body(reqwest::Body::wrap_stream(chunks)),
                StatusCode::PAYLOAD_TOO_LARGE,
            ),
            (client.get(&url), StatusCode::METHOD_NOT_ALLOWED),
            (
                client.post(format!("{url}?{}", "x".repeat(16 * 1024))),
                StatusCode::URI_TOO_LONG,
            ),
            (client.post(&url).body("no form"), StatusCode::BAD_REQUEST),
        ] {
            let answer = request.response().await;
            assert_eq!(answer.status(), status, "{path}");
            assert_eq!(
                answer.headers()["cache-control"],
                "no-store",
                "{path} {status}"
            );
            assert_eq!(
                answer.headers()["content-type"],
                "application/json",
                "{path} {status}"
            );
            assert_eq!(
                answer.headers().contains_key("allow"),
                status == StatusCode::METHOD_NOT_ALLOWED
            );
            let body: serde_json::Value = answer.read_json().await;
            assert_eq!(body["error"], "invalid_request", "{path} {status}");
            assert!(body["error_description"].is_string(), "{path} {status}");
        }
    }
}

/// The registration endpoint accepts larger bodies, in JSON, and its own errors (RFC 7591 section 3.2.2).
#[tokio::test]
async fn the_registration_endpoint_rejects_in_json() {
    let settings = "[oidc.registration]\nenabled = true\n";
    let host = TestHost::start_with_settings(settings).await;
    let client = http_client();
    let url = format!("{}/oidc/register", host.base);
    let end = Clock::now(&*host.clock) + Duration::from_secs(86_400);
    let body = serde_json::json!({
        "name": "Partners", "expires_at": assent::domain::audit::moment_text(end), "quota": 10,
    });
    let created = host
        .admin_ok(Method::POST, "/registration-tokens", body)
        .await;
    let token = created["token"].text();
    let typed = || client.post(&url).header("content-type", "application/json");
    let chunks =
        futures_util::stream::iter((0..9).map(|_| Ok::<_, std::io::Error>("x".repeat(8 * 1024))));
    for (request, status) in [
        (
            typed().bearer_auth(token).body("x".repeat(66_000)),
            StatusCode::PAYLOAD_TOO_LARGE,
        ),
        (
            typed()
                .bearer_auth(token)
                .body(reqwest::Body::wrap_stream(chunks)),
            StatusCode::PAYLOAD_TOO_LARGE,
        ),
        (
            typed().bearer_auth(token).body("no JSON"),
            StatusCode::BAD_REQUEST,
        ),
        (client.get(&url), StatusCode::METHOD_NOT_ALLOWED),
        (client.put(&url), StatusCode::METHOD_NOT_ALLOWED),
        (
            client.post(format!("{url}?{}", "x".repeat(16 * 1024))),
            StatusCode::URI_TOO_LONG,
        ),
        (typed().body("no JSON"), StatusCode::UNAUTHORIZED),
        (client.post(&url), StatusCode::UNAUTHORIZED),
        (
            client.get(format!("{url}/did:key:unknown")),
            StatusCode::UNAUTHORIZED,
        ),
    ] {
        let answer = request.response().await;
        assert_eq!(answer.status(), status);
        assert_eq!(answer.headers()["cache-control"], "no-store", "{status}");
        assert_eq!(
            answer.headers()["content-type"],
            "application/json",
            "{status}"
        );
        assert_eq!(
            answer.headers().contains_key("allow"),
            status == StatusCode::METHOD_NOT_ALLOWED
        );
        let body: serde_json::Value = answer.read_json().await;
        assert!(body["error"].is_string(), "{status}: {body}");
        assert!(body["error_description"].is_string(), "{status}: {body}");
    }
    assert_serves(&host).await;
}

#[tokio::test]
async fn a_client_that_never_reads_is_disconnected() {
    let host = TestHost::start_with_settings("[http]\nwrite_timeout = \"1s\"").await;
    let mut stream = connect(&host).await;
    let request = "GET /authenticator HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(100);
    // The client sends requests until both buffers are full. After that, only the instance can end the connection.
    let asking = async { while stream.write_all(request.as_bytes()).await.is_ok() {} };
    in_time(asking).await;
}

#[tokio::test]
async fn a_long_polling_client_keeps_its_connection() {
    let host = TestHost::start_with_settings("[http]\nwrite_timeout = \"1s\"").await;
    let mut stream = connect(&host).await;
    let request = "GET /authenticator HTTP/1.1\r\nhost: localhost\r\n\r\n";
    // An idle client is not stalled: the interval between two requests exceeds the write timeout.
    for _ in 0..2 {
        stream.write_all(request.as_bytes()).await.expect("written");
        let mut start = [0; 15];
        stream.read_exact(&mut start).await.expect("an answer");
        assert_eq!(&start, b"HTTP/1.1 200 OK");
        let mut rest = vec![0; 1 << 20];
        let pause = tokio::time::timeout(Duration::from_millis(1500), async {
            while stream.read(&mut rest).await.is_ok_and(|read| read > 0) {}
        });
        assert!(pause.await.is_err(), "the connection ended");
    }
}

/// ATTACKS: one IP address opens 5,000 idle connections. The server closes them at once and serves other clients.
#[tokio::test]
async fn idle_connections_of_one_ip_leave_room_for_others() {
    let settings = "[http]\nconnections_per_network = 20";
    let host = TestHost::start_with_settings(settings).await;
    let mut idle = Vec::new();
    for _ in 0..20 {
        idle.push(connect(&host).await);
    }
    // The server closes each further connection without a response.
    for _ in 0..100 {
        let mut more = connect(&host).await;
        let _ = more
            .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            .await;
        let read = in_time(more.read(&mut [0; 1])).await;
        assert!(read.is_err() || read.is_ok_and(|read| read == 0));
    }
    let port = host.base.rsplit(':').next().expect("a port");
    let other = tokio::net::TcpSocket::new_v4().expect("a socket");
    other
        .bind("127.0.0.2:0".parsed())
        .expect("another loopback address");
    let mut other = other
        .connect(format!("127.0.0.1:{port}").parsed())
        .await
        .expect("connected");
    other
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await
        .expect("written");
    let mut start = [0; 15];
    in_time(other.read_exact(&mut start))
        .await
        .expect("an answer");
    assert_eq!(&start, b"HTTP/1.1 200 OK");
    // The end of one connection allows another one.
    drop(idle);
    let again = async {
        while http_client()
            .get(format!("{}/healthz", host.base))
            .send()
            .await
            .is_err()
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    in_time(again).await;
}

#[tokio::test]
async fn a_trusted_proxy_has_no_connection_limit() {
    let settings = "[http]\nconnections_per_network = 1\ntrusted_proxies = [\"127.0.0.1\"]";
    let host = TestHost::start_with_settings(settings).await;
    let _idle = futures_util::future::join_all((0..20).map(|_| connect(&host))).await;
    assert_eq!(
        first_line(&host, b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await,
        "HTTP/1.1 200 OK"
    );
}

#[tokio::test]
async fn a_connection_without_a_request_times_out_sooner() {
    let settings = "[http]\nfirst_request_timeout = \"1s\"\nhead_timeout = \"10m\"";
    let host = TestHost::start_with_settings(settings).await;
    let mut used = connect(&host).await;
    used.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await
        .expect("written");
    let mut start = [0; 15];
    used.read_exact(&mut start).await.expect("an answer");
    let mut silent = connect(&host).await;
    let mut slow = connect(&host).await;
    slow.write_all(b"GET / HTTP/1.1\r\nhost:")
        .await
        .expect("written");
    for late in [&mut silent, &mut slow] {
        let read = in_time(late.read(&mut [0; 1])).await;
        assert!(read.is_err() || read.is_ok_and(|read| read == 0));
    }
    // The used connection has now been idle for as long as the others.
    used.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await
        .expect("written");
    let mut rest = Vec::new();
    let answered = async {
        while !String::from_utf8_lossy(&rest).contains("HTTP/1.1 200 OK") {
            let mut more = [0; 1024];
            let read = used.read(&mut more).await.expect("it is open");
            assert!(read > 0, "the connection ended");
            rest.extend_from_slice(&more[..read]);
        }
    };
    in_time(answered).await;
}

/// A proxy that still sends the body would otherwise report an error in place of the response.
#[tokio::test]
async fn the_rest_of_a_body_is_read_after_an_early_response() {
    let host = TestHost::start().await;
    let mut stream = connect(&host).await;
    let size = 4 << 20;
    let head = format!(
        "POST /admin/api/v1/plans HTTP/1.1\r\nhost: localhost\r\ncontent-length: {size}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("sent");
    // The response comes before the body.
    let mut buffer = [0; 4096];
    let read = in_time(stream.read(&mut buffer)).await.expect("a response");
    assert!(buffer[..read].starts_with(b"HTTP/1.1 401 "), "{buffer:?}");
    in_time(stream.write_all(&vec![b'a'; size]))
        .await
        .expect("sent");
    let next = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(next.as_bytes()).await.expect("sent");
    let mut rest = Vec::new();
    in_time(stream.read_to_end(&mut rest))
        .await
        .expect("a response");
    let rest = String::from_utf8_lossy(&rest);
    assert!(rest.contains("HTTP/1.1 200 "), "{rest}");
}

/// A body that the client sends only on request, and one above the limit: the server closes the connection.
#[tokio::test]
async fn the_rest_of_a_body_is_not_read_if_the_client_waits_or_it_is_too_large() {
    let host = TestHost::start().await;
    for headers in [
        "content-length: 1000\r\nexpect: 100-continue",
        "content-length: 17000000",
    ] {
        let mut stream = connect(&host).await;
        let head =
            format!("POST /admin/api/v1/plans HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.expect("sent");
        let mut received = Vec::new();
        in_time(stream.read_to_end(&mut received))
            .await
            .expect("the end");
        let received = String::from_utf8_lossy(&received);
        assert!(received.starts_with("HTTP/1.1 4"), "{headers}: {received}");
        assert!(!received.contains("100 Continue"), "{headers}: {received}");
    }
}
