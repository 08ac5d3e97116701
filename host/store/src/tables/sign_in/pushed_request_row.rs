//! The rows of pushed authorization requests (RFC 9126).

use crate::engine::batch::loader::Row;
use crate::engine::rows::{cell, digest, from_json, moment, parse};
use crate::{Result, StoreError};
use assent_model::clock::Timestamp;
use assent_model::id::{Did, PushedRequestId};
use assent_model::secret::Digest;

/// A pushed authorization request.
#[derive(Clone, Debug)]
pub struct PushedRequest {
    /// The row's id, a part of the `request_uri`.
    pub id: PushedRequestId,
    /// The digest of the `request_uri`.
    pub digest: Digest,
    /// The client that pushed it.
    pub application: Did,
    /// The parameters, by name.
    pub parameters: Vec<(String, String)>,
    /// The expiry.
    pub expires_at: Timestamp,
    /// Whether a sign-in answered it.
    pub is_used: bool,
}

/// Reads pushed requests by their ids.
pub(crate) const PUSHED_REQUEST_BY_ID: &str =
    "SELECT id, digest, application_id, parameters, expires_at,
        (SELECT COUNT(*) FROM replay_cache WHERE replay_cache.id = pushed_requests.digest) AS used
     FROM pushed_requests WHERE id IN ({$})";

crate::engine::sql::row! {
    pub(crate) struct PushedRequestRow {
        id: String,
        digest: String,
        application_id: String,
        parameters: String,
        expires_at: i64,
        used: i64,
    }
}

impl Row for PushedRequestRow {
    type Key = String;
    type Value = PushedRequest;
    fn key(&self) -> String {
        self.id.clone()
    }
}

impl TryFrom<PushedRequestRow> for PushedRequest {
    type Error = StoreError;
    fn try_from(row: PushedRequestRow) -> Result<Self> {
        let cell = |column| cell("pushed_requests", column, &row.id);
        Ok(Self {
            id: parse(&row.id, cell("id"))?,
            digest: digest(&row.digest, cell("digest"))?,
            application: parse(&row.application_id, cell("application_id"))?,
            parameters: from_json(&row.parameters, cell("parameters"))?,
            expires_at: moment(row.expires_at),
            is_used: row.used > 0,
        })
    }
}
