//! Components that were approved to be tried as candidates, each for one session of the console.

use super::{Result, Store};
use crate::clock::Timestamp;
use crate::id::SessionId;
use crate::secret::Digest;

impl Store {
    /// Notes that a component may be tried in this session.
    pub async fn approve_component(&self, session: SessionId, component: &Digest, now: Timestamp) -> Result<()> {
        let component = component.to_text();
        self.write(move |db| {
            let component = component.clone();
            Box::pin(async move {
                sqlx::query(
                    "INSERT INTO component_approvals (session_id, component, approved_at) VALUES ($1, $2, $3)
                     ON CONFLICT (session_id, component) DO NOTHING",
                )
                .bind(session.to_string())
                .bind(component)
                .bind(now.millis())
                .execute(db)
                .await?;
                Ok(())
            })
        })
        .await
    }

    /// Whether a component may be tried in this session.
    pub async fn is_component_approved(&self, session: SessionId, component: &Digest) -> Result<bool> {
        let found: Option<(i64,)> =
            sqlx::query_as("SELECT approved_at FROM component_approvals WHERE session_id = $1 AND component = $2")
                .bind(session.to_string())
                .bind(component.to_text())
                .fetch_optional(&self.readers)
                .await?;
        Ok(found.is_some())
    }
}
