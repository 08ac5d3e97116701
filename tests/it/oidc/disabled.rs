//! Disabled applications: no endpoint of any instance serves them from the next request on.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::refresh::{OFFLINE, offline_tokens, refresh, refresh_token};
use super::token::userinfo;
use crate::harness::{
    Application, Body, Browser, Database, HostOptions, Respond, TestHost, Text, http_client, id,
};

/// Disables or enables an application at this instance.
async fn set_enabled(host: &TestHost, application: &Application, enabled: bool) -> Value {
    let path = format!("/applications/{}", application.id);
    let changed = host
        .admin_ok(Method::PATCH, &path, json!({"enabled": enabled}))
        .await;
    assert_eq!(changed["enabled"], enabled);
    changed
}

/// Introspects a token as this application. Returns the status and the body.
async fn introspect(base: &str, application: &Application, token: &str) -> (StatusCode, Value) {
    let response = http_client()
        .post(format!("{base}/oidc/token/introspection"))
        .basic_auth(&application.id, application.secret.as_ref())
        .form(&[("token", token)])
        .response()
        .await;
    (response.status(), response.read_json().await)
}

fn unauthorized((status, answer): &(StatusCode, Value)) {
    assert_eq!(
        (*status, &answer["error"], &answer["error_description"]),
        (
            StatusCode::BAD_REQUEST,
            &json!("unauthorized_client"),
            &json!("the application is disabled")
        )
    );
}

/// One instance disables the application, and the other one no longer serves it. Its earlier grants do not return.
#[both_databases]
async fn no_endpoint_of_any_instance_serves_a_disabled_application(database: Database) {
    let host = TestHost::start_on(database).await;
    let options = HostOptions {
        database,
        ..HostOptions::default()
    };
    let (_second, running, other) = host.second(options).await;
    let ada = host.ada().await;
    let server = host.web_application().await;
    let tokens = offline_tokens(&host, &ada).await;
    let (access, refreshed) = (tokens["access_token"].text(), refresh_token(&tokens));
    let browser = Browser::new(&host.base);
    let code = ada.sign_in_with(&browser, &OFFLINE).await;
    let own = own_token(&other, &ada.application).await;
    let own = own.1["access_token"].text();
    // The other instance has the application, its tokens and the session in its cache.
    for token in [access, own] {
        let (_, answer) = introspect(&other, &server, token).await;
        assert_eq!(answer["active"], true, "{answer}");
    }
    let there = browser.at(&other);
    let silent = ada.application.request(&[("prompt", Some("none"))]);
    assert!(there.get(&silent).await.parameter("code").len() > 20);
    host.advance(1);

    set_enabled(&host, &ada.application, false).await;
    unauthorized(&refresh(&other, &ada.application, refreshed, &[]).await);
    unauthorized(&ada.application.exchange(&other, &code, &[]).await);
    unauthorized(&own_token(&other, &ada.application).await);
    unauthorized(&introspect(&other, &ada.application, access).await);
    for token in [access, own, refreshed] {
        let (status, answer) = introspect(&other, &server, token).await;
        assert_eq!(
            (status, answer),
            (StatusCode::OK, json!({"active": false})),
            "{database:?}"
        );
    }
    let response = http_client()
        .get(format!("{other}/oidc/me"))
        .bearer_auth(access)
        .response()
        .await;
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    assert!(
        response.headers()["www-authenticate"]
            .text()
            .contains("invalid_token")
    );
    // The server does not redirect the browser to an application that may be disabled because of a compromise.
    for request in [ada.application.request(&[]), silent.clone()] {
        let page = there.get(&request).await;
        assert_eq!(page.status, StatusCode::FORBIDDEN);
        assert!(
            page.body
                .contains("An administrator disabled this application")
        );
    }

    host.advance(1);
    set_enabled(&host, &ada.application, true).await;
    let (_, answer) = refresh(&other, &ada.application, refreshed, &[]).await;
    assert_eq!(answer["error"], "invalid_grant");
    let (_, answer) = ada.application.exchange(&other, &code, &[]).await;
    assert_eq!(answer["error"], "invalid_grant");
    for token in [access, own] {
        let (_, answer) = introspect(&other, &server, token).await;
        assert_eq!(answer, json!({"active": false}));
    }
    // The user's session does not belong to this application only, so it continues.
    let code = there.get(&silent).await.parameter("code");
    let (status, tokens) = ada.application.exchange(&other, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    running.stop().await;
}

async fn own_token(base: &str, application: &Application) -> (StatusCode, Value) {
    let response = http_client()
        .post(format!("{base}/oidc/token"))
        .basic_auth(&application.id, application.secret.as_ref())
        .form(&[("grant_type", "client_credentials")])
        .response()
        .await;
    (response.status(), response.read_json().await)
}

/// A sign-in in progress ends with a page that shows the reason. The page is the same for each name, and no device
/// receives a request.
#[tokio::test]
async fn a_sign_in_that_began_before_ends_with_a_page() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let (asked, approved) = (Browser::new(&host.base), Browser::new(&host.base));
    let login = ada.application.login_page(&browser, &[]).await;
    let waiting = ada.begin_sign_in(&asked, &[]).await;
    let finished = ada.begin_sign_in(&approved, &[]).await;
    ada.approve(&finished).await;
    let pending = ada.device.pending_requests(0).await.len();
    set_enabled(&host, &ada.application, false).await;
    for name in ["ada", "nobody"] {
        let page = login.submit_name(name).await;
        assert!(
            page.body.contains("An administrator disabled <bdi>Books"),
            "{}",
            page.body
        );
    }
    // The devices no longer show the request, and it does not return.
    assert_eq!(pending, 1);
    assert!(ada.device.pending_requests(0).await.is_empty());
    for (browser, page) in [(&asked, &waiting), (&approved, &finished)] {
        let ended = browser.get(&page.url).await;
        assert_eq!(ended.outcome(), "rejected");
        assert!(ended.body.contains("An administrator disabled <bdi>Books"));
        assert_eq!(ended.returns(), None, "the page returns automatically");
        assert!(!ended.body.contains("/leave"));
    }
    set_enabled(&host, &ada.application, true).await;
    assert!(ada.device.pending_requests(0).await.is_empty());
    let page = approved.finish(&finished.url).await;
    assert!(!page.parameter("code").is_empty());
}

