//! What issues tokens: the requests, their outcomes, and the way to the database.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::batch::batcher::{BatchResult, Batcher};
use crate::sql::{Connection, DatabaseKind};
use crate::writer::Writer;
use crate::{Result, StoreError};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::id::{FamilyId, TokenId};

/// What came of an attempt to exchange a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redemption {
    /// The code was exchanged, now and never again.
    Redeemed {
        /// The epoch of its tokens.
        epoch: u32,
    },
    /// The user may no longer use the application. The code was not exchanged.
    AccountClosed,
    /// The code was exchanged before, expired or revoked. Its family is revoked.
    Replayed,
}

/// What came of an attempt to use a refresh token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// The new tokens have this number.
    Rotated {
        /// The number of the refresh.
        counter: u32,
        /// Their epoch.
        epoch: u32,
    },
    /// The token was used a short while ago, and this is the first retry: see
    /// [`Store::answer_retry`](crate::Store::answer_retry).
    Retried,
    /// The user may no longer use the application. The token was not used.
    AccountClosed,
    /// The token is newer than the family: the database was restored since it was issued.
    Unknown,
    /// The token was used before. Its family is revoked.
    Reused,
}

/// What is stored of an access token that a refresh issues.
#[derive(Clone, Copy, Debug)]
pub struct NewAccess {
    /// Its id.
    pub id: TokenId,
    /// When it expires.
    pub expires_at: Timestamp,
}

#[derive(Clone)]
pub(super) struct RedemptionRequest {
    pub(super) family: FamilyId,
    pub(super) retain_until: Timestamp,
    pub(super) now: Timestamp,
}

/// The use of a refresh token.
#[derive(Clone, Debug)]
pub struct RotationRequest {
    /// The family of the token.
    pub family: FamilyId,
    /// The number of the token.
    pub counter: u32,
    /// The access token that the refresh issues.
    pub access: NewAccess,
    /// The earliest refresh that may be retried; `None` if none may.
    pub retry_admitted_since: Option<Timestamp>,
    /// Until when the family's row is kept at least.
    pub retain_until: Timestamp,
    /// The audit entry of a use that is neither the first nor a retry.
    pub reuse: Entry,
    /// The time.
    pub now: Timestamp,
}

/// What issues tokens.
#[derive(Clone, Debug)]
pub(crate) struct TokenIssuance {
    pub(super) redemptions: Issuer<RedemptionRequest, Redemption>,
    pub(super) rotations: Issuer<RotationRequest, Rotation>,
}

pub(super) type Work<Q, A> =
    for<'c> fn(&'c mut Connection, &'c [Q]) -> BoxFuture<'c, Result<Vec<A>>>;

/// Executes requests of one kind.
pub(super) enum Issuer<Q, A> {
    /// PostgreSQL: those that wait at the same moment share a statement.
    Batches(Batcher<Q, A>),
    /// SQLite: each is a job of the writer, which shares its commit.
    Jobs(Writer, Work<Q, A>),
}

impl<Q, A> Clone for Issuer<Q, A> {
    fn clone(&self) -> Self {
        match self {
            Self::Batches(batches) => Self::Batches(batches.clone()),
            Self::Jobs(writer, work) => Self::Jobs(writer.clone(), *work),
        }
    }
}

impl<Q, A> std::fmt::Debug for Issuer<Q, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Batches(_) => "Batches",
            Self::Jobs(..) => "Jobs",
        })
    }
}

impl<Q, A> Issuer<Q, A>
where
    Q: Clone + Send + Sync + 'static,
    A: Send + 'static,
{
    pub(super) fn start(writer: &Writer, kind: DatabaseKind, work: Work<Q, A>) -> Self {
        let writer = writer.clone();
        match kind {
            DatabaseKind::Sqlite => Self::Jobs(writer, work),
            DatabaseKind::Postgres => Self::Batches(Batcher::start(1, move |asked: Vec<Q>| {
                let (writer, asked) = (writer.clone(), Arc::new(asked));
                Box::pin(async move {
                    let answers = writer.write(move |db| {
                        let asked = Arc::clone(&asked);
                        Box::pin(async move { work(db, &asked).await })
                    });
                    Ok(answers.await?.into_iter().map(Ok).collect()) as BatchResult<A>
                })
            })),
        }
    }

    pub(super) async fn call(&self, asked: Q) -> Result<A> {
        match self {
            Self::Batches(batches) => batches.call(asked).await,
            Self::Jobs(writer, work) => {
                let work = *work;
                let answers = writer.write(move |db| {
                    let asked = [asked.clone()];
                    Box::pin(async move { work(db, &asked).await })
                });
                answers
                    .await?
                    .pop()
                    .ok_or(StoreError::Internal("a job has no result"))
            }
        }
    }
}
