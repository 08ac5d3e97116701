//! Client metadata (RFC 7591 section 2, OpenID Connect Dynamic Client Registration 1.0 section 2), read into the
//! settings of an application.
//!
//! Unknown members are ignored (RFC 7591 section 2), and so are `default_max_age` and `require_auth_time`: each ID
//! token has `auth_time`, and a request may have `max_age`. A response lacks the ignored members.

use serde_json::{Map, Value, json};
use url::Url;

use super::error::RegistrationError;
use crate::domain::admin::RegistrationRequest;
use crate::keys::client::SYMMETRIC;
use crate::keys::jws_verifier::ASYMMETRIC;
use assent_model::application::GrantType;
use assent_model::application_type::ApplicationType;
use assent_model::backchannel::BackchannelBinding;
use assent_model::backchannel_delivery::DeliveryMode;
use assent_model::certificate_name::CertificateNameKind;
use assent_model::key::SigningAlgorithm;

type Result<T> = std::result::Result<T, RegistrationError>;

/// The deepest nesting of a document.
const DEEPEST: usize = 16;
/// The grant types with which an application may register itself. An administrator grants others.
const GRANT_TYPES: [GrantType; 3] = [
    GrantType::AuthorizationCode,
    GrantType::RefreshToken,
    GrantType::DeviceCode,
];
/// The method of RFC 8705 section 2.2.
pub(super) const SELF_SIGNED: &str = "self_signed_tls_client_auth";
/// The method of RFC 8705 section 2.1.
pub(super) const OF_AUTHORITY: &str = "tls_client_auth";
const ASSERTION_ALGORITHM: &str = "token_endpoint_auth_signing_alg";
const USER_CODE: &str = "backchannel_user_code_parameter";

/// The request that sends the metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetadataUse {
    /// The application registers itself.
    Registration,
    /// The application updates itself. A requirement that is in force stays in force, because only an administrator
    /// reduces the requirements.
    Update,
}

/// Reads a document: a JSON object of limited depth, without the character NUL.
///
/// # Errors
/// [`RegistrationError::InvalidMetadata`] for any other text.
pub fn document(body: &[u8]) -> Result<Map<String, Value>> {
    let invalid = |text: &str| RegistrationError::InvalidMetadata(text.to_owned());
    match serde_json::from_slice(body) {
        Ok(Value::Object(members)) => {
            let is_storable = members
                .iter()
                .all(|(name, value)| !name.contains('\0') && is_storable(value, DEEPEST));
            match is_storable {
                true => Ok(members),
                false => Err(invalid(
                    "the body is nested too deeply, or has the character NUL",
                )),
            }
        }
        Ok(_) | Err(_) => Err(invalid("the body must be a JSON object")),
    }
}

fn is_storable(value: &Value, deepest: usize) -> bool {
    match (value, deepest) {
        (Value::Array(_) | Value::Object(_), 0) => false,
        (Value::Array(items), _) => items.iter().all(|item| is_storable(item, deepest - 1)),
        (Value::Object(members), _) => members
            .iter()
            .all(|(name, value)| !name.contains('\0') && is_storable(value, deepest - 1)),
        (Value::String(text), _) => !text.contains('\0'),
        _ => true,
    }
}

/// Members by their names. `null` counts as missing (RFC 7592 section 2.2).
struct Metadata<'a>(&'a Map<String, Value>);

impl<'a> Metadata<'a> {
    fn value(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    fn read<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>> {
        self.value(name)
            .map(|value| read(value).ok_or_else(|| RegistrationError::of_member(name, expected)))
            .transpose()
    }

    fn text(&self, name: &str) -> Result<Option<&'a str>> {
        self.read(name, "expected a text", Value::as_str)
    }

    fn flag(&self, name: &str) -> Result<Option<bool>> {
        self.read(name, "expected true or false", Value::as_bool)
    }

    fn texts(&self, name: &str) -> Result<Option<Vec<&'a str>>> {
        self.read(name, "expected a list of texts", |value| {
            value.as_array()?.iter().map(Value::as_str).collect()
        })
    }
}

