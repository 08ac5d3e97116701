//! Applications.

use std::sync::Arc;

use sqlx::AnyConnection;

use super::lookup::Row;
use super::rows::{digest, from_json, moment, parse, to_json};
use super::{Result, Store, StoreError};
use crate::id::Did;
use crate::model::application::Application;
use crate::secret::Digest;

pub(super) const BY_ID: &str = "SELECT * FROM applications WHERE id IN ({$})";

#[derive(sqlx::FromRow)]
pub(super) struct ApplicationRow {
    id: String,
    name: String,
    settings: String,
    secret_digest: Option<String>,
    secret_sealed: Option<String>,
    version: i64,
    created_at: i64,
    updated_at: i64,
}

impl TryFrom<ApplicationRow> for Application {
    type Error = StoreError;
    fn try_from(row: ApplicationRow) -> Result<Self> {
        Ok(Self {
            id: parse(&row.id, "an application's id")?,
            name: row.name,
            settings: from_json(&row.settings, "an application's settings")?,
            secret: row.secret_digest.map(|text| digest(&text, "a client secret's digest")).transpose()?,
            sealed_secret: row.secret_sealed,
            version: row.version,
            created_at: moment(row.created_at),
            updated_at: moment(row.updated_at),
        })
    }
}

impl TryFrom<ApplicationRow> for Arc<Application> {
    type Error = StoreError;
    fn try_from(row: ApplicationRow) -> Result<Self> {
        Application::try_from(row).map(Self::new)
    }
}

impl Row for ApplicationRow {
    type Value = Arc<Application>;
    fn id(&self) -> &str {
        &self.id
    }
}

pub(super) async fn insert(db: &mut AnyConnection, application: &Application) -> Result<()> {
    sqlx::query(
        "INSERT INTO applications (id, name, settings, secret_digest, secret_sealed, version, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(application.id.to_string())
    .bind(application.name.clone())
    .bind(to_json(&application.settings)?)
    .bind(application.secret.map(Digest::to_text))
    .bind(application.sealed_secret.clone())
    .bind(application.version)
    .bind(application.created_at.millis())
    .bind(application.updated_at.millis())
    .execute(&mut *db)
    .await?;
    insert_origins(db, application).await
}

async fn insert_origins(db: &mut AnyConnection, application: &Application) -> Result<()> {
    for origin in application.settings.origins() {
        sqlx::query("INSERT INTO application_origins (application_id, origin) VALUES ($1, $2)")
            .bind(application.id.to_string())
            .bind(origin)
            .execute(&mut *db)
            .await?;
    }
    Ok(())
}

impl Store {
    /// Adds an application.
    pub async fn insert_application(&self, application: Application) -> Result<()> {
        self.write(move |db| {
            let application = application.clone();
            Box::pin(async move { insert(db, &application).await })
        })
        .await
    }

    /// Replaces an application's name, settings and secret. `false`, and nothing done, if it was changed since it was
    /// read.
    pub async fn update_application(&self, application: Application) -> Result<bool> {
        self.write(move |db| {
            let application = application.clone();
            Box::pin(async move {
                let result = sqlx::query(
                    "UPDATE applications SET name = $2, settings = $3, version = version + 1, updated_at = $4,
                                             secret_digest = $6, secret_sealed = $7
                     WHERE id = $1 AND version = $5",
                )
                .bind(application.id.to_string())
                .bind(application.name.clone())
                .bind(to_json(&application.settings)?)
                .bind(application.updated_at.millis())
                .bind(application.version)
                .bind(application.secret.map(Digest::to_text))
                .bind(application.sealed_secret.clone())
                .execute(&mut *db)
                .await?;
                if result.rows_affected() == 0 {
                    return Ok(false);
                }
                sqlx::query("DELETE FROM application_origins WHERE application_id = $1")
                    .bind(application.id.to_string())
                    .execute(&mut *db)
                    .await?;
                insert_origins(db, &application).await?;
                Ok(true)
            })
        })
        .await
    }

    /// Whether pages of this origin belong to a single-page application.
    pub async fn is_spa_origin(&self, origin: &str) -> Result<bool> {
        let row: Option<(i64,)> = sqlx::query_as("SELECT 1 FROM application_origins WHERE origin = $1 LIMIT 1")
            .bind(origin.to_owned())
            .fetch_optional(&self.readers)
            .await?;
        Ok(row.is_some())
    }

    /// Deletes an application with its accounts, which ends its tokens. Whether there was one.
    pub async fn delete_application(&self, id: Did) -> Result<bool> {
        self.write(move |db| {
            let id = id.to_string();
            Box::pin(async move {
                let result = sqlx::query("DELETE FROM applications WHERE id = $1").bind(id).execute(db).await?;
                Ok(result.rows_affected() > 0)
            })
        })
        .await
    }

    /// The application with this id.
    pub async fn application(&self, id: &Did) -> Result<Option<Arc<Application>>> {
        self.lookups.applications.ask(id.to_string()).await
    }

    /// Up to `limit` applications whose id follows `after`.
    pub async fn applications(&self, after: Option<&Did>, limit: u32) -> Result<Vec<Application>> {
        let rows: Vec<ApplicationRow> = sqlx::query_as("SELECT * FROM applications WHERE id > $1 ORDER BY id LIMIT $2")
            .bind(after.map(ToString::to_string).unwrap_or_default())
            .bind(i64::from(limit))
            .fetch_all(&self.readers)
            .await?;
        rows.into_iter().map(Application::try_from).collect()
    }
}
