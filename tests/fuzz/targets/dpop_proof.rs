//! Proofs of DPoP (RFC 9449): JWTs with the key that signed them.

#![no_main]

use assent::keys::self_signed::read_proof;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let Ok(read) = read_proof(text) else {
        return;
    };
    // A proof is accepted as it is, and in no other spelling.
    for changed in [
        format!("{text}."),
        format!("{text}="),
        format!(" {text}"),
        text.to_uppercase(),
    ] {
        assert!(
            changed == text || read_proof(&changed).is_err(),
            "{changed}"
        );
    }
    let again = read_proof(text).expect("the same proof");
    assert_eq!((again.key, again.claims), (read.key, read.claims));
});
