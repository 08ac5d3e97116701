//! The binding of tokens to keys of their clients.

use crate::secret::Digest;

/// The SHA-256 of a client certificate in DER form (the `x5t#S256` of RFC 8705 section 3.1).
pub type CertificateDigest = Digest;

/// The thumbprint of a client's DPoP key (RFC 7638 with SHA-256, the `jkt` of RFC 9449 section 6.1).
pub type KeyThumbprint = Digest;

/// The key that the bearer of an access token must prove to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenBinding {
    /// The key of a TLS client certificate (RFC 8705 section 3).
    Certificate(CertificateDigest),
    /// A key of the client, of which each request has a proof (RFC 9449).
    DpopKey(KeyThumbprint),
}

impl TokenBinding {
    /// Returns the method of the `cnf` claim (RFC 7800 section 3.1) and its value.
    pub fn confirmation(self) -> (&'static str, String) {
        match self {
            Self::Certificate(digest) => ("x5t#S256", digest.to_base64url()),
            Self::DpopKey(thumbprint) => ("jkt", thumbprint.to_base64url()),
        }
    }

    /// Returns the `token_type` of a token with this binding (RFC 6750, RFC 9449 section 5).
    pub const fn token_type(this: Option<Self>) -> &'static str {
        match this {
            Some(Self::DpopKey(_)) => "DPoP",
            Some(Self::Certificate(_)) | None => "Bearer",
        }
    }
}
