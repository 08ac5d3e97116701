//! Tokens that are bound to the certificate of the connection (RFC 8705 section 3), for each authentication method.

use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::tls::{certificate_of, client, mtls_settings};
use crate::harness::{EncodedCertificate, HostOptions, Json, Respond, TestHost, Text, id};

/// A host with a listener for client certificates, and clients: with a certificate, with another one, and without one.
struct Fixture {
    host: TestHost,
    base: String,
    pem: String,
    with: Client,
    other: Client,
    without: Client,
}

async fn fixture() -> Fixture {
    let folder = tempfile::tempdir().expect("a folder");
    // The clock of the host stands still, so their validity must begin earlier.
    let [own, another] = ["own", "other"].map(certificate_of);
    let (settings, server) = mtls_settings(folder.path(), "");
    let options = HostOptions {
        settings: &settings,
        ..HostOptions::default()
    };
    let host = TestHost::start_with(options).await;
    let base = host
        .host
        .settings
        .http
        .mtls_url
        .as_ref()
        .expect("an address")
        .to_string();
    Fixture {
        base: base.trim_end_matches('/').to_owned(),
        pem: own.0.pem(),
        with: client(&server, Some(&own)),
        other: client(&server, Some(&another)),
        without: client(&server, None),
        host,
    }
}

impl Fixture {
    async fn application(&self, settings: Value) -> (String, String) {
        let mut body = json!({"name": "Books", "application_type": "web", "redirect_uris": ["https://rp.example/cb"]});
        body.members_mut().extend(settings.members().clone());
        let created = self
            .host
            .admin_ok(Method::POST, "/applications", body)
            .await;
        let client = id(&created).to_owned();
        if created["token_endpoint_auth_method"] != "client_secret_post" {
            return (client, String::new());
        }
        let path = format!("/applications/{client}/secret/rotate");
        let answer = self.host.admin_ok(Method::POST, &path, Value::Null).await;
        (client, answer["client_secret"].text().to_owned())
    }

    async fn token(&self, by: &Client, form: &[(&str, &str)]) -> (StatusCode, Value) {
        let form: Vec<_> = [("grant_type", "client_credentials")]
            .iter()
            .chain(form)
            .collect();
        let request = by.post(format!("{}/oidc/token", self.base)).form(&form);
        let response = request.response().await;
        (response.status(), response.json().await.unwrap_or_default())
    }

    /// Returns the `cnf` of a token.
    async fn confirmation(&self, by: &Client, form: &[(&str, &str)], token: &str) -> Value {
        let form: Vec<_> = [("token", token)]
            .iter()
            .chain(form)
            .copied()
            .collect::<Vec<_>>();
        let request = by
            .post(format!("{}/oidc/token/introspection", self.base))
            .form(&form);
        let shown: Value = request.response().await.json().await.expect("a body");
        assert_eq!(shown["active"], true, "{shown}");
        shown["cnf"].clone()
    }
}

/// An application with a secret binds its tokens to the certificate, if its setting says so.
#[tokio::test]
async fn tokens_of_any_method_are_bound_to_the_certificate_by_setting() {
    let it = fixture().await;
    let settings = json!({"token_endpoint_auth_method": "client_secret_post"});
    let (client, secret) = it.application(settings).await;
    let form = [
        ("client_id", client.as_str()),
        ("client_secret", secret.as_str()),
    ];
    let (status, tokens) = it.token(&it.with, &form).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let token = tokens["access_token"].text();
    assert_eq!(
        it.confirmation(&it.without, &form, token).await,
        Value::Null,
        "unbound by default"
    );
    let path = format!("/applications/{client}");
    let change = json!({"tls_client_certificate_bound_access_tokens": true});
    it.host.admin_ok(Method::PATCH, &path, change).await;
    let (status, tokens) = it.token(&it.with, &form).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    assert_eq!(tokens["token_type"], "Bearer");
    let token = tokens["access_token"].text();
    let bound = it.confirmation(&it.without, &form, token).await;
    assert_eq!(bound["x5t#S256"].text().len(), 43);
    let (status, answer) = it.token(&it.without, &form).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::BAD_REQUEST, &json!("invalid_request"))
    );
    let (_, others) = it.token(&it.other, &form).await;
    let other = it
        .confirmation(&it.without, &form, others["access_token"].text())
        .await;
    assert_ne!(other, bound, "each certificate has its own tokens");
}

