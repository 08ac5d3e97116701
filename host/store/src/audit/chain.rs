//! The chain of the audit log: appending to it, reading it to verify it, and letting its beginning move on.
//!
//! What a transaction adds to the log is chained as its last step, just before the commit: the head's row is the one
//! that all writers of all hosts wait for each other at, so whoever holds it must wait for nothing more. A host
//! authenticates an end of the chain only where it goes on from one that was authentic; else nobody's sign-in fails,
//! but every verification from then on.

use std::cell::RefCell;
use std::future::Future;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value};

use crate::batch::bulk_sql::BulkSql;
use crate::connections::Connections;
use crate::rows::{cell, to_json};
use crate::sql::{self, Connection};
use crate::{Result, StoreError};
use assent_model::audit::Entry;
use assent_model::audit::chain::{ChainKey, End, Mark, Record, StoredMark, personal_digest};
use assent_model::entropy::SharedEntropy;
use assent_model::secret::Digest;

/// How many entries one statement chains at most.
const ROWS: usize = 64;

/// What the log is chained with.
#[derive(Debug)]
pub struct ChainContext {
    key: ChainKey,
    entropy: SharedEntropy,
    /// Whether the log of this host has said that an end is forged.
    told: AtomicBool,
}

impl ChainContext {
    /// The key that authenticates the ends, and where salts come from.
    pub fn new(key: ChainKey, entropy: SharedEntropy) -> Self {
        Self {
            key,
            entropy,
            told: AtomicBool::new(false),
        }
    }

    fn code(&self, end: End, mark: &Mark) -> Result<Digest> {
        self.key
            .code(end, mark)
            .map_err(|error| StoreError::Chain(error.to_string()))
    }

    pub(crate) fn salt(&self) -> String {
        hex::encode(self.entropy.bytes::<16>())
    }
}

/// An entry on its way into the log.
#[derive(Clone)]
struct PendingEntry {
    record: Record,
    /// Whether it is kept. One that is not costs the same.
    wanted: bool,
    is_account_notification: bool,
}

tokio::task_local! {
    /// What the transaction that runs has added so far, in its order.
    static PENDING: RefCell<Vec<PendingEntry>>;
}

/// What a transaction added to the log.
pub(crate) struct PendingEntries(Vec<PendingEntry>);

/// Runs the work of a transaction; what it adds to the log comes back with its outcome.
pub(crate) async fn collect<T, E>(
    work: impl Future<Output = std::result::Result<T, E>>,
) -> std::result::Result<(T, PendingEntries), E> {
    let with_entries = async {
        let outcome = work.await?;
        Ok((
            outcome,
            PendingEntries(PENDING.try_with(RefCell::take).unwrap_or_default()),
        ))
    };
    PENDING.scope(RefCell::default(), with_entries).await
}

/// A copy of what the running transaction has added so far.
pub(crate) fn pending() -> PendingEntries {
    PendingEntries(
        PENDING
            .try_with(|all| all.borrow().clone())
            .unwrap_or_default(),
    )
}

/// Undoes what the running transaction has added or erased since the copy was taken.
pub(crate) fn restore(PendingEntries(before): PendingEntries) {
    // Outside of a transaction nothing waits.
    let _ = PENDING.try_with(|all| all.replace(before));
}

/// Adds an entry to what the transaction that runs will chain.
pub(crate) fn add(entry: &Entry, wanted: bool) -> Result<()> {
    let pending = PendingEntry {
        record: record(entry)?,
        wanted,
        is_account_notification: entry.event.is_account_notification(),
    };
    PENDING
        .try_with(|all| all.borrow_mut().push(pending))
        .map_err(|_| StoreError::Chain(OUTSIDE.to_owned()))
}

const OUTSIDE: &str = "an entry was added outside of a transaction of the writer's";

/// Erases the personal data in the entries about this user that wait in this transaction, and the origin in those of
/// the user's actions.
pub(crate) fn erase_pending(user: &str) {
    // Outside of a transaction nothing waits.
    let _ = PENDING.try_with(|all| {
        for pending in all.borrow_mut().iter_mut() {
            if pending.record.user.as_deref() == Some(user) {
                pending.record.personal = None;
            }
            if pending.record.is_by_person(user) {
                pending.record.origin = None;
            }
        }
    });
}

