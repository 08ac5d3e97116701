//! Forgetting what is over.

use std::time::Duration;

use super::{Result, Store};
use crate::clock::Timestamp;

/// How long a row is kept after its time, so that what comes late is still told apart from what never was.
const GRACE: Duration = Duration::from_secs(24 * 60 * 60);

impl Store {
    /// Deletes rows whose time was over a day before `now`. Approvals go with their logins.
    pub async fn sweep(&self, now: Timestamp) -> Result<()> {
        let before = (now - GRACE).millis();
        for statement in [
            "DELETE FROM access_tokens WHERE expires_at < $1",
            "DELETE FROM codes WHERE expires_at < $1",
            "DELETE FROM logins WHERE expires_at < $1",
            "DELETE FROM sessions WHERE expires_at < $1",
            "DELETE FROM enrolments WHERE expires_at < $1",
            "DELETE FROM admin_tokens WHERE expires_at < $1",
            "DELETE FROM consents WHERE expires_at < $1",
        ] {
            self.write(move |db| {
                Box::pin(async move {
                    sqlx::query(statement).bind(before).execute(db).await?;
                    Ok(())
                })
            })
            .await?;
        }
        Ok(())
    }
}
