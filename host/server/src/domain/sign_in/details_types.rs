//! The names of the registered types of authorization details, which the discovery document lists.

use std::sync::{Arc, PoisonError, RwLock};

use crate::domain::{InternalError, Services};
use assent_model::authorization_details::name::TypeName;

/// The names as this instance read them last. It reads them every few seconds, and after its own changes.
#[derive(Debug, Default)]
pub struct DetailsTypeNames(RwLock<Arc<Vec<TypeName>>>);

impl DetailsTypeNames {
    /// These names.
    pub fn new(names: Vec<TypeName>) -> Self {
        Self(RwLock::new(Arc::new(names)))
    }

    /// Returns the names, in their order.
    pub fn current(&self) -> Arc<Vec<TypeName>> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Reads the names again.
///
/// # Errors
/// If the database fails.
pub async fn reload(services: &Services) -> Result<(), InternalError> {
    let names = services.store.details_type_names().await?;
    let known = &services.details_types.0;
    *known.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(names);
    Ok(())
}
