//! Attacks on the registration endpoint.

use std::time::Duration;

use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{ENABLED, fixture, fixture_with, metadata, send};
use crate::harness::{Application, Browser, Database, Json, ProofKey, Text, http_client, listen};

/// Without an initial access token no application registers itself.
#[tokio::test]
async fn a_registration_needs_an_initial_access_token() {
    let it = fixture().await;
    let url = format!("{}/oidc/register", it.host.base);
    let client = it.registered(json!({})).await;
    let body = metadata(&json!({}));
    let post = || http_client().post(&url).json(&body);
    for request in [
        post(),
        post().basic_auth("client", Some(&it.token)),
        post().header("authorization", format!("DPoP {}", it.token)),
        post().bearer_auth(""),
        post().bearer_auth("x"),
        post().bearer_auth(it.token.replace("ia_", "am_")),
        post().bearer_auth(format!("{}x", it.token)),
        post().bearer_auth(&it.host.token),
        post().bearer_auth(client["registration_access_token"].text()),
        http_client()
            .post(format!("{url}?access_token={}", it.token))
            .json(&body),
    ] {
        let response = request.send().await.expect("a response");
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        let challenge = response.headers()["www-authenticate"].text();
        assert!(challenge.starts_with("Bearer"), "{challenge}");
        let answer: Value = response.json().await.expect("JSON");
        assert_eq!(answer["error"], "invalid_token");
    }
}

/// `oidcc-redirect-uri-regfrag`, and redirect URIs of every other odd kind.
#[tokio::test]
async fn oidcc_redirect_uri_regfrag() {
    let it = fixture().await;
    for uri in [
        json!("https://rp.example/cb#fragment"),
        json!("https://rp.example/cb#"),
        json!("http://rp.example/cb"),
        json!("javascript:alert(1)"),
        json!("data:text/html,x"),
        json!("https://user:secret@rp.example/cb"),
        json!("https://*.rp.example/cb"),
        json!("//rp.example/cb"),
        json!("/cb"),
        json!(""),
        json!("https://rp.example/\r\nSet-Cookie: x"),
        json!(7),
        json!(null),
        json!(["https://rp.example/cb"]),
    ] {
        let changes = json!({"redirect_uris": ["https://rp.example/ok", uri]});
        assert_eq!(it.refusal(changes).await, "invalid_redirect_uri", "{uri}");
    }
    for uris in [
        json!([]),
        json!({}),
        json!("https://rp.example/cb"),
        json!(null),
    ] {
        let changes = json!({"redirect_uris": uris});
        assert_eq!(it.refusal(changes).await, "invalid_redirect_uri", "{uris}");
    }
    let many: Vec<String> = (0..51)
        .map(|at| format!("https://rp.example/{at}"))
        .collect();
    let changes = json!({"redirect_uris": many});
    assert_eq!(it.refusal(changes).await, "invalid_redirect_uri");
}

/// Redirect URIs that only look like one of a permitted host.
#[tokio::test]
async fn redirect_uris_that_resemble_a_permitted_host_are_rejected() {
    let values = json!({"redirect_hosts": ["rp.example"]});
    let it = fixture_with(Database::Sqlite, ENABLED, values).await;
    for uri in [
        "https://rp.example.evil.example/cb",
        "https://evilrp.example/cb",
        "https://sub.rp.example/cb",
        "https://rp.example./cb",
        "https://evil.example/rp.example/cb",
        "https://evil.example/?https://rp.example/cb",
        "https://evil.example#@rp.example/cb",
        "https://rp.example@evil.example/cb",
        "https://rp.example:443@evil.example/cb",
        "https://rp.example%2eevil.example/cb",
        "https://rp.example%252eevil.example/cb",
        "https://evil.example%2f@rp.example/cb",
        "https://evil.example\\@rp.example/cb",
        "https://evil.example\\.rp.example/cb",
        "https://rp.example\u{ff0e}evil.example/cb",
        "https:evil.example/cb",
        "https:///evil.example/cb",
    ] {
        let changes = json!({"redirect_uris": ["https://rp.example/cb", uri]});
        assert_eq!(it.refusal(changes).await, "invalid_redirect_uri", "{uri}");
    }
}

