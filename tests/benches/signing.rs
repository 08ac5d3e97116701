//! The cost of signing an ID token, compared with the bare RSA-2048 signature of the same bytes.
//!
//! Run `taskset -c 0 cargo bench -p assent-tests --bench signing`, on one core: with two cores, the measured time would
//! include the way to the other thread and back. The benchmark creates one signature at a time, and the ID token and
//! the bare signature take turns, so that results of different machines can be compared.

use std::time::{Duration, Instant};

use assent::keys::{KeyRing, SealingKeys, SymmetricKey, TokenType, generate};
use assent_model::clock::{Clock, SystemClock};
use assent_model::entropy::SystemEntropy;
use assent_model::id::KeyId;
use assent_model::key::{KeyMaterial, KeyPurpose, KeyTimes, SigningAlgorithm, SigningKey};
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::rsa::{Padding, Rsa};
use openssl::sign::{RsaPssSaltlen, Signer};
use serde_json::{Map, Value, json};

const ROUNDS: u32 = 2_000;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(measure());
}

async fn measure() {
    let now = SystemClock.now();
    let ring = ring().await;
    let bare = PKey::from_rsa(Rsa::generate(2048).expect("a key")).expect("a key");
    let claims = claims();
    // As long as the header and the payload of such a token.
    let message = vec![b'a'; 100 + Value::Object(claims.clone()).to_string().len() * 4 / 3];
    for algorithm in [SigningAlgorithm::Rs256, SigningAlgorithm::Ps256] {
        let (mut ours, mut raw) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..ROUNDS {
            let start = Instant::now();
            signature(algorithm, &bare, &message);
            raw += start.elapsed();
            let claims = claims.clone();
            let start = Instant::now();
            ring.signer(algorithm, now)
                .expect("a key")
                .sign(claims, TokenType::IdToken)
                .expect("a token");
            ours += start.elapsed();
        }
        println!("{algorithm}: bare signature  {:>10.1?}", raw / ROUNDS);
        println!("{algorithm}: ID token        {:>10.1?}", ours / ROUNDS);
        println!(
            "{algorithm}: token / bare    {:>10.3}",
            ours.as_secs_f64() / raw.as_secs_f64()
        );
    }
}

async fn ring() -> KeyRing {
    let key = SymmetricKey::generate(&SystemEntropy);
    let sealing = SealingKeys::single(key).expect("a sealing key");
    let mut stored = Vec::new();
    for algorithm in SigningAlgorithm::ALL {
        let purpose = KeyPurpose::IdToken(algorithm);
        let sealed = generate(purpose, &sealing, SystemClock.now(), &SystemEntropy)
            .await
            .expect("a key");
        let now = SystemClock.now();
        let (id, material) = (KeyId::new(now, &SystemEntropy), KeyMaterial::Sealed(sealed));
        stored.push(SigningKey {
            id,
            purpose,
            material,
            times: KeyTimes::at_once(1, now),
        });
    }
    KeyRing::open(&stored, &sealing).expect("a ring")
}

fn signature(algorithm: SigningAlgorithm, key: &PKey<Private>, message: &[u8]) -> Vec<u8> {
    let mut signer = Signer::new(MessageDigest::sha256(), key).expect("a signer");
    if algorithm == SigningAlgorithm::Ps256 {
        signer.set_rsa_padding(Padding::PKCS1_PSS).expect("PSS");
        signer
            .set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH)
            .expect("a length");
    }
    signer.sign_oneshot_to_vec(message).expect("a signature")
}

/// Returns the claims of an ordinary ID token.
fn claims() -> Map<String, Value> {
    let claims = json!({
        "iss": "https://id.example.org/oidc", "aud": "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK",
        "sub": "3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAA", "iat": 1_800_000_000, "exp": 1_800_003_600,
        "auth_time": 1_800_000_000, "nonce": "n-0S6_WzA2Mj", "at_hash": "77QmUPtjPfzWtF2AnpK9RQ",
        "sid": "08a5019c-17e1-4977-8f42-65a12843ea02", "amr": ["swk", "user"], "acr": "urn:assent:acr:device",
        "name": "Ada Lovelace", "given_name": "Ada", "family_name": "Lovelace", "email": "ada@example.org",
        "email_verified": true, "preferred_username": "ada", "locale": "en-GB", "zoneinfo": "Europe/London",
    });
    claims.as_object().expect("an object").clone()
}
