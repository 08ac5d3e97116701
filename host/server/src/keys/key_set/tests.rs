//! Key sets as real programs write them, each with the expected result.

use openssl::ec::{EcGroup, EcKey};
use openssl::nid::Nid;
use openssl::pkey::PKey;
use openssl::rsa::Rsa;
use serde_json::json;

use super::*;
use crate::keys::client::{key_of_pem, keys_of_set};

/// Returns the public members of a fresh RSA key.
fn rsa(bits: u32) -> Value {
    let key = Rsa::generate(bits).unwrap();
    let text = |number: &openssl::bn::BigNumRef| URL_SAFE_NO_PAD.encode(number.to_vec());
    json!({"kty": "RSA", "n": text(key.n()), "e": text(key.e())})
}

/// Returns the public members of a fresh key on P-256.
fn ec() -> Value {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    let key = PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap();
    let pem = String::from_utf8(key.public_key_to_pem().unwrap()).unwrap();
    Value::Object(key_of_pem(&pem).unwrap())
}

fn ed25519() -> Value {
    let key = PKey::generate_ed25519().unwrap().raw_public_key().unwrap();
    json!({"kty": "OKP", "crv": "Ed25519", "x": URL_SAFE_NO_PAD.encode(key)})
}

fn with(key: &Value, mut members: Value) -> Value {
    let mut key = key.clone();
    let members = members.as_object_mut().unwrap();
    key.as_object_mut().unwrap().append(members);
    key
}

/// Returns the `kid`s of the usable keys, or the error of the registration.
fn registered(keys: &Value) -> Result<String, String> {
    let keys = keys_of_set(&json!({"keys": keys})).map_err(|error| error.to_string())?;
    let kids: Vec<&str> = keys
        .iter()
        .map(|key| key.get("kid").and_then(Value::as_str).unwrap_or("-"))
        .collect();
    Ok(kids.join(" "))
}

/// The name of a program, its key set, and the `kid`s of the keys for signatures.
type Case = (&'static str, Value, &'static str);

fn sets_of_programs() -> Vec<Case> {
    let (rsa, other, ec) = (rsa(2048), self::rsa(2048), ec());
    let encryption = json!({"kid": "enc", "use": "enc", "alg": "RSA-OAEP"});
    vec![
        (
            "Entra",
            json!([
                with(
                    &rsa,
                    json!({"use": "sig", "kid": "a", "x5t": "a", "x5c": ["MIIC"], "issuer": "https://login.example"})
                ),
                with(
                    &other,
                    json!({"use": "sig", "kid": "b", "x5t": "b", "x5c": ["MIIC"], "cloud_instance_name": "x"})
                ),
            ]),
            "a b",
        ),
        (
            "Okta",
            json!([with(
                &rsa,
                json!({"alg": "RS256", "use": "sig", "kid": "okta", "status": "ACTIVE", "created": "2026-01-01"})
            )]),
            "okta",
        ),
        (
            "Keycloak",
            json!([
                with(&other, encryption),
                with(&rsa, json!({"kid": "sig", "alg": "RS256", "use": "sig", "x5c": ["MIIC"], "x5t#S256": "y"})),
                with(&ec, json!({"kid": "ec", "alg": "ES256", "use": "sig"})),
                {"kid": "x", "kty": "OKP", "alg": "ECDH-ES", "use": "enc", "crv": "X25519", "x": "AA"},
            ]),
            "sig ec",
        ),
        (
            "Shibboleth OIDC",
            json!([
                with(&rsa, json!({"kid": "rs", "use": "sig"})),
                with(&other, json!({"kid": "enc", "use": "enc"})),
                with(&ec, json!({"kid": "es", "use": "sig"})),
            ]),
            "rs es",
        ),
        (
            "ADFS",
            json!([with(
                &rsa,
                json!({"use": "sig", "alg": "RS256", "kid": "t", "x5t": "t", "x5c": ["MIIC"]})
            )]),
            "t",
        ),
        (
            "AWS Cognito",
            json!([
                with(&rsa, json!({"alg": "RS256", "kid": "c1", "use": "sig"})),
                with(&other, json!({"alg": "RS256", "kid": "c2", "use": "sig"})),
            ]),
            "c1 c2",
        ),
        (
            ".NET JsonWebKey, with absent members",
            json!([with(
                &rsa,
                json!({
                    "alg": null, "crv": null, "d": null, "dp": null, "dq": null, "k": null, "key_ops": [],
                    "kid": "net", "oth": [], "p": null, "q": null, "qi": null, "use": "sig", "x": null,
                    "x5c": [], "x5u": "", "y": null,
                })
            )]),
            "net",
        ),
        (
            "WebCrypto",
            json!([with(
                &rsa,
                json!({"alg": "PS256", "ext": true, "key_ops": ["verify"], "kid": "web"})
            )]),
            "web",
        ),
    ]
}

fn unusual_sets() -> Vec<Case> {
    let (rsa, other, ec, ed) = (rsa(2048), self::rsa(2048), ec(), ed25519());
    vec![
        (
            "RFC 9864",
            json!([with(&ed, json!({"alg": "Ed25519", "kid": "ed"}))]),
            "ed",
        ),
        (
            "RFC 8037",
            json!([with(&ed, json!({"alg": "EdDSA", "kid": "ed"}))]),
            "ed",
        ),
        ("no kid", json!([rsa]), "-"),
        (
            "a number as kid",
            json!([with(&rsa, json!({"kid": 1}))]),
            "-",
        ),
        (
            "kinds of the future, whatever their members are",
            json!([
                {"kty": "AKP", "alg": "ML-DSA-65", "kid": "pq", "pub": "AA", "q": "AA", "d": "AA"},
                {"kty": "PBM", "q": "AA"},
                with(&rsa, json!({"kid": "a"})),
            ]),
            "a",
        ),
        (
            "a member of another kind of key",
            json!([with(&ec, json!({"kid": "ec", "q": "AA", "k": "AA"}))]),
            "ec",
        ),
        (
            "other curves, short keys, other operations",
            json!([
                {"kty": "EC", "crv": "secp256k1", "x": "AA", "y": "AA", "kid": "k1"},
                with(&self::rsa(1024), json!({"kid": "short"})),
                with(&other, json!({"kid": "ops", "key_ops": ["encrypt"]})),
                with(&other, json!({"kid": "hs", "alg": "HS256"})),
                with(&rsa, json!({"kid": "good"})),
            ]),
            "good",
        ),
    ]
}

