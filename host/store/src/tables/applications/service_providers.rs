//! SAML service providers as applications.

use std::sync::Arc;

use crate::engine::rows::to_json;
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::tables::applications::row::SAML;
use crate::tables::keys::saml_keys;
use crate::tables::users::deprovisioning;
use crate::{Result, Store, VersionedWrite};
use assent_model::application::RegisteredApplication;
use assent_model::id::Did;
use assent_model::saml::{SamlKey, ServiceProvider};
use assent_model::search::search_form;

/// Adds a service provider with its first key.
pub(crate) async fn insert(
    db: &mut Connection,
    provider: &ServiceProvider,
    key: &SamlKey,
) -> Result<()> {
    sql::query(
        "INSERT INTO applications (id, name, search_key, protocol, settings, version, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(provider.id.to_string())
    .bind(&provider.name)
    .bind(search_form(&provider.name))
    .bind(SAML)
    .bind(to_json(&provider.settings)?)
    .bind(provider.version)
    .bind(provider.created_at.millis())
    .bind(provider.updated_at.millis())
    .execute(&mut *db)
    .await?;
    saml_keys::insert(db, key).await?;
    Ok(())
}

/// Replaces a service provider's name and settings.
pub(crate) async fn update(
    db: &mut Connection,
    provider: &ServiceProvider,
) -> Result<VersionedWrite> {
    let result = sql::query(
        "UPDATE applications SET name = $2, settings = $3, version = version + 1, updated_at = $4, search_key = $6
         WHERE id = $1 AND version = $5",
    )
    .bind(provider.id.to_string())
    .bind(&provider.name)
    .bind(to_json(&provider.settings)?)
    .bind(provider.updated_at.millis())
    .bind(provider.version)
    .bind(search_form(&provider.name))
    .execute(&mut *db)
    .await?;
    if result == 0 {
        return Ok(VersionedWrite::Stale);
    }
    if !provider.settings.enabled {
        let id = provider.id.to_string();
        deprovisioning::withdraw_pending_for(db, &id, provider.updated_at).await?;
    }
    Ok(VersionedWrite::Done)
}

impl Store {
    /// The SAML service provider with this id.
    pub async fn service_provider(&self, id: &Did) -> Result<Option<Arc<ServiceProvider>>> {
        Ok(self
            .registered(id)
            .await?
            .and_then(RegisteredApplication::service_provider))
    }
}
