//! SAML messages: those that wait for their browser, and the replay protection of messages and client assertions.

use crate::engine::rows::{cell, from_json, moment, parse};
use crate::engine::sql;
use crate::tables::sign_in::replay_cache::EarlierClaim;
use crate::tables::sign_in::sign_on_requests::{ArrivedBrowser, ArrivedRequest};
use crate::{ReplayCheck, Result, Store};
use assent_model::clock::Timestamp;
use assent_model::id::{SessionId, SignOnId};
use assent_model::saml::{MessageClaim, PendingSignOn, SignOnRequest};
use assent_model::secret::Digest;

impl Store {
    /// Claims a client assertion by the digest of the client and the `jti`. From then on another assertion with this
    /// `jti` is a replay (RFC 7523 section 3).
    pub async fn claim_assertion(
        &self,
        assertion: Digest,
        until: Timestamp,
    ) -> Result<ReplayCheck> {
        self.claim_message(MessageClaim {
            digest: assertion,
            until,
            answer: None,
        })
        .await
    }

    /// Claims a message. From then on another message with its `ID` is a replay.
    pub async fn claim_message(&self, once: MessageClaim) -> Result<ReplayCheck> {
        self.writer.share(once).await
    }

    /// The claim of the message with this digest, if it was claimed before.
    pub async fn earlier_claim(&self, message: Digest) -> Result<Option<EarlierClaim>> {
        self.lookups.claims.call(message.to_text()).await
    }

    /// Claims an AuthnRequest, and stores it until the browser returns with its cookies. A replay is not stored.
    pub async fn store_sign_on_request(
        &self,
        pending: PendingSignOn,
        once: MessageClaim,
    ) -> Result<ReplayCheck> {
        let arrived = ArrivedRequest { pending, once };
        self.writer.share(arrived).await
    }

    /// Whether a request with this id was stored, and would expire after `since` if no browser continued with it.
    pub async fn has_sign_on_request(&self, id: SignOnId, since: Timestamp) -> Result<bool> {
        Ok(
            sql::query("SELECT 1 FROM sign_on_requests WHERE id = $1 AND expires_at > $2")
                .bind(id.to_string())
                .bind(since.millis())
                .exists(&self.readers)
                .await?,
        )
    }

    /// Claims a stored request for the browser that continues with it, and the session that its cookie names. Returns
    /// `None` if there is no such request, another browser claimed it, or this browser claimed it too long ago.
    pub async fn claim_sign_on_request(
        &self,
        id: SignOnId,
        browser: Digest,
        session: Option<SessionId>,
        now: Timestamp,
    ) -> Result<Option<ClaimedSignOn>> {
        let arrived = ArrivedBrowser {
            id,
            browser,
            session,
            now,
        };
        let Some(row) = self.writer.share(arrived).await? else {
            return Ok(None);
        };
        let id = id.to_string();
        let cell = |column| cell("sign_on_requests", column, &id);
        let session = Some(&row.session).filter(|session| !session.is_empty());
        Ok(Some(ClaimedSignOn {
            request: from_json(&row.request, cell("request"))?,
            at: moment(row.used_at),
            session: session
                .map(|session| parse(session, cell("session_id")))
                .transpose()?,
            repeats: row.repeats,
        }))
    }
}

/// A request of a service provider with which a browser continues.
#[derive(Clone, Debug)]
pub struct ClaimedSignOn {
    /// The request.
    pub request: SignOnRequest,
    /// The time of the first claim.
    pub at: Timestamp,
    /// The session that the browser's cookie named then.
    pub session: Option<SessionId>,
    /// Whether this browser claimed it before.
    pub repeats: bool,
}
