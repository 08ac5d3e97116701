//! The OpenAPI document, generated from the routes. This module adds the parts that all routes have in common:
//! security, problems, headers.

mod nullable;
mod operation;

use std::sync::LazyLock;

use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::authorize::{CSRF, USER};
use super::routes::Area;
use crate::http::admin_api::areas::areas;
use crate::http::admin_api::openapi::operation::{operation, response_name};
use crate::http::api::openapi::{DocumentParts, error_response, extend};
use crate::http::header_text;
use crate::http::problem::{ProblemKind, ProblemView};
use assent_model::administration::AdminScope;

const DESCRIPTION: &str = "\
The API of the console and the command line.

**Callers.** A token of `assent admin token` acts as an owner. A console session has the permissions of its \
user's role, and \
needs the header `X-Assent-User` with the value of `id` in `GET /me`, and for each change `X-Assent-CSRF` with the \
value of `csrf_token`. A service account is an \
application whose settings have `admin_scopes`: it requests them from the token endpoint with \
`grant_type=client_credentials` and `scope`. Each operation lists its permission in `x-permission`; \
`GET /me` returns the \
permissions of the caller.

**Lists** have `items` and, if there is another page, `next`, the value of `after` in the next request. \
**Updates** apply only to the version in `If-Match`, if the request has that header. \
**POST requests** with an `Idempotency-Key` are executed once: for 24 hours the same request \
receives the same response. \
**Errors** are problem details (RFC 9457) with a stable `type`.";

static DOCUMENT: LazyLock<String> = LazyLock::new(|| {
    let document = document(areas());
    serde_json::to_string_pretty(&document).unwrap_or_default()
});

/// The document: JSON, OpenAPI 3.1.
pub fn text() -> &'static str {
    &DOCUMENT
}

/// `GET /openapi.json`: public, because it contains no personal data.
pub(super) async fn serve(request: Request) -> Response {
    static TAG: LazyLock<String> = LazyLock::new(|| {
        format!(
            "\"{}\"",
            assent_model::secret::Digest::sha256(DOCUMENT.as_bytes()).to_base64url()
        )
    });
    let mut known = header_text::elements(request.headers(), &header::IF_NONE_MATCH);
    let mut response = if known.any(|tag| tag == *TAG) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        (
            [(header::CONTENT_TYPE, "application/openapi+json;version=3.1")],
            text(),
        )
            .into_response()
    };
    response.headers_mut().insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("public, max-age=300"),
    );
    if let Ok(tag) = HeaderValue::from_str(&TAG) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

fn document(areas: Vec<Area>) -> Value {
    let mut parts = DocumentParts::of_api::<ProblemView>();
    let nouns = areas.iter().flat_map(|area| &area.nouns);
    let tags: Value = nouns
        .map(|noun| json!({"name": noun.name, "description": noun.about}))
        .collect();
    for mut route in areas.into_iter().flat_map(Area::into_routes) {
        parts.add_schemas(std::mem::take(&mut route.schemas));
        let (path, method) = (route.path.clone(), route.method.clone());
        parts.add_operation(path, &method, operation(route));
    }
    let further = json!({
        "tags": tags,
        "security": [{"token": []}, {"service": []}, {"session": [], "user": [], "csrf": []}],
    });
    let mut document = parts.document("Assent admin API", DESCRIPTION, "/admin/api/v1", further);
    if let Some(schemas) = document
        .pointer_mut("/components/schemas")
        .and_then(Value::as_object_mut)
    {
        nullable::describe_null(schemas);
        let known = schemas.clone();
        schemas.values_mut().for_each(|schema| join(schema, &known));
        // A member that a request omits keeps its value. With a `default` in the schema, some generated clients would
        // send it.
        let members = schemas
            .values_mut()
            .filter_map(|schema| schema.get_mut("properties")?.as_object_mut());
        for member in members
            .flat_map(Map::values_mut)
            .filter_map(Value::as_object_mut)
        {
            member.remove("default");
        }
        for (list, schema) in schemas.iter_mut() {
            let item = list
                .strip_prefix("List_")
                .filter(|item| known.contains_key(*item));
            if let (Some(item), Some(items)) = (item, schema.pointer_mut("/properties/items/items"))
            {
                *items = json!({"$ref": format!("#/components/schemas/{item}")});
            }
        }
        // An empty change is valid for both protocols.
        if let Some(change) = schemas
            .get_mut("ApplicationChange")
            .and_then(Value::as_object_mut)
            && let Some(either) = change.remove("oneOf")
        {
            change.insert("anyOf".to_owned(), either);
        }
    }
    let common = json!({"securitySchemes": security(), "responses": problems()});
    extend(&mut document, "/components", common);
    document
}