/// A stolen token is useless at UserInfo without the certificate, whatever the authentication method.
#[tokio::test]
async fn a_bound_token_needs_its_certificate_at_userinfo() {
    let it = fixture().await;
    let ada = it.host.ada().await;
    let path = format!("/applications/{}", ada.application.id);
    let change = json!({"tls_client_certificate_bound_access_tokens": true});
    it.host.admin_ok(Method::PATCH, &path, change).await;
    let code = ada
        .sign_in(&crate::harness::Browser::new(&it.host.base))
        .await;
    let form = [
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("redirect_uri", ada.application.redirect_uri.as_str()),
        ("code_verifier", crate::harness::VERIFIER),
    ];
    let request = it.with.post(format!("{}/oidc/token", it.base)).form(&form);
    let request = request.basic_auth(&ada.application.id, ada.application.secret.as_ref());
    let tokens: Value = request.response().await.json().await.expect("tokens");
    let token = tokens["access_token"].text();
    let at_alias = format!("{}/oidc/me", it.base);
    let usual = format!("{}/oidc/me", it.host.base);
    for (by, address, expected) in [
        (&it.with, &at_alias, StatusCode::OK),
        (&it.other, &at_alias, StatusCode::UNAUTHORIZED),
        (&it.without, &at_alias, StatusCode::UNAUTHORIZED),
        (&it.without, &usual, StatusCode::UNAUTHORIZED),
    ] {
        let response = by.get(address).bearer_auth(token).response().await;
        assert_eq!(response.status(), expected, "{address}");
    }
    // A public application has no certificate of its own.
    let native = it.host.native_application().await;
    let change = json!({"tls_client_certificate_bound_access_tokens": true});
    let path = format!("/applications/{}", native.id);
    let (status, problem) = it.host.admin(Method::PATCH, &path, change).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
}

/// An application that authenticates with its certificate may have unbound tokens, and those of a DPoP key.
#[tokio::test]
async fn tokens_of_a_certificate_are_unbound_by_setting() {
    let it = fixture().await;
    let settings =
        json!({"token_endpoint_auth_method": "tls_client_certificate", "certificate": it.pem});
    let (client, _) = it.application(settings).await;
    let path = format!("/applications/{client}");
    let shown = it.host.admin_ok(Method::GET, &path, Value::Null).await;
    assert_eq!(
        shown["tls_client_certificate_bound_access_tokens"], true,
        "the default of this method"
    );
    let form = [("client_id", client.as_str())];
    let (_, tokens) = it.token(&it.with, &form).await;
    let bound = it
        .confirmation(&it.with, &form, tokens["access_token"].text())
        .await;
    assert_ne!(bound, Value::Null);
    for change in [
        json!({"tls_client_certificate_bound_access_tokens": false}),
        json!({"name": "Renamed"}),
        json!({"token_endpoint_auth_method": "tls_client_certificate"}),
    ] {
        it.host.admin_ok(Method::PATCH, &path, change.clone()).await;
        let (_, tokens) = it.token(&it.with, &form).await;
        let bound = it
            .confirmation(&it.with, &form, tokens["access_token"].text())
            .await;
        assert_eq!(bound, Value::Null, "{change}");
    }
    // A new application may choose it at once.
    let settings = json!({
        "token_endpoint_auth_method": "tls_client_certificate", "certificate": it.pem,
        "dpop_bound_access_tokens": true,
    });
    let (client, _) = it.application(settings).await;
    let shown = it
        .host
        .admin_ok(Method::GET, &format!("/applications/{client}"), Value::Null)
        .await;
    assert_eq!(shown["tls_client_certificate_bound_access_tokens"], false);
    assert_eq!(shown["dpop_bound_access_tokens"], true);
}

