//! Tests of the demo with a small provider of their own, over real HTTP.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::routing::{get, post};
use axum::{Form, Json, Router};
use openidconnect::core::{CoreJwsSigningAlgorithm, CoreRsaPrivateSigningKey};
use openidconnect::{JsonWebKeyId, PrivateSigningKey};
use reqwest::header::{CONTENT_SECURITY_POLICY, COOKIE, LOCATION, SET_COOKIE};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use url::Url;

use crate::client_file::ClientFile;
use crate::pages::{FailedPage, SignedInPage};
use crate::relying_party::{RelyingParty, SignedIn};
use crate::web;

/// A provider that approves at once. Each test sets its responses.
struct Provider {
    issuer: String,
    /// Signs the ID tokens. The JWKS contains its public key.
    key: CoreRsaPrivateSigningKey,
    /// Signs the ID tokens instead of `key`.
    forger: Option<CoreRsaPrivateSigningKey>,
    /// The claims that replace those of a correct ID token.
    claims: Value,
    userinfo_subject: &'static str,
    /// The parameters of the authorization request.
    asked: Mutex<HashMap<String, String>>,
    /// The parameters of the token request.
    exchanged: Mutex<HashMap<String, String>>,
}

fn key() -> CoreRsaPrivateSigningKey {
    let pem = openssl::rsa::Rsa::generate(2048)
        .unwrap()
        .private_key_to_pem()
        .unwrap();
    CoreRsaPrivateSigningKey::from_pem(
        &String::from_utf8(pem).unwrap(),
        Some(JsonWebKeyId::new("1".into())),
    )
    .unwrap()
}

fn base64url(bytes: &[u8]) -> String {
    openssl::base64::encode_block(bytes)
        .replace('+', "-")
        .replace('/', "_")
        .trim_end_matches('=')
        .to_owned()
}

/// Returns a JWS in compact form (RFC 7515 section 3.1) with these claims.
fn signed(key: &CoreRsaPrivateSigningKey, claims: &Value) -> String {
    let header = json!({"alg": "RS256", "kid": "1", "typ": "JWT"}).to_string();
    let input = format!(
        "{}.{}",
        base64url(header.as_bytes()),
        base64url(claims.to_string().as_bytes())
    );
    let signature = key
        .sign(
            &CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
            input.as_bytes(),
        )
        .unwrap();
    format!("{input}.{}", base64url(&signature))
}

async fn discovery(State(provider): State<Arc<Provider>>) -> Json<Value> {
    let issuer = &provider.issuer;
    Json(json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/auth"),
        "token_endpoint": format!("{issuer}/token"),
        "userinfo_endpoint": format!("{issuer}/me"),
        "jwks_uri": format!("{issuer}/jwks"),
        "end_session_endpoint": format!("{issuer}/session/end"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
    }))
}

async fn jwks(State(provider): State<Arc<Provider>>) -> Json<Value> {
    Json(json!({"keys": [provider.key.as_verification_key()]}))
}

async fn token(
    State(provider): State<Arc<Provider>>,
    Form(form): Form<HashMap<String, String>>,
) -> Json<Value> {
    let asked = provider.asked.lock().unwrap().clone();
    let mut claims = json!({
        "iss": provider.issuer, "aud": asked["client_id"], "sub": "u-1", "nonce": asked["nonce"],
        "iat": 1_700_000_000, "exp": 4_000_000_000_u32, "auth_time": 1_700_000_000, "amr": ["swk", "user"],
        "sid": "s-1", "name": "Ada <b>Lovelace</b>", "account": r#"{"roles":["admin"]}"#,
    });
    claims
        .as_object_mut()
        .unwrap()
        .extend(provider.claims.as_object().unwrap().clone());
    *provider.exchanged.lock().unwrap() = form;
    let id_token = signed(provider.forger.as_ref().unwrap_or(&provider.key), &claims);
    Json(
        json!({"access_token": "at", "token_type": "Bearer", "expires_in": 3600, "id_token": id_token}),
    )
}

