//! The keys of applications: their registration, and the verification of JWTs that applications signed.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use josekit::jws::JwsVerifier;
use josekit::jws::alg::hmac::HmacJwsAlgorithm;
use josekit::jwt;
use openssl::bn::{BigNum, BigNumContext};
use openssl::error::ErrorStack;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, Public};
use openssl::rsa::Rsa;
use openssl::x509::X509;
use serde_json::{Map, Value, json};

use super::armour::{
    Block, blocks, certificates, first_certificate, has_private_key, is_certificate,
};
use super::jws_verifier::{accepted_name, verifier};
use super::key_set::{ClientKeyError, ReadKeySet, usable_key};
use assent_model::client_auth::{RegisteredCertificate, RegisteredCertificates};
use assent_model::id::Did;
use assent_model::secret::Digest;

/// The algorithm of `client_secret_jwt`. A secret has 43 characters, which is too short for the longer hashes (RFC 7518
/// section 3.2).
pub const SYMMETRIC: [&str; 1] = ["HS256"];

/// The longest accepted JWT, in bytes.
const LONGEST: usize = 15 * 1024;

/// The reason why a token is invalid. The application's developer receives the message, which is general on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JwtError {
    /// The token cannot be parsed.
    #[error("it is not a signed JWT")]
    Malformed,
    /// Its `alg` is not accepted here.
    #[error("its algorithm is not accepted")]
    Algorithm,
    /// No key of the application verifies the signature.
    #[error("its signature does not match a key of the application")]
    Signature,
    /// The application's keys could not be fetched.
    #[error("the application's keys could not be fetched")]
    NoKeys,
}

/// Returns the purpose for which an application's secret is sealed.
pub fn secret_purpose(id: &Did) -> String {
    format!("client_secret {id}")
}

/// Returns the public key in a text, of a key or of a certificate, as a JSON Web Key. The text is PEM, or base64
/// without armour.
///
/// # Errors
/// [`ClientKeyError`] if the text has no public key that can be used here.
pub fn key_of_pem(pem: &str) -> Result<Map<String, Value>, ClientKeyError> {
    if has_private_key(pem) {
        return Err(ClientKeyError::Private);
    }
    let key = blocks(pem).iter().find_map(public_key);
    jwk_of_key(&key.ok_or(ClientKeyError::NotPem)?)
}

/// Returns the public key of an object. Without a label it is a key or a certificate.
fn public_key(block: &Block) -> Option<PKey<Public>> {
    let of_certificate = || X509::from_der(&block.der).ok()?.public_key().ok();
    match block.label.as_deref() {
        Some("PUBLICKEY") => PKey::public_key_from_der(&block.der).ok(),
        // The form of PKCS #1, as OpenSSL and Go write it.
        Some("RSAPUBLICKEY") => {
            PKey::from_rsa(Rsa::public_key_from_der_pkcs1(&block.der).ok()?).ok()
        }
        Some(label) if is_certificate(label) => of_certificate(),
        Some(_) => None,
        None => PKey::public_key_from_der(&block.der)
            .ok()
            .or_else(of_certificate),
    }
}

/// Returns the key of a certificate in PEM form as a JSON Web Key.
///
/// # Errors
/// [`ClientKeyError`] if the text is not a certificate, or its key cannot be used here.
pub fn key_of_certificate(pem: &str) -> Result<Map<String, Value>, ClientKeyError> {
    key_of_pem(certificate(pem)?.pem())
}

/// Returns the digest (SHA-256) of a certificate in PEM form, in hexadecimal, for comparison by users. Empty if the
/// text is not a certificate.
pub fn certificate_digest(pem: &str) -> String {
    certificate(pem)
        .map(|known| known.sha256().to_owned())
        .unwrap_or_default()
}

/// Parses the one or two certificates that an application registers, so that they can be compared later.
///
/// # Errors
/// [`ClientKeyError`] if the text has no certificate, more than two, or a certificate with its authority. The authority
/// could otherwise authenticate as the application.
pub fn registered_certificates(pem: &str) -> Result<RegisteredCertificates, ClientKeyError> {
    if has_private_key(pem) {
        return Err(ClientKeyError::Private);
    }
    let found = certificates(pem);
    let (first, second) = match found.as_slice() {
        [first] => (first, None),
        [first, second] if has_issued(first, second) || has_issued(second, first) => {
            return Err(ClientKeyError::Chain);
        }
        [first, second] => (first, Some(second)),
        _ => return Err(ClientKeyError::Certificates),
    };
    let second = second.map(registered).transpose()?;
    Ok(RegisteredCertificates::new(registered(first)?, second))
}

