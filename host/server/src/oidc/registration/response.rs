//! The metadata of an application in responses (RFC 7591 section 3.2.1).

use serde_json::{Map, Value, json};

use super::metadata::{OF_AUTHORITY, SELF_SIGNED};
use crate::domain::Services;
use crate::domain::admin::ClientDocument;
use assent_model::application::{Application, GrantType, SubjectType};
use assent_model::application_type::ApplicationType;
use assent_model::certificate_name::CertificateNameKind;
use assent_model::client_auth::{CertificateIdentity, ClientAuthentication};
use assent_model::client_registration::ClientRegistration;
use assent_model::secret::Secret;

/// The members of the admin API that are metadata of the same name, if they are not null.
const SAME: [&str; 30] = [
    "redirect_uris",
    "post_logout_redirect_uris",
    "grant_types",
    "jwks",
    "jwks_uri",
    "request_uris",
    "require_signed_request_object",
    "request_object_signing_alg",
    "backchannel_authentication_request_signing_alg",
    "backchannel_binding",
    "token_endpoint_auth_signing_alg",
    "id_token_signed_response_alg",
    "authorization_signed_response_alg",
    "userinfo_signed_response_alg",
    "introspection_signed_response_alg",
    "backchannel_logout_uri",
    "backchannel_logout_session_required",
    "frontchannel_logout_uri",
    "frontchannel_logout_session_required",
    "initiate_login_uri",
    "policy_uri",
    "tos_uri",
    "client_uri",
    "logo_uri",
    "contacts",
    "require_pushed_authorization_requests",
    "tls_client_certificate_bound_access_tokens",
    "dpop_bound_access_tokens",
    "backchannel_token_delivery_mode",
    "backchannel_client_notification_endpoint",
];

/// Returns all metadata of an application. Only a response to the request that created a secret has it.
pub(super) fn metadata_of(
    services: &Services,
    application: &Application,
    registration: &ClientRegistration,
    secret: Option<&Secret>,
) -> Map<String, Value> {
    let settings = &application.settings;
    let mut metadata = registration.metadata.clone();
    let described = match serde_json::to_value(ClientDocument::new(application)) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    };
    let names = CertificateNameKind::ALL.map(CertificateNameKind::member);
    for name in SAME.iter().chain(&names) {
        match described.get(*name) {
            None | Some(Value::Null) => {}
            Some(value) => {
                metadata.insert((*name).to_owned(), value.clone());
            }
        }
    }
    // Without back-channel requests the default mode says nothing.
    let delivers = settings.grant_types.contains(&GrantType::Ciba);
    if !delivers && settings.backchannel_delivery.is_poll() {
        metadata.remove("backchannel_token_delivery_mode");
    }
    let issued_at = registration.source.registered_at.seconds();
    let subject_type = match settings.subject_type {
        SubjectType::Public => "public",
        SubjectType::Pairwise { .. } => "pairwise",
    };
    let application_type = match settings.application_type {
        ApplicationType::Web | ApplicationType::Spa => "web",
        ApplicationType::Native => "native",
    };
    let has_code = settings.grant_types.contains(&GrantType::AuthorizationCode);
    let response_types: &[&str] = if has_code { &["code"] } else { &[] };
    for (name, value) in [
        ("client_id", json!(application.id.as_str())),
        ("client_id_issued_at", json!(issued_at)),
        ("client_name", json!(application.name)),
        ("application_type", json!(application_type)),
        ("token_endpoint_auth_method", json!(method_of(application))),
        ("response_types", json!(response_types)),
        ("scope", json!(settings.scopes.to_string())),
        ("subject_type", json!(subject_type)),
        (
            "registration_client_uri",
            json!(format!("{}/register/{}", services.issuer, application.id)),
        ),
    ] {
        metadata.insert(name.to_owned(), value);
    }
    if let Some(secret) = secret {
        metadata.insert("client_secret".to_owned(), json!(secret.expose()));
        metadata.insert("client_secret_expires_at".to_owned(), json!(0));
    }
    metadata
}

/// Returns the authentication method by its registered name.
fn method_of(application: &Application) -> &'static str {
    let settings = &application.settings;
    match &settings.authentication {
        ClientAuthentication::TlsClientCertificate(identity)
            if settings.application_type.is_confidential() =>
        {
            match identity {
                CertificateIdentity::Registered(_) => SELF_SIGNED,
                CertificateIdentity::Named(_) => OF_AUTHORITY,
            }
        }
        _ => settings.auth_method().as_str(),
    }
}
