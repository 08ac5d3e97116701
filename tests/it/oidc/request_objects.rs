//! Request objects (RFC 9101). A test of a requirement of the OpenID suite has the name of its module.

mod modules;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use assent_model::clock::Clock;
use assent_test_macros::both_databases;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::join_all;
use josekit::jws::{PS256, RS256};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::pushed_requests::{address, expect_page, push_form};
use crate::harness::proof_key::ProofKey;
use crate::harness::{
    Browser, Database, EncodedKey, HostOptions, Json, Log, Page, Respond, TestHost, TestUser, Text,
    http_client, jwt_claims, rsa_key,
};

/// A host, a user, and an application with a key for request objects.
struct Fixture {
    host: TestHost,
    ada: TestUser,
    key: ProofKey,
}

async fn fixture_on(database: Database, settings: Value) -> Fixture {
    let host = TestHost::start_on(database).await;
    fixture_at(host, settings).await
}

async fn fixture_at(host: TestHost, settings: Value) -> Fixture {
    let (host, ada) = host.with_ada().await;
    let key = ProofKey::generate();
    let mut change = json!({"jwks": {"keys": [key.public()]}});
    change.members_mut().extend(settings.members().clone());
    let path = format!("/applications/{}", ada.application.id);
    host.admin_ok(Method::PATCH, &path, change).await;
    Fixture { host, ada, key }
}

async fn fixture(settings: Value) -> Fixture {
    fixture_on(Database::Sqlite, settings).await
}

impl Fixture {
    /// Returns the claims of a request object with these changes; null removes one.
    fn claims(&self, changes: &Value) -> Value {
        let now = self.host.clock.now().seconds();
        let client = &self.ada.application.id;
        let request = self.ada.application.request(&[]);
        let query = request.split_once('?').expect("a query").1;
        let mut claims = json!({
            "iss": client, "aud": self.host.issuer(), "nbf": now, "exp": now + 300,
        });
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            claims[&*name] = json!(value);
        }
        for (name, value) in changes.members() {
            claims[name] = value.clone();
        }
        claims.members_mut().retain(|_, value| !value.is_null());
        claims
    }

    /// Returns a request object with these changes, signed by this key.
    fn object_by(&self, key: &ProofKey, changes: Value) -> String {
        let header = json!({"alg": "ES256", "typ": "oauth-authz-req+jwt"});
        key.proof_with(&header, self.claims(&changes).members().clone())
    }

    fn object(&self, changes: Value) -> String {
        self.object_by(&self.key, changes)
    }

    /// Pushes these parameters.
    async fn push(&self, form: &[(&str, &str)]) -> (StatusCode, Value) {
        let form: Vec<(String, String)> = form
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        push_form(&self.host.base, &self.ada.application, &form).await
    }

    /// Pushes a request object. Returns the error.
    async fn refusal(&self, object: &str) -> String {
        let (status, answer) = self.push(&[("request", object)]).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
        answer["error"].text().to_owned()
    }

    /// Opens an authorization request with these parameters.
    async fn open(&self, browser: &Browser, parameters: &[(&str, &str)]) -> Page {
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("client_id", &self.ada.application.id)
            .extend_pairs(parameters)
            .finish();
        browser.get(&format!("/oidc/auth?{query}")).await
    }

    /// Signs the user in by this first page.
    async fn finish(&self, browser: &Browser, first: Page) -> Page {
        let waiting = first
            .followed()
            .await
            .submit_name(self.ada.user["name"].text())
            .await;
        self.ada.approve(&waiting).await;
        browser.finish(&waiting.url).await
    }
}

