//! Client authentication: each method, and credentials that the server must reject.

mod authorities;
mod key_sets;
mod receipts;
mod registration;
mod replaced_certificates;
mod secrets;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use assent_model::clock::Clock;
use axum::routing::get;
use josekit::jwk::Jwk;
use josekit::jws::{ES256, HS256, JwsHeader, JwsSigner, PS256, RS256};
use josekit::jwt::{self, JwtPayload};
use openssl::pkey::{PKey, Private};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::tls::{certificate_of, client, mtls_settings};
use crate::harness::{
    Body, EncodedCertificate, EncodedKey, HostOptions, Json, Respond, TestHost, Text, http_client,
    id, locked, read_bytes, rsa_key, utf8,
};

const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Creates a web application with these settings. Returns the response of the admin API.
async fn application(host: &TestHost, settings: Value) -> Value {
    let mut body = json!({"name": "Books", "application_type": "web", "redirect_uris": ["https://rp.example/cb"]});
    let members = settings.members().clone();
    body.members_mut().extend(members);
    host.admin_ok(Method::POST, "/applications", body).await
}

async fn secret_of(host: &TestHost, application: &Value) -> String {
    let path = format!("/applications/{}/secret/rotate", id(application));
    let answer = host.admin_ok(Method::POST, &path, Value::Null).await;
    answer["client_secret"].text().to_owned()
}

/// Requests a token by client credentials with these members. Returns the status, and the error or an empty text.
async fn ask(host: &TestHost, form: &[(&str, &str)]) -> (u16, String) {
    let form: Vec<_> = [("grant_type", "client_credentials")]
        .iter()
        .chain(form)
        .collect();
    let response = http_client()
        .post(format!("{}/oidc/token", host.base))
        .form(&form)
        .response()
        .await;
    let status = response.status().as_u16();
    let body: Value = response.read_json().await;
    (
        status,
        body["error"].as_str().unwrap_or_default().to_owned(),
    )
}

fn accepted() -> (u16, String) {
    (200, String::new())
}

fn refused() -> (u16, String) {
    (401, "invalid_client".to_owned())
}

fn rsa() -> PKey<Private> {
    rsa_key()
}

fn pem(key: &PKey<Private>) -> String {
    key.public_pem()
}

/// Returns the claims of a valid assertion of this client. `n` makes the `jti` unique.
fn claims(host: &TestHost, client: &str, n: usize) -> Value {
    let now = host.clock.now().seconds();
    json!({"iss": client, "sub": client, "aud": host.issuer(), "exp": now + 60, "iat": now, "jti": format!("id-{n}")})
}

fn sign(claims: &Value, header: Value, signer: &dyn JwsSigner) -> String {
    let mut head = JwsHeader::from_map(header.members().clone()).expect("a header");
    head.set_token_type("JWT");
    let payload = JwtPayload::from_map(claims.members().clone()).expect("a payload");
    jwt::encode_with_signer(&payload, &head, signer).expect("signed")
}

fn by_rsa(claims: &Value, key: &PKey<Private>) -> String {
    let der = key.pkcs8_der();
    sign(
        claims,
        json!({}),
        &RS256.signer_from_der(der).expect("a signer"),
    )
}

async fn ask_with(host: &TestHost, assertion: &str) -> (u16, String) {
    ask(
        host,
        &[
            ("client_assertion_type", ASSERTION),
            ("client_assertion", assertion),
        ],
    )
    .await
}

