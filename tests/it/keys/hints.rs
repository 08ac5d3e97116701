//! Verification of ID tokens that the server issued (`id_token_hint`), and tokens that it must reject.

use std::sync::Arc;

use assent::keys::{IdTokenError, KeyRing, SealingKeys, SymmetricKey, TokenType, generate};
use assent_model::clock::Timestamp;
use assent_model::id::KeyId;
use assent_model::key::{KeyMaterial, KeyPurpose, KeyTimes, SigningKey};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, PKeyRef, Private};
use openssl::rsa::Padding;
use openssl::sign::{RsaPssSaltlen, Signer};

use super::*;
use crate::harness::{Json, Text, base64url, jwt_header, rsa_key};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// A key ring, and the private key of its RS256 key, which normally only the instance has. The tests use it to create
/// tokens with a single fault.
struct Fixture {
    ring: Arc<KeyRing>,
    private_key: PKey<Private>,
    kid: String,
    ps256_kid: String,
}

impl Fixture {
    async fn new() -> Self {
        let key = SymmetricKey::from_bytes(&[7; 32]).expect("a key");
        let sealing = SealingKeys::single(key).expect("a sealing key");
        let mut stored = Vec::new();
        for algorithm in SigningAlgorithm::ALL {
            let purpose = KeyPurpose::IdToken(algorithm);
            let sealed = generate(purpose, &sealing, NOW, &SystemEntropy)
                .await
                .expect("a key");
            let id = KeyId::new(NOW, &SystemEntropy);
            let times = KeyTimes::at_once(1, NOW);
            stored.push((
                sealed.clone(),
                SigningKey {
                    id,
                    purpose,
                    material: KeyMaterial::Sealed(sealed),
                    times,
                },
            ));
        }
        let private_key = sealing.open("id_token", &stored[0].0).expect("opened");
        let private_key = PKey::private_key_from_pkcs8(&private_key).expect("a key");
        let stored: Vec<SigningKey> = stored.into_iter().map(|(_, key)| key).collect();
        let ring = Arc::new(KeyRing::open(&stored, &sealing).expect("a ring"));
        let kid = |algorithm| {
            ring.signer(algorithm, NOW)
                .expect("a key")
                .key_id()
                .to_owned()
        };
        let (kid, ps256_kid) = (kid(SigningAlgorithm::Rs256), kid(SigningAlgorithm::Ps256));
        Self {
            ring,
            private_key,
            kid,
            ps256_kid,
        }
    }

    /// Returns a valid header with these members changed.
    fn header(&self, changes: Value) -> Value {
        let mut header = json!({"alg": "RS256", "kid": self.kid, "typ": "JWT"});
        header.members_mut().extend(object(changes));
        header
    }

    /// Returns a token with this header and a signature with the key of the ring.
    fn signed(&self, header: &Value) -> String {
        with_signature(&header.to_string(), |message| {
            rs256(&self.private_key, message)
        })
    }

    fn verify(&self, jwt: &str) -> Result<Map<String, Value>, IdTokenError> {
        self.ring.verify_own(jwt)
    }
}

fn with_signature(header: &str, sign: impl FnOnce(&[u8]) -> Vec<u8>) -> String {
    let message = format!(
        "{}.{}",
        URL_SAFE_NO_PAD.encode(header),
        URL_SAFE_NO_PAD.encode(claims().to_string())
    );
    let signature = sign(message.as_bytes());
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn rs256(key: &PKeyRef<Private>, message: &[u8]) -> Vec<u8> {
    let mut signer = Signer::new(MessageDigest::sha256(), key).expect("a signer");
    signer.sign_oneshot_to_vec(message).expect("a signature")
}

fn ps256(key: &PKeyRef<Private>, message: &[u8]) -> Vec<u8> {
    let mut signer = Signer::new(MessageDigest::sha256(), key).expect("a signer");
    signer.set_rsa_padding(Padding::PKCS1_PSS).expect("PSS");
    signer
        .set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH)
        .expect("a length");
    signer.sign_oneshot_to_vec(message).expect("a signature")
}

fn foreign_key() -> PKey<Private> {
    rsa_key()
}

#[tokio::test]
async fn an_expired_id_token_hint_is_accepted() {
    let fixture = Fixture::new().await;
    for algorithm in SigningAlgorithm::ALL {
        let key = fixture.ring.signer(algorithm, NOW).expect("a key");
        let token = key
            .sign(object(claims()), TokenType::IdToken)
            .expect("signed");
        assert_eq!(fixture.verify(&token), Ok(object(claims())));
    }
    // Each of the forgeries below differs from this token in one point.
    assert_eq!(
        fixture.verify(&fixture.signed(&fixture.header(json!({})))),
        Ok(object(claims()))
    );
}

