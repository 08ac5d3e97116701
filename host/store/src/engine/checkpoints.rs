//! The checkpoints of SQLite's log: they copy its pages into the database. A commit that does so itself delays all
//! others, so a task of its own copies them meanwhile. If the log becomes long, a commit copies the rest, because the
//! log begins again only between two writes.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::engine::connections::Connections;
use crate::engine::sql;

/// The number of pages that are worth a checkpoint, which waits twice for the disk.
const PAGES: i64 = 1000;
/// The time limit of a checkpoint.
const LIMIT: Duration = Duration::from_secs(10);

/// Copies the pages of commits until no writer remains to send any.
pub(crate) async fn run(connections: Connections, mut commits: mpsc::Receiver<()>) {
    while commits.recv().await.is_some() {
        // A commit copies the rest, and meets the same error.
        match timeout(LIMIT, copy_pages(&connections)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "database log not copied"),
            Err(_) => tracing::debug!("database log not copied in time"),
        }
    }
    connections.close().await;
}

async fn copy_pages(connections: &Connections) -> sql::Result<()> {
    let mut lease = connections.lease().await?;
    let copying = async {
        let mut copy = async |mode| {
            sql::query_as::<(i64, i64, i64)>(mode)
                .fetch_one(&mut *lease)
                .await
        };
        let (_, pages, copied) = copy("PRAGMA wal_checkpoint(NOOP)").await?;
        if pages - copied >= PAGES {
            copy("PRAGMA wal_checkpoint(PASSIVE)").await?;
        }
        Ok(())
    };
    let copied = copying.await;
    lease.end(copied.as_ref().err());
    copied
}
