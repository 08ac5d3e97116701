//! The queues of what issues tokens, and the outcomes.

use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::id::{CodeId, TokenId};
use assent_model::token::{AccessGrant, IssuedPair};

use crate::VersionedWrite;
use crate::batch::batcher::Batcher;

/// What came of an attempt to exchange a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redemption {
    /// The code was exchanged, now and never again.
    Redeemed,
    /// The code had been exchanged before, or its time was over. What it gave is revoked.
    Refused,
}

/// What came of an attempt to use a refresh token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// It gave the new tokens.
    Rotated,
    /// It was used a short while ago, and this is the first repeat: see
    /// [`Store::repeat_rotation`](crate::Store::repeat_rotation).
    Repeated,
    /// It was used before, is revoked or over. Its family is revoked.
    Refused,
}

#[derive(Clone)]
pub(super) struct RedemptionRequest {
    pub(super) code: CodeId,
    pub(super) tokens: IssuedPair,
    pub(super) retain_until: Timestamp,
    pub(super) now: Timestamp,
}

#[derive(Clone)]
pub(super) struct RotationRequest {
    pub(super) id: TokenId,
    pub(super) pair: IssuedPair,
    pub(super) repeatable_since: Option<Timestamp>,
    pub(super) reuse: Entry,
    pub(super) now: Timestamp,
}

#[derive(Clone)]
pub(super) struct ClientToken {
    pub(super) token: AccessGrant,
    pub(super) version: i64,
}

/// What issues tokens.
#[derive(Clone, Debug)]
pub(crate) struct TokenIssuance {
    pub(super) redemptions: Batcher<RedemptionRequest, Redemption>,
    pub(super) rotations: Batcher<RotationRequest, Rotation>,
    pub(super) client_tokens: Batcher<ClientToken, VersionedWrite>,
}