#[tokio::test]
async fn client_secret_post_and_no_other_method() {
    let host = TestHost::start().await;
    let post = application(
        &host,
        json!({"token_endpoint_auth_method": "client_secret_post"}),
    )
    .await;
    let secret = secret_of(&host, &post).await;
    assert_eq!(
        ask(
            &host,
            &[("client_id", id(&post)), ("client_secret", &secret)]
        )
        .await,
        accepted()
    );
    assert_eq!(
        ask(
            &host,
            &[("client_id", id(&post)), ("client_secret", "wrong")]
        )
        .await,
        refused()
    );
    assert_eq!(ask(&host, &[("client_id", id(&post))]).await, refused());
    let request = http_client()
        .post(format!("{}/oidc/token", host.base))
        .form(&[("grant_type", "client_credentials")]);
    let by_header = request
        .basic_auth(id(&post), Some(&secret))
        .response()
        .await;
    assert_eq!(by_header.status(), StatusCode::UNAUTHORIZED);
    // The reverse case.
    let basic = application(&host, json!({})).await;
    let secret = secret_of(&host, &basic).await;
    assert_eq!(
        ask(
            &host,
            &[("client_id", id(&basic)), ("client_secret", &secret)]
        )
        .await,
        refused()
    );
}

/// Sends a request about a token with HTTP Basic. As in Spring Security, both parts are form-urlencoded. Returns the
/// status and the body.
async fn by_basic(
    host: &TestHost,
    path: &str,
    client: &str,
    secret: &str,
    form: &[(&str, &str)],
) -> (u16, Value) {
    let encoded =
        |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let form: Vec<_> = [("token", "unknown")].iter().chain(form).collect();
    let request = http_client()
        .post(format!("{}/oidc{path}", host.base))
        .form(&form);
    let response = request
        .basic_auth(encoded(client), Some(encoded(secret)))
        .response()
        .await;
    let status = response.status().as_u16();
    (status, response.json().await.unwrap_or_default())
}

#[tokio::test]
async fn introspection_and_revocation_accept_basic_from_each_application_with_a_secret() {
    let host = TestHost::start().await;
    for method in [
        "client_secret_basic",
        "client_secret_post",
        "client_secret_jwt",
    ] {
        let web = application(&host, json!({"token_endpoint_auth_method": method})).await;
        let (client, secret) = (id(&web), secret_of(&host, &web).await);
        let inactive = json!({"active": false});
        assert_eq!(
            by_basic(&host, "/token/introspection", client, &secret, &[]).await,
            (200, inactive),
            "{method}"
        );
        assert_eq!(
            by_basic(&host, "/token/revocation", client, &secret, &[])
                .await
                .0,
            200,
            "{method}"
        );
        for path in ["/token/introspection", "/token/revocation"] {
            for wrong in ["", "wrong"] {
                let (status, answer) = by_basic(&host, path, client, wrong, &[]).await;
                assert_eq!(
                    (status, &answer["error"]),
                    (401, &json!("invalid_client")),
                    "{method} {path}"
                );
            }
            // Two authentication methods at once.
            let both = [("client_id", client), ("client_secret", secret.as_str())];
            let (status, answer) = by_basic(&host, path, client, &secret, &both).await;
            assert_eq!(
                (status, &answer["error"]),
                (400, &json!("invalid_request")),
                "{method} {path}"
            );
        }
        // The token endpoint accepts only the application's own method.
        let form = [("grant_type", "client_credentials")];
        let expected = if method == "client_secret_basic" {
            200
        } else {
            401
        };
        assert_eq!(
            by_basic(&host, "/token", client, &secret, &form).await.0,
            expected,
            "{method}"
        );
    }
    // No password is valid for an application without a secret.
    let key = json!({"token_endpoint_auth_method": "private_key_jwt", "public_key": pem(&rsa())});
    let web = application(&host, key).await;
    assert_eq!(
        by_basic(&host, "/token/introspection", id(&web), "", &[])
            .await
            .0,
        401
    );
}

