//! Dynamic client registration: initial access tokens with their quotas, and the applications that registered
//! themselves.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::registration_rows::{ClientRegistrationRow, RegistrationTokenRow, SourceRow};
use crate::engine::batch::bulk_sql::{BulkSql, MOST};
use crate::engine::rows::{cell, parse, to_json};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::{Result, Store, StoreError, VersionedWrite};
use assent_model::application::Application;
use assent_model::client_registration::{
    ClientRegistration, RegistrationSource, RegistrationToken, day_of,
};
use assent_model::clock::Timestamp;
use assent_model::id::{Did, RegistrationTokenId};

/// The condition of an application that registered itself before `$1`, and that is not used: it has no account and no
/// assignment, nothing in it has changed since, no user has signed in, and no secret of it was used. An application of
/// a manifest is not one of them.
const IS_UNUSED: &str = "applications.managed_by IS NULL AND applications.updated_at < $1
    AND applications.everyone_roles IS NULL
    AND NOT EXISTS (SELECT 1 FROM group_assignments WHERE group_assignments.application_id = applications.id)
    AND EXISTS (SELECT 1 FROM client_registrations
                WHERE client_registrations.application_id = applications.id
                  AND client_registrations.registered_at < $1)
    AND NOT EXISTS (SELECT 1 FROM application_use WHERE application_use.application_id = applications.id)
    AND NOT EXISTS (SELECT 1 FROM client_secret_use WHERE client_secret_use.application_id = applications.id)
    AND NOT EXISTS (SELECT 1 FROM accounts WHERE accounts.application_id = applications.id)";

static SOURCES: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "SELECT application_id, token_id, token_name, registered_at FROM client_registrations
         WHERE application_id IN ({$})",
        0,
    )
});

impl Store {
    /// The initial access token with this id.
    pub async fn registration_token(
        &self,
        id: RegistrationTokenId,
    ) -> Result<Option<RegistrationToken>> {
        sql::query_as::<RegistrationTokenRow>(sql::statement!(
            "SELECT ",
            RegistrationTokenRow::COLUMNS,
            " FROM registration_tokens WHERE registration_tokens.id = $1"
        ))
        .bind(id.to_string())
        .fetch_value(&self.readers)
        .await
    }

    /// Up to `limit` initial access tokens with ids after `after`, in the order of their ids.
    pub async fn registration_tokens(
        &self,
        after: Option<RegistrationTokenId>,
        limit: u32,
    ) -> Result<Vec<RegistrationToken>> {
        sql::query_as::<RegistrationTokenRow>(sql::statement!(
            "SELECT ",
            RegistrationTokenRow::COLUMNS,
            " FROM registration_tokens WHERE registration_tokens.id > $1 ORDER BY registration_tokens.id LIMIT $2"
        ))
        .bind(after.map(|id| id.to_string()).unwrap_or_default())
        .bind(limit)
        .fetch_values(&self.readers)
        .await
    }

    /// The registration of an application that registered itself.
    pub async fn client_registration(
        &self,
        application: &Did,
    ) -> Result<Option<ClientRegistration>> {
        sql::query_as::<ClientRegistrationRow>(sql::statement!(
            "SELECT ",
            ClientRegistrationRow::COLUMNS,
            " FROM client_registrations WHERE client_registrations.application_id = $1"
        ))
        .bind(application.to_string())
        .fetch_value(&self.readers)
        .await
    }

    /// The sources of those of these applications that registered themselves.
    pub async fn registration_sources(
        &self,
        applications: &[Did],
    ) -> Result<HashMap<Did, RegistrationSource>> {
        let mut found = HashMap::new();
        for applications in applications.chunks(MOST) {
            let mut query = sql::query_as::<SourceRow>(SOURCES.sql_for(applications.len()));
            for id in SOURCES.padded(applications) {
                query = query.bind(id.to_string());
            }
            let rows: Vec<(Did, RegistrationSource)> = query.fetch_values(&self.readers).await?;
            found.extend(rows);
        }
        Ok(found)
    }