/// The request of a client that follows RFC 9101 has only `client_id` and `request`.
#[both_databases]
async fn a_request_object_by_value_signs_a_user_in(database: Database) {
    let it = fixture_on(database, json!({})).await;
    let browser = Browser::new(&it.host.base);
    let object = it.object(json!({"max_age": 600, "claims": {"id_token": {"acr": null}}}));
    let first = it.open(&browser, &[("request", &object)]).await;
    let page = it.finish(&browser, first).await;
    assert_eq!(page.parameter("state"), "st&te", "{database:?}");
    let code = page.parameter("code");
    let (status, tokens) = it.ada.application.exchange(&it.host.base, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {tokens}");
}

#[both_databases]
async fn a_pushed_request_object_signs_a_user_in(database: Database) {
    let it = fixture_on(database, json!({"require_signed_request_object": true})).await;
    let browser = Browser::new(&it.host.base);
    let (status, answer) = it.push(&[("request", &it.object(json!({})))]).await;
    assert_eq!(status, StatusCode::CREATED, "{answer}");
    let uri = address(&it.ada.application.id, answer["request_uri"].text());
    let page = it.finish(&browser, browser.get(&uri).await).await;
    assert_eq!(page.parameter("state"), "st&te", "{database:?}");
    assert!(!page.parameter("code").is_empty());
}

/// What stands beside the object has no effect.
#[tokio::test]
async fn parameters_beside_a_request_object_have_no_effect() {
    let it = fixture(json!({})).await;
    let browser = Browser::new(&it.host.base);
    let object = it.object(json!({"scope": "openid"}));
    let parameters = [
        ("scope", "openid groups"),
        ("redirect_uri", "https://elsewhere.example/cb"),
        ("response_type", "token"),
        ("code_challenge", "outside"),
        ("request", object.as_str()),
    ];
    let first = it.open(&browser, &parameters).await;
    let page = it.finish(&browser, first).await;
    let code = page.parameter("code");
    let (_, tokens) = it.ada.application.exchange(&it.host.base, &code, &[]).await;
    assert_eq!(tokens["scope"], "openid");
    // The form of the answer is the one in the object, too.
    for mode in ["form_post", "jwt", "form_post.jwt", "fragment"] {
        let parameters = [("response_mode", mode), ("request", object.as_str())];
        let page = it.open(&browser, &parameters).await;
        assert_eq!(page.parameter("state"), "st&te", "{mode}");
        assert!(!page.parameter("code").is_empty(), "{mode}");
    }
}

/// Each of these objects is refused at the endpoint for pushed requests with `invalid_request_object`.
#[tokio::test]
async fn a_request_object_that_breaks_a_rule_is_refused() {
    let it = fixture(json!({"require_signed_request_object": true})).await;
    let now = it.host.clock.now().seconds();
    let client = it.ada.application.id.clone();
    for (module, changes) in [
        ("no aud", json!({"aud": null})),
        (
            "an array of others",
            json!({"aud": ["https://other.example"]}),
        ),
        ("nbf in the future", json!({"nbf": now + 62})),
        ("iat in the future", json!({"iat": now + 62})),
        (
            "iss of another server",
            json!({"iss": "https://other.example"}),
        ),
        (
            "client_id of another client",
            json!({"client_id": "did:web:other.example"}),
        ),
        (
            "it could be an assertion",
            json!({"sub": client, "jti": "one"}),
        ),
        ("request inside", json!({"request": "eyJ"})),
        ("exp as text", json!({"exp": (now + 300).to_string()})),
    ] {
        let error = it.refusal(&it.object(changes)).await;
        assert_eq!(error, "invalid_request_object", "{module}");
    }
    // The parameters in it are checked as usual.
    for (changes, expected) in [
        (
            json!({"redirect_uri": "https://rp.example/unknown"}),
            "invalid_request",
        ),
        (
            json!({"response_type": "token"}),
            "unsupported_response_type",
        ),
        (json!({"code_challenge_method": "plain"}), "invalid_request"),
        (json!({"state": "x".repeat(2049)}), "invalid_request"),
    ] {
        let text = changes.to_string();
        assert_eq!(it.refusal(&it.object(changes)).await, expected, "{text}");
    }
}

#[tokio::test]
async fn a_request_object_with_another_signature_is_refused() {
    let it = fixture(json!({})).await;
    let claims = it.claims(&json!({})).members().clone();
    let part = |value: &Value| base64_of(value.to_string());
    let own = it.object(json!({}));
    let (signed, _) = own.rsplit_once('.').expect("a signature");
    let cut = signed.to_owned();
    let typed = |kind: &str| {
        let header = json!({"alg": "ES256", "typ": kind});
        it.key.proof_with(&header, claims.clone())
    };
    let named = it.key.proof_with(
        &json!({"alg": "ES256", "jwk": it.key.public(), "crit": ["b64"], "b64": true}),
        claims.clone(),
    );
    // A JWE in the compact form, and a signed JWT in a signed JWT.
    let encrypted = format!(
        "{}.AA.AA.AA.AA",
        part(&json!({"alg": "RSA-OAEP", "enc": "A256GCM"}))
    );
    let nested = it.key.proof_with(
        &json!({"alg": "ES256", "cty": "JWT"}),
        json!({"request": own}).members().clone(),
    );
    for (name, object) in [
        ("a signature that is missing", cut),
        ("a client assertion", typed("client-authentication+jwt")),
        ("a proof", typed("dpop+jwt")),
        ("an unknown crit", named),
        ("an encrypted object", encrypted),
        ("a nested object", nested),
        ("no JWT", "eyJ".to_owned()),
        ("another text", "ö..".to_owned()),
    ] {
        let error = it.refusal(&object).await;
        assert_eq!(error, "invalid_request_object", "{name}");
    }
    // At the authorization endpoint the application learns of it, if its address stands beside the object.
    let browser = Browser::new(&it.host.base);
    let beside = [
        ("request", "eyJ"),
        ("redirect_uri", "https://rp.example/cb"),
        ("state", "known"),
    ];
    let page = it.open(&browser, &beside).await;
    let plain = it.ada.application.request(&[("request", Some("eyJ"))]);
    let answer = browser.get(&plain).await;
    assert_eq!(answer.parameter("error"), "invalid_request_object");
    assert_eq!(answer.parameter("state"), "st&te");
    let reason = "the signature or its content is not valid";
    assert_eq!(page.parameter("state"), "known");
    expect_page(&it.open(&browser, &[("request", "eyJ")]).await, reason);
}

/// Objects of the basic plans of the OpenID suite have neither `exp` nor `nbf`. They are accepted where a plain request
/// is accepted, too.
#[tokio::test]
async fn an_object_without_times_is_accepted_where_plain_requests_are() {
    let it = fixture(json!({})).await;
    let changes = json!({"exp": null, "nbf": null, "aud": null, "iss": null});
    let object = it.object(changes.clone());
    let (status, answer) = it.push(&[("request", &object)]).await;
    assert_eq!(status, StatusCode::CREATED, "{answer}");
    let now = it.host.clock.now().seconds();
    let expired = it.object(json!({"exp": now - 1, "nbf": null}));
    assert_eq!(it.refusal(&expired).await, "invalid_request_object");
}

/// With `request_object_signing_alg` each other algorithm is rejected (OpenID Connect Dynamic Client Registration
/// section 2), and a profile permits only its own.
#[tokio::test]
async fn a_request_object_with_another_algorithm_than_the_fixed_one_is_refused() {
    let it = fixture(json!({"request_object_signing_alg": "PS256"})).await;
    let error = it.refusal(&it.object(json!({}))).await;
    assert_eq!(error, "invalid_request_object");
    let path = format!("/applications/{}", it.ada.application.id);
    for (algorithm, expected) in [
        (json!("ES256"), StatusCode::CREATED),
        (json!("ES384"), StatusCode::BAD_REQUEST),
        (Value::Null, StatusCode::CREATED),
    ] {
        let change = json!({"request_object_signing_alg": algorithm});
        it.host.admin_ok(Method::PATCH, &path, change).await;
        let (status, answer) = it.push(&[("request", &it.object(json!({})))]).await;
        assert_eq!(status, expected, "{algorithm}: {answer}");
    }
    for wrong in ["none", "HS256", "es256"] {
        let change = json!({"request_object_signing_alg": wrong});
        let (status, _) = it.host.admin(Method::PATCH, &path, change).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{wrong}");
    }
    let change = json!({
        "token_endpoint_auth_method": "private_key_jwt", "dpop_bound_access_tokens": true, "require_pkce": true,
        "require_pushed_authorization_requests": true, "id_token_signed_response_alg": "PS256",
        "request_object_signing_alg": "ES384", "security_profile": "fapi2",
    });
    let (status, problem) = it.host.admin(Method::PATCH, &path, change).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
    let pointer = &problem["errors"][0]["pointer"];
    assert_eq!(pointer, "/request_object_signing_alg", "{problem}");
}

/// An empty or repeated object is none.
#[tokio::test]
async fn an_empty_or_repeated_object_is_refused() {
    let it = fixture(json!({"require_signed_request_object": true})).await;
    for form in [
        vec![("request", "")],
        vec![("request", "eyJ"), ("request", "eyJ")],
        vec![("request", "eyJ"), ("request_uri", "https://rp.example/o")],
        vec![("request_uri", "https://rp.example/o")],
    ] {
        let (status, answer) = it.push(&form).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{form:?}: {answer}");
        assert_ne!(answer["error"], "invalid_client", "{form:?}");
    }
}

/// The settings need keys, and the keys of an application that authenticates with a secret verify only its requests.
#[tokio::test]
async fn the_keys_for_request_objects_are_a_setting_of_their_own() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let path = format!("/applications/{}", ada.application.id);
    let set = async |change: Value, expected| {
        let (status, body) = host.admin(Method::PATCH, &path, change).await;
        assert_eq!(status, expected, "{body}");
        body
    };
    let required = json!({"require_signed_request_object": true});
    let error = set(required.clone(), StatusCode::UNPROCESSABLE_ENTITY).await;
    assert!(error.to_string().contains("jwks"), "{error}");
    let key = ProofKey::generate();
    let keys = json!({"jwks": {"keys": [key.public()]}, "require_signed_request_object": true});
    let known = set(keys, StatusCode::OK).await;
    assert_eq!(known["token_endpoint_auth_method"], "client_secret_basic");
    assert_eq!(known["jwks"]["keys"][0]["x"], key.public()["x"]);
    let two = json!({"jwks": {"keys": [key.public()]}, "jwks_uri": "https://rp.example/keys"});
    set(two, StatusCode::UNPROCESSABLE_ENTITY).await;
    let removed = json!({"jwks": null});
    set(removed.clone(), StatusCode::UNPROCESSABLE_ENTITY).await;
    // The same keys may authenticate the application. Then it cannot lose them.
    let method = json!({"token_endpoint_auth_method": "private_key_jwt"});
    let known = set(method, StatusCode::OK).await;
    assert_eq!(known["jwks"]["keys"][0]["x"], key.public()["x"]);
    set(removed.clone(), StatusCode::UNPROCESSABLE_ENTITY).await;
    let method = json!({
        "token_endpoint_auth_method": "client_secret_basic", "require_signed_request_object": false,
    });
    assert_eq!(set(method, StatusCode::OK).await["jwks"], Value::Null);
    let keys = json!({"public_key": rsa_key().public_pem()});
    let known = set(keys, StatusCode::OK).await;
    assert_eq!(known["jwks"]["keys"][0]["kty"], "RSA");
    assert_eq!(set(removed, StatusCode::OK).await["jwks"], Value::Null);
}

