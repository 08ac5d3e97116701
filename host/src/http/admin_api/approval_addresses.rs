//! What vendors' authenticators know people by.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};

use super::{List, id_of, parse};
use crate::domain::{Host, admin};
use crate::http::problem::Problem;
use crate::model::audit::By;
use crate::model::delivery::ApprovalAddress;

/// An address as the API shows it.
#[derive(Serialize)]
pub(super) struct AddressView {
    channel: String,
    address: String,
}

fn view(ApprovalAddress { channel, address }: ApprovalAddress) -> AddressView {
    AddressView { channel, address }
}

/// What sets an address.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    address: String,
}

/// `GET /users/{id}/approval-addresses`
pub(super) async fn list(
    State(host): State<Arc<Host>>,
    Path(id): Path<String>,
) -> Result<Json<List<AddressView>>, Problem> {
    let addresses = admin::approval_addresses(&host, id_of(&id, "user")?).await?;
    Ok(Json(List { items: addresses.into_iter().map(view).collect(), next: None }))
}

/// `PUT /users/{id}/approval-addresses/{channel}`
pub(super) async fn set(
    State(host): State<Arc<Host>>,
    Extension(by): Extension<By>,
    Path((id, channel)): Path<(String, String)>,
    body: Bytes,
) -> Result<Json<AddressView>, Problem> {
    let Change { address } = parse(&body)?;
    Ok(Json(view(admin::set_approval_address(&host, id_of(&id, "user")?, &channel, &address, &by).await?)))
}

/// `DELETE /users/{id}/approval-addresses/{channel}`
pub(super) async fn remove(
    State(host): State<Arc<Host>>,
    Extension(by): Extension<By>,
    Path((id, channel)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    admin::remove_approval_address(&host, id_of(&id, "user")?, &channel, &by).await?;
    Ok(StatusCode::NO_CONTENT)
}
