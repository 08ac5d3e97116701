//! Client credentials, introspection and revocation.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::refresh::{offline_tokens, refresh, refresh_token};
use super::token::userinfo;
use crate::harness::{Application, Body, Respond, TestHost, Text, http_client, id};

/// Sends a request of an application. It authenticates with `client_secret_basic`, or sends only its `client_id`.
async fn call(
    host: &TestHost,
    application: &Application,
    path: &str,
    form: &[(&str, &str)],
) -> (StatusCode, Value) {
    let mut request = http_client().post(format!("{}/oidc{path}", host.base));
    let mut form = form.to_vec();
    match &application.secret {
        Some(secret) => request = request.basic_auth(&application.id, Some(secret)),
        None => form.push(("client_id", &application.id)),
    }
    let response = request.form(&form).response().await;
    assert_eq!(response.headers()["cache-control"], "no-store");
    let status = response.status();
    let body = response.read_text().await;
    (
        status,
        serde_json::from_str(&body).unwrap_or(Value::String(body)),
    )
}

async fn introspect(host: &TestHost, application: &Application, token: &str) -> Value {
    let (status, answer) = call(
        host,
        application,
        "/token/introspection",
        &[("token", token)],
    )
    .await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    answer
}

pub async fn own_token(host: &TestHost, application: &Application) -> Value {
    let (status, tokens) = call(
        host,
        application,
        "/token",
        &[("grant_type", "client_credentials")],
    )
    .await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    tokens
}

fn access(tokens: &Value) -> &str {
    tokens["access_token"].text()
}

fn inactive() -> Value {
    json!({"active": false})
}

#[tokio::test]
async fn client_credentials_return_only_a_token_for_ten_minutes() {
    let host = TestHost::start().await;
    let web = host.web_application().await;
    let tokens = own_token(&host, &web).await;
    assert_eq!(
        (
            &tokens["token_type"],
            &tokens["expires_in"],
            &tokens["scope"]
        ),
        (&json!("Bearer"), &json!(600), &json!(""))
    );
    assert!(tokens["id_token"].is_null() && tokens["refresh_token"].is_null());
    let active = introspect(&host, &web, access(&tokens)).await;
    assert_eq!(
        (&active["active"], &active["sub"], &active["client_id"]),
        (&json!(true), &json!(web.id), &json!(web.id))
    );
    // The token belongs to no user.
    let (status, answer) = userinfo(&host, access(&tokens)).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::FORBIDDEN, &json!("insufficient_scope"))
    );
    host.advance(600);
    assert_eq!(introspect(&host, &web, access(&tokens)).await, inactive());
}

#[tokio::test]
async fn client_credentials_require_an_authenticated_and_permitted_application() {
    let host = TestHost::start().await;
    let (web, native) = (
        host.web_application().await,
        host.native_application().await,
    );
    let form = [("grant_type", "client_credentials")];
    let (status, answer) = call(&host, &native, "/token", &form).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::BAD_REQUEST, &json!("unauthorized_client"))
    );
    for scope in ["nonsense", "offline_access", "profile admin"] {
        let form = [("grant_type", "client_credentials"), ("scope", scope)];
        assert_eq!(
            call(&host, &web, "/token", &form).await.1["error"],
            "invalid_scope",
            "{scope}"
        );
    }
    let form_with_scope = [
        ("grant_type", "client_credentials"),
        ("scope", "profile email"),
    ];
    assert_eq!(
        call(&host, &web, "/token", &form_with_scope).await.1["scope"],
        "profile email"
    );
    host.admin_ok(
        Method::PATCH,
        &format!("/applications/{}", web.id),
        json!({"grant_types": ["authorization_code"]}),
    )
    .await;
    let (status, answer) = call(&host, &web, "/token", &form).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::BAD_REQUEST, &json!("unauthorized_client"))
    );
}

#[tokio::test]
async fn introspection_returns_the_members_of_the_specification() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let tokens = offline_tokens(&host, &ada).await;
    let now = assent_model::clock::Clock::now(&*host.clock).seconds();
    let active = introspect(&host, &ada.application, access(&tokens)).await;
    let (_, me) = userinfo(&host, access(&tokens)).await;
    let expected = json!({
        "active": true, "client_id": ada.application.id, "sub": me["sub"],
        "scope": "openid profile email offline_access", "exp": now + 3600, "iat": now,
    });
    assert_eq!(active, expected);
    // Another confidential application, such as a resource server, may introspect the access token, but not the refresh
    // token.
    let other = host.web_application().await;
    assert_eq!(introspect(&host, &other, access(&tokens)).await, expected);
    assert_eq!(
        introspect(&host, &ada.application, refresh_token(&tokens)).await["active"],
        true
    );
    assert_eq!(
        introspect(&host, &other, refresh_token(&tokens)).await,
        inactive()
    );
}

#[tokio::test]
async fn a_public_client_introspects_only_its_own_tokens() {
    let host = TestHost::start().await;
    let mut ada = host.ada().await;
    let web = offline_tokens(&host, &ada).await;
    ada.application = host.native_application().await;
    host.account(&ada.user, &ada.application).await;
    let own = offline_tokens(&host, &ada).await;
    assert_eq!(
        introspect(&host, &ada.application, access(&own)).await["active"],
        true
    );
    assert_eq!(
        introspect(&host, &ada.application, access(&web)).await,
        inactive()
    );
    assert_eq!(
        introspect(&host, &ada.application, refresh_token(&web)).await,
        inactive()
    );
}

