//! Applications.

pub(crate) mod client_secrets;
pub(crate) mod cursor;
pub(crate) mod logos;
pub(crate) mod noted_secret_uses;
pub(crate) mod protocols;
pub(crate) mod recorded_use;
mod secret_use;
pub(crate) mod service_providers;
pub(crate) mod usage;
pub(crate) mod version_row;

use std::collections::HashSet;
use std::sync::Arc;

use crate::engine::sql;
use crate::engine::sql::Connection;

use crate::engine::batch::loader::Row;
use crate::engine::rows::{NEVER, cell, epoch_number, from_json, moment, parse, to_json};
use crate::tables::applications::protocols::{OIDC, SAML};
use crate::tables::groups::access::granting_applications;
use crate::tables::users::deprovisioning;
use crate::{Result, Store, StoreError, VersionedWrite, audit};
use assent_model::application::{Application, Protocol, RegisteredApplication};
use assent_model::audit::Entry;
use assent_model::id::{Did, UserId};
use assent_model::saml::ServiceProvider;
use assent_model::search::search_form;

use cursor::ApplicationCursor;

/// The order of a list of applications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApplicationOrder {
    /// By their ids.
    #[default]
    Id,
    /// By their names, without regard to case and accents.
    Name,
    /// By their names, descending.
    NameDescending,
}

pub(crate) const BY_ID: &str = sql::statement!(
    "SELECT ",
    ApplicationRow::COLUMNS,
    " FROM applications WHERE id IN ({$})"
);

/// The applications that follow the id `$1` and the search key `$5` in an order. Only those of the protocol `$2` with a
/// search key that begins with `$3`.
macro_rules! applications_found {
    ($after:literal, $order:literal) => {
        sql::statement!(
            "SELECT ",
            ApplicationRow::COLUMNS,
            " FROM applications
             WHERE ",
            $after,
            " AND ($2 = '' OR protocol = $2) AND substr(search_key, 1, length($3)) = $3
             ORDER BY ",
            $order,
            " LIMIT $4"
        )
    };
}

crate::engine::sql::row! {
    pub(crate) struct ApplicationRow of applications {
        id: String,
        name: String,
        protocol: String,
        settings: String,
        secrets: String,
        version: i64,
        created_at: i64,
        updated_at: i64,
    }
}

impl TryFrom<ApplicationRow> for RegisteredApplication {
    type Error = StoreError;
    fn try_from(row: ApplicationRow) -> Result<Self> {
        let id = parse(&row.id, cell("applications", "id", &row.id))?;
        let (created_at, updated_at) = (moment(row.created_at), moment(row.updated_at));
        match row.protocol.as_str() {
            OIDC => Ok(Self::Client(Arc::new(Application {
                id,
                name: row.name,
                settings: from_json(&row.settings, cell("applications", "settings", &row.id))?,
                secrets: client_secrets::from_column(
                    &row.secrets,
                    cell("applications", "secrets", &row.id),
                )?,
                version: row.version,
                created_at,
                updated_at,
            }))),
            SAML => Ok(Self::ServiceProvider(Arc::new(ServiceProvider {
                id,
                name: row.name,
                settings: from_json(&row.settings, cell("applications", "settings", &row.id))?,
                version: row.version,
                created_at,
                updated_at,
            }))),
            _ => Err(cell("applications", "protocol", &row.id).unexpected()),
        }
    }
}

impl Row for ApplicationRow {
    type Key = String;
    type Value = RegisteredApplication;
    fn key(&self) -> String {
        self.id.clone()
    }
}

