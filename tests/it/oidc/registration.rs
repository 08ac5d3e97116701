//! Dynamic client registration (RFC 7591, RFC 7592). A test of a requirement of the OpenID suite has the name of its
//! module.

mod algorithms;
mod attacks;
mod certificates;
mod keys;
mod lifecycle;
mod logos;
mod proofs;
mod quotas;
mod statements;
mod updates;

use assent_test_macros::both_databases;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Application, Browser, Database, Json, Respond, TestHost, Text, http_client};

/// The settings with registration.
pub(super) const ENABLED: &str = "[oidc.registration]\nenabled = true\n";

/// A host with registration, and an initial access token.
pub(super) struct Fixture {
    pub(super) host: TestHost,
    pub(super) token: String,
}

pub(super) async fn fixture_on(database: Database) -> Fixture {
    fixture_with(database, ENABLED, json!({})).await
}

pub(super) async fn fixture() -> Fixture {
    fixture_on(Database::Sqlite).await
}

/// Returns a host with these settings, and a token with these values.
pub(super) async fn fixture_with(database: Database, settings: &str, values: Value) -> Fixture {
    let host = TestHost::start_on_with(database, settings).await;
    let token = new_token(&host, values).await["token"].text().to_owned();
    Fixture { host, token }
}

/// Creates an initial access token with these values.
pub(super) async fn new_token(host: &TestHost, values: Value) -> Value {
    let now = assent_model::clock::Clock::now(&*host.clock);
    let end = now + std::time::Duration::from_secs(7 * 86_400);
    let mut body = json!({
        "name": "Partners",
        "expires_at": assent::domain::audit::moment_text(end),
        "quota": 100,
    });
    body.members_mut().extend(values.members().clone());
    let path = "/registration-tokens";
    host.admin_ok(Method::POST, path, body).await
}

/// The metadata of a web application with these changes; null removes a member.
pub(super) fn metadata(changes: &Value) -> Value {
    let mut metadata = json!({
        "client_name": "Books",
        "redirect_uris": ["https://rp.example/cb"],
        "scope": "openid profile email",
    });
    metadata.members_mut().extend(changes.members().clone());
    metadata.members_mut().retain(|_, value| !value.is_null());
    metadata
}

/// Sends a request. Returns the status and the body.
pub(super) async fn send(request: RequestBuilder) -> (StatusCode, Value) {
    let response = request.response().await;
    assert_eq!(response.headers()["cache-control"], "no-store");
    let status = response.status();
    (status, response.json().await.unwrap_or_default())
}

impl Fixture {
    /// Registers an application with this token.
    pub(super) async fn register_with(&self, token: &str, changes: Value) -> (StatusCode, Value) {
        let url = format!("{}/oidc/register", self.host.base);
        let request = http_client().post(url).bearer_auth(token);
        send(request.json(&metadata(&changes))).await
    }

    /// Registers an application.
    pub(super) async fn register(&self, changes: Value) -> (StatusCode, Value) {
        self.register_with(&self.token, changes).await
    }

    /// Registers an application, which is accepted.
    pub(super) async fn registered(&self, changes: Value) -> Value {
        let (status, client) = self.register(changes).await;
        assert_eq!(status, StatusCode::CREATED, "{client}");
        client
    }

    /// Returns the error of a registration.
    pub(super) async fn refusal(&self, changes: Value) -> String {
        let (status, answer) = self.register(changes.clone()).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{changes}: {answer}");
        answer["error"].text().to_owned()
    }

    /// Calls the registration endpoint of a registered application.
    pub(super) async fn call(
        &self,
        method: Method,
        client: &Value,
        body: Value,
    ) -> (StatusCode, Value) {
        let request = http_client()
            .request(method, own_url(&self.host, client))
            .bearer_auth(client["registration_access_token"].text());
        match body.is_null() {
            true => send(request).await,
            false => send(request.json(&body)).await,
        }
    }

    /// Reads an application in the admin API.
    pub(super) async fn application(&self, client: &Value) -> Value {
        let path = format!("/applications/{}", client["client_id"].text());
        self.host.admin_ok(Method::GET, &path, Value::Null).await
    }
}

