//! SAML messages: those that wait for their browser, and the replay protection of messages and client assertions.

use crate::rows::{cell, from_json};
use crate::sign_on_queues::{ArrivedBrowser, ArrivedRequest};
use crate::{ReplayCheck, Result, Store};
use assent_model::clock::Timestamp;
use assent_model::id::SignOnId;
use assent_model::saml::{MessageClaim, PendingSignOn, SignOnRequest};
use assent_model::secret::Digest;

impl Store {
    /// Claims a client assertion by the digest of the client and the `jti`. From then on another assertion with this
    /// `jti` is a replay (RFC 7523 section 3).
    ///
    /// # Errors
    /// If the database fails.
    pub async fn claim_assertion(
        &self,
        assertion: Digest,
        until: Timestamp,
    ) -> Result<ReplayCheck> {
        self.claim_message(MessageClaim {
            digest: assertion,
            until,
        })
        .await
    }

    /// Claims a message. From then on another message with its `ID` is a replay.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn claim_message(&self, once: MessageClaim) -> Result<ReplayCheck> {
        self.replay_claims.call(once).await
    }

    /// Claims an AuthnRequest, and stores it until the browser returns with its cookies. A replay is not stored.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn store_sign_on_request(
        &self,
        pending: PendingSignOn,
        once: MessageClaim,
    ) -> Result<ReplayCheck> {
        let arrived = ArrivedRequest { pending, once };
        self.sign_on_queues.arrivals.call(arrived).await
    }

    /// Claims a stored request for the browser that continues with it. Returns `None` if there is no such request, or
    /// it was claimed before.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn claim_sign_on_request(
        &self,
        id: SignOnId,
        now: Timestamp,
    ) -> Result<Option<SignOnRequest>> {
        let browser = ArrivedBrowser { id, now };
        let request = self.sign_on_queues.claims.call(browser).await?;
        request
            .map(|request| {
                from_json(
                    &request,
                    cell("sign_on_requests", "request", &id.to_string()),
                )
            })
            .transpose()
    }
}
