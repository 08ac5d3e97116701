//! The uses of client secrets. A request records the use in memory; a background task writes all uses once a minute. So
//! client authentication needs no statement for it.

use std::collections::HashMap;

use super::noted_secret_uses::SecretUse;
use crate::engine::rows::{cell, moment, parse};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::{Result, Store};
use assent_model::application::Application;
use assent_model::client_secret::MOST_CLIENT_SECRETS;
use assent_model::clock::Timestamp;
use assent_model::id::{ClientSecretId, Did};

/// Deletes the uses of secrets that the application does not have any more.
pub(super) async fn keep_only(db: &mut Connection, application: &Application) -> Result<()> {
    let mut ids = application
        .secrets
        .iter()
        .map(|secret| secret.id.to_string());
    let (first, second) = (ids.next(), ids.next());
    const {
        assert!(
            MOST_CLIENT_SECRETS == 2,
            "the statement has parameters for two secrets"
        );
    };
    sql::query(
        "DELETE FROM client_secret_use WHERE application_id = $1 AND secret_id <> $2 AND secret_id <> $3",
    )
    .bind(application.id.to_string())
    .bind(first.unwrap_or_default())
    .bind(second.unwrap_or_default())
    .execute(db)
    .await?;
    Ok(())
}

async fn write_use(db: &mut Connection, secret: ClientSecretId, used: &SecretUse) -> Result<()> {
    // The application may have been deleted meanwhile.
    sql::query(
        "INSERT INTO client_secret_use (secret_id, application_id, used_at)
         SELECT $1, id, $3 FROM applications WHERE id = $2
         ON CONFLICT (secret_id) DO UPDATE SET used_at = excluded.used_at
         WHERE client_secret_use.used_at < excluded.used_at",
    )
    .bind(secret.to_string())
    .bind(used.application.to_string())
    .bind(used.at.millis())
    .execute(db)
    .await?;
    Ok(())
}

impl Store {
    /// Records in memory that an application used one of its client secrets.
    /// [`write_client_secret_uses`](Self::write_client_secret_uses) writes it.
    pub fn note_client_secret_use(&self, application: &Did, secret: ClientSecretId, at: Timestamp) {
        self.secret_uses.note(application, secret, at);
    }

    /// Writes the recorded uses of client secrets. If that fails, they stay in memory.
    pub async fn write_client_secret_uses(&self) -> Result<()> {
        let uses = self.secret_uses.take();
        if uses.is_empty() {
            return Ok(());
        }
        // Each transaction writes in the order of the secrets, so that no two of them deadlock.
        let result = self
            .write(uses.clone(), |db, uses| {
                Box::pin(async move {
                    for (secret, used) in uses {
                        write_use(db, *secret, used).await?;
                    }
                    Ok(())
                })
            })
            .await;
        if result.is_err() {
            for (secret, used) in uses {
                self.secret_uses.note(&used.application, secret, used.at);
            }
        }
        result
    }

    /// When the application used its client secrets: the written uses of all instances, and the unwritten ones of this
    /// instance.
    pub async fn client_secret_uses(
        &self,
        application: &Did,
    ) -> Result<HashMap<ClientSecretId, Timestamp>> {
        let noted = self.secret_uses.uses_of(application);
        let rows: Vec<(String, i64)> = sql::query_as(
            "SELECT secret_id, used_at FROM client_secret_use WHERE application_id = $1",
        )
        .bind(application.to_string())
        .fetch_all(&self.readers)
        .await?;
        let mut uses = HashMap::new();
        for (secret, used_at) in rows {
            let id = parse(&secret, cell("client_secret_use", "secret_id", &secret))?;
            uses.insert(id, moment(used_at));
        }
        for (secret, at) in noted {
            let used = uses.entry(secret).or_insert(at);
            *used = at.max(*used);
        }
        Ok(uses)
    }
}
