//! The input of devices: the header of their calls, their keys and their signatures. An input is a header, a JSON Web
//! Key and a text.

#![no_main]

use assent_fuzz::lines;
use assent_model::device::{CallCredentials, DeviceKey, PushSubscription};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some([header, json, text]) = lines(input) else {
        return;
    };
    let call = CallCredentials::parse(header);
    if let Some(call) = &call {
        let signature = URL_SAFE_NO_PAD.encode(&call.signature);
        let again = CallCredentials::parse(&format!(
            "Assent-Device {}.{}.{signature}",
            call.device, call.time
        ));
        assert_eq!(again.as_ref(), Some(call));
    }
    if let Ok(key) = serde_json::from_str::<DeviceKey>(json) {
        let written = serde_json::to_string(&key).expect("a key can be written");
        let again: DeviceKey =
            serde_json::from_str(&written).expect("a written value is read again");
        assert_eq!((again.thumbprint(), &again), (key.thumbprint(), &key));

        let signature = call.map(|call| call.signature).unwrap_or_default();
        let good = key.verifies(text, &signature);
        assert!(
            !good || signature.len() == 64,
            "{} bytes were accepted as a signature",
            signature.len()
        );
    }
    if let Ok(subscription) = serde_json::from_str::<PushSubscription>(json) {
        let written = serde_json::to_string(&subscription).expect("a subscription can be written");
        assert_eq!(
            serde_json::from_str::<PushSubscription>(&written).ok(),
            Some(subscription)
        );
    }
});
