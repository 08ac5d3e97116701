//! Device authorization (RFC 8628): sign-in on a device whose code the user enters in the authenticator. A test of an
//! attack has the name of its line.

mod codes;
mod polls;

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

pub(super) const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// A short interval, so that tests of polls advance the clock by a second.
const SETTINGS: &str = "[oidc.device_authorization]\ninterval = \"1s\"\n";

/// Lets an application show codes.
pub(super) async fn permit(host: &Admin, application: &Application) {
    let path = format!("/applications/{}", application.id);
    let grants = json!(["authorization_code", "refresh_token", GRANT]);
    host.admin_ok(Method::PATCH, &path, json!({"grant_types": grants}))
        .await;
}

/// Starts an instance with Ada, whose application may show codes.
pub async fn start(database: Database) -> (TestHost, TestUser) {
    start_with(database, SETTINGS).await
}

/// Does the same with these settings.
pub(super) async fn start_with(database: Database, settings: &str) -> (TestHost, TestUser) {
    let host = TestHost::start_on_with(database, settings).await;
    let ada = host.ada().await;
    permit(&host, &ada.application).await;
    (host, ada)
}

/// Posts a form with the credentials of the application. A public one sends its identifier.
async fn post(
    url: String,
    application: &Application,
    form: &[(&str, &str)],
) -> (StatusCode, Value) {
    let mut form = form.to_vec();
    if application.secret.is_none() {
        form.push(("client_id", &application.id));
    }
    let request = http_client().post(url).form(&form);
    let request = match &application.secret {
        Some(secret) => request.basic_auth(&application.id, Some(secret)),
        None => request,
    };
    let response = request.response().await;
    let cache = response.headers()["cache-control"].to_str();
    assert_eq!(cache.expect("a text"), "no-store");
    (response.status(), response.json().await.unwrap_or_default())
}

/// Asks for codes with this scope.
pub(super) async fn ask(base: &str, application: &Application, scope: &str) -> (StatusCode, Value) {
    let url = format!("{base}/oidc/device_authorization");
    post(url, application, &[("scope", scope)]).await
}

/// The codes of a device.
pub(super) struct Codes {
    pub(super) device_code: String,
    pub(super) user_code: String,
    pub(super) answer: Value,
}

/// Asks for codes, which the server issues.
pub(super) async fn codes(host: &TestHost, application: &Application) -> Codes {
    let (status, answer) = ask(&host.base, application, "openid profile").await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    Codes {
        device_code: answer["device_code"].text().to_owned(),
        user_code: answer["user_code"].text().to_owned(),
        answer,
    }
}

/// Polls for the result.
pub(super) async fn poll(
    base: &str,
    application: &Application,
    device_code: &str,
) -> (StatusCode, Value) {
    let form = [("grant_type", GRANT), ("device_code", device_code)];
    post(format!("{base}/oidc/token"), application, &form).await
}

/// Polls for a result that is an error, and returns it.
pub(super) async fn poll_error(
    host: &TestHost,
    application: &Application,
    device_code: &str,
) -> String {
    let (status, answer) = poll(&host.base, application, device_code).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    answer["error"].text().to_owned()
}

/// Enters a code, and returns the only pending request of the device.
pub(super) async fn entered(device: &Device, user_code: &str) -> PendingRequest {
    let entered = device.enter_code(user_code).await;
    let request = entered.unwrap_or_else(|error| panic!("{user_code} should be right: {error:#}"));
    let mut requests = device.pending_requests(5).await;
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert_eq!(requests[0].id, request);
    requests.remove(0)
}

/// Enters a code that the server rejects, and returns the error.
pub(super) async fn entry_error(device: &Device, user_code: &str) -> String {
    let entered = device.enter_code(user_code).await;
    let error = entered.expect_err("a rejection").to_string();
    error.split(':').next().unwrap_or_default().to_owned()
}

/// Signs in on a device: Ada enters the code and approves. Returns the tokens.
pub async fn approved(host: &TestHost, ada: &TestUser) -> Value {
    let codes = codes(host, &ada.application).await;
    let request = entered(&ada.device, &codes.user_code).await;
    assert_eq!(ada.device.approve(&request, "").await, "approved");
    let (status, tokens) = poll(&host.base, &ada.application, &codes.device_code).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    tokens
}

