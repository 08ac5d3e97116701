//! Proofs of possession (DPoP, RFC 9449). A test of a requirement of the OpenID suite has the name of its module.

mod instances;
mod negative;
mod nonces;

use assent_test_macros::both_databases;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use crate::harness::proof_key::digest;
use crate::harness::{
    Application, Browser, Database, HostOptions, ProofKey, Respond, TestHost, Text, VERIFIER,
    http_client,
};

/// Sends a request for tokens with these `DPoP` headers.
async fn ask(
    base: &str,
    application: &Application,
    form: &[(&str, &str)],
    proofs: &[&str],
) -> (StatusCode, Value) {
    let mut request = http_client().post(format!("{base}/oidc/token"));
    for proof in proofs {
        request = request.header("DPoP", *proof);
    }
    let mut form = form.to_vec();
    match &application.secret {
        Some(secret) => request = request.basic_auth(&application.id, Some(secret)),
        None => form.push(("client_id", &application.id)),
    }
    let response = request.form(&form).response().await;
    (response.status(), response.json().await.unwrap_or_default())
}

/// Exchanges a code.
async fn exchange(
    base: &str,
    application: &Application,
    code: &str,
    proofs: &[&str],
) -> (StatusCode, Value) {
    let form = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", &application.redirect_uri),
        ("code_verifier", VERIFIER),
    ];
    ask(base, application, &form, proofs).await
}

async fn refresh(
    base: &str,
    application: &Application,
    token: &str,
    proofs: &[&str],
) -> (StatusCode, Value) {
    let form = [("grant_type", "refresh_token"), ("refresh_token", token)];
    ask(base, application, &form, proofs).await
}

/// Pushes a request with these changes and these `DPoP` headers.
async fn push(
    base: &str,
    application: &Application,
    changes: &[(&str, Option<&str>)],
    proofs: &[&str],
) -> (StatusCode, Value) {
    let request = application.request(changes);
    let query = request.split_once('?').expect("a query").1.to_owned();
    let mut request = http_client()
        .post(format!("{base}/oidc/par"))
        .basic_auth(&application.id, application.secret.as_ref())
        .header("Content-Type", "application/x-www-form-urlencoded");
    for proof in proofs {
        request = request.header("DPoP", *proof);
    }
    let response = request.body(query).response().await;
    (response.status(), response.json().await.unwrap_or_default())
}

fn pushed_requests(host: &TestHost) -> String {
    format!("{}/par", host.issuer())
}

fn userinfo(host: &TestHost) -> String {
    format!("{}/me", host.issuer())
}

fn token_endpoint(host: &TestHost) -> String {
    format!("{}/token", host.issuer())
}

/// Asks UserInfo with this authorization and these proofs. Returns the status, the error and the challenge.
async fn me(base: &str, authorization: &str, proofs: &[&str]) -> (StatusCode, String, String) {
    let mut request = http_client()
        .get(format!("{base}/oidc/me"))
        .header("Authorization", authorization);
    for proof in proofs {
        request = request.header("DPoP", *proof);
    }
    outcome(request).await
}

async fn outcome(request: RequestBuilder) -> (StatusCode, String, String) {
    let response = request.response().await;
    let challenge = response.headers().get("www-authenticate");
    let challenge = challenge
        .and_then(|text| text.to_str().ok())
        .unwrap_or_default()
        .to_owned();
    let status = response.status();
    let body: Value = response.json().await.unwrap_or_default();
    (
        status,
        body["error"].as_str().unwrap_or_default().to_owned(),
        challenge,
    )
}

fn refused(answer: &(StatusCode, Value), error: &str) {
    assert_eq!(
        (answer.0, &answer.1["error"]),
        (StatusCode::BAD_REQUEST, &json!(error)),
        "{}",
        answer.1
    );
}

