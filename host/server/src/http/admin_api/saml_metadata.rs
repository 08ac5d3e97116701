//! Service providers from their metadata: new ones, and the differences of a registered one.

use axum::Json;
use axum::extract::Path;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::context::Context;
use super::input::{Body, id_of};
use crate::domain::admin::{self, ServiceProviderChange, ServiceProviderDocument};
use crate::http::problem::Problem;
use crate::saml::metadata::{
    self, ApplyMetadata, MemberDifference, MetadataComparison, MetadataRefresh, MetadataSource,
};

/// Returns the values of a new service provider, with the notes of the import. With `metadata` or `metadata_url` the
/// metadata specifies the missing members; `entity_id` then selects one of several service providers.
pub(super) async fn describe(
    context: &Context,
    source: &MetadataSource,
    requested: ServiceProviderChange,
) -> Result<(ServiceProviderChange, Vec<String>), Problem> {
    if !source.is_some() {
        return Ok((requested, Vec::new()));
    }
    let services = &context.0.services;
    let described =
        metadata::describe(services, source, requested.entity_id.as_deref(), None).await?;
    let notes = described.notes.clone();
    let change = described.beside(requested);
    if change.name.is_none() {
        let expected = "the metadata has no DisplayName; set `name` to the name that users see";
        return Err(Problem::field("name", expected));
    }
    Ok((change, notes))
}

/// A member of the application that the metadata would change.
#[derive(Serialize, ToSchema)]
#[schema(as = MetadataDifference)]
struct DifferenceView {
    field: String,
    from: Value,
    to: Value,
}

/// The changes by metadata.
#[derive(Serialize, ToSchema)]
#[schema(as = MetadataComparison)]
pub(super) struct MetadataComparisonView {
    changes: Vec<DifferenceView>,
    /// The digest of the changes.
    digest: String,
    notes: Vec<String>,
    applied: bool,
    /// The updated application.
    application: ServiceProviderDocument,
}

/// Compare an application with its metadata, or apply the metadata.
///
/// Returns the differences between the metadata and the registered values. `apply` applies them; with `digest`, only if
/// they equal the differences of an earlier response. Without `metadata` and `metadata_url` the server fetches the
/// registered URL.
#[utoipa::path(
    post,
    path = "/applications/{id}/metadata",
    request_body = MetadataRefresh,
    responses((status = 200, description = "The differences.", body = MetadataComparisonView))
)]
pub(super) async fn refresh(
    context: Context,
    Path(id): Path<String>,
    Body(refresh): Body<MetadataRefresh>,
) -> Result<Json<MetadataComparisonView>, Problem> {
    let application = id_of(&id, "application")?;
    let applied = refresh.apply;
    let command = ApplyMetadata {
        application,
        refresh,
    };
    let MetadataComparison {
        provider,
        changes,
        digest,
        notes,
    } = context.run(command).await?;
    let notes = [
        notes,
        admin::service_provider_notes(&context.0.services, &provider),
    ]
    .concat();
    let difference = |MemberDifference { field, from, to }| DifferenceView { field, from, to };
    Ok(Json(MetadataComparisonView {
        changes: changes.into_iter().map(difference).collect(),
        digest,
        notes,
        applied,
        application: ServiceProviderDocument::new(&provider),
    }))
}
