//! Null in changes: for each member of each PATCH of the OpenAPI document, it removes the value, or it is an error that
//! names the member (RFC 7396).

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Map, Value, json};

use crate::harness::tls::certificate_of;
use crate::harness::{Database, EncodedCertificate, Json, TestHost, id};

/// An object with a PATCH.
struct Object {
    /// The path in the document.
    template: &'static str,
    /// The name of the schema of its changes.
    schema: &'static str,
    /// The path of the object.
    path: String,
}

async fn objects(host: &TestHost) -> Vec<Object> {
    let application = host.web_application().await;
    let ada = host.user("ada").await;
    let account = host.account(&ada, &application).await;
    let group = json!({"name": "Readers"});
    let group = host.admin_ok(Method::POST, "/groups", group).await;
    let wiki = json!({"protocol": "saml", "name": "Wiki", "entity_id": "https://wiki.example/saml",
                      "acs": [{"url": "https://wiki.example/acs"}]});
    let wiki = host.admin_ok(Method::POST, "/applications", wiki).await;
    let object = |template: &'static str, schema, id: &str| Object {
        template,
        schema,
        path: template.replace("{id}", id),
    };
    vec![
        object("/users/{id}", "UserChange", id(&ada)),
        object("/accounts/{id}", "AccountChange", id(&account)),
        object("/groups/{id}", "GroupUpdate", id(&group)),
        object("/applications/{id}", "ClientChange", &application.id),
        object("/applications/{id}", "ServiceProviderChange", id(&wiki)),
    ]
}

/// Returns a change after which each removable member has a value.
fn values(schema: &str) -> Value {
    match schema {
        "UserChange" => json!({
            "email": "ada@example.org",
            "console_role": "support",
            "profile": {"nickname": "Countess"},
        }),
        "AccountChange" => json!({"roles": ["reader"]}),
        "GroupUpdate" => json!({"description": "They read."}),
        "ClientChange" => json!({
            "redirect_uris": ["https://rp.example/cb"],
            "post_logout_redirect_uris": ["https://rp.example/bye"],
            "grant_types": ["client_credentials"],
            "backchannel_logout_uri": "https://rp.example/logout",
            "initiate_login_uri": "https://rp.example/start",
            "admin_scopes": ["admin:read"],
            "request_object_signing_alg": "PS256",
            "token_endpoint_auth_signing_alg": "PS256",
            "authorization_details_types": ["payment"],
            "authorization_signed_response_alg": "PS256",
            "userinfo_signed_response_alg": "PS256",
            "introspection_signed_response_alg": "PS256",
            "request_uris": ["https://rp.example/object"],
            "recipe": "grafana",
            "second_approver_group": "0123456789abcdef0123456789abcdef",
            "policy_uri": "https://rp.example/privacy",
            "tos_uri": "https://rp.example/terms",
            "client_uri": "https://rp.example/about",
            "contacts": ["support@rp.example"],
        }),
        "ServiceProviderChange" => json!({
            "single_logout": {"url": "https://wiki.example/slo", "binding": "post"},
            "other_name_id_formats": ["persistent"],
            "certificates": [certificate_of("wiki").0.pem()],
            "custom_attributes": [{"name": "mail", "values": ["{email}"]}],
            "default_relay_state": "/start",
            "relay_states": ["/other"],
            "idp_entity_id": "https://id.example",
            "metadata_url": "https://wiki.example/metadata",
            "recipe": "zabbix",
        }),
        other => panic!("no values for {other}"),
    }
}

/// The members that depend on others, or on another server. Tests of their own remove them.
const DEPENDENT: [&str; 15] = [
    "backchannel_authentication_request_signing_alg",
    "jwks",
    "jwks_uri",
    "public_key",
    "certificate",
    "tls_client_auth_subject_dn",
    "tls_client_auth_san_dns",
    "tls_client_auth_san_uri",
    "tls_client_auth_san_ip",
    "tls_client_auth_san_email",
    "sector_identifier",
    "security_profile",
    "frontchannel_logout_uri",
    "backchannel_client_notification_endpoint",
    "logo_uri",
];

fn properties<'a>(document: &'a Value, schema: &str) -> &'a Map<String, Value> {
    document["components"]["schemas"][schema]["properties"].members()
}

fn may_be_null(schema: &Value) -> bool {
    let is_null = |part: &Value| *part == json!("null") || part["type"] == json!("null");
    ["type", "oneOf", "anyOf"]
        .iter()
        .filter_map(|name| schema[*name].as_array())
        .flatten()
        .any(is_null)
}

