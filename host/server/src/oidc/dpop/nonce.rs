//! Nonces for proofs (RFC 9449 section 8). They are derived from the time, so no instance stores them, and each accepts
//! those of the others.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;

use crate::domain::{InternalError, Services};
use assent_model::clock::Timestamp;

/// The time after which a new nonce begins, in seconds.
const PERIOD: i64 = 60;
/// The number of periods in which a nonce is accepted. Instances may have clocks that differ by a few seconds.
const ACCEPTED: i64 = 5;
const PURPOSE: &str = "DPoP nonce";

/// Returns the current nonce.
///
/// # Errors
/// If it cannot be derived.
pub fn current(services: &Services) -> Result<String, InternalError> {
    of_period(services, period(services))
}

/// Returns the time at which a nonce ends. `None` if it is none of this server, or has ended.
///
/// # Errors
/// If the nonces cannot be derived.
pub(super) fn end_of(services: &Services, nonce: &str) -> Result<Option<Timestamp>, InternalError> {
    let bytes = URL_SAFE_NO_PAD.decode(nonce).unwrap_or_default();
    let Some(began) = bytes
        .first_chunk::<8>()
        .map(|began| i64::from_be_bytes(*began))
    else {
        return Ok(None);
    };
    let age = period(services).saturating_sub(began);
    if !(-1..ACCEPTED).contains(&age) {
        return Ok(None);
    }
    let known = of_period(services, began)?;
    let is_known = bool::from(known.as_bytes().ct_eq(nonce.as_bytes()));
    let end = began.saturating_add(ACCEPTED).saturating_add(1);
    Ok(is_known.then(|| Timestamp::from_seconds(end.saturating_mul(PERIOD))))
}

fn period(services: &Services) -> i64 {
    services.now().seconds().div_euclid(PERIOD)
}

fn of_period(services: &Services, period: i64) -> Result<String, InternalError> {
    let began = period.to_be_bytes();
    let code = services.root_secret.derive(PURPOSE, &began)?;
    let (code, _) = code.split_at(16);
    Ok(URL_SAFE_NO_PAD.encode([&began[..], code].concat()))
}
