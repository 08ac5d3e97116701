//! `client_secret_basic`. An input is a received header, and a secret that a client encodes correctly.

#![no_main]

use assent::oidc::client_auth::basic;
use assent_fuzz::lines;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use libfuzzer_sys::fuzz_target;

const CLIENT: &str = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";

fuzz_target!(|input: &[u8]| {
    let Some([credentials, secret]) = lines(input) else {
        return;
    };
    // The received header, and one with valid base64, which a fuzzer would rarely find.
    let encoded = format!("Basic {}", STANDARD.encode(credentials));
    for header in [credentials, encoded.as_str()] {
        if let Ok((id, read)) = basic::parse(header) {
            assert_eq!(id.to_string().parse(), Ok(id.clone()));
            let again = basic::parse(&header_of(
                &form_encoded(id.as_str()),
                &form_encoded(read.expose()),
            ));
            assert_eq!(
                again.map(|(id, secret)| (id, secret.expose().to_owned())),
                Ok((id, read.expose().to_owned()))
            );
        }
    }
    // RFC 6749 section 2.3.1 encodes both. Many clients do not encode the identifier.
    for id in [form_encoded(CLIENT), CLIENT.to_owned()] {
        let read = basic::parse(&header_of(&id, &form_encoded(secret)));
        let (id, read) = read.expect("the header of a client that follows the RFC is parsed");
        assert_eq!((id.as_str(), read.expose()), (CLIENT, secret));
    }
});

fn form_encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

fn header_of(id: &str, secret: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")))
}