/// Returns the address of a registration at this instance.
pub(super) fn own_url(host: &TestHost, client: &Value) -> String {
    let id = client["client_id"].text();
    let uri = client["registration_client_uri"].text();
    assert_eq!(uri, format!("{}/register/{id}", host.issuer()));
    format!("{}/oidc/register/{id}", host.base)
}

/// `oidcc-registration`: an application registers itself, and a user with access signs in to it.
#[both_databases]
async fn oidcc_registration(database: Database) {
    let it = fixture_on(database).await;
    let now = assent_model::clock::Clock::now(&*it.host.clock).seconds();
    let client = it
        .registered(json!({
            "post_logout_redirect_uris": ["https://rp.example/after"],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "contacts": ["owner@rp.example"],
            "unknown_member": {"deep": [1]},
        }))
        .await;
    assert_eq!(client["client_id_issued_at"], json!(now), "{database:?}");
    assert_eq!(client["client_secret_expires_at"], json!(0));
    assert_eq!(client["client_name"], "Books");
    assert_eq!(client["application_type"], "web");
    assert_eq!(client["redirect_uris"], json!(["https://rp.example/cb"]));
    assert_eq!(client["token_endpoint_auth_method"], "client_secret_basic");
    assert_eq!(client["response_types"], json!(["code"]));
    assert_eq!(client["subject_type"], "public");
    assert_eq!(client["id_token_signed_response_alg"], "RS256");
    assert!(client.get("unknown_member").is_none(), "{client}");
    let own = it.application(&client).await;
    assert_eq!(own["registered_by"]["token_name"], "Partners");
    assert_eq!(own["admin_scopes"], json!([]));
    assert_eq!(own["passkey_sign_in"], json!(false));
    assert_eq!(own["consent"], "ask");

    let application = Application {
        id: client["client_id"].text().to_owned(),
        secret: Some(client["client_secret"].text().to_owned()),
        redirect_uri: "https://rp.example/cb".to_owned(),
    };
    let ada = it.host.user_with_account("ada", application).await;
    let tokens = ada.tokens(&it.host, &Browser::new(&it.host.base)).await;
    assert!(tokens["id_token"].is_string(), "{database:?}: {tokens}");
}

/// An application on a device registers itself without redirect URIs, and shows codes.
#[both_databases]
async fn an_application_registers_itself_for_device_codes(database: Database) {
    let it = fixture_on(database).await;
    let device = "urn:ietf:params:oauth:grant-type:device_code";
    let metadata = |more: Value| {
        let mut metadata = json!({
            "application_type": "native", "redirect_uris": null, "grant_types": [device, "refresh_token"],
        });
        metadata.members_mut().extend(more.members().clone());
        metadata
    };
    let client = it.registered(metadata(json!({"response_types": []}))).await;
    assert_eq!(client["grant_types"], json!(["refresh_token", device]));
    assert_eq!(client["response_types"], json!([]), "{database:?}");
    assert!(client.get("client_secret").is_none(), "{client}");
    let request = http_client()
        .post(format!("{}/oidc/device_authorization", it.host.base))
        .form(&[
            ("client_id", client["client_id"].text()),
            ("scope", "openid"),
        ]);
    let (status, codes) = send(request).await;
    assert_eq!(status, StatusCode::OK, "{codes}");
    for changes in [
        metadata(json!({"response_types": ["code"]})),
        metadata(json!({"grant_types": ["refresh_token"]})),
        json!({"grant_types": ["authorization_code", device], "response_types": []}),
    ] {
        assert_eq!(it.refusal(changes).await, "invalid_client_metadata");
    }
}