#[test]
fn sets_of_real_programs_have_the_expected_keys() {
    for (program, keys, expected) in sets_of_programs().into_iter().chain(unusual_sets()) {
        assert_eq!(registered(&keys), Ok(expected.to_owned()), "{program}");
    }
}

#[test]
fn numbers_are_read_as_java_and_other_programs_write_them() {
    let (rsa, ec) = (rsa(2048), ec());
    let bytes =
        |key: &Value, name: &str| URL_SAFE_NO_PAD.decode(key[name].as_str().unwrap()).unwrap();
    let standard = base64::engine::general_purpose::STANDARD;
    let signed = |bytes: Vec<u8>| [vec![0], bytes].concat();
    let expected = keys_of_set(&json!({"keys": [rsa, ec]})).unwrap();
    for (form, n, x, y) in [
        (
            "BigInteger.toByteArray",
            URL_SAFE_NO_PAD.encode(signed(bytes(&rsa, "n"))),
            URL_SAFE_NO_PAD.encode(signed(bytes(&ec, "x"))),
            URL_SAFE_NO_PAD.encode(signed(bytes(&ec, "y"))),
        ),
        (
            "base64 with padding",
            standard.encode(bytes(&rsa, "n")),
            standard.encode(bytes(&ec, "x")),
            standard.encode(bytes(&ec, "y")),
        ),
    ] {
        let keys = json!([
            with(&rsa, json!({"n": n})),
            with(&ec, json!({"x": x, "y": y}))
        ]);
        let read = keys_of_set(&json!({"keys": keys}));
        assert_eq!(read.as_ref(), Ok(&expected), "{form}");
    }
    // A coordinate that lost its zeros.
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    let short = std::iter::repeat_with(|| {
        let key = PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap();
        let pem = String::from_utf8(key.public_key_to_pem().unwrap()).unwrap();
        Value::Object(key_of_pem(&pem).unwrap())
    })
    .find(|key| bytes(key, "x").first() == Some(&0))
    .unwrap();
    let x: Vec<u8> = bytes(&short, "x")
        .into_iter()
        .skip_while(|byte| *byte == 0)
        .collect();
    let cut = with(&short, json!({"x": URL_SAFE_NO_PAD.encode(x)}));
    assert_eq!(
        keys_of_set(&json!({"keys": [cut]})).unwrap().first(),
        short.as_object()
    );
}

#[test]
fn an_error_names_the_key() {
    let rsa = rsa(2048);
    for (keys, expected) in [
        (
            json!([rsa, with(&rsa, json!({"kid": "mine", "d": "AA"}))]),
            "keys[1] (kid \"mine\"): it is a private key",
        ),
        (
            json!([rsa, {"kty": "oct", "k": "AAAA"}]),
            "keys[1]: it is a private key",
        ),
        (
            json!([
                with(&rsa, json!({"kid": "e", "use": "enc", "d": "AA"})),
                rsa
            ]),
            "keys[0] (kid \"e\"): it is a private key",
        ),
        (
            json!([with(&rsa, json!({"kid": "e", "use": "enc"})), {"kty": "EC", "crv": "P-192", "kid": "c"}]),
            "keys[0] (kid \"e\"): its use, key_ops or alg is not for signatures; keys[1] (kid \"c\"): its crv is not",
        ),
        (
            json!([self::rsa(1024)]),
            "keys[0]: an RSA key must have 2048 bits",
        ),
        (
            json!([{"kty": "RSA", "e": "AQAB"}]),
            "keys[0]: its numbers are missing or wrong",
        ),
        (
            json!([{"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}]),
            "keys[0]: its numbers are",
        ),
        (
            json!([{"kty": "OKP", "crv": "Ed25519", "x": "AA"}]),
            "keys[0]: its numbers are",
        ),
        (json!(["x"]), "keys[0]: it is not a JSON Web Key"),
        (
            json!([{"kid": "none"}]),
            "keys[0] (kid \"none\"): it is not a JSON Web Key",
        ),
        (
            json!([{"kty": "AKP", "kid": "pq"}]),
            "keys[0] (kid \"pq\"): its kty is not",
        ),
        (json!([]), "1 to 20 public keys"),
        (json!({}), "1 to 20 public keys"),
        (Value::Array(vec![rsa.clone(); 21]), "at most 20 keys"),
    ] {
        let error = registered(&keys).unwrap_err();
        assert!(error.contains(expected), "{keys}: {error}");
    }
}

#[test]
fn a_fetched_set_says_how_many_keys_are_ignored() {
    let rsa = rsa(2048);
    let mut keys = vec![rsa.clone(); 23];
    keys.push(with(&rsa, json!({"use": "enc", "kid": "e"})));
    let set = ReadKeySet::read(&json!({"keys": keys})).unwrap();
    assert_eq!(
        (set.keys.len(), set.surplus, set.rejected.len()),
        (20, 3, 1)
    );
    assert!(set.rejected_text().starts_with("keys[23] (kid \"e\"): "));
}