#[tokio::test]
async fn client_secret_jwt_with_the_secret_of_the_method_change() {
    let host = TestHost::start().await;
    let web = application(&host, json!({})).await;
    let old = secret_of(&host, &web).await;
    let path = format!("/applications/{}", id(&web));
    let changed = host
        .admin_ok(
            Method::PATCH,
            &path,
            json!({"token_endpoint_auth_method": "client_secret_jwt"}),
        )
        .await;
    let secret = changed["client_secret"].text().to_owned();
    assert!(
        host.admin_ok(Method::GET, &path, Value::Null).await["client_secret"].is_null(),
        "it is shown once"
    );
    let by = |claims: &Value, secret: &str| {
        sign(
            claims,
            json!({}),
            &HS256.signer_from_bytes(secret).expect("a signer"),
        )
    };
    assert_eq!(
        ask_with(&host, &by(&claims(&host, id(&web), 1), &secret)).await,
        accepted()
    );
    assert_eq!(
        ask_with(&host, &by(&claims(&host, id(&web), 2), &old)).await,
        refused()
    );
    assert_eq!(
        ask(
            &host,
            &[("client_id", id(&web)), ("client_secret", &secret)]
        )
        .await,
        refused()
    );
    // A new secret ends the previous one.
    let newer = secret_of(&host, &web).await;
    assert_eq!(
        ask_with(&host, &by(&claims(&host, id(&web), 3), &secret)).await,
        refused()
    );
    assert_eq!(
        ask_with(&host, &by(&claims(&host, id(&web), 4), &newer)).await,
        accepted()
    );
    // Other changes of the application do not affect the secret.
    host.admin_ok(Method::PATCH, &path, json!({"name": "Other"}))
        .await;
    assert_eq!(
        ask_with(&host, &by(&claims(&host, id(&web), 5), &newer)).await,
        accepted()
    );
    // The database does not contain the secret in plain text.
    let database = read_bytes(host.folder().join("assent.db"));
    let wal = std::fs::read(host.folder().join("assent.db-wal")).unwrap_or_default();
    assert!(![database, wal].iter().any(|file| {
        file.windows(newer.len())
            .any(|part| part == newer.as_bytes())
    }));
}

#[tokio::test]
async fn private_key_jwt_with_each_key_format() {
    let host = TestHost::start().await;
    let key = rsa();
    let jwk = |key: &PKey<Private>| {
        let pair = josekit::jwk::KeyPair::to_jwk_public_key(
            &josekit::jwk::alg::rsa::RsaKeyPair::from_der(key.pkcs8_der()).expect("a pair"),
        );
        serde_json::to_value(pair.as_ref()).expect("JSON")
    };
    let (certificate, certified) = certificate_of("books");
    let certificate = certificate.pem();
    for (n, (form, key)) in [
        (json!({"public_key": pem(&key)}), &key),
        (json!({"jwks": {"keys": [jwk(&rsa()), jwk(&key)]}}), &key),
        (json!({"certificate": certificate}), &certified),
    ]
    .into_iter()
    .enumerate()
    {
        let mut settings = form.clone();
        settings["token_endpoint_auth_method"] = json!("private_key_jwt");
        let web = application(&host, settings).await;
        assert_eq!(
            ask_with(&host, &by_rsa(&claims(&host, id(&web), n), key)).await,
            accepted(),
            "{form}"
        );
        let der = key.pkcs8_der();
        let pss = sign(
            &claims(&host, id(&web), n + 10),
            json!({}),
            &PS256.signer_from_der(der).expect("a signer"),
        );
        assert_eq!(ask_with(&host, &pss).await, accepted(), "{form}");
        assert_eq!(
            ask_with(&host, &by_rsa(&claims(&host, id(&web), n + 20), &rsa())).await,
            refused(),
            "{form}"
        );
    }
    let pair = josekit::jwk::alg::ec::EcKeyPair::generate(josekit::jwk::alg::ec::EcCurve::P256)
        .expect("a key");
    let public = utf8(pair.to_pem_public_key());
    let settings = json!({"token_endpoint_auth_method": "private_key_jwt", "public_key": public});
    let web = application(&host, settings).await;
    let signer = ES256
        .signer_from_jwk(&josekit::jwk::KeyPair::to_jwk_private_key(&pair))
        .expect("a signer");
    assert_eq!(
        ask_with(
            &host,
            &sign(&claims(&host, id(&web), 30), json!({}), &signer)
        )
        .await,
        accepted()
    );
}