/// Reads metadata into a request for the settings of an application. It does not fetch `sector_identifier_uri`.
///
/// # Errors
/// [`RegistrationError`] if a member has another type than expected, or two members contradict each other. Other rules
/// are those of the settings.
pub fn request_of(
    metadata: &Map<String, Value>,
    purpose: MetadataUse,
) -> Result<RegistrationRequest> {
    let metadata = Metadata(metadata);
    let (application_type, method) = type_and_method(&metadata)?;
    let mut members = Map::new();
    let mut set = |name: &str, value: Value| {
        members.insert(name.to_owned(), value);
    };
    let redirect_uris = metadata.texts("redirect_uris")?.unwrap_or_default();
    match (metadata.text("client_name")?, purpose) {
        (Some(name), _) => set("name", json!(name)),
        (None, MetadataUse::Registration) => set("name", json!(name_of(&redirect_uris))),
        (None, MetadataUse::Update) => {}
    }
    if let Some(scope) = metadata.text("scope")? {
        set(
            "scopes",
            json!(scope.split_ascii_whitespace().collect::<Vec<_>>()),
        );
    }
    set("redirect_uris", json!(redirect_uris));
    for name in ["post_logout_redirect_uris", "request_uris"] {
        // A fragment of a request URI is a digest of the object, which a request may omit.
        let uris = metadata.texts(name)?.map(|uris| {
            let without_fragment = |uri: &'_ str| match name {
                "request_uris" => uri.split('#').next().unwrap_or_default().to_owned(),
                _ => uri.to_owned(),
            };
            uris.into_iter().map(without_fragment).collect::<Vec<_>>()
        });
        set(name, json!(uris));
    }
    set("grant_types", json!(grant_types(&metadata, purpose)?));
    set("token_endpoint_auth_method", json!(method.setting()));
    for name in [
        "authorization_signed_response_alg",
        "userinfo_signed_response_alg",
        "introspection_signed_response_alg",
        "backchannel_logout_uri",
        "frontchannel_logout_uri",
        "initiate_login_uri",
        "policy_uri",
        "tos_uri",
        "client_uri",
    ] {
        set(name, json!(metadata.text(name)?));
    }
    for (name, value) in delivery(&metadata)? {
        set(name, json!(value));
    }
    set("contacts", json!(metadata.texts("contacts")?));
    for (name, algorithm) in own_algorithms(&metadata, method)? {
        set(name, json!(algorithm));
    }
    let algorithm = metadata.text("id_token_signed_response_alg")?;
    let standard = SigningAlgorithm::default().as_str();
    // An update may not name that of the application's security profile.
    if algorithm.is_some() || purpose == MetadataUse::Registration {
        let algorithm = algorithm.unwrap_or(standard);
        set("id_token_signed_response_alg", json!(algorithm));
    }
    for name in [
        "backchannel_logout_session_required",
        "frontchannel_logout_session_required",
    ] {
        set(name, json!(metadata.flag(name)?.unwrap_or_default()));
    }
    for (name, value) in requirements(&metadata, purpose)? {
        set(name, json!(value));
    }
    for (name, value) in backchannel_requests(&metadata, purpose)? {
        set(name, value);
    }
    for (name, value) in keys(&metadata, method)? {
        set(name, value);
    }
    if let (Some(kind), MetadataUse::Registration) = (metadata.text("subject_type")?, purpose) {
        set("subject_type", json!(kind));
    }
    // An update without it keeps the logo, which an administrator may have set.
    if let Some(uri) = metadata.text("logo_uri")? {
        set("logo_uri", json!(uri));
    }
    Ok(RegistrationRequest {
        application_type,
        members,
        metadata: without_setting(&metadata)?,
    })
}

/// The default name of an application: the host of its first redirect URI.
fn name_of(redirect_uris: &[&str]) -> String {
    let first = redirect_uris.first().and_then(|uri| Url::parse(uri).ok());
    first
        .and_then(|uri| uri.host_str().map(str::to_owned))
        .unwrap_or_else(|| "Application".to_owned())
}

/// An authentication method in metadata.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MetadataMethod<'a> {
    /// One with the same name as the setting.
    Same(&'a str),
    /// A certificate in `jwks`.
    SelfSigned,
    /// A name in certificates of an authority.
    OfAuthority,
}

impl<'a> MetadataMethod<'a> {
    fn setting(self) -> &'a str {
        match self {
            Self::Same(name) => name,
            Self::SelfSigned | Self::OfAuthority => "tls_client_certificate",
        }
    }
}

/// Returns the application type and the authentication method. A web application without authentication is a
/// single-page application.
fn type_and_method<'a>(metadata: &Metadata<'a>) -> Result<(ApplicationType, MetadataMethod<'a>)> {
    const TYPE: &str = "application_type";
    const METHOD: &str = "token_endpoint_auth_method";
    let method = metadata.text(METHOD)?;
    match metadata.text(TYPE)?.unwrap_or("web") {
        "web" => Ok(match method.unwrap_or("client_secret_basic") {
            "none" => (ApplicationType::Spa, MetadataMethod::Same("none")),
            SELF_SIGNED => (ApplicationType::Web, MetadataMethod::SelfSigned),
            OF_AUTHORITY => (ApplicationType::Web, MetadataMethod::OfAuthority),
            name => (ApplicationType::Web, MetadataMethod::Same(name)),
        }),
        "native" if method.is_none_or(|name| name == "none") => {
            Ok((ApplicationType::Native, MetadataMethod::Same("none")))
        }
        "native" => Err(RegistrationError::of_member(
            METHOD,
            "expected none: a native application cannot keep a secret",
        )),
        _ => Err(RegistrationError::of_member(TYPE, "expected web or native")),
    }
}

