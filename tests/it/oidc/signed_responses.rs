//! Responses in signed JWTs: of the authorization endpoint (JARM), UserInfo and introspection (RFC 9701).

use assent::keys::client;
use assent::keys::jws_verifier::ASYMMETRIC;
use assent_model::clock::Clock;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::{Method, StatusCode};
use serde_json::{Map, Value, json};

use crate::harness::{
    Browser, Page, Respond, TestHost, TestUser, Text, get, http_client, parse_json,
};

/// Returns the header of a JWT that a key of this server signed, and its claims.
async fn verified(host: &TestHost, token: &str) -> (Value, Map<String, Value>) {
    let set: Value = get(format!("{}/jwks", host.issuer()))
        .await
        .json()
        .await
        .expect("a key set");
    let keys = client::keys_of_set(&set).expect("keys");
    let claims = client::verify(token, &keys, &ASYMMETRIC).expect("a signature of this server");
    let header = token.split('.').next().unwrap_or_default();
    let header = URL_SAFE_NO_PAD.decode(header).expect("base64url");
    let header: Value = parse_json(header);
    assert!(set["keys"].to_string().contains(header["kid"].text()));
    (header, claims)
}

async fn set(host: &TestHost, user: &TestUser, change: Value) -> Value {
    let path = format!("/applications/{}", user.application.id);
    host.admin_ok(Method::PATCH, &path, change).await
}

/// Checks a response that arrived as `response` only. Returns its claims.
async fn response_in(host: &TestHost, user: &TestUser, token: &str) -> Map<String, Value> {
    let (header, claims) = verified(host, token).await;
    assert_eq!(header.get("typ"), None, "it is no ID token");
    assert_eq!(claims["iss"], host.issuer());
    assert_eq!(claims["aud"], user.application.id.as_str());
    assert_eq!(claims["state"], "st&te");
    let left = claims["exp"].as_i64().expect("a number") - host.clock.now().seconds();
    assert_eq!(left, 600);
    claims
}

fn only_response(page: &Page) -> String {
    let names: Vec<String> = page
        .location()
        .query_pairs()
        .map(|(name, _)| name.into_owned())
        .collect();
    assert_eq!(names, ["response"], "{}", page.location());
    page.parameter("response")
}

#[tokio::test]
async fn an_authorization_response_is_a_signed_jwt() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let browser = Browser::new(&host.base);
    for mode in ["jwt", "query.jwt"] {
        let mode = [("response_mode", Some(mode))];
        // The first sign-in is approved on the phone, the second uses its session.
        let page = match browser.get(&ada.application.request(&mode)).await {
            page if page.location().path().starts_with("/login/") => {
                let waiting = page
                    .followed()
                    .await
                    .submit_name(ada.user["name"].text())
                    .await;
                ada.approve(&waiting).await;
                browser.finish(&waiting.url).await
            }
            page => page,
        };
        let claims = response_in(&host, &ada, &only_response(&page)).await;
        let code = claims["code"].text();
        let (status, tokens) = ada.application.exchange(&host.base, code, &[]).await;
        assert_eq!(status, StatusCode::OK, "{tokens}");
    }
    let mode = [("response_mode", Some("form_post.jwt"))];
    let page = browser.get(&ada.application.request(&mode)).await;
    let response = page.field("response");
    assert!(!page.body.contains("name=\"code\"") && !page.body.contains("name=\"state\""));
    assert!(
        response_in(&host, &ada, &response)
            .await
            .contains_key("code")
    );
}

