//! Secrets: values that must not be printed, and comparisons in constant time.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::entropy::Entropy;
use crate::token_text::{self, TokenTextError};

/// A secret text. It prints as `***`, and its memory is zeroed when it is dropped.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Protects a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// Returns 32 random bytes as base64url: 43 characters, without a colon.
    pub fn random(entropy: &dyn Entropy) -> Self {
        Self::new(URL_SAFE_NO_PAD.encode(entropy.bytes::<32>()))
    }

    /// Returns the text itself, for the code that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns the digest, which is stored instead of the secret.
    pub fn digest(&self) -> Digest {
        Digest::sha256(self.0.as_bytes())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The SHA-256 digest of a secret, compared in constant time.
///
/// A plain digest is sufficient, because every secret of the server has 256 bits of entropy, which prevents brute
/// force.
#[derive(Clone, Copy)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest of these bytes.
    pub fn sha256(bytes: &[u8]) -> Self {
        // In contrast to `openssl::sha::sha256`, this looks up no provider, which would take longer than a short
        // digest.
        let mut sha256 = openssl::sha::Sha256::new();
        sha256.update(bytes);
        Self(sha256.finish())
    }

    /// Returns the digest or code with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the stored form of the digest.
    pub fn to_text(self) -> String {
        hex::encode(self.0)
    }

    /// Returns the digest in the form of JOSE (RFC 7515 section 2).
    pub fn to_base64url(self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// Parses the form of JOSE.
    pub fn from_base64url(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        Some(Self(bytes.try_into().ok()?))
    }

    /// Parses the stored form.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        Some(Self(bytes))
    }

    /// Returns the bytes of the digest.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// In JSON the digest has the form of JOSE.
impl serde::Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_base64url())
    }
}

impl<'de> serde::Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::from_base64url(&text)
            .ok_or_else(|| serde::de::Error::custom("expected a digest in base64url"))
    }
}

impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Digest {}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest(***)")
    }
}

/// A token that the server issues: a time-ordered row id and a secret, with a prefix for its kind.
///
/// The text is `{prefix}_` and 64 characters of base64url (16 bytes of id, 32 of secret). The ordered key finds the
/// row. The digest covers the whole text with the prefix, so a token of one kind is invalid as another kind.
#[derive(Clone)]
pub struct Token {
    id: [u8; 16],
    text: Secret,
}

impl Token {
    /// Returns a new token of the kind `prefix` for the row `id`.
    pub fn new(prefix: &str, id: &[u8; 16], entropy: &dyn Entropy) -> Self {
        let mut bytes = Zeroizing::new([0; 48]);
        let (head, tail) = bytes.split_at_mut(16);
        head.copy_from_slice(id);
        entropy.fill(tail);
        Self::of(prefix, id, &bytes)
    }

    fn of(prefix: &str, id: &[u8; 16], bytes: &[u8; 48]) -> Self {
        Self {
            id: *id,
            text: Secret::new(format!("{prefix}_{}", URL_SAFE_NO_PAD.encode(bytes))),
        }
    }

    /// Returns a new token for users to open and copy, in the form of [`token_text`].
    pub fn for_people(prefix: &str, id: &[u8; 16], entropy: &dyn Entropy) -> Self {
        Self::derived_for_people(prefix, id, &Zeroizing::new(entropy.bytes::<32>()))
    }

    /// Returns a token like [`Self::for_people`], with a secret that the server can derive again.
    pub fn derived_for_people(prefix: &str, id: &[u8; 16], secret: &[u8; 32]) -> Self {
        let value = Zeroizing::new([&id[..], &secret[..]].concat());
        Self {
            id: *id,
            text: Secret(token_text::write(prefix, &value)),
        }
    }

    /// Parses a token in the form of [`token_text`].
    ///
    /// # Errors
    /// [`TokenTextError`] if the text is not exactly such a token.
    pub fn parse_for_people(prefix: &str, text: &str) -> Result<Self, TokenTextError> {
        let value = token_text::read::<48>(prefix, text)?;
        let id = value.first_chunk().ok_or(TokenTextError::Damaged)?;
        Ok(Self {
            id: *id,
            text: Secret::new(text),
        })
    }

    /// Returns the token of the kind `prefix` for the row `id` with a secret that was derived for it.
    pub fn derived(prefix: &str, id: &[u8; 16], secret: &[u8; 32]) -> Self {
        let mut bytes = Zeroizing::new([0; 48]);
        let (head, tail) = bytes.split_at_mut(16);
        head.copy_from_slice(id);
        tail.copy_from_slice(secret);
        Self::of(prefix, id, &bytes)
    }

    /// Parses a token of the kind `prefix`. Returns `None` for other texts.
    pub fn parse(prefix: &str, text: &str) -> Option<Self> {
        let encoded = text.strip_prefix(prefix)?.strip_prefix('_')?;
        if encoded.len() != 64 {
            return None;
        }
        let bytes = Zeroizing::new(URL_SAFE_NO_PAD.decode(encoded).ok()?);
        let id = bytes.get(..16)?.try_into().ok()?;
        Some(Self {
            id,
            text: Secret::new(text),
        })
    }

    /// Returns the bytes of the row's id.
    pub const fn id(&self) -> [u8; 16] {
        self.id
    }

    /// Returns the text for the holder.
    pub fn expose(&self) -> &str {
        self.text.expose()
    }

    /// Returns the stored digest.
    pub fn digest(&self) -> Digest {
        self.text.digest()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::entropy::SystemEntropy;

    #[test]
    fn secrets_are_not_printed() {
        let token = Token::new("at", &[7; 16], &SystemEntropy);
        let printed = format!(
            "{:?} {:?} {:?}",
            Secret::new("hunter2"),
            token,
            token.digest()
        );
        assert_eq!(printed, "*** Token(***) Digest(***)");
    }

    #[test]
    fn a_token_of_one_kind_is_invalid_as_another() {
        let code = Token::new("ac", &[7; 16], &SystemEntropy);
        assert!(Token::parse("at", code.expose()).is_none());
        let renamed = code.expose().replacen("ac_", "at_", 1);
        let access = Token::parse("at", &renamed).expect("well formed");
        assert_ne!(access.digest(), code.digest());
    }

    proptest! {
        #[test]
        fn a_token_round_trips_through_text(id in any::<[u8; 16]>()) {
            let token = Token::new("ac", &id, &SystemEntropy);
            let read = Token::parse("ac", token.expose()).expect("well formed");
            prop_assert_eq!(read.id(), id);
            prop_assert_eq!(read.digest(), token.digest());
        }

        #[test]
        fn a_token_for_people_round_trips_through_text(id in any::<[u8; 16]>()) {
            let token = Token::for_people("en", &id, &SystemEntropy);
            let read = Token::parse_for_people("en", token.expose()).expect("well formed");
            prop_assert_eq!(read.id(), id);
            prop_assert_eq!(read.digest(), token.digest());
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = Token::parse("ac", &text);
        }
    }
}