    /// Up to `limit` applications that registered themselves before this time and are not used, after `after`, in the
    /// order of their ids.
    pub async fn unused_registrations(
        &self,
        before: Timestamp,
        after: Option<&Did>,
        limit: u32,
    ) -> Result<Vec<Did>> {
        let rows: Vec<(String,)> = sql::query_as(sql::statement!(
            "SELECT applications.id FROM applications WHERE applications.id > $2 AND ",
            IS_UNUSED,
            " ORDER BY applications.id LIMIT $3"
        ))
        .bind(before.millis())
        .bind(after.map(ToString::to_string).unwrap_or_default())
        .bind(limit)
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(|(id,)| parse(&id, cell("applications", "id", &id)))
            .collect()
    }
}

/// Adds an initial access token.
pub(crate) async fn insert_token(db: &mut Connection, token: &RegistrationToken) -> Result<()> {
    sql::query(
        "INSERT INTO registration_tokens (id, digest, name, created_by, created_at, expires_at, quota, daily_quota,
                                          limits)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(token.id.to_string())
    .bind(token.digest.to_text())
    .bind(&token.name)
    .bind(token.created_by.clone())
    .bind(token.created_at.millis())
    .bind(token.expires_at.millis())
    .bind(i64::from(token.quota))
    .bind(i64::from(token.daily_quota))
    .bind(to_json(&token.limits)?)
    .execute(db)
    .await?;
    Ok(())
}

/// Deletes an initial access token. The applications that registered with it stay.
pub(crate) async fn delete_token(
    db: &mut Connection,
    id: RegistrationTokenId,
) -> Result<VersionedWrite> {
    let deleted = sql::query("DELETE FROM registration_tokens WHERE id = $1")
        .bind(id.to_string())
        .execute(db)
        .await?;
    Ok(VersionedWrite::of_rows(deleted))
}

/// Counts one registration of an initial access token. Concurrent transactions wait for each other at its row, so the
/// quotas hold on all instances.
///
/// # Errors
/// [`StoreError::QuotaExhausted`] if a quota is exhausted, or the token has expired or was deleted.
pub(crate) async fn count_registration(
    db: &mut Connection,
    token: RegistrationTokenId,
    now: Timestamp,
) -> Result<()> {
    let counted = sql::query(
        "UPDATE registration_tokens
         SET used = used + 1, used_on_day = CASE WHEN day = $2 THEN used_on_day + 1 ELSE 1 END, day = $2
         WHERE id = $1 AND expires_at > $3 AND used < quota AND (day <> $2 OR used_on_day < daily_quota)",
    )
    .bind(token.to_string())
    .bind(day_of(now))
    .bind(now.millis())
    .execute(db)
    .await?;
    match counted {
        0 => Err(StoreError::QuotaExhausted),
        _ => Ok(()),
    }
}

/// Adds the registration of an application, which was added before.
pub(crate) async fn insert(db: &mut Connection, registration: &ClientRegistration) -> Result<()> {
    sql::query(
        "INSERT INTO client_registrations (application_id, digest, token_id, token_name, registered_at, limits,
                                           metadata)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(registration.application.to_string())
    .bind(registration.digest.to_text())
    .bind(registration.source.token.to_string())
    .bind(&registration.source.token_name)
    .bind(registration.source.registered_at.millis())
    .bind(to_json(&registration.limits)?)
    .bind(to_json(&registration.metadata)?)
    .execute(db)
    .await?;
    Ok(())
}

/// Replaces the metadata of a registration.
pub(crate) async fn update(
    db: &mut Connection,
    registration: &ClientRegistration,
) -> Result<VersionedWrite> {
    let updated =
        sql::query("UPDATE client_registrations SET metadata = $2 WHERE application_id = $1")
            .bind(registration.application.to_string())
            .bind(to_json(&registration.metadata)?)
            .execute(db)
            .await?;
    Ok(VersionedWrite::of_rows(updated))
}

/// Deletes this version of an application, if it registered itself before this time and is not used.
pub(crate) async fn delete_unused(
    db: &mut Connection,
    application: &Application,
    before: Timestamp,
) -> Result<VersionedWrite> {
    let deleted = sql::query(sql::statement!(
        "DELETE FROM applications WHERE applications.id = $2 AND applications.version = $3 AND ",
        IS_UNUSED
    ))
    .bind(before.millis())
    .bind(application.id.to_string())
    .bind(application.version)
    .execute(db)
    .await?;
    Ok(VersionedWrite::of_rows(deleted))
}
