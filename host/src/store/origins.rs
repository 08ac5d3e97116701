//! Where single-page applications run.

use super::rows::from_json;
use super::{Result, Store};
use crate::model::application::{ApplicationType, OidcSettings};

impl Store {
    /// Whether pages of this origin belong to a single-page application.
    pub async fn is_spa_origin(&self, origin: &str) -> Result<bool> {
        let rows: Vec<(String,)> = sqlx::query_as("SELECT settings FROM applications").fetch_all(&self.readers).await?;
        for (settings,) in rows {
            let settings: OidcSettings = from_json(&settings, "an application's settings")?;
            let is_origin =
                |uri: &str| url::Url::parse(uri).is_ok_and(|uri| uri.origin().ascii_serialization() == origin);
            if settings.application_type == ApplicationType::Spa
                && settings.redirect_uris.iter().any(|uri| is_origin(uri.as_str()))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