async fn userinfo(State(provider): State<Arc<Provider>>) -> Json<Value> {
    Json(json!({"sub": provider.userinfo_subject, "email": "ada@example.org", "upn": "ada"}))
}

/// The demo and its provider, each on its own port.
struct Scene {
    provider: Arc<Provider>,
    demo: String,
    http: reqwest::Client,
}

/// A page that a browser received.
struct Page {
    status: u16,
    location: Option<String>,
    cookie: Option<String>,
    text: String,
}

impl Scene {
    async fn new(change: impl FnOnce(&mut Provider)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut provider = Provider {
            issuer: format!("http://{}", listener.local_addr().unwrap()),
            key: key(),
            forger: None,
            claims: json!({}),
            userinfo_subject: "u-1",
            asked: Mutex::default(),
            exchanged: Mutex::default(),
        };
        change(&mut provider);
        let provider = Arc::new(provider);
        let routes = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/jwks", get(jwks))
            .route("/token", post(token))
            .route("/me", get(userinfo))
            .with_state(Arc::clone(&provider));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        let demo = serve_demo(&provider.issuer).await;
        Self {
            provider,
            demo,
            http: browser(),
        }
    }

    async fn get(&self, path: &str, cookie: Option<&str>) -> Page {
        get_page(&self.http, &format!("{}{path}", self.demo), cookie).await
    }

    /// Begins a sign-in. Returns the browser's cookie and the parameters of the authorization request.
    async fn begin(&self, path: &str) -> (String, HashMap<String, String>) {
        let page = self.get(path, None).await;
        assert_eq!(page.status, 303, "{}", page.text);
        let url: Url = page.location.unwrap().parse().unwrap();
        assert_eq!(url.path(), "/auth");
        let asked: HashMap<String, String> = url.query_pairs().into_owned().collect();
        *self.provider.asked.lock().unwrap() = asked.clone();
        (page.cookie.unwrap(), asked)
    }

    /// Runs a whole sign-in, or up to its failure.
    async fn sign_in(&self) -> Page {
        let (cookie, asked) = self.begin("/login").await;
        self.get(
            &format!("/callback?code=c-1&state={}", asked["state"]),
            Some(&cookie),
        )
        .await
    }

    /// Asserts that a sign-in fails and that the page contains the reason.
    async fn refused(&self, why: &str) {
        let page = self.sign_in().await;
        assert_eq!(page.status, 502);
        assert!(page.cookie.is_none());
        assert!(page.text.contains(why), "{}", page.text);
        assert!(page.text.contains("Try again"));
    }
}

fn browser() -> reqwest::Client {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap()
}

async fn serve_demo(issuer: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let demo = format!("http://{}", listener.local_addr().unwrap());
    let file = json!({"issuer": issuer, "client_id": "did:key:zDemo", "redirect_uri": format!("{demo}/callback"),
        "post_logout_redirect_uri": format!("{demo}/signed-out")});
    let relying_party = RelyingParty::new(ClientFile::parse(&file.to_string()).unwrap()).unwrap();
    tokio::spawn(async move { axum::serve(listener, web::router(relying_party)).await });
    demo
}

async fn get_page(http: &reqwest::Client, url: &str, cookie: Option<&str>) -> Page {
    let mut request = http.get(url);
    if let Some(cookie) = cookie {
        request = request.header(COOKIE, format!("theme=dark; {cookie}"));
    }
    let response = request.send().await.unwrap();
    let header = |name| {
        response
            .headers()
            .get(name)
            .map(|value| value.to_str().unwrap().to_owned())
    };
    Page {
        status: response.status().as_u16(),
        location: header(LOCATION),
        cookie: header(SET_COOKIE).map(|cookie| cookie.split(';').next().unwrap().to_owned()),
        text: response.text().await.unwrap(),
    }
}