fn record(entry: &Entry) -> Result<Record> {
    let (origin, personal) = entry.origin_apart();
    let some_json =
        |members: &Map<String, Value>| (!members.is_empty()).then(|| to_json(members)).transpose();
    Ok(Record {
        seq: 0,
        previous: String::new(),
        digest: String::new(),
        id: entry.id.to_string(),
        at: entry.at.millis(),
        event: entry.event.as_str().to_owned(),
        actor_kind: entry.actor.kind().to_owned(),
        actor: entry.actor.id(),
        user: entry.user.map(|user| user.to_string()),
        application: entry.application.as_ref().map(ToString::to_string),
        approval: entry.approval.map(|approval| approval.to_string()),
        detail: to_json(&entry.detail)?,
        personal: some_json(&personal)?,
        salt: None,
        personal_digest: None,
        origin: some_json(&origin)?,
        origin_salt: None,
        origin_digest: None,
    })
}

/// Covers the personal data by a digest of its own, and an origin by another.
fn salt(record: &mut Record, chaining: &ChainContext) {
    if let Some(origin) = &record.origin {
        let salt = chaining.salt();
        record.origin_digest = Some(personal_digest(&salt, origin).to_text());
        record.origin_salt = Some(salt);
    }
    if let Some(personal) = &record.personal {
        let salt = chaining.salt();
        record.personal_digest = Some(personal_digest(&salt, personal).to_text());
        record.salt = Some(salt);
    }
}

/// Chains what a transaction added, as its last step.
pub(crate) async fn append(
    db: &mut Connection,
    chaining: &ChainContext,
    PendingEntries(mut all): PendingEntries,
) -> Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    let head = lock(db, chaining, End::Head).await?;
    let mut last = head.mark.clone();
    for pending in &mut all {
        salt(&mut pending.record, chaining);
        let followed = pending.record.follow(&last);
        if pending.wanted {
            last = followed;
        }
    }
    for rows in all.chunks(ROWS) {
        insert(db, rows).await?;
    }
    set(db, chaining, End::Head, &last, head.authentic).await
}

static INSERT: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO audit_entries (seq, previous, digest, id, happened_at, event, actor_kind, actor, user_id,
           application_id,
                                    approval_id, detail, personal, personal_salt, personal_digest, notifies, origin,
                                    origin_salt, origin_digest)
         SELECT v.column1, v.column2, v.column3, v.column4, v.column5, v.column6, v.column7, v.column8, v.column9,
           v.column10,
                v.column11, v.column12, v.column13, v.column14, v.column15, v.column16, v.column17, v.column18,
                v.column19
         FROM (VALUES {($, $, $, $, $, $, $, $, $, $, $, $, $, $, $, $, $, $, $, $)}) AS v
         WHERE v.column20 = 1 ON CONFLICT (id) DO NOTHING",
        0,
    )
});

async fn insert(db: &mut Connection, rows: &[PendingEntry]) -> Result<()> {
    let mut query = sql::query(INSERT.sql_for(rows.len()));
    for PendingEntry {
        record,
        wanted,
        is_account_notification,
    } in INSERT.padded(rows)
    {
        query = query
            .bind(record.seq)
            .bind(record.previous.clone())
            .bind(record.digest.clone())
            .bind(record.id.clone())
            .bind(record.at)
            .bind(record.event.clone())
            .bind(record.actor_kind.clone())
            .bind(record.actor.clone())
            .bind(record.user.clone())
            .bind(record.application.clone())
            .bind(record.approval.clone())
            .bind(record.detail.clone())
            .bind(record.personal.clone())
            .bind(record.salt.clone())
            .bind(record.personal_digest.clone())
            .bind(i64::from(*is_account_notification))
            .bind(record.origin.clone())
            .bind(record.origin_salt.clone())
            .bind(record.origin_digest.clone())
            .bind(i64::from(*wanted));
    }
    let kept = query.execute(db).await?;
    // An id that another entry has would leave a gap.
    if kept == rows.iter().filter(|pending| pending.wanted).count() as u64 {
        Ok(())
    } else {
        Err(StoreError::Taken("an audit entry's id"))
    }
}

