//! Consents: the scopes that users granted to applications.

use crate::engine::sql;
use crate::engine::sql::Connection;

use crate::engine::rows::{cell, moment, parse};
use crate::tables::backchannel::withdrawal;
use crate::{Result, Store, UserGuard, audit};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::id::{ConsentId, Did, UserId};
use assent_model::scope::Scopes;

/// The scopes that a user granted to an application, and the expiry of the consent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    /// The application.
    pub application: Did,
    /// The application's name.
    pub application_name: String,
    /// The scopes that the application may have.
    pub scopes: Scopes,
    /// When the user agreed.
    pub granted_at: Timestamp,
    /// When the application must ask the user again.
    pub expires_at: Timestamp,
}

/// A new consent.
#[derive(Clone, Debug)]
pub struct ConsentGrant {
    /// The id of the row, if the user has no consent for this application yet.
    pub id: ConsentId,
    /// The user.
    pub user: UserId,
    /// The application.
    pub application: Did,
    /// The scopes that the application may have.
    pub scopes: Scopes,
    /// When the application must ask the user again.
    pub until: Timestamp,
}

/// Stores a consent, together with the scopes of an earlier consent of the user that is valid at `now`.
pub(crate) async fn remember(
    db: &mut Connection,
    grant: &ConsentGrant,
    now: Timestamp,
) -> Result<()> {
    let (user, application) = (grant.user.to_string(), grant.application.to_string());
    loop {
        // An existing row is locked until the commit, so that neither of two concurrent transactions loses its consent.
        let (before, holds_until): (String, i64) = sql::query_as(
            "INSERT INTO consents (id, user_id, application_id, scopes, granted_at, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (user_id, application_id) DO UPDATE SET user_id = excluded.user_id
             RETURNING scopes, expires_at",
        )
        .bind(grant.id.to_string())
        .bind(&user)
        .bind(&application)
        .bind(grant.scopes.to_string())
        .bind(now.millis())
        .bind(grant.until.millis())
        .fetch_one(&mut *db)
        .await?;
        let (scopes, until) = merge_consents(grant, &before, holds_until, now);
        let updated = sql::query(
            "UPDATE consents SET scopes = $3, granted_at = $4, expires_at = $5
             WHERE user_id = $1 AND application_id = $2 AND scopes = $6 AND expires_at = $7",
        )
        .bind(&user)
        .bind(&application)
        .bind(scopes.to_string())
        .bind(now.millis())
        .bind(until)
        .bind(before)
        .bind(holds_until)
        .execute(&mut *db)
        .await?;
        // The lock does not exclude another sign-in in the same transaction. Its statements may come in between.
        if updated > 0 {
            return Ok(());
        }
    }
}

/// The scopes and the expiry of a consent, merged with those of an earlier one that is valid at `now`.
fn merge_consents(
    grant: &ConsentGrant,
    before: &str,
    holds_until: i64,
    now: Timestamp,
) -> (Scopes, i64) {
    let before = if holds_until > now.millis() {
        Scopes::parse_known(before)
    } else {
        Scopes::default()
    };
    // Scopes that the user did not confirm now do not expire later because of this consent.
    let until = grant.until.millis();
    let until = if before.within(&grant.scopes) {
        until
    } else {
        until.min(holds_until)
    };
    (grant.scopes.either(&before), until)
}

impl Store {
    /// Stores that a user granted these scopes to an application, together with the scopes that the user granted
    /// before.
    pub async fn remember_consent(&self, grant: ConsentGrant, now: Timestamp) -> Result<()> {
        self.write(grant, move |db, grant| Box::pin(remember(db, grant, now)))
            .await
    }

    /// The scopes that a user granted to an application and that are valid at `now`.
    pub async fn consented_scopes(
        &self,
        user: UserId,
        application: &Did,
        now: Timestamp,
    ) -> Result<Scopes> {
        let row: Option<(String,)> = sql::query_as(
            "SELECT scopes FROM consents WHERE user_id = $1 AND application_id = $2 AND expires_at > $3",
        )
        .bind(user.to_string())
        .bind(application.to_string())
        .bind(now.millis())
        .fetch_optional(self.readers.lookups())
        .await?;
        Ok(row
            .map(|(scopes,)| Scopes::parse_known(&scopes))
            .unwrap_or_default())
    }

    /// The user's consents that are valid at `now`, in the order of their creation.
    pub async fn consents_of(&self, user: UserId, now: Timestamp) -> Result<Vec<Consent>> {
        let rows: Vec<(String, String, String, i64, i64)> = sql::query_as(
            "SELECT c.application_id, a.name, c.scopes, c.granted_at, c.expires_at
             FROM consents c JOIN applications a ON a.id = c.application_id
             WHERE c.user_id = $1 AND c.expires_at > $2 ORDER BY c.id",
        )
        .bind(user.to_string())
        .bind(now.millis())
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(
                |(application, application_name, scopes, granted_at, expires_at)| {
                    Ok(Consent {
                        application: parse(
                            &application,
                            cell("consents", "application_id", &user.to_string()),
                        )?,
                        application_name,
                        scopes: Scopes::parse_known(&scopes),
                        granted_at: moment(granted_at),
                        expires_at: moment(expires_at),
                    })
                },
            )
            .collect()
    }

    /// Deletes a consent, and revokes everything that the user granted the application before. Returns whether there
    /// was such a consent.
    ///
    /// # Errors
    /// [`StoreError::Stale`](crate::StoreError::Stale) if the user's version does not match `guard`.
    pub async fn withdraw_consent(
        &self,
        guard: impl Into<UserGuard>,
        application: Did,
        entries: Vec<Entry>,
        now: Timestamp,
    ) -> Result<bool> {
        let guard = guard.into();
        self.write((application.to_string(), entries), move |db, (application, entries)| {
            Box::pin(async move {
                let user = guard.lock(db).await?;
                // An approval of a back-channel request is a consent, which the application has not used yet.
                withdrawal::withdraw_in(db, &user.to_string(), application, now).await?;
                let deleted = sql::query("DELETE FROM consents WHERE user_id = $1 AND application_id = $2")
                    .bind(user.to_string())
                    .bind(application)
                    .execute(&mut *db)
                    .await?;
                sql::query("UPDATE accounts
                            SET grants_not_before = CASE WHEN grants_not_before < $3 THEN $3 ELSE grants_not_before END
                            WHERE user_id = $1 AND application_id = $2")
                    .bind(user.to_string())
                    .bind(application)
                    // This also revokes a grant of the same millisecond.
                    .bind(now.millis().saturating_add(1))
                    .execute(&mut *db)
                    .await?;
                if deleted == 0 {
                    return Ok(false);
                }
                audit::append(db, entries).await?;
                Ok(true)
            })
        })
        .await
    }
}
