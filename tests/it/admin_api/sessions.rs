//! Pages of other sites cannot use sessions of the console.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Administrator, Answer, Caller, console_caller, sent};
use crate::harness::{Browser, Database, Json, TestHost, id};

/// Sends a request of a browser with these headers beside its cookies.
async fn call(
    browser: &Browser,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: Value,
) -> Answer {
    let request = browser.request(method, &format!("/admin/api/v1{path}"));
    let request = headers.iter().fold(request, |request, (name, value)| {
        request.header(*name, *value)
    });
    sent(if body.is_null() {
        request
    } else {
        request.json(&body)
    })
    .await
}

#[tokio::test]
async fn state_changing_requests_require_the_console_origin() {
    let host = TestHost::start().await;
    let Caller::Console {
        browser,
        user,
        csrf,
        ..
    } = console_caller(&host, "ada", "owner").await
    else {
        unreachable!()
    };
    let page = ("x-assent-user", user.as_str());
    let Caller::Console { csrf: others, .. } = console_caller(&host, "grace", "owner").await else {
        unreachable!()
    };
    let make = json!({"name": "eve"});
    let same = ("sec-fetch-site", "same-origin");
    let forged: [&[(&str, &str)]; 7] = [
        &[],
        &[same],
        &[same, ("x-assent-csrf", "")],
        &[same, ("x-assent-csrf", &others)],
        &[("x-assent-csrf", &csrf), ("sec-fetch-site", "cross-site")],
        &[("x-assent-csrf", &csrf), ("sec-fetch-site", "same-site")],
        &[("x-assent-csrf", &csrf), ("sec-fetch-site", "none")],
    ];
    for headers in forged {
        let headers: Vec<_> = headers.iter().copied().chain([page]).collect();
        let answer = call(&browser, Method::POST, "/users", &headers, make.clone()).await;
        assert_eq!(
            (answer.status, answer.problem()),
            (StatusCode::FORBIDDEN, "cross-site"),
            "{headers:?}"
        );
    }
    for site in ["cross-site", "same-site"] {
        let answer = call(
            &browser,
            Method::GET,
            "/users",
            &[("sec-fetch-site", site)],
            Value::Null,
        )
        .await;
        assert_eq!(
            (answer.status, answer.problem()),
            (StatusCode::FORBIDDEN, "cross-site"),
            "{site}"
        );
    }
    host.advance(1);
    // An old browser does not send `Sec-Fetch-Site`. The CSRF token is sufficient.
    let good = call(
        &browser,
        Method::POST,
        "/users",
        &[("x-assent-csrf", &csrf), page],
        make,
    )
    .await;
    assert_eq!(good.status, StatusCode::CREATED, "{}", good.body);
    let audit = host
        .admin_ok(
            Method::GET,
            "/audit?event=user.created&limit=1",
            Value::Null,
        )
        .await;
    assert_eq!(
        audit["items"][0]["actor"]["kind"], "user",
        "the user is the actor: {audit}"
    );
}

#[tokio::test]
async fn a_console_session_is_valid_while_its_user_has_a_role() {
    let host = TestHost::start().await;
    host.ada().await;
    let ada = Administrator::new(&host, "grace", "admin").await;
    let caller = ada.signed_in(&host).await;
    assert_eq!(caller.get("/applications").await.status, StatusCode::OK);
    let path = format!("/users/{}", id(&ada.user));
    let change = async |body| host.admin_ok(Method::PATCH, &path, body).await;
    change(json!({"console_role": "support"})).await;
    assert_eq!(
        caller.get("/applications").await.status,
        StatusCode::FORBIDDEN,
        "from the very next request on"
    );
    change(json!({"console_role": null})).await;
    let answer = caller.get("/me").await;
    assert_eq!(
        (answer.status, answer.problem()),
        (StatusCode::FORBIDDEN, "forbidden")
    );
    // Before the grant, more administrators could act on the user, so a new sign-in is required.
    change(json!({"console_role": "admin"})).await;
    assert_eq!(caller.get("/me").await.status, StatusCode::UNAUTHORIZED);
    let caller = ada.signed_in(&host).await;
    assert_eq!(caller.get("/me").await.status, StatusCode::OK);
    change(json!({"state": "suspended"})).await;
    assert_eq!(caller.get("/me").await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn an_invalid_token_is_rejected_despite_a_session() {
    let host = TestHost::start().await;
    let Caller::Console { browser, .. } = console_caller(&host, "ada", "owner").await else {
        unreachable!()
    };
    for header in ["Bearer am_x", "Bearer at_x", "Basic YTpi", "Bearer"] {
        let answer = call(
            &browser,
            Method::GET,
            "/me",
            &[("authorization", header)],
            Value::Null,
        )
        .await;
        assert_eq!(
            (answer.status, answer.problem()),
            (StatusCode::UNAUTHORIZED, "unauthenticated"),
            "{header}"
        );
        assert_eq!(answer.headers["www-authenticate"], "Bearer");
    }
    let anonymous = call(
        &Browser::new(&host.base),
        Method::GET,
        "/me",
        &[],
        Value::Null,
    )
    .await;
    assert_eq!(anonymous.status, StatusCode::UNAUTHORIZED);
}

/// Support may have enrolled a device of the user before the grant.
#[both_databases]
async fn a_session_from_before_the_role_was_granted_is_rejected(database: Database) {
    let host = TestHost::start_on(database).await;
    Administrator::new(&host, "olga", "owner").await;
    let ada = host.ada().await;
    let path = format!("/users/{}", id(&ada.user));
    let sessions = async || {
        let open = host
            .admin_ok(Method::GET, &format!("{path}/sessions"), Value::Null)
            .await;
        open["items"].items().len()
    };
    let change = async |role: Value| {
        host.admin_ok(Method::PATCH, &path, json!({"console_role": role}))
            .await
    };
    for (before, after, left) in [
        (Value::Null, json!("support"), 0),
        (Value::Null, json!("auditor"), 0),
        (json!("support"), json!("admin"), 0),
        (json!("auditor"), json!("owner"), 0),
        // The administrators who could enrol a device for the user before are at least as trusted as those who can now.
        (json!("admin"), json!("support"), 1),
        (json!("auditor"), Value::Null, 1),
    ] {
        change(before.clone()).await;
        ada.sign_in(&Browser::new(&host.base)).await;
        let unused = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
        ada.approve(&unused).await;
        assert_eq!(sessions().await, 1, "{database:?}");
        change(after.clone()).await;
        assert_eq!(
            sessions().await,
            left,
            "{database:?}: {before} then {after}"
        );
        let came_of_it = unused.again().await.headers.get("location").is_some();
        assert_eq!(came_of_it, left == 1, "{database:?}: {before} then {after}");
        host.admin_ok(Method::DELETE, &format!("{path}/sessions"), Value::Null)
            .await;
    }
    // Granting the same role again ends no session.
    change(json!("owner")).await;
    ada.sign_in(&Browser::new(&host.base)).await;
    change(json!("owner")).await;
    assert_eq!(sessions().await, 1, "{database:?}");
}