#[both_databases]
async fn tokens_of_every_grant_are_bound_to_the_key(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let (browser, key) = (Browser::new(&host.base), ProofKey::generate());
    let at_token = async || key.proof(&host, "POST", &token_endpoint(&host), json!({}));
    let offline = [
        ("scope", Some("openid offline_access")),
        ("prompt", Some("consent")),
    ];
    let code = ada.sign_in_with(&browser, &offline).await;
    let (status, tokens) =
        exchange(&host.base, &ada.application, &code, &[&at_token().await]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    assert_eq!(tokens["token_type"], "DPoP");
    let refreshed = tokens["refresh_token"].text();
    let (status, fresh) = refresh(
        &host.base,
        &ada.application,
        refreshed,
        &[&at_token().await],
    )
    .await;
    assert_eq!(status, StatusCode::OK, "{fresh}");
    let own = [("grant_type", "client_credentials")];
    let (status, own) = ask(&host.base, &ada.application, &own, &[&at_token().await]).await;
    assert_eq!(status, StatusCode::OK, "{own}");
    for tokens in [&tokens, &fresh, &own] {
        assert_eq!(tokens["token_type"], "DPoP", "{database:?}");
        let form = [("token", tokens["access_token"].text())];
        let request = http_client().post(format!("{}/oidc/token/introspection", host.base));
        let request = request.basic_auth(&ada.application.id, ada.application.secret.as_ref());
        let shown: Value = request
            .form(&form)
            .response()
            .await
            .json()
            .await
            .expect("a body");
        assert_eq!(shown["cnf"], json!({"jkt": key.thumbprint()}), "{shown}");
        assert_eq!(shown["token_type"], "DPoP");
    }
    let token = fresh["access_token"].text();
    let proof = key.proof_with_token(&host, "GET", &userinfo(&host), token);
    let (status, ..) = me(&host.base, &format!("DPoP {token}"), &[&proof]).await;
    assert_eq!(status, StatusCode::OK, "{database:?}");
    // Without a proof, tokens stay bearer tokens.
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let (_, tokens) = exchange(&host.base, &ada.application, &code, &[]).await;
    assert_eq!(tokens["token_type"], "Bearer");
}

/// Returns a host, a bound token of Ada, and its key.
async fn bound_token() -> (TestHost, ProofKey, String) {
    let host = TestHost::start().await;
    let (key, token) = bound_token_of(&host).await;
    (host, key, token)
}

/// Returns the key of a bound token of Ada at this host, and the token.
async fn bound_token_of(host: &TestHost) -> (ProofKey, String) {
    let ada = host.ada().await;
    let key = ProofKey::generate();
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let proof = key.proof(host, "POST", &token_endpoint(host), json!({}));
    let (_, tokens) = exchange(&host.base, &ada.application, &code, &[&proof]).await;
    let token = tokens["access_token"].text().to_owned();
    (key, token)
}

#[tokio::test]
async fn access_token_type_header_case_sensitivity() {
    let (host, key, token) = bound_token().await;
    for scheme in ["DPoP", "dpop", "dPoP", "dPOP", "DPOP"] {
        let proof = key.proof_with_token(&host, "GET", &userinfo(&host), &token);
        let (status, ..) = me(&host.base, &format!("{scheme} {token}"), &[&proof]).await;
        assert_eq!(status, StatusCode::OK, "{scheme}");
    }
    let bob = host
        .user_with_account("bob", host.web_application().await)
        .await;
    let tokens = bob.tokens(&host, &Browser::new(&host.base)).await;
    let unbound = tokens["access_token"].text();
    for scheme in ["Bearer", "bearer", "bEARER", "BEARER"] {
        let (status, ..) = me(&host.base, &format!("{scheme} {unbound}"), &[]).await;
        assert_eq!(status, StatusCode::OK, "{scheme}");
    }
}

/// A stolen token is useless without its key.
#[tokio::test]
async fn a_bound_token_is_no_bearer_token() {
    let (host, key, token) = bound_token().await;
    let proof = || key.proof_with_token(&host, "GET", &userinfo(&host), &token);
    for (authorization, proofs, error) in [
        (format!("Bearer {token}"), vec![], "invalid_token"),
        (format!("Bearer {token}"), vec![proof()], "invalid_token"),
        (format!("DPoP {token}"), vec![], "invalid_dpop_proof"),
        (
            format!("DPoP {token}"),
            vec![proof(), proof()],
            "invalid_dpop_proof",
        ),
        ("DPoP at_unknown".to_owned(), vec![proof()], "invalid_token"),
    ] {
        let proofs: Vec<&str> = proofs.iter().map(String::as_str).collect();
        let (status, found, challenge) = me(&host.base, &authorization, &proofs).await;
        assert_eq!(
            (status, found.as_str()),
            (StatusCode::UNAUTHORIZED, error),
            "{authorization}"
        );
        let scheme = authorization.split(' ').next().unwrap_or_default();
        assert!(challenge.starts_with(scheme), "{challenge}");
    }
    let form = [("access_token", token.as_str())];
    let request = http_client()
        .post(format!("{}/oidc/me", host.base))
        .form(&form);
    let (status, error, _) = outcome(request.header("DPoP", proof())).await;
    assert_eq!(
        (status, error.as_str()),
        (StatusCode::UNAUTHORIZED, "invalid_token")
    );
    // A request without a token learns both schemes.
    let response = http_client()
        .get(format!("{}/oidc/me", host.base))
        .response()
        .await;
    let challenges: Vec<_> = response
        .headers()
        .get_all("www-authenticate")
        .iter()
        .collect();
    assert_eq!(
        challenges,
        ["Bearer", "DPoP algs=\"ES256 PS256 EdDSA ES384 ES512\""]
    );
}

/// Further claims and members, and addresses that name the same resource, are accepted.
#[tokio::test]
async fn check_dpop_proof_nbf_exp() {
    let (host, key, token) = bound_token().await;
    let now = assent_model::clock::Clock::now(&*host.clock).seconds();
    let address = userinfo(&host);
    let upper = address.replace("http://localhost", "HTTP://LOCALHOST");
    for changes in [
        json!({"nbf": now, "exp": now + 60}),
        json!({"more": {"of": ["anything"]}}),
        json!({"htu": format!("{address}?query#fragment")}),
        json!({"htu": upper}),
        json!({"iat": now - 10}),
        json!({"iat": now + 8}),
        json!({"nonce": "unknown"}),
    ] {
        let mut claims = changes.clone();
        claims["ath"] = json!(digest(&token));
        let proof = key.proof(&host, "GET", &address, claims);
        let (status, error, _) = me(&host.base, &format!("DPoP {token}"), &[&proof]).await;
        assert_eq!(status, StatusCode::OK, "{changes}: {error}");
    }
}

/// Checks that a proof of this age is accepted at the token endpoint, with a pushed request, and at UserInfo.
async fn accepts_at(seconds: i64) {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let key = ProofKey::generate();
    let changes = json!({"iat": assent_model::clock::Clock::now(&*host.clock).seconds() + seconds});
    let proof = key.proof(&host, "POST", &pushed_requests(&host), changes.clone());
    let (status, pushed) = push(&host.base, &ada.application, &[], &[&proof]).await;
    assert_eq!(status, StatusCode::CREATED, "{pushed}");
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let proof = key.proof(&host, "POST", &token_endpoint(&host), changes.clone());
    let (status, tokens) = exchange(&host.base, &ada.application, &code, &[&proof]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let token = tokens["access_token"].text();
    let mut changes = changes;
    changes["ath"] = json!(digest(token));
    let proof = key.proof(&host, "GET", &userinfo(&host), changes);
    let (status, ..) = me(&host.base, &format!("DPoP {token}"), &[&proof]).await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn ensure_dpopproof_with_iat_10seconds_before_succeeds() {
    accepts_at(-10).await;
}

/// The suite signs such a proof and sends it within two seconds.
#[tokio::test]
async fn ensure_dpopproof_with_iat_10seconds_after_succeeds() {
    accepts_at(8).await;
}

/// The address of a proof is compared with the configured one. A `Host` header that agrees with the proof changes
/// nothing, and neither does one of a proxy that is not trusted.
#[tokio::test]
async fn a_forged_host_does_not_make_a_proof_valid() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let key = ProofKey::generate();
    let own = [("grant_type", "client_credentials")];
    for forged in ["evil.example", "localhost"] {
        for header in ["Host", "X-Forwarded-Host", "Forwarded"] {
            let address = format!("http://{forged}/oidc/token");
            let proof = key.proof(&host, "POST", &address, json!({}));
            let value = match header {
                "Forwarded" => format!("host={forged};proto=http"),
                _ => forged.to_owned(),
            };
            let response = http_client()
                .post(format!("{}/oidc/token", host.base))
                .basic_auth(&ada.application.id, ada.application.secret.as_ref())
                .header(header, value)
                .header("DPoP", proof)
                .form(&own)
                .response()
                .await;
            let status = response.status();
            let body: Value = response.json().await.unwrap_or_default();
            refused(&(status, body), "invalid_dpop_proof");
        }
    }
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let proof = key.proof(&host, "POST", &token_endpoint(&host), json!({}));
    let (_, tokens) = exchange(&host.base, &ada.application, &code, &[&proof]).await;
    let token = tokens["access_token"].text();
    let address = "http://evil.example/oidc/me";
    let proof = key.proof_with_token(&host, "GET", address, token);
    let request = http_client()
        .get(format!("{}/oidc/me", host.base))
        .header("Host", "evil.example")
        .header("Authorization", format!("DPoP {token}"))
        .header("DPoP", proof);
    let (status, error, _) = outcome(request).await;
    assert_eq!(
        (status, error.as_str()),
        (StatusCode::UNAUTHORIZED, "invalid_dpop_proof")
    );
}

#[tokio::test]
async fn ensure_holder_of_key_required() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let path = format!("/applications/{}", ada.application.id);
    let change = json!({"dpop_bound_access_tokens": true});
    let shown = host.admin_ok(Method::PATCH, &path, change).await;
    assert_eq!(shown["dpop_bound_access_tokens"], true);
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    refused(
        &exchange(&host.base, &ada.application, &code, &[]).await,
        "invalid_dpop_proof",
    );
    let own = [("grant_type", "client_credentials")];
    refused(
        &ask(&host.base, &ada.application, &own, &[]).await,
        "invalid_dpop_proof",
    );
    // The refused request used nothing up.
    let proof = ProofKey::generate().proof(&host, "POST", &token_endpoint(&host), json!({}));
    let (status, tokens) = exchange(&host.base, &ada.application, &code, &[&proof]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    // One token has one key.
    let both = json!({"tls_client_certificate_bound_access_tokens": true});
    let (status, problem) = host.admin(Method::PATCH, &path, both).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
}

/// A proof is valid once, at the token endpoint on every instance, and at one endpoint only.
#[tokio::test]
async fn a_proof_is_valid_once_on_every_instance() {
    let (host, ada) = TestHost::start_on(Database::Postgres)
        .await
        .with_ada()
        .await;
    let options = HostOptions {
        base_url: &host.base,
        ..HostOptions::default()
    };
    let (_second, _running, other) = host.second(options).await;
    let key = ProofKey::generate();
    let own = [("grant_type", "client_credentials")];
    for base in [&host.base, &other] {
        let proof = key.proof(&host, "POST", &token_endpoint(&host), json!({}));
        let (status, tokens) = ask(base, &ada.application, &own, &[&proof]).await;
        assert_eq!(status, StatusCode::OK, "{tokens}");
        for base in [&host.base, &other] {
            refused(
                &ask(base, &ada.application, &own, &[&proof]).await,
                "invalid_dpop_proof",
            );
        }
    }
    let proof = key.proof(&host, "POST", &token_endpoint(&host), json!({}));
    let codes = [
        ada.sign_in(&Browser::new(&host.base)).await,
        ada.sign_in(&Browser::new(&host.base)).await,
    ];
    let proofs = [proof.as_str()];
    let (one, two) = tokio::join!(
        exchange(&host.base, &ada.application, &codes[0], &proofs),
        exchange(&other, &ada.application, &codes[1], &proofs),
    );
    let statuses = [one.0, two.0].map(|status| status.as_u16());
    assert_eq!(statuses.iter().sum::<u16>(), 600, "{one:?} {two:?}");
    // The code of the refused request is not used up.
    let index = usize::from(one.0 == StatusCode::OK);
    let proof = key.proof(&host, "POST", &token_endpoint(&host), json!({}));
    let (status, tokens) = exchange(&host.base, &ada.application, &codes[index], &[&proof]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    // A proof for another endpoint.
    let proof = key.proof(&host, "POST", &format!("{}/par", host.issuer()), json!({}));
    refused(
        &ask(&host.base, &ada.application, &own, &[&proof]).await,
        "invalid_dpop_proof",
    );
}

/// A confidential client refreshes with any key; the new token has that key. The token of a public client has one key.
#[both_databases]
async fn refresh_token(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let native = host.native_application().await;
    host.account(&ada.user, &native).await;
    let offline = [
        ("scope", Some("openid offline_access")),
        ("prompt", Some("consent")),
    ];
    let mut user = ada;
    for application in [user.application.clone(), native] {
        user.application = application;
        let is_public = user.application.secret.is_none();
        let browser = Browser::new(&host.base);
        let [first, second] = [ProofKey::generate(), ProofKey::generate()];
        let prove = |key: &ProofKey| key.proof(&host, "POST", &token_endpoint(&host), json!({}));
        let code = user.sign_in_with(&browser, &offline).await;
        let (status, tokens) =
            exchange(&host.base, &user.application, &code, &[&prove(&first)]).await;
        assert_eq!(status, StatusCode::OK, "{tokens}");
        let token = tokens["refresh_token"].text();
        let answer = refresh(&host.base, &user.application, token, &[&prove(&second)]).await;
        if !is_public {
            assert_eq!(answer.1["token_type"], "DPoP", "{database:?}: {}", answer.1);
            continue;
        }
        refused(&answer, "invalid_grant");
        refused(
            &refresh(&host.base, &user.application, token, &[]).await,
            "invalid_grant",
        );
        // The refused requests did not use the token up, and its successor has the same key.
        let (status, fresh) =
            refresh(&host.base, &user.application, token, &[&prove(&first)]).await;
        assert_eq!(status, StatusCode::OK, "{database:?}: {fresh}");
        let token = fresh["refresh_token"].text();
        refused(
            &refresh(&host.base, &user.application, token, &[&prove(&second)]).await,
            "invalid_grant",
        );
    }
}

/// The authorization request may bind the code to a key.
#[tokio::test]
async fn ensure_token_endpoint_fails_with_mismatched_dpop_jkt() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let browser = Browser::new(&host.base);
    let [key, other] = [ProofKey::generate(), ProofKey::generate()];
    let thumbprint = key.thumbprint();
    let prove = |key: &ProofKey| key.proof(&host, "POST", &token_endpoint(&host), json!({}));
    let code = ada
        .sign_in_with(&browser, &[("dpop_jkt", Some(&thumbprint))])
        .await;
    for proofs in [vec![], vec![prove(&other)]] {
        let proofs: Vec<&str> = proofs.iter().map(String::as_str).collect();
        refused(
            &exchange(&host.base, &ada.application, &code, &proofs).await,
            "invalid_grant",
        );
    }
    let (status, tokens) = exchange(&host.base, &ada.application, &code, &[&prove(&key)]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
}

/// A proof at the endpoint for pushed requests binds the code.
#[tokio::test]
async fn ensure_dpopproof_at_par_endpoint_binding_success() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    let [key, other] = [ProofKey::generate(), ProofKey::generate()];
    let par = pushed_requests(&host);
    let push = async |named: Option<&str>, proof: &str| {
        let changes = [("dpop_jkt", named)];
        push(&host.base, &ada.application, &changes, &[proof]).await
    };
    let wrong = other.thumbprint();
    let proof = key.proof(&host, "POST", &par, json!({}));
    refused(&push(Some(&wrong), &proof).await, "invalid_dpop_proof");
    let right = key.thumbprint();
    for named in [None, Some(right.as_str())] {
        let proof = key.proof(&host, "POST", &par, json!({}));
        let (status, pushed) = push(named, &proof).await;
        assert_eq!(status, StatusCode::CREATED, "{pushed}");
        refused(&push(named, &proof).await, "invalid_dpop_proof");
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("client_id", &ada.application.id)
            .append_pair("request_uri", pushed["request_uri"].text())
            .finish();
        let code = browser
            .get(&format!("/oidc/auth?{query}"))
            .await
            .parameter("code");
        let prove = |key: &ProofKey| key.proof(&host, "POST", &token_endpoint(&host), json!({}));
        refused(
            &exchange(&host.base, &ada.application, &code, &[&prove(&other)]).await,
            "invalid_grant",
        );
        let (status, tokens) = exchange(&host.base, &ada.application, &code, &[&prove(&key)]).await;
        assert_eq!(status, StatusCode::OK, "{tokens}");
    }
}
