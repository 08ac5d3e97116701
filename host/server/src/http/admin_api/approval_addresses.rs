//! What vendors' authenticators know people by.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::context::Context;
use super::id_of;
use super::input::{Body, List};
use super::routes::Area;
use crate::domain::Host;
use crate::domain::admin::{self, RemoveExternalAuthenticator, SetExternalAuthenticator};
use crate::http::problem::Problem;
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_model::delivery::ApprovalAddress;

pub(super) fn routes() -> Area {
    Area::new("Approval addresses")
        .route(Permission::UsersRead, routes!(list))
        .protected(
            Permission::UsersWrite,
            ProtectedActionKind::SetExternalAuthenticator,
            routes!(set),
        )
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
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ApprovalAddressChange)]
struct Change {
    address: String,
}

/// List a person's addresses.
#[utoipa::path(get, path = "/users/{id}/approval-addresses", responses((status = 200, description = "All of them.", body = List<AddressView>)))]
async fn list(
    State(host): State<Arc<Host>>,
    Path(id): Path<String>,
) -> Result<Json<List<AddressView>>, Problem> {
    let addresses = admin::approval_addresses(&host, id_of(&id, "user")?).await?;
    Ok(Json(List::whole(addresses.into_iter().map(view))))
}

/// Say what a vendor knows a person by.
///
/// The channel is one that the settings trust to say that a person approved. Who was invited can sign in from then on.
#[utoipa::path(put, path = "/users/{id}/approval-addresses/{channel}", request_body = Change, responses((status = 200, description = "The address.", body = AddressView)))]
async fn set(
    context: Context,
    Path((id, channel)): Path<(String, String)>,
    Body(Change { address }): Body<Change>,
) -> Result<Json<AddressView>, Problem> {
    let command = SetExternalAuthenticator {
        user: id_of(&id, "user")?,
        channel,
        address,
    };
    Ok(Json(view(context.run(command).await?)))
}

/// Take a person's address for a channel away.
#[utoipa::path(delete, path = "/users/{id}/approval-addresses/{channel}", responses((status = 204, description = "Taken away.")))]
async fn remove(
    context: Context,
    Path((id, channel)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let user = id_of(&id, "user")?;
    let command = RemoveExternalAuthenticator { user, channel };
    context.run(command).await?;
    Ok(StatusCode::NO_CONTENT)
}
