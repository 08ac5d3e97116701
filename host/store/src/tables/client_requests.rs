//! The last requests of applications: their content, and the rule that rejected them.

use std::sync::LazyLock;

use crate::engine::batch::bulk_sql::{BulkSql, MOST};
use crate::engine::rows::{cell, moment, parse};
use crate::engine::sql;
use crate::{Result, Store, StoreError};
use assent_model::clock::Timestamp;
use assent_model::id::{ClientRequestId, Did};

/// A request of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientRequest {
    /// The row's id.
    pub id: ClientRequestId,
    /// The application that the request names.
    pub application: Did,
    /// The path of the endpoint.
    pub endpoint: String,
    /// The time.
    pub created_at: Timestamp,
    /// The error code; empty if the request was accepted.
    pub error: String,
    /// The reason of the error.
    pub reason: String,
    /// The parts of the request, as a JSON array.
    pub parts: String,
}

crate::engine::sql::row! {
    struct ClientRequestRow {
        id: String,
        application_id: String,
        endpoint: String,
        created_at: i64,
        error: String,
        reason: String,
        parts: String,
    }
}

impl TryFrom<ClientRequestRow> for ClientRequest {
    type Error = StoreError;

    fn try_from(row: ClientRequestRow) -> Result<Self> {
        Ok(Self {
            id: parse(&row.id, cell("client_requests", "id", &row.id))?,
            application: parse(
                &row.application_id,
                cell("client_requests", "application_id", &row.id),
            )?,
            endpoint: row.endpoint,
            created_at: moment(row.created_at),
            error: row.error,
            reason: row.reason,
            parts: row.parts,
        })
    }
}

static INSERT: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO client_requests (id, application_id, endpoint, created_at, error, reason, parts)
         SELECT v.column1, applications.id, v.column3, CAST(v.column4 AS BIGINT), v.column5, v.column6, v.column7
         FROM (VALUES {($, $, $, CAST($ AS BIGINT), $, $, $)}) AS v
         JOIN applications ON applications.id = v.column2
         ON CONFLICT DO NOTHING",
        0,
    )
});

impl Store {
    /// Adds requests, except those of applications that do not exist.
    pub async fn add_client_requests(&self, requests: Vec<ClientRequest>) -> Result<()> {
        self.write(requests, |db, requests| {
            Box::pin(async move {
                for rows in requests.chunks(MOST) {
                    let mut query = sql::query(INSERT.sql_for(rows.len()));
                    for request in INSERT.padded(rows) {
                        query = query
                            .bind(request.id.to_string())
                            .bind(request.application.to_string())
                            .bind(&request.endpoint)
                            .bind(request.created_at.millis())
                            .bind(&request.error)
                            .bind(&request.reason)
                            .bind(&request.parts);
                    }
                    query.execute(&mut *db).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// Up to `limit` requests of an application since a time, the latest first.
    pub async fn client_requests(
        &self,
        application: &Did,
        since: Timestamp,
        limit: u32,
    ) -> Result<Vec<ClientRequest>> {
        sql::query_as::<ClientRequestRow>(
            "SELECT id, application_id, endpoint, created_at, error, reason, parts FROM client_requests
             WHERE application_id = $1 AND created_at > $2 ORDER BY id DESC LIMIT $3",
        )
        .bind(application.to_string())
        .bind(since.millis())
        .bind(limit)
        .fetch_values(&self.readers)
        .await
    }
}