fn is_absent(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.values().all(is_absent),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

#[both_databases]
async fn null_removes_each_member_or_is_an_error(database: Database) {
    let host = TestHost::start_on(database).await;
    let document = host
        .admin_ok(Method::GET, "/openapi.json", Value::Null)
        .await;
    let objects = objects(&host).await;
    for Object { path, schema, .. } in &objects {
        let values = values(schema);
        for (member, described) in properties(&document, schema) {
            let is_removable = may_be_null(described);
            if is_removable && DEPENDENT.contains(&member.as_str()) {
                continue;
            }
            host.admin_ok(Method::PATCH, path, values.clone()).await;
            let before = host.admin_ok(Method::GET, path, Value::Null).await;
            let (status, answer) = host
                .admin(Method::PATCH, path, json!({ member: null }))
                .await;
            let after = host.admin_ok(Method::GET, path, Value::Null).await;
            let what = format!("{schema}.{member}: {answer}");
            if is_removable {
                assert!(!is_absent(&before[member]), "{what}: it has no value");
                assert_eq!(status, StatusCode::OK, "{what}");
                assert!(is_absent(&after[member]), "{what}: {}", after[member]);
            } else {
                assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{what}");
                assert_eq!(answer["errors"][0]["pointer"], format!("/{member}"));
                assert_eq!(before, after, "{what}");
            }
        }
    }
    // A new PATCH belongs into this test.
    let patched = document["paths"].members();
    for (path, operations) in patched {
        let is_tested = objects.iter().any(|object| object.template == path);
        assert_eq!(operations.get("patch").is_some(), is_tested, "{path}");
    }
}

#[tokio::test]
async fn null_removes_each_member_of_a_profile() {
    let host = TestHost::start().await;
    let document = host
        .admin_ok(Method::GET, "/openapi.json", Value::Null)
        .await;
    let path = format!("/users/{}", id(&host.user("ada").await));
    let address = properties(&document, "AddressChange");
    for (member, described) in properties(&document, "ProfileChange") {
        let value = match member.as_str() {
            "email_verified" | "phone_number_verified" => json!(true),
            "address" => json!({"country": "GB"}),
            "birthdate" => json!("1815-12-10"),
            "zoneinfo" => json!("Europe/London"),
            "locale" => json!("en-GB"),
            "phone_number" => json!("+44 20 7946 0000"),
            "picture" | "profile" | "website" => json!("https://ada.example/"),
            _ => json!("Ada"),
        };
        assert!(may_be_null(described), "{member}: {described}");
        let profile = |value: Value| json!({"profile": {member: value}});
        let before = host
            .admin_ok(Method::PATCH, &path, profile(value.clone()))
            .await;
        assert_eq!(before["profile"][member], value);
        let after = host
            .admin_ok(Method::PATCH, &path, profile(Value::Null))
            .await;
        assert!(is_absent(&after["profile"][member]), "{member}: {after}");
    }
    for (member, described) in address {
        assert!(may_be_null(described), "{member}: {described}");
        let change = |value: Value| json!({"profile": {"address": {member: value, "region": "x"}}});
        host.admin_ok(Method::PATCH, &path, change(json!("y")))
            .await;
        let mut removal = change(Value::Null);
        removal["profile"]["address"][member] = Value::Null;
        let after = host.admin_ok(Method::PATCH, &path, removal).await;
        assert!(is_absent(&after["profile"]["address"][member]), "{after}");
    }
    // A member that does not exist cannot be removed.
    for profile in [
        json!({"nick_name": null}),
        json!({"address": {"city": null}}),
    ] {
        let (status, answer) = host
            .admin(Method::PATCH, &path, json!({ "profile": profile }))
            .await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
        assert_eq!(answer["errors"][0]["pointer"], "/profile");
    }
}

#[tokio::test]
async fn null_removes_a_part_of_single_logout() {
    let host = TestHost::start().await;
    let wiki = json!({"protocol": "saml", "name": "Wiki", "entity_id": "https://wiki.example/saml",
                      "acs": [{"url": "https://wiki.example/acs"}],
                      "single_logout": {"url": "https://wiki.example/slo", "binding": "post",
                                        "response_url": "https://wiki.example/answer"}});
    let wiki = host.admin_ok(Method::POST, "/applications", wiki).await;
    let path = format!("/applications/{}", id(&wiki));
    for member in ["url", "binding"] {
        let change = json!({"single_logout": {member: null}});
        let (status, answer) = host.admin(Method::PATCH, &path, change).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
        let pointer = format!("/single_logout/{member}");
        assert_eq!(answer["errors"][0]["pointer"], pointer);
    }
    // The other members keep their values.
    let change = json!({"single_logout": {"response_url": null}});
    let after = host.admin_ok(Method::PATCH, &path, change).await;
    let expected =
        json!({"url": "https://wiki.example/slo", "response_url": null, "binding": "post"});
    assert_eq!(after["single_logout"], expected);
    let change = json!({"single_logout": {"binding": "redirect"}});
    let after = host.admin_ok(Method::PATCH, &path, change).await;
    assert_eq!(after["single_logout"]["url"], "https://wiki.example/slo");
    assert_eq!(after["single_logout"]["binding"], "redirect");
}

#[tokio::test]
async fn keys_and_sectors_can_be_removed_only_with_their_use() {
    let host = TestHost::start().await;
    let path = format!("/applications/{}", host.web_application().await.id);
    let (certificate, key) = certificate_of("books");
    let public_key = key.public_key_to_pem().expect("a key");
    let public_key = String::from_utf8(public_key).expect("PEM");
    let jwk = josekit::jwk::KeyPair::to_jwk_public_key(
        &josekit::jwk::alg::rsa::RsaKeyPair::from_der(key.private_key_to_pkcs8().expect("a key"))
            .expect("a pair"),
    );
    let pem = certificate.pem();
    for (method, member, value) in [
        ("private_key_jwt", "jwks", json!({"keys": [jwk.as_ref()]})),
        (
            "private_key_jwt",
            "jwks_uri",
            json!("https://rp.example/jwks"),
        ),
        ("private_key_jwt", "public_key", json!(public_key)),
        ("private_key_jwt", "certificate", json!(pem)),
        ("tls_client_certificate", "certificate", json!(pem)),
    ] {
        let change = json!({"token_endpoint_auth_method": method, member: value});
        let before = host.admin_ok(Method::PATCH, &path, change).await;
        let (status, answer) = host
            .admin(Method::PATCH, &path, json!({ member: null }))
            .await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
        assert_eq!(answer["errors"][0]["pointer"], format!("/{member}"));
        let same = host.admin_ok(Method::GET, &path, Value::Null).await;
        assert_eq!(same["updated_at"], before["updated_at"]);
        // Another key replaces it in the same request.
        let change = json!({"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": "https://rp.example/other",
                            "public_key": null, "jwks": null, "certificate": null});
        let after = host.admin_ok(Method::PATCH, &path, change).await;
        assert_eq!(after["jwks_uri"], "https://rp.example/other");
        assert!(after.get("jwks").is_none() && after.get("certificate").is_none());
        // Without a use it can be removed.
        let change = json!({"token_endpoint_auth_method": "client_secret_basic", member: null});
        let after = host.admin_ok(Method::PATCH, &path, change).await;
        for key in ["jwks", "jwks_uri", "certificate"] {
            assert!(after.get(key).is_none(), "{after}");
        }
    }
    let change = json!({"subject_type": "pairwise", "sector_identifier": "app.example"});
    host.admin_ok(Method::PATCH, &path, change).await;
    let change = json!({"sector_identifier": null});
    let (status, answer) = host.admin(Method::PATCH, &path, change).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
    assert_eq!(answer["errors"][0]["pointer"], "/sector_identifier");
    let change = json!({"subject_type": "public", "sector_identifier": null});
    let after = host.admin_ok(Method::PATCH, &path, change).await;
    assert!(after.get("sector_identifier").is_none(), "{after}");
}

#[tokio::test]
async fn null_in_a_manifest_is_the_absence_of_a_value_or_an_error() {
    let host = TestHost::start().await;
    let manifest = json!({
        "owner": "team",
        "applications": [{"key": "books", "name": "Books", "application_type": "web",
            "redirect_uris": ["https://rp.example/cb"], "initiate_login_uri": null, "jwks": null}],
        "groups": [{"key": "readers", "name": "Readers", "description": null, "adopt": null}],
        "assignments": [{"application": "books", "group": "readers"}],
    });
    let plan = |manifest: &Value| json!({ "manifest": manifest });
    host.admin_ok(Method::POST, "/plans", plan(&manifest)).await;
    for pointer in [
        "/applications/0/enabled",
        "/applications/0/name",
        "/applications/0/logo",
        "/groups/0/name",
        "/groups/0/members",
        "/assignments/0/group",
        "/assignments/0/roles",
    ] {
        let mut manifest = manifest.clone();
        let (object, member) = pointer.rsplit_once('/').expect("a member");
        let object = manifest.pointer_mut(object).expect("an object");
        object[member] = Value::Null;
        let (status, answer) = host.admin(Method::POST, "/plans", plan(&manifest)).await;
        assert!(status.is_client_error(), "{pointer}: {answer}");
        let named = answer["errors"][0].to_string();
        assert!(named.contains(member), "{pointer}: {answer}");
    }
    let answered = host.admin_ok(Method::GET, "/manifests", Value::Null).await;
    assert!(answered["items"].items().is_empty(), "nothing was applied");
}
