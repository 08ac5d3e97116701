//! Receipts and key sets, as `assent receipts verify` reads them. An input is a key set and a receipt, in two lines. A
//! receipt has one accepted form, and a changed one is not valid.

#![no_main]

use assent_fuzz::lines;
use assent_model::receipt::verification::{Receipt, ReceiptKeySet};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some([keys, text]) = lines(input) else {
        return;
    };
    let keys = ReceiptKeySet::parse(keys.as_bytes()).ok();
    let Ok(receipt) = Receipt::parse(text) else {
        return;
    };
    let payload = receipt
        .content()
        .to_json()
        .expect("a content can be written");
    let again = serde_json::from_str(&payload).expect("a written content is read again");
    assert_eq!(receipt.content(), &again);
    // No other spelling is accepted.
    for changed in [
        format!("{text}."),
        format!("{text}="),
        format!(" {text}"),
        format!("{text}\n"),
    ] {
        assert!(Receipt::parse(&changed).is_err(), "{changed}");
    }
    let proof = receipt.verify_proof();
    let Some(keys) = keys else {
        return;
    };
    let verified = receipt.verify(&keys);
    assert!(verified.is_err() || verified == proof);
    if verified.is_ok() {
        for place in 0..text.len() {
            let mut changed = text.as_bytes().to_vec();
            changed[place] ^= 1;
            let changed = String::from_utf8(changed).expect("ASCII");
            let verified = Receipt::parse(&changed).and_then(|receipt| receipt.verify(&keys));
            assert!(verified.is_err(), "{changed}");
        }
    }
});
