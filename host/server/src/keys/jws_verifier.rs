//! The verifiers of signatures by applications.

use josekit::jwk::Jwk;
use josekit::jws::{ES256, ES384, ES512, EdDSA, JwsVerifier, PS256, RS256};
use serde_json::{Map, Value};

use assent_model::application::security_profile::SecurityProfile;
use assent_model::client_algorithm::ClientAlgorithm;

/// The algorithms of assertions and request objects.
pub const ASYMMETRIC: [&str; 6] = ["RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA"];

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

/// Returns the verifier of this algorithm with this key. `None` if the key is of another kind, or for another use.
pub(super) fn verifier(algorithm: &str, key: &Map<String, Value>) -> Option<Box<dyn JwsVerifier>> {
    let key = &jwk_of(key)?;
    let boxed = |made: Result<Box<dyn JwsVerifier>, josekit::JoseError>| made.ok();
    match algorithm {
        "RS256" => boxed(RS256.verifier_from_jwk(key).map(|made| Box::new(made) as _)),
        "PS256" => boxed(PS256.verifier_from_jwk(key).map(|made| Box::new(made) as _)),
        "ES256" => boxed(ES256.verifier_from_jwk(key).map(|made| Box::new(made) as _)),
        "ES384" => boxed(ES384.verifier_from_jwk(key).map(|made| Box::new(made) as _)),
        "ES512" => boxed(ES512.verifier_from_jwk(key).map(|made| Box::new(made) as _)),
        "EdDSA" => boxed(EdDSA.verifier_from_jwk(key).map(|made| Box::new(made) as _)),
        _ => None,
    }
}

/// Returns a key for the library that verifies signatures, with only the members that the verification needs: the
/// library rejects a key for the form of any other member. It lacks `kid`, because the library would require that in
/// the header, but a token of the only key need not name it (OpenID Connect Core section 10.1).
fn jwk_of(key: &Map<String, Value>) -> Option<Jwk> {
    let needed: &[&str] = match key.get("kty")?.as_str()? {
        "RSA" => &["n", "e"],
        "EC" => &["crv", "x", "y"],
        _ => &["crv", "x"],
    };
    let common = ["kty", "use", "key_ops", "alg"];
    let members = common.iter().chain(needed);
    let key: Map<String, Value> = members
        .filter_map(|name| Some(((*name).to_owned(), key.get(*name)?.clone())))
        .collect();
    Jwk::from_map(key).ok()
}
