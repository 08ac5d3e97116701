//! The keys that sign ID tokens, logout tokens and responses.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openssl::error::ErrorStack;
use serde_json::{Map, Value, json};

use super::generation::open;
use super::verification::VerificationKey;
use super::{KeyError, SealingKeys};
use assent_model::key::{KeyPurpose, SigningAlgorithm};
use assent_model::rsa_signer::{RsaScheme, RsaSigner};

/// The error of a token that could not be signed.
#[derive(Debug, thiserror::Error)]
#[error("cannot sign a token: {0}")]
pub struct SigningError(#[from] ErrorStack);

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

/// A private key that signs tokens: RSA of 2048 bits, for one algorithm.
#[derive(Clone, Debug)]
pub struct IdTokenKey {
    signer: RsaSigner,
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
        let rsa = key.rsa()?;
        let public = VerificationKey::new(algorithm, rsa.n().to_owned()?, rsa.e().to_owned()?)?;
        let header = |token_type: TokenType| {
            let header = match token_type.as_str() {
                "" => json!({"alg": algorithm.as_str(), "kid": public.key_id()}),
                name => json!({"alg": algorithm.as_str(), "typ": name, "kid": public.key_id()}),
            };
            URL_SAFE_NO_PAD.encode(header.to_string())
        };
        let scheme = match algorithm {
            SigningAlgorithm::Rs256 => RsaScheme::Pkcs1,
            SigningAlgorithm::Ps256 => RsaScheme::Pss,
        };
        let private = Self {
            signer: RsaSigner::new(key, scheme),
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
    /// millisecond. That is less than the cost of a switch to another thread, because all threads sign.
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
