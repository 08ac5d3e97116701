//! Back-channel authentication (OpenID CIBA Core 1.0): an application asks for a user without a browser. A test of an
//! attack has the name of its line.

mod bindings;
mod bounds;
mod details;
mod fapi;
mod four_eyes;
mod indistinguishable;
mod limits;
mod long_polls;
mod many_polls;
mod ping;
mod polls;
mod proofs;
mod push;
pub mod receiver;
mod requests;
mod signed;
mod withdrawal;
mod withdrawals;

use assent::authenticator::enrolled::PendingRequest;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{
    Admin, Application, Browser, Database, Device, Respond, TestHost, TestUser, Text, http_client,
    id, jwt_claims, jwt_header,
};
use crate::oidc::refresh::{refresh, refresh_token};
use crate::oidc::token::userinfo;

pub(crate) const GRANT: &str = "urn:openid:params:grant-type:ciba";
/// A short interval, so that tests of polls advance the clock by a second.
const SETTINGS: &str = "[oidc.backchannel]\ninterval = \"1s\"\n";

/// Lets an application ask for users.
pub(crate) async fn permit(host: &Admin, application: &Application) {
    let path = format!("/applications/{}", application.id);
    let grants = json!(["authorization_code", "refresh_token", GRANT]);
    let changes = json!({"grant_types": grants});
    host.admin_ok(Method::PATCH, &path, changes).await;
}

/// Starts an instance with Ada, whose application may ask for users.
pub async fn start(database: Database) -> (TestHost, TestUser) {
    start_with(database, SETTINGS).await
}

/// Does the same with these settings.
pub(crate) async fn start_with(database: Database, settings: &str) -> (TestHost, TestUser) {
    let host = TestHost::start_on_with(database, settings).await;
    let ada = host.ada().await;
    permit(&host, &ada.application).await;
    (host, ada)
}

/// Posts a form with the credentials of the application.
async fn post(
    url: String,
    application: &Application,
    form: &[(&str, &str)],
) -> (StatusCode, Value) {
    let request = http_client().post(url).form(form);
    let request = match &application.secret {
        Some(secret) => request.basic_auth(&application.id, Some(secret)),
        None => request,
    };
    let response = request.response().await;
    let cache = response.headers()["cache-control"].to_str();
    assert_eq!(cache.expect("a text"), "no-store");
    (response.status(), response.json().await.unwrap_or_default())
}

/// Asks for Ada with these changes of the parameters: a value replaces one, and `None` removes it.
pub(crate) async fn ask(
    base: &str,
    application: &Application,
    changes: &[(&str, Option<&str>)],
) -> (StatusCode, Value) {
    let mut form = vec![
        ("scope", "openid profile"),
        ("login_hint", "ada"),
        ("binding_message", "Order 42"),
    ];
    for (name, value) in changes {
        form.retain(|(known, _)| known != name);
        form.extend(value.map(|value| (*name, value)));
    }
    post(format!("{base}/oidc/backchannel"), application, &form).await
}

/// Revokes an `auth_req_id`, which withdraws its request.
pub(crate) async fn revoke(
    host: &TestHost,
    application: &Application,
    token: &str,
) -> (StatusCode, Value) {
    let url = format!("{}/oidc/token/revocation", host.base);
    post(url, application, &[("token", token)]).await
}

/// Asks for Ada, which the server accepts. Returns the `auth_req_id`.
pub(crate) async fn asked(
    host: &TestHost,
    ada: &TestUser,
    changes: &[(&str, Option<&str>)],
) -> String {
    let (status, answer) = ask(&host.base, &ada.application, changes).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    answer["auth_req_id"].text().to_owned()
}

/// Polls for the result.
pub(crate) async fn poll(
    base: &str,
    application: &Application,
    auth_req_id: &str,
) -> (StatusCode, Value) {
    let form = [("grant_type", GRANT), ("auth_req_id", auth_req_id)];
    post(format!("{base}/oidc/token"), application, &form).await
}

/// Polls for a result that is an error, and returns it.
pub(crate) async fn poll_error(host: &TestHost, ada: &TestUser, auth_req_id: &str) -> String {
    let (status, answer) = poll(&host.base, &ada.application, auth_req_id).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    answer["error"].text().to_owned()
}

/// The only pending request of a device.
pub(crate) async fn pending(device: &Device) -> PendingRequest {
    let mut requests = device.pending_requests(5).await;
    assert_eq!(requests.len(), 1, "{requests:?}");
    requests.remove(0)
}

/// Asks for Ada, approves on her device, and returns the tokens.
pub async fn approved(host: &TestHost, ada: &TestUser, changes: &[(&str, Option<&str>)]) -> Value {
    let auth_req_id = asked(host, ada, changes).await;
    let request = pending(&ada.device).await;
    assert_eq!(ada.device.approve(&request, "").await, "approved");
    let (status, tokens) = poll(&host.base, &ada.application, &auth_req_id).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    tokens
}

