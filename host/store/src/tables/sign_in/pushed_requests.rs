//! The stores of pushed authorization requests (RFC 9126). Those of a transaction share a statement.

use std::sync::LazyLock;

use crate::engine::batch::bulk_sql::BulkSql;
use crate::engine::rows::to_json;
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::engine::transactions::SharedWrite;
use crate::tables::sign_in::pushed_request_row::PushedRequest;
use crate::{Result, Store, StoreError};
use assent_model::id::{Did, PushedRequestId};

/// The most pushed requests of one application. Above it the oldest are deleted: any client can push requests of a
/// public application, so a rejection of new ones would lock its users out.
const OF_APPLICATION: i64 = 10_000;
/// One of this many requests deletes the surplus of its application.
const TURNS: u8 = 128;
/// The most rows that one request deletes.
const SLICE: i64 = 1024;

impl Store {
    /// Adds a pushed request.
    pub async fn insert_pushed_request(&self, request: PushedRequest) -> Result<()> {
        let is_turn = request
            .id
            .as_bytes()
            .last()
            .is_some_and(|last| last % TURNS == 0);
        let application = request.application.clone();
        self.writer.share(request).await?;
        if is_turn {
            self.delete_surplus_requests(application).await?;
        }
        Ok(())
    }

    /// The pushed request with this id, if it is stored. It may have expired.
    pub async fn pushed_request(&self, id: PushedRequestId) -> Result<Option<PushedRequest>> {
        self.lookups.pushed_requests.call(id.to_string()).await
    }

    async fn delete_surplus_requests(&self, application: Did) -> Result<()> {
        self.write(application, |db, application| {
            Box::pin(async move {
                sql::query(
                    "DELETE FROM pushed_requests WHERE id IN (
                         SELECT id FROM pushed_requests WHERE application_id = $1
                         ORDER BY application_id DESC, id DESC LIMIT $2 OFFSET $3)",
                )
                .bind(application.to_string())
                .bind(SLICE)
                .bind(OF_APPLICATION)
                .execute(db)
                .await?;
                Ok(())
            })
        })
        .await
    }
}

impl SharedWrite for PushedRequest {
    type Output = ();
    const RANK: u8 = 8;

    async fn execute(db: &mut Connection, writes: &[&Self]) -> Result<Vec<()>> {
        insert(db, writes).await?;
        Ok(vec![(); writes.len()])
    }
}

static INSERT: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO pushed_requests (id, digest, application_id, parameters, expires_at)
         VALUES {($, $, $, $, $)} ON CONFLICT (id) DO NOTHING",
        0,
    )
});

async fn insert(db: &mut Connection, requests: &[&PushedRequest]) -> Result<()> {
    let mut query = sql::query(INSERT.sql_for(requests.len()));
    for request in INSERT.padded(requests) {
        query = query
            .bind(request.id.to_string())
            .bind(request.digest.to_text())
            .bind(request.application.to_string())
            .bind(to_json(&request.parameters)?)
            .bind(request.expires_at.millis());
    }
    let inserted = query.execute(db).await?;
    match inserted == requests.len() as u64 {
        true => Ok(()),
        false => Err(StoreError::Internal("two pushed requests have the same id")),
    }
}
