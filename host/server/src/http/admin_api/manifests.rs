//! Configuration as code: plans of manifests, their application, and the export.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::context::Context;
use super::input::{Body, List, id_of};
use super::routes::Area;
use crate::domain::Services;
use crate::domain::admin::{
    self, ApplyManifest, ChangeAction, FieldChange, Manifest, ManifestPlan, ObjectKind,
    PlannedChange,
};
use crate::http::problem::Problem;
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_model::management::ManifestOwner;

pub(super) fn routes() -> Area {
    Area::new()
        .noun("plans", "The changes that a manifest would make.")
        .route("create", Permission::ApplicationsRead, routes!(plan))
        .route("apply", Permission::ApplicationsRead, routes!(apply))
        .protected(ProtectedActionKind::ApplyManifest)
        .noun(
            "manifests",
            "The objects that an owner manages by manifests.",
        )
        .route("list", Permission::ApplicationsRead, routes!(list))
        .route("show", Permission::ApplicationsRead, routes!(export))
}

/// A manifest to plan.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PlanRequest {
    manifest: Manifest,
    /// Whether to delete objects of the owner that the manifest does not name; by default false.
    #[serde(default)]
    #[schema(required = false)]
    prune: bool,
}

/// A manifest to apply, with the digest of its plan.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ApplyRequest {
    manifest: Manifest,
    /// Whether to delete objects of the owner that the manifest does not name, as in the plan.
    #[serde(default)]
    #[schema(required = false)]
    prune: bool,
    /// The digest of the plan. If the current plan differs, nothing is changed.
    digest: String,
    /// The name of an administrator who must approve the plan on a device. The response is the problem
    /// `approval-required` then. Not in the console, where the caller approves.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    approve_by: Option<String>,
}

/// The changes that a manifest makes.
#[derive(Serialize, ToSchema)]
#[schema(as = Plan)]
struct PlanView {
    owner: String,
    prune: bool,
    /// The SHA-256 digest of the changes, with the versions of the objects that they change.
    digest: String,
    /// The changes; empty if all objects match the manifest.
    changes: Vec<ChangeView>,
    /// Warnings for the manifest owner.
    warnings: Vec<String>,
}

/// A change of an object.
#[derive(Serialize, ToSchema)]
#[schema(as = PlannedChange)]
struct ChangeView {
    action: ChangeAction,
    kind: ObjectKind,
    /// The key; of an assignment the keys of the application and the group, of an account the key of the application
    /// and the user's name.
    key: String,
    /// The id of the existing object.
    id: Option<String>,
    /// The members that change, in the order of their names. Of a new object those that have no default.
    fields: Vec<FieldChange>,
}

fn view(plan: ManifestPlan) -> PlanView {
    let change = |change: PlannedChange| ChangeView {
        action: change.action,
        kind: change.kind,
        key: change.key,
        id: change.id,
        fields: change.fields,
    };
    PlanView {
        owner: plan.owner.to_string(),
        prune: plan.prune,
        digest: plan.digest.to_text(),
        changes: plan.changes.into_iter().map(change).collect(),
        warnings: plan.warnings,
    }
}

/// Plan a manifest: the changes that it would make.
///
/// The server changes nothing. The caller needs the permission for each of the changes.
#[utoipa::path(
    post,
    path = "/plans",
    request_body = PlanRequest,
    responses((status = 200, description = "The plan.", body = PlanView))
)]
async fn plan(
    context: Context,
    Body(PlanRequest { manifest, prune }): Body<PlanRequest>,
) -> Result<Json<PlanView>, Problem> {
    let (_, plan) = admin::plan_manifest(&context.0, &manifest, prune).await?;
    Ok(Json(view(plan)))
}

/// Apply a manifest: make the changes of the plan with this digest.
///
/// The server plans again, and makes all changes in one transaction. If the current plan differs, it changes nothing,
/// and the response is the problem `plan-changed`.
#[utoipa::path(
    post,
    path = "/plans/apply",
    request_body = ApplyRequest,
    responses((status = 200, description = "The plan that was applied.", body = PlanView))
)]
async fn apply(
    context: Context,
    Body(request): Body<ApplyRequest>,
) -> Result<Json<PlanView>, Problem> {
    let ApplyRequest {
        manifest,
        prune,
        digest,
        approve_by,
    } = request;
    let context = match &approve_by {
        Some(name) => context.approved_by(name).await?,
        None => context,
    };
    let command = ApplyManifest {
        manifest,
        prune,
        digest,
    };
    Ok(Json(view(context.run(command).await?)))
}

/// An owner of managed objects.
#[derive(Serialize, ToSchema)]
struct ManifestOwnerView {
    owner: String,
}

/// List the owners of managed objects.
#[utoipa::path(
    get,
    path = "/manifests",
    responses((status = 200, description = "The owners, in the order of their names.", body = List<ManifestOwnerView>))
)]
async fn list(
    State(services): State<Arc<Services>>,
) -> Result<Json<List<ManifestOwnerView>>, Problem> {
    let owners = admin::manifest_owners(&services).await?;
    let view = |owner: ManifestOwner| ManifestOwnerView {
        owner: owner.to_string(),
    };
    Ok(Json(List::whole(owners.into_iter().map(view))))
}

/// Read the manifest of all objects of an owner.
///
/// It has no ids and no secrets. Two instances with the same objects return the same text.
#[utoipa::path(
    get,
    path = "/manifests/{owner}",
    responses((status = 200, description = "The manifest.", body = Manifest))
)]
async fn export(context: Context, Path(owner): Path<String>) -> Result<Json<Value>, Problem> {
    let owner: ManifestOwner = id_of(&owner, "owner")?;
    Ok(Json(admin::export_manifest(&context.0, &owner).await?))
}
