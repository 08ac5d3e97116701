//! Applications.

use sqlx::AnyConnection;

use super::rows::{digest, from_json, moment, parse, to_json};
use super::{Result, Store, StoreError};
use crate::clock::Timestamp;
use crate::id::Did;
use crate::model::application::Application;
use crate::secret::Digest;

#[derive(sqlx::FromRow)]
struct ApplicationRow {
    id: String,
    name: String,
    settings: String,
    secret_digest: Option<String>,
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
            version: row.version,
            created_at: moment(row.created_at),
            updated_at: moment(row.updated_at),
        })
    }
}

pub(super) async fn insert(db: &mut AnyConnection, application: &Application) -> Result<()> {
    sqlx::query(
        "INSERT INTO applications (id, name, settings, secret_digest, version, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(application.id.to_string())
    .bind(application.name.clone())
    .bind(to_json(&application.settings)?)
    .bind(application.secret.map(Digest::to_text))
    .bind(application.version)
    .bind(application.created_at.millis())
    .bind(application.updated_at.millis())
    .execute(db)
    .await?;
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

    /// Replaces an application's name and settings. `false`, and nothing done, if it was changed since it was read.
    pub async fn update_application(&self, application: Application) -> Result<bool> {
        self.write(move |db| {
            let application = application.clone();
            Box::pin(async move {
                let result = sqlx::query(
                    "UPDATE applications SET name = $2, settings = $3, version = version + 1, updated_at = $4
                     WHERE id = $1 AND version = $5",
                )
                .bind(application.id.to_string())
                .bind(application.name.clone())
                .bind(to_json(&application.settings)?)
                .bind(application.updated_at.millis())
                .bind(application.version)
                .execute(db)
                .await?;
                Ok(result.rows_affected() > 0)
            })
        })
        .await
    }

    /// Gives an application a new client secret; the old one is worth nothing from then on.
    pub async fn set_client_secret(&self, id: Did, secret: Digest, now: Timestamp) -> Result<()> {
        self.write(move |db| {
            let id = id.clone();
            Box::pin(async move {
                sqlx::query("UPDATE applications SET secret_digest = $2, updated_at = $3 WHERE id = $1")
                    .bind(id.to_string())
                    .bind(secret.to_text())
                    .bind(now.millis())
                    .execute(db)
                    .await?;
                Ok(())
            })
        })
        .await
    }

    /// Deletes an application with its accounts. Whether there was one.
    pub async fn delete_application(&self, id: Did) -> Result<bool> {
        self.write(move |db| {
            let id = id.to_string();
            Box::pin(async move {
                for statement in [
                    "DELETE FROM access_tokens WHERE application_id = $1",
                    "DELETE FROM codes WHERE application_id = $1",
                ] {
                    sqlx::query(statement).bind(id.clone()).execute(&mut *db).await?;
                }
                let result = sqlx::query("DELETE FROM applications WHERE id = $1").bind(id.clone()).execute(db).await?;
                Ok(result.rows_affected() > 0)
            })
        })
        .await
    }

    /// The application with this id.
    pub async fn application(&self, id: &Did) -> Result<Option<Application>> {
        let row: Option<ApplicationRow> = sqlx::query_as("SELECT * FROM applications WHERE id = $1")
            .bind(id.to_string())
            .fetch_optional(&self.readers)
            .await?;
        row.map(Application::try_from).transpose()
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