/// Errors come in the same form, except those of a request whose redirect URI is not known.
#[tokio::test]
async fn an_error_is_a_signed_jwt_too() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let browser = Browser::new(&host.base);
    let mode = ("response_mode", Some("jwt"));
    for (change, error) in [
        (("scope", Some("profile")), "invalid_scope"),
        (("prompt", Some("none")), "login_required"),
        (
            ("response_type", Some("token")),
            "unsupported_response_type",
        ),
    ] {
        let page = browser.get(&ada.application.request(&[mode, change])).await;
        let claims = response_in(&host, &ada, &only_response(&page)).await;
        assert_eq!(claims["error"], error);
        assert!(!claims["error_description"].text().is_empty());
    }
    let waiting = ada.begin_sign_in(&browser, &[mode]).await;
    let requests = ada.device.pending_requests(5).await;
    assert_eq!(ada.device.deny(&requests[0]).await, "denied");
    let page = browser.finish(&waiting.url).await.leave().await;
    let claims = response_in(&host, &ada, &only_response(&page)).await;
    assert_eq!(claims["error"], "access_denied");
    for unknown in ["fragment.jwt", "JWT", "query.JWT", "jwt.jwt"] {
        let mode = ("response_mode", Some(unknown));
        let page = browser.get(&ada.application.request(&[mode])).await;
        assert_eq!(page.parameter("error"), "invalid_request", "{unknown}");
    }
}

#[tokio::test]
async fn each_response_has_its_algorithm() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let browser = Browser::new(&host.base);
    let tokens = ada.tokens(&host, &browser).await;
    let token = tokens["access_token"].text();
    let authorization = async || {
        let page = browser
            .get(&ada.application.request(&[("response_mode", Some("jwt"))]))
            .await;
        verified(&host, &only_response(&page)).await.0["alg"].clone()
    };
    let introspection = async || {
        let (kind, body) = introspect(&host, &ada, token).await;
        assert_eq!(kind, "application/token-introspection+jwt");
        verified(&host, &body).await.0["alg"].clone()
    };
    assert_eq!(
        (authorization().await, introspection().await),
        (json!("RS256"), json!("RS256"))
    );
    let shown = set(
        &host,
        &ada,
        json!({"id_token_signed_response_alg": "PS256"}),
    )
    .await;
    assert!(shown["authorization_signed_response_alg"].is_null());
    assert_eq!(
        (authorization().await, introspection().await),
        (json!("PS256"), json!("PS256"))
    );
    let change = json!({
        "authorization_signed_response_alg": "RS256", "introspection_signed_response_alg": "RS256",
    });
    set(&host, &ada, change).await;
    assert_eq!(
        (authorization().await, introspection().await),
        (json!("RS256"), json!("RS256"))
    );
    for algorithm in ["ES256", "EdDSA"] {
        let change = json!({
            "authorization_signed_response_alg": algorithm,
            "introspection_signed_response_alg": algorithm,
        });
        set(&host, &ada, change).await;
        assert_eq!(
            (authorization().await, introspection().await),
            (json!(algorithm), json!(algorithm))
        );
    }
    let (status, problem) = host
        .admin(
            Method::PATCH,
            &format!("/applications/{}", ada.application.id),
            json!({"userinfo_signed_response_alg": "none"}),
        )
        .await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{problem}");
}

/// Mix-up (RFC 9207 section 1): the application believes that it talks to another server, and receives an answer of
/// this one. Each form of the answer names this server, and the other one does not accept its code.
#[tokio::test]
async fn a_mixed_up_answer_names_its_server() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let other = TestHost::start().await;
    let at_other = other.web_application().await;
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    for mode in ["query", "form_post", "jwt", "form_post.jwt"] {
        let page = browser
            .get(&ada.application.request(&[("response_mode", Some(mode))]))
            .await;
        let (issuer, audience, code) = match mode {
            "query" => (page.parameter("iss"), None, page.parameter("code")),
            "form_post" => (page.field("iss"), None, page.field("code")),
            signed => {
                let response = match signed {
                    "jwt" => only_response(&page),
                    _ => page.field("response"),
                };
                let (_, claims) = verified(&host, &response).await;
                let text = |name: &str| claims[name].text().to_owned();
                (text("iss"), Some(text("aud")), text("code"))
            }
        };
        assert_eq!(issuer, host.issuer(), "{mode}");
        assert_ne!(issuer, other.issuer(), "{mode}");
        if let Some(audience) = audience {
            assert_eq!(audience, ada.application.id, "{mode}");
            assert_ne!(audience, at_other.id, "{mode}");
        }
        let (status, error) = at_other.exchange(&other.base, &code, &[]).await;
        assert_eq!(
            (status, &error["error"]),
            (StatusCode::BAD_REQUEST, &json!("invalid_grant")),
            "{mode}"
        );
    }
    // Errors name it, too.
    let refused = [
        ("prompt", Some("none")),
        ("scope", Some("openid offline_access")),
    ];
    for mode in ["query", "jwt"] {
        let mut changes = refused.to_vec();
        changes.push(("response_mode", Some(mode)));
        let stranger = Browser::new(&host.base);
        let page = stranger.get(&ada.application.request(&changes)).await;
        let issuer = match mode {
            "query" => page.parameter("iss"),
            _ => verified(&host, &only_response(&page)).await.1["iss"]
                .text()
                .to_owned(),
        };
        assert_eq!(issuer, host.issuer(), "{mode}");
    }
}

