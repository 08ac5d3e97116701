//! The verifiers of signatures by applications.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use josekit::JoseError;
use josekit::jwk::Jwk;
use josekit::jws::alg::eddsa::EddsaJwsVerifier;
use josekit::jws::{ES256, ES384, ES512, EdDSA, JwsAlgorithm, JwsVerifier, PS256, RS256};
use serde_json::{Map, Value};

use assent_model::application::security_profile::SecurityProfile;
use assent_model::bounded_cache::BoundedCache;
use assent_model::client_algorithm::ClientAlgorithm;
use assent_model::secret::Digest;

/// The algorithms of assertions and request objects.
pub const ASYMMETRIC: [&str; 6] = ["RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA"];

/// The name of EdDSA with the curve Ed25519 since RFC 9864. It is accepted where EdDSA is, and never written.
const ED25519: &str = "Ed25519";

/// Returns the algorithms with which an application signs: the one that it fixed, or else those of its profile.
pub fn own_algorithms(
    fixed: Option<ClientAlgorithm>,
    profile: Option<SecurityProfile>,
) -> Vec<&'static str> {
    let permitted = signing_algorithms(profile).iter().copied();
    permitted
        .filter(|one| fixed.is_none_or(|fixed| fixed.as_str() == *one))
        .collect()
}

/// Returns the algorithms with which an application with this profile signs.
pub const fn signing_algorithms(profile: Option<SecurityProfile>) -> &'static [&'static str] {
    match profile {
        Some(profile) => profile.algorithms(),
        None => &ASYMMETRIC,
    }
}

/// The verifiers that were last created, by the digest of algorithm and key. A parse of a public key costs OpenSSL 3
/// twice as much as the verification of a signature by ES256, and a client signs many times with one key.
static VERIFIERS: LazyLock<Mutex<StoredVerifiers>> =
    LazyLock::new(|| Mutex::new(BoundedCache::new(STORED_VERIFIERS)));

type StoredVerifiers = BoundedCache<[u8; 32], Arc<dyn JwsVerifier>>;

/// The minimum number of stored verifiers. They have at most 4 KiB each.
const STORED_VERIFIERS: usize = 1_000;

/// Returns the verifier of this algorithm with this key. `None` if the key is of another kind, or for another use.
pub(super) fn verifier(algorithm: &str, key: &Map<String, Value>) -> Option<Arc<dyn JwsVerifier>> {
    let key = jwk_members(key)?;
    // No algorithm has a space in its name, so the boundary between the two parts is unambiguous.
    let text = format!("{algorithm} {}", serde_json::to_string(&key).ok()?);
    let place = *Digest::sha256(text.as_bytes()).as_bytes();
    let stored = || VERIFIERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(verifier) = stored().get(&place) {
        return Some(verifier);
    }
    let created = create(algorithm, &Jwk::from_map(key).ok()?)?;
    stored().insert(place, Arc::clone(&created));
    Some(created)
}

fn create(algorithm: &str, key: &Jwk) -> Option<Arc<dyn JwsVerifier>> {
    let shared = |made: Result<Arc<dyn JwsVerifier>, JoseError>| made.ok();
    match algorithm {
        "RS256" => shared(RS256.verifier_from_jwk(key).map(|made| Arc::new(made) as _)),
        "PS256" => shared(PS256.verifier_from_jwk(key).map(|made| Arc::new(made) as _)),
        "ES256" => shared(ES256.verifier_from_jwk(key).map(|made| Arc::new(made) as _)),
        "ES384" => shared(ES384.verifier_from_jwk(key).map(|made| Arc::new(made) as _)),
        "ES512" => shared(ES512.verifier_from_jwk(key).map(|made| Arc::new(made) as _)),
        "EdDSA" => shared(EdDSA.verifier_from_jwk(key).map(|made| Arc::new(made) as _)),
        ED25519 if key.curve() == Some(ED25519) => shared(
            EdDSA
                .verifier_from_jwk(key)
                .map(|made| Arc::new(Ed25519Verifier(made)) as _),
        ),
        _ => None,
    }
}

/// The name that applications know an algorithm of a signature by, in the form of the settings: EdDSA for its new name.
/// `None` if it is none of these.
pub(super) fn accepted_name<'a>(named: &str, accepted: &[&'a str]) -> Option<&'a str> {
    let name = match named {
        ED25519 => "EdDSA",
        other => other,
    };
    accepted.iter().copied().find(|known| *known == name)
}

/// The verifier of a signature whose header has the new name of the algorithm. The library knows only the old one.
#[derive(Clone, Debug)]
struct Ed25519Verifier(EddsaJwsVerifier);

impl JwsVerifier for Ed25519Verifier {
    fn algorithm(&self) -> &dyn JwsAlgorithm {
        &Ed25519
    }

    fn key_id(&self) -> Option<&str> {
        self.0.key_id()
    }

    fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), JoseError> {
        self.0.verify(message, signature)
    }

    fn box_clone(&self) -> Box<dyn JwsVerifier> {
        Box::new(self.clone())
    }
}

#[derive(Debug)]
struct Ed25519;

impl JwsAlgorithm for Ed25519 {
    fn name(&self) -> &str {
        ED25519
    }

    fn box_clone(&self) -> Box<dyn JwsAlgorithm> {
        Box::new(Self)
    }
}

/// Returns the members of a key that its verification needs: the library rejects a key for the form of any other
/// member. `kid` is not among them, because the library would require it in the header, but a token of the only key
/// need not name it (OpenID Connect Core section 10.1).
fn jwk_members(key: &Map<String, Value>) -> Option<Map<String, Value>> {
    let needed: &[&str] = match key.get("kty")?.as_str()? {
        "RSA" => &["n", "e"],
        "EC" => &["crv", "x", "y"],
        _ => &["crv", "x"],
    };
    let common = ["kty", "use", "key_ops", "alg"];
    let members = common.iter().chain(needed);
    let found = members.filter_map(|name| Some(((*name).to_owned(), key.get(*name)?.clone())));
    Some(found.collect())
}
