//! Repeated requests for sign-ins. An attacker can type the name of a user, and each request is an entry of the audit
//! log, which has a long retention. Above a bound the requests of a name and network are only counted, and one entry
//! with the count follows.

use std::net::IpAddr;
use std::time::Duration;

use crate::engine::sql;
use crate::engine::sql::Connection;

use crate::engine::rows::{cell, moment, parse};
use crate::operations::retention::SLICE;
use crate::{Result, Store, audit};
use assent_model::audit::{Actor, Entry};
use assent_model::clock::Timestamp;
use assent_model::id::UserId;
use assent_model::network::network_of;
use assent_model::secret::Digest;

/// The number of requests of a name and network that have an entry each.
pub const SINGLE_ENTRIES: i64 = 30;
/// The shortest time for which requests are counted together.
pub const COUNTED_FOR: Duration = Duration::from_secs(3600);

/// The count of repeated requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepetitionCount {
    /// The user of the name.
    pub user: UserId,
    /// The network of the requests.
    pub network: String,
    /// The time of the first request.
    pub first_at: Timestamp,
    name_digest: String,
}

/// Adds the entry of a request, or only counts the request above the bound. An unknown name costs the same. A request
/// that a device of the user began always has an entry.
pub(crate) async fn append(db: &mut Connection, entry: &Entry, name: Digest) -> Result<()> {
    if matches!(entry.actor, Actor::Device(_)) {
        return audit::append_if_about_user(db, entry, true).await;
    }
    let address = entry
        .personal
        .get("ip_address")
        .and_then(|address| address.as_str()?.parse().ok());
    let network = address
        .map(|address: IpAddr| network_of(address).to_string())
        .unwrap_or_default();
    let (requests,): (i64,) = sql::query_as(
        "INSERT INTO repeated_requests (name_digest, network, user_id, first_at, last_at, requests)
         VALUES ($1, $2, $3, $4, $4, 1)
         ON CONFLICT (name_digest, network)
         DO UPDATE SET requests = repeated_requests.requests + 1, last_at = excluded.last_at,
                       user_id = COALESCE(excluded.user_id, repeated_requests.user_id)
         RETURNING requests",
    )
    .bind(name.to_text())
    .bind(network)
    .bind(entry.user.map(|user| user.to_string()))
    .bind(entry.at.millis())
    .fetch_one(&mut *db)
    .await?;
    audit::append_if_about_user(db, entry, requests <= SINGLE_ENTRIES).await
}

/// Deletes the counts of an erased user.
pub(crate) async fn erase(db: &mut Connection, user: UserId) -> Result<()> {
    sql::query("DELETE FROM repeated_requests WHERE user_id = $1")
        .bind(user.to_string())
        .execute(db)
        .await?;
    Ok(())
}

crate::engine::sql::row! {
    struct RepeatedRow {
        name_digest: String,
        network: String,
        user_id: String,
        first_at: i64,
    }
}

impl Store {
    /// Deletes the counts that began at `before` or earlier and did not exceed the bound, and reads up to `limit` of
    /// the others.
    pub async fn repeated_requests(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<RepetitionCount>> {
        loop {
            let deleted = self
                .write((), move |db, ()| {
                    Box::pin(async move {
                        let deleted = sql::query(
                            "DELETE FROM repeated_requests
                             WHERE (name_digest, network) IN
                                   (SELECT name_digest, network FROM repeated_requests
                                    WHERE first_at <= $1 AND (requests <= $2 OR user_id IS NULL)
                                    ORDER BY first_at LIMIT $3)
                               AND (requests <= $2 OR user_id IS NULL)",
                        )
                        .bind(before.millis())
                        .bind(SINGLE_ENTRIES)
                        .bind(SLICE)
                        .execute(db)
                        .await?;
                        Ok(deleted)
                    })
                })
                .await?;
            if deleted < u64::from(SLICE) {
                break;
            }
        }
        let rows: Vec<RepeatedRow> = sql::query_as(
            "SELECT name_digest, network, user_id, first_at FROM repeated_requests
             WHERE first_at <= $1 AND user_id IS NOT NULL ORDER BY first_at LIMIT $2",
        )
        .bind(before.millis())
        .bind(limit)
        .fetch_all(&self.readers)
        .await?;
        let repeated = rows.into_iter().map(|row| {
            Ok(RepetitionCount {
                user: parse(
                    &row.user_id,
                    cell("repeated_requests", "user_id", &row.name_digest),
                )?,
                network: row.network,
                first_at: moment(row.first_at),
                name_digest: row.name_digest,
            })
        });
        repeated.collect()
    }

    /// Ends the count of repeated requests. Adds the number of requests without an entry and the time of the last one
    /// to the entry.
    pub async fn sum_up_repeated(&self, repeated: RepetitionCount, entry: Entry) -> Result<()> {
        self.write((repeated, entry), |db, (repeated, entry)| {
            Box::pin(async move {
                let counted: Option<(i64, i64)> = sql::query_as(
                    "DELETE FROM repeated_requests WHERE name_digest = $1 AND network = $2 AND first_at = $3
                     RETURNING requests, last_at",
                )
                .bind(&repeated.name_digest)
                .bind(&repeated.network)
                .bind(repeated.first_at.millis())
                .fetch_optional(&mut *db)
                .await?;
                match counted {
                    Some((requests, last_at)) if requests > SINGLE_ENTRIES => {
                        let entry = entry.clone().with("repetitions", requests - SINGLE_ENTRIES);
                        audit::append(db, &[entry.with("last_at", moment(last_at).seconds())]).await
                    }
                    _ => Ok(()),
                }
            })
        })
        .await
    }
}