#[tokio::test]
async fn invalid_tokens_are_inactive_without_further_members() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let tokens = offline_tokens(&host, &ada).await;
    let (start, last) = access(&tokens).split_at(access(&tokens).len() - 1);
    let forged = format!("{start}{}", if last == "A" { "Q" } else { "A" });
    for token in [
        "x",
        "at_",
        "rt_nonsense",
        &forged,
        &access(&tokens).replacen("at_", "rt_", 1),
    ] {
        assert_eq!(
            introspect(&host, &ada.application, token).await,
            inactive(),
            "{token}"
        );
    }
    for path in [
        format!("/users/{}", id(&ada.user)),
        format!("/accounts/{}", id(&ada.account)),
    ] {
        host.admin_ok(Method::PATCH, &path, json!({"state": "suspended"}))
            .await;
        assert_eq!(
            introspect(&host, &ada.application, access(&tokens)).await,
            inactive(),
            "{path}"
        );
        assert_eq!(
            introspect(&host, &ada.application, refresh_token(&tokens)).await,
            inactive(),
            "{path}"
        );
        host.admin_ok(Method::PATCH, &path, json!({"state": "active"}))
            .await;
    }
    host.advance(3600);
    assert_eq!(
        introspect(&host, &ada.application, access(&tokens)).await,
        inactive()
    );
    let (status, answer) = call(&host, &ada.application, "/token/introspection", &[]).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::BAD_REQUEST, &json!("invalid_request"))
    );
    let attacker = Application {
        secret: Some("wrong".to_owned()),
        ..ada.application.clone()
    };
    let (status, answer) = call(&host, &attacker, "/token/introspection", &[("token", "x")]).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::UNAUTHORIZED, &json!("invalid_client"))
    );
}

#[tokio::test]
async fn revocation_of_a_refresh_token_revokes_its_family() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let first = offline_tokens(&host, &ada).await;
    let revoke = async |token: &str| {
        call(
            &host,
            &ada.application,
            "/token/revocation",
            &[("token", token)],
        )
        .await
    };
    assert_eq!(
        revoke(access(&first)).await,
        (StatusCode::OK, Value::String(String::new()))
    );
    assert_eq!(
        userinfo(&host, access(&first)).await.0,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(
        introspect(&host, &ada.application, access(&first)).await,
        inactive()
    );
    let (status, second) = refresh(&host.base, &ada.application, refresh_token(&first), &[]).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(revoke(refresh_token(&second)).await.0, StatusCode::OK);
    assert_eq!(
        userinfo(&host, access(&second)).await.0,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(
        refresh(&host.base, &ada.application, refresh_token(&second), &[])
            .await
            .1["error"],
        "invalid_grant"
    );
    // The response is the same for revoked and unknown tokens.
    for token in [access(&first), refresh_token(&second), "nonsense"] {
        assert_eq!(revoke(token).await.0, StatusCode::OK, "{token}");
    }
}

#[tokio::test]
async fn tokens_of_other_applications_are_not_revoked() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let tokens = offline_tokens(&host, &ada).await;
    let other = host.web_application().await;
    for token in [access(&tokens), refresh_token(&tokens)] {
        let (status, answer) = call(&host, &other, "/token/revocation", &[("token", token)]).await;
        assert_eq!(
            (status, &answer["error"]),
            (StatusCode::BAD_REQUEST, &json!("invalid_grant"))
        );
    }
    assert_eq!(userinfo(&host, access(&tokens)).await.0, StatusCode::OK);
    assert_eq!(
        refresh(&host.base, &ada.application, refresh_token(&tokens), &[])
            .await
            .0,
        StatusCode::OK
    );
}

#[tokio::test]
async fn deletion_of_an_application_revokes_its_tokens() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let (tokens, own) = (
        offline_tokens(&host, &ada).await,
        own_token(&host, &ada.application).await,
    );
    let other = host.web_application().await;
    host.admin_ok(
        Method::DELETE,
        &format!("/applications/{}", ada.application.id),
        Value::Null,
    )
    .await;
    for token in [access(&tokens), access(&own), refresh_token(&tokens)] {
        assert_eq!(introspect(&host, &other, token).await, inactive());
    }
    assert_eq!(
        userinfo(&host, access(&tokens)).await.0,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn userinfo_post_header_and_userinfo_post_body() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let tokens = offline_tokens(&host, &ada).await;
    let url = format!("{}/oidc/me", host.base);
    let by_header = http_client()
        .post(&url)
        .bearer_auth(access(&tokens))
        .response()
        .await;
    let by_body = http_client()
        .post(&url)
        .form(&[("access_token", access(&tokens))])
        .response()
        .await;
    let (header, body): (Value, Value) = (by_header.read_json().await, by_body.read_json().await);
    assert_eq!(header, body);
    assert_eq!(header["email"], "ada@example.org");
    let form = [("access_token", access(&tokens))];
    let twice = http_client()
        .post(&url)
        .bearer_auth(access(&tokens))
        .form(&form)
        .response()
        .await;
    assert_eq!(twice.status(), StatusCode::BAD_REQUEST);
}