#[both_databases]
async fn an_approval_on_a_device_gives_tokens_without_a_browser(database: Database) {
    let (host, ada) = start(database).await;
    let changes = [
        ("scope", Some("openid profile email offline_access")),
        ("binding_message", Some("1234")),
    ];
    let (status, answer) = ask(&host.base, &ada.application, &changes).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {answer}");
    assert_eq!(answer["expires_in"], 120);
    assert_eq!(answer["interval"], 1);
    let auth_req_id = answer["auth_req_id"].text().to_owned();
    // 16 bytes of an id and 32 random ones, of the characters that OpenID CIBA Core 1.0 section 7.3 recommends.
    assert_eq!(auth_req_id.len(), "br_".len() + 64, "{auth_req_id}");
    let is_permitted = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    assert!(auth_req_id.bytes().all(is_permitted), "{auth_req_id}");

    let request = pending(&ada.device).await;
    assert_eq!(request.application.id, ada.application.id);
    assert_eq!(request.account, "ada");
    assert_eq!((request.place.as_str(), request.browser.as_str()), ("", ""));
    let shown = request.backchannel.clone().expect("a back-channel request");
    assert_eq!(shown.message.as_deref(), Some("1234"));
    assert_eq!(
        shown.scopes,
        [
            "Confirm your identity",
            "See your name and profile",
            "See your account and roles in the application",
            "See your email address",
            "Keep access while you are away",
        ]
    );
    assert_eq!(
        poll_error(&host, &ada, &auth_req_id).await,
        "authorization_pending"
    );
    assert_eq!(ada.device.approve(&request, "").await, "approved");
    let (status, tokens) = poll(&host.base, &ada.application, &auth_req_id).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {tokens}");
    assert_eq!(tokens["token_type"], "Bearer");
    assert_eq!(tokens["scope"], "openid profile email offline_access");

    let id_token = tokens["id_token"].text();
    assert!(jwt_header(id_token)["kid"].is_string());
    let claims = jwt_claims(id_token);
    assert_eq!(claims["acr"], "urn:assent:acr:device");
    assert_eq!(claims["amr"], json!(["swk", "user"]));
    assert!(!claims["sid"].text().is_empty());
    for absent in ["nonce", "c_hash", "s_hash"] {
        assert!(claims.get(absent).is_none(), "{claims}");
    }
    let (status, user) = userinfo(&host, tokens["access_token"].text()).await;
    assert_eq!(status, StatusCode::OK, "{user}");
    assert_eq!(user["sub"], claims["sub"]);
    assert_eq!(user["email"], "ada@example.org");
    let token = refresh_token(&tokens);
    let (status, refreshed) = refresh(&host.base, &ada.application, token, &[]).await;
    assert_eq!(status, StatusCode::OK, "{refreshed}");
    let again = jwt_claims(refreshed["id_token"].text());
    assert_eq!(
        (&again["sid"], &again["sub"]),
        (&claims["sid"], &claims["sub"])
    );

    // The approval is the consent, so a browser is not asked for these scopes again.
    let browser = Browser::new(&host.base);
    let scope = [("scope", Some("openid profile email"))];
    let waiting = ada.begin_sign_in(&browser, &scope).await;
    ada.approve(&waiting).await;
    let page = browser.get(&waiting.url).await;
    assert!(!page.asks_for_consent(), "{}", page.body);
}

#[both_databases]
async fn the_session_ends_with_all_others_and_its_tokens_with_it(database: Database) {
    let (host, ada) = start(database).await;
    let tokens = approved(&host, &ada, &[]).await;
    let access = tokens["access_token"].text();
    assert_eq!(userinfo(&host, access).await.0, StatusCode::OK);
    let mut connection = host.connection().await;
    let query = "SELECT sid FROM session_applications";
    let rows: Vec<(String,)> = assent_store::sql::query_as(query)
        .fetch_all(&mut connection)
        .await
        .expect("read");
    let sid = jwt_claims(tokens["id_token"].text())["sid"]
        .text()
        .to_owned();
    assert_eq!(
        rows,
        [(sid,)],
        "{database:?}: the application takes part in the session"
    );
    let path = format!("/users/{}", id(&ada.user));
    host.admin_ok(Method::PATCH, &path, json!({"state": "suspended"}))
        .await;
    host.admin_ok(Method::PATCH, &path, json!({"state": "active"}))
        .await;
    let (status, _) = userinfo(&host, access).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED, "{database:?}");
}

/// A client that asks while the user signs in in a browser: the sign-in is neither hidden nor replaced nor confused
/// with it.
#[both_databases]
async fn a_sign_in_in_a_browser_is_neither_hidden_nor_replaced_nor_confused(database: Database) {
    let (host, ada) = start(database).await;
    let browser = Browser::new(&host.base);
    let waiting = ada.begin_sign_in(&browser, &[]).await;
    let auth_req_id = asked(&host, &ada, &[]).await;
    let requests = ada.device.pending_requests(5).await;
    assert_eq!(requests.len(), 2, "{database:?}: {requests:?}");
    let (asked_for, others): (Vec<_>, Vec<_>) = requests
        .iter()
        .partition(|request| request.backchannel.is_some());
    // The number of the browser approves only the request of the browser.
    let number = waiting.number();
    let error = ada
        .device
        .decide(asked_for[0], Some(&number))
        .await
        .expect_err("a number that belongs to the sign-in");
    assert!(error.to_string().starts_with("number_mismatch"), "{error}");
    let error = ada
        .device
        .decide(others[0], Some(""))
        .await
        .expect_err("a sign-in without a number");
    assert!(error.to_string().starts_with("number_mismatch"), "{error}");
    assert_eq!(ada.device.approve(others[0], &number).await, "approved");
    assert_eq!(
        poll_error(&host, &ada, &auth_req_id).await,
        "authorization_pending",
        "{database:?}: another approval"
    );
    assert!(
        !browser
            .finish(&waiting.url)
            .await
            .parameter("code")
            .is_empty()
    );
    // A new sign-in does not replace the request of the application either.
    let second = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    assert!(!second.number().is_empty());
    assert_eq!(ada.device.approve(asked_for[0], "").await, "approved");
    let (status, tokens) = poll(&host.base, &ada.application, &auth_req_id).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {tokens}");
}