/// A redirect URI of a request is the text of a registered one: neither dots nor encodings lead from one to another.
#[tokio::test]
async fn paths_with_dots_and_double_encodings_are_other_redirect_uris() {
    let it = fixture().await;
    let odd = [
        "https://rp.example/x/../cb",
        "https://rp.example/./cb",
        "https://rp.example/cb/..",
        "https://rp.example/x/%2e%2e/cb",
        "https://rp.example/x/%252e%252e/cb",
        "https://rp.example/%63b",
        "https://rp.example/cb%2f..",
        "https://rp.example//cb",
    ];
    let open = async |client: &Value, uri: &str| {
        let application = Application {
            id: client["client_id"].text().to_owned(),
            secret: None,
            redirect_uri: uri.to_owned(),
        };
        let browser = Browser::new(&it.host.base);
        browser.get(&application.request(&[])).await.status
    };
    let plain = it.registered(json!({})).await;
    assert_eq!(
        open(&plain, "https://rp.example/cb").await,
        StatusCode::SEE_OTHER
    );
    for uri in odd {
        assert_eq!(open(&plain, uri).await, StatusCode::BAD_REQUEST, "{uri}");
        let changes = json!({"redirect_uris": [uri]});
        let (status, client) = it.register(changes).await;
        if status == StatusCode::BAD_REQUEST {
            assert_eq!(client["error"], "invalid_redirect_uri", "{uri}");
            continue;
        }
        assert_eq!(client["redirect_uris"], json!([uri]));
        assert_eq!(
            open(&client, "https://rp.example/cb").await,
            StatusCode::BAD_REQUEST,
            "{uri}"
        );
    }
}

/// The server checks the address of a name at the call, because the name may resolve to another address by then.
#[tokio::test]
async fn a_jwks_uri_that_resolves_to_loopback_is_not_called() {
    let settings = format!("{ENABLED}[egress]\nallow_private_addresses = false\n");
    let it = fixture_with(Database::Sqlite, &settings, json!({})).await;
    let (listener, port) = listen().await;
    let client = it
        .registered(json!({
            "token_endpoint_auth_method": "private_key_jwt",
            "jwks_uri": format!("https://localhost:{port}/jwks"),
        }))
        .await;
    let now = assent_model::clock::Clock::now(&*it.host.clock).seconds();
    let id = &client["client_id"];
    let claims = json!({
        "iss": id, "sub": id, "aud": it.host.issuer(), "exp": now + 60, "iat": now, "jti": "one",
    });
    let header = json!({"alg": "ES256"});
    let assertion = ProofKey::generate().proof_with(&header, claims.members().clone());
    let form = [
        ("grant_type", "authorization_code"),
        ("code", "ac_unknown"),
        (
            "client_assertion_type",
            "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        ),
        ("client_assertion", &assertion),
    ];
    let request = http_client().post(format!("{}/oidc/token", it.host.base));
    let (status, answer) = send(request.form(&form)).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED, "{answer}");
    assert_eq!(answer["error"], "invalid_client");
    let connection = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
    assert!(connection.is_err(), "no connection is opened");
}

/// The server sends no request to a private address.
#[tokio::test]
async fn addresses_on_private_networks_are_rejected() {
    let settings = format!("{ENABLED}[egress]\nallow_private_addresses = false\n");
    let it = fixture_with(Database::Sqlite, &settings, json!({})).await;
    let addresses = [
        "http://127.0.0.1/x",
        "https://127.0.0.1/x",
        "https://[::1]/x",
        "https://10.0.0.1/x",
        "https://169.254.169.254/latest",
        "https://localhost:1/x",
        "file:///etc/passwd",
        "not an address",
    ];
    for address in addresses {
        for member in ["sector_identifier_uri", "logo_uri"] {
            let error = it.refusal(json!({member: address})).await;
            assert_eq!(error, "invalid_client_metadata", "{member} {address}");
        }
        // The name of a host is resolved when its address is called.
        if address.contains("localhost") {
            continue;
        }
        for changes in [
            json!({"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": address}),
            json!({"backchannel_logout_uri": address}),
            json!({"request_uris": [address]}),
        ] {
            let error = it.refusal(changes.clone()).await;
            assert_eq!(error, "invalid_client_metadata", "{changes}");
        }
    }
}

