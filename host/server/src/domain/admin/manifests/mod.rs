//! Configuration as code: an owner describes objects in a manifest, and the server plans and executes the changes.

mod accounts;
mod applications;
mod approval;
mod assignments;
mod change;
mod commands;
mod described;
mod execute;
mod export;
mod groups;
mod logos;
mod manifest;
mod plan;
mod planner;
mod queries;

pub use change::{ChangeAction, FieldChange, ObjectKind, PlannedChange};
pub use commands::{ApplyManifest, PutApplication};
pub use export::export_manifest;
pub use manifest::{ManagedSettings, Manifest};
pub use plan::{ManifestPlan, plan_manifest};
pub use queries::{
    managed_application, management_of_application, management_of_group, manifest_owners,
};
