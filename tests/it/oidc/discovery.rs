//! The discovery document, member by member. Applications configure themselves from it, so no member may change
//! unnoticed.

use serde_json::{Value, json};

use crate::harness::tls::mtls_settings;
use crate::harness::{Body, Json, TestHost, get, temp_folder};

/// The algorithms of this server.
const SIGNING_ALGORITHMS: [&str; 4] = ["RS256", "PS256", "ES256", "EdDSA"];

const SCOPES: [&str; 7] = [
    "openid",
    "profile",
    "email",
    "phone",
    "address",
    "groups",
    "offline_access",
];
/// The claims of an ID token, except the claims of the scopes.
const OF_THE_TOKEN: [&str; 11] = [
    "iss",
    "sub",
    "aud",
    "exp",
    "iat",
    "auth_time",
    "sid",
    "nonce",
    "amr",
    "acr",
    "at_hash",
];
const OF_THE_SCOPES: [&str; 24] = [
    // email
    "email",
    "email_verified",
    // profile
    "name",
    "given_name",
    "family_name",
    "middle_name",
    "nickname",
    "preferred_username",
    "picture",
    "profile",
    "website",
    "gender",
    "birthdate",
    "zoneinfo",
    "locale",
    "updated_at",
    "upn",
    "user_did",
    "user_short_code",
    "account",
    // phone
    "phone_number",
    "phone_number_verified",
    // address
    "address",
    // groups
    "groups",
];
const AUTH_METHODS: [&str; 5] = [
    "client_secret_basic",
    "client_secret_post",
    "client_secret_jwt",
    "private_key_jwt",
    "none",
];
const CERTIFICATE_METHODS: [&str; 2] = ["tls_client_certificate", "self_signed_tls_client_auth"];
const ASSERTION_ALGORITHMS: [&str; 7] = [
    "RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA", "HS256",
];

/// Returns the metadata of an instance at this issuer.
fn expected(issuer: &str) -> Value {
    let claims = [&OF_THE_TOKEN[..], &OF_THE_SCOPES].concat();
    let mut metadata = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/auth"),
        "token_endpoint": format!("{issuer}/token"),
        "userinfo_endpoint": format!("{issuer}/me"),
        "jwks_uri": format!("{issuer}/jwks"),
        "introspection_endpoint": format!("{issuer}/token/introspection"),
        "revocation_endpoint": format!("{issuer}/token/revocation"),
        "pushed_authorization_request_endpoint": format!("{issuer}/par"),
        "device_authorization_endpoint": format!("{issuer}/device_authorization"),
        "require_pushed_authorization_requests": false,
        "dpop_signing_alg_values_supported": ["ES256", "PS256", "EdDSA", "ES384", "ES512"],
        "end_session_endpoint": format!("{issuer}/session/end"),
        "scopes_supported": SCOPES,
        "claims_supported": claims,
        "claim_types_supported": ["normal"],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query", "form_post", "jwt", "query.jwt", "form_post.jwt"],
        "authorization_signing_alg_values_supported": SIGNING_ALGORITHMS,
        "userinfo_signing_alg_values_supported": SIGNING_ALGORITHMS,
        "introspection_signing_alg_values_supported": SIGNING_ALGORITHMS,
        "grant_types_supported": [
            "authorization_code", "refresh_token", "client_credentials", "urn:openid:params:grant-type:ciba",
            "urn:ietf:params:oauth:grant-type:device_code",
        ],
        "code_challenge_methods_supported": ["S256"],
        "prompt_values_supported": ["none", "login", "consent", "select_account"],
        "display_values_supported": ["page", "popup", "touch", "wap"],
        "ui_locales_supported": ["en", "de"],
        "acr_values_supported": ["urn:assent:acr:device", "phr"],
        "subject_types_supported": ["public", "pairwise"],
        "id_token_signing_alg_values_supported": SIGNING_ALGORITHMS,
        "token_endpoint_auth_methods_supported": AUTH_METHODS,
        "token_endpoint_auth_signing_alg_values_supported": ASSERTION_ALGORITHMS,
        "introspection_endpoint_auth_methods_supported": AUTH_METHODS,
        "introspection_endpoint_auth_signing_alg_values_supported": ASSERTION_ALGORITHMS,
        "revocation_endpoint_auth_methods_supported": AUTH_METHODS,
        "revocation_endpoint_auth_signing_alg_values_supported": ASSERTION_ALGORITHMS,
        "tls_client_certificate_bound_access_tokens": false,
        "claims_parameter_supported": true,
        "request_parameter_supported": true,
        "request_object_signing_alg_values_supported": ["RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA"],
        "request_uri_parameter_supported": true,
        "authorization_response_iss_parameter_supported": true,
    });
    let backchannel = json!({
        "receipts_endpoint": format!("{issuer}/receipts"),
        "backchannel_authentication_endpoint": format!("{issuer}/backchannel"),
        "backchannel_token_delivery_modes_supported": ["poll", "ping"],
        "backchannel_authentication_request_signing_alg_values_supported": [
            "RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA",
        ],
        "backchannel_user_code_parameter_supported": false,
    });
    for (name, value) in backchannel.members() {
        metadata[name] = value.clone();
    }
    metadata["require_request_uri_registration"] = json!(true);
    for channel in ["backchannel", "frontchannel"] {
        for suffix in ["supported", "session_supported"] {
            metadata[format!("{channel}_logout_{suffix}")] = json!(true);
        }
    }
    metadata
}

