//! Authenticates the heads of all lanes, within a second after a change.
//!
//! Each instance puts the heads of its own lanes into the root, as it knows them. So an entry that somebody deletes or
//! changes at the end of a lane shows even if no root had it yet, as long as the instance runs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::audit::context::ChainContext;
use crate::audit::lanes;
use crate::audit::root::read;
use crate::sql::{self, Connection, DatabaseKind};
use crate::{Result, Store, StoreError};
use assent_model::audit::chain::{Heads, Root, StoredRoot};

/// How often an instance tries again after another one changed the root.
const ATTEMPTS: u32 = 20;

/// Replaces the root, if it is still the one before. Whether it was.
async fn replace(db: &mut Connection, context: &ChainContext, root: &Root) -> Result<bool> {
    let replaced = sql::query(
        "UPDATE audit_root SET number = $1, heads = $2, mac = $3
         WHERE name = 'root' AND number = $1 - 1",
    )
    .bind(root.number)
    .bind(root.heads.to_text())
    .bind(context.root_code(root)?.to_text())
    .execute(db)
    .await?;
    Ok(replaced == 1)
}

/// Puts the heads into the root, once. Whether it was possible: not if another instance was faster.
async fn add_heads(db: &mut Connection, context: &ChainContext, heads: &Heads) -> Result<bool> {
    let StoredRoot {
        mut root,
        authentic,
    } = read(&mut *db, context).await?;
    let newest = context.newest_root.load(Ordering::Acquire);
    if !authentic || root.number < newest {
        context.report_tampering(None, "the root is not the last one that an instance wrote");
        // It stays as it is, so every verification shows it.
        return Ok(true);
    }
    for (lane, head) in heads.iter() {
        root.heads.advance(lane, head.clone());
    }
    root.number = root.number.saturating_add(1);
    let replaced = replace(db, context, &root).await?;
    if replaced {
        context.newest_root.fetch_max(root.number, Ordering::AcqRel);
    }
    Ok(replaced)
}

impl Store {
    /// Waits until an entry was written that the root does not have.
    pub async fn audit_log_changed(&self) {
        self.chaining.lanes.changed().await;
    }

    /// Authenticates the heads of the lanes that this instance wrote to, if there are any.
    ///
    /// # Errors
    /// If the database fails. The heads are authenticated by the next call then.
    pub async fn sign_audit_root(&self) -> Result<()> {
        let heads = self.chaining.lanes.take_new_heads();
        if heads.is_empty() {
            return Ok(());
        }
        let signed = self.add_heads(&heads).await;
        if signed.is_err() {
            for (lane, head) in heads.iter() {
                self.chaining.lanes.add_new_head(lane, head.clone());
            }
        }
        signed
    }

    async fn add_heads(&self, heads: &Heads) -> Result<()> {
        for _ in 0..ATTEMPTS {
            let added = match self.instance.kind {
                DatabaseKind::Sqlite => {
                    let (context, heads) = (Arc::clone(&self.chaining), heads.clone());
                    self.write(move |db| {
                        let (context, heads) = (Arc::clone(&context), heads.clone());
                        Box::pin(async move { add_heads(db, &context, &heads).await })
                    })
                    .await?
                }
                // Not in a transaction with others' writes: all instances would wait for its end.
                DatabaseKind::Postgres => {
                    let mut lease = self.instance.lease().await?;
                    let added = add_heads(&mut lease, &self.chaining, heads).await;
                    match &added {
                        Err(StoreError::Database(error)) => lease.end(Some(error)),
                        _ => lease.give_back(),
                    }
                    added?
                }
            };
            if added {
                return Ok(());
            }
        }
        Err(StoreError::Busy(
            "other instances change the root of the audit log",
        ))
    }

    /// The root of the audit log.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn audit_root(&self) -> Result<StoredRoot> {
        read(&self.readers, &self.chaining).await
    }

    /// Authenticates what was written, and lets other instances take the lanes.
    pub(crate) async fn release_audit_lanes(&self) -> Result<()> {
        let lanes = Arc::new(self.chaining.lanes.take_all());
        if lanes.is_empty() {
            return Ok(());
        }
        self.write(move |db| {
            let lanes = Arc::clone(&lanes);
            Box::pin(async move { lanes::release(db, &lanes).await })
        })
        .await
    }
}