/// The application may still revoke its tokens and sign users out, but the server redirects no browser to it.
#[tokio::test]
async fn a_disabled_application_may_revoke_and_sign_out() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let path = format!("/applications/{}", ada.application.id);
    let uris = json!({"post_logout_redirect_uris": ["https://rp.example/bye"]});
    host.admin_ok(Method::PATCH, &path, uris).await;
    let browser = Browser::new(&host.base);
    let tokens = ada.tokens(&host, &browser).await;
    set_enabled(&host, &ada.application, false).await;
    let response = http_client()
        .post(format!("{}/oidc/token/revocation", host.base))
        .basic_auth(&ada.application.id, ada.application.secret.as_ref())
        .form(&[("token", tokens["access_token"].text())])
        .response()
        .await;
    assert_eq!(response.status(), StatusCode::OK);
    let hint = tokens["id_token"].text();
    let query = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("id_token_hint", hint)
        .append_pair("post_logout_redirect_uri", "https://rp.example/bye")
        .finish();
    let page = browser.get(&format!("/oidc/session/end?{query}")).await;
    assert!(!page.status.is_redirection() || !page.location().as_str().contains("rp.example"));
    let silent = ada.application.request(&[("prompt", Some("none"))]);
    set_enabled(&host, &ada.application, true).await;
    assert_eq!(
        browser.get(&silent).await.parameter("error"),
        "login_required"
    );
}

/// The portal shows only tiles of usable applications, and a disabled service account loses its permissions.
#[tokio::test]
async fn the_portal_and_the_admin_api_exclude_disabled_applications() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let path = format!("/applications/{}", ada.application.id);
    host.admin_ok(
        Method::PATCH,
        &path,
        json!({"admin_scopes": ["admin:read"], "initiate_login_uri": "https://rp.example/login"}),
    )
    .await;
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    let form = [
        ("grant_type", "client_credentials"),
        ("scope", "admin:read"),
    ];
    let response = http_client()
        .post(format!("{}/oidc/token", host.base))
        .basic_auth(&ada.application.id, ada.application.secret.as_ref())
        .form(&form)
        .response()
        .await;
    let token: Value = response.read_json().await;
    let users = || {
        http_client()
            .get(format!("{}/admin/api/v1/users", host.base))
            .bearer_auth(token["access_token"].text())
            .response()
    };
    assert!(
        browser
            .get("/")
            .await
            .body
            .contains("Books &#38; &#60;Co&#62;")
    );
    assert_eq!(users().await.status(), StatusCode::OK);
    host.advance(1);
    let changed = set_enabled(&host, &ada.application, false).await;
    assert!(
        !browser
            .get("/")
            .await
            .body
            .contains("Books &#38; &#60;Co&#62;")
    );
    assert_eq!(users().await.status(), StatusCode::UNAUTHORIZED);
    let entries = host
        .admin_ok(
            Method::GET,
            &format!(
                "/audit?event=application.updated&application={}",
                id(&changed)
            ),
            Value::Null,
        )
        .await;
    let detail = &entries["items"][0]["detail"];
    assert_eq!(
        (&detail["before"]["enabled"], &detail["after"]["enabled"]),
        (&json!(true), &json!(false))
    );
    // The list shows the state, so no export of the directory is necessary.
    let list = host
        .admin_ok(Method::GET, "/applications", Value::Null)
        .await;
    assert_eq!(list["items"][0]["enabled"], false);
    assert_eq!(userinfo(&host, "x").await.0, StatusCode::UNAUTHORIZED);
}
