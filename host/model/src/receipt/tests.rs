use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;
use serde::Deserialize;

use super::content::ReceiptAnswer;
use super::verification::{IssuerKeyState, Proof, Receipt, ReceiptError, ReceiptKeySet};
use crate::secret::Digest;

/// The test vectors of the specification. A script in another language created them.
#[derive(Deserialize)]
struct Vectors {
    keys: serde_json::Value,
    valid: Vec<ValidReceipt>,
    invalid: Vec<InvalidReceipt>,
}

#[derive(Deserialize)]
struct ValidReceipt {
    name: String,
    proof: String,
    receipt: String,
}

#[derive(Deserialize)]
struct InvalidReceipt {
    name: String,
    /// The beginning of the error.
    error: String,
    receipt: String,
}

static VECTORS: LazyLock<(Vectors, ReceiptKeySet)> = LazyLock::new(|| {
    let text = include_str!("../../../../docs/reference/receipt-vectors.json");
    let vectors: Vectors = serde_json::from_str(text).expect("test vectors");
    let keys = ReceiptKeySet::parse(vectors.keys.to_string().as_bytes()).expect("a key set");
    (vectors, keys)
});

const fn name_of(proof: &Proof) -> &'static str {
    match proof {
        Proof::NoDeviceSignature => "no device signature",
        Proof::Device(_) => "device",
        Proof::DeviceAndPasskey(_) => "device and passkey",
        Proof::Passkey => "passkey",
    }
}

#[test]
fn receipts_of_the_specification_are_valid() {
    let (vectors, keys) = &*VECTORS;
    for ValidReceipt {
        name,
        proof,
        receipt,
    } in &vectors.valid
    {
        let parsed = Receipt::parse(receipt);
        let parsed = parsed.unwrap_or_else(|error| panic!("{name}: {error}"));
        let verified = parsed.verify(keys);
        let verified = verified.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(name_of(&verified), proof, "{name}");
        assert_eq!(parsed.digest(), Digest::sha256(receipt.as_bytes()));
    }
}

#[test]
fn forged_receipts_of_the_specification_are_rejected_for_their_reason() {
    let (vectors, keys) = &*VECTORS;
    for InvalidReceipt {
        name,
        error,
        receipt,
    } in &vectors.invalid
    {
        let verified = Receipt::parse(receipt).and_then(|receipt| receipt.verify(keys));
        match verified {
            Ok(proof) => panic!("{name} was accepted: {proof:?}"),
            Err(reason) => assert!(
                reason.to_string().starts_with(error.as_str()),
                "{name}: {reason}"
            ),
        }
    }
}

proptest! {
    /// A receipt fails after any changed byte.
    #[test]
    fn a_receipt_with_a_changed_byte_is_rejected(
        which: prop::sample::Index,
        place: prop::sample::Index,
        byte in 0_u8..128,
    ) {
        let (vectors, keys) = &*VECTORS;
        let ValidReceipt { name, receipt, .. } = which.get(&vectors.valid);
        let mut changed = receipt.clone().into_bytes();
        let place = place.index(changed.len());
        prop_assume!(changed[place] != byte);
        changed[place] = byte;
        let changed = String::from_utf8(changed).expect("ASCII");
        let verified = Receipt::parse(&changed).and_then(|receipt| receipt.verify(keys));
        prop_assert!(verified.is_err(), "{} with {} at {}", name, byte, place);
    }

    /// A receipt fails without any of its bytes, and with any further one.
    #[test]
    fn a_receipt_with_another_length_is_rejected(
        which: prop::sample::Index,
        place: prop::sample::Index,
        added in proptest::option::of(0_u8..128),
    ) {
        let (vectors, keys) = &*VECTORS;
        let ValidReceipt { receipt, .. } = which.get(&vectors.valid);
        let mut changed = receipt.clone().into_bytes();
        let place = place.index(changed.len());
        match added {
            Some(byte) => changed.insert(place, byte),
            None => {
                changed.remove(place);
            }
        }
        let changed = String::from_utf8(changed).expect("ASCII");
        let verified = Receipt::parse(&changed).and_then(|receipt| receipt.verify(keys));
        prop_assert!(verified.is_err());
    }

    /// The device's signature fails after any changed byte of the text, even if the issuer signs the change.
    #[test]
    fn a_changed_text_is_not_signed_by_the_device(place: prop::sample::Index, byte in 32_u8..127) {
        let receipt = Receipt::parse(&VECTORS.0.valid[0].receipt).expect("a receipt");
        let ReceiptAnswer::Device { device, signature, statement, .. } = &receipt.content().answer
        else {
            panic!("the first receipt has a text");
        };
        let signature = URL_SAFE_NO_PAD.decode(signature).expect("base64url");
        prop_assert!(device.key.verifies(statement, &signature));
        let mut changed = statement.clone().into_bytes();
        let place = place.index(changed.len());
        prop_assume!(changed[place] != byte);
        changed[place] = byte;
        let changed = String::from_utf8_lossy(&changed);
        prop_assert!(!device.key.verifies(&changed, &signature));
    }
}

/// The party that has a stolen key can sign for any time of its period, so no time is accepted.
#[test]
fn receipts_of_a_revoked_key_are_not_valid_by_themselves() {
    let (vectors, _) = &*VECTORS;
    for ValidReceipt { name, receipt, .. } in &vectors.valid {
        let receipt = Receipt::parse(receipt).unwrap_or_else(|error| panic!("{name}: {error}"));
        let decided_at = receipt.content().decided_at;
        for (revoked_at, state) in [
            (
                decided_at + 1000,
                Ok(IssuerKeyState::Revoked {
                    at: decided_at + 1000,
                }),
            ),
            (decided_at - 1000, Err(ReceiptError::KeyPeriod)),
        ] {
            let mut keys = vectors.keys.clone();
            for key in keys["keys"].as_array_mut().expect("keys") {
                key["revoked"] = serde_json::json!({"revoked_at": revoked_at});
            }
            let keys = ReceiptKeySet::parse(keys.to_string().as_bytes()).expect("a key set");
            assert_eq!(receipt.verify_issuer(&keys), state, "{name}");
            let error = match state {
                Ok(_) => ReceiptError::RevokedKey,
                Err(error) => error,
            };
            assert_eq!(receipt.verify(&keys), Err(error), "{name}");
        }
    }
}

#[test]
fn only_key_sets_with_an_issuer_and_valid_keys_are_accepted() {
    for text in [
        "",
        "[]",
        r#"{"keys":[]}"#,
        r#"{"issuer":"https://id.example.org/oidc","keys":{}}"#,
        r#"{"issuer":"https://id.example.org/oidc","keys":[{"alg":"ES256","kid":"a","nbf":1}]}"#,
        r#"{"issuer":"https://id.example.org/oidc","keys":[{"alg":"ES256","kid":"a","nbf":1,"revoked":true}]}"#,
    ] {
        assert!(ReceiptKeySet::parse(text.as_bytes()).is_err(), "{text}");
    }
    let other = r#"{"issuer":"https://id.example.org/oidc","keys":[{"alg":"Future","kid":"a"}]}"#;
    assert!(ReceiptKeySet::parse(other.as_bytes()).is_ok());
}