/// Whether a certificate is that of the authority of another one, which is not self-signed.
fn has_issued(authority: &X509, other: &X509) -> bool {
    let is_verified = |certificate: &X509, authority: &X509| {
        let key = authority.public_key();
        key.is_ok_and(|key| certificate.verify(&key).unwrap_or(false))
    };
    let has_issued = !is_verified(other, other) && is_verified(other, authority);
    // A failed verification leaves errors, which later calls of OpenSSL would report.
    drop(ErrorStack::get());
    has_issued
}

/// Parses the first certificate in a text.
///
/// # Errors
/// [`ClientKeyError`] if the text is not a certificate.
pub fn certificate(pem: &str) -> Result<RegisteredCertificate, ClientKeyError> {
    if has_private_key(pem) {
        return Err(ClientKeyError::Private);
    }
    registered(&first_certificate(pem).ok_or(ClientKeyError::NotPem)?)
}

fn registered(certificate: &X509) -> Result<RegisteredCertificate, ClientKeyError> {
    let (der, text) = (
        certificate.to_der().map_err(|_| ClientKeyError::NotPem)?,
        certificate.to_pem().map_err(|_| ClientKeyError::NotPem)?,
    );
    let text = String::from_utf8(text).map_err(|_| ClientKeyError::NotPem)?;
    Ok(RegisteredCertificate::new(text, &der))
}

/// Returns whether a certificate is valid at this time, in seconds since the epoch (RFC 5280 section 4.1.2.5).
pub fn certificate_is_in_time(der: &[u8], now: i64) -> bool {
    let Ok(certificate) = X509::from_der(der) else {
        return false;
    };
    let Ok(now) = openssl::asn1::Asn1Time::from_unix(now) else {
        return false;
    };
    certificate.not_before() <= now && certificate.not_after() >= now
}

/// Returns the keys of a JSON Web Key Set that an administrator registers, with only their public members. Keys for
/// other purposes are ignored (RFC 7517 section 5).
///
/// # Errors
/// [`ClientKeyError`] if the value is not a key set, if a key is private, or if no key can be used here. The error
/// names the keys.
pub fn keys_of_set(set: &Value) -> Result<Vec<Map<String, Value>>, ClientKeyError> {
    ReadKeySet::read(set)?.into_registered()
}

/// Returns the thumbprint of a key in base64url. Empty for a kind of key that is not used here.
pub fn thumbprint_text(key: &Map<String, Value>) -> String {
    thumbprint(key).map_or_else(String::new, Digest::to_base64url)
}

/// Returns the thumbprint of a key (RFC 7638 section 3): the digest of its required members. `None` for a kind of key
/// that is not used here.
pub fn thumbprint(key: &Map<String, Value>) -> Option<Digest> {
    let members: &[&str] = match key.get("kty").and_then(Value::as_str) {
        Some("RSA") => &["e", "kty", "n"],
        Some("EC") => &["crv", "kty", "x", "y"],
        Some("OKP") => &["crv", "kty", "x"],
        _ => return None,
    };
    let member = |name: &&str| {
        format!(
            "{}:{}",
            Value::from(*name),
            key.get(*name).unwrap_or(&Value::Null)
        )
    };
    let text = format!(
        "{{{}}}",
        members.iter().map(member).collect::<Vec<_>>().join(",")
    );
    Some(Digest::sha256(text.as_bytes()))
}

/// Returns a public key as a JSON Web Key.
///
/// # Errors
/// [`ClientKeyError`] if the kind of key cannot be used here.
pub(super) fn jwk_of_key(key: &PKey<Public>) -> Result<Map<String, Value>, ClientKeyError> {
    let number = |number: &openssl::bn::BigNumRef, length: i32| {
        number
            .to_vec_padded(length)
            .map(|bytes| URL_SAFE_NO_PAD.encode(bytes))
            .map_err(|_| ClientKeyError::Kind)
    };
    let value = match key.id() {
        Id::RSA => {
            let rsa = key.rsa().map_err(|_| ClientKeyError::Kind)?;
            let text = |number: &openssl::bn::BigNumRef| URL_SAFE_NO_PAD.encode(number.to_vec());
            json!({"kty": "RSA", "n": text(rsa.n()), "e": text(rsa.e())})
        }
        Id::EC => {
            let ec = key.ec_key().map_err(|_| ClientKeyError::Kind)?;
            let (curve, length) = match ec.group().curve_name() {
                Some(Nid::X9_62_PRIME256V1) => ("P-256", 32),
                Some(Nid::SECP384R1) => ("P-384", 48),
                Some(Nid::SECP521R1) => ("P-521", 66),
                _ => return Err(ClientKeyError::Kind),
            };
            let failed = |_| ClientKeyError::Kind;
            let (mut x, mut y) = (
                BigNum::new().map_err(failed)?,
                BigNum::new().map_err(failed)?,
            );
            let mut context = BigNumContext::new().map_err(failed)?;
            ec.public_key()
                .affine_coordinates(ec.group(), &mut x, &mut y, &mut context)
                .map_err(failed)?;
            json!({"kty": "EC", "crv": curve, "x": number(&x, length)?, "y": number(&y, length)?})
        }
        Id::ED25519 => {
            let raw = key.raw_public_key().map_err(|_| ClientKeyError::Kind)?;
            json!({"kty": "OKP", "crv": "Ed25519", "x": URL_SAFE_NO_PAD.encode(raw)})
        }
        _ => return Err(ClientKeyError::Kind),
    };
    usable_key(&value).map_err(|_| ClientKeyError::Kind)
}