/// A client with a certificate cannot use a server that receives none.
#[tokio::test]
async fn certificate_methods_are_listed_only_with_a_way_to_present_one() {
    let proxy = "[http]\ntrusted_proxies = [\"127.0.0.1\"]\n";
    // The programs that can connect to the socket are proxies. The instance of the test listens on a port.
    let socket = "[http]\nlisten = \"unix:/nowhere/assent.sock\"\n";
    for (settings, expected) in [
        (String::new(), false),
        (proxy.to_owned(), false),
        (format!("{proxy}client_cert_header = true\n"), true),
        (socket.to_owned(), false),
        (format!("{socket}client_cert_header = true\n"), true),
    ] {
        let host = TestHost::start_with_settings(&settings).await;
        let document = document(&host).await;
        let methods = document["token_endpoint_auth_methods_supported"].to_string();
        for method in CERTIFICATE_METHODS {
            assert_eq!(methods.contains(method), expected, "{settings}: {methods}");
        }
        assert!(!methods.contains("\"tls_client_auth\""), "{methods}");
        assert_eq!(
            document["tls_client_certificate_bound_access_tokens"],
            expected
        );
    }
}

async fn document(host: &TestHost) -> Value {
    let url = format!("{}/.well-known/openid-configuration", host.issuer());
    get(url).await.read_json().await
}

fn assert_same(found: &Value, expected: &Value) {
    let [found, expected] = [found, expected].map(|document| document.members());
    for (name, value) in found {
        assert_eq!(Some(value), expected.get(name), "{name}");
    }
    for name in expected.keys() {
        assert!(found.contains_key(name), "{name} is missing");
    }
}

#[tokio::test]
async fn discovery_lists_exactly_what_is_supported() {
    let host = TestHost::start().await;
    assert_same(&document(&host).await, &expected(&host.issuer()));
}

#[tokio::test]
async fn discovery_adds_exactly_the_mtls_endpoint_aliases() {
    let folder = temp_folder();
    let (settings, _) = mtls_settings(folder.path(), "");
    let host = TestHost::start_with_settings(&settings).await;
    let base = host
        .host
        .settings
        .http
        .mtls_url
        .clone()
        .expect("an address");
    let mut expected = expected(&host.issuer());
    let [public @ .., none] = AUTH_METHODS;
    let methods = [&public[..], &CERTIFICATE_METHODS, &[none]].concat();
    for endpoint in ["token", "introspection", "revocation"] {
        expected[format!("{endpoint}_endpoint_auth_methods_supported")] = json!(methods);
    }
    expected["tls_client_certificate_bound_access_tokens"] = json!(true);
    expected["mtls_endpoint_aliases"] = json!({
        "token_endpoint": format!("{base}oidc/token"),
        "userinfo_endpoint": format!("{base}oidc/me"),
        "introspection_endpoint": format!("{base}oidc/token/introspection"),
        "revocation_endpoint": format!("{base}oidc/token/revocation"),
        "pushed_authorization_request_endpoint": format!("{base}oidc/par"),
        "backchannel_authentication_endpoint": format!("{base}oidc/backchannel"),
        "device_authorization_endpoint": format!("{base}oidc/device_authorization"),
        "receipts_endpoint": format!("{base}oidc/receipts"),
    });
    assert_same(&document(&host).await, &expected);
}
