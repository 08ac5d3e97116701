//! The members of passkey ceremonies in JSON (W3C Web Authentication Level 3, sections 5.1.8 to 5.1.10), which
//! webauthn-rs reads and writes. The types are for the OpenAPI document only. Binary values are base64url without
//! padding.
#![expect(
    dead_code,
    reason = "they describe types of webauthn-rs, which have no schema of their own"
)]

use serde::{Serialize, Serializer};
use utoipa::ToSchema;
use webauthn_rs::prelude::{CreationChallengeResponse, RequestChallengeResponse};

/// The options of a passkey creation: a `PublicKeyCredentialCreationOptionsJSON`. There may be further members for the
/// browser.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct PasskeyCreationOptions {
    rp: PasskeyRelyingParty,
    user: PasskeyUser,
    /// Valid once, for this ceremony.
    challenge: String,
    /// Which authenticators may create it.
    #[schema(nullable = false)]
    authenticator_selection: Option<PasskeySelection>,
    pub_key_cred_params: Vec<PasskeyAlgorithm>,
    /// In milliseconds.
    #[schema(nullable = false)]
    timeout: Option<u32>,
}

/// Which authenticators may create a passkey.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct PasskeySelection {
    /// `required` if login pages must find the passkey.
    #[schema(nullable = false)]
    resident_key: Option<String>,
    require_resident_key: bool,
    /// `required`.
    user_verification: String,
}

/// The server, as the passkey knows it.
#[derive(ToSchema)]
pub(crate) struct PasskeyRelyingParty {
    /// The domain.
    id: String,
    name: String,
}

/// The user of a passkey.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct PasskeyUser {
    /// The user handle: the device's id, since each device has a passkey of its own.
    id: String,
    name: String,
    display_name: String,
}

/// A signature algorithm that the server verifies.
#[derive(ToSchema)]
pub(crate) struct PasskeyAlgorithm {
    /// `public-key`.
    #[schema(rename = "type")]
    kind: String,
    /// The COSE algorithm.
    alg: i64,
}

/// The options of a passkey request: a `PublicKeyCredentialRequestOptionsJSON`. There may be further members for the
/// browser.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct PasskeyRequestOptions {
    /// Valid once, for this call.
    challenge: String,
    /// In milliseconds.
    #[schema(nullable = false)]
    timeout: Option<u32>,
    /// The domain.
    rp_id: String,
    /// The passkey of the device.
    allow_credentials: Vec<PasskeyDescriptor>,
    /// `required`.
    user_verification: String,
}

/// A passkey that the server knows.
#[derive(ToSchema)]
pub(crate) struct PasskeyDescriptor {
    /// `public-key`.
    #[schema(rename = "type")]
    kind: String,
    id: String,
}

/// A passkey that the browser created: a `RegistrationResponseJSON`. The server ignores further members.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct PasskeyRegistration {
    id: String,
    raw_id: String,
    /// `public-key`.
    #[schema(rename = "type")]
    kind: String,
    response: PasskeyAttestation,
}

/// The attestation of a created passkey.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct PasskeyAttestation {
    #[schema(rename = "clientDataJSON")]
    client_data_json: String,
    attestation_object: String,
}

/// The answer of a passkey: an `AuthenticationResponseJSON`. The server ignores further members.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct PasskeyAssertion {
    id: String,
    raw_id: String,
    /// `public-key`.
    #[schema(rename = "type")]
    kind: String,
    response: PasskeySignature,
}

/// The signature of a passkey.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct PasskeySignature {
    #[schema(rename = "clientDataJSON")]
    client_data_json: String,
    authenticator_data: String,
    signature: String,
}

/// Writes the options of a creation as [`PasskeyCreationOptions`].
#[expect(
    clippy::borrowed_box,
    reason = "serde passes a reference to the member"
)]
pub(crate) fn creation_options<S: Serializer>(
    options: &Box<CreationChallengeResponse>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    options.public_key.serialize(serializer)
}

/// Writes the options as [`PasskeyCreationOptions`], if there are any.
#[expect(clippy::ref_option, reason = "serde passes a reference to the member")]
pub(crate) fn optional_creation_options<S: Serializer>(
    options: &Option<Box<CreationChallengeResponse>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let options = options.as_ref().map(|options| &options.public_key);
    options.serialize(serializer)
}

/// Writes the options of a request as [`PasskeyRequestOptions`].
#[expect(clippy::ref_option, reason = "serde passes a reference to the member")]
pub(crate) fn request_options<S: Serializer>(
    options: &Option<Box<RequestChallengeResponse>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let options = options.as_ref().map(|options| &options.public_key);
    options.serialize(serializer)
}