#[tokio::test]
async fn a_user_signs_in_and_sees_every_claim_escaped() {
    let scene = Scene::new(|_| {}).await;
    let (cookie, asked) = scene.begin("/login").await;
    assert_eq!(asked["response_type"], "code");
    assert_eq!(asked["code_challenge_method"], "S256");
    assert_eq!(asked["scope"], "openid profile email");
    assert_eq!(asked["client_id"], "did:key:zDemo");
    assert!(!asked.contains_key("prompt"));

    let callback = format!(
        "/callback?code=c-1&state={}&iss={}",
        asked["state"], scene.provider.issuer
    );
    let answer = scene.get(&callback, Some(&cookie)).await;
    assert_eq!(
        (answer.status, answer.location.as_deref()),
        (303, Some("/")),
        "{}",
        answer.text
    );
    let session = answer.cookie.unwrap();
    assert_ne!(session, cookie);

    let exchanged = scene.provider.exchanged.lock().unwrap().clone();
    let challenge = base64url(&openssl::sha::sha256(exchanged["code_verifier"].as_bytes()));
    assert_eq!(challenge, asked["code_challenge"]);
    assert_eq!(
        exchanged["client_id"], "did:key:zDemo",
        "a public client names itself in the body"
    );

    let page = scene.get("/", Some(&session)).await.text;
    assert!(
        page.contains("Hello, Ada &#60;b&#62;Lovelace&#60;/b&#62;"),
        "{page}"
    );
    for claim in [
        "iss",
        "aud",
        "sub",
        "exp",
        "iat",
        "auth_time",
        "nonce",
        "amr",
        "sid",
        "name",
        "account",
    ] {
        assert_eq!(
            page.matches(&format!("data-claim=\"{claim}\"")).count(),
            1,
            "{claim} in {page}"
        );
    }
    assert!(
        page.contains("ada@example.org") && page.contains("&#34;upn&#34;: &#34;ada&#34;"),
        "{page}"
    );

    let again = scene.get(&callback, Some(&cookie)).await;
    assert_eq!(again.status, 400, "an answer counts once");
    let other_browser = scene.get("/", None).await;
    assert!(other_browser.text.contains("Sign in with your phone"));
}

#[tokio::test]
async fn a_fresh_sign_in_asks_for_a_login() {
    let scene = Scene::new(|_| {}).await;
    let (_, asked) = scene.begin("/login?prompt=login").await;
    assert_eq!(asked["prompt"], "login");
}

#[tokio::test]
async fn an_initiated_login_accepts_the_configured_issuer_only() {
    let scene = Scene::new(|_| {}).await;
    let issuer: String =
        url::form_urlencoded::byte_serialize(scene.provider.issuer.as_bytes()).collect();
    let (_, asked) = scene.begin(&format!("/login?iss={issuer}")).await;
    assert!(!asked.contains_key("prompt"));
    let refused = scene
        .get("/login?iss=https%3A%2F%2Fevil.example", None)
        .await;
    assert_eq!(refused.status, 400);
    assert!(
        refused.text.contains("another provider"),
        "{}",
        refused.text
    );
}