#[tokio::test]
async fn userinfo_is_signed_by_setting() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let tokens = ada.tokens(&host, &Browser::new(&host.base)).await;
    let ask = async || {
        let request = http_client().get(format!("{}/oidc/me", host.base));
        let response = request
            .bearer_auth(tokens["access_token"].text())
            .response()
            .await;
        let kind = response.headers()["content-type"]
            .to_str()
            .expect("text")
            .to_owned();
        assert_eq!(response.headers()["cache-control"], "no-store");
        (kind, response.text().await.expect("a body"))
    };
    let (kind, plain) = ask().await;
    assert_eq!(kind, "application/json");
    for algorithm in ["RS256", "PS256"] {
        set(
            &host,
            &ada,
            json!({"userinfo_signed_response_alg": algorithm}),
        )
        .await;
        let (kind, signed) = ask().await;
        assert_eq!(kind, "application/jwt");
        let (header, mut claims) = verified(&host, &signed).await;
        assert_eq!(
            (&header["alg"], header.get("typ")),
            (&json!(algorithm), None)
        );
        assert_eq!(claims.remove("iss"), Some(json!(host.issuer())));
        assert_eq!(claims.remove("aud"), Some(json!(ada.application.id)));
        assert_eq!(Value::Object(claims), parse_json::<Value>(&plain));
        // It is no ID token: no request may use it as a hint.
        let browser = Browser::new(&host.base);
        let hint = [("id_token_hint", Some(signed.as_str()))];
        let page = browser.get(&ada.application.request(&hint)).await;
        assert_eq!(page.parameter("error"), "invalid_request");
    }
    set(&host, &ada, json!({"userinfo_signed_response_alg": null})).await;
    assert_eq!(ask().await.1, plain);
}

/// Asks about a token, and accepts a JWT. Returns the type of the response and its body.
async fn introspect(host: &TestHost, user: &TestUser, token: &str) -> (String, String) {
    let response = http_client()
        .post(format!("{}/oidc/token/introspection", host.base))
        .basic_auth(&user.application.id, user.application.secret.as_ref())
        .header("Accept", "application/token-introspection+jwt")
        .form(&[("token", token)])
        .response()
        .await;
    let kind = response.headers()["content-type"]
        .to_str()
        .expect("text")
        .to_owned();
    (kind, response.text().await.expect("a body"))
}

#[tokio::test]
async fn an_introspection_is_signed_for_an_application_that_accepts_it() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let tokens = ada.tokens(&host, &Browser::new(&host.base)).await;
    let token = tokens["access_token"].text();
    let (kind, signed) = introspect(&host, &ada, token).await;
    assert_eq!(kind, "application/token-introspection+jwt");
    let (header, claims) = verified(&host, &signed).await;
    assert_eq!(header["typ"], "token-introspection+jwt");
    assert_eq!(claims["iss"], host.issuer());
    assert_eq!(claims["aud"], ada.application.id.as_str());
    assert_eq!(claims["iat"], host.clock.now().seconds());
    assert_eq!(claims["token_introspection"]["active"], true);
    assert_eq!(
        claims["token_introspection"]["client_id"],
        ada.application.id.as_str()
    );
    let (_, unknown) = introspect(&host, &ada, "at_unknown").await;
    let (_, claims) = verified(&host, &unknown).await;
    assert_eq!(claims["token_introspection"], json!({"active": false}));
    // Errors stay JSON.
    let (kind, error) = introspect(&host, &ada, "").await;
    assert_eq!(kind, "application/json");
    assert!(error.contains("invalid_request"), "{error}");
}
