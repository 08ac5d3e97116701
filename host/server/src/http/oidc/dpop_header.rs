//! The headers of DPoP (RFC 9449 sections 4.1 and 8).

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;

use crate::domain::Services;
use crate::http::reply::fault_in_words;
use crate::keys::self_signed::PROOF_ALGORITHMS;
use crate::oidc::bearer::BearerError;
use crate::oidc::dpop::nonce;
use crate::oidc::dpop::proof::ProofHeader;

/// The proof of a request.
pub(crate) const PROOF: HeaderName = HeaderName::from_static("dpop");
/// The nonce for the next proof.
pub(crate) const NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// Returns the proof of a request.
pub(crate) fn proof_header(headers: &HeaderMap) -> ProofHeader<'_> {
    let mut lines = headers.get_all(PROOF).iter();
    match (lines.next(), lines.next()) {
        (None, _) => ProofHeader::Missing,
        // A header that is not text must fail as a proof, and must not count as missing.
        (Some(line), None) => ProofHeader::One(line.to_str().unwrap_or_default()),
        (Some(_), Some(_)) => ProofHeader::Repeated,
    }
}

/// Returns the challenge for this error (RFC 9449 section 7.1).
pub(crate) fn dpop_challenge(error: &BearerError) -> String {
    let algorithms = PROOF_ALGORITHMS.join(" ");
    match error.code() {
        Some(code) => {
            format!("DPoP error=\"{code}\", error_description=\"{error}\", algs=\"{algorithms}\"")
        }
        None => format!("DPoP algs=\"{algorithms}\""),
    }
}

/// Adds the current nonce to the response to a request with a proof, if the settings require nonces.
pub(crate) fn with_nonce(services: &Services, has_proof: bool, mut response: Response) -> Response {
    if !services.settings.oidc.dpop_nonces || !has_proof {
        return response;
    }
    match nonce::current(services) {
        Ok(nonce) => {
            if let Ok(nonce) = HeaderValue::from_str(&nonce) {
                response.headers_mut().insert(NONCE, nonce);
            }
        }
        // The client gets the next one.
        Err(error) => {
            let _ = fault_in_words(services, "DPoP nonce not created", &error);
        }
    }
    response
}
