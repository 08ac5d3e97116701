//! Receipts: the signed evidence of approvals.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::input::id_of;
use super::routes::Area;
use crate::domain::admin::AdminError;
use crate::domain::audit::moment_text;
use crate::domain::{InternalError, Services};
use crate::http::problem::Problem;
use assent_model::administration::Permission;
use assent_model::secret::Digest;
use assent_store::StoredReceipt;

/// The permission is one of its own, because the export of evidence is another task than the work with the audit log.
pub(super) fn routes() -> Area {
    Area::new()
        .noun(
            "receipts",
            "Receipts: the signed evidence of answers to approval requests.",
        )
        .route("show", Permission::ReceiptsRead, routes!(show))
}

/// A receipt. `assent receipts verify` verifies it without the server.
#[derive(Serialize, ToSchema)]
#[schema(as = Receipt)]
struct ReceiptView {
    /// The id of the approval request: `detail.request` of an entry of the audit log.
    id: String,
    /// The user who answered.
    user_id: String,
    #[schema(format = DateTime)]
    decided_at: String,
    /// The SHA-256 digest of the receipt, in hexadecimal: `detail.receipt` of the entry of the audit log.
    digest: String,
    /// The receipt: a JWS in the compact form (RFC 7515).
    receipt: String,
}

impl From<StoredReceipt> for ReceiptView {
    fn from(stored: StoredReceipt) -> Self {
        Self {
            id: stored.request.to_string(),
            user_id: stored.user.to_string(),
            decided_at: moment_text(stored.decided_at),
            digest: Digest::sha256(stored.text.as_bytes()).to_text(),
            receipt: stored.text,
        }
    }
}

/// Show the receipt of an answer to an approval request.
///
/// A request that was not answered has none. The server deletes a receipt after `receipts.retention`, and with the
/// erasure of its user.
#[utoipa::path(
    get,
    path = "/receipts/{id}",
    responses((status = 200, description = "The receipt.", body = ReceiptView)),
)]
async fn show(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
) -> Result<Json<ReceiptView>, Problem> {
    let found = services.store.receipt(id_of(&id, "receipt")?).await;
    let found = found
        .map_err(InternalError::from)?
        .ok_or(AdminError::NotFound("receipt"))?;
    Ok(Json(found.into()))
}
