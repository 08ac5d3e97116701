//! Issuing tokens: the exchange of a code and the refresh of a family. Each is one conditional update of the family's
//! row. The requests of a transaction share a statement.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Duration;

use super::family::revoke;
use super::issuance_requests::{Redemption, RedemptionRequest, Rotation, RotationRequest};
use crate::engine::batch::bulk_sql::{BulkSql, first_of_each};
use crate::engine::claimed_messages;
use crate::engine::locked_rows::LockedRow;
use crate::engine::rows::{cell, epoch_number};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::engine::transactions::SharedWrite;
use crate::tables::groups::access::in_assigned_group;
use crate::{ReplayCheck, Result, Store, audit};
use assent_model::clock::Timestamp;
use assent_model::id::FamilyId;
use assent_model::saml::MessageClaim;

impl SharedWrite for RedemptionRequest {
    type Output = Redemption;
    const RANK: u8 = 4;

    fn locked_row(&self) -> Option<LockedRow> {
        Some(LockedRow::Family(self.family))
    }

    fn claim(&self) -> Option<&MessageClaim> {
        self.proof.as_ref()
    }

    async fn execute(db: &mut Connection, writes: &[&Self]) -> Result<Vec<Redemption>> {
        let proofs = writes.iter().map(|write| write.proof.as_ref());
        let checks = claimed_messages::take_optional(db, proofs).await?;
        let mut redeemed = redeem(db, &first_uses(writes, &checks)).await?.into_iter();
        Ok(of_each(&checks, &mut redeemed, Redemption::ProofReplayed))
    }
}

impl SharedWrite for RotationRequest {
    type Output = Rotation;
    const RANK: u8 = 5;

    fn locked_row(&self) -> Option<LockedRow> {
        Some(LockedRow::Family(self.family))
    }

    fn claim(&self) -> Option<&MessageClaim> {
        self.proof.as_ref()
    }

    async fn execute(db: &mut Connection, writes: &[&Self]) -> Result<Vec<Rotation>> {
        let proofs = writes.iter().map(|write| write.proof.as_ref());
        let checks = claimed_messages::take_optional(db, proofs).await?;
        let mut rotated = rotate(db, &first_uses(writes, &checks)).await?.into_iter();
        Ok(of_each(&checks, &mut rotated, Rotation::ProofReplayed))
    }
}

/// The writes whose proofs were not used before.
fn first_uses<'a, W>(writes: &[&'a W], checks: &[ReplayCheck]) -> Vec<&'a W> {
    let uses = writes.iter().zip(checks);
    uses.filter(|(_, check)| **check == ReplayCheck::FirstUse)
        .map(|(write, _)| *write)
        .collect()
}

/// The outcome of each write: of the first uses in their order, and `replayed` of the others.
fn of_each<T: Copy>(
    checks: &[ReplayCheck],
    outcomes: &mut impl Iterator<Item = T>,
    replayed: T,
) -> Vec<T> {
    let outcome = |check: &ReplayCheck| match check {
        ReplayCheck::FirstUse => outcomes.next(),
        ReplayCheck::Replayed => Some(replayed),
    };
    checks.iter().filter_map(outcome).collect()
}

impl Store {
    /// Exchanges the code of a family. Of any number of concurrent requests, one succeeds; a second use revokes the
    /// family (RFC 6749 section 4.1.2). The row is then stored until `retain_until`: until no token of the family is
    /// valid and no second use of the code is expected. The same statement checks that the user may still use the
    /// application. The transaction claims the DPoP proof of the request first.
    pub async fn redeem_code(
        &self,
        family: FamilyId,
        retain_until: Timestamp,
        proof: Option<MessageClaim>,
        now: Timestamp,
    ) -> Result<Redemption> {
        self.writer
            .share(RedemptionRequest {
                family,
                retain_until,
                proof,
                now,
            })
            .await
    }

    /// Uses a refresh token: once, unless it stays valid. A further use revokes the family, except the first retry of a
    /// recent refresh, which
    /// [`Store::answer_retry`] may answer. The same statement checks that the user may still use the application.
    pub async fn rotate(&self, request: RotationRequest) -> Result<Rotation> {
        self.writer.share(request).await
    }
}

