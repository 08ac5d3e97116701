//! The paths of receipts and registrations, which end with an id.

use crate::oidc::client_auth::ClientEndpoint;

/// The key set of receipts, which anyone may read.
const RECEIPT_KEYS: &str = "/oidc/receipts/keys";

/// Whether the path is that of one receipt.
pub(crate) fn is_receipt(path: &str) -> bool {
    let base = ClientEndpoint::Receipts.path();
    let id = path
        .strip_prefix(base)
        .and_then(|rest| rest.strip_prefix('/'));
    path != RECEIPT_KEYS && id.is_some_and(|id| !id.is_empty() && !id.contains('/'))
}

/// The path of a registration.
pub(crate) const REGISTER: &str = "/oidc/register";

/// Whether the path is that of one of these endpoints.
pub(crate) fn is_registration(path: &str) -> bool {
    path.strip_prefix(REGISTER)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
