//! The signature algorithms, and the trusted keys.

use openssl::bn::BigNum;
use openssl::ecdsa::EcdsaSig;
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, Public};
use openssl::sign::Verifier;
use openssl::x509::X509Ref;

/// The algorithm of a signature (RFC 9231 sections 2.3.2 to 2.3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureAlgorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256. The server signs with this algorithm.
    RsaSha256,
    /// RSASSA-PKCS1-v1_5 with SHA-384.
    RsaSha384,
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    RsaSha512,
    /// ECDSA with SHA-256.
    EcdsaSha256,
    /// ECDSA with SHA-384.
    EcdsaSha384,
    /// ECDSA with SHA-512.
    EcdsaSha512,
}

/// The algorithm of the digest of the signed content (XML Encryption section 5.7, RFC 9231 section 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigestAlgorithm {
    /// SHA-256. The server signs with this algorithm.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

/// A rejected algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AlgorithmError {
    /// SHA-1, which is broken.
    #[error(
        "the signature uses SHA-1, which is rejected; configure the service provider to use SHA-256"
    )]
    Sha1,
    /// Any other algorithm.
    #[error(
        "the signature's algorithm is not accepted; configure the service provider to use \
         http://www.w3.org/2001/04/xmldsig-more#rsa-sha256 with http://www.w3.org/2001/04/xmlenc#sha256"
    )]
    Unknown,
}

impl SignatureAlgorithm {
    /// All accepted algorithms.
    pub const ALL: [Self; 6] = [
        Self::RsaSha256,
        Self::RsaSha384,
        Self::RsaSha512,
        Self::EcdsaSha256,
        Self::EcdsaSha384,
        Self::EcdsaSha512,
    ];

    /// Returns the identifier for `Algorithm` and `SigAlg`.
    pub const fn uri(self) -> &'static str {
        match self {
            Self::RsaSha256 => "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
            Self::RsaSha384 => "http://www.w3.org/2001/04/xmldsig-more#rsa-sha384",
            Self::RsaSha512 => "http://www.w3.org/2001/04/xmldsig-more#rsa-sha512",
            Self::EcdsaSha256 => "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256",
            Self::EcdsaSha384 => "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384",
            Self::EcdsaSha512 => "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha512",
        }
    }

    /// Returns the algorithm of an identifier.
    ///
    /// # Errors
    /// [`AlgorithmError`] for all other identifiers, including HMAC and SHA-1.
    pub fn from_uri(uri: &str) -> Result<Self, AlgorithmError> {
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.uri() == uri)
            .ok_or_else(|| unfit(uri))
    }

    const fn key_type(self) -> Id {
        match self {
            Self::RsaSha256 | Self::RsaSha384 | Self::RsaSha512 => Id::RSA,
            Self::EcdsaSha256 | Self::EcdsaSha384 | Self::EcdsaSha512 => Id::EC,
        }
    }

    pub(super) fn digest(self) -> MessageDigest {
        match self {
            Self::RsaSha256 | Self::EcdsaSha256 => MessageDigest::sha256(),
            Self::RsaSha384 | Self::EcdsaSha384 => MessageDigest::sha384(),
            Self::RsaSha512 | Self::EcdsaSha512 => MessageDigest::sha512(),
        }
    }
}

impl DigestAlgorithm {
    /// All accepted algorithms.
    pub const ALL: [Self; 3] = [Self::Sha256, Self::Sha384, Self::Sha512];

    /// Returns the identifier.
    pub const fn uri(self) -> &'static str {
        match self {
            Self::Sha256 => "http://www.w3.org/2001/04/xmlenc#sha256",
            Self::Sha384 => "http://www.w3.org/2001/04/xmldsig-more#sha384",
            Self::Sha512 => "http://www.w3.org/2001/04/xmlenc#sha512",
        }
    }

    pub(super) fn from_uri(uri: &str) -> Result<Self, AlgorithmError> {
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.uri() == uri)
            .ok_or_else(|| unfit(uri))
    }

    pub(super) fn digest(self, bytes: &[u8]) -> Result<Vec<u8>, ErrorStack> {
        let algorithm = match self {
            Self::Sha256 => MessageDigest::sha256(),
            Self::Sha384 => MessageDigest::sha384(),
            Self::Sha512 => MessageDigest::sha512(),
        };
        Ok(openssl::hash::hash(algorithm, bytes)?.to_vec())
    }
}

fn unfit(uri: &str) -> AlgorithmError {
    if uri.ends_with("sha1") {
        AlgorithmError::Sha1
    } else {
        AlgorithmError::Unknown
    }
}

/// A public key that an administrator or checked metadata registered for signatures. A key from a received message
/// never becomes a trusted key.
#[derive(Clone, Debug)]
pub struct TrustedKey {
    key: PKey<Public>,
}

/// The reasons to reject a key for signatures.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SignatureKeyError {
    /// The key is of another kind, or too small or too large.
    #[error("a signing key is RSA with 2048 to 8192 bits, or on the curve P-256, P-384 or P-521")]
    Kind,
    /// The private key does not match the certificate.
    #[error("the certificate does not belong to the key")]
    Certificate,
    /// OpenSSL could not read the key.
    #[error("the key cannot be read: {0}")]
    Unreadable(#[from] ErrorStack),
}

impl TrustedKey {
    /// Trusts a key.
    ///
    /// # Errors
    /// [`SignatureKeyError::Kind`] for a weak key, and for a key with slow verification.
    pub fn new(key: PKey<Public>) -> Result<Self, SignatureKeyError> {
        let fits = match key.id() {
            Id::RSA => (2048..=8192).contains(&key.bits()),
            Id::EC => {
                let curve = key.ec_key()?.group().curve_name();
                [Nid::X9_62_PRIME256V1, Nid::SECP384R1, Nid::SECP521R1]
                    .into_iter()
                    .any(|fit| curve == Some(fit))
            }
            _ => false,
        };
        if fits {
            Ok(Self { key })
        } else {
            Err(SignatureKeyError::Kind)
        }
    }

    /// Trusts the key of a certificate. The rest of the certificate, such as its issuer and validity, is ignored: trust
    /// comes from the registration (SAML V2.0 Metadata Interoperability Profile section 2.5).
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn of_certificate(certificate: &X509Ref) -> Result<Self, SignatureKeyError> {
        Self::new(certificate.public_key()?)
    }

    /// Whether this key signed the message. An ECDSA signature is `r` and `s`, each as long as the field (RFC 9231
    /// section 2.3.6).
    pub fn verifies(
        &self,
        algorithm: SignatureAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> bool {
        if self.key.id() != algorithm.key_type() {
            return false;
        }
        // A signature that OpenSSL cannot process is invalid.
        self.try_verify(algorithm, message, signature)
            .unwrap_or(false)
    }

    fn try_verify(
        &self,
        algorithm: SignatureAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<bool, ErrorStack> {
        let mut verifier = Verifier::new(algorithm.digest(), &self.key)?;
        if self.key.id() == Id::RSA {
            return verifier.verify_oneshot(signature, message);
        }
        let length = usize::try_from(self.key.bits().div_ceil(8)).unwrap_or_default();
        match signature.split_at_checked(length) {
            Some((r, s)) if s.len() == length => {
                let parts = EcdsaSig::from_private_components(
                    BigNum::from_slice(r)?,
                    BigNum::from_slice(s)?,
                )?;
                verifier.verify_oneshot(&parts.to_der()?, message)
            }
            _ => Ok(false),
        }
    }
}
