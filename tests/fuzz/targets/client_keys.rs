//! The keys of applications: a JSON Web Key Set, or a key or certificate in PEM form.

#![no_main]

use assent::keys::client::{certificate, key_of_pem, keys_of_set, usable_keys_of_set};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    if let Ok(set) = serde_json::from_str::<Value>(text) {
        let (all, usable) = (keys_of_set(&set), usable_keys_of_set(&set));
        for keys in [&all, &usable].into_iter().flatten() {
            assert!(keys.len() <= 20, "{} keys were accepted", keys.len());
            let secret = keys
                .iter()
                .any(|key| key.contains_key("d") || key.contains_key("k"));
            assert!(!secret, "a secret was accepted: {keys:?}");
        }
        // If every key is usable, no key is omitted. The remaining keys are usable.
        assert!(all.is_err() || all == usable, "{all:?} {usable:?}");
        if let Some(keys) = usable.as_ref().ok().filter(|keys| !keys.is_empty()) {
            assert_eq!(keys_of_set(&json!({"keys": keys})), usable);
        }
    }
    if let Ok(key) = key_of_pem(text) {
        assert_eq!(
            keys_of_set(&json!({"keys": [key]})),
            Ok(vec![key]),
            "a key from a PEM file is invalid in a set"
        );
    }
    if let Ok(registered) = certificate(text) {
        assert_eq!(certificate(&registered.pem), Ok(registered));
    }
});
