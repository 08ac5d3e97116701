//! Claim traces: the changes of plugins to the claims of a token or an assertion.

use std::sync::LazyLock;

use crate::engine::batch::bulk_sql::{BulkSql, MOST};
use crate::engine::rows::{cell, moment, parse};
use crate::engine::sql;
use crate::{Result, Store, StoreError};
use assent_model::clock::Timestamp;
use assent_model::id::{Did, TraceId, UserId};

/// The changes of plugins to the claims of a token or an assertion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimTrace {
    /// The row's id.
    pub id: TraceId,
    /// The token's `jti`, or the assertion's ID.
    pub token: String,
    /// The user.
    pub user_id: UserId,
    /// The application that received it.
    pub application: Did,
    /// The destination of the claims, as the plugin contract names it.
    pub sink: String,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The calls of the plugins, as a JSON array.
    pub calls: String,
}

crate::engine::sql::row! {
    struct TraceRow {
        id: String,
        token: String,
        user_id: String,
        application_id: String,
        sink: String,
        created_at: i64,
        calls: String,
    }
}

impl TryFrom<TraceRow> for ClaimTrace {
    type Error = StoreError;

    fn try_from(row: TraceRow) -> Result<Self> {
        Ok(Self {
            id: parse(&row.id, cell("claim_traces", "id", &row.id))?,
            token: row.token,
            user_id: parse(&row.user_id, cell("claim_traces", "user_id", &row.id))?,
            application: parse(
                &row.application_id,
                cell("claim_traces", "application_id", &row.id),
            )?,
            sink: row.sink,
            created_at: moment(row.created_at),
            calls: row.calls,
        })
    }
}

static INSERT: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO claim_traces (id, token, user_id, application_id, sink, created_at, calls)
         SELECT v.column1, v.column2, users.id, applications.id, v.column5, CAST(v.column6 AS BIGINT), v.column7
         FROM (VALUES {($, $, $, $, $, CAST($ AS BIGINT), $)}) AS v
         JOIN users ON users.id = v.column3 JOIN applications ON applications.id = v.column4
         WHERE users.state <> 'terminated'
         ON CONFLICT DO NOTHING",
        0,
    )
});

impl Store {
    /// Adds traces. Leaves a trace out if its user or application was deleted meanwhile. Leaves it out also if its user
    /// is terminated, because the user's data may have been erased.
    pub async fn add_traces(&self, traces: Vec<ClaimTrace>) -> Result<()> {
        self.write(traces, |db, traces| {
            Box::pin(async move {
                for rows in traces.chunks(MOST) {
                    let mut query = sql::query(INSERT.sql_for(rows.len()));
                    for trace in INSERT.padded(rows) {
                        query = query
                            .bind(trace.id.to_string())
                            .bind(&trace.token)
                            .bind(trace.user_id.to_string())
                            .bind(trace.application.to_string())
                            .bind(&trace.sink)
                            .bind(trace.created_at.millis())
                            .bind(&trace.calls);
                    }
                    query.execute(&mut *db).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// The trace of a token or an assertion.
    pub async fn trace(&self, token: &str) -> Result<Option<ClaimTrace>> {
        sql::query_as::<TraceRow>(
            "SELECT id, token, user_id, application_id, sink, created_at, calls FROM claim_traces WHERE token = $1",
        )
        .bind(token.to_owned())
        .fetch_value(&self.readers)
        .await
    }

    /// The traces of a user, the latest first. Only those that precede `before` and belong to `application`, if they
    /// are set.
    pub async fn traces(
        &self,
        user: UserId,
        application: Option<&Did>,
        before: Option<TraceId>,
        limit: u32,
    ) -> Result<Vec<ClaimTrace>> {
        sql::query_as::<TraceRow>(
            "SELECT id, token, user_id, application_id, sink, created_at, calls FROM claim_traces
             WHERE user_id = $1 AND ($2 = '' OR application_id = $2) AND ($3 = '' OR id < $3)
             ORDER BY id DESC LIMIT $4",
        )
        .bind(user.to_string())
        .bind(application.map(ToString::to_string).unwrap_or_default())
        .bind(before.map(|id| id.to_string()).unwrap_or_default())
        .bind(limit)
        .fetch_values(&self.readers)
        .await
    }
}
