//! Issuing tokens: claiming the code or the refresh token that they are for, and keeping them, for all requests that
//! wait at the same moment at once. Each is claimed by one conditional `UPDATE`, whichever others it shares it with.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use crate::sql::{self, Connection};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::id::{CodeId, TokenId};
use assent_model::token::{AccessGrant, IssuedPair};
use futures_util::future::BoxFuture;

use crate::batch::batcher::{BatchResult, Batcher};
use crate::batch::bulk_sql::BulkSql;
use crate::batch::issuance_queues::{
    ClientToken, Redemption, RedemptionRequest, Rotation, RotationRequest, TokenIssuance,
};
use crate::batch::token_inserts::{insert, insert_access};
use crate::writer::Writer;
use crate::{Result, Store, VersionedWrite, audit, codes, tokens};

impl TokenIssuance {
    /// Begins to issue, with one transaction of a kind at a time: of two at once that claim the same rows in another
    /// order, each would wait for the other.
    pub(crate) fn start(writer: &Writer) -> Self {
        Self {
            redemptions: start_batcher(writer, |db, asked| Box::pin(redeem(db, asked))),
            rotations: start_batcher(writer, |db, asked| Box::pin(rotate(db, asked))),
            client_tokens: start_batcher(writer, |db, asked| {
                Box::pin(insert_client_tokens(db, asked))
            }),
        }
    }
}

type Work<Q, A> = for<'c> fn(&'c mut Connection, &'c [Q]) -> BoxFuture<'c, Result<Vec<A>>>;

/// Gathers what `work` does in one transaction.
fn start_batcher<Q, A>(writer: &Writer, work: Work<Q, A>) -> Batcher<Q, A>
where
    Q: Clone + Send + Sync + 'static,
    A: Send + 'static,
{
    let writer = writer.clone();
    Batcher::start(1, move |asked: Vec<Q>| {
        let (writer, asked) = (writer.clone(), Arc::new(asked));
        Box::pin(async move {
            let answers = writer.write(move |db| {
                let asked = Arc::clone(&asked);
                Box::pin(async move { work(db, &asked).await })
            });
            Ok(answers.await?.into_iter().map(Ok).collect()) as BatchResult<A>
        })
    })
}

impl Store {
    /// Exchanges a code for tokens. However many try at once, one succeeds; a second use revokes what the first one
    /// gave (RFC 6749 section 4.1.2). From then on the row is that of the tokens' family, and is kept until
    /// `retain_until`: as long as any of them, or a second use of the code, may come. A code is worth nothing if what
    /// was granted with its account has ended since.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn redeem_code(
        &self,
        code: CodeId,
        tokens: IssuedPair,
        retain_until: Timestamp,
        now: Timestamp,
    ) -> Result<Redemption> {
        self.token_issuance
            .redemptions
            .call(RedemptionRequest {
                code,
                tokens,
                retain_until,
                now,
            })
            .await
    }

    /// Uses a refresh token: it gives `pair`, once. A further use revokes the family, but for the first repeat of a use
    /// that was after `repeatable_since`, which may be answered by [`Store::repeat_rotation`]. `reuse` tells the audit
    /// log of such a further use.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn rotate(
        &self,
        id: TokenId,
        pair: IssuedPair,
        repeatable_since: Option<Timestamp>,
        reuse: Entry,
        now: Timestamp,
    ) -> Result<Rotation> {
        self.token_issuance
            .rotations
            .call(RotationRequest {
                id,
                pair,
                repeatable_since,
                reuse,
                now,
            })
            .await
    }

    /// Keeps an application's own token, made while its settings had this version. Stale means that they
    /// were changed since.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn insert_client_token(
        &self,
        token: AccessGrant,
        version: i64,
    ) -> Result<VersionedWrite> {
        self.token_issuance
            .client_tokens
            .call(ClientToken { token, version })
            .await
    }
}

static REDEEM: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "UPDATE codes SET used_at = v.column2, claims = $1, retain_until = v.column3
         FROM (VALUES {($, $, $)}) AS v
         WHERE codes.id = v.column1 AND used_at IS NULL AND revoked_at IS NULL AND expires_at > v.column2
           AND EXISTS (SELECT 1 FROM accounts WHERE accounts.id = codes.account_id
                       AND accounts.grants_not_before <= codes.created_at)
         RETURNING codes.id",
        1,
    )
});