#[tokio::test]
async fn signing_out_everywhere_leads_to_the_provider_and_back() {
    let scene = Scene::new(|_| {}).await;
    let session = scene.sign_in().await.cookie.unwrap();
    let page = scene
        .http
        .get(&scene.demo)
        .header(COOKIE, &session)
        .send()
        .await
        .unwrap();
    let policy = page.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap();
    assert!(
        policy.contains(&format!("form-action 'self' {};", scene.provider.issuer)),
        "{policy}"
    );
    assert!(page.text().await.unwrap().contains("Sign out everywhere"));
    let post = async |site: &str| {
        let request = scene
            .http
            .post(format!("{}/sign-out-everywhere", scene.demo))
            .header(COOKIE, &session)
            .header("sec-fetch-site", site);
        request.send().await.unwrap()
    };
    let out = post("same-site").await;
    assert_eq!(out.headers()[LOCATION], "/", "a form of another program");
    let still = scene.get("/signed-out", Some(&session)).await;
    assert_eq!(
        still.location.as_deref(),
        Some("/"),
        "the browser is still signed in"
    );
    let out = post("same-origin").await;
    assert_eq!(out.status().as_u16(), 303);
    let url: Url = out.headers()[LOCATION].to_str().unwrap().parse().unwrap();
    assert_eq!(
        (url.origin().ascii_serialization(), url.path()),
        (scene.provider.issuer.clone(), "/session/end")
    );
    let sent: HashMap<String, String> = url.query_pairs().into_owned().collect();
    assert_eq!(
        sent["post_logout_redirect_uri"],
        format!("{}/signed-out", scene.demo)
    );
    assert_eq!(sent["id_token_hint"].split('.').count(), 3);
    let back = scene.get("/signed-out", Some(&session)).await;
    assert!(back.text.contains("You are signed out"), "{}", back.text);
    let start = scene.get("/", Some(&session)).await;
    assert!(start.text.contains("Sign in with your phone"));
}

#[tokio::test]
async fn sign_out_ends_the_session_of_the_browser() {
    let scene = Scene::new(|_| {}).await;
    let session = scene.sign_in().await.cookie.unwrap();
    assert!(
        scene
            .get("/", Some(&session))
            .await
            .text
            .contains("Hello, Ada")
    );
    let out = scene
        .http
        .post(format!("{}/sign-out", scene.demo))
        .header(COOKIE, &session)
        .send()
        .await
        .unwrap();
    assert_eq!(out.status().as_u16(), 303);
    assert!(
        scene
            .get("/", Some(&session))
            .await
            .text
            .contains("Sign in with your phone")
    );
}

#[tokio::test]
async fn a_response_for_another_browser_or_request_is_rejected() {
    let scene = Scene::new(|_| {}).await;
    let (cookie, asked) = scene.begin("/login").await;
    let wrong_state = scene
        .get("/callback?code=c-1&state=guessed", Some(&cookie))
        .await;
    assert_eq!(wrong_state.status, 400);
    let callback = format!("/callback?code=c-1&state={}", asked["state"]);
    assert_eq!(scene.get(&callback, None).await.status, 400);
    assert_eq!(
        scene
            .get(&callback, Some("assent_demo=guessed"))
            .await
            .status,
        400
    );
    let mixed_up = scene
        .get(
            &format!("{callback}&iss=https://evil.example"),
            Some(&cookie),
        )
        .await;
    assert_eq!(mixed_up.status, 400);
    assert!(
        mixed_up
            .text
            .contains("another provider, https://evil.example"),
        "{}",
        mixed_up.text
    );
    assert!(
        scene.provider.exchanged.lock().unwrap().is_empty(),
        "no code was exchanged"
    );
}

#[tokio::test]
async fn invalid_id_tokens_and_userinfo_are_rejected() {
    Scene::new(|provider| provider.forger = Some(key()))
        .await
        .refused("the ID token was rejected")
        .await;
    for claims in [
        json!({"iss": "https://evil.example"}),
        json!({"aud": "did:key:zOther"}),
        json!({"nonce": "stale"}),
        json!({"exp": 1_700_000_001}),
    ] {
        Scene::new(|provider| provider.claims = claims)
            .await
            .refused("the ID token was rejected")
            .await;
    }
    Scene::new(|provider| provider.userinfo_subject = "u-2")
        .await
        .refused("UserInfo")
        .await;
}

#[tokio::test]
async fn an_error_of_the_provider_is_explained_and_escaped() {
    let scene = Scene::new(|_| {}).await;
    let (cookie, asked) = scene.begin("/login").await;
    let callback = format!(
        "/callback?error=access_denied&error_description=%3Cscript%3E&state={}",
        asked["state"]
    );
    let page = scene.get(&callback, Some(&cookie)).await;
    assert!(
        page.text.contains("You were not signed in"),
        "{}",
        page.text
    );
    assert!(
        page.text
            .contains("<code id=\"error\">access_denied</code>")
    );
    assert!(page.text.contains("&#60;script&#62;") && !page.text.contains("<script>"));
}

