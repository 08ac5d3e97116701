//! The authentication of applications: their one method, and its keys.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

use crate::secret::Digest;

/// The client authentication methods, by their registered names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ClientAuthMethod {
    /// The secret in the `Authorization` header (RFC 6749 section 2.3.1).
    ClientSecretBasic,
    /// The secret in the body.
    ClientSecretPost,
    /// A JWT that is authenticated with the secret (OpenID Connect Core section 9).
    ClientSecretJwt,
    /// A JWT that is signed with the application's own key.
    PrivateKeyJwt,
    /// The certificate of the TLS connection (RFC 8705 section 2).
    TlsClientCertificate,
    /// None: public clients.
    None,
}
crate::enum_texts!(ClientAuthMethod);

impl ClientAuthMethod {
    /// Whether the method uses a client secret.
    pub const fn uses_secret(self) -> bool {
        matches!(
            self,
            Self::ClientSecretBasic | Self::ClientSecretPost | Self::ClientSecretJwt
        )
    }
}

/// The authentication method of a web application, with its registered keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "snake_case")]
pub enum ClientAuthentication {
    /// See [`ClientAuthMethod::ClientSecretBasic`].
    #[default]
    ClientSecretBasic,
    /// See [`ClientAuthMethod::ClientSecretPost`].
    ClientSecretPost,
    /// See [`ClientAuthMethod::ClientSecretJwt`].
    ClientSecretJwt,
    /// See [`ClientAuthMethod::PrivateKeyJwt`].
    PrivateKeyJwt(ClientKeys),
    /// See [`ClientAuthMethod::TlsClientCertificate`].
    TlsClientCertificate(RegisteredCertificate),
}

impl ClientAuthentication {
    /// Returns the method.
    pub const fn method(&self) -> ClientAuthMethod {
        match self {
            Self::ClientSecretBasic => ClientAuthMethod::ClientSecretBasic,
            Self::ClientSecretPost => ClientAuthMethod::ClientSecretPost,
            Self::ClientSecretJwt => ClientAuthMethod::ClientSecretJwt,
            Self::PrivateKeyJwt(_) => ClientAuthMethod::PrivateKeyJwt,
            Self::TlsClientCertificate(_) => ClientAuthMethod::TlsClientCertificate,
        }
    }
}

/// The public keys for the verification of an application's assertions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientKeys {
    /// Registered public JSON Web Keys (RFC 7517 section 4).
    Jwks(Vec<Map<String, Value>>),
    /// Keys that the server fetches from the application.
    JwksUri(Url),
}

/// A registered client certificate. Trust comes from its registration by the administrator, not from a certificate
/// authority.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisteredCertificate {
    /// The certificate in PEM form, for administrators.
    pub pem: String,
    /// The SHA-256 of its DER form, as hexadecimal digits.
    pub sha256: String,
}

impl RegisteredCertificate {
    /// Whether this is the certificate of a connection.
    pub fn is(&self, der: &[u8]) -> bool {
        Digest::from_text(&self.sha256).is_some_and(|registered| registered == Digest::sha256(der))
    }
}
