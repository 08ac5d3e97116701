//! The key sets of applications (RFC 7517 section 5), as their programs write them.
//!
//! A set may have keys that are not for this server: of unknown kinds, for encryption, or on other curves. These are
//! ignored. A member that is null or empty counts as absent, and numbers may have padding or zeros in front.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openssl::bn::BigNum;
use serde_json::{Map, Value};

use super::jws_verifier::{ASYMMETRIC, verifier};
use assent_model::name::QuotedText;

/// The smallest accepted RSA key, in bits (RFC 7518 section 3.3).
const SHORTEST_RSA: i32 = 2048;
/// The largest number of keys in a set.
pub const MOST_KEYS: usize = 20;
/// The members of private and symmetric keys (RFC 7518 section 6).
pub(super) const PRIVATE: [&str; 9] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"];

/// The reason why a key cannot be registered. The message has the expected value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientKeyError {
    /// The text is not PEM, or has other content than expected.
    #[error(
        "expected a public key or a certificate in PEM form (-----BEGIN PUBLIC KEY----- or -----BEGIN CERTIFICATE-----)"
    )]
    NotPem,
    /// The text is a private key.
    #[error("this is a private key, which must stay with the application: expected the public one")]
    Private,
    /// The value is not a key set.
    #[error("expected a JSON Web Key Set with 1 to 20 public keys: {{\"keys\": [...]}}")]
    NotASet,
    /// The set has too many keys.
    #[error("expected at most 20 keys for signatures")]
    TooMany,
    /// These keys of the set cannot be used here.
    #[error("expected a public key for signatures: {0}")]
    Keys(String),
    /// No algorithm uses this kind of key.
    #[error(
        "expected an RSA key of 2048 bits or more, an EC key (P-256, P-384, P-521) or an Ed25519 key"
    )]
    Kind,
    /// The text has no certificate, or too many.
    #[error(
        "expected one certificate in PEM form (-----BEGIN CERTIFICATE-----), or two while one replaces the other"
    )]
    Certificates,
    /// The text is a certificate chain.
    #[error(
        "one of the certificates issued the other: expected only certificates of the application itself"
    )]
    Chain,
}

/// A key set of an application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadKeySet {
    /// The keys that can be used here: 20 at most.
    pub keys: Vec<Map<String, Value>>,
    /// The number of further keys that could be used here.
    pub surplus: usize,
    /// The other keys.
    pub rejected: Vec<RejectedKey>,
}

/// A key that cannot be used here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedKey {
    index: usize,
    kid: Option<QuotedText>,
    why: KeyRejection,
}

/// The reason why a key cannot be used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyRejection {
    /// It is no object with the member `kty`.
    #[error("it is not a JSON Web Key")]
    NotAKey,
    /// It is of an unknown kind.
    #[error("its kty is not RSA, EC or OKP")]
    Kind,
    /// It is private or symmetric.
    #[error("it is a private key, which must stay with the application")]
    Private,
    /// It is for encryption, or for other operations.
    #[error("its use, key_ops or alg is not for signatures")]
    Purpose,
    /// It is too short.
    #[error("an RSA key must have 2048 bits or more")]
    Short,
    /// It is on another curve.
    #[error("its crv is not P-256, P-384, P-521 or Ed25519")]
    Curve,
    /// A member is missing or wrong.
    #[error("its numbers are missing or wrong")]
    Numbers,
}

impl fmt::Display for RejectedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "keys[{}]", self.index)?;
        if let Some(kid) = &self.kid {
            write!(f, " (kid {kid})")?;
        }
        write!(f, ": {}", self.why)
    }
}

impl ReadKeySet {
    /// Reads a set.
    ///
    /// # Errors
    /// [`ClientKeyError::NotASet`] for another value.
    pub fn read(set: &Value) -> Result<Self, ClientKeyError> {
        let keys = set
            .get("keys")
            .and_then(Value::as_array)
            .ok_or(ClientKeyError::NotASet)?;
        let mut read = Self::default();
        for (index, key) in keys.iter().enumerate() {
            match usable_key(key) {
                Ok(_) if read.keys.len() >= MOST_KEYS => {
                    read.surplus = read.surplus.saturating_add(1);
                }
                Ok(key) => read.keys.push(key),
                Err(why) => read.rejected.push(RejectedKey {
                    index,
                    kid: key.get("kid").and_then(Value::as_str).map(QuotedText::new),
                    why,
                }),
            }
        }
        Ok(read)
    }

    /// Returns the rejected keys as a text: each with its index, its `kid` and the reason.
    pub fn rejected_text(&self) -> String {
        let keys: Vec<String> = self.rejected.iter().map(ToString::to_string).collect();
        keys.join("; ")
    }

    /// Returns the keys of a set that an administrator registers.
    ///
    /// # Errors
    /// [`ClientKeyError`] with the rejected keys, if one of them is private or if no key can be used here.
    pub fn into_registered(self) -> Result<Vec<Map<String, Value>>, ClientKeyError> {
        let private: Vec<String> = self
            .rejected
            .iter()
            .filter(|key| key.why == KeyRejection::Private)
            .map(ToString::to_string)
            .collect();
        if !private.is_empty() {
            return Err(ClientKeyError::Keys(private.join("; ")));
        }
        if self.keys.is_empty() && self.rejected.is_empty() {
            return Err(ClientKeyError::NotASet);
        }
        if self.keys.is_empty() {
            return Err(ClientKeyError::Keys(self.rejected_text()));
        }
        if self.surplus > 0 {
            return Err(ClientKeyError::TooMany);
        }
        Ok(self.keys)
    }
}

