//! The names of the registered types of authorization details, which the discovery document lists.

use std::sync::{Arc, PoisonError, RwLock};

use assent_model::authorization_details::name::TypeName;
use assent_store::{Store, StoreError};

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

    /// Reads the names again.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn reload(&self, store: &Store) -> Result<(), StoreError> {
        let names = store.details_type_names().await?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(names);
        Ok(())
    }
}
