//! Signed JWTs: the server's own, which return as `id_token_hint`, and the assertions with which applications
//! authenticate. An input is a received token, and a header and a payload. The target signs the header and the payload,
//! even if they are invalid. `KID` in the header stands for the id of the server's key.

#![no_main]

use std::sync::LazyLock;

use assent::keys::client::{self, JwtError, verify_with_secret};
use assent::keys::jws_verifier::ASYMMETRIC;
use assent::keys::{KeyRing, SealingKeys, SymmetricKey};
use assent::oidc::client_auth::assertion::claimed_client;
use assent_fuzz::lines;
use assent_model::clock::Timestamp;
use assent_model::entropy::SystemEntropy;
use assent_model::id::KeyId;
use assent_model::key::{KeyMaterial, KeyPurpose, KeyTimes, SigningAlgorithm, SigningKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use libfuzzer_sys::fuzz_target;
use openssl::bn::{BigNum, BigNumContext};
use openssl::ec::{EcGroup, EcKey};
use openssl::ecdsa::EcdsaSig;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::rsa::{Rsa, RsaPrivateKeyBuilder};
use openssl::sign::Signer;
use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const SECRET: &[u8] = b"a secret of 43 characters, as we make them.";

/// Keys that are the same in each run. They are not secret, because their numbers are constants.
struct Keys {
    ring: KeyRing,
    server_key: PKey<Private>,
    kid: String,
    client: EcKey<Private>,
    client_keys: [Object; 1],
}

static KEYS: LazyLock<Keys> = LazyLock::new(|| {
    let key = SymmetricKey::from_bytes(&[7; 32]).expect("a key");
    let sealing = SealingKeys::single(key).expect("a sealing key");
    let server_keys = [rsa(105, 179), rsa(1397, 3177)];
    let stored = SigningAlgorithm::ALL
        .into_iter()
        .zip(&server_keys)
        .map(|(algorithm, key)| {
            let purpose = KeyPurpose::IdToken(algorithm);
            let plain = key.private_key_to_pkcs8().expect("PKCS #8");
            let sealed = sealing
                .seal(purpose.as_str(), &plain, NOW, &SystemEntropy)
                .expect("sealed");
            let id = KeyId::new(NOW, &SystemEntropy);
            SigningKey {
                id,
                purpose,
                material: KeyMaterial::Sealed(sealed),
                times: KeyTimes::at_once(1, NOW),
            }
        });
    let ring = KeyRing::open(&stored.collect::<Vec<_>>(), &sealing).expect("a ring");
    let kid = ring
        .signer(SigningAlgorithm::Rs256, NOW)
        .expect("a key")
        .key_id()
        .to_owned();
    let [server_key, _] = server_keys;
    let (client, jwk) = generator();
    Keys {
        ring,
        server_key,
        kid,
        client,
        client_keys: [jwk],
    }
});

/// Verifies a token of the client with each algorithm that an application may use.
fn verify(token: &str, keys: &Keys) -> Result<Map<String, Value>, JwtError> {
    client::verify(token, &keys.client_keys, &ASYMMETRIC)
}

fuzz_target!(init: LazyLock::force(&KEYS), |input: &[u8]| {
    let Some([token, header, payload]) = lines(input) else { return };
    let keys = &*KEYS;
    let passed = [
        keys.ring.verify_own(token).is_ok(),
        verify(token, keys).is_ok(),
        verify_with_secret(token, SECRET).is_ok(),
    ];
    assert_eq!(passed, [false; 3], "an unsigned token was accepted: {token}");

    let header = header.replace("KID", &keys.kid);
    // A header that is not an object needs no signature, because the token above covers this case.
    let Ok(members) = serde_json::from_str::<Object>(&header) else { return };
    let says = |name: &str, value: &str| members.get(name).and_then(Value::as_str) == Some(value);
    let plain = !members.contains_key("crit");
    let claims = serde_json::from_str::<Object>(payload).ok();
    let message = format!("{}.{}", URL_SAFE_NO_PAD.encode(&header), URL_SAFE_NO_PAD.encode(payload));
    let signed = |signature: Vec<u8>| format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature));

    // An RSA signature is slow, so the target computes it only if it can matter.
    if header.contains(&keys.kid) {
        let token = signed(rs256_signature(&keys.server_key, message.as_bytes()));
        let verified = keys.ring.verify_own(&token);
        let must_pass = header == format!(r#"{{"alg":"RS256","kid":"{}","typ":"JWT"}}"#, keys.kid) && payload == "{}";
        assert!(verified.is_ok() || !must_pass, "a token of the server was rejected: {verified:?}");
        if let Ok(verified) = verified {
            let good = plain && says("alg", "RS256") && says("kid", &keys.kid) && says("typ", "JWT");
            assert!(good, "the header {header} was accepted as one of the server");
            assert_eq!(Some(verified), claims);
        }
        assert!(verify(&token, keys).is_err(), "a token of the server was accepted as one of a client");
    }

    let token = signed(es256_signature(&keys.client, message.as_bytes()));
    let verified = verify(&token, keys);
    let must_pass = header == r#"{"alg":"ES256","kid":"1"}"# && payload == "{}";
    assert!(verified.is_ok() || !must_pass, "a token of a client was rejected: {verified:?}");
    if let Ok(verified) = verified {
        assert!(plain && says("alg", "ES256"), "the header {header} was accepted as one of a client");
        assert!(members.get("kid").is_none_or(|kid| kid == "1" || !kid.is_string()), "not the key that {header} names");
        assert_eq!(Some(&verified), claims.as_ref());
    }
    let subject = claims.as_ref().and_then(|claims| claims.get("sub")?.as_str());
    assert_eq!(claimed_client(&token), subject.and_then(|sub| sub.parse().ok()), "not the client that {payload} names");
    assert!(keys.ring.verify_own(&token).is_err(), "a token of a client was accepted as one of the server");

    let secret = PKey::hmac(SECRET).expect("a key");
    let token = signed(rs256_signature(&secret, message.as_bytes()));
    let verified = verify_with_secret(&token, SECRET);
    let must_pass = header == r#"{"alg":"HS256"}"# && payload == "{}";
    assert!(verified.is_ok() || !must_pass, "a token of a client was rejected: {verified:?}");
    if let Ok(verified) = verified {
        assert!(plain && says("alg", "HS256"), "the header {header} was accepted with a secret");
        assert_eq!(Some(verified), claims);
    }
    assert!(verify(&token, keys).is_err() && keys.ring.verify_own(&token).is_err());
});

