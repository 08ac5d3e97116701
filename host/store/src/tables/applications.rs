//! Applications.

pub(crate) mod client_secrets;
pub(crate) mod details_types;
pub(crate) mod listing;
pub(crate) mod logos;
pub(crate) mod noted_secret_uses;
pub(crate) mod recorded_use;
mod registration_rows;
pub(crate) mod registrations;
pub(crate) mod row;
mod secret_use;
pub(crate) mod service_providers;
pub(crate) mod usage;

use std::collections::HashSet;
use std::sync::Arc;

use crate::engine::batch::loader::BatchLoader;
use crate::engine::rows::{NEVER, epoch_number, to_json};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::tables::applications::row::ApplicationVersionRow;
use crate::tables::users::deprovisioning;
use crate::{Result, Store, VersionedWrite};
use assent_model::application::{Application, RegisteredApplication};
use assent_model::id::Did;
use assent_model::search::search_form;

pub(crate) async fn insert(db: &mut Connection, application: &Application) -> Result<()> {
    sql::query(
        "INSERT INTO applications (id, name, search_key, settings, secrets, version, created_at, updated_at,
                                   grants_not_before)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(application.id.to_string())
    .bind(&application.name)
    .bind(search_form(&application.name))
    .bind(to_json(&application.settings)?)
    .bind(client_secrets::to_column(&application.secrets)?)
    .bind(application.version)
    .bind(application.created_at.millis())
    .bind(application.updated_at.millis())
    .bind(if application.settings.enabled { 0 } else { NEVER })
    .execute(&mut *db)
    .await?;
    insert_origins(db, application).await
}

/// Replaces this version of an application's name, settings and secrets.
pub(crate) async fn update(
    db: &mut Connection,
    application: &Application,
) -> Result<VersionedWrite> {
    let result = sql::query(
        "UPDATE applications SET name = $2, settings = $3, version = version + 1, updated_at = $4,
                                 secrets = $6, search_key = $9,
                                 grants_not_before = CASE WHEN $7 = 0 THEN $8
                                                          WHEN grants_not_before = $8 THEN $4
                                                          ELSE grants_not_before END
         WHERE id = $1 AND version = $5",
    )
    .bind(application.id.to_string())
    .bind(&application.name)
    .bind(to_json(&application.settings)?)
    .bind(application.updated_at.millis())
    .bind(application.version)
    .bind(client_secrets::to_column(&application.secrets)?)
    .bind(application.settings.enabled)
    .bind(NEVER)
    .bind(search_form(&application.name))
    .execute(&mut *db)
    .await?;
    if result == 0 {
        return Ok(VersionedWrite::Stale);
    }
    sql::query("DELETE FROM application_origins WHERE application_id = $1")
        .bind(application.id.to_string())
        .execute(&mut *db)
        .await?;
    insert_origins(db, application).await?;
    if !application.settings.enabled {
        let id = application.id.to_string();
        deprovisioning::withdraw_pending_for(db, &id, application.updated_at).await?;
    }
    secret_use::keep_only(db, application).await?;
    Ok(VersionedWrite::Done)
}

/// Deletes this version of an application with its accounts, which ends its tokens.
pub(crate) async fn delete(db: &mut Connection, id: &Did, version: i64) -> Result<VersionedWrite> {
    let result = sql::query("DELETE FROM applications WHERE id = $1 AND version = $2")
        .bind(id.to_string())
        .bind(version)
        .execute(db)
        .await?;
    Ok(VersionedWrite::of_rows(result))
}

async fn insert_origins(db: &mut Connection, application: &Application) -> Result<()> {
    for origin in application.settings.origins() {
        sql::query("INSERT INTO application_origins (application_id, origin) VALUES ($1, $2)")
            .bind(application.id.to_string())
            .bind(origin)
            .execute(&mut *db)
            .await?;
    }
    Ok(())
}

impl Store {
    /// The origins of the redirect URIs of all single-page applications.
    pub async fn spa_origins(&self) -> Result<HashSet<String>> {
        let rows: Vec<(String,)> = sql::query_as("SELECT DISTINCT origin FROM application_origins")
            .fetch_all(&self.readers)
            .await?;
        Ok(rows.into_iter().map(|(origin,)| origin).collect())
    }

    /// The OpenID Connect client with this id.
    pub async fn application(&self, id: &Did) -> Result<Option<Arc<Application>>> {
        Ok(self
            .registered(id)
            .await?
            .and_then(RegisteredApplication::client))
    }

    /// The OpenID Connect client with this id, and the epoch in which tokens are issued now.
    pub async fn client_in_epoch(&self, id: &Did) -> Result<Option<(Arc<Application>, u32)>> {
        self.client_by(&self.lookups.application_versions, id).await
    }

    /// The same for a caller that waits for seconds anyway. It may wait for a moment, so that one statement serves many
    /// callers. The version is read after the call.
    pub async fn client_of_waiting_request(
        &self,
        id: &Did,
    ) -> Result<Option<(Arc<Application>, u32)>> {
        self.client_by(&self.lookups.patient_versions, id).await
    }

    async fn client_by(
        &self,
        versions: &BatchLoader<ApplicationVersionRow>,
        id: &Did,
    ) -> Result<Option<(Arc<Application>, u32)>> {
        let Some(row) = versions.call(id.to_string()).await? else {
            return Ok(None);
        };
        let epoch = epoch_number(row.epoch)?;
        let found = self
            .registered_version(id, (row.version, row.updated_at))
            .await?;
        Ok(found
            .and_then(RegisteredApplication::client)
            .map(|client| (client, epoch)))
    }

    /// The application with this id, of either protocol.
    pub async fn registered(&self, id: &Did) -> Result<Option<RegisteredApplication>> {
        match self
            .lookups
            .application_versions
            .call(id.to_string())
            .await?
        {
            Some(row) => {
                self.registered_version(id, (row.version, row.updated_at))
                    .await
            }
            None => Ok(None),
        }
    }

    /// The version of the application's settings, and the epoch in which tokens are issued now. `None` if the
    /// application does not exist.
    pub async fn issuance_of(&self, id: &Did) -> Result<Option<(i64, u32)>> {
        let found = self
            .lookups
            .application_versions
            .call(id.to_string())
            .await?;
        found
            .map(|row| Ok((row.version, epoch_number(row.epoch)?)))
            .transpose()
    }

    /// The application in this version, or in a later one. A version is its number and the time of its change: a
    /// fail-over may lose a version, and the next change uses its number again.
    pub(crate) async fn registered_version(
        &self,
        id: &Did,
        version: (i64, i64),
    ) -> Result<Option<RegisteredApplication>> {
        if let Some(found) = self.caches.applications.get(id, version) {
            return Ok(Some(found));
        }
        let found = self.lookups.applications.call(id.to_string()).await?;
        if let Some(application) = &found {
            let version = match application {
                RegisteredApplication::Client(client) => (client.version, client.updated_at),
                RegisteredApplication::ServiceProvider(provider) => {
                    (provider.version, provider.updated_at)
                }
            };
            self.caches.applications.insert(
                id.clone(),
                (version.0, version.1.millis()),
                application.clone(),
            );
        }
        Ok(found)
    }
}
