//! Token epochs: only tokens of the last epoch are valid.

use crate::rows::cell;
use crate::sql;
use crate::{Result, Store, audit};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;

impl Store {
    /// The epoch that tokens are issued in.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn token_epoch(&self) -> Result<u32> {
        let (epoch,): (i64,) = sql::query_as("SELECT MAX(epoch) FROM token_epochs")
            .fetch_one(&self.readers)
            .await?;
        epoch_number(epoch)
    }

    /// Begins a new epoch, which ends all tokens that were issued before. Returns its number.
    ///
    /// # Errors
    /// If the database fails, or the audit log cannot be extended.
    pub async fn begin_token_epoch(&self, now: Timestamp, entry: Entry) -> Result<u32> {
        self.write(move |db| {
            let entry = entry.clone();
            Box::pin(async move {
                let (epoch,): (i64,) = sql::query_as(
                    "INSERT INTO token_epochs (epoch, began_at) SELECT MAX(epoch) + 1, $1 FROM token_epochs
                     RETURNING epoch",
                )
                .bind(now.millis())
                .fetch_one(&mut *db)
                .await?;
                audit::append(db, &[entry]).await?;
                epoch_number(epoch)
            })
        })
        .await
    }
}

pub(super) fn epoch_number(epoch: i64) -> Result<u32> {
    u32::try_from(epoch).map_err(|_| cell("token_epochs", "epoch", &epoch.to_string()).unexpected())
}
