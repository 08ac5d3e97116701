//! How an application authenticates itself: its one method, and the keys that belong to it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

use crate::secret::Digest;

/// The client authentication methods, by their registered names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
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

impl ClientAuthMethod {
    /// The method's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
            Self::ClientSecretJwt => "client_secret_jwt",
            Self::PrivateKeyJwt => "private_key_jwt",
            Self::TlsClientCertificate => "tls_client_certificate",
            Self::None => "none",
        }
    }

    /// Whether it rests on a client secret.
    pub const fn uses_secret(self) -> bool {
        matches!(
            self,
            Self::ClientSecretBasic | Self::ClientSecretPost | Self::ClientSecretJwt
        )
    }
}

/// How a web application authenticates itself, with what is registered for it.
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
    /// The method.
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

/// The public keys that an application's assertions are checked with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientKeys {
    /// Registered here: public JSON Web Keys (RFC 7517 section 4).
    Jwks(Vec<Map<String, Value>>),
    /// Fetched from the application.
    JwksUri(Url),
}

/// A client certificate, registered exactly: no authority vouches for it, its owner gave it to the administrator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisteredCertificate {
    /// The certificate in PEM form, as an administrator sees it again.
    pub pem: String,
    /// The SHA-256 of its DER form, in hexadecimal.
    pub sha256: String,
}

impl RegisteredCertificate {
    /// Whether the certificate of a connection is this one.
    pub fn is(&self, der: &[u8]) -> bool {
        Digest::from_text(&self.sha256).is_some_and(|registered| registered == Digest::sha256(der))
    }
}
