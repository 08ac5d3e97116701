//! Service providers from their metadata: new ones, and what has changed of one that is known.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::id_of;
use super::input::{Body, parse};
use super::service_providers::{self, ServiceProviderView};
use crate::domain::admin::{self, Caller, ServiceProviderChange, steps};
use crate::domain::{Broken, Host};
use crate::http::problem::Problem;
use crate::id::Did;
use crate::model::audit::By;
use crate::model::saml::ServiceProvider;
use crate::model::step::Words;
use crate::saml::metadata::{self, Given};
use crate::secret::Digest;

/// Creates a service provider from a body without `protocol`. With `metadata` or `metadata_url` the metadata specifies the
/// missing members; `entity_id` then selects one of several service providers. Returns the notes of the import beside it.
pub(super) async fn create(host: &Host, body: &Bytes, by: &By) -> Result<(ServiceProvider, Vec<String>), Problem> {
    let given: Given = parse(body)?;
    let mut members: Map<String, Value> = parse(body)?;
    members.remove("metadata");
    members.remove("metadata_certificate");
    let said: ServiceProviderChange = parse(Value::Object(members).to_string().as_bytes())?;
    if !given.is_some() {
        return Ok((admin::create_service_provider(host, said, by).await?, Vec::new()));
    }
    let described = metadata::describe(host, &given, said.entity_id.as_deref(), None).await?;
    let notes = described.notes.clone();
    let change = described.beside(said);
    if change.name.is_none() {
        let expected = "the metadata has no DisplayName; say in `name` what people shall see";
        return Err(Problem::field("name", expected));
    }
    Ok((admin::create_service_provider(host, change, by).await?, notes))
}

/// What to do with the metadata of a service provider that is known.
#[derive(Deserialize, ToSchema)]
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
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    Body(body): Body<Refresh>,
) -> Result<Json<Refreshed>, Problem> {
    let id = id_of(&id, "application")?;
    let Refresh { metadata, metadata_url, metadata_certificate, apply, digest: shown } = body;
    let given = Given { metadata, metadata_url, metadata_certificate };
    loop {
        let Compared { provider, after, changes, digest, notes } =
            compared(&host, &id, &given, shown.as_deref()).await?;
        let application = match changes.is_empty() || !apply {
            true => provider,
            false => match admin::replace_service_provider(&host, &provider, after, &caller.by).await? {
                Some(changed) => changed,
                // What was changed in between is compared with, too.
                None => continue,
            },
        };
        let notes = [notes, admin::service_provider_notes(&host, &application)].concat();
        let application = service_providers::view(application);
        return Ok(Json(Refreshed { changes, digest, notes, applied: apply, application }));
    }
}

/// What metadata would make of an application.
struct Compared {
    provider: ServiceProvider,
    after: ServiceProvider,
    changes: Vec<Changed>,
    digest: String,
    notes: Vec<String>,
}

/// Compares an application with its metadata; refuses other changes than those that were shown, where these are named.
async fn compared(host: &Host, id: &Did, given: &Given, shown: Option<&str>) -> Result<Compared, Problem> {
    let provider = admin::service_provider(host, id).await?;
    let settings = &provider.settings;
    let described = metadata::describe(host, given, Some(&settings.entity_id), Some(settings)).await?;
    let after = admin::changed_service_provider(host, provider.clone(), described.change)?;
    let changes = difference(provider.clone(), after.clone())?;
    let digest = digest(&changes)?;
    if shown.is_some_and(|shown| shown != digest) {
        let detail = "digest: the metadata or the application has changed since the changes were shown; look again";
        return Err(Problem::new(StatusCode::CONFLICT, detail));
    }
    Ok(Compared { provider, after, changes, digest, notes: described.notes })
}

/// What a request of the console would change, in words for the person to approve; `None` where it changes nothing. It names the
/// changes that were shown: what is read after the approval may say something else.
pub(super) async fn in_words(host: &Host, id: Option<&str>, body: &[u8]) -> Result<Option<Words>, Problem> {
    let Refresh { metadata, metadata_url, metadata_certificate, apply, digest } = parse(body)?;
    if !apply {
        return Ok(None);
    }
    let expected = "expected the digest of the changes that were shown";
    let shown = digest.ok_or_else(|| Problem::field("digest", expected))?;
    let given = Given { metadata, metadata_url, metadata_certificate };
    let id = id_of(id.unwrap_or_default(), "application")?;
    let Compared { provider, after, changes, .. } = compared(host, &id, &given, Some(&shown)).await?;
    let members: Vec<&str> = changes.iter().map(|changed| changed.field.as_str()).collect();
    Ok((!members.is_empty()).then(|| steps::metadata_in_words(&provider, &after, &members)))
}

/// The members in which two views of an application differ.
fn difference(before: ServiceProvider, after: ServiceProvider) -> Result<Vec<Changed>, Problem> {
    let members = |provider| match serde_json::to_value(service_providers::view(provider)) {
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

fn digest(changes: &[Changed]) -> Result<String, Problem> {
    Ok(Digest::of(&serde_json::to_vec(changes).map_err(unwritable)?).to_base64url())
}

fn unwritable(why: impl std::fmt::Display) -> Problem {
    Broken::Saml(format!("an application can't be shown: {why}")).into()
}
