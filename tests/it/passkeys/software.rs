//! A software authenticator with configurable responses (W3C Web Authentication Level 3, section 6).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openssl::bn::{BigNum, BigNumContext};
use openssl::ec::{EcGroup, EcKey};
use openssl::ecdsa::EcdsaSig;
use openssl::nid::Nid;
use openssl::pkey::Private;
use openssl::sha::sha256;
use serde_json::{Value, json};

use crate::harness::Text;

const USER_PRESENT: u8 = 1;
const USER_VERIFIED: u8 = 1 << 2;
const HAS_KEY: u8 = 1 << 6;

/// A passkey, with all values that its browser would report.
#[derive(Clone)]
pub struct Software {
    pub key: EcKey<Private>,
    pub id: Vec<u8>,
    pub rp_id: String,
    pub origin: String,
    pub verified: bool,
    pub counter: u32,
    /// The user handle that the authenticator returns. Discoverable credentials have one.
    pub handle: Value,
    /// Whether the browser reports that the page is in a frame of another origin.
    pub cross_origin: bool,
}

impl Software {
    /// Creates a passkey for the instance at this URL.
    pub fn new(base: &str) -> Self {
        let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).expect("P-256");
        let key = EcKey::generate(&group).expect("a key");
        let id = sha256(&key.private_key().to_vec()).to_vec();
        let rp_id = url::Url::parse(base)
            .expect("an address")
            .domain()
            .expect("a domain")
            .to_owned();
        Self {
            key,
            id,
            rp_id,
            origin: base.to_owned(),
            verified: true,
            counter: 1,
            handle: Value::Null,
            cross_origin: false,
        }
    }

    /// Returns the result of `navigator.credentials.create` for these options, without attestation.
    pub fn create_credential(&self, options: &Value) -> Value {
        let client_data = self.client_data("webauthn.create", options);
        let mut data = self.data(HAS_KEY);
        data.extend([0; 16]);
        data.extend((self.id.len() as u16).to_be_bytes());
        data.extend(&self.id);
        data.extend(self.cose());
        // {"fmt": "none", "attStmt": {}, "authData": data} in CBOR (RFC 8949).
        let mut object = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x59".to_vec();
        object.extend((data.len() as u16).to_be_bytes());
        object.extend(data);
        self.credential(
            json!({"clientDataJSON": encoded(&client_data), "attestationObject": encoded(&object)}),
        )
    }

    /// Returns the result of `navigator.credentials.get` for these options.
    pub fn create_assertion(&self, options: &Value) -> Value {
        let client_data = self.client_data("webauthn.get", options);
        let data = self.data(0);
        let signed = [data.as_slice(), &sha256(&client_data)].concat();
        let signature = EcdsaSig::sign(&sha256(&signed), &self.key)
            .expect("signed")
            .to_der()
            .expect("DER");
        self.credential(json!({
            "clientDataJSON": encoded(&client_data),
            "authenticatorData": encoded(&data),
            "signature": encoded(&signature),
            "userHandle": self.handle,
        }))
    }

    fn credential(&self, response: Value) -> Value {
        let id = encoded(&self.id);
        json!({"id": id, "rawId": id, "type": "public-key", "clientExtensionResults": {}, "response": response})
    }

    fn client_data(&self, kind: &str, options: &Value) -> Vec<u8> {
        let challenge = options["challenge"].text();
        json!({"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": self.cross_origin})
            .to_string()
            .into_bytes()
    }

    /// Returns the beginning of the authenticator data: relying party, flags, counter.
    fn data(&self, flags: u8) -> Vec<u8> {
        let flags = flags | USER_PRESENT | if self.verified { USER_VERIFIED } else { 0 };
        [
            &sha256(self.rp_id.as_bytes())[..],
            &[flags],
            &self.counter.to_be_bytes(),
        ]
        .concat()
    }

    /// Returns the public key in COSE format (RFC 9053 section 7.1.1): {1: 2, 3: -7, -1: 1, -2: x, -3: y}.
    fn cose(&self) -> Vec<u8> {
        let (mut x, mut y) = (BigNum::new().expect("x"), BigNum::new().expect("y"));
        let mut context = BigNumContext::new().expect("a context");
        self.key
            .public_key()
            .affine_coordinates(self.key.group(), &mut x, &mut y, &mut context)
            .expect("a point");
        let mut cose = b"\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20".to_vec();
        cose.extend(x.to_vec_padded(32).expect("32 bytes"));
        cose.extend(b"\x22\x58\x20");
        cose.extend(y.to_vec_padded(32).expect("32 bytes"));
        cose
    }
}

fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
