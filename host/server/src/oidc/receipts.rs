//! The receipt endpoint: an application reads the receipts of its own back-channel requests, as evidence.
//!
//! Only an approval has a receipt here. A denial is an error of the token endpoint, and a report must look like a
//! request that expired, so neither has one. The receipts of sign-ins and of protected actions name the address, the
//! browser and the login name, and are for administrators only.

use serde::Serialize;

use super::client_auth::AuthenticatedClient;
use super::error::TokenError;
use crate::domain::{InternalError, Services};
use assent_model::id::ApprovalId;
use assent_model::secret::Digest;
use assent_telemetry::SPANS;

/// A receipt of an application.
#[derive(Debug, Serialize)]
pub struct ReceiptResponse {
    /// The identifier: `receipt_id` of the token response.
    id: String,
    /// When the server received the answer, in seconds since the epoch.
    decided_at: i64,
    /// The SHA-256 digest of the receipt, in hexadecimal.
    digest: String,
    /// The receipt: a JWS in the compact form (RFC 7515).
    receipt: String,
}

/// Returns the receipt with this identifier.
///
/// # Errors
/// [`TokenError::UnknownReceipt`] if it does not exist, belongs to another application, or is not the receipt of an
/// approved back-channel request. [`TokenError::UnauthorizedClient`] for a public client, which cannot authenticate.
#[tracing::instrument(target = SPANS, skip_all, name = "oidc.receipt")]
pub async fn read(
    services: &Services,
    client: &AuthenticatedClient,
    id: &str,
) -> Result<ReceiptResponse, TokenError> {
    let application = &client.application;
    if !application.settings.application_type.is_confidential() {
        return Err(TokenError::UnauthorizedClient);
    }
    let id = id
        .parse::<ApprovalId>()
        .map_err(|_| TokenError::UnknownReceipt)?;
    let found = services
        .store
        .receipt_for_application(id, &application.id)
        .await
        .map_err(InternalError::from)?
        .ok_or(TokenError::UnknownReceipt)?;
    Ok(ReceiptResponse {
        id: found.request.to_string(),
        decided_at: found.decided_at.seconds(),
        digest: Digest::sha256(found.text.as_bytes()).to_text(),
        receipt: found.text,
    })
}
