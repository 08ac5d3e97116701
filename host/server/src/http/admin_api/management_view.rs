//! The manifest that manages an object, as the API shows it.

use serde::Serialize;
use utoipa::ToSchema;

use assent_model::management::Management;

/// The manifest that manages an object.
#[derive(Serialize, ToSchema)]
#[schema(as = Management)]
pub(super) struct ManagementView {
    /// The owner of the manifest.
    owner: String,
    /// The key of the object in the manifest.
    key: String,
}

impl From<Management> for ManagementView {
    fn from(Management { owner, key }: Management) -> Self {
        Self {
            owner: owner.to_string(),
            key: key.to_string(),
        }
    }
}