/// The endpoint for pushed requests is on this listener, too.
#[tokio::test]
async fn requests_are_pushed_with_a_certificate() {
    let it = fixture().await;
    let settings =
        json!({"token_endpoint_auth_method": "tls_client_certificate", "certificate": it.pem});
    let (client, _) = it.application(settings).await;
    let document: Value = it
        .without
        .get(format!(
            "{}/.well-known/openid-configuration",
            it.host.issuer()
        ))
        .response()
        .await
        .json()
        .await
        .expect("a document");
    let alias = document["mtls_endpoint_aliases"]["pushed_authorization_request_endpoint"].text();
    let form = [
        ("client_id", client.as_str()),
        ("redirect_uri", "https://rp.example/cb"),
        ("response_type", "code"),
        ("scope", "openid"),
    ];
    for (by, expected) in [
        (&it.with, StatusCode::CREATED),
        (&it.other, StatusCode::UNAUTHORIZED),
        (&it.without, StatusCode::UNAUTHORIZED),
    ] {
        let response = by.post(alias).form(&form).response().await;
        assert_eq!(response.status(), expected);
    }
}

/// On a server that receives no client certificates, each request for tokens would fail. So the settings that need one
/// are refused with the reason, and the list of the profiles has it, too.
#[tokio::test]
async fn a_server_without_certificates_refuses_settings_that_need_one() {
    const REASON: &str = "this server receives no client certificates";
    let host = TestHost::start_with_settings("[oidc.registration]\nenabled = true\n").await;
    let path = format!("/applications/{}", host.web_application().await.id);
    let member = "tls_client_certificate_bound_access_tokens";
    for change in [
        json!({member: true}),
        json!({member: true, "security_profile": "fapi-ciba"}),
        json!({"security_profile": "fapi-ciba"}),
    ] {
        let (status, problem) = host.admin(Method::PATCH, &path, change.clone()).await;
        let expected = StatusCode::UNPROCESSABLE_ENTITY;
        assert_eq!(status, expected, "{change}: {problem}");
        let text = problem["detail"].text();
        assert!(
            text.contains(REASON) && text.contains("http.mtls"),
            "{problem}"
        );
    }
    let unmet = async |host: &TestHost, path: &str| {
        let path = format!("{path}/profiles");
        let listed = host.admin_ok(Method::GET, &path, Value::Null).await;
        let items = listed["items"].as_array().cloned().unwrap_or_default();
        let mut profiles = items.iter();
        let ciba = profiles.find(|item| item["profile"] == "fapi-ciba");
        let rules = ciba.and_then(|ciba| ciba["unmet"].as_array().cloned());
        let mut rules = rules.unwrap_or_default().into_iter();
        rules
            .find(|rule| rule["member"] == member)
            .expect("an unmet rule")
    };
    let rule = unmet(&host, &path).await;
    assert_eq!(rule["is_settable"], json!(false), "{rule}");
    assert!(rule["obstacle"].text().contains(REASON), "{rule}");
    // A registration, and one with the profile of its token.
    let now = assent_model::clock::Clock::now(&*host.clock);
    let end = now + std::time::Duration::from_secs(86_400);
    let end = assent::domain::audit::moment_text(end);
    for (profile, metadata) in [
        (json!(null), json!({member: true})),
        (json!("fapi-ciba"), json!({})),
    ] {
        let token = json!({
            "name": "Partners", "expires_at": end, "quota": 10, "security_profile": profile,
        });
        let token = host
            .admin_ok(Method::POST, "/registration-tokens", token)
            .await;
        let mut body = json!({"client_name": "Books", "redirect_uris": ["https://rp.example/cb"]});
        body.members_mut().extend(metadata.members().clone());
        let request = crate::harness::http_client()
            .post(format!("{}/oidc/register", host.base))
            .bearer_auth(token["token"].text())
            .json(&body);
        let response = request.response().await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{profile}");
        let answer: Value = response.json().await.expect("JSON");
        assert_eq!(answer["error"], "invalid_client_metadata", "{answer}");
        let text = answer["error_description"].text();
        assert!(text.contains(REASON), "{answer}");
    }
    // A server with a listener for them permits both.
    let it = fixture().await;
    let (client, _) = it
        .application(json!({"token_endpoint_auth_method": "client_secret_post"}))
        .await;
    let path = format!("/applications/{client}");
    let rule = unmet(&it.host, &path).await;
    assert_eq!(
        (&rule["is_settable"], &rule["obstacle"]),
        (&json!(true), &Value::Null)
    );
    it.host
        .admin_ok(Method::PATCH, &path, json!({member: true}))
        .await;
}
