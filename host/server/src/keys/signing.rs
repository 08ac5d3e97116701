//! The keys that sign ID tokens, logout tokens and responses.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use josekit::JoseError;
use josekit::jws::{ES256, EdDSA, JwsSigner};
use openssl::error::ErrorStack;
use openssl::pkey::{PKey, Private};
use serde_json::{Map, Value, json};
use zeroize::Zeroizing;

use super::generation::open;
use super::verification::VerificationKey;
use super::{KeyError, SealingKeys};
use assent_model::key::{KeyPurpose, SigningAlgorithm};
use assent_model::rsa_signer::{RsaScheme, RsaSigner};

/// The error of a token that could not be signed.
#[derive(Debug, thiserror::Error)]
#[error("cannot sign a token: {0}")]
pub enum SigningError {
    /// OpenSSL failed.
    Rsa(#[from] ErrorStack),
    /// The library for JSON Web Signatures failed.
    Jws(#[from] JoseError),
    /// The content could not be written as JSON.
    Json(#[from] serde_json::Error),
}

/// The type of a signed token (`typ`, RFC 7515 section 4.1.9), so that tokens of different types are not confused (RFC
/// 8725 section 3.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
pub enum TokenType {
    /// An ID token.
    #[strum(serialize = "JWT")]
    IdToken,
    /// A logout token (OpenID Connect Back-Channel Logout 1.0 section 2.4).
    #[strum(serialize = "logout+jwt")]
    LogoutToken,
    /// An introspection response (RFC 9701 section 5).
    #[strum(serialize = "token-introspection+jwt")]
    Introspection,
    /// An authorization response (JARM) or a UserInfo response. Their standards name no type, and clients accept none
    /// but that of ID tokens, so they have no `typ`. They are no ID tokens here.
    #[strum(serialize = "")]
    Response,
}
assent_model::enum_texts!(TokenType);

/// The signer of one algorithm. RSA, the default of applications, has its own, which keeps its contexts.
#[derive(Clone, Debug)]
enum Signer {
    Rsa(RsaSigner),
    Other(Box<dyn JwsSigner>),
}

impl Signer {
    fn open(algorithm: SigningAlgorithm, key: PKey<Private>) -> Result<Self, KeyError> {
        let der = || key.private_key_to_pkcs8().map(Zeroizing::new);
        let unfit = |error: JoseError| KeyError::Form(error.to_string());
        Ok(match algorithm {
            SigningAlgorithm::Rs256 => Self::Rsa(RsaSigner::new(key, RsaScheme::Pkcs1)),
            SigningAlgorithm::Ps256 => Self::Rsa(RsaSigner::new(key, RsaScheme::Pss)),
            SigningAlgorithm::Es256 => {
                Self::Other(Box::new(ES256.signer_from_der(&*der()?).map_err(unfit)?))
            }
            SigningAlgorithm::EdDsa => {
                Self::Other(Box::new(EdDSA.signer_from_der(&*der()?).map_err(unfit)?))
            }
        })
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SigningError> {
        Ok(match self {
            Self::Rsa(signer) => signer.sign(message)?,
            Self::Other(signer) => signer.sign(message)?,
        })
    }
}

/// A private key that signs tokens, for one algorithm.
#[derive(Clone, Debug)]
pub struct IdTokenKey {
    signer: Signer,
    key_id: String,
    id_token_header: String,
    logout_token_header: String,
    introspection_header: String,
    response_header: String,
}

impl IdTokenKey {
    pub(super) fn open(
        algorithm: SigningAlgorithm,
        sealed: &str,
        sealing: &SealingKeys,
    ) -> Result<(Self, VerificationKey), KeyError> {
        let key = open(KeyPurpose::IdToken(algorithm), sealed, sealing)?;
        let public = PKey::public_key_from_der(&key.public_key_to_der()?)?;
        let public = VerificationKey::new(algorithm, &public)?;
        let header = |token_type: TokenType| {
            let header = match token_type.as_str() {
                "" => json!({"alg": algorithm.as_str(), "kid": public.key_id()}),
                name => json!({"alg": algorithm.as_str(), "typ": name, "kid": public.key_id()}),
            };
            URL_SAFE_NO_PAD.encode(header.to_string())
        };
        let private = Self {
            signer: Signer::open(algorithm, key)?,
            key_id: public.key_id().to_owned(),
            id_token_header: header(TokenType::IdToken),
            logout_token_header: header(TokenType::LogoutToken),
            introspection_header: header(TokenType::Introspection),
            response_header: header(TokenType::Response),
        };
        Ok((private, public))
    }

    /// Returns the `kid` of a sealed key.
    ///
    /// # Errors
    /// If no sealing key opens it.
    pub fn sealed_key_id(
        algorithm: SigningAlgorithm,
        sealed: &str,
        sealing: &SealingKeys,
    ) -> Result<String, KeyError> {
        let (key, _) = Self::open(algorithm, sealed, sealing)?;
        Ok(key.key_id)
    }

    /// Returns the `kid` of the tokens that the key signs.
    pub fn key_id(&self) -> &str {
        &self.key_id
    }

    /// Signs claims as a JWT (RFC 7519, in the compact form of RFC 7515 section 7.1). A signature takes a quarter of a
    /// millisecond at most. That is less than the cost of a switch to another thread, because all threads sign.
    ///
    /// # Errors
    /// [`SigningError`] if the cryptographic library fails.
    pub fn sign(
        &self,
        claims: Map<String, Value>,
        token_type: TokenType,
    ) -> Result<String, SigningError> {
        let header = match token_type {
            TokenType::IdToken => &self.id_token_header,
            TokenType::LogoutToken => &self.logout_token_header,
            TokenType::Introspection => &self.introspection_header,
            TokenType::Response => &self.response_header,
        };
        let payload = Value::Object(claims).to_string();
        let mut token = String::with_capacity(header.len() + payload.len() * 4 / 3 + 360);
        token.push_str(header);
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(payload, &mut token);
        let signature = self.signer.sign(token.as_bytes())?;
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Ok(token)
    }
}
