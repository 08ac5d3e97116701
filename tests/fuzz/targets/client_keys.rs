//! The keys of applications: a JSON Web Key Set, or a key or certificate in PEM form.

#![no_main]

use assent::keys::client::{certificate, key_of_pem, keys_of_set};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Ok(keys) = serde_json::from_str::<Value>(text).map_or(Ok(Vec::new()), |set| keys_of_set(&set)) {
        assert!(keys.len() <= 20);
        assert!(!keys.iter().any(|key| key.contains_key("d") || key.contains_key("k")), "a secret was taken: {keys:?}");
        if !keys.is_empty() {
            assert_eq!(keys_of_set(&json!({"keys": keys})), Ok(keys));
        }
    }
    if let Ok(key) = key_of_pem(text) {
        assert_eq!(keys_of_set(&json!({"keys": [key]})), Ok(vec![key]), "a key in PEM form is none in a set");
    }
    if let Ok(registered) = certificate(text) {
        assert_eq!(certificate(&registered.pem), Ok(registered));
    }
});