#[tokio::test]
async fn alg_none_is_rejected() {
    let fixture = Fixture::new().await;
    for alg in ["none", "None", "NONE", ""] {
        let header = fixture.header(json!({"alg": alg})).to_string();
        assert_eq!(
            fixture.verify(&with_signature(&header, |_| Vec::new())),
            Err(IdTokenError::OtherAlgorithm),
            "{alg}"
        );
    }
    let no_signature = with_signature(&fixture.header(json!({})).to_string(), |_| Vec::new());
    assert_eq!(
        fixture.verify(&no_signature),
        Err(IdTokenError::BadSignature)
    );
    let two_parts = no_signature.trim_end_matches('.');
    assert_eq!(fixture.verify(two_parts), Err(IdTokenError::Malformed));
}

#[tokio::test]
async fn hs256_keyed_with_the_public_key_is_rejected() {
    let fixture = Fixture::new().await;
    let jwk = fixture.ring.key_set(NOW)["keys"][0].clone();
    let n = jwk["n"].text();
    let rsa = fixture.private_key.rsa().expect("RSA");
    for (form, secret) in [
        ("PEM", fixture.private_key.public_key_to_pem().expect("PEM")),
        ("DER", fixture.private_key.public_key_to_der().expect("DER")),
        ("PKCS #1 PEM", rsa.public_key_to_pem_pkcs1().expect("PEM")),
        ("PKCS #1 DER", rsa.public_key_to_der_pkcs1().expect("DER")),
        ("the JWK", jwk.to_string().into_bytes()),
        ("n of the JWK", n.as_bytes().to_vec()),
        ("the modulus", base64url(n)),
    ] {
        let mac = |message: &[u8]| {
            let key = PKey::hmac(&secret).expect("a key");
            let mut signer = Signer::new(MessageDigest::sha256(), &key).expect("a signer");
            signer.sign_oneshot_to_vec(message).expect("a code")
        };
        let token = with_signature(&fixture.header(json!({"alg": "HS256"})).to_string(), mac);
        assert_eq!(
            fixture.verify(&token),
            Err(IdTokenError::OtherAlgorithm),
            "{form}"
        );
        let token = with_signature(&fixture.header(json!({})).to_string(), mac);
        assert_eq!(
            fixture.verify(&token),
            Err(IdTokenError::BadSignature),
            "{form}"
        );
    }
}

#[tokio::test]
async fn a_key_is_used_with_its_own_algorithm_only() {
    let fixture = Fixture::new().await;
    for alg in ["PS256", "RS384", "RS512", "ES256", "rs256"] {
        let header = fixture.header(json!({"alg": alg})).to_string();
        let token = with_signature(&header, |message| ps256(&fixture.private_key, message));
        assert_eq!(
            fixture.verify(&token),
            Err(IdTokenError::OtherAlgorithm),
            "{alg}"
        );
    }
    let pss_as_rs256 = with_signature(&fixture.header(json!({})).to_string(), |message| {
        ps256(&fixture.private_key, message)
    });
    assert_eq!(
        fixture.verify(&pss_as_rs256),
        Err(IdTokenError::BadSignature)
    );
    let anothers_kid =
        fixture.signed(&fixture.header(json!({"alg": "PS256", "kid": fixture.ps256_kid})));
    assert_eq!(
        fixture.verify(&anothers_kid),
        Err(IdTokenError::BadSignature)
    );
}

#[tokio::test]
async fn a_key_in_the_header_is_ignored() {
    let fixture = Fixture::new().await;
    let theirs = foreign_key();
    let rsa = theirs.rsa().expect("RSA");
    let [n, e] = [rsa.n(), rsa.e()].map(|number| URL_SAFE_NO_PAD.encode(number.to_vec()));
    for (member, value) in [
        (
            "jwk",
            json!({"kty": "RSA", "kid": "theirs", "alg": "RS256", "n": n, "e": e}),
        ),
        ("jku", json!("https://evil.example/jwks")),
        ("x5u", json!("https://evil.example/chain.pem")),
        (
            "x5c",
            json!([STANDARD.encode(theirs.public_key_to_der().expect("DER"))]),
        ),
    ] {
        for (kid, refusal) in [
            ("theirs", IdTokenError::UnknownKey),
            (fixture.kid.as_str(), IdTokenError::BadSignature),
        ] {
            let header = fixture
                .header(json!({member: value, "kid": kid}))
                .to_string();
            let token = with_signature(&header, |message| rs256(&theirs, message));
            assert_eq!(fixture.verify(&token), Err(refusal), "{member}");
        }
        let token = fixture.signed(&fixture.header(json!({member: value})));
        assert_eq!(
            fixture.verify(&token),
            Ok(object(claims())),
            "{member} changes nothing"
        );
    }
}

