//! Back-channel requests whose clients wait for the decision with long polls. One statement reads the requests of many
//! polls, each with its approval.

use crate::engine::batch::loader::Row;
use crate::engine::sql;
use crate::tables::approvals::approval::ApprovalRow;
use crate::tables::backchannel::request::BackchannelRow;
use crate::tables::backchannel::watched_request::WatchedRequest;
use crate::{Result, Store, StoreError};
use assent_model::id::BackchannelRequestId;

/// The names of the columns that both tables have are those of the approval.
pub(crate) const WATCHED_BY_ID: &str = sql::statement!(
    "SELECT ",
    ApprovalRow::COLUMNS,
    ", backchannel_requests.digest, backchannel_requests.application_id,
       backchannel_requests.user_id AS asked_user, backchannel_requests.authorization_details,
       backchannel_requests.requested_at AS begun_at, backchannel_requests.expires_at AS ends_at,
       backchannel_requests.claimed_at",
    ApprovalRow::SOURCE,
    " WHERE approvals.backchannel_id IN ({$})"
);

crate::engine::sql::row! {
    pub(crate) struct WatchedRow {
        approval: ApprovalRow,
        digest: String,
        application_id: String,
        asked_user: String,
        authorization_details: String,
        begun_at: i64,
        ends_at: i64,
        claimed_at: Option<i64>,
    }
}

impl WatchedRow {
    fn request(&self) -> String {
        self.approval.backchannel_id.clone().unwrap_or_default()
    }
}

impl Row for WatchedRow {
    type Key = String;
    type Value = WatchedRequest;
    fn key(&self) -> String {
        self.request()
    }
}

impl TryFrom<WatchedRow> for WatchedRequest {
    type Error = StoreError;
    fn try_from(row: WatchedRow) -> Result<Self> {
        let request = BackchannelRow {
            id: row.request(),
            digest: row.digest,
            application_id: row.application_id,
            user_id: row.asked_user,
            outline: row.approval.backchannel.clone(),
            authorization_details: row.authorization_details,
            requested_at: row.begun_at,
            expires_at: row.ends_at,
            claimed_at: row.claimed_at,
        };
        Ok(Self {
            request: request.try_into()?,
            approval: row.approval.try_into()?,
        })
    }
}

impl Store {
    /// The back-channel request with this id and its approval, for a caller that waits for seconds anyway. It may wait
    /// for a moment, so that one statement serves many callers. The state is read after the call.
    pub async fn watched_request(
        &self,
        id: BackchannelRequestId,
    ) -> Result<Option<WatchedRequest>> {
        self.lookups.watched_requests.call(id.to_string()).await
    }
}