async fn redeem(db: &mut Connection, asked: &[RedemptionRequest]) -> Result<Vec<Redemption>> {
    let first = first_of_each(asked, |redeeming| redeeming.code);
    let mut query = sql::query_as::<(String,)>(REDEEM.sql_for(first.len())).bind("{}");
    for RedemptionRequest {
        code,
        retain_until,
        now,
        ..
    } in REDEEM.padded(&first)
    {
        query = query
            .bind(code.to_string())
            .bind(now.millis())
            .bind(retain_until.millis());
    }
    let mut claimed = id_set(query.fetch_all(&mut *db).await?);
    let mut answers = Vec::with_capacity(asked.len());
    let mut kept = Vec::with_capacity(asked.len());
    for redeeming in asked {
        answers.push(if claimed.remove(&redeeming.code.to_string()) {
            kept.push(&redeeming.tokens);
            Redemption::Redeemed
        } else {
            codes::revoke(db, redeeming.code, redeeming.now).await?;
            Redemption::Refused
        });
    }
    insert(db, &kept).await?;
    Ok(answers)
}

static ROTATE: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "UPDATE refresh_tokens SET used_at = v.column2, rotated_to_access = v.column3, rotated_to_refresh = v.column4
         FROM (VALUES {($, $, $, $)}) AS v
         WHERE refresh_tokens.id = v.column1 AND used_at IS NULL AND revoked_at IS NULL AND expires_at > v.column2
           AND EXISTS (SELECT 1 FROM codes WHERE codes.id = refresh_tokens.family_id AND codes.revoked_at IS NULL)
         RETURNING refresh_tokens.id",
        0,
    )
});

async fn rotate(db: &mut Connection, asked: &[RotationRequest]) -> Result<Vec<Rotation>> {
    let first = first_of_each(asked, |rotating| rotating.id);
    let mut query = sql::query_as::<(String,)>(ROTATE.sql_for(first.len()));
    for RotationRequest { id, pair, now, .. } in ROTATE.padded(&first) {
        query = query
            .bind(id.to_string())
            .bind(now.millis())
            .bind(pair.access.id.to_string())
            .bind(pair.refresh.as_ref().map(|refresh| refresh.id.to_string()));
    }
    let mut claimed = id_set(query.fetch_all(&mut *db).await?);
    let mut answers = Vec::with_capacity(asked.len());
    let mut kept = Vec::with_capacity(asked.len());
    for rotating in asked {
        answers.push(if claimed.remove(&rotating.id.to_string()) {
            kept.push(&rotating.pair);
            Rotation::Rotated
        } else {
            handle_reuse(db, rotating).await?
        });
    }
    insert(db, &kept).await?;
    Ok(answers)
}

async fn handle_reuse(db: &mut Connection, rotating: &RotationRequest) -> Result<Rotation> {
    if let Some(since) = rotating.repeatable_since {
        let repeated: Option<(String,)> = sql::query_as(
            "UPDATE refresh_tokens SET retry_state = 1
             WHERE id = $1 AND used_at > $2 AND retry_state = 0 AND revoked_at IS NULL RETURNING id",
        )
        .bind(rotating.id.to_string())
        .bind(since.millis())
        .fetch_optional(&mut *db)
        .await?;
        if repeated.is_some() {
            return Ok(Rotation::Repeated);
        }
    }
    tokens::revoke_family_of(db, rotating.id, rotating.now).await?;
    audit::append(db, std::slice::from_ref(&rotating.reuse)).await?;
    Ok(Rotation::Refused)
}

async fn insert_client_tokens(
    db: &mut Connection,
    asked: &[ClientToken],
) -> Result<Vec<VersionedWrite>> {
    let mut current = HashSet::new();
    let mut looked_at = HashSet::new();
    for ClientToken { token, version } in asked {
        if looked_at.insert((&token.application, version)) {
            let found: Option<(i64,)> =
                sql::query_as("SELECT version FROM applications WHERE id = $1 AND version = $2")
                    .bind(token.application.to_string())
                    .bind(*version)
                    .fetch_optional(&mut *db)
                    .await?;
            current.extend(found.map(|_| (&token.application, version)));
        }
    }
    let is_current =
        |asked: &&ClientToken| current.contains(&(&asked.token.application, &asked.version));
    let kept: Vec<&AccessGrant> = asked
        .iter()
        .filter(is_current)
        .map(|asked| &asked.token)
        .collect();
    insert_access(db, &kept).await?;
    let outcome = |asked| match is_current(&asked) {
        true => VersionedWrite::Done,
        false => VersionedWrite::Stale,
    };
    Ok(asked.iter().map(outcome).collect())
}

/// Of several who bring the same at once, the first has it: it alone may be among those that claim. In the order of
/// what they bring, so that hosts which claim the same rows at once begin with the same.
fn first_of_each<T, K: Ord>(asked: &[T], what: impl Fn(&T) -> K) -> Vec<&T> {
    let mut first: Vec<&T> = asked.iter().collect();
    first.sort_by_key(|one| what(one));
    first.dedup_by_key(|one| what(one));
    first
}

fn id_set(rows: Vec<(String,)>) -> HashSet<String> {
    rows.into_iter().map(|(id,)| id).collect()
}