pub(crate) async fn insert(db: &mut Connection, application: &Application) -> Result<()> {
    sql::query(
        "INSERT INTO applications (id, name, search_key, settings, secrets, version, created_at, updated_at,
                                   grants_not_before)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(application.id.to_string())
    .bind(application.name.clone())
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

/// Replaces the settings of an application: see [`Store::update_application`].
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
    .bind(application.name.clone())
    .bind(to_json(&application.settings)?)
    .bind(application.updated_at.millis())
    .bind(application.version)
    .bind(client_secrets::to_column(&application.secrets)?)
    .bind(i64::from(application.settings.enabled))
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
    /// Adds an application.
    ///
    /// # Errors
    /// If the database fails, or the audit log cannot be extended.
    pub async fn insert_application(
        &self,
        application: Application,
        entries: Vec<Entry>,
    ) -> Result<()> {
        self.write(move |db| {
            let (application, entries) = (application.clone(), entries.clone());
            Box::pin(async move {
                insert(db, &application).await?;
                audit::append(db, &entries).await
            })
        })
        .await
    }

    /// Replaces this version of an application's name, settings and secrets. If it disables the application, the
    /// earlier grants are revoked: they stay invalid when the application is enabled again.
    ///
    /// # Errors
    /// If the database fails, or the audit log cannot be extended.
    pub async fn update_application(
        &self,
        application: Application,
        entries: Vec<Entry>,
    ) -> Result<VersionedWrite> {
        self.write(move |db| {
            let (application, entries) = (application.clone(), entries.clone());
            Box::pin(async move {
                let written = update(db, &application).await?;
                audit::append_if(db, written == VersionedWrite::Done, &entries).await?;
                Ok(written)
            })
        })
        .await
    }

    /// The origins of the redirect URIs of all single-page applications.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn spa_origins(&self) -> Result<HashSet<String>> {
        let rows: Vec<(String,)> = sql::query_as("SELECT DISTINCT origin FROM application_origins")
            .fetch_all(&self.readers)
            .await?;
        Ok(rows.into_iter().map(|(origin,)| origin).collect())
    }

    /// Deletes this version of an application with its accounts, which ends its tokens.
    ///
    /// # Errors
    /// If the database fails, or the audit log cannot be extended.
    pub async fn delete_application(
        &self,
        id: Did,
        version: i64,
        entries: Vec<Entry>,
    ) -> Result<VersionedWrite> {
        self.write(move |db| {
            let (id, entries) = (id.clone(), entries.clone());
            Box::pin(async move {
                let deleted = delete(db, &id, version).await?;
                audit::append_if(db, deleted == VersionedWrite::Done, &entries).await?;
                Ok(deleted)
            })
        })
        .await
    }

    /// The OpenID Connect client with this id.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn application(&self, id: &Did) -> Result<Option<Arc<Application>>> {
        Ok(self
            .registered(id)
            .await?
            .and_then(RegisteredApplication::client))
    }

    /// The OpenID Connect client with this id, and the epoch in which tokens are issued now.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn client_in_epoch(&self, id: &Did) -> Result<Option<(Arc<Application>, u32)>> {
        let versions = &self.lookups.application_versions;
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
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
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
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
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

    /// Up to `limit` applications with ids that follow `after`.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn applications(
        &self,
        after: Option<&Did>,
        limit: u32,
    ) -> Result<Vec<RegisteredApplication>> {
        let rows: Vec<ApplicationRow> = sql::query_as(sql::statement!(
            "SELECT ",
            ApplicationRow::COLUMNS,
            " FROM applications WHERE id > $1 ORDER BY id LIMIT $2"
        ))
        .bind(after.map(ToString::to_string).unwrap_or_default())
        .bind(i64::from(limit))
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(RegisteredApplication::try_from)
            .collect()
    }

    /// Up to `limit` applications that follow `after`, with names that begin with `prefix`, without regard to case and
    /// accents. Only those of `protocol`, if it is set. The statement compares each name, because the applications are
    /// few.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn applications_named(
        &self,
        prefix: &str,
        protocol: Option<Protocol>,
        order: ApplicationOrder,
        after: Option<&ApplicationCursor>,
        limit: u32,
    ) -> Result<Vec<RegisteredApplication>> {
        let statement = match order {
            ApplicationOrder::Id => applications_found!("id > $1", "id"),
            ApplicationOrder::Name => {
                applications_found!("($1 = '' OR (search_key, id) > ($5, $1))", "search_key, id")
            }
            ApplicationOrder::NameDescending => applications_found!(
                "($1 = '' OR (search_key, id) < ($5, $1))",
                "search_key DESC, id DESC"
            ),
        };
        let mut query = sql::query_as::<ApplicationRow>(statement)
            .bind(after.map(|after| after.id.to_string()).unwrap_or_default())
            .bind(match protocol {
                None => "",
                Some(Protocol::OpenidConnect) => OIDC,
                Some(Protocol::Saml) => SAML,
            })
            .bind(search_form(prefix))
            .bind(i64::from(limit));
        if order != ApplicationOrder::Id {
            query = query.bind(
                after
                    .map(|after| search_form(&after.name))
                    .unwrap_or_default(),
            );
        }
        let rows = query.fetch_all(&self.readers).await?;
        rows.into_iter()
            .map(RegisteredApplication::try_from)
            .collect()
    }

    /// Up to `limit` applications that a user may use, by an account or by an assignment, in the order of their names.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn applications_of(
        &self,
        user: UserId,
        limit: u32,
    ) -> Result<Vec<RegisteredApplication>> {
        let rows: Vec<ApplicationRow> = sql::query_as(sql::statement!(
            "SELECT ",
            ApplicationRow::COLUMNS,
            "
             FROM applications
             LEFT JOIN accounts ON accounts.application_id = applications.id AND accounts.user_id = $1
             WHERE applications.id IN (",
            granting_applications!(),
            ") AND (accounts.id IS NULL OR accounts.state IN ('invited', 'active'))
             ORDER BY applications.search_key, applications.id LIMIT $2"
        ))
        .bind(user.to_string())
        .bind(i64::from(limit))
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(RegisteredApplication::try_from)
            .collect()
    }
}
