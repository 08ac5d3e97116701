//! The settings of receipts: `[receipts]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::HumanDuration;

/// Receipts: the signed evidence of approvals, in the database. `GET /admin/api/v1/receipts/{id}` returns one, and
/// `assent receipts verify` verifies it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Receipts {
    /// How long the server stores a receipt: up to `3650d`. With `0s` it stores none, and deletes those that it has.
    pub retention: HumanDuration,
}

impl Default for Receipts {
    fn default() -> Self {
        Self {
            retention: HumanDuration::days(400),
        }
    }
}
