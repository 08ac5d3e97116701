//! A page of the console acts only as the administrator for whom it was rendered, also after another one signed in in
//! the same browser.

use assent::http::admin_api::rules;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Administrator, Answer, Caller, sent};
use crate::harness::{Browser, Database, Json, TestHost, Text, id};

/// Signs the administrator in in a browser where another one is signed in.
async fn replace_user(admin: &Administrator, browser: &Browser) {
    let login = browser.get("/sign-in").await.followed().await;
    // The page names the signed-in user, and the form says so.
    let form = [
        ("name", admin.user["name"].text()),
        ("user", &login.user_token()),
    ];
    let waiting = login.submit(&login.path(), &form).await.followed().await;
    let requests = admin.device.pending_requests(5).await;
    let newest = requests.last().expect("a request");
    let decided = admin.device.approve(newest, &waiting.number()).await;
    assert_eq!(decided, "approved");
    let page = browser.get(&waiting.url).await;
    if page.asks_to_confirm() {
        page.confirm().await;
    }
}

/// Returns the id and the CSRF token of the signed-in administrator, as a page reads them.
async fn page_of(browser: &Browser) -> (String, String) {
    let me = sent(browser.request(Method::GET, "/admin/api/v1/me"))
        .await
        .success();
    let (id, csrf) = (me["id"].text().to_owned(), me["csrf_token"].text());
    (id, csrf.to_owned())
}

/// Sends a request of the console with these users in its headers.
async fn call(
    browser: &Browser,
    (method, path, body): (Method, &str, &Value),
    users: &[&str],
    csrf: &str,
) -> Answer {
    let request = browser
        .request(method, &format!("/admin/api/v1{path}"))
        .header("sec-fetch-site", "same-origin")
        .header("x-assent-csrf", csrf);
    let request = users.iter().fold(request, |request, user| {
        request.header("x-assent-user", *user)
    });
    sent(if body.is_null() {
        request
    } else {
        request.json(body)
    })
    .await
}

#[both_databases]
async fn a_page_acts_only_as_the_administrator_for_whom_it_was_rendered(database: Database) {
    let host = TestHost::start_on(database).await;
    let ada = Administrator::new(&host, "ada", "owner").await;
    let grace = Administrator::new(&host, "grace", "owner").await;
    let browser = ada.browser(&host).await;
    let (adas_page, _) = page_of(&browser).await;
    assert_eq!(adas_page, id(&ada.user));
    // HEAD is like GET (RFC 9110 section 9.3.2).
    let me = sent(browser.request(Method::HEAD, "/admin/api/v1/me")).await;
    assert_eq!(me.status, StatusCode::OK, "{database:?}");
    replace_user(&grace, &browser).await;
    // A page reads the token of the new session, because its own token is not valid any more.
    let (graces_page, csrf) = page_of(&browser).await;
    assert_eq!(graces_page, id(&grace.user), "{database:?}");
    let eve = json!({"name": "eve"});
    let create = (Method::POST, "/users", &eve);

    for users in [
        &[adas_page.as_str()][..],
        &["nonsense"],
        &[""],
        &[&adas_page, &graces_page],
        &[&graces_page, &adas_page],
        &[&graces_page, &graces_page],
    ] {
        let answer = call(&browser, create.clone(), users, &csrf).await;
        assert_eq!(
            (answer.status, answer.problem()),
            (StatusCode::CONFLICT, "other-user"),
            "{users:?}"
        );
    }
    let answer = call(&browser, create.clone(), &[], &csrf).await;
    assert_eq!(
        (answer.status, answer.problem()),
        (StatusCode::BAD_REQUEST, "malformed"),
        "the header is required"
    );
    let users = host
        .admin_ok(Method::GET, "/users?q=eve", Value::Null)
        .await;
    assert_eq!(users["items"].items().len(), 0, "nothing was executed");
    let created = call(&browser, create, &[&graces_page], &csrf).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.body);
}

/// The check comes before the handler, its permission, its idempotency key and its input: no route is an exception.
#[tokio::test]
async fn every_route_rejects_a_page_of_another_administrator() {
    let host = TestHost::start().await;
    let ada = Administrator::new(&host, "ada", "owner").await;
    // The response must not describe what the other user may do.
    let grace = Administrator::new(&host, "grace", "auditor").await;
    let browser = ada.browser(&host).await;
    let (adas_page, _) = page_of(&browser).await;
    replace_user(&grace, &browser).await;
    let (graces_page, csrf) = page_of(&browser).await;
    assert_ne!(adas_page, graces_page);
    let mut checked = 0;
    for (method, path, _) in rules() {
        let path: Vec<&str> = path
            .split('/')
            .map(|part| {
                if part.starts_with('{') {
                    adas_page.as_str()
                } else {
                    part
                }
            })
            .collect();
        let path = path.join("/");
        let body = json!({});
        let sent_body = if method == Method::GET {
            &Value::Null
        } else {
            &body
        };
        let request = (method.clone(), path.as_str(), sent_body);
        let answer = call(&browser, request.clone(), &[&adas_page], &csrf).await;
        assert_eq!(
            (answer.status, answer.problem()),
            (StatusCode::CONFLICT, "other-user"),
            "{method} {path}"
        );
        if path != "/me" {
            let answer = call(&browser, request, &[], &csrf).await;
            assert_eq!(
                (answer.status, answer.problem()),
                (StatusCode::BAD_REQUEST, "malformed"),
                "{method} {path}"
            );
        }
        checked += 1;
    }
    assert!(checked > 80, "{checked}");
}

/// The stored response to another administrator's request is not for the page of the first.
#[tokio::test]
async fn a_repeated_request_gets_no_stored_response_of_another_administrator() {
    let host = TestHost::start().await;
    let ada = Administrator::new(&host, "ada", "owner").await;
    let grace = Administrator::new(&host, "grace", "owner").await;
    let caller = ada.signed_in(&host).await;
    let Caller::Console { browser, user, .. } = &caller else {
        unreachable!()
    };
    let repeated = |request: reqwest::RequestBuilder| {
        request
            .header("idempotency-key", "0123456789abcdef")
            .json(&json!({"name": "eve"}))
    };
    let first = sent(repeated(caller.request(Method::POST, "/users"))).await;
    assert_eq!(first.status, StatusCode::CREATED, "{}", first.body);
    replace_user(&grace, browser).await;
    let (_, csrf) = page_of(browser).await;
    let again = browser
        .request(Method::POST, "/admin/api/v1/users")
        .header("x-assent-csrf", csrf)
        .header("x-assent-user", user);
    let answer = sent(repeated(again)).await;
    assert_eq!(answer.problem(), "other-user");
}
