//! Reading, updating and deleting an application by its registration access token (RFC 7592).

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Fixture, fixture, fixture_on, metadata, own_url, send};
use crate::harness::{Database, Json, Respond, Text, http_client};

/// Returns an update with these changes.
fn update_of(client: &Value, changes: Value) -> Value {
    let mut update = json!({"client_id": client["client_id"]});
    update.members_mut().extend(changes.members().clone());
    metadata(&update)
}

impl Fixture {
    async fn update(&self, client: &Value, changes: Value) -> (StatusCode, Value) {
        self.call(Method::PUT, client, update_of(client, changes))
            .await
    }

    async fn refused_update(&self, client: &Value, changes: Value) -> String {
        let (status, answer) = self.update(client, changes.clone()).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{changes}: {answer}");
        answer["error"].text().to_owned()
    }
}

#[both_databases]
async fn an_application_reads_updates_and_deletes_itself(database: Database) {
    let it = fixture_on(database).await;
    let client = it.registered(json!({})).await;
    let (status, read) = it.call(Method::GET, &client, Value::Null).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {read}");
    let token = &client["registration_access_token"];
    assert_eq!(&read["registration_access_token"], token);
    assert!(
        read.get("client_secret").is_none(),
        "the server has a digest"
    );
    for member in ["client_id", "client_id_issued_at", "redirect_uris", "scope"] {
        assert_eq!(read[member], client[member], "{database:?}: {member}");
    }
    let changes = json!({
        "client_name": "Library",
        "redirect_uris": ["https://rp.example/cb", "https://rp.example/new"],
    });
    let (status, updated) = it.update(&client, changes).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {updated}");
    assert_eq!(updated["client_name"], "Library");
    assert_eq!(&updated["registration_access_token"], token);
    assert!(updated.get("client_secret").is_none());
    let own = it.application(&client).await;
    assert_eq!(own["redirect_uris"], updated["redirect_uris"]);
    // The answer to GET can be sent back.
    let (_, read) = it.call(Method::GET, &client, Value::Null).await;
    let (status, again) = it.call(Method::PUT, &client, read.clone()).await;
    assert_eq!((status, &again), (StatusCode::OK, &read), "{database:?}");
    let (status, _) = it.call(Method::DELETE, &client, Value::Null).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "{database:?}");
    let (status, _) = it.call(Method::GET, &client, Value::Null).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED, "{database:?}");
    let path = format!("/applications/{}", client["client_id"].text());
    let (status, _) = it.host.admin(Method::GET, &path, Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

/// Returns the version of an application in the database, and the number of entries about updates of it.
async fn writes(it: &Fixture, client: &Value) -> (i64, usize) {
    let id = client["client_id"].text();
    let mut db = it.host.connection().await;
    let (version,): (i64,) =
        assent_store::sql::query_as("SELECT version FROM applications WHERE id = $1")
            .bind(id.to_owned())
            .fetch_one(&mut db)
            .await
            .expect("a version");
    let path = format!("/audit?event=application.updated&application={id}");
    let entries = it.host.admin_ok(Method::GET, &path, Value::Null).await;
    (version, entries["items"].as_array().map_or(0, Vec::len))
}

/// An update without a difference leaves the version of the application and the audit log unchanged.
#[both_databases]
async fn an_update_without_a_difference_writes_nothing(database: Database) {
    let it = fixture_on(database).await;
    let client = it.registered(json!({})).await;
    let before = writes(&it, &client).await;
    let (status, first) = it.update(&client, json!({})).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {first}");
    assert!(first.get("client_secret").is_none(), "{first}");
    let (_, second) = it.update(&client, json!({})).await;
    assert_eq!(second, first, "{database:?}");
    assert_eq!(writes(&it, &client).await, before, "{database:?}");
    let (status, _) = it.update(&client, json!({"client_name": "Library"})).await;
    assert_eq!(status, StatusCode::OK, "{database:?}");
    let (version, entries) = before;
    let after = writes(&it, &client).await;
    assert_eq!(after, (version + 1, entries + 1), "{database:?}");
}

/// The updates of one application have a limit of their own. Reading does not count, and another application has its
/// own limit.
#[tokio::test]
async fn updates_of_one_application_are_limited() {
    let it = fixture().await;
    let (own, other) = (
        it.registered(json!({})).await,
        it.registered(json!({})).await,
    );
    for _ in 0..60 {
        let (status, answer) = it.update(&own, json!({})).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
    }
    let request = || {
        http_client()
            .put(own_url(&it.host, &own))
            .bearer_auth(own["registration_access_token"].text())
            .json(&update_of(&own, json!({})))
    };
    let response = request().response().await;
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(response.headers()["retry-after"], "60");
    let answer: Value = response.json().await.expect("JSON");
    assert_eq!(answer["error"], "temporarily_unavailable", "{answer}");
    let (status, _) = it.call(Method::GET, &own, Value::Null).await;
    assert_eq!(status, StatusCode::OK);
    let (status, _) = it.update(&other, json!({})).await;
    assert_eq!(status, StatusCode::OK);
    it.host.advance(60);
    assert_eq!(send(request()).await.0, StatusCode::OK);
}

/// An unknown application and a wrong token cannot be distinguished.
#[tokio::test]
async fn a_wrong_token_and_an_unknown_application_are_the_same() {
    let it = fixture().await;
    let (own, other) = (
        it.registered(json!({})).await,
        it.registered(json!({})).await,
    );
    let administered = it.host.web_application().await;
    let foreign = other["registration_access_token"].text();
    let mut answers = Vec::new();
    for (id, token) in [
        (own["client_id"].text(), foreign),
        (own["client_id"].text(), "ra_unknown"),
        (own["client_id"].text(), it.token.as_str()),
        (own["client_id"].text(), it.host.token.as_str()),
        (administered.id.as_str(), foreign),
        ("did:key:unknown", foreign),
        ("x", foreign),
    ] {
        for method in [Method::GET, Method::PUT, Method::DELETE] {
            let url = format!("{}/oidc/register/{id}", it.host.base);
            let request = http_client()
                .request(method.clone(), url)
                .bearer_auth(token);
            let request = request.json(&update_of(&own, json!({})));
            let (status, answer) = send(request).await;
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{method} {id}: {answer}");
            answers.push(answer);
        }
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    let response = http_client().get(own_url(&it.host, &own)).send().await;
    let response = response.expect("a response");
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    assert!(response.headers().contains_key("www-authenticate"));
}

/// An update names its application.
#[tokio::test]
async fn an_update_names_the_client_id() {
    let it = fixture().await;
    let (own, other) = (
        it.registered(json!({})).await,
        it.registered(json!({})).await,
    );
    for named in [json!(null), other["client_id"].clone(), json!(7)] {
        let error = it.refused_update(&own, json!({"client_id": named})).await;
        assert_eq!(error, "invalid_client_metadata", "{named}");
    }
}

/// An application raises none of its rights, also after an administrator reduced them.
#[tokio::test]
async fn an_update_raises_no_right() {
    let it = fixture().await;
    let client = it
        .registered(json!({"grant_types": ["authorization_code"]}))
        .await;
    let path = format!("/applications/{}", client["client_id"].text());
    let reduced = json!({"scopes": ["openid"], "enabled": false, "require_pkce": true});
    it.host.admin_ok(Method::PATCH, &path, reduced).await;
    for changes in [
        json!({}),
        json!({"scope": "openid groups"}),
        json!({"scope": "openid admin:read"}),
        json!({"scope": "openid", "grant_types": ["authorization_code", "refresh_token"]}),
        json!({"scope": "openid", "grant_types": ["client_credentials"]}),
        json!({"scope": "openid", "subject_type": "pairwise"}),
        json!({"scope": "openid", "token_endpoint_auth_method": "none"}),
        json!({"scope": "openid", "application_type": "native"}),
    ] {
        let error = it.refused_update(&client, changes.clone()).await;
        assert_eq!(error, "invalid_client_metadata", "{changes}");
    }
    // Members of the admin API are unknown metadata.
    let changes = json!({
        "scope": "openid", "enabled": true, "admin_scopes": ["admin:read"], "consent": "implied",
        "passkey_sign_in": true, "require_pkce": false, "scopes": ["openid", "groups"],
        "recipe": "grafana", "security_profile": null, "lenient_assertion_audience": true,
        "everyone": true, "accounts": ["ada"], "plugins": ["account-roles"],
    });
    let (status, updated) = it.update(&client, changes).await;
    assert_eq!(status, StatusCode::OK, "{updated}");
    let own = it.application(&client).await;
    for (member, expected) in [
        ("scopes", json!(["openid"])),
        ("enabled", json!(false)),
        ("admin_scopes", json!([])),
        ("consent", json!("ask")),
        ("passkey_sign_in", json!(false)),
        ("require_pkce", json!(true)),
        ("recipe", json!(null)),
        ("lenient_assertion_audience", json!(false)),
    ] {
        assert_eq!(own[member], expected, "{member}");
    }
}

/// A requirement stays in force without its member.
#[tokio::test]
async fn an_update_removes_no_requirement() {
    let it = fixture().await;
    let required = json!({
        "require_pushed_authorization_requests": true, "dpop_bound_access_tokens": true,
    });
    let client = it.registered(required).await;
    for changes in [
        json!({}),
        json!({"require_pushed_authorization_requests": false, "dpop_bound_access_tokens": false}),
    ] {
        let (status, updated) = it.update(&client, changes).await;
        assert_eq!(status, StatusCode::OK, "{updated}");
        assert_eq!(
            updated["require_pushed_authorization_requests"],
            json!(true)
        );
        assert_eq!(updated["dpop_bound_access_tokens"], json!(true));
    }
}

/// The limits of the token stay in force after its deletion.
#[tokio::test]
async fn limits_stay_in_force_for_updates() {
    let it = fixture().await;
    let values = json!({"redirect_hosts": ["rp.example"]});
    let token = super::new_token(&it.host, values).await;
    let (_, client) = it.register_with(token["token"].text(), json!({})).await;
    let path = format!("/registration-tokens/{}", crate::harness::id(&token));
    it.host.admin_ok(Method::DELETE, &path, Value::Null).await;
    let foreign = json!({"redirect_uris": ["https://evil.example/cb"]});
    let error = it.refused_update(&client, foreign).await;
    assert_eq!(error, "invalid_redirect_uri");
    let (status, _) = it.update(&client, json!({"client_name": "Library"})).await;
    assert_eq!(status, StatusCode::OK);
}

/// A change of the authentication method creates a secret, which only its response has.
#[tokio::test]
async fn a_new_method_has_a_new_secret() {
    let it = fixture().await;
    let keys = json!({
        "token_endpoint_auth_method": "private_key_jwt",
        "jwks_uri": "https://rp.example/jwks",
    });
    let client = it.registered(keys).await;
    assert!(client.get("client_secret").is_none(), "{client}");
    let (status, updated) = it.update(&client, json!({})).await;
    assert_eq!(status, StatusCode::OK, "{updated}");
    assert!(updated["client_secret"].is_string(), "{updated}");
    assert_eq!(updated["client_secret_expires_at"], json!(0));
    let (_, again) = it.update(&client, json!({})).await;
    assert!(again.get("client_secret").is_none(), "{again}");
}

/// An application with admin scopes is changed by administrators only.
#[tokio::test]
async fn an_application_of_administrators_does_not_change_itself() {
    let it = fixture().await;
    let client = it.registered(json!({})).await;
    let path = format!("/applications/{}", client["client_id"].text());
    let service = json!({
        "grant_types": ["authorization_code", "client_credentials"],
        "admin_scopes": ["admin:read"],
    });
    it.host.admin_ok(Method::PATCH, &path, service).await;
    let evil = json!({"token_endpoint_auth_method": "client_secret_jwt"});
    let (status, answer) = it.update(&client, evil).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{answer}");
    let (status, _) = it.call(Method::DELETE, &client, Value::Null).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    it.application(&client).await;
}

/// A manifest has an application that registered itself only after its adoption. Then the manifest manages it.
#[both_databases]
async fn a_manifest_manages_an_application_after_its_adoption(database: Database) {
    let it = fixture_on(database).await;
    let client = it.registered(json!({})).await;
    let id = client["client_id"].text();
    let apply = async |application: Value| {
        let manifest = json!({"owner": "team", "applications": [application]});
        let body = json!({"manifest": manifest, "prune": true});
        let plan = it.host.admin_ok(Method::POST, "/plans", body).await;
        let digest = &plan["digest"];
        let body = json!({"manifest": manifest, "prune": true, "digest": digest});
        it.host.admin_ok(Method::POST, "/plans/apply", body).await
    };
    let exported = async || {
        let path = "/manifests/team";
        let manifest = it.host.admin_ok(Method::GET, path, Value::Null).await;
        let applications = manifest["applications"].as_array().cloned();
        let keys = applications.unwrap_or_default();
        keys.iter()
            .map(|application| application["key"].text().to_owned())
            .collect::<Vec<String>>()
    };
    let own = |key: &str, name: &str| {
        json!({
            "key": key, "name": name, "application_type": "web",
            "redirect_uris": ["https://rp.example/cb"],
        })
    };
    // A manifest that prunes does not touch it, and its export does not have it.
    apply(own("wiki", "Wiki")).await;
    assert_eq!(exported().await, ["wiki"], "{database:?}");
    let (status, updated) = it.update(&client, json!({"client_name": "Library"})).await;
    assert_eq!(status, StatusCode::OK, "{database:?}: {updated}");
    let mut adopted = own("books", "Books");
    adopted["adopt"] = json!(id);
    apply(adopted).await;
    assert_eq!(exported().await, ["books"], "{database:?}");
    let (status, answer) = it.update(&client, json!({"client_name": "Payroll"})).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{database:?}: {answer}");
    let (status, answer) = it.call(Method::DELETE, &client, Value::Null).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{database:?}: {answer}");
    assert_eq!(it.application(&client).await["name"], "Books");
}

/// After an administrator granted requests without a browser, the application sets how it receives the results (OpenID
/// CIBA Core 1.0 section 4). It cannot grant them to itself.
#[tokio::test]
async fn an_application_sets_the_delivery_of_its_results() {
    const CIBA: &str = "urn:openid:params:grant-type:ciba";
    let it = fixture().await;
    let grants = json!(["authorization_code", CIBA]);
    let ping = json!({
        "grant_types": grants,
        "backchannel_token_delivery_mode": "ping",
        "backchannel_client_notification_endpoint": "https://rp.example/ping",
    });
    let client = it.registered(json!({})).await;
    assert!(
        client.get("backchannel_token_delivery_mode").is_none(),
        "{client}"
    );
    let error = it.refused_update(&client, ping.clone()).await;
    assert_eq!(error, "invalid_client_metadata");
    let path = format!("/applications/{}", client["client_id"].text());
    let granted = json!({"grant_types": grants});
    it.host.admin_ok(Method::PATCH, &path, granted).await;
    let (status, updated) = it.update(&client, ping.clone()).await;
    assert_eq!(status, StatusCode::OK, "{updated}");
    for (member, value) in ping.members() {
        assert_eq!(updated[member], *value, "{updated}");
    }
    // The answer to GET can be sent back.
    let (_, read) = it.call(Method::GET, &client, Value::Null).await;
    let (status, again) = it.call(Method::PUT, &client, read.clone()).await;
    assert_eq!((status, &again), (StatusCode::OK, &read));
    for wrong in [
        json!({"backchannel_client_notification_endpoint": null}),
        json!({"backchannel_client_notification_endpoint": "https://10.0.0.1/ping"}),
        json!({"backchannel_token_delivery_mode": "fax"}),
        json!({"backchannel_token_delivery_mode": "push"}),
    ] {
        let mut changes = ping.clone();
        changes.members_mut().extend(wrong.members().clone());
        let error = it.refused_update(&client, changes).await;
        assert_eq!(error, "invalid_client_metadata", "{wrong}");
    }
    // A client that polls has no address.
    let mut poll = ping;
    poll["backchannel_token_delivery_mode"] = json!("poll");
    let (status, updated) = it.update(&client, poll).await;
    assert_eq!(status, StatusCode::OK, "{updated}");
    assert_eq!(updated["backchannel_token_delivery_mode"], "poll");
    let endpoint = "backchannel_client_notification_endpoint";
    assert!(updated.get(endpoint).is_none(), "{updated}");
}
