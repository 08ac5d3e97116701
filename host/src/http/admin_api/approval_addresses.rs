//! What vendors' authenticators know people by.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::id_of;
use super::input::{Body, List};
use super::routes::Area;
use crate::domain::Host;
use crate::domain::admin::{self, Caller};
use crate::http::problem::Problem;
use crate::model::administration::{Danger, Permission};
use crate::model::delivery::ApprovalAddress;
use crate::model::user::User;

pub(super) fn routes() -> Area {
    Area::new("Approval addresses")
        .route(Permission::UsersRead, routes!(list))
        .danger(Permission::UsersWrite, Danger::SetApprovalAddress, routes!(set))
        .route(Permission::UsersWrite, routes!(remove))
}

/// What the vendor of an approval channel knows a person by.
#[derive(Serialize, ToSchema)]
#[schema(as = ApprovalAddress)]
struct AddressView {
    /// The name of the channel.
    channel: String,
    address: String,
}

fn view(ApprovalAddress { channel, address }: ApprovalAddress) -> AddressView {
    AddressView { channel, address }
}

/// What sets an address.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ApprovalAddressChange)]
struct Change {
    address: String,
}

/// List a person's addresses.
#[utoipa::path(get, path = "/users/{id}/approval-addresses", responses((status = 200, description = "All of them.", body = List<AddressView>)))]
async fn list(State(host): State<Arc<Host>>, Path(id): Path<String>) -> Result<Json<List<AddressView>>, Problem> {
    let addresses = admin::approval_addresses(&host, id_of(&id, "user")?).await?;
    Ok(Json(List::whole(addresses.into_iter().map(view))))
}

/// Say what a vendor knows a person by.
///
/// The channel is one that the settings trust to say that a person approved. Who was invited can sign in from then on.
#[utoipa::path(put, path = "/users/{id}/approval-addresses/{channel}", request_body = Change, responses((status = 200, description = "The address.", body = AddressView)))]
async fn set(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    Path((id, channel)): Path<(String, String)>,
    Body(Change { address }): Body<Change>,
) -> Result<Json<AddressView>, Problem> {
    let guard = |user: &User| caller.must_reach(user).and_then(|()| caller.must_have_asked_about(user));
    let id = id_of(&id, "user")?;
    Ok(Json(view(admin::set_approval_address(&host, id, &channel, &address, &caller.by, &guard).await?)))
}

/// Take a person's address for a channel away.
#[utoipa::path(delete, path = "/users/{id}/approval-addresses/{channel}", responses((status = 204, description = "Taken away.")))]
async fn remove(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    Path((id, channel)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let guard = |user: &User| caller.must_reach(user);
    admin::remove_approval_address(&host, id_of(&id, "user")?, &channel, &caller.by, &guard).await?;
    Ok(StatusCode::NO_CONTENT)
}
