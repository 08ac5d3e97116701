//! The keys of applications: a JSON Web Key Set, or a key or certificate in PEM form or in base64.

#![no_main]

use assent::keys::armour::first_certificate;
use assent::keys::client::{certificate, key_of_pem, keys_of_set};
use assent::keys::key_set::ReadKeySet;
use assent::keys::saml::partner_certificate;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    if let Ok(set) = serde_json::from_str::<Value>(text) {
        if let Ok(read) = ReadKeySet::read(&set) {
            assert!(
                read.keys.len() <= 20,
                "{} keys were accepted",
                read.keys.len()
            );
            let secret = read
                .keys
                .iter()
                .any(|key| key.contains_key("d") || key.contains_key("k"));
            assert!(!secret, "a secret was accepted: {:?}", read.keys);
            assert_eq!(read.rejected.is_empty(), read.rejected_text().is_empty());
            // A key that was read is read again unchanged.
            let again = ReadKeySet::read(&json!({"keys": read.keys}));
            assert_eq!(again.map(|again| again.keys), Ok(read.keys));
        }
        if let Ok(keys) = keys_of_set(&set) {
            assert!(!keys.is_empty());
        }
    }
    if let Ok(key) = key_of_pem(text) {
        assert_eq!(
            keys_of_set(&json!({"keys": [key]})),
            Ok(vec![key]),
            "a key from a PEM file is invalid in a set"
        );
    }
    let registered = certificate(text);
    if let Ok(registered) = &registered {
        assert_eq!(certificate(registered.pem()).as_ref(), Ok(registered));
    }
    if let Ok(partner) = partner_certificate(text) {
        assert_eq!(partner_certificate(&partner.pem), Ok(partner.clone()));
        assert_eq!(
            registered.map(|known| known.pem().to_owned()),
            Ok(partner.pem)
        );
    }
    // A text with a private key is never a certificate.
    if text.contains("PRIVATE KEY") {
        assert!(certificate(text).is_err() && key_of_pem(text).is_err());
    }
    let _ = first_certificate(text);
});
