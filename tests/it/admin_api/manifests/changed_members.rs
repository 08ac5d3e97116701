//! A change of each member of an application, and its words in the summary of a manifest.

use serde_json::{Value, json};

use crate::harness::{EncodedCertificate, EncodedKey, certificate, rsa_key};

/// Each member of a client, with a changed value, further members that it needs, and the words of the summary.
pub(super) fn changes_of_client(
    key: &Value,
    thumbprint: &str,
) -> Vec<(&'static str, Value, Value, String)> {
    let none = json!({});
    let jwks = json!({"keys": [key]});
    let own = rsa_key();
    let pem = own.public_pem();
    let certificate = certificate(&own);
    let sha256 = hex::encode(openssl::sha::sha256(&certificate.to_der().expect("DER")));
    let words = |words: &str| words.to_owned();
    let mut table = vec![
        (
            "name",
            json!("Changed"),
            none.clone(),
            words("Its name is “Changed”"),
        ),
        (
            "enabled",
            json!(false),
            none.clone(),
            words("Disable the application “Wiki”"),
        ),
        (
            "redirect_uris",
            json!(["https://evil.example/cb"]),
            none.clone(),
            words("new: https://evil.example/cb"),
        ),
        (
            "post_logout_redirect_uris",
            json!(["https://evil.example/out"]),
            none.clone(),
            words("https://evil.example/out"),
        ),
        (
            "scopes",
            json!(["openid", "groups"]),
            none.clone(),
            words("scopes (“openid”, “groups”)"),
        ),
        (
            "grant_types",
            json!(["authorization_code"]),
            none.clone(),
            words("grant_types (“authorization_code”)"),
        ),
        (
            "token_endpoint_auth_method",
            json!("client_secret_post"),
            none.clone(),
            words("client_secret_post"),
        ),
        (
            "jwks",
            jwks,
            json!({"token_endpoint_auth_method": "private_key_jwt"}),
            thumbprint.to_owned(),
        ),
        (
            "jwks_uri",
            json!("https://evil.example/jwks"),
            json!({"token_endpoint_auth_method": "private_key_jwt"}),
            words("https://evil.example/jwks"),
        ),
        (
            "public_key",
            json!(pem),
            json!({"token_endpoint_auth_method": "private_key_jwt"}),
            words("It authenticates with the key with the thumbprint "),
        ),
        (
            "certificate",
            json!(certificate.pem()),
            json!({"token_endpoint_auth_method": "tls_client_certificate"}),
            sha256,
        ),
        (
            "id_token_signed_response_alg",
            json!("PS256"),
            none.clone(),
            words("PS256"),
        ),
        (
            "slim_id_token",
            json!(true),
            none.clone(),
            words("slim_id_token true"),
        ),
        (
            "session_state",
            json!(true),
            none.clone(),
            words("session_state true"),
        ),
        (
            "subject_type",
            json!("pairwise"),
            none.clone(),
            words("pairwise"),
        ),
        (
            "sector_identifier",
            json!("evil.example"),
            json!({"subject_type": "pairwise"}),
            words("evil.example"),
        ),
        ("consent", json!("implied"), none.clone(), words("implied")),
        (
            "passkey_sign_in",
            json!(true),
            none.clone(),
            words("with a passkey"),
        ),
        (
            "backchannel_logout_uri",
            json!("https://evil.example/bc"),
            none.clone(),
            words("https://evil.example/bc"),
        ),
        (
            "backchannel_logout_session_required",
            json!(true),
            json!({"backchannel_logout_uri": "https://evil.example/bc"}),
            words("https://evil.example/bc"),
        ),
        (
            "initiate_login_uri",
            json!("https://evil.example/start"),
            none.clone(),
            words("https://evil.example/start"),
        ),
        (
            "lenient_assertion_audience",
            json!(true),
            none.clone(),
            words("lenient_assertion_audience true"),
        ),
        (
            "recipe",
            json!("gitlab"),
            none.clone(),
            words("recipe “gitlab”"),
        ),
        (
            "require_pkce",
            json!(true),
            none.clone(),
            words("It must use PKCE"),
        ),
        (
            "admin_scopes",
            json!(["admin:users"]),
            none.clone(),
            words("It has the admin scopes admin:users"),
        ),
    ];
    let switches = [
        "require_pushed_authorization_requests",
        "tls_client_certificate_bound_access_tokens",
        "dpop_bound_access_tokens",
    ];
    let algorithms = [
        "request_object_signing_alg",
        "token_endpoint_auth_signing_alg",
        "authorization_signed_response_alg",
        "userinfo_signed_response_alg",
        "introspection_signed_response_alg",
    ];
    let signed = json!({"jwks": {"keys": [key]}});
    let addresses = json!(["https://evil.example/object"]);
    table.extend([
        (
            "require_signed_request_object",
            json!(true),
            signed.clone(),
            words("require_signed_request_object true"),
        ),
        (
            "backchannel_authentication_request_signing_alg",
            json!("PS256"),
            signed,
            words("backchannel_authentication_request_signing_alg “PS256”"),
        ),
        (
            "backchannel_binding",
            json!("typed"),
            none.clone(),
            words("backchannel_binding “typed”"),
        ),
        (
            "backchannel_longest_expiry",
            json!(3600),
            none.clone(),
            words("backchannel_longest_expiry 3600"),
        ),
        (
            "second_approver_group",
            json!("0123456789abcdef0123456789abcdef"),
            none.clone(),
            words("second_approver_group “0123456789abcdef0123456789abcdef”"),
        ),
        (
            "request_uris",
            addresses,
            none.clone(),
            words("request_uris (“https://evil.example/object”)"),
        ),
        (
            "authorization_details_types",
            json!(["payment"]),
            none.clone(),
            words("authorization_details_types (“payment”)"),
        ),
        (
            "backchannel_token_delivery_mode",
            json!("ping"),
            json!({"backchannel_client_notification_endpoint": "https://evil.example/ping"}),
            words("backchannel_client_notification_endpoint “https://evil.example/ping”"),
        ),
        (
            "backchannel_client_notification_endpoint",
            json!("https://evil.example/ping"),
            json!({"backchannel_token_delivery_mode": "ping"}),
            words("backchannel_token_delivery_mode “ping”"),
        ),
        (
            "security_profile",
            json!("fapi2"),
            json!({
                "token_endpoint_auth_method": "private_key_jwt", "jwks": {"keys": [key]},
                "dpop_bound_access_tokens": true, "require_pkce": true,
                "require_pushed_authorization_requests": true, "id_token_signed_response_alg": "PS256",
            }),
            words("security_profile “fapi2”"),
        ),
    ]);
    let names = [
        ("tls_client_auth_subject_dn", "CN=evil,O=Example"),
        ("tls_client_auth_san_dns", "evil.example"),
        ("tls_client_auth_san_uri", "spiffe://evil.example/app"),
        ("tls_client_auth_san_ip", "192.0.2.66"),
        ("tls_client_auth_san_email", "evil@evil.example"),
    ];
    table.extend(names.map(|(member, name)| {
        let method = json!({"token_endpoint_auth_method": "tls_client_certificate"});
        let words = format!("of the authorities of this server that has the {member} “{name}”");
        (member, json!(name), method, words)
    }));
    table.extend(switches.map(|name| (name, json!(true), none.clone(), format!("{name} true"))));
    table.extend(algorithms.map(|name| {
        let words = format!("{name} “PS256”");
        (name, json!("PS256"), none.clone(), words)
    }));
    // The page has the origin of a redirect URI.
    let page = "https://evil.example/page";
    let own = json!({"redirect_uris": ["https://evil.example/cb"]});
    let required =
        json!({"redirect_uris": ["https://evil.example/cb"], "frontchannel_logout_uri": page});
    table.extend([
        ("frontchannel_logout_uri", json!(page), own, words(page)),
        (
            "frontchannel_logout_session_required",
            json!(true),
            required,
            words(page),
        ),
    ]);
    let pages = ["policy_uri", "tos_uri", "client_uri", "logo_uri"];
    table.extend(pages.map(|name| {
        let words = format!("{name} “https://evil.example/page”");
        (name, json!(page), none.clone(), words)
    }));
    let contacts = json!(["evil@evil.example", "+49 30 1"]);
    let shown = words("contacts (“evil@evil.example”, “+49 30 1”)");
    table.push(("contacts", contacts, none, shown));
    table
}

