//! Authenticates the heads of all lanes, within a second after a change.
//!
//! Each instance writes the heads of its own lanes into the root, from its memory. So a deleted or changed entry at the
//! end of a lane is detected even before the next root, as long as the instance runs.

use std::sync::Arc;

use crate::audit::context::ChainContext;
use crate::audit::lanes;
use crate::audit::root::read;
use crate::engine::sql;
use crate::engine::sql::{Connection, DatabaseKind};
use crate::{Result, Store, StoreError};
use assent_model::audit::chain::{Heads, Root, StoredRoot};

/// The number of attempts, because another instance may change the root at the same time.
const ATTEMPTS: u32 = 20;

/// Replaces the root, if it is still the previous one. Returns whether it was.
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

/// The outcome of an attempt to write heads into the root.
enum Signing {
    /// The root has the heads and this number.
    Done(i64),
    /// Another instance changed the root at the same time.
    Overtaken,
    /// The root was tampered with.
    Refused,
}

/// Writes the heads into the root, in one attempt.
async fn add_heads(db: &mut Connection, context: &ChainContext, heads: &Heads) -> Result<Signing> {
    let StoredRoot {
        mut root,
        authentic,
    } = read(&mut *db, context).await?;
    if !authentic {
        return Ok(Signing::Refused);
    }
    if root.number < context.newest_root() {
        // The stored root is authentic, but older than the newest known one. Without its code, every verification
        // reports the rollback.
        sql::query("UPDATE audit_root SET mac = '' WHERE name = 'root' AND number = $1")
            .bind(root.number)
            .execute(db)
            .await?;
        return Ok(Signing::Refused);
    }
    for (lane, head) in heads.iter() {
        root.heads.advance(lane, head.clone());
    }
    root.number = root.number.saturating_add(1);
    Ok(if replace(db, context, &root).await? {
        Signing::Done(root.number)
    } else {
        Signing::Overtaken
    })
}

/// Writes the heads of the lanes of this process into the root, within the transaction that wrote to them. A root that
/// is not authentic stays unchanged, and every verification reports it.
pub(crate) async fn sign_heads(db: &mut Connection, context: &ChainContext) -> Result<()> {
    let heads = context.lanes.new_heads();
    match add_heads(db, context, &heads).await? {
        Signing::Done(_) => Ok(()),
        Signing::Refused => {
            context.report_tampering(None, "the root is not authentic");
            Ok(())
        }
        Signing::Overtaken => Err(StoreError::Internal("another process changed the root")),
    }
}

impl Store {
    /// Waits until the log has an entry that the root does not cover.
    pub async fn audit_log_changed(&self) {
        self.chaining.lanes.wait_for_new_head().await;
    }

    /// Authenticates the heads of the lanes of this instance, if there are new ones.
    ///
    /// # Errors
    /// The next call authenticates the heads after an error.
    pub async fn sign_audit_root(&self) -> Result<()> {
        let heads = self.chaining.lanes.new_heads();
        if heads.is_empty() {
            return Ok(());
        }
        for _ in 0..ATTEMPTS {
            match self.try_to_sign(&heads).await? {
                Signing::Done(number) => {
                    self.chaining.note_root(number);
                    self.chaining.lanes.forget_signed(&heads);
                    return Ok(());
                }
                Signing::Refused => {
                    self.chaining.report_tampering(
                        None,
                        "the root is not the last one that an instance wrote",
                    );
                    return Ok(());
                }
                Signing::Overtaken => {}
            }
        }
        Err(StoreError::Busy("the write of the audit log's root"))
    }

    async fn try_to_sign(&self, heads: &Heads) -> Result<Signing> {
        match self.instance.kind {
            // The result counts only after the commit of the writer's transaction.
            DatabaseKind::Sqlite => {
                let input = (Arc::clone(&self.chaining), heads.clone());
                self.write(input, |db, (context, heads)| {
                    Box::pin(add_heads(db, context, heads))
                })
                .await
            }
            // Not in a shared transaction of the writer: all instances would wait for its end.
            DatabaseKind::Postgres => {
                let mut lease = self.instance.lease().await?;
                let signed = add_heads(&mut lease, &self.chaining, heads).await;
                match &signed {
                    Err(StoreError::Database(error)) => lease.end(Some(error)),
                    _ => lease.give_back(),
                }
                signed
            }
        }
    }

    /// The root of the audit log.
    pub async fn audit_root(&self) -> Result<StoredRoot> {
        read(&self.readers, &self.chaining).await
    }

    /// Authenticates the new entries, and releases the lanes, so that other instances can take them.
    pub(crate) async fn hand_over_audit_log(&self) -> Result<()> {
        self.sign_audit_root().await?;
        let lanes = self.chaining.lanes.take_all();
        match self.instance.kind {
            DatabaseKind::Sqlite => {
                self.write(lanes, |db, lanes| Box::pin(lanes::release(db, lanes)))
                    .await
            }
            DatabaseKind::Postgres => {
                let mut lease = self.instance.lease().await?;
                lanes::release(&mut lease, &lanes).await?;
                lease.give_back();
                Ok(())
            }
        }
    }
}