crate::sql::row! {
    pub(super) struct MarkRow {
        seq: i64,
        digest: String,
        mac: String,
    }
}

impl MarkRow {
    /// The place, and whether its code is a holder's of the key. A digest that is none is no holder's.
    pub(super) fn verify(&self, chaining: &ChainContext, end: End) -> Result<StoredMark> {
        let digest = Digest::from_text(&self.digest);
        let mark = Mark {
            seq: self.seq,
            digest: digest.unwrap_or(Mark::START.digest),
        };
        let authentic =
            digest.is_some() && Digest::from_text(&self.mac) == Some(chaining.code(end, &mark)?);
        Ok(StoredMark { mark, authentic })
    }
}

/// An end of the chain, which nobody else changes until this transaction is over.
pub(super) async fn lock(
    db: &mut Connection,
    chaining: &ChainContext,
    end: End,
) -> Result<StoredMark> {
    // What both databases understand as locking a row.
    let row: Option<MarkRow> = sql::query_as(
        "UPDATE audit_chain SET seq = seq WHERE name = $1 RETURNING seq, digest, mac",
    )
    .bind(end.as_str())
    .fetch_optional(db)
    .await?;
    let kept = row
        .ok_or(cell("audit_chain", "name", end.as_str()).unexpected())?
        .verify(chaining, end)?;
    if !kept.authentic && !chaining.told.swap(true, Ordering::Relaxed) {
        tracing::error!(
            end = end.as_str(),
            "audit log tampered with, run `assent audit verify`"
        );
    }
    Ok(kept)
}

/// Sets an end of the chain; its code only where what it follows was authentic.
pub(super) async fn set(
    db: &mut Connection,
    chaining: &ChainContext,
    end: End,
    mark: &Mark,
    authentic: bool,
) -> Result<()> {
    // The code of another place is that of no place.
    let code = if authentic {
        chaining.code(end, mark)?.to_text()
    } else {
        String::new()
    };
    sql::query("UPDATE audit_chain SET seq = $2, digest = $3, mac = $4 WHERE name = $1")
        .bind(end.as_str())
        .bind(mark.seq)
        .bind(mark.digest.to_text())
        .bind(code)
        .execute(db)
        .await?;
    Ok(())
}

/// Creates the ends of the chain where they are missing: both at the start of a new database. If entries exist without
/// an end, somebody deleted the end. Then the chain continues, but its ends stay unauthenticated, so verification
/// fails.
pub(crate) async fn ensure_ends(
    connections: &Connections,
    begin: &'static str,
    chaining: &ChainContext,
) -> Result<()> {
    let mut lease = connections.lease().await?;
    lease.batch(begin).await?;
    for statement in [
        "INSERT INTO audit_chain (name, seq, digest, mac)
         SELECT 'anchor', seq - 1, COALESCE(previous, ''), '' FROM audit_entries WHERE seq IS NOT NULL
           ORDER BY seq LIMIT 1
         ON CONFLICT (name) DO NOTHING",
        "INSERT INTO audit_chain (name, seq, digest, mac)
         SELECT 'head', seq, COALESCE(digest, ''), '' FROM audit_entries WHERE seq IS NOT NULL ORDER BY seq DESC LIMIT 1
         ON CONFLICT (name) DO NOTHING",
    ] {
        sql::query(statement).execute(&mut *lease).await?;
    }
    for end in [End::Anchor, End::Head] {
        let created = sql::query(
            "INSERT INTO audit_chain (name, seq, digest, mac) VALUES ($1, 0, $2, $3) ON CONFLICT (name) DO NOTHING",
        )
        .bind(end.as_str())
        .bind(Mark::START.digest.to_text())
        .bind(chaining.code(end, &Mark::START)?.to_text())
        .execute(&mut *lease)
        .await?;
        // The chain was begun before, so nothing may authenticate another end.
        if created == 0 {
            break;
        }
    }
    lease.batch("COMMIT").await?;
    lease.give_back();
    Ok(())
}
