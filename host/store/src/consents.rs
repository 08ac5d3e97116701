//! Consents: what a person let an application know.

use crate::sql::{self, Connection};

use crate::rows::{cell, moment, parse};
use crate::{Result, Store, UserGuard, audit};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::id::{ConsentId, Did, UserId};
use assent_model::scope::Scopes;

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

/// A consent as it is given.
#[derive(Clone, Debug)]
pub struct ConsentGrant {
    /// The row's id, if there is none for this person and application.
    pub id: ConsentId,
    /// The user.
    pub user: UserId,
    /// The application.
    pub application: Did,
    /// What it may have.
    pub scopes: Scopes,
    /// When the application must ask the user again.
    pub until: Timestamp,
}

/// Remembers a consent, together with what the person let the application have before, as far as that holds at `now`.
pub(crate) async fn remember(
    db: &mut Connection,
    given: &ConsentGrant,
    now: Timestamp,
) -> Result<()> {
    let (user, application) = (given.user.to_string(), given.application.to_string());
    loop {
        // An existing row is locked until the commit, so that of two transactions at once neither loses its consent.
        let (before, holds_until): (String, i64) = sql::query_as(
            "INSERT INTO consents (id, user_id, application_id, scopes, granted_at, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (user_id, application_id) DO UPDATE SET user_id = excluded.user_id
             RETURNING scopes, expires_at",
        )
        .bind(given.id.to_string())
        .bind(user.clone())
        .bind(application.clone())
        .bind(given.scopes.to_string())
        .bind(now.millis())
        .bind(given.until.millis())
        .fetch_one(&mut *db)
        .await?;
        let (scopes, until) = joined(given, (&before, holds_until), now);
        let updated = sql::query(
            "UPDATE consents SET scopes = $3, granted_at = $4, expires_at = $5
             WHERE user_id = $1 AND application_id = $2 AND scopes = $6 AND expires_at = $7",
        )
        .bind(user.clone())
        .bind(application.clone())
        .bind(scopes.to_string())
        .bind(now.millis())
        .bind(until)
        .bind(before)
        .bind(holds_until)
        .execute(&mut *db)
        .await?;
        // The lock does not exclude another sign-in of the same transaction, whose statements may come in between.
        if updated > 0 {
            return Ok(());
        }
    }
}

/// The scopes and the end of a consent together with those of an earlier one, if that is valid at `now`.
fn joined(
    given: &ConsentGrant,
    (before, holds_until): (&str, i64),
    now: Timestamp,
) -> (Scopes, i64) {
    let before = if holds_until > now.millis() {
        Scopes::known(before)
    } else {
        Scopes::default()
    };
    // What the person was not asked about now is not remembered for longer by it.
    let until = given.until.millis();
    let until = if before.within(&given.scopes) {
        until
    } else {
        until.min(holds_until)
    };
    (given.scopes.either(&before), until)
}

impl Store {
    /// Remembers that a person let an application have these scopes, together with what they let it have before.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn remember_consent(&self, given: ConsentGrant, now: Timestamp) -> Result<()> {
        self.write(move |db| {
            let given = given.clone();
            Box::pin(async move { remember(db, &given, now).await })
        })
        .await
    }

    /// The scopes that a person let an application have, as far as that holds at `now`.
    ///
    /// # Errors
    /// If the database fails.
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
            .map(|(scopes,)| Scopes::known(&scopes))
            .unwrap_or_default())
    }

    /// A person's consents that hold at `now`, in the order in which they were first given.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
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
                        scopes: Scopes::known(&scopes),
                        granted_at: moment(granted_at),
                        expires_at: moment(expires_at),
                    })
                },
            )
            .collect()
    }

    /// Forgets a consent, and ends everything that the person granted the application before `now`. Whether there was
    /// such a consent.
    ///
    /// # Errors
    /// [`StoreError::Stale`](crate::StoreError::Stale) if they are not as they were seen.
    pub async fn withdraw_consent(
        &self,
        whom: impl Into<UserGuard>,
        application: Did,
        entries: Vec<Entry>,
        now: Timestamp,
    ) -> Result<bool> {
        let whom = whom.into();
        self.write(move |db| {
            let (application, entries) = (application.to_string(), entries.clone());
            Box::pin(async move {
                let user = whom.lock(db).await?;
                let deleted = sql::query("DELETE FROM consents WHERE user_id = $1 AND application_id = $2")
                    .bind(user.to_string())
                    .bind(application.clone())
                    .execute(&mut *db)
                    .await?;
                sql::query("UPDATE accounts
                            SET grants_not_before = CASE WHEN grants_not_before < $3 THEN $3 ELSE grants_not_before END
                            WHERE user_id = $1 AND application_id = $2")
                    .bind(user.to_string())
                    .bind(application)
                    // A grant of this very moment ends too.
                    .bind(now.millis().saturating_add(1))
                    .execute(&mut *db)
                    .await?;
                if deleted == 0 {
                    return Ok(false);
                }
                audit::append(db, &entries).await?;
                Ok(true)
            })
        })
        .await
    }
}
