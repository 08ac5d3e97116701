//! Consents: what a person let an application know.

use super::rows::{moment, parse};
use super::{Result, Store};
use crate::clock::Timestamp;
use crate::id::{ConsentId, Did, UserId};
use crate::model::scope::Scopes;

/// What a person let an application know, and until when that is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    /// The application.
    pub application: Did,
    /// The application's name.
    pub application_name: String,
    /// What it may have.
    pub scopes: Scopes,
    /// When the person agreed.
    pub granted_at: Timestamp,
    /// Until when they are not asked again.
    pub expires_at: Timestamp,
}

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

    /// A person's consents that hold at `now`, in the order in which they were first given.
    pub async fn consents_of(&self, user: UserId, now: Timestamp) -> Result<Vec<Consent>> {
        let rows: Vec<(String, String, String, i64, i64)> = sqlx::query_as(
            "SELECT c.application_id, a.name, c.scopes, c.granted_at, c.expires_at
             FROM consents c JOIN applications a ON a.id = c.application_id
             WHERE c.user_id = $1 AND c.expires_at > $2 ORDER BY c.id",
        )
        .bind(user.to_string())
        .bind(now.millis())
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(|(application, application_name, scopes, granted_at, expires_at)| {
                Ok(Consent {
                    application: parse(&application, "a consent's application")?,
                    application_name,
                    scopes: Scopes::known(&scopes),
                    granted_at: moment(granted_at),
                    expires_at: moment(expires_at),
                })
            })
            .collect()
    }

    /// Forgets a consent, and ends everything that the person granted the application before `now`. Whether there was
    /// such a consent.
    pub async fn withdraw_consent(&self, user: UserId, application: Did, now: Timestamp) -> Result<bool> {
        self.write(move |db| {
            let application = application.to_string();
            Box::pin(async move {
                let deleted = sqlx::query("DELETE FROM consents WHERE user_id = $1 AND application_id = $2")
                    .bind(user.to_string())
                    .bind(application.clone())
                    .execute(&mut *db)
                    .await?;
                sqlx::query("UPDATE accounts SET grants_from = $3 WHERE user_id = $1 AND application_id = $2")
                    .bind(user.to_string())
                    .bind(application)
                    // A grant of this very moment ends too.
                    .bind(now.millis().saturating_add(1))
                    .execute(db)
                    .await?;
                Ok(deleted.rows_affected() > 0)
            })
        })
        .await
    }
}
