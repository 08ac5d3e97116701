//! Request objects (RFC 9101), and what administrators see of a request.

#![no_main]

use assent::keys::client::{header_of, verify};
use assent::keys::jws_verifier::ASYMMETRIC;
use assent::oidc::parameters::Parameters;
use assent::oidc::request_parts::{named_client, parts_of};
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};

/// The key that signed the valid object of the corpus.
fn keys() -> Vec<Map<String, Value>> {
    let key = json!({
        "kty": "EC", "crv": "P-256",
        "x": "DLDeS2MycgahuYnG4GarEW8vFAPqDiQT4gqj4Fqqu7s",
        "y": "_UbTwN7H59YxP8DcmBmZM_gs9lWX7HGoitK3B2FCIgg",
    });
    key.as_object().cloned().into_iter().collect()
}

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let pairs = ["request", "client_assertion", "login_hint"];
    let pairs = pairs.map(|name| (name.to_owned(), text.to_owned()));
    let parameters = Parameters::of_pairs(pairs.to_vec());
    let shown = Value::Array(parts_of(&parameters, Some(text), Some(text)));
    // Three JWTs of 40 members in two parts, each of 300 characters, which JSON may escape.
    assert!(shown.to_string().len() < 3 * 2 * 40 * 2 * 6 * 4 * 310);
    let _ = named_client(&parameters, Some(text));
    if verify(text, &keys(), &ASYMMETRIC).is_ok() {
        // What is verified has a header, and its signature is not shown.
        assert!(header_of(text).is_some());
        let signature = text.rsplit('.').next().unwrap_or_default();
        assert!(signature.len() < 40 || !shown.to_string().contains(signature));
    }
});