/// Returns how the application receives the results of its back-channel requests (OpenID CIBA Core 1.0 section 4). A
/// client that polls needs no address.
fn delivery<'a>(metadata: &Metadata<'a>) -> Result<[(&'static str, Option<&'a str>); 2]> {
    const MODE: &str = "backchannel_token_delivery_mode";
    const ENDPOINT: &str = "backchannel_client_notification_endpoint";
    let modes = DeliveryMode::ALL.map(DeliveryMode::as_str);
    let poll = DeliveryMode::Poll.as_str();
    let mode = metadata.text(MODE)?.unwrap_or(poll);
    if !modes.contains(&mode) {
        let expected = format!("expected one of {}", modes.join(", "));
        return Err(RegistrationError::of_member(MODE, &expected));
    }
    let endpoint = metadata.text(ENDPOINT)?.filter(|_| mode != poll);
    Ok([(MODE, Some(mode)), (ENDPOINT, endpoint)])
}

/// Returns the grant types. An update may name those that an administrator granted; others would be an additional
/// right.
fn grant_types(metadata: &Metadata<'_>, purpose: MetadataUse) -> Result<Vec<&'static str>> {
    const GRANTS: &str = "grant_types";
    const RESPONSES: &str = "response_types";
    let code = GrantType::AuthorizationCode.as_str();
    let ciba = GrantType::Ciba.as_str();
    let named = metadata.texts(GRANTS)?.unwrap_or_else(|| vec![code]);
    let permitted = match purpose {
        MetadataUse::Registration => &GRANT_TYPES[..],
        MetadataUse::Update => &GrantType::ALL[..],
    };
    let known = |name: &&str| permitted.iter().find(|known| known.as_str() == *name);
    let grants: Option<Vec<&'static str>> = named
        .iter()
        .map(|name| known(name).map(|known| known.as_str()))
        .collect();
    let device = GrantType::DeviceCode.as_str();
    let grants = grants
        .filter(|grants| {
            let of_users = [&code, &ciba, &device];
            of_users.iter().any(|one| grants.contains(one))
        })
        .ok_or_else(|| {
            let expected = "expected authorization_code, urn:ietf:params:oauth:grant-type:device_code, or both, with \
                            or without refresh_token";
            RegistrationError::of_member(GRANTS, expected)
        })?;
    match (
        metadata.texts(RESPONSES)?.as_deref(),
        grants.contains(&code),
    ) {
        (None, _) | (Some(["code"]), true) | (Some([]), false) => Ok(grants),
        (Some(_), true) => Err(RegistrationError::of_member(RESPONSES, "expected code")),
        (Some(_), false) => Err(RegistrationError::of_member(
            RESPONSES,
            "expected an empty list without the grant type authorization_code",
        )),
    }
}

/// Returns the requirements for requests and tokens.
fn requirements(
    metadata: &Metadata<'_>,
    purpose: MetadataUse,
) -> Result<Vec<(&'static str, bool)>> {
    const OF_CERTIFICATE: &str = "tls_client_certificate_bound_access_tokens";
    let mut all = Vec::new();
    for name in [
        OF_CERTIFICATE,
        "dpop_bound_access_tokens",
        "require_pushed_authorization_requests",
        "require_signed_request_object",
    ] {
        match metadata.flag(name)? {
            Some(true) => all.push((name, true)),
            // Otherwise an application with a certificate would begin to have bound tokens.
            Some(false) if name == OF_CERTIFICATE && purpose == MetadataUse::Registration => {
                all.push((name, false));
            }
            _ => {}
        }
    }
    Ok(all)
}

/// Returns the members about back-channel requests (OpenID CIBA Core 1.0 section 4) and how users connect them with the
/// application. An update neither ends the signature of requests nor changes the binding, because both are
/// requirements. An administrator sets the longest expiry.
fn backchannel_requests(
    metadata: &Metadata<'_>,
    purpose: MetadataUse,
) -> Result<Vec<(&'static str, Value)>> {
    const ALGORITHM: &str = "backchannel_authentication_request_signing_alg";
    const BINDING: &str = "backchannel_binding";
    let mut members = Vec::new();
    if metadata.flag(USER_CODE)? == Some(true) {
        let expected = "expected false: the server does not support user_code";
        return Err(RegistrationError::of_member(USER_CODE, expected));
    }
    if let Some(algorithm) = metadata.text(ALGORITHM)? {
        if !ASYMMETRIC.contains(&algorithm) {
            let expected = format!("expected one of {}", ASYMMETRIC.join(", "));
            return Err(RegistrationError::of_member(ALGORITHM, &expected));
        }
        members.push((ALGORITHM, json!(algorithm)));
    }
    if let (Some(text), MetadataUse::Registration) = (metadata.text(BINDING)?, purpose) {
        let binding = BackchannelBinding::parse(text).ok_or_else(|| {
            RegistrationError::of_member(BINDING, "expected shown, typed or none")
        })?;
        members.push((BINDING, json!(binding)));
    }
    Ok(members)
}

/// Returns the members about the application's keys.
fn keys(metadata: &Metadata<'_>, method: MetadataMethod<'_>) -> Result<Vec<(&'static str, Value)>> {
    let (jwks, uri) = (metadata.value("jwks"), metadata.text("jwks_uri")?);
    if jwks.is_some() && uri.is_some() {
        let expected = "expected one of jwks and jwks_uri (RFC 7591 section 2)";
        return Err(RegistrationError::of_member("jwks", expected));
    }
    let mut members = vec![("jwks", json!(jwks)), ("jwks_uri", json!(uri))];
    match method {
        MetadataMethod::SelfSigned => {
            let certificates = jwks.map(certificates_of).unwrap_or_default();
            if !certificates.is_empty() {
                members.push(("certificate", json!(certificates)));
            }
        }
        MetadataMethod::OfAuthority => {
            for kind in CertificateNameKind::ALL {
                if let Some(name) = metadata.text(kind.member())? {
                    members.push((kind.member(), json!(name)));
                }
            }
        }
        MetadataMethod::Same(_) => {}
    }
    Ok(members)
}

/// Returns the first certificate of each key (`x5c`, RFC 7517 section 4.7) in PEM form.
fn certificates_of(jwks: &Value) -> String {
    let keys = jwks.get("keys").and_then(Value::as_array);
    let first = |key: &Value| Some(key.get("x5c")?.get(0)?.as_str()?.to_owned());
    let certificates = keys.into_iter().flatten().filter_map(first);
    let pem = |text: String| {
        let text: Vec<u8> = text
            .bytes()
            .filter(|byte| !byte.is_ascii_whitespace())
            .collect();
        let lines: Vec<String> = text
            .chunks(64)
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect();
        let text = lines.join("\n");
        format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
    };
    certificates.map(pem).collect()
}

/// Returns the settings of the algorithms with which the application signs. Others are then rejected (OpenID Connect
/// Dynamic Client Registration section 2).
fn own_algorithms<'a>(
    metadata: &Metadata<'a>,
    method: MetadataMethod<'_>,
) -> Result<[(&'static str, Option<&'a str>); 2]> {
    const OBJECT_ALGORITHM: &str = "request_object_signing_alg";
    let read = |name: &'static str, supported: &[&str]| match metadata.text(name)? {
        Some(algorithm) if !supported.contains(&algorithm) => {
            let expected = format!("expected one of {}", supported.join(", "));
            Err(RegistrationError::of_member(name, &expected))
        }
        algorithm => Ok(algorithm),
    };
    let of_assertions = match method {
        MetadataMethod::Same("client_secret_jwt") => SYMMETRIC.to_vec(),
        MetadataMethod::Same("private_key_jwt") => ASYMMETRIC.to_vec(),
        _ => [&ASYMMETRIC[..], &SYMMETRIC[..]].concat(),
    };
    let of_assertions = read(ASSERTION_ALGORITHM, &of_assertions)?;
    Ok([
        (OBJECT_ALGORITHM, read(OBJECT_ALGORITHM, &ASYMMETRIC)?),
        (
            ASSERTION_ALGORITHM,
            of_assertions.filter(|algorithm| !SYMMETRIC.contains(algorithm)),
        ),
    ])
}

/// Returns the accepted members that have no setting.
fn without_setting(metadata: &Metadata<'_>) -> Result<Map<String, Value>> {
    let mut members = Map::new();
    // The one algorithm of assertions that are made with the secret has no setting.
    if let Some(algorithm) = metadata.text(ASSERTION_ALGORITHM)?
        && SYMMETRIC.contains(&algorithm)
    {
        members.insert(ASSERTION_ALGORITHM.to_owned(), json!(algorithm));
    }
    if let Some(flag) = metadata.flag(USER_CODE)? {
        members.insert(USER_CODE.to_owned(), json!(flag));
    }
    for name in ["sector_identifier_uri", "software_statement"] {
        if let Some(text) = metadata.text(name)? {
            members.insert(name.to_owned(), json!(text));
        }
    }
    Ok(members)
}
