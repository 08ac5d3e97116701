//! Service providers from their metadata: new ones, and what has changed of one that is known.

use axum::Json;
use axum::body::Bytes;
use axum::extract::Path;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::context::Context;
use super::input::{Body, parse, parse_strictly};
use super::service_provider_view;
use crate::domain::admin::{
    self, AdminCommand, AdminContext, AdminError, ApprovedPlan, Execution, Planned,
    ServiceProviderChange,
};
use crate::domain::protected_actions::{ProtectedAction, ServiceProviderState};
use crate::domain::{Host, InternalError};
use crate::http::admin_api::service_provider_view::ServiceProviderView;
use crate::http::admin_api::values::id_of;
use crate::http::problem::Problem;
use crate::saml::metadata::{self, MetadataSource};
use assent_model::audit::AuditContext;
use assent_model::id::Did;
use assent_model::saml::ServiceProvider;
use assent_model::secret::Digest;

/// What creates a service provider, from a body without `protocol`. With `metadata` or `metadata_url` the metadata specifies the
/// missing members; `entity_id` then selects one of several service providers. Returns the notes of the import beside it.
pub(super) async fn described(
    context: &Context,
    body: &Bytes,
) -> Result<(ServiceProviderChange, Vec<String>), Problem> {
    let given: MetadataSource = parse(body)?;
    let mut members: Map<String, Value> = parse(body)?;
    members.remove("metadata");
    members.remove("metadata_certificate");
    let said: ServiceProviderChange =
        parse_strictly(Value::Object(members).to_string().as_bytes())?;
    if !given.is_some() {
        return Ok((said, Vec::new()));
    }
    let host = &context.0.host;
    let described = metadata::describe(host, &given, said.entity_id.as_deref(), None).await?;
    let notes = described.notes.clone();
    let change = described.beside(said);
    if change.name.is_none() {
        let expected = "the metadata has no DisplayName; say in `name` what people shall see";
        return Err(Problem::field("name", expected));
    }
    Ok((change, notes))
}

/// What to do with the metadata of a service provider that is known.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = MetadataRefresh)]
pub(super) struct Refresh {
    /// The document.
    #[serde(default)]
    metadata: Option<String>,
    /// Where it is published.
    #[serde(default)]
    metadata_url: Option<String>,
    /// Whose key must have signed it, in PEM form.
    #[serde(default)]
    metadata_certificate: Option<String>,
    /// Whether the changes are made, and not only shown.
    #[serde(default)]
    apply: bool,
    /// The digest of the changes that were shown: no others are made.
    #[serde(default)]
    digest: Option<String>,
}

/// A member of the application that the metadata would change.
#[derive(Serialize, ToSchema)]
#[schema(as = MetadataDifference)]
struct Changed {
    field: String,
    from: Value,
    to: Value,
}

/// What metadata changes, or would change.
#[derive(Serialize, ToSchema)]
#[schema(as = MetadataRefreshed)]
pub(super) struct Refreshed {
    changes: Vec<Changed>,
    /// Stands for the changes, and for nothing else.
    digest: String,
    notes: Vec<String>,
    applied: bool,
    /// The application as it is now.
    application: ServiceProviderView,
}

/// Compare an application with its metadata, or change it to that.
///
/// What the metadata says otherwise than what is registered. With `apply` the changes are made; with the `digest` of those
/// that were shown before, these and no others. Without `metadata` and `metadata_url` it is read from the registered address.
#[utoipa::path(post, path = "/applications/{id}/metadata", request_body = Refresh, responses((status = 200, description = "The differences.", body = Refreshed)))]
pub(super) async fn refresh(
    context: Context,
    Path(id): Path<String>,
    Body(refresh): Body<Refresh>,
) -> Result<Json<Refreshed>, Problem> {
    let application = id_of(&id, "application")?;
    let applied = refresh.apply;
    let command = ApplyMetadata {
        application,
        refresh,
    };
    let Comparison {
        provider,
        changes,
        digest,
        notes,
        ..
    } = context.run(command).await?;
    let notes = [
        notes,
        admin::service_provider_notes(&context.0.host, &provider),
    ]
    .concat();
    Ok(Json(Refreshed {
        changes,
        digest,
        notes,
        applied,
        application: service_provider_view::view(provider),
    }))
}

