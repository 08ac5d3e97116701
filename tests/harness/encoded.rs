//! Keys and certificates of tests, and their encodings.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use openssl::error::ErrorStack;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::x509::X509;

use super::utf8;

/// The RSA keys of all tests. Tests share them, because the generation of a key takes longer than most tests.
static RSA_KEYS: Mutex<Vec<PKey<Private>>> = Mutex::new(Vec::new());

thread_local! {
    /// The number of keys that this test has taken. Each test has its own thread.
    static TAKEN: Cell<usize> = const { Cell::new(0) };
}

/// Returns an RSA key of 2048 bits, a different one for each call in a test.
#[track_caller]
pub fn rsa_key() -> PKey<Private> {
    let taken = TAKEN.replace(TAKEN.get() + 1);
    let mut keys = RSA_KEYS.lock().unwrap_or_else(PoisonError::into_inner);
    while keys.len() <= taken {
        keys.push(encoded(
            "an RSA key",
            Rsa::generate(2048).and_then(PKey::from_rsa),
        ));
    }
    keys[taken].clone()
}

/// The encodings of a certificate.
pub trait EncodedCertificate {
    fn pem(&self) -> String;
    fn der(&self) -> Vec<u8>;
}

impl EncodedCertificate for X509 {
    #[track_caller]
    fn pem(&self) -> String {
        utf8(encoded("a certificate in PEM", self.to_pem()))
    }

    #[track_caller]
    fn der(&self) -> Vec<u8> {
        encoded("a certificate in DER", self.to_der())
    }
}

/// The encodings of a key pair.
pub trait EncodedKey {
    fn public_pem(&self) -> String;
    fn pkcs8_der(&self) -> Vec<u8>;
}

impl EncodedKey for PKey<Private> {
    #[track_caller]
    fn public_pem(&self) -> String {
        utf8(encoded("a public key in PEM", self.public_key_to_pem()))
    }

    #[track_caller]
    fn pkcs8_der(&self) -> Vec<u8> {
        encoded("a private key in PKCS #8", self.private_key_to_pkcs8())
    }
}

#[track_caller]
fn encoded<T>(object: &str, result: Result<T, ErrorStack>) -> T {
    result.unwrap_or_else(|error| panic!("expected {object}: {error}"))
}
