//! Discovery (OpenID Connect Discovery 1.0 section 3, RFC 8414 section 2).

use serde_json::{Value, json};
use url::Url;

use crate::domain::Services;
use crate::keys::client::SYMMETRIC;
use crate::keys::jws_verifier::ASYMMETRIC;
use crate::keys::self_signed::PROOF_ALGORITHMS;
use crate::oidc::client_auth::ClientEndpoint;
use assent_model::application::GrantType;
use assent_model::backchannel_delivery::DeliveryMode;
use assent_model::key::SigningAlgorithm;
use assent_model::language::Language;
use assent_model::scope::Scope;
use assent_model::session::Acr;

/// The client authentication methods with a registered certificate: the name in the product specification, and that of
/// RFC 8705 section 2.2, which standard clients know.
const CERTIFICATE_METHODS: [&str; 2] = ["tls_client_certificate", "self_signed_tls_client_auth"];
/// The method with a certificate of an authority (RFC 8705 section 2.1).
const AUTHORITY_METHOD: &str = "tls_client_auth";

/// Returns the client authentication methods. Those with a certificate need a listener or a proxy that receives one.
fn authentication_methods(services: &Services) -> Vec<&'static str> {
    let mut methods = vec![
        "client_secret_basic",
        "client_secret_post",
        "client_secret_jwt",
        "private_key_jwt",
    ];
    if services.settings.http.receives_certificates() {
        methods.extend(CERTIFICATE_METHODS);
        if services.client_authorities.is_some() {
            methods.push(AUTHORITY_METHOD);
        }
    }
    methods.push("none");
    methods
}

/// Returns the discovery document, which lists only supported features.
pub fn document(services: &Services) -> Value {
    let issuer = &services.issuer;
    let scopes = Scope::ALL.map(Scope::as_str);
    let algorithms = SigningAlgorithm::ALL.map(SigningAlgorithm::as_str);
    let assertion_algorithms = [&ASYMMETRIC[..], &SYMMETRIC[..]].concat();
    let methods = authentication_methods(services);
    let mut document = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/auth"),
        "token_endpoint": format!("{issuer}/token"),
        "userinfo_endpoint": format!("{issuer}/me"),
        "jwks_uri": format!("{issuer}/jwks"),
        "introspection_endpoint": format!("{issuer}/token/introspection"),
        "revocation_endpoint": format!("{issuer}/token/revocation"),
        "pushed_authorization_request_endpoint": format!("{issuer}/par"),
        "receipts_endpoint": format!("{issuer}/receipts"),
        "backchannel_authentication_endpoint": format!("{issuer}/backchannel"),
        "device_authorization_endpoint": format!("{issuer}/device_authorization"),
        "backchannel_token_delivery_modes_supported": delivery_modes(services),
        "backchannel_authentication_request_signing_alg_values_supported": ASYMMETRIC,
        "backchannel_user_code_parameter_supported": false,
        "require_pushed_authorization_requests": services.settings.oidc.require_pushed_authorization_requests,
        "dpop_signing_alg_values_supported": PROOF_ALGORITHMS,
        "scopes_supported": scopes,
        "response_types_supported": ["code"],
        "response_modes_supported": ["query", "form_post", "jwt", "query.jwt", "form_post.jwt"],
        "authorization_signing_alg_values_supported": algorithms,
        "userinfo_signing_alg_values_supported": algorithms,
        "introspection_signing_alg_values_supported": algorithms,
        "prompt_values_supported": ["none", "login", "consent", "select_account"],
        "display_values_supported": ["page", "popup", "touch", "wap"],
        "ui_locales_supported": Language::ALL.map(Language::tag),
        "grant_types_supported": GrantType::ALL.map(GrantType::as_str),
        "subject_types_supported": ["public", "pairwise"],
        "id_token_signing_alg_values_supported": algorithms,
        "token_endpoint_auth_methods_supported": methods,
        "token_endpoint_auth_signing_alg_values_supported": assertion_algorithms,
        "introspection_endpoint_auth_methods_supported": methods,
        "introspection_endpoint_auth_signing_alg_values_supported": assertion_algorithms,
        "revocation_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_signing_alg_values_supported": assertion_algorithms,
        "tls_client_certificate_bound_access_tokens": services.settings.http.receives_certificates(),
        "code_challenge_methods_supported": ["S256"],
        "acr_values_supported": acr_values(services),
        "claim_types_supported": ["normal"],
        "claims_supported": claims_supported(),
        "claims_parameter_supported": true,
        "request_object_signing_alg_values_supported": ASYMMETRIC,
        "request_parameter_supported": true,
        "request_uri_parameter_supported": true,
        "require_request_uri_registration": true,
        "authorization_response_iss_parameter_supported": true,
    });
    if let Some(members) = document.as_object_mut() {
        members.extend(logout(issuer));
        let types = services.details_types.current();
        if !types.is_empty() {
            let name = "authorization_details_types_supported";
            members.insert(name.to_owned(), json!(*types));
        }
        if services.settings.oidc.registration.enabled {
            let endpoint = json!(format!("{issuer}/register"));
            members.insert("registration_endpoint".to_owned(), endpoint);
        }
    }
    if let (Some(base), Some(members)) =
        (&services.settings.http.mtls_url, document.as_object_mut())
    {
        members.insert("mtls_endpoint_aliases".to_owned(), mtls_aliases(base));
    }
    document
}

