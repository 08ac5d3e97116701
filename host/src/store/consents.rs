//! Consents: what a person let an application know.

use super::{Result, Store};
use crate::clock::Timestamp;
use crate::id::{ConsentId, Did, UserId};
use crate::model::scope::Scopes;

impl Store {
    /// Remembers that a person let an application have these scopes, in place of an earlier consent.
    pub async fn remember_consent(
        &self,
        id: ConsentId,
        (user, application): (UserId, Did),
        scopes: Scopes,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<()> {
        self.write(move |db| {
            let (application, scopes) = (application.to_string(), scopes.to_string());
            Box::pin(async move {
                sqlx::query(
                    "INSERT INTO consents (id, user_id, application_id, scopes, granted_at, expires_at)
                     VALUES ($1, $2, $3, $4, $5, $6)
                     ON CONFLICT (user_id, application_id)
                     DO UPDATE SET scopes = excluded.scopes, granted_at = excluded.granted_at,
                                   expires_at = excluded.expires_at",
                )
                .bind(id.to_string())
                .bind(user.to_string())
                .bind(application)
                .bind(scopes)
                .bind(now.millis())
                .bind(until.millis())
                .execute(db)
                .await?;
                Ok(())
            })
        })
        .await
    }

    /// The scopes that a person let an application have, as far as that holds at `now`.
    pub async fn consented(&self, user: UserId, application: &Did, now: Timestamp) -> Result<Scopes> {
        let row: Option<(String,)> = sqlx::query_as(
            "SELECT scopes FROM consents WHERE user_id = $1 AND application_id = $2 AND expires_at > $3",
        )
        .bind(user.to_string())
        .bind(application.to_string())
        .bind(now.millis())
        .fetch_optional(&self.readers)
        .await?;
        Ok(row.map(|(scopes,)| Scopes::known(&scopes)).unwrap_or_default())
    }
}