/// Returns a key in the form of RFC 7518, with only its public members.
///
/// # Errors
/// [`KeyRejection`] if it cannot be used here.
pub(super) fn usable_key(key: &Value) -> Result<Map<String, Value>, KeyRejection> {
    let key = key.as_object().ok_or(KeyRejection::NotAKey)?;
    // Serializers of .NET write absent members as null, and absent lists as empty ones.
    let is_present = |value: &Value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => true,
    };
    let mut key: Map<String, Value> = key
        .iter()
        .filter(|(_, value)| is_present(value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let kind = key
        .get("kty")
        .and_then(Value::as_str)
        .ok_or(KeyRejection::NotAKey)?
        .to_owned();
    let private: &[&str] = match kind.as_str() {
        "RSA" => &["d", "p", "q", "dp", "dq", "qi", "oth"],
        "EC" | "OKP" => &["d"],
        "oct" => &["k"],
        _ => return Err(KeyRejection::Kind),
    };
    if private.iter().any(|member| key.contains_key(*member)) {
        return Err(KeyRejection::Private);
    }
    // For this kind of key these are no members of the standard.
    key.retain(|name, _| !PRIVATE.contains(&name.as_str()));
    if !key.get("kid").is_some_and(Value::is_string) {
        key.remove("kid");
    }
    // The name of EdDSA with this curve since RFC 9864.
    if key.get("alg").and_then(Value::as_str) == Some("Ed25519") {
        key.insert("alg".to_owned(), "EdDSA".into());
    }
    if !is_for_signatures(&key) {
        return Err(KeyRejection::Purpose);
    }
    normalise_numbers(&kind, &mut key)?;
    // Otherwise a key that no algorithm uses would be noticed only at the first request of the application.
    let is_usable = ASYMMETRIC.iter().any(|alg| verifier(alg, &key).is_some());
    is_usable.then_some(key).ok_or(KeyRejection::Numbers)
}

/// Whether a key may verify signatures, by its members `use`, `key_ops` and `alg` (RFC 7517 sections 4.2 to 4.4).
fn is_for_signatures(key: &Map<String, Value>) -> bool {
    let is_signature = key.get("use").is_none_or(|value| value == "sig");
    let verifies = key.get("key_ops").is_none_or(|operations| {
        operations
            .as_array()
            .is_some_and(|operations| operations.iter().any(|one| one == "verify"))
    });
    let has_algorithm = key.get("alg").is_none_or(|algorithm| {
        algorithm
            .as_str()
            .is_some_and(|algorithm| ASYMMETRIC.contains(&algorithm))
    });
    is_signature && verifies && has_algorithm
}

/// Writes the numbers of a key as RFC 7518 section 6 does: in base64url without padding, of the length of the curve or
/// without zeros in front.
pub(super) fn normalise_numbers(
    kind: &str,
    key: &mut Map<String, Value>,
) -> Result<(), KeyRejection> {
    let number = |key: &Map<String, Value>, name: &str| {
        let text = key.get(name)?.as_str()?;
        let text: String = text
            .trim_end_matches('=')
            .chars()
            .map(|character| match character {
                '+' => '-',
                '/' => '_',
                other => other,
            })
            .collect();
        URL_SAFE_NO_PAD.decode(text).ok()
    };
    let coordinate = |bytes: Vec<u8>, length: i32| {
        let number = BigNum::from_slice(&bytes).ok()?;
        number.to_vec_padded(length).ok()
    };
    let curve = key.get("crv").and_then(Value::as_str).unwrap_or_default();
    let numbers: Vec<(&str, Option<Vec<u8>>)> = match (kind, curve) {
        ("RSA", _) => {
            let modulus = number(key, "n").and_then(|n| BigNum::from_slice(&n).ok());
            if modulus
                .as_ref()
                .is_some_and(|modulus| modulus.num_bits() < SHORTEST_RSA)
            {
                return Err(KeyRejection::Short);
            }
            let exponent = number(key, "e").and_then(|e| BigNum::from_slice(&e).ok());
            vec![
                ("n", modulus.map(|modulus| modulus.to_vec())),
                ("e", exponent.map(|exponent| exponent.to_vec())),
            ]
        }
        ("EC", "P-256" | "P-384" | "P-521") => {
            let length = match curve {
                "P-256" => 32,
                "P-384" => 48,
                _ => 66,
            };
            let of = |name| number(key, name).and_then(|bytes| coordinate(bytes, length));
            vec![("x", of("x")), ("y", of("y"))]
        }
        ("OKP", "Ed25519") => vec![("x", number(key, "x"))],
        ("EC" | "OKP", _) => return Err(KeyRejection::Curve),
        _ => return Err(KeyRejection::Kind),
    };
    for (name, bytes) in numbers {
        let bytes = bytes.ok_or(KeyRejection::Numbers)?;
        key.insert(name.to_owned(), URL_SAFE_NO_PAD.encode(bytes).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
