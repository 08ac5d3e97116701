//! Applications and their versions in their stored form.

use std::sync::Arc;

use crate::engine::batch::loader::Row;
use crate::engine::rows::{cell, from_json, moment, parse};
use crate::engine::sql;
use crate::tables::applications::client_secrets;
use crate::{Result, StoreError};
use assent_model::application::{Application, RegisteredApplication};
use assent_model::saml::ServiceProvider;

/// The stored name of OpenID Connect.
pub(crate) const OIDC: &str = "oidc";
/// The stored name of SAML 2.0.
pub(crate) const SAML: &str = "saml";

pub(crate) const BY_ID: &str = sql::statement!(
    "SELECT ",
    ApplicationRow::COLUMNS,
    " FROM applications WHERE id IN ({$})"
);

pub(crate) const VERSION_BY_ID: &str =
    "SELECT id, version, updated_at, (SELECT MAX(epoch) FROM token_epochs) AS epoch
     FROM applications WHERE id IN ({$})";

crate::engine::sql::row! {
    #[derive(Clone)]
    pub(crate) struct ApplicationVersionRow {
        pub(super) id: String,
        pub(super) version: i64,
        pub(super) updated_at: i64,
        pub(super) epoch: i64,
    }
}

impl Row for ApplicationVersionRow {
    type Key = String;
    type Value = Self;
    fn key(&self) -> String {
        self.id.clone()
    }
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