fn rs256_signature(key: &PKey<Private>, message: &[u8]) -> Vec<u8> {
    let mut signer = Signer::new(MessageDigest::sha256(), key).expect("a signer");
    signer.sign_oneshot_to_vec(message).expect("a signature")
}

fn es256_signature(key: &EcKey<Private>, message: &[u8]) -> Vec<u8> {
    let signature = EcdsaSig::sign(&openssl::sha::sha256(message), key).expect("a signature");
    [signature.r(), signature.s()]
        .map(|part| part.to_vec_padded(32).expect("32 bytes"))
        .concat()
}

/// Returns the P-256 key with the private key 1, and so with the generator as its public key; its `kid` is 1.
fn generator() -> (EcKey<Private>, Object) {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).expect("the curve");
    let point = group.generator_opt().expect("a generator");
    let key = EcKey::from_private_components(&group, &number(1), point).expect("a key");
    let (mut x, mut y) = (number(0), number(0));
    let mut context = BigNumContext::new().expect("a context");
    point
        .affine_coordinates(&group, &mut x, &mut y, &mut context)
        .expect("coordinates");
    let text =
        |number: &BigNum| URL_SAFE_NO_PAD.encode(number.to_vec_padded(32).expect("32 bytes"));
    let jwk = json!({"kty": "EC", "crv": "P-256", "kid": "1", "x": text(&x), "y": text(&y)});
    (key, jwk.as_object().expect("an object").clone())
}

/// Returns the RSA key of two primes, each given by its distance below 2^1024.
fn rsa(p: u32, q: u32) -> PKey<Private> {
    let mut context = BigNumContext::new().expect("a context");
    let mut top = number(0);
    top.set_bit(1024).expect("2^1024");
    let (one, e) = (number(1), number(65_537));
    let (p, q) = (&top - &number(p), &top - &number(q));
    let (p_less, q_less) = (&p - &one, &q - &one);
    let (mut d, mut inverse) = (number(0), number(0));
    d.mod_inverse(&e, &(&p_less * &q_less), &mut context)
        .expect("e has an inverse");
    inverse
        .mod_inverse(&q, &p, &mut context)
        .expect("q has an inverse");
    let (dp, dq) = (&d % &p_less, &d % &q_less);
    let key: Rsa<Private> = RsaPrivateKeyBuilder::new(&p * &q, e, d)
        .and_then(|key| key.set_factors(p, q))
        .and_then(|key| key.set_crt_params(dp, dq, inverse))
        .expect("a key")
        .build();
    PKey::from_rsa(key).expect("a key")
}

fn number(value: u32) -> BigNum {
    BigNum::from_u32(value).expect("a number")
}