/// Serves request objects at several addresses, and counts the requests.
async fn objects(object: String, count: Arc<AtomicUsize>) -> String {
    let large = "x".repeat(10 * 1024 * 1024);
    let router = axum::Router::new()
        .route(
            "/object",
            get(move || {
                count.fetch_add(1, Ordering::SeqCst);
                let object = object.clone();
                async move {
                    (
                        [("content-type", "application/oauth-authz-req+jwt")],
                        object,
                    )
                }
            }),
        )
        .route(
            "/moved",
            get(|| async { (StatusCode::FOUND, [(LOCATION, "/object")]).into_response() }),
        )
        .route("/large", get(move || async move { large }))
        .route(
            "/slow",
            get(|| async {
                tokio::time::sleep(Duration::from_secs(60)).await;
                ""
            }),
        );
    serve(router).await
}

/// Serves these routes. Returns the address.
async fn serve(router: axum::Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

/// A registered address that redirects, is slow, is 10 MB, or is not registered.
#[tokio::test]
async fn a_request_object_is_fetched_from_a_registered_address_only() {
    let options = HostOptions {
        settings: "[egress]\nallow_private_addresses = true\n",
        ..HostOptions::default()
    };
    let it = fixture_at(TestHost::start_with(options).await, json!({})).await;
    let count = Arc::new(AtomicUsize::new(0));
    let base = objects(it.object(json!({})), Arc::clone(&count)).await;
    let browser = Browser::new(&it.host.base);
    let uri = |path: &str| format!("{base}/{path}");
    let open = async |named: &str| {
        let request = it.ada.application.request(&[("request_uri", Some(named))]);
        browser.get(&request).await
    };
    let answer = open(&uri("object")).await;
    assert_eq!(answer.parameter("error"), "request_uri_not_supported");
    let path = format!("/applications/{}", it.ada.application.id);
    let addresses = ["object", "moved", "large", "slow"].map(uri);
    let change = json!({"request_uris": addresses});
    it.host.admin_ok(Method::PATCH, &path, change).await;
    for named in ["moved", "large", "slow", "object?x=1", "other"] {
        let answer = open(&uri(named)).await;
        assert_eq!(answer.parameter("error"), "invalid_request_uri", "{named}");
    }
    assert_eq!(count.load(Ordering::SeqCst), 0);
    // The fragment is the digest of the content in OpenID Connect Core section 6.2.
    let first = open(&uri("object#digest")).await;
    let page = it.finish(&browser, first).await;
    assert_eq!(page.parameter("state"), "st&te");
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

/// Concurrent visits of one address share a fetch. After a failure the address is fetched again only after a pause,
/// and the warning is logged once.
#[tokio::test]
async fn fetches_of_an_address_are_shared_and_pause_after_a_failure() {
    let options = HostOptions {
        settings: "[egress]\nallow_private_addresses = true\n",
        ..HostOptions::default()
    };
    let it = fixture_at(TestHost::start_with(options).await, json!({})).await;
    let (count, is_failing) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let object = it.object(json!({}));
    let state = (Arc::clone(&count), Arc::clone(&is_failing));
    let answer = move || {
        let (count, is_failing) = &state;
        count.fetch_add(1, Ordering::SeqCst);
        let status = match is_failing.load(Ordering::SeqCst) {
            true => StatusCode::INTERNAL_SERVER_ERROR,
            false => StatusCode::OK,
        };
        let object = object.clone();
        async move {
            tokio::time::sleep(Duration::from_millis(1500)).await;
            (status, object)
        }
    };
    let uri = format!(
        "{}/object",
        serve(axum::Router::new().route("/object", get(answer))).await
    );
    let path = format!("/applications/{}", it.ada.application.id);
    let change = json!({"request_uris": [&uri]});
    it.host.admin_ok(Method::PATCH, &path, change).await;
    let request = it.ada.application.request(&[("request_uri", Some(&uri))]);
    let browsers = [0; 5].map(|_| Browser::new(&it.host.base));
    let visits = async || join_all(browsers.iter().map(|browser| browser.get(&request))).await;
    let log = Log::capture();
    for answer in visits().await {
        assert!(
            answer.location().path().starts_with("/login"),
            "{}",
            answer.url
        );
    }
    assert_eq!(count.swap(0, Ordering::SeqCst), 1);
    is_failing.store(true, Ordering::SeqCst);
    for answer in visits().await.into_iter().chain(visits().await) {
        assert_eq!(answer.parameter("error"), "invalid_request_uri");
    }
    assert_eq!(count.swap(0, Ordering::SeqCst), 1);
    let message = "request object of an application not fetched";
    let warned = log
        .lines()
        .into_iter()
        .filter(|line| line.contains(message));
    assert_eq!(warned.count(), 1);
    is_failing.store(false, Ordering::SeqCst);
    it.host.advance(5);
    visits().await;
    assert_eq!(count.load(Ordering::SeqCst), 1, "after the pause");
}

/// An address on this machine is no address of an application, unless the operator permits it.
#[tokio::test]
async fn a_private_address_of_request_objects_is_refused() {
    let options = HostOptions {
        settings: "[egress]\nallow_private_addresses = false\n",
        ..HostOptions::default()
    };
    let (host, ada) = TestHost::start_with(options).await.with_ada().await;
    let path = format!("/applications/{}", ada.application.id);
    for uri in [
        "http://127.0.0.1/object",
        "https://127.0.0.1/object",
        "https://[::1]/object",
        "https://10.0.0.1/object",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https://user@rp.example/object",
        "not an address",
    ] {
        let change = json!({"request_uris": [uri]});
        let (status, body) = host.admin(Method::PATCH, &path, change).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{uri}: {body}");
    }
}

/// The server checks the address of a name at the call, because the name may resolve to another address by then.
#[tokio::test]
async fn a_request_uri_that_resolves_to_loopback_is_not_called() {
    let settings = "allow_insecure_redirect_uris = true\n";
    let it = fixture_at(TestHost::start_with_settings(settings).await, json!({})).await;
    let (listener, port) = crate::harness::listen().await;
    let uri = format!("https://localhost:{port}/object");
    let path = format!("/applications/{}", it.ada.application.id);
    let change = json!({"request_uris": [uri]});
    it.host.admin_ok(Method::PATCH, &path, change).await;
    let request = it.ada.application.request(&[("request_uri", Some(&uri))]);
    let page = Browser::new(&it.host.base).get(&request).await;
    assert_eq!(page.parameter("error"), "invalid_request_uri");
    let connection = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
    assert!(connection.is_err(), "no connection is opened");
}

/// Without a profile, an application may sign with RS256, as the dynamic plan of the OpenID suite does.
#[tokio::test]
async fn a_request_object_may_be_signed_with_rsa() {
    let settings = "[egress]\nallow_private_addresses = true\n";
    let it = fixture_at(TestHost::start_with_settings(settings).await, json!({})).await;
    let key = rsa_key();
    let path = format!("/applications/{}", it.ada.application.id);
    let change = json!({"public_key": key.public_pem()});
    it.host.admin_ok(Method::PATCH, &path, change).await;
    let sign = |algorithm: &str| {
        let claims = it.claims(&json!({}));
        let der = key.pkcs8_der();
        let signer: Box<dyn josekit::jws::JwsSigner> = match algorithm {
            "RS256" => Box::new(RS256.signer_from_der(der).expect("a signer")),
            _ => Box::new(PS256.signer_from_der(der).expect("a signer")),
        };
        let part = |value: &Value| base64_of(value.to_string());
        let message = format!("{}.{}", part(&json!({"alg": algorithm})), part(&claims));
        let signature = signer.sign(message.as_bytes()).expect("signed");
        format!("{message}.{}", base64_of(signature))
    };
    let status_of = async |algorithm: &str| {
        let (status, answer) = it.push(&[("request", &sign(algorithm))]).await;
        (status, answer["error"].clone())
    };
    let accepted = (StatusCode::CREATED, Value::Null);
    assert_eq!(status_of("RS256").await, accepted);
    assert_eq!(status_of("PS256").await, accepted);
    // `oidcc-request-uri-signed-rs256`: the same, by reference.
    let browser = Browser::new(&it.host.base);
    let count = Arc::new(AtomicUsize::new(0));
    let base = objects(sign("RS256"), Arc::clone(&count)).await;
    let uri = format!("{base}/object");
    let change = json!({"request_uris": [uri]});
    it.host.admin_ok(Method::PATCH, &path, change).await;
    let first = it.open(&browser, &[("request_uri", &uri)]).await;
    let page = it.finish(&browser, first).await;
    assert_eq!(page.parameter("state"), "st&te");
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

/// `Ed25519` is the name of EdDSA since RFC 9864. It is accepted for request objects, assertions and proofs alike.
#[tokio::test]
async fn the_new_name_of_eddsa_is_accepted() {
    let it = fixture(json!({})).await;
    let key = josekit::jws::EdDSA
        .generate_key_pair(josekit::jwk::alg::ed::EdCurve::Ed25519)
        .expect("a key");
    let public = josekit::jwk::KeyPair::to_jwk_public_key(&key);
    let member = |name: &str| public.parameter(name).cloned().unwrap_or_default();
    let public = json!({"kty": "OKP", "crv": "Ed25519", "x": member("x")});
    let signer =
        josekit::jws::EdDSA.signer_from_jwk(&josekit::jwk::KeyPair::to_jwk_private_key(&key));
    let signer = signer.expect("a signer");
    let sign = |header: &Value, claims: &Value| {
        let part = |value: &Value| base64_of(value.to_string());
        let message = format!("{}.{}", part(header), part(claims));
        let signature = josekit::jws::JwsSigner::sign(&signer, message.as_bytes());
        format!("{message}.{}", base64_of(signature.expect("signed")))
    };
    let path = format!("/applications/{}", it.ada.application.id);
    let change = json!({"jwks": {"keys": [public]}});
    it.host.admin_ok(Method::PATCH, &path, change).await;
    for (algorithm, expected) in [
        ("Ed25519", StatusCode::CREATED),
        ("EdDSA", StatusCode::CREATED),
        ("Ed448", StatusCode::BAD_REQUEST),
        ("ed25519", StatusCode::BAD_REQUEST),
    ] {
        let object = sign(&json!({"alg": algorithm}), &it.claims(&json!({})));
        let (status, answer) = it.push(&[("request", &object)]).await;
        assert_eq!(status, expected, "{algorithm}: {answer}");
    }
    let address = format!("{}/token", it.host.issuer());
    let proof = |algorithm: &str| {
        let claims = crate::harness::proof_key::claims(&it.host, "POST", &address, json!({}));
        let header = json!({"typ": "dpop+jwt", "alg": algorithm, "jwk": public});
        sign(&header, &Value::Object(claims))
    };
    // Another key does not have this algorithm.
    let of_ecdsa = it.key.proof_with(
        &json!({"typ": "dpop+jwt", "alg": "Ed25519", "jwk": it.key.public()}),
        crate::harness::proof_key::claims(&it.host, "POST", &address, json!({})),
    );
    for (proof, expected) in [
        (proof("Ed25519"), StatusCode::OK),
        (proof("EdDSA"), StatusCode::OK),
        (of_ecdsa, StatusCode::BAD_REQUEST),
    ] {
        let request = http_client()
            .post(format!("{}/oidc/token", it.host.base))
            .basic_auth(&it.ada.application.id, it.ada.application.secret.as_ref())
            .header("DPoP", proof)
            .form(&[("grant_type", "client_credentials")]);
        assert_eq!(request.response().await.status(), expected);
    }
}

fn base64_of(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A request object is no assertion of the client, and an assertion is no request object.
#[tokio::test]
async fn a_request_object_does_not_authenticate_the_client() {
    let it = fixture(json!({"token_endpoint_auth_method": "private_key_jwt"})).await;
    let form = [
        ("grant_type", "client_credentials".to_owned()),
        (
            "client_assertion_type",
            "urn:ietf:params:oauth:client-assertion-type:jwt-bearer".to_owned(),
        ),
        ("client_assertion", it.object(json!({"jti": "one"}))),
    ];
    let response = http_client()
        .post(format!("{}/oidc/token", it.host.base))
        .form(&form)
        .response()
        .await;
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
}
