//! The requests that issue tokens, and their outcomes.

use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::id::{FamilyId, TokenId};
use assent_model::saml::MessageClaim;

/// The outcome of an attempt to exchange a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redemption {
    /// The code was exchanged, and cannot be exchanged again.
    Redeemed {
        /// The epoch of its tokens.
        epoch: u32,
    },
    /// The user may no longer use the application. The code was not exchanged.
    AccountClosed,
    /// The proof was used before. The code was not exchanged.
    ProofReplayed,
    /// The code was exchanged before, expired or revoked. Its family is revoked.
    Replayed,
}

/// The outcome of an attempt to use a refresh token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// The new tokens have this number.
    Rotated {
        /// The number of the current refresh token: the next one, or the same if the token stays valid.
        counter: u32,
        /// Their epoch.
        epoch: u32,
    },
    /// The token was used a short time ago, and this is the first retry: see
    /// [`Store::answer_retry`](crate::Store::answer_retry).
    Retried,
    /// The user may no longer use the application. The token was not used.
    AccountClosed,
    /// The proof was used before. The token was not used.
    ProofReplayed,
    /// The token is newer than the family, because the database was restored since it was issued.
    Unknown,
    /// The token was used before. Its family is revoked.
    Reused,
}

/// The stored part of an access token that a refresh issues.
#[derive(Clone, Copy, Debug)]
pub struct NewAccess {
    /// The id.
    pub id: TokenId,
    /// When it expires.
    pub expires_at: Timestamp,
}

#[derive(Clone)]
pub(super) struct RedemptionRequest {
    pub(super) family: FamilyId,
    pub(super) retain_until: Timestamp,
    pub(super) proof: Option<MessageClaim>,
    pub(super) now: Timestamp,
}

/// The use of a refresh token.
#[derive(Clone, Debug)]
pub struct RotationRequest {
    /// The family of the token.
    pub family: FamilyId,
    /// The number of the token.
    pub counter: u32,
    /// Whether the token stays valid. Otherwise this use is its only one.
    pub stays_valid: bool,
    /// The access token that the refresh issues.
    pub access: NewAccess,
    /// The earliest refresh that may be retried; `None` if none may.
    pub retry_admitted_since: Option<Timestamp>,
    /// The earliest time until which the family's row is stored.
    pub retain_until: Timestamp,
    /// The audit entry of a use that is neither the first nor a retry.
    pub reuse: Entry,
    /// The claim of the request's DPoP proof.
    pub proof: Option<MessageClaim>,
    /// The time.
    pub now: Timestamp,
}