/// Compares a service provider with its metadata and, if the request says so, updates it to that.
#[derive(Debug, Serialize)]
struct ApplyMetadata {
    application: Did,
    refresh: Refresh,
}

impl AdminCommand for ApplyMetadata {
    type Plan = (Comparison, bool);
    type Outcome = Comparison;

    async fn plan(&self, context: &AdminContext) -> admin::Result<Planned<(Comparison, bool)>> {
        let authorization = context.caller.authorize_application_writes()?;
        let Refresh {
            metadata,
            metadata_url,
            metadata_certificate,
            apply,
            digest,
        } = &self.refresh;
        // What is read after the approval may say something else, so the approval is for the changes that were shown.
        if *apply && context.console().is_some() && digest.is_none() {
            return Err(AdminError::Invalid {
                field: "digest",
                expected: "expected the digest of the changes that were shown".to_owned(),
            });
        }
        let given = MetadataSource {
            metadata: metadata.clone(),
            metadata_url: metadata_url.clone(),
            metadata_certificate: metadata_certificate.clone(),
        };
        let host = &context.host;
        let found = compared(host, &self.application, &given, digest.as_deref()).await?;
        let applies = *apply && !found.changes.is_empty();
        let action = applies.then(|| ProtectedAction::ApplyMetadata {
            application: self.application.clone(),
            before: ServiceProviderState::of(&found.provider),
            after: ServiceProviderState::of(&found.after),
            members: found
                .changes
                .iter()
                .map(|changed| changed.field.clone())
                .collect(),
        });
        Ok(Planned::new(authorization, (found, applies), action))
    }

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<(Comparison, bool)>,
        by: &AuditContext,
    ) -> admin::Result<Execution<Comparison>> {
        let (found, applies) = approved.into_plan();
        if !applies {
            return Ok(Execution::Done(found));
        }
        let after = found.after.clone();
        let replaced =
            admin::replace_service_provider(&context.host, &found.provider, after, by).await?;
        // What was changed in between is compared with, too.
        Ok(replaced.map_or(Execution::Overtaken, |provider| {
            Execution::Done(Comparison { provider, ..found })
        }))
    }
}

/// What metadata would make of an application.
struct Comparison {
    provider: ServiceProvider,
    after: ServiceProvider,
    changes: Vec<Changed>,
    digest: String,
    notes: Vec<String>,
}

/// Compares an application with its metadata; refuses other changes than those that were shown, where these are named.
async fn compared(
    host: &Host,
    id: &Did,
    given: &MetadataSource,
    shown: Option<&str>,
) -> admin::Result<Comparison> {
    let provider = admin::service_provider(host, id).await?;
    let settings = &provider.settings;
    let described =
        metadata::describe(host, given, Some(&settings.entity_id), Some(settings)).await?;
    let after = admin::changed_service_provider(host, provider.clone(), described.change)?;
    let changes = difference(provider.clone(), after.clone())?;
    let digest = digest(&changes)?;
    if shown.is_some_and(|shown| shown != digest) {
        return Err(AdminError::Conflict(
            "digest: the metadata or the application has changed since the changes were shown; look again",
        ));
    }
    Ok(Comparison {
        provider,
        after,
        changes,
        digest,
        notes: described.notes,
    })
}

/// The members in which two views of an application differ.
fn difference(before: ServiceProvider, after: ServiceProvider) -> admin::Result<Vec<Changed>> {
    let members = |provider| match serde_json::to_value(service_provider_view::view(provider)) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(unwritable("it is no object")),
        Err(error) => Err(unwritable(error)),
    };
    let mut after = members(after)?;
    let pairs = members(before)?.into_iter().map(|(field, from)| {
        let to = after.remove(&field).unwrap_or_default();
        Changed { field, from, to }
    });
    Ok(pairs.filter(|changed| changed.from != changed.to).collect())
}

fn digest(changes: &[Changed]) -> admin::Result<String> {
    Ok(Digest::of(&serde_json::to_vec(changes).map_err(unwritable)?).to_base64url())
}

fn unwritable(why: impl std::fmt::Display) -> AdminError {
    InternalError::Saml(format!("an application can't be shown: {why}")).into()
}