/// The modes in which applications receive the results of back-channel requests (OpenID CIBA Core 1.0 section 4).
fn delivery_modes(services: &Services) -> Vec<&'static str> {
    let is_offered = |mode: &DeliveryMode| {
        *mode != DeliveryMode::Push || services.settings.oidc.backchannel.push
    };
    let modes = DeliveryMode::ALL.into_iter().filter(is_offered);
    modes.map(DeliveryMode::as_str).collect()
}

/// The claims of each ID token, and those of the scopes.
fn claims_supported() -> Vec<&'static str> {
    const OF_TOKENS: [&str; 11] = [
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
    let scopes = [
        Scope::Email,
        Scope::Profile,
        Scope::Phone,
        Scope::Address,
        Scope::Groups,
    ];
    let of_scopes = scopes.into_iter().flat_map(Scope::claims);
    OF_TOKENS.iter().chain(of_scopes).copied().collect()
}

/// Whether a sign-in may rest on a delegated approval of a vendor. Nothing else in the document changes while the
/// server runs, except the types of authorization details.
pub fn has_delegated_channel(services: &Services) -> bool {
    services.plugins.has_delegated_channel()
}

/// The `acr` values of this server: delegated approvals only with a trusted vendor, and passkeys only if the server has
/// a domain. Whether an application accepts passkeys is its own setting.
fn acr_values(services: &Services) -> Vec<&'static str> {
    [
        Some(Acr::Device),
        has_delegated_channel(services).then_some(Acr::Delegated),
        services.passkeys.as_ref().map(|_| Acr::PhishingResistant),
    ]
    .into_iter()
    .flatten()
    .map(Acr::as_str)
    .collect()
}

/// The endpoints for applications with a client certificate (RFC 8705 section 5): those that authenticate clients, and
/// UserInfo, which accepts bound tokens.
fn mtls_aliases(base: &Url) -> Value {
    let base = base.as_str().trim_end_matches('/');
    let of_clients =
        ClientEndpoint::ALL.map(|endpoint| (endpoint.metadata_member(), endpoint.path()));
    let of_tokens = [("userinfo_endpoint", "/oidc/me")];
    let alias = |(member, path)| (String::from(member), json!(format!("{base}{path}")));
    of_clients.into_iter().chain(of_tokens).map(alias).collect()
}

/// The logout members (RP-Initiated Logout 1.0 section 2.1, Back-Channel Logout 1.0 section 2.1).
fn logout(issuer: &str) -> [(String, Value); 5] {
    [
        (
            "end_session_endpoint",
            json!(format!("{issuer}/session/end")),
        ),
        ("backchannel_logout_supported", json!(true)),
        ("backchannel_logout_session_supported", json!(true)),
        ("frontchannel_logout_supported", json!(true)),
        ("frontchannel_logout_session_supported", json!(true)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
}
