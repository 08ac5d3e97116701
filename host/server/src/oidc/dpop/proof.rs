//! The verification of a proof (RFC 9449 section 4.3).

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};
use url::Url;

use super::nonce;
use crate::domain::{InternalError, Services};
use crate::keys::self_signed;
use crate::oidc::error::{PROOF_REUSED, Reason, TokenError};
use assent_model::clock::Timestamp;
use assent_model::saml::MessageClaim;
use assent_model::secret::Digest;
use assent_model::token_binding::KeyThumbprint;
use assent_store::ReplayCheck;

/// The maximum difference between the clocks of a client and of the server.
pub const SKEW: Duration = Duration::from_secs(30);
/// The maximum length of a `jti`, in bytes.
const LONGEST_ID: usize = 256;

/// The `DPoP` headers of a request.
#[derive(Clone, Copy, Debug, Default)]
pub enum ProofHeader<'a> {
    /// There is none.
    #[default]
    Missing,
    /// There is one.
    One(&'a str),
    /// There are several, of which a request must have only one.
    Repeated,
}

impl<'a> ProofHeader<'a> {
    /// Returns the proof.
    ///
    /// # Errors
    /// If there are several headers.
    pub const fn proof(self) -> Result<Option<&'a str>, ProofError> {
        match self {
            Self::Missing => Ok(None),
            Self::One(text) => Ok(Some(text)),
            Self::Repeated => Err(ProofError::Invalid("send one DPoP header")),
        }
    }
}

/// The request that a proof must be about.
#[derive(Clone, Copy, Debug)]
pub struct ProvenRequest<'a> {
    /// Its method.
    pub method: &'a str,
    /// Its path.
    pub path: &'a str,
    /// The access token that it presents.
    pub access_token: Option<&'a str>,
}

/// A verified proof. It is valid once: who accepts it must make its claim.
#[derive(Clone, Copy, Debug)]
pub struct Proof {
    /// The algorithm of its signature.
    pub algorithm: &'static str,
    /// The thumbprint of the key.
    pub key: KeyThumbprint,
    /// The claim of its `jti`.
    pub claim: MessageClaim,
}

/// The reason why a proof was rejected.
#[derive(Debug)]
pub enum ProofError {
    /// It is not valid.
    Invalid(Reason),
    /// It lacks a current nonce of the server.
    UseNonce,
    /// An internal error.
    Internal(InternalError),
}

impl From<InternalError> for ProofError {
    fn from(error: InternalError) -> Self {
        Self::Internal(error)
    }
}

impl From<ProofError> for TokenError {
    fn from(error: ProofError) -> Self {
        match error {
            ProofError::Invalid(reason) => Self::InvalidProof(reason),
            ProofError::UseNonce => Self::UseNonce,
            ProofError::Internal(error) => Self::Internal(error),
        }
    }
}

/// Verifies the proof of a request.
///
/// # Errors
/// [`ProofError`] if it is not a valid proof of this request.
pub fn verify(
    services: &Services,
    proof: &str,
    request: ProvenRequest<'_>,
) -> Result<Proof, ProofError> {
    let invalid = ProofError::Invalid;
    let read = self_signed::read_proof(proof).map_err(invalid)?;
    let claims = &read.claims;
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    if text("htm") != Some(request.method) {
        return Err(invalid("its htm must be the method of the request"));
    }
    let target = text("htu").ok_or(invalid("it has no htu"))?;
    if !is_target(services, target, request.path) {
        return Err(invalid("its htu must be the address of the endpoint"));
    }
    let digest = request
        .access_token
        .map(|token| Digest::sha256(token.as_bytes()));
    if digest.is_some() && text("ath").and_then(Digest::from_base64url) != digest {
        return Err(invalid("its ath must be the digest of the access token"));
    }
    let id = text("jti").filter(|id| (1..=LONGEST_ID).contains(&id.len()));
    let id = id.ok_or(invalid("it needs a jti of 1 to 256 bytes"))?;
    let until = check_age(services, claims)?;
    // The thumbprint has a fixed length, so the boundary between the two parts is unambiguous.
    let known_as = format!("DPoP {} {id}", read.key.to_base64url());
    Ok(Proof {
        algorithm: read.algorithm,
        key: read.key,
        claim: MessageClaim {
            digest: Digest::sha256(known_as.as_bytes()),
            until,
            answer: None,
        },
    })
}

/// Returns the time from which the proof is too old. If nonces are required, the nonce limits its age, because the
/// clocks of browsers are often wrong.
fn check_age(services: &Services, claims: &Map<String, Value>) -> Result<Timestamp, ProofError> {
    let issued = claims.get("iat").and_then(Value::as_f64);
    let issued = issued.ok_or(ProofError::Invalid("it has no iat"))?;
    let now = services.now();
    if services.settings.oidc.dpop_nonces {
        let shown = claims.get("nonce").and_then(Value::as_str);
        return match nonce::end_of(services, shown.unwrap_or_default())? {
            Some(end) => Ok(end),
            None => Err(ProofError::UseNonce),
        };
    }
    let moment = Timestamp::from_seconds(issued as i64);
    if moment.seconds().abs_diff(now.seconds()) > SKEW.as_secs() {
        return Err(ProofError::Invalid(
            "its iat differs by more than 30 seconds from the time of the server: check the clock of the client",
        ));
    }
    Ok(moment + SKEW + Duration::from_secs(1))
}

/// Uses the proof of a request that stores nothing else with it: on no instance can it be used again.
///
/// # Errors
/// [`ProofError`] if it was used before, or the database fails.
pub async fn use_once(services: &Services, proof: Option<Proof>) -> Result<(), ProofError> {
    let Some(proof) = proof else {
        return Ok(());
    };
    let claimed = services.store.claim_message(proof.claim).await;
    match claimed.map_err(InternalError::from)? {
        ReplayCheck::FirstUse => Ok(()),
        ReplayCheck::Replayed => Err(ProofError::Invalid(PROOF_REUSED)),
    }
}

/// Whether `htu` is the address of this path, by the base URL or by that of the listener for client certificates. The
/// query and the fragment do not count. The `Host` header has no influence.
fn is_target(services: &Services, htu: &str, path: &str) -> bool {
    let Ok(mut named) = Url::parse(htu) else {
        return false;
    };
    named.set_query(None);
    named.set_fragment(None);
    let settings = &services.settings;
    let bases = [Some(&settings.base_url), settings.http.mtls_url.as_ref()];
    bases
        .into_iter()
        .flatten()
        .any(|base| named.as_str() == format!("{}{path}", base.as_str().trim_end_matches('/')))
}

/// Returns the thumbprint in `dpop_jkt` (RFC 9449 section 10).
pub fn thumbprint(text: &str) -> Option<KeyThumbprint> {
    // Only the canonical form, so that the text that arrives is the text that counts.
    let thumbprint = Digest::from_base64url(text)?;
    (URL_SAFE_NO_PAD.encode(thumbprint.as_bytes()) == text).then_some(thumbprint)
}