/// Metadata of an application that would have rights of administrators, or other types.
#[tokio::test]
async fn a_registration_has_no_right_of_administrators() {
    let it = fixture().await;
    for changes in [
        json!({"scope": "openid admin:read"}),
        json!({"scope": "openid users:write"}),
        json!({"scope": "email"}),
        json!({"grant_types": ["client_credentials"]}),
        json!({"grant_types": ["authorization_code", "client_credentials"]}),
        json!({"grant_types": ["implicit"]}),
        json!({"grant_types": []}),
        json!({"grant_types": "authorization_code"}),
        json!({"response_types": ["token"]}),
        json!({"response_types": ["code", "id_token"]}),
        json!({"token_endpoint_auth_method": "tls_client_certificate"}),
        json!({"token_endpoint_auth_method": "tls_client_auth"}),
        json!({"token_endpoint_auth_method": "self_signed_tls_client_auth"}),
        json!({"token_endpoint_auth_method": "magic"}),
        json!({"token_endpoint_auth_method": "private_key_jwt"}),
        json!({"application_type": "spa"}),
        json!({"application_type": "native", "token_endpoint_auth_method": "client_secret_basic"}),
        json!({"id_token_signed_response_alg": "none"}),
        json!({"userinfo_signed_response_alg": "HS256"}),
        json!({"request_object_signing_alg": "none"}),
        json!({"subject_type": "private"}),
        json!({"client_name": "x".repeat(121)}),
        json!({"client_name": "Bo\u{202e}oks"}),
        json!({"client_name": "Books\u{0}"}),
        json!({"client_name": 7}),
        json!({"jwks": {"keys": []}, "jwks_uri": "https://rp.example/jwks"}),
        json!({"require_signed_request_object": true}),
        json!({"frontchannel_logout_uri": "https://evil.example/out"}),
        json!({"initiate_login_uri": "http://rp.example/start"}),
    ] {
        let error = it.refusal(changes.clone()).await;
        assert_eq!(error, "invalid_client_metadata", "{changes}");
    }
    // Other members of the admin API are unknown, and ignored.
    let client = it
        .registered(json!({
            "admin_scopes": ["admin:read"], "consent": "implied", "passkey_sign_in": true,
            "id": "did:key:x", "client_id": "did:key:x", "client_secret": "chosen",
            "managed_by": {"owner": "ops", "key": "books"}, "recipe": "grafana",
        }))
        .await;
    assert_ne!(client["client_id"], "did:key:x");
    assert_ne!(client["client_secret"], "chosen");
    let own = it.application(&client).await;
    assert_eq!(own["admin_scopes"], json!([]));
    assert_eq!(own["consent"], "ask");
    assert_eq!(own["passkey_sign_in"], json!(false));
    assert_eq!(own["recipe"], json!(null));
    assert!(own.get("managed_by").is_none(), "{own}");
}

/// Bodies that are too large or too deep, or no JSON object.
#[tokio::test]
async fn bodies_are_bounded() {
    let it = fixture().await;
    let url = format!("{}/oidc/register", it.host.base);
    let post = |body: String| {
        let request = http_client().post(&url).bearer_auth(&it.token);
        request.header(CONTENT_TYPE, "application/json").body(body)
    };
    let deep = |depth: usize| {
        let value = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        format!("{{\"redirect_uris\": [\"https://rp.example/cb\"], \"unknown\": {value}}}")
    };
    for body in [
        String::new(),
        "[]".to_owned(),
        "null".to_owned(),
        "{".to_owned(),
        "{} {}".to_owned(),
        deep(20),
        deep(5_000),
    ] {
        let (status, answer) = send(post(body)).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
        assert_eq!(answer["error"], "invalid_client_metadata");
    }
    let (status, _) = send(post(deep(8))).await;
    assert_eq!(status, StatusCode::CREATED);
    let (status, answer) = send(post(format!("{{\"x\": \"{}\"}}", "x".repeat(66_000)))).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE, "{answer}");
    let form = http_client().post(&url).bearer_auth(&it.token);
    let (status, answer) = send(form.form(&[("client_name", "x")])).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    assert_eq!(answer["error"], "invalid_client_metadata");
    let (status, answer) = send(http_client().get(&url)).await;
    assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED, "{answer}");
}

/// 10,000 registrations of one holder of a token end at its quota, and store nothing beyond it.
#[tokio::test]
async fn many_registrations_end_at_the_quota() {
    let it = fixture_with(Database::Sqlite, ENABLED, json!({"quota": 20})).await;
    let mut created = 0;
    for _ in 0..200 {
        match it.register(json!({})).await.0 {
            StatusCode::CREATED => created += 1,
            status => assert_eq!(status, StatusCode::FORBIDDEN),
        }
    }
    assert_eq!(created, 20);
    let path = "/applications?limit=200";
    let listed = it.host.admin_ok(Method::GET, path, Value::Null).await;
    let registered = listed["items"].as_array().expect("a list").iter();
    let own = registered.filter(|item| item["registered_by"]["token_name"] == "Partners");
    assert_eq!(own.count(), 20);
}

/// An outage of the database can be retried.
#[tokio::test]
async fn an_outage_is_retryable() {
    let it = fixture().await;
    let client = it.registered(json!({})).await;
    it.host.host.store.close().await;
    let (status, answer) = it.register(json!({})).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{answer}");
    assert_eq!(answer["error"], "temporarily_unavailable");
    let (status, answer) = it.call(Method::GET, &client, Value::Null).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{answer}");
}

/// The calls of one network are limited, as at the other endpoints for applications.
#[tokio::test]
async fn calls_of_a_network_are_limited() {
    let settings = format!(
        "{ENABLED}[rate_limits]\ntoken_requests_per_ip = {{ per_minute = 1, burst = 3 }}\n"
    );
    let it = fixture_with(Database::Sqlite, &settings, json!({})).await;
    for expected in [
        StatusCode::UNAUTHORIZED,
        StatusCode::UNAUTHORIZED,
        StatusCode::UNAUTHORIZED,
        StatusCode::TOO_MANY_REQUESTS,
    ] {
        let (status, answer) = it.register_with("ia_unknown", json!({})).await;
        assert_eq!(status, expected, "{answer}");
    }
}