/// Returns the claims of a JWT that one of these keys signed with an accepted algorithm. `jku`, `x5u`, `x5c` and `jwk`
/// in its header are ignored.
/// An unknown `crit` is an error (RFC 7515 section 4.1.11).
///
/// # Errors
/// [`JwtError`] if the token is malformed, or none of the keys signed it.
pub fn verify(
    token: &str,
    keys: &[Map<String, Value>],
    accepted: &[&str],
) -> Result<Map<String, Value>, JwtError> {
    let (algorithm, kid) = header(token, accepted)?;
    let named = |key: &&Map<String, Value>| match (&kid, key.get("kid").and_then(Value::as_str)) {
        (Some(wanted), Some(known)) => wanted == known,
        _ => true,
    };
    let verifiers = keys
        .iter()
        .filter(named)
        .filter_map(|key| verifier(&algorithm, key));
    let mut claims = verifiers.filter_map(|verifier| decode(token, &*verifier));
    claims.next().ok_or(JwtError::Signature)
}

/// Returns the claims of a JWT that was authenticated with a client secret.
///
/// # Errors
/// [`JwtError`] if the token is malformed, or was not authenticated with the secret.
pub fn verify_with_secret(token: &str, secret: &[u8]) -> Result<Map<String, Value>, JwtError> {
    header(token, &SYMMETRIC)?;
    let verifier = HmacJwsAlgorithm::Hs256
        .verifier_from_bytes(secret)
        .map_err(|_| JwtError::Signature)?;
    decode(token, &verifier).ok_or(JwtError::Signature)
}

fn decode(token: &str, verifier: &dyn JwsVerifier) -> Option<Map<String, Value>> {
    jwt::decode_with_verifier(token, verifier)
        .ok()
        .map(|(payload, _)| payload.into())
}

/// Returns the claims of a token, of which nothing is verified.
pub fn claims_of(token: &str) -> Option<Map<String, Value>> {
    let payload = token.split('.').nth(1)?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()
}

/// Returns the header of a token, of which nothing is verified.
pub fn header_of(token: &str) -> Option<Map<String, Value>> {
    let first = token.split('.').next()?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(first).ok()?).ok()
}

/// Returns the algorithm and the key identifier in a token's header, if the algorithm is one of these.
fn header(token: &str, accepted: &[&str]) -> Result<(String, Option<String>), JwtError> {
    if token.len() > LONGEST {
        return Err(JwtError::Malformed);
    }
    let header = header_of(token).ok_or(JwtError::Malformed)?;
    let algorithm = header
        .get("alg")
        .and_then(Value::as_str)
        .ok_or(JwtError::Malformed)?;
    accepted_name(algorithm, accepted).ok_or(JwtError::Algorithm)?;
    Ok((
        algorithm.to_owned(),
        header.get("kid").and_then(Value::as_str).map(str::to_owned),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{key_of_pem, thumbprint_text};

    /// The example of RFC 7638 section 3.1.
    #[test]
    fn the_thumbprint_of_a_key_follows_rfc_7638() {
        let key = json!({
            "kty": "RSA",
            "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJE\
                  CPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2Q\
                  vzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6\
                  WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
            "e": "AQAB",
            "alg": "RS256",
            "kid": "2011-04-29",
        });
        assert_eq!(
            thumbprint_text(key.as_object().unwrap()),
            "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
        );
        assert_eq!(
            thumbprint_text(json!({"kty": "oct", "k": "AA"}).as_object().unwrap()),
            ""
        );
        let pem = include_str!("../../../../tests/fuzz/corpus/client_keys/pem-ec");
        let key = key_of_pem(&pem[pem.find("-----BEGIN").unwrap()..]).unwrap();
        assert_eq!(thumbprint_text(&key).len(), 43);
    }
}