/// Each member of a service provider, as for clients.
pub(super) fn changes_of_provider() -> Vec<(&'static str, Value, String)> {
    let own = rsa_key();
    let certificate = certificate(&own);
    let sha256 = hex::encode(openssl::sha::sha256(&certificate.to_der().expect("DER")));
    let words = |words: &str| words.to_owned();
    vec![
        ("name", json!("Changed"), words("Its name is “Changed”")),
        (
            "enabled",
            json!(false),
            words("Disable the application “CRM”"),
        ),
        (
            "entity_id",
            json!("https://evil.example/saml"),
            words("https://evil.example/saml"),
        ),
        (
            "acs",
            json!([{"url": "https://evil.example/acs"}]),
            words("new: https://evil.example/acs (index 0)"),
        ),
        (
            "single_logout",
            json!({"url": "https://evil.example/slo", "binding": "post"}),
            words("https://evil.example/slo by HTTP-POST"),
        ),
        (
            "name_id_format",
            json!("unspecified"),
            words("name_id_format “unspecified”"),
        ),
        (
            "other_name_id_formats",
            json!(["persistent"]),
            words("other_name_id_formats (“persistent”)"),
        ),
        (
            "name_id_source",
            json!("account_name"),
            words("name_id_source “account_name”"),
        ),
        (
            "require_signed_requests",
            json!(true),
            words("require_signed_requests true"),
        ),
        ("certificates", json!([certificate.pem()]), sha256),
        (
            "custom_attributes",
            json!([{"name": "mail", "values": ["boss@example.org"]}]),
            words("It receives “boss@example.org” as “mail”"),
        ),
        ("idp_initiated", json!(false), words("idp_initiated false")),
        (
            "default_relay_state",
            json!("evil-state"),
            words("evil-state"),
        ),
        ("relay_states", json!(["evil-state"]), words("evil-state")),
        ("clock_skew_seconds", json!(599), words("599")),
        ("not_before_margin_seconds", json!(37), words("37")),
        ("recipe", json!("zabbix"), words("recipe “zabbix”")),
        (
            "idp_entity_id",
            json!("https://evil.example/idp"),
            words("https://evil.example/idp"),
        ),
        (
            "metadata_url",
            json!("https://evil.example/metadata"),
            words("https://evil.example/metadata"),
        ),
        ("passkey_sign_in", json!(true), words("with a passkey")),
        (
            "unconfirmed_email",
            json!(true),
            words("It receives email addresses that are not confirmed"),
        ),
    ]
}
