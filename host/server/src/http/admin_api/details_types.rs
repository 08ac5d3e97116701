//! Types of authorization details (RFC 9396), which devices show and sign.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::context::Context;
use super::input::{Body, List, Page, Query, id_of};
use super::routes::Area;
use crate::domain::Services;
use crate::domain::admin::{self, DeleteDetailsType, RegisterDetailsType};
use crate::domain::audit::moment_text;
use crate::http::problem::Problem;
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_model::authorization_details::name::TypeNameError;
use assent_model::authorization_details::type_definition::TypeSource;
use assent_model::id::GroupId;
use assent_model::language::Language;
use assent_store::RegisteredDetailsType;

/// The kind of the resource in errors.
const KIND: &str = "type of authorization details";

pub(super) fn routes() -> Area {
    Area::new()
        .noun(
            "authorization-details-types",
            "Types of authorization details, with the texts that devices show and sign.",
        )
        .route("list", Permission::ApplicationsRead, routes!(list))
        .route("show", Permission::ApplicationsRead, routes!(show))
        .route("set", Permission::ApplicationsWrite, routes!(put))
        .protected(ProtectedActionKind::RegisterDetailsType)
        .route("delete", Permission::ApplicationsWrite, routes!(remove))
}

/// The text of a type in each language. Members of the schema are in braces, such as `{creditor.name}`, each once.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct DetailsTemplates {
    /// In English.
    en: String,
    /// In German.
    de: String,
}

/// A type of authorization details.
#[derive(Serialize, ToSchema)]
#[schema(as = AuthorizationDetailsType)]
struct DetailsTypeView {
    /// The name, which requests have in `type`.
    #[serde(rename = "type")]
    name: String,
    /// The schema of its elements.
    #[schema(value_type = Object)]
    schema: Value,
    templates: DetailsTemplates,
    /// The id of the group of which a member must approve each request with the type, beside its user; `null` if the
    /// approval of the user is enough.
    #[schema(value_type = Option<String>, required)]
    second_approver_group: Option<GroupId>,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    updated_at: String,
}

impl From<RegisteredDetailsType> for DetailsTypeView {
    fn from(registered: RegisteredDetailsType) -> Self {
        let TypeSource {
            name,
            schema,
            mut templates,
            second_approver_group,
        } = registered.definition.into();
        let mut template = |language| templates.remove(&language).unwrap_or_default();
        Self {
            name: name.into(),
            schema,
            templates: DetailsTemplates {
                en: template(Language::English),
                de: template(Language::German),
            },
            second_approver_group,
            created_at: moment_text(registered.created_at),
            updated_at: moment_text(registered.updated_at),
        }
    }
}

/// The content of a type.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewDetailsType {
    /// A schema of the type `object`, in a part of JSON Schema: `properties`, `required`, `items`, `minItems`,
    /// `maxItems`, `minLength`, `maxLength`, `minimum`, `maximum`, `enum`, `title` and `description`. A string needs
    /// `maxLength` or `enum`, and an array `maxItems`. References are not permitted.
    #[schema(value_type = Object)]
    schema: Value,
    templates: DetailsTemplates,
    /// The id of the group of which a member must approve each request with the type, beside its user (four eyes). Only
    /// back-channel requests can have such a type. Without it the approval of the user is enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    second_approver_group: Option<String>,
}

/// List the types of authorization details.
#[utoipa::path(
    get,
    path = "/authorization-details-types",
    params(Page),
    responses((
        status = 200,
        description = "A page of them, in the order of their names.",
        body = List<DetailsTypeView>
    ))
)]
async fn list(
    State(services): State<Arc<Services>>,
    Query(page): Query<Page>,
) -> Result<Json<List<DetailsTypeView>>, Problem> {
    let rows = admin::all_details_types(&services, page.after()?, page.limit.and_one()).await?;
    Ok(Json(List::from_rows(
        rows,
        page.limit,
        |row| row.definition.name().to_string(),
        DetailsTypeView::from,
    )))
}

/// Show a type of authorization details.
#[utoipa::path(
    get,
    path = "/authorization-details-types/{name}",
    responses((status = 200, description = "The type.", body = DetailsTypeView))
)]
async fn show(
    State(services): State<Arc<Services>>,
    Path(name): Path<String>,
) -> Result<Json<DetailsTypeView>, Problem> {
    let name = id_of(&name, KIND)?;
    let found = admin::details_type(&services, &name).await?;
    Ok(Json(found.into()))
}

/// Register a type of authorization details, or replace it.
///
/// A template must show each member of the schema, because the device of the user signs what it shows. Pending
/// requests keep their text. An application may use the type when its `authorization_details_types` name it.
#[utoipa::path(
    put,
    path = "/authorization-details-types/{name}",
    request_body = NewDetailsType,
    responses((status = 200, description = "The type.", body = DetailsTypeView))
)]
async fn put(
    context: Context,
    Path(name): Path<String>,
    Body(new): Body<NewDetailsType>,
) -> Result<Json<DetailsTypeView>, Problem> {
    let name = name
        .parse()
        .map_err(|error: TypeNameError| Problem::field("type", &error.to_string()))?;
    let DetailsTemplates { en, de } = new.templates;
    let templates = BTreeMap::from([(Language::English, en), (Language::German, de)]);
    let second_approver_group = new.second_approver_group.map(|group| group.parse());
    let second_approver_group = second_approver_group
        .transpose()
        .map_err(|_| Problem::field("second_approver_group", "expected the id of a group"))?;
    let source = TypeSource {
        name,
        schema: new.schema,
        templates,
        second_approver_group,
    };
    let stored = context.run(RegisterDetailsType { source }).await?;
    Ok(Json(stored.into()))
}

/// Delete a type of authorization details.
///
/// New requests with it are rejected. Tokens keep the details that users granted.
#[utoipa::path(
    delete,
    path = "/authorization-details-types/{name}",
    responses((status = 204, description = "Deleted."))
)]
async fn remove(context: Context, Path(name): Path<String>) -> Result<StatusCode, Problem> {
    let command = DeleteDetailsType(id_of(&name, KIND)?);
    context.no_content(command).await
}
