//! Objects that manifests manage: applications and groups with a key, assignments and accounts.

mod lookup;
mod writes;

pub use writes::{AdminWrite, AdminWrites, ExpectedVersions};
