//! Approvals of components for a trial as a candidate, each for one plugin and one session of the console.

use crate::engine::sql;
use crate::{Result, Store};
use assent_model::clock::Timestamp;
use assent_model::id::SessionId;
use assent_model::secret::Digest;

impl Store {
    /// Records that a component may be tried in this session as the plugin with this name.
    pub async fn approve_component(
        &self,
        session: SessionId,
        plugin: &str,
        component: &Digest,
        now: Timestamp,
    ) -> Result<()> {
        let input = (plugin.to_owned(), component.to_text());
        self.write(input, move |db, (plugin, component)| {
            Box::pin(async move {
                sql::query(
                    "INSERT INTO component_approvals (session_id, plugin, component, approved_at) VALUES ($1, $2, $3,
                       $4)
                     ON CONFLICT (session_id, plugin, component) DO NOTHING",
                )
                .bind(session.to_string())
                .bind(plugin)
                .bind(component)
                .bind(now.millis())
                .execute(db)
                .await?;
                Ok(())
            })
        })
        .await
    }

    /// Whether a component may be tried in this session as the plugin with this name.
    pub async fn is_component_approved(
        &self,
        session: SessionId,
        plugin: &str,
        component: &Digest,
    ) -> Result<bool> {
        Ok(sql::query(
            "SELECT approved_at FROM component_approvals WHERE session_id = $1 AND plugin = $2 AND component = $3",
        )
        .bind(session.to_string())
        .bind(plugin.to_owned())
        .bind(component.to_text())
        .exists(&self.readers).await?)
    }
}