/// Joins the parts of a type that serde flattens into one object. As parts of an `allOf`, each part would reject the
/// members of the others.
fn join(schema: &mut Value, known: &Map<String, Value>) {
    let Some(Value::Array(parts)) = schema
        .as_object_mut()
        .and_then(|schema| schema.remove("allOf"))
    else {
        return;
    };
    let mut joined = json!({"type": "object", "properties": {}, "required": []});
    for part in parts {
        let name = part
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|name| name.strip_prefix("#/components/schemas/"));
        let mut part = name
            .and_then(|name| known.get(name))
            .unwrap_or(&part)
            .clone();
        join(&mut part, known);
        for (list, into) in [("properties", "/properties"), ("required", "/required")] {
            match (
                joined.pointer_mut(into),
                part.get_mut(list).map(Value::take),
            ) {
                (Some(Value::Object(all)), Some(Value::Object(more))) => all.extend(more),
                (Some(Value::Array(all)), Some(Value::Array(more))) => all.extend(more),
                _ => {}
            }
        }
        if let (Some(closed), Some(joined)) =
            (part.get("additionalProperties"), joined.as_object_mut())
        {
            joined.insert("additionalProperties".to_owned(), closed.clone());
        }
    }
    if let (Some(schema), Value::Object(joined)) = (schema.as_object_mut(), joined) {
        schema.extend(joined);
    }
}

fn security() -> Value {
    let scopes: Map<String, Value> = AdminScope::ALL
        .iter()
        .map(|scope| (scope.as_str().to_owned(), json!(scope.summary())))
        .collect();
    json!({
        "token": {"type": "http", "scheme": "bearer", "description": "A token of `assent admin token`."},
        "service": {
            "type": "oauth2",
            "description": "An access token of an application whose settings have `admin_scopes`.",
            "flows": {"clientCredentials": {"tokenUrl": "/oidc/token", "scopes": scopes}},
        },
        "session": {
            "type": "apiKey",
            "in": "cookie",
            "name": "__Host-assent-session",
            "description": "The session of a user with a role in the console, who signed in with a device.",
        },
        "user": {
            "type": "apiKey",
            "in": "header",
            "name": USER,
            "description": "For a session, with every request except `GET /me`: the value of `id` there. If another \
                            user has signed in in the browser since, nothing is read or changed.",
        },
        "csrf": {
            "type": "apiKey",
            "in": "header",
            "name": CSRF,
            "description": "For a session, with every method except GET: the value of `csrf_token` in `GET /me`.",
        },
    })
}

/// The problem responses, one for each status, with the problem types of that status.
fn problems() -> Value {
    let mut responses: Map<String, Value> = Map::new();
    for (first, _) in ProblemKind::ALL {
        let status = first.status();
        let same_status = |kind: &&(ProblemKind, _)| kind.0.status() == status;
        let kinds = ProblemKind::ALL.iter().filter(same_status);
        let names: Vec<&str> = kinds.map(|(kind, _)| kind.as_str()).collect();
        let description = status.canonical_reason().unwrap_or_default();
        let mut response = error_response(
            description,
            "application/problem+json",
            "Problem",
            "type",
            &names,
        );
        if names.contains(&ProblemKind::ApprovalRequired.as_str()) {
            let description = "The language of `action_approval.summary`, if the problem has it.";
            let header = json!({"description": description, "schema": {"type": "string"}});
            extend(
                &mut response,
                "",
                json!({"headers": {"Content-Language": header}}),
            );
        }
        responses.insert(response_name(status), response);
    }
    Value::Object(responses)
}
