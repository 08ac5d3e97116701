//! The TLS listeners.

use std::process::Command;

use axum::extract::{Request, State};
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::tls::{certificate_of, client, files, https_settings, mtls_settings};
use crate::harness::{
    Body, Browser, Device, EncodedCertificate, Respond, TestHost, TestUser, Text, binary, get,
    http_client, id, temp_folder, utf8, write_file,
};

#[tokio::test]
async fn an_instance_with_a_certificate_serves_only_https() {
    let folder = temp_folder();
    let (settings, certificate) = https_settings(folder.path());
    let host = TestHost::start_with_settings(&settings).await;
    let client = client(&certificate, None);
    let discovery = format!("{}/.well-known/openid-configuration", host.issuer());
    let document: Value = client.get(&discovery).response().await.read_json().await;
    assert_eq!(document["issuer"], host.issuer());
    assert!(host.issuer().starts_with("https://"));
    let answer = client.get(format!("{}/admin", host.base)).response().await;
    let cookie = answer.headers()["set-cookie"].text();
    assert!(
        cookie.starts_with("__Host-") && cookie.ends_with("; Secure"),
        "{cookie}"
    );
    assert!(
        client
            .get(discovery.replace("https:", "http:"))
            .send()
            .await
            .is_err()
    );
}

/// Starts an HTTP forwarder to the HTTPS listener of this instance, because the tests' authenticator trusts no
/// self-signed certificate. Returns its address.
async fn plain_way_to(host: &TestHost) -> String {
    let forward = async |State((client, base)): State<(Client, String)>, request: Request| {
        let (head, body) = request.into_parts();
        let body = axum::body::to_bytes(body, 1 << 20).await.expect("a body");
        let url = format!("{base}{}", head.uri);
        let answer = client
            .request(head.method, url)
            .headers(head.headers)
            .body(body)
            .response()
            .await;
        (answer.status(), answer.bytes().await.expect("a body"))
    };
    let router = axum::Router::new()
        .fallback(forward)
        .with_state((http_client(), host.base.clone()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

#[tokio::test]
async fn each_cookie_over_https_is_secure_with_the_host_prefix() {
    let folder = temp_folder();
    let (settings, _) = https_settings(folder.path());
    let host = TestHost::start_with_settings(&settings).await;
    let application = host.web_application().await;
    let user = host.user("ada").await;
    let account = host.account(&user, &application).await;
    let enrolment = host.enrolment_link(&user).await;
    let link = &enrolment.replace(&host.base, &plain_way_to(&host).await);
    let device = Device::enrol(link, "Test phone").await;
    let ada = TestUser {
        user,
        device,
        application,
        account,
    };

    let browser = Browser::new(&host.base);
    let login = browser.get(&ada.application.request(&[])).await;
    let form = login.followed().await;
    let waiting = form
        .submit(&form.path(), &[("name", "ada"), ("remember", "yes")])
        .await;
    let named = waiting.followed().await;
    ada.approve(&named).await;
    let signed_in = browser.finish(&named.url).await;
    assert!(signed_in.parameter("code").starts_with("ac_"));
    let signed_out = browser.get("/").await.submit("/sign-out", &[]).await;

    let mut names = Vec::new();
    for page in [&login, &waiting, &signed_in, &signed_out] {
        for cookie in page.headers.get_all("set-cookie") {
            let cookie = cookie.text();
            let (name, attributes) = cookie.split_once('=').expect("a name");
            names.push(name.to_owned());
            assert!(name.starts_with("__Host-"), "{cookie}");
            let attributes: Vec<&str> = attributes.split(';').skip(1).map(str::trim).collect();
            for attribute in ["Secure", "HttpOnly", "SameSite=Lax", "Path=/"] {
                assert!(attributes.contains(&attribute), "{attribute} in {cookie}");
            }
            assert!(
                !attributes
                    .iter()
                    .any(|attribute| attribute.starts_with("Domain")),
                "{cookie}"
            );
        }
    }
    for name in [
        "__Host-assent-browser",
        "__Host-assent-session",
        "__Host-assent-name",
    ] {
        assert!(
            names.iter().any(|known| known == name),
            "{name} in {names:?}"
        );
    }
}

#[tokio::test]
async fn the_mtls_listener_serves_only_application_endpoints() {
    let folder = temp_folder();
    let (settings, certificate) = mtls_settings(folder.path(), "");
    let host = TestHost::start_with_settings(&settings).await;
    let base = host
        .host
        .settings
        .http
        .mtls_url
        .clone()
        .expect("an address");
    let application = certificate_of("books");
    for client in [
        client(&certificate, None),
        client(&certificate, Some(&application)),
    ] {
        let status = async |path: &str| {
            client
                .get(base.join(path).expect("an address"))
                .response()
                .await
                .status()
        };
        assert_eq!(status("/oidc/me").await, StatusCode::UNAUTHORIZED);
        assert_eq!(status("/oidc/token").await, StatusCode::METHOD_NOT_ALLOWED);
        for path in [
            "/",
            "/oidc/auth",
            "/oidc/jwks",
            "/oidc/.well-known/openid-configuration",
            "/admin/api/v1/users",
        ] {
            assert_eq!(status(path).await, StatusCode::NOT_FOUND, "{path}");
        }
        let response = client
            .post(base.join("/oidc/token").expect("an address"))
            .form(&[("client_id", "x")])
            .send()
            .await;
        assert_eq!(
            response.expect("an answer").read_json::<Value>().await["error"],
            "invalid_client"
        );
    }
    // The other listener is not affected.
    assert!(
        get(format!("{}/healthz", host.base))
            .await
            .status()
            .is_success()
    );
}

/// A certificate is not secret. Where the client itself performs the handshake, a header with a certificate proves
/// nothing, even behind a proxy.
#[tokio::test]
async fn the_mtls_listener_ignores_the_certificate_header() {
    let folder = temp_folder();
    let proxy = "trusted_proxies = [\"127.0.0.1\", \"::1\"]\nclient_cert_header = true\n";
    let (mut settings, server) = mtls_settings(folder.path(), proxy);
    settings.push_str("[rate_limits]\nclient_auth_failures = { per_minute = 1, burst = 3 }\n");
    let host = TestHost::start_with_settings(&settings).await;
    let (victim, attacker) = (certificate_of("books"), certificate_of("stranger"));
    // The certificate is newer than the instance, because the instance's clock stands still.
    host.advance(60);
    let body = json!({
        "name": "Books", "application_type": "web", "redirect_uris": ["https://rp.example/cb"],
        "token_endpoint_auth_method": "tls_client_certificate",
        "certificate": victim.0.pem(),
    });
    let application = host.admin_ok(Method::POST, "/applications", body).await;
    let mtls = host
        .host
        .settings
        .http
        .mtls_url
        .clone()
        .expect("an address")
        .join("/oidc/token")
        .expect("an address");
    let der = victim.0.to_der().expect("DER");
    let header = format!(
        ":{}:",
        base64::Engine::encode(&base64::engine::general_purpose::STANDARD, der)
    );
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", id(&application)),
        ("scope", "openid"),
    ];
    let ask = async |client: Client, url: &str, with_header: bool, from: &str| {
        let request = client.post(url).form(&form).header("x-forwarded-for", from);
        let request = if with_header {
            request.header("client-cert", &header)
        } else {
            request
        };
        request.response().await.status()
    };
    for own in [None, Some(&attacker)] {
        assert_eq!(
            ask(client(&server, own), mtls.as_str(), true, "192.0.2.1").await,
            StatusCode::UNAUTHORIZED
        );
    }
    // The client cannot choose the address to which its failures count.
    assert_eq!(
        ask(client(&server, None), mtls.as_str(), true, "192.0.2.2").await,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(
        ask(client(&server, None), mtls.as_str(), true, "192.0.2.3").await,
        StatusCode::TOO_MANY_REQUESTS
    );
    // A valid certificate is not a guess, so the server accepts it.
    assert_eq!(
        ask(
            client(&server, Some(&victim)),
            mtls.as_str(),
            false,
            "192.0.2.1"
        )
        .await,
        StatusCode::OK
    );
    // At the other listener, the proxy performs the handshake.
    let main = format!("{}/oidc/token", host.base);
    assert_eq!(
        ask(Client::new(), &main, true, "192.0.2.1").await,
        StatusCode::OK
    );
}

#[test]
fn invalid_tls_settings_are_named() {
    let folder = temp_folder();
    let (certificate_of_server, _) = certificate_of("server");
    let check = |base_url: &str, settings: &str| {
        let file = folder.path().join("assent.toml");
        write_file(&file, format!("base_url = \"{base_url}\"\n{settings}"));
        let output = Command::new(binary("assent"))
            .args(["config", "check", "--config"])
            .arg(&file)
            .output();
        let output = output.expect("a command");
        assert!(!output.status.success());
        utf8(output.stderr)
    };
    let pair = files(
        folder.path(),
        &certificate_of_server,
        &certificate_of("other").1,
    );
    let tls = format!("[http.tls]\n{pair}");
    let message = check("https://id.example", &tls);
    assert!(
        message.contains("http.tls.key_file: ")
            && message.contains("is not the key of the certificate"),
        "{message}"
    );
    let message = check("http://localhost:8080", &tls);
    assert!(
        message.contains("base_url: expected https, because http.tls"),
        "{message}"
    );
    let message = check(
        "https://id.example",
        &format!("[http.mtls]\nlisten = \"127.0.0.1:1\"\n{pair}"),
    );
    assert!(message.contains("http.mtls_url: missing"), "{message}");
    for url in [
        "http://mtls.example",
        "https://mtls.example/oidc",
        "https://user@mtls.example",
    ] {
        let message = check(
            "https://id.example",
            &format!("[http]\nmtls_url = \"{url}\"\n"),
        );
        assert!(
            message.contains("http.mtls_url: expected an https address"),
            "{url}: {message}"
        );
    }
    let message = check("https://id.example", "[http]\nclient_cert_header = true\n");
    assert!(
        message.contains("http.client_cert_header: expected the proxy"),
        "{message}"
    );
    let message = check(
        "https://id.example",
        "[rate_limits]\ntoken_requests_per_ip = { per_minute = 1, burst = 0 }\n",
    );
    assert!(
        message.contains("rate_limits.token_requests_per_ip: expected per_minute up to"),
        "{message}"
    );
}

#[test]
fn invalid_settings_of_client_certificates_are_named() {
    let folder = temp_folder();
    let authorities = folder.path().join("authorities.pem");
    let proxy = "[http]\ntrusted_proxies = [\"192.0.2.1\"]\nclient_cert_header = true\n";
    let setting = format!("[http.mtls]\nauthorities_file = {authorities:?}\n");
    let check = |settings: &str| {
        let file = folder.path().join("assent.toml");
        write_file(
            &file,
            format!("base_url = \"https://id.example\"\n{settings}"),
        );
        let output = Command::new(binary("assent"))
            .args(["config", "check", "--config"])
            .arg(&file)
            .output();
        utf8(output.expect("a command").stderr)
    };
    let message = check("[http.mtls]\nlisten = \"127.0.0.1:1\"\n");
    for key in ["certificate_file", "key_file"] {
        assert!(
            message.contains(&format!("http.mtls.{key}: missing")),
            "{message}"
        );
    }
    let message = check("[http.mtls]\n");
    assert!(message.contains("http.mtls.listen: missing"), "{message}");
    let message = check(&setting);
    assert!(
        message.contains("http.mtls.authorities_file: expected a listener"),
        "{message}"
    );
    let behind_proxy = format!("{proxy}{setting}");
    let message = check(&behind_proxy);
    assert!(
        message.contains("http.mtls.authorities_file: cannot read"),
        "{message}"
    );
    write_file(&authorities, "nonsense");
    let message = check(&behind_proxy);
    assert!(
        message.contains("http.mtls.authorities_file: there is no root authority in"),
        "{message}"
    );
    let (root, _) = certificate_of("root");
    write_file(&authorities, root.to_pem().expect("PEM"));
    let message = check(&behind_proxy);
    assert!(!message.contains("http.mtls"), "{message}");
}