#[tokio::test]
async fn private_key_jwt_with_fetched_and_rotated_keys() {
    let settings = "allow_insecure_redirect_uris = true\n[egress]\nallow_private_addresses = true";
    let host = TestHost::start_with_settings(settings).await;
    let set = |key: &PKey<Private>| {
        let pair = josekit::jwk::alg::rsa::RsaKeyPair::from_der(key.pkcs8_der()).expect("a pair");
        let jwk: Jwk = josekit::jwk::KeyPair::to_jwk_public_key(&pair);
        json!({"keys": [jwk.as_ref()]}).to_string()
    };
    let (old, new) = (rsa(), rsa());
    let served = Arc::new(std::sync::Mutex::new(set(&old)));
    let fetches = Arc::new(AtomicUsize::new(0));
    let router = axum::Router::new().route(
        "/jwks",
        get({
            let (served, fetches) = (Arc::clone(&served), Arc::clone(&fetches));
            move || {
                fetches.fetch_add(1, Ordering::SeqCst);
                std::future::ready(locked(&served).clone())
            }
        }),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let uri = format!(
        "http://localhost:{}/jwks",
        listener.local_addr().expect("an address").port()
    );
    tokio::spawn(async move { axum::serve(listener, router).await });
    let web = application(
        &host,
        json!({"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": uri}),
    )
    .await;
    for n in 0..3 {
        assert_eq!(
            ask_with(&host, &by_rsa(&claims(&host, id(&web), n), &old)).await,
            accepted()
        );
    }
    assert_eq!(
        fetches.load(Ordering::SeqCst),
        1,
        "the key set is cached for a while"
    );
    *locked(&served) = set(&new);
    assert_eq!(
        ask_with(&host, &by_rsa(&claims(&host, id(&web), 3), &new)).await,
        refused()
    );
    assert_eq!(
        fetches.load(Ordering::SeqCst),
        1,
        "an invalid signature causes no immediate request"
    );
    host.advance(11);
    assert_eq!(
        ask_with(&host, &by_rsa(&claims(&host, id(&web), 4), &new)).await,
        accepted()
    );
    assert_eq!(
        ask_with(&host, &by_rsa(&claims(&host, id(&web), 5), &old)).await,
        refused()
    );
    assert_eq!(fetches.load(Ordering::SeqCst), 2);
    // Invalid signatures cause one fetch, however many arrive at once. A failed fetch does not remove the known keys.
    *locked(&served) = "no keys today".to_owned();
    host.advance(11);
    let mut strangers = tokio::task::JoinSet::new();
    for n in 0..10 {
        let form = [
            ("grant_type", "client_credentials".to_owned()),
            ("client_assertion_type", ASSERTION.to_owned()),
            (
                "client_assertion",
                by_rsa(&claims(&host, id(&web), 100 + n), &old),
            ),
        ];
        let url = format!("{}/oidc/token", host.base);
        strangers.spawn(async move {
            http_client()
                .post(url)
                .form(&form)
                .response()
                .await
                .status()
        });
    }
    assert!(
        strangers
            .join_all()
            .await
            .iter()
            .all(|status| *status == StatusCode::UNAUTHORIZED)
    );
    assert_eq!(fetches.load(Ordering::SeqCst), 3);
    assert_eq!(
        ask_with(&host, &by_rsa(&claims(&host, id(&web), 6), &new)).await,
        accepted()
    );
}

#[tokio::test]
async fn a_private_jwks_uri_is_not_called() {
    let host = TestHost::start_with_settings("allow_insecure_redirect_uris = true").await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    // The server checks the address of a name at the call, because the name may resolve to another address by then.
    let uri = format!(
        "https://localhost:{}/jwks",
        listener.local_addr().expect("an address").port()
    );
    let web = application(
        &host,
        json!({"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": uri}),
    )
    .await;
    assert_eq!(
        ask_with(&host, &by_rsa(&claims(&host, id(&web), 1), &rsa())).await,
        refused()
    );
    let connection =
        tokio::time::timeout(std::time::Duration::from_millis(50), listener.accept()).await;
    assert!(connection.is_err(), "no connection is opened");
}

#[tokio::test]
async fn invalid_client_assertions_are_rejected() {
    let host = TestHost::start().await;
    let key = rsa();
    let settings =
        json!({"token_endpoint_auth_method": "private_key_jwt", "public_key": pem(&key)});
    let (web, other) = (
        application(&host, settings.clone()).await,
        application(&host, settings).await,
    );
    let now = host.clock.now().seconds();
    for (n, (claim, value)) in [
        ("aud", json!("https://other.example")),
        ("aud", json!([host.issuer()])),
        ("aud", Value::Null),
        ("exp", json!(now)),
        ("exp", json!(now - 1)),
        ("exp", json!(now + 301)),
        ("exp", Value::Null),
        ("nbf", json!(now + 120)),
        ("iat", json!(now + 120)),
        ("jti", Value::Null),
        ("jti", json!("")),
        ("jti", json!("x".repeat(300))),
        ("iss", json!(id(&other))),
        ("sub", json!(id(&other))),
        ("iss", Value::Null),
    ]
    .into_iter()
    .enumerate()
    {
        let mut claims = claims(&host, id(&web), n);
        match value {
            Value::Null => _ = claims.members_mut().remove(claim),
            value => claims[claim] = value,
        }
        assert_eq!(
            ask_with(&host, &by_rsa(&claims, &key)).await,
            refused(),
            "{claims}"
        );
    }
}

#[tokio::test]
async fn a_client_assertion_is_valid_once_on_all_instances() {
    let host = TestHost::start().await;
    let key = rsa();
    let settings =
        json!({"token_endpoint_auth_method": "private_key_jwt", "public_key": pem(&key)});
    let (web, other) = (
        application(&host, settings.clone()).await,
        application(&host, settings).await,
    );
    let assertion = by_rsa(&claims(&host, id(&web), 1), &key);
    assert_eq!(ask_with(&host, &assertion).await, accepted());
    assert_eq!(ask_with(&host, &assertion).await, refused());
    let options = HostOptions {
        base_url: &host.base,
        ..HostOptions::default()
    };
    let (_second, running, base) = host.second(options).await;
    let form = [
        ("grant_type", "client_credentials"),
        ("client_assertion_type", ASSERTION),
        ("client_assertion", &assertion),
    ];
    let answer = http_client()
        .post(format!("{base}/oidc/token"))
        .form(&form)
        .response()
        .await;
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    running.stop().await;
    // The same `jti` in another assertion is a replay. Another client may use the same value.
    let mut again = claims(&host, id(&web), 1);
    again["exp"] = json!(host.clock.now().seconds() + 200);
    assert_eq!(ask_with(&host, &by_rsa(&again, &key)).await, refused());
    assert_eq!(
        ask_with(&host, &by_rsa(&claims(&host, id(&other), 1), &key)).await,
        accepted()
    );
}

/// A program that opens the address does not authenticate the client.
#[tokio::test]
async fn an_address_with_a_client_assertion_spends_nothing() {
    let host = TestHost::start().await;
    let key = rsa();
    let settings =
        json!({"token_endpoint_auth_method": "private_key_jwt", "public_key": pem(&key)});
    let web = application(&host, settings).await;
    let assertion = by_rsa(&claims(&host, id(&web), 1), &key);
    let address = format!(
        "{}/oidc/token?grant_type=client_credentials&client_assertion_type={ASSERTION}&client_assertion={assertion}",
        host.base
    );
    let opened = http_client().get(address).response().await;
    assert_eq!(opened.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(ask_with(&host, &assertion).await, accepted());
}

#[tokio::test]
async fn a_client_assertion_signed_with_the_key_of_another_registered_client_is_rejected() {
    let host = TestHost::start().await;
    let mut clients = Vec::new();
    for _ in 0..2 {
        let key = rsa();
        let settings =
            json!({"token_endpoint_auth_method": "private_key_jwt", "public_key": pem(&key)});
        clients.push((id(&application(&host, settings).await).to_owned(), key));
    }
    let [(first, first_key), (second, second_key)] = &clients[..] else {
        unreachable!("two clients")
    };
    for (n, (client, other_key, own_key)) in [
        (first, second_key, first_key),
        (second, first_key, second_key),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(
            ask_with(&host, &by_rsa(&claims(&host, client, n), other_key)).await,
            refused()
        );
        // The rejected assertion did not use up its `jti`.
        assert_eq!(
            ask_with(&host, &by_rsa(&claims(&host, client, n), own_key)).await,
            accepted()
        );
    }
    // The id of the other client, with an assertion that is valid for the signer.
    let assertion = by_rsa(&claims(&host, first, 10), first_key);
    let form = [
        ("client_id", second.as_str()),
        ("client_assertion_type", ASSERTION),
        ("client_assertion", &assertion),
    ];
    let (status, error) = ask(&host, &form).await;
    assert!(
        matches!(
            (status, error.as_str()),
            (401, "invalid_client") | (400, "invalid_request")
        ),
        "{status} {error}"
    );
}

#[tokio::test]
async fn client_assertions_with_forged_headers_are_rejected() {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let host = TestHost::start().await;
    let key = rsa();
    let public = pem(&key);
    let settings = json!({"token_endpoint_auth_method": "private_key_jwt", "public_key": public});
    let web = application(&host, settings).await;
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    // The algorithm `none`.
    for alg in ["none", "None", ""] {
        let unsigned = format!(
            "{}.{}.",
            part(&json!({"alg": alg})),
            part(&claims(&host, id(&web), 1))
        );
        assert_eq!(ask_with(&host, &unsigned).await, refused(), "{alg}");
    }
    // HS256 keyed with the public key, in each encoding that an attacker may use as the secret.
    let der = key.public_key_to_der().expect("DER");
    for (n, secret) in [public.as_bytes(), public.trim().as_bytes(), &der]
        .into_iter()
        .enumerate()
    {
        let signer = HS256.signer_from_bytes(secret).expect("a signer");
        assert_eq!(
            ask_with(
                &host,
                &sign(&claims(&host, id(&web), 10 + n), json!({}), &signer)
            )
            .await,
            refused()
        );
    }
    // A key that the header contains or refers to.
    let (forger, der) = (rsa(), |key: &PKey<Private>| key.pkcs8_der());
    let pair = josekit::jwk::alg::rsa::RsaKeyPair::from_der(der(&forger)).expect("a pair");
    let jwk: Jwk = josekit::jwk::KeyPair::to_jwk_public_key(&pair);
    for (n, header) in [
        json!({"jwk": jwk.as_ref()}),
        json!({"jku": "https://evil.example/jwks"}),
        json!({"x5u": "https://evil.example/cert"}),
        json!({"kid": "../../../../dev/null"}),
        json!({"kid": "' OR 1=1 --"}),
    ]
    .into_iter()
    .enumerate()
    {
        let signer = RS256.signer_from_der(der(&forger)).expect("a signer");
        let forged = sign(&claims(&host, id(&web), 20 + n), header.clone(), &signer);
        assert_eq!(ask_with(&host, &forged).await, refused(), "{header}");
    }
    // An unknown extension invalidates even a valid signature.
    let head = part(&json!({"alg": "RS256", "crit": ["b64x"], "b64x": true}));
    let body = part(&claims(&host, id(&web), 40));
    let mut signer =
        openssl::sign::Signer::new(openssl::hash::MessageDigest::sha256(), &key).expect("a signer");
    let signature = signer
        .sign_oneshot_to_vec(format!("{head}.{body}").as_bytes())
        .expect("signed");
    let critical = format!("{head}.{body}.{}", URL_SAFE_NO_PAD.encode(signature));
    assert_eq!(ask_with(&host, &critical).await, refused());
    for nonsense in [
        "",
        ".",
        "..",
        "a.b.c",
        "\u{0}.\u{0}.\u{0}",
        &"x".repeat(7000),
    ] {
        let (status, error) = ask_with(&host, nonsense).await;
        assert!(
            status == 400 || status == 401,
            "{nonsense}: {status} {error}"
        );
    }
}
