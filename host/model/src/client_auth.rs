//! The authentication of applications: their one method, and its keys.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

use crate::certificate_name::CertificateName;
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
    TlsClientCertificate(CertificateIdentity),
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

/// What identifies the certificate of an application (RFC 8705 section 2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CertificateIdentity {
    /// Registered certificates. Trust comes from their registration by the administrator, not from an authority.
    Registered(RegisteredCertificates),
    /// A name in any certificate of the operator's authorities.
    Named(CertificateName),
}

/// The registered certificates of an application: one, or two that differ while one replaces the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredCertificates")]
pub struct RegisteredCertificates {
    first: RegisteredCertificate,
    #[serde(skip_serializing_if = "Option::is_none")]
    second: Option<RegisteredCertificate>,
}

#[derive(Deserialize)]
struct StoredCertificates {
    first: RegisteredCertificate,
    #[serde(default)]
    second: Option<RegisteredCertificate>,
}

impl From<StoredCertificates> for RegisteredCertificates {
    fn from(stored: StoredCertificates) -> Self {
        Self::new(stored.first, stored.second)
    }
}

impl RegisteredCertificates {
    /// Registers one or two certificates. A second one that equals the first has no effect.
    pub fn new(first: RegisteredCertificate, second: Option<RegisteredCertificate>) -> Self {
        let second = second.filter(|second| second.sha256 != first.sha256);
        Self { first, second }
    }

    /// The certificates: one or two.
    pub fn iter(&self) -> impl Iterator<Item = &RegisteredCertificate> {
        std::iter::once(&self.first).chain(&self.second)
    }

    /// Whether the certificate of a connection is one of them.
    pub fn contain(&self, der: &[u8]) -> bool {
        self.iter().any(|registered| registered.is(der))
    }

    /// The certificates in PEM form, for administrators.
    pub fn to_pem(&self) -> String {
        self.iter().map(RegisteredCertificate::pem).collect()
    }
}

/// A registered client certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisteredCertificate {
    pem: String,
    /// The SHA-256 of its DER form, as hexadecimal digits.
    sha256: String,
}

impl RegisteredCertificate {
    /// A certificate in both forms. `pem` ends with a line break.
    pub fn new(pem: String, der: &[u8]) -> Self {
        Self {
            pem,
            sha256: Digest::sha256(der).to_text(),
        }
    }

    /// The certificate in PEM form, for administrators.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// The SHA-256 of its DER form, as hexadecimal digits.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Whether this is the certificate of a connection.
    pub fn is(&self, der: &[u8]) -> bool {
        Digest::from_text(&self.sha256).is_some_and(|registered| registered == Digest::sha256(der))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate_name::CertificateNameKind;

    fn certificate(content: &str) -> RegisteredCertificate {
        RegisteredCertificate::new(format!("{content}\n"), content.as_bytes())
    }

    #[test]
    fn two_certificates_are_valid_at_the_same_time() {
        let (old, new) = (certificate("old"), certificate("new"));
        let both = RegisteredCertificates::new(old.clone(), Some(new));
        assert!(both.contain(b"old") && both.contain(b"new"));
        assert!(!both.contain(b"other"));
        assert_eq!(both.to_pem(), "old\nnew\n");
        let one = RegisteredCertificates::new(old.clone(), Some(old));
        assert_eq!(one.iter().count(), 1);
        for known in [both, one] {
            let authentication =
                ClientAuthentication::TlsClientCertificate(CertificateIdentity::Registered(known));
            let stored = serde_json::to_string(&authentication).unwrap();
            assert_eq!(
                serde_json::from_str::<ClientAuthentication>(&stored).unwrap(),
                authentication
            );
        }
    }

    #[test]
    fn a_name_is_stored_with_the_method() {
        for (kind, text) in [
            (CertificateNameKind::SubjectDn, "CN=reports"),
            (CertificateNameKind::SanIp, "192.0.2.7"),
        ] {
            let name = CertificateName::parse(kind, text).unwrap();
            let authentication =
                ClientAuthentication::TlsClientCertificate(CertificateIdentity::Named(name));
            let stored = serde_json::to_string(&authentication).unwrap();
            assert_eq!(
                serde_json::from_str::<ClientAuthentication>(&stored).unwrap(),
                authentication
            );
        }
    }
}