#[both_databases]
async fn a_user_signs_in_on_a_device_by_its_code(database: Database) {
    let (host, ada) = start(database).await;
    let scope = "openid profile email offline_access";
    let (status, answer) = ask(&host.base, &ada.application, scope).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {answer}");
    assert_eq!(answer["expires_in"], 600);
    assert_eq!(answer["interval"], 1);
    let (device_code, user_code) = (answer["device_code"].text(), answer["user_code"].text());
    assert_eq!(device_code.len(), "dc_".len() + 64, "{device_code}");
    let page = format!("{}/device", host.base);
    assert_eq!(answer["verification_uri"], page.as_str());
    assert_eq!(
        answer["verification_uri_complete"],
        format!("{page}?user_code={user_code}")
    );
    let application = &ada.application;
    assert_eq!(
        poll_error(&host, application, device_code).await,
        "authorization_pending"
    );
    host.advance(90);
    let request = entered(&ada.device, user_code).await;
    assert_eq!(request.application.id, application.id);
    assert_eq!(request.account, "ada");
    assert!(!request.place.is_empty(), "{request:?}");
    assert_eq!(request.browser, "");
    let shown = request.device_authorization.clone().expect("a device");
    assert_eq!(shown.user_code, user_code);
    let now = assent_model::clock::Clock::now(&*host.clock).seconds();
    assert_eq!(now - shown.asked_at, 90, "the age of the request");
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
    // The entry decides nothing.
    assert_eq!(
        poll_error(&host, application, device_code).await,
        "authorization_pending"
    );
    assert_eq!(ada.device.approve(&request, "").await, "approved");
    let (status, tokens) = poll(&host.base, application, device_code).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {tokens}");
    assert_eq!(tokens["scope"], scope);
    let id_token = tokens["id_token"].text();
    assert!(jwt_header(id_token)["kid"].is_string());
    let claims = jwt_claims(id_token);
    assert_eq!(claims["acr"], "urn:assent:acr:device");
    assert_eq!(claims["amr"], json!(["swk", "user"]));
    assert!(!claims["sid"].text().is_empty());
    let (status, user) = userinfo(&host, tokens["access_token"].text()).await;
    assert_eq!(status, StatusCode::OK, "{user}");
    assert_eq!(user["sub"], claims["sub"]);
    let token = refresh_token(&tokens);
    let (status, refreshed) = refresh(&host.base, application, token, &[]).await;
    assert_eq!(status, StatusCode::OK, "{refreshed}");
    let again = jwt_claims(refreshed["id_token"].text());
    assert_eq!(again["sid"], claims["sid"]);

    // The approval is the consent.
    let browser = Browser::new(&host.base);
    let waiting = ada
        .begin_sign_in(&browser, &[("scope", Some("openid profile email"))])
        .await;
    ada.approve(&waiting).await;
    let page = browser.get(&waiting.url).await;
    assert!(!page.asks_for_consent(), "{}", page.body);
}

/// A public client, which has neither a secret nor PKCE here.
#[both_databases]
async fn a_public_application_signs_in_by_a_code(database: Database) {
    let host = TestHost::start_on_with(database, SETTINGS).await;
    let native = host.native_application().await;
    let (status, answer) = ask(&host.base, &native, "openid").await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    assert_eq!(
        answer["error"], "unauthorized_client",
        "off by default: {answer}"
    );
    permit(&host, &native).await;
    let ada = host.user_with_account("ada", native).await;
    let tokens = approved(&host, &ada).await;
    let (status, _) = userinfo(&host, tokens["access_token"].text()).await;
    assert_eq!(status, StatusCode::OK, "{database:?}");
}

#[both_databases]
async fn the_session_ends_with_all_others_and_its_tokens_with_it(database: Database) {
    let (host, ada) = start(database).await;
    let tokens = approved(&host, &ada).await;
    let access = tokens["access_token"].text();
    assert_eq!(userinfo(&host, access).await.0, StatusCode::OK);
    let path = format!("/users/{}", id(&ada.user));
    for state in ["suspended", "active"] {
        host.admin_ok(Method::PATCH, &path, json!({"state": state}))
            .await;
    }
    let (status, _) = userinfo(&host, access).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED, "{database:?}");
}

#[tokio::test]
async fn requests_with_parameters_of_other_endpoints_are_rejected() {
    let (host, ada) = start(Database::Sqlite).await;
    let url = format!("{}/oidc/device_authorization", host.base);
    for (form, error) in [
        (vec![], "invalid_request"),
        (vec![("scope", "profile")], "invalid_scope"),
        (
            vec![("scope", "openid"), ("request", "x")],
            "invalid_request",
        ),
        (
            vec![("scope", "openid"), ("request_uri", "urn:x")],
            "invalid_request",
        ),
        (
            vec![("scope", "openid"), ("authorization_details", "[]")],
            "invalid_request",
        ),
    ] {
        let (status, answer) = post(url.clone(), &ada.application, &form).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{form:?}");
        assert_eq!(answer["error"], error, "{form:?}: {answer}");
    }
    let stranger = Application {
        secret: Some("wrong".to_owned()),
        ..ada.application.clone()
    };
    let (status, answer) = ask(&host.base, &stranger, "openid").await;
    assert_eq!(status, StatusCode::UNAUTHORIZED, "{answer}");
}