#[tokio::test]
async fn an_unknown_critical_header_is_rejected() {
    let fixture = Fixture::new().await;
    for crit in [
        json!(["exp"]),
        json!(["b64"]),
        json!(["https://example.org/x"]),
        json!([]),
        json!(null),
        json!("x"),
    ] {
        let header = fixture
            .header(json!({"crit": crit, "b64": false, "exp": 1, "https://example.org/x": 1}));
        assert_eq!(
            fixture.verify(&fixture.signed(&header)),
            Err(IdTokenError::Critical),
            "{crit}"
        );
    }
}

#[tokio::test]
async fn a_kid_with_a_path_or_sql_matches_no_key() {
    let fixture = Fixture::new().await;
    let kid = &fixture.kid;
    for other in [
        "../../../../dev/null".to_owned(),
        "/etc/passwd".to_owned(),
        "file:///dev/null".to_owned(),
        "' OR '1'='1".to_owned(),
        "x' UNION SELECT sealed FROM signing_keys --".to_owned(),
        "%".to_owned(),
        "*".to_owned(),
        String::new(),
        format!(" {kid}"),
        format!("{kid}\0"),
        kid.to_ascii_lowercase(),
    ] {
        let token = fixture.signed(&fixture.header(json!({"kid": other})));
        assert_eq!(
            fixture.verify(&token),
            Err(IdTokenError::UnknownKey),
            "{other}"
        );
    }
    let mut without = fixture.header(json!({}));
    without.members_mut().remove("kid");
    assert_eq!(
        fixture.verify(&fixture.signed(&without)),
        Err(IdTokenError::Malformed)
    );
    assert_eq!(
        fixture.verify(&fixture.signed(&fixture.header(json!({"kid": [kid]})))),
        Err(IdTokenError::Malformed)
    );
}

#[tokio::test]
async fn a_logout_token_is_rejected_as_a_hint() {
    let fixture = Fixture::new().await;
    let key = fixture
        .ring
        .signer(SigningAlgorithm::Rs256, NOW)
        .expect("a key");
    let token = key
        .sign(object(claims()), TokenType::LogoutToken)
        .expect("signed");
    let header: Value = jwt_header(&token);
    assert_eq!(header, fixture.header(json!({"typ": "logout+jwt"})));
    assert_eq!(fixture.verify(&token), Err(IdTokenError::OtherType));
}

#[tokio::test]
async fn a_changed_or_malformed_token_is_rejected() {
    let fixture = Fixture::new().await;
    let good = fixture.signed(&fixture.header(json!({})));
    let parts: Vec<&str> = good.split('.').collect();
    let [header, payload, signature] = parts[..] else {
        panic!("three parts")
    };
    let eve = URL_SAFE_NO_PAD.encode(json!({"sub": "eve", "exp": 1}).to_string());
    assert_eq!(
        fixture.verify(&format!("{header}.{eve}.{signature}")),
        Err(IdTokenError::BadSignature)
    );
    assert_eq!(
        fixture.verify(&format!("{header}.{payload}.{}", &signature[4..])),
        Err(IdTokenError::BadSignature)
    );
    let twice = format!(
        r#"{{"alg":"none","alg":"RS256","kid":"{}","typ":"JWT"}}"#,
        fixture.kid
    );
    let twice = with_signature(&twice, |message| rs256(&fixture.private_key, message));
    for malformed in [
        "",
        ".",
        "..",
        "a.b.c",
        "\u{0}.\u{0}.\u{0}",
        payload,
        &format!("{good}="),
        &format!("{header}.{payload}.{signature}.{signature}"),
        &format!("{header}.{payload}. {signature}"),
        &format!("{}.{payload}.{signature}", URL_SAFE_NO_PAD.encode("[]")),
        &twice,
    ] {
        assert!(
            matches!(
                fixture.verify(malformed),
                Err(IdTokenError::Malformed | IdTokenError::BadSignature)
            ),
            "{malformed:?}: {:?}",
            fixture.verify(malformed)
        );
    }
    let long = format!("{header}.{}.{signature}", "A".repeat(64 * 1024));
    assert_eq!(fixture.verify(&long), Err(IdTokenError::TooLong));
}