/// How long a retry may take until its response. It covers the time in which concurrent requests arrive, and the time
/// limit of two writes. A retry that was neither answered nor withdrawn by then was interrupted, and another one may
/// replace it.
const RETRY_LIMIT: Duration = Duration::from_secs(25);

/// The condition for the use of an application by the user of a family. The account or an assignment grants access, and
/// the application was not disabled since.
macro_rules! holder_is_active {
    () => {
        concat!(
            "EXISTS (SELECT 1 FROM accounts JOIN users ON users.id = accounts.user_id
                     JOIN applications ON applications.id = token_families.application_id
                     WHERE accounts.id = token_families.account_id AND accounts.state = 'active'
                       AND users.state = 'active' AND accounts.grants_not_before <= token_families.created_at
                       AND applications.grants_not_before <= token_families.created_at
                       AND (accounts.individual = 1 OR applications.everyone_roles IS NOT NULL OR ",
            in_assigned_group!("accounts.user_id", "accounts.application_id"),
            "))"
        )
    };
}

static REDEEM: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        concat!(
            "UPDATE token_families SET exchanged_at = v.column2, claims = $1, retain_until = v.column3
             FROM (VALUES {($, $, $)}) AS v
             WHERE token_families.id = v.column1 AND exchanged_at IS NULL AND revoked_at IS NULL
               AND code_expires_at > v.column2
               AND EXISTS (SELECT 1 FROM sessions WHERE sessions.id = session_id AND ended_at IS NULL) AND ",
            holder_is_active!(),
            " RETURNING token_families.id, (SELECT MAX(epoch) FROM token_epochs)"
        ),
        1,
    )
});

async fn redeem(db: &mut Connection, requests: &[&RedemptionRequest]) -> Result<Vec<Redemption>> {
    if requests.is_empty() {
        return Ok(Vec::new());
    }
    let first = first_of_each(requests, |redeeming| redeeming.family);
    let mut query = sql::query_as::<(String, i64)>(REDEEM.sql_for(first.len())).bind("{}");
    for redeeming in REDEEM.padded(&first) {
        query = query
            .bind(redeeming.family.to_string())
            .bind(redeeming.now.millis())
            .bind(redeeming.retain_until.millis());
    }
    let mut redeemed: HashMap<String, i64> = query.fetch_all(&mut *db).await?.into_iter().collect();
    let mut answers = vec![None; requests.len()];
    // Families are revoked in one order, so that concurrent transactions do not deadlock.
    for index in in_order(requests, |redeeming| redeeming.family) {
        let (Some(redeeming), Some(answer)) = (requests.get(index), answers.get_mut(index)) else {
            continue;
        };
        *answer = Some(match redeemed.remove(&redeeming.family.to_string()) {
            Some(epoch) => Redemption::Redeemed {
                epoch: epoch_number(epoch)?,
            },
            None => why_not_redeemed(db, redeeming).await?,
        });
    }
    Ok(answers.into_iter().flatten().collect())
}

/// The indexes of requests in the order of their keys, and of their arrival.
fn in_order<T, K: Ord>(requests: &[&T], key: impl Fn(&T) -> K) -> Vec<usize> {
    let mut keys: Vec<(K, usize)> = requests.iter().map(|one| key(one)).zip(0..).collect();
    keys.sort();
    keys.into_iter().map(|(_, index)| index).collect()
}

async fn why_not_redeemed(db: &mut Connection, request: &RedemptionRequest) -> Result<Redemption> {
    let unused: Option<(i64,)> = sql::query_as(
        "SELECT 1 FROM token_families
         WHERE id = $1 AND exchanged_at IS NULL AND revoked_at IS NULL AND code_expires_at > $2",
    )
    .bind(request.family.to_string())
    .bind(request.now.millis())
    .fetch_optional(&mut *db)
    .await?;
    if unused.is_some() {
        return Ok(Redemption::AccountClosed);
    }
    revoke(db, request.family, request.now).await?;
    Ok(Redemption::Replayed)
}

