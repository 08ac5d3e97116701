//! The metadata of applications that register themselves.

#![no_main]

use assent::oidc::registration::metadata::{MetadataUse, document, request_of};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// Members of the admin API that no application sets for itself.
const FORBIDDEN: [&str; 8] = [
    "admin_scopes",
    "consent",
    "enabled",
    "passkey_sign_in",
    "recipe",
    "require_pkce",
    "security_profile",
    "lenient_assertion_audience",
];

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| name.contains('\0') || has_nul(value)),
        _ => false,
    }
}

fuzz_target!(|input: &[u8]| {
    let Ok(metadata) = document(input) else {
        return;
    };
    assert!(!metadata.values().any(has_nul), "NUL was accepted");
    for purpose in [MetadataUse::Registration, MetadataUse::Update] {
        let Ok(request) = request_of(&metadata, purpose) else {
            continue;
        };
        let members = &request.members;
        for name in FORBIDDEN {
            assert!(!members.contains_key(name), "{name} was set: {members:?}");
        }
        let grants = members["grant_types"].as_array().map_or(0, Vec::len);
        assert!(grants > 0, "no grant type: {members:?}");
        assert!(
            !members["grant_types"]
                .to_string()
                .contains("client_credentials"),
            "a grant of administrators was accepted: {members:?}"
        );
        // An update reduces no requirement.
        let flags = [
            "tls_client_certificate_bound_access_tokens",
            "dpop_bound_access_tokens",
            "require_pushed_authorization_requests",
            "require_signed_request_object",
        ];
        let is_reduced = |name: &&str| members.get(*name) == Some(&Value::Bool(false));
        if purpose == MetadataUse::Update {
            assert!(!flags.iter().any(is_reduced), "{members:?}");
        }
        for member in members.values().chain(request.metadata.values()) {
            assert!(!has_nul(member), "{member}");
        }
    }
});