/// The database has the digests of the tokens and of the secret, and the audit log has none of them.
#[both_databases]
async fn no_secret_is_stored(database: Database) {
    let it = fixture_on(database).await;
    let client = it.registered(json!({})).await;
    let mut db = it.host.connection().await;
    let mut texts = Vec::new();
    for statement in [
        "SELECT digest FROM registration_tokens",
        "SELECT limits FROM registration_tokens",
        "SELECT digest FROM client_registrations",
        "SELECT metadata FROM client_registrations",
        "SELECT secrets FROM applications",
        "SELECT detail FROM audit_entries",
    ] {
        let rows: Vec<(String,)> = assent_store::sql::query_as(statement)
            .fetch_all(&mut db)
            .await
            .expect("rows");
        texts.extend(rows.into_iter().map(|(text,)| text));
    }
    assert!(texts.len() > 5, "{database:?}");
    for secret in [
        it.token.as_str(),
        client["registration_access_token"].text(),
        client["client_secret"].text(),
    ] {
        let stored = texts.iter().any(|text| text.contains(secret));
        assert!(!stored, "{database:?}: {secret}");
    }
    let events = it
        .host
        .admin_ok(
            Method::GET,
            "/audit?event=application.registered",
            Value::Null,
        )
        .await;
    let detail = &events["items"][0]["detail"];
    assert_eq!(detail["registration_token_name"], "Partners", "{events}");
}

/// Discovery names the endpoint only if the server registers applications.
#[tokio::test]
async fn registration_is_off_by_default() {
    let (off, on) = (TestHost::start().await, fixture().await.host);
    let path = "/oidc/.well-known/openid-configuration";
    let endpoint = async |host: &TestHost| {
        let response = http_client().get(format!("{}{path}", host.base));
        let document: Value = response.response().await.json().await.expect("JSON");
        document.get("registration_endpoint").cloned()
    };
    assert_eq!(endpoint(&off).await, None);
    let expected = format!("{}/register", on.issuer());
    assert_eq!(endpoint(&on).await, Some(json!(expected)));
    // A token can be created in advance.
    let token = new_token(&off, json!({})).await["token"].text().to_owned();
    for (method, path) in [
        (Method::POST, "/oidc/register"),
        (Method::GET, "/oidc/register/did:key:x"),
        (Method::PUT, "/oidc/register/did:key:x"),
        (Method::DELETE, "/oidc/register/did:key:x"),
    ] {
        let request = http_client()
            .request(method.clone(), format!("{}{path}", off.base))
            .bearer_auth(&token);
        let (status, _) = send(request.json(&metadata(&json!({})))).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{method} {path}");
    }
}

/// Each type of application, and each authentication method without a certificate.
#[tokio::test]
async fn types_and_methods_are_those_of_the_admin_api() {
    let it = fixture().await;
    for (changes, kind, method, has_secret) in [
        (json!({}), "web", "client_secret_basic", true),
        (
            json!({"token_endpoint_auth_method": "client_secret_post"}),
            "web",
            "client_secret_post",
            true,
        ),
        (
            json!({"token_endpoint_auth_method": "client_secret_jwt"}),
            "web",
            "client_secret_jwt",
            true,
        ),
        (
            json!({
                "token_endpoint_auth_method": "private_key_jwt",
                "jwks_uri": "https://rp.example/jwks",
            }),
            "web",
            "private_key_jwt",
            false,
        ),
        (
            json!({"token_endpoint_auth_method": "none"}),
            "spa",
            "none",
            false,
        ),
        (
            json!({"application_type": "native", "redirect_uris": ["http://127.0.0.1/cb"]}),
            "native",
            "none",
            false,
        ),
    ] {
        let client = it.registered(changes.clone()).await;
        let own = it.application(&client).await;
        assert_eq!(own["application_type"], kind, "{changes}");
        assert_eq!(own["token_endpoint_auth_method"], method, "{changes}");
        assert_eq!(client["token_endpoint_auth_method"], method, "{changes}");
        assert_eq!(client["client_secret"].is_string(), has_secret, "{changes}");
    }
}

/// A registration without `scope` and name has the scopes of its token, and the name of its host.
#[tokio::test]
async fn omitted_members_have_defaults() {
    let values = json!({"scopes": ["openid", "email", "offline_access"]});
    let it = fixture_with(Database::Sqlite, ENABLED, values).await;
    let client = it
        .registered(json!({"scope": null, "client_name": null}))
        .await;
    assert_eq!(client["client_name"], "rp.example");
    assert_eq!(client["grant_types"], json!(["authorization_code"]));
    let mut scopes: Vec<&str> = client["scope"].text().split(' ').collect();
    scopes.sort_unstable();
    assert_eq!(scopes, ["email", "offline_access", "openid"]);
}