#[tokio::test]
async fn an_unreachable_provider_is_named_in_the_error() {
    let unused = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let demo = serve_demo(&format!("http://{unused}")).await;
    let page = get_page(&browser(), &format!("{demo}/login"), None).await;
    assert_eq!(page.status, 502);
    assert!(
        page.text
            .contains(&format!("The provider http://{unused} did not answer")),
        "{}",
        page.text
    );
}

#[test]
fn the_registration_is_checked() {
    let file = |issuer: &str, client: &str, redirect: &str| {
        let text =
            json!({"issuer": issuer, "client_id": client, "redirect_uri": redirect}).to_string();
        ClientFile::parse(&text).map_err(|error| format!("{error:#}"))
    };
    let (issuer, loopback) = (
        "http://localhost:8080/oidc",
        "http://127.0.0.1:8081/callback",
    );
    let good = file(issuer, "did:key:z6Mk", loopback).unwrap();
    assert_eq!(good.listen_address().unwrap(), "127.0.0.1:8081");
    assert_eq!(good.origin(), "http://127.0.0.1:8081");
    let elsewhere = json!({"issuer": issuer, "client_id": "did:key:z6Mk", "redirect_uri": loopback,
        "post_logout_redirect_uri": "http://127.0.0.1:8082/signed-out"});
    let error = ClientFile::parse(&elsewhere.to_string()).unwrap_err();
    assert!(
        format!("{error:#}").contains("path /signed-out"),
        "{error:#}"
    );
    for (issuer, client, redirect, why) in [
        ("localhost:8080", "did:key:z6Mk", loopback, "issuer is"),
        (issuer, "", loopback, "client_id is empty"),
        (
            issuer,
            "did:key:z6Mk",
            "https://app.example/callback",
            "listens only on this machine",
        ),
        (
            issuer,
            "did:key:z6Mk",
            "http://127.0.0.1:8081/login",
            "path /callback",
        ),
    ] {
        let error = file(issuer, client, redirect).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
    assert!(
        format!("{:#}", ClientFile::parse("{}").unwrap_err()).contains("missing field `issuer`")
    );
}

#[test]
fn claims_are_shown_unchanged_and_embedded_json_is_decoded() {
    let claims = json!({"upn": "ada", "sub": "u-1", "account": r#"{"roles":["admin"]}"#, "amr": ["swk"], "website": "12"});
    let Value::Object(id_token) = claims else {
        unreachable!()
    };
    let page = SignedInPage::new(&SignedIn {
        id_token,
        userinfo: None,
        sign_out: None,
    });
    assert_eq!(page.who, "ada");
    let row = |name: &str| page.claims.iter().find(|claim| claim.name == name).unwrap();
    assert_eq!(row("amr").value, r#"["swk"]"#);
    assert_eq!(row("account").value, r#"{"roles":["admin"]}"#);
    assert_eq!(
        row("account").decoded.as_deref(),
        Some("{\n  \"roles\": [\n    \"admin\"\n  ]\n}")
    );
    assert_eq!(
        row("website").decoded,
        None,
        "a number in a string stays a string"
    );

    let nameless = SignedInPage::new(&SignedIn {
        id_token: Map::new(),
        userinfo: None,
        sign_out: None,
    });
    assert_eq!(nameless.who, "someone without a name");
}

#[test]
fn error_codes_have_their_own_titles() {
    assert_eq!(
        FailedPage::of_response("access_denied", None).title,
        "You were not signed in"
    );
    assert_eq!(
        FailedPage::of_response("login_required", None).title,
        "You are not signed in yet"
    );
    assert_eq!(
        FailedPage::of_response("server_error", None).title,
        "The sign-in is not available"
    );
    assert_eq!(
        FailedPage::of_response("invalid_scope", None).title,
        "The sign-in failed"
    );
}