static ROTATE: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        concat!(
            "UPDATE token_families
             SET counter = counter + v.column7, refreshed_at = v.column3, retry_at = 0,
                 access_token = v.column4, access_expires_at = v.column5,
                 retain_until = CASE WHEN retain_until < v.column6 THEN v.column6 ELSE retain_until END
             FROM (VALUES {($, $, $, $, $, $, $)}) AS v
             WHERE token_families.id = v.column1 AND counter = v.column2 AND exchanged_at IS NOT NULL
               AND revoked_at IS NULL AND ",
            holder_is_active!(),
            " RETURNING token_families.id, token_families.counter, (SELECT MAX(epoch) FROM token_epochs)"
        ),
        0,
    )
});

async fn rotate(db: &mut Connection, requests: &[&RotationRequest]) -> Result<Vec<Rotation>> {
    if requests.is_empty() {
        return Ok(Vec::new());
    }
    let first = first_of_each(requests, |rotating| (rotating.family, rotating.counter));
    let mut query = sql::query_as::<(String, i64, i64)>(ROTATE.sql_for(first.len()));
    for rotating in ROTATE.padded(&first) {
        query = query
            .bind(rotating.family.to_string())
            .bind(rotating.counter)
            .bind(rotating.now.millis())
            .bind(rotating.access.id.to_string())
            .bind(rotating.access.expires_at.millis())
            .bind(rotating.retain_until.millis())
            .bind(i64::from(!rotating.stays_valid));
    }
    let rows = query.fetch_all(&mut *db).await?;
    let mut rotated: HashMap<(String, i64), i64> = rows
        .into_iter()
        .map(|(family, counter, epoch)| ((family, counter), epoch))
        .collect();
    let mut answers = vec![None; requests.len()];
    for index in in_order(requests, |rotating| (rotating.family, rotating.counter)) {
        let (Some(rotating), Some(answer)) = (requests.get(index), answers.get_mut(index)) else {
            continue;
        };
        let counter = match rotating.stays_valid {
            true => rotating.counter,
            false => next_counter(rotating.counter, rotating.family)?,
        };
        let row = (rotating.family.to_string(), i64::from(counter));
        let epoch = match rotating.stays_valid {
            // Requests of one transaction share the update of the row.
            true => rotated.get(&row).copied(),
            false => rotated.remove(&row),
        };
        *answer = Some(match epoch {
            Some(epoch) => Rotation::Rotated {
                counter,
                epoch: epoch_number(epoch)?,
            },
            None => why_not_rotated(db, rotating).await?,
        });
    }
    Ok(answers.into_iter().flatten().collect())
}

async fn why_not_rotated(db: &mut Connection, request: &RotationRequest) -> Result<Rotation> {
    if let Some(since) = request.retry_admitted_since {
        let retried = sql::query(
            "UPDATE token_families SET retry_at = $4
             WHERE id = $1 AND counter = $2 AND refreshed_at > $3 AND revoked_at IS NULL
               AND (retry_at = 0 OR (retry_at > 0 AND retry_at < $5))",
        )
        .bind(request.family.to_string())
        .bind(next_counter(request.counter, request.family)?)
        .bind(since.millis())
        .bind(request.now.millis())
        .bind((request.now - RETRY_LIMIT).millis())
        .execute(&mut *db)
        .await?;
        if retried > 0 {
            return Ok(Rotation::Retried);
        }
    }
    let current: Option<(i64,)> = sql::query_as(
        "SELECT counter FROM token_families WHERE id = $1 AND revoked_at IS NULL AND exchanged_at IS NOT NULL",
    )
    .bind(request.family.to_string())
    .fetch_optional(&mut *db)
    .await?;
    match current.map(|(current,)| current.cmp(&i64::from(request.counter))) {
        Some(std::cmp::Ordering::Equal) => return Ok(Rotation::AccountClosed),
        Some(std::cmp::Ordering::Less) => return Ok(Rotation::Unknown),
        Some(std::cmp::Ordering::Greater) | None => {}
    }
    revoke(db, request.family, request.now).await?;
    audit::append(db, std::slice::from_ref(&request.reuse)).await?;
    Ok(Rotation::Reused)
}

pub(super) fn next_counter(counter: u32, family: FamilyId) -> Result<u32> {
    counter
        .checked_add(1)
        .ok_or_else(|| cell("token_families", "counter", &family.to_string()).unexpected())
}
