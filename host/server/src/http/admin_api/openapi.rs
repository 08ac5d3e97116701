//! The OpenAPI document, made of the routes themselves. What all routes have in common is said here: security, problems,
//! headers.

use std::sync::LazyLock;

use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use utoipa::openapi::schema::ComponentsBuilder;
use utoipa::openapi::{InfoBuilder, OpenApiBuilder};
use utoipa::{PartialSchema, ToSchema};

use super::authorize::CSRF;
use super::idempotency::LONGEST;
use super::routes::{Area, Route};
use crate::http::admin_api::areas::areas;
use crate::http::problem::{ProblemKind, ProblemView};
use assent_model::administration::{AdminScope, ProtectedActionKind};

const DESCRIPTION: &str = "\
Everything that the console and the command line do.

**Who calls.** A token of `assent admin token` acts as an owner. A session of the console acts with its person's role, and \
changes something only with the header `X-Assent-CSRF`, whose value `GET /me` tells. A service account is an application \
whose settings have `admin_scopes`: it asks the token endpoint for them with `grant_type=client_credentials` and `scope`. \
Each operation names the permission that it needs in `x-permission`; `GET /me` says which ones whoever calls has.

**Lists** have `items` and, where there is more, `next`, which the next request gives as `after`. \
**Changes** are made to the version that `If-Match` names, where it is sent. \
**A POST** with an `Idempotency-Key` is done once: for 24 hours the same request gets the same answer. \
**Errors** are problem details (RFC 9457), each of a stable `type`.";

static DOCUMENT: LazyLock<String> = LazyLock::new(|| {
    let document = document(areas());
    serde_json::to_string_pretty(&document).unwrap_or_default()
});

/// The document: JSON, OpenAPI 3.1.
pub fn text() -> &'static str {
    &DOCUMENT
}

/// `GET /openapi.json`: for everybody, since it says nothing of anybody.
pub(super) async fn serve(request: Request) -> Response {
    static TAG: LazyLock<String> = LazyLock::new(|| {
        format!(
            "\"{}\"",
            assent_model::secret::Digest::of(DOCUMENT.as_bytes()).to_base64url()
        )
    });
    let known = request
        .headers()
        .get(header::IF_NONE_MATCH)
        .and_then(|value| value.to_str().ok());
    let mut response = if known.is_some_and(|tags| tags.split(',').any(|tag| tag.trim() == *TAG)) {
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
    let mut schemas = vec![(ProblemView::name().into_owned(), ProblemView::schema())];
    ProblemView::schemas(&mut schemas);
    let mut paths: Map<String, Value> = Map::new();
    let nouns = areas.iter().flat_map(|area| &area.nouns);
    let tags: Value = nouns
        .map(|noun| json!({"name": noun.name, "description": noun.about}))
        .collect();
    for route in areas.into_iter().flat_map(Area::into_routes) {
        schemas.extend(route.schemas.iter().cloned());
        let operations = paths.entry(route.path.clone()).or_insert_with(|| json!({}));
        if let Some(operations) = operations.as_object_mut() {
            operations.insert(
                route.method.as_str().to_lowercase(),
                Value::Object(operation(route)),
            );
        }
    }
    let components = ComponentsBuilder::new().schemas_from_iter(schemas).build();
    let info = InfoBuilder::new()
        .title("Assent admin API")
        .version("1")
        .description(Some(DESCRIPTION))
        .build();
    let base = OpenApiBuilder::new()
        .info(info)
        .components(Some(components))
        .build();
    let mut document = serde_json::to_value(base).unwrap_or_default();
    if let Some(document) = document.as_object_mut() {
        document.insert("servers".to_owned(), json!([{"url": "/admin/api/v1"}]));
        document.insert("paths".to_owned(), Value::Object(paths));
        document.insert("tags".to_owned(), tags);
        document.insert(
            "security".to_owned(),
            json!([{"token": []}, {"service": []}, {"session": [], "csrf": []}]),
        );
    }
    if let Some(schemas) = document
        .pointer_mut("/components/schemas")
        .and_then(Value::as_object_mut)
    {
        let known = schemas.clone();
        schemas.values_mut().for_each(|schema| join(schema, &known));
        // What is not sent stays as it is, and some generators would have it sent.
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
        // An empty change is one of either protocol.
        if let Some(change) = schemas
            .get_mut("ApplicationChange")
            .and_then(Value::as_object_mut)
            && let Some(either) = change.remove("oneOf")
        {
            change.insert("anyOf".to_owned(), either);
        }
    }
    if let Some(components) = document
        .get_mut("components")
        .and_then(Value::as_object_mut)
    {
        components.insert("securitySchemes".to_owned(), security());
        components.insert("responses".to_owned(), problems());
    }
    document
}

/// Makes one object of the parts of a type that serde flattens. As parts of an `allOf`, each would refuse the members of the
/// others.
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
            "description": "The session of somebody with a console role, who signed in with a phone.",
        },
        "csrf": {
            "type": "apiKey",
            "in": "header",
            "name": CSRF,
            "description": "With a session, for every method but GET: the value that `GET /me` tells.",
        },
    })
}

/// The answers that are problems, one for each status, with the types that go with it.
fn problems() -> Value {
    let mut responses: Map<String, Value> = Map::new();
    for kind in ProblemKind::ALL {
        let name = json!(kind);
        let response = responses
            .entry(response_name(kind.status()))
            .or_insert_with(|| {
                json!({
                    "description": kind.status().canonical_reason().unwrap_or_default(),
                    "content": {"application/problem+json": {"schema": {
                        "allOf": [
                            {"$ref": "#/components/schemas/Problem"},
                            {"properties": {"type": {"enum": []}}},
                        ],
                    }}},
                })
            });
        let types = response
            .pointer_mut("/content/application~1problem+json/schema/allOf/1/properties/type/enum");
        if let Some(types) = types.and_then(Value::as_array_mut) {
            types.push(name);
        }
    }
    Value::Object(responses)
}

fn response_name(status: StatusCode) -> String {
    format!("Problem{}", status.as_u16())
}

/// The description of a route, with what it has in common with others.
fn operation(route: Route) -> Map<String, Value> {
    let (versioned, noun) = (route.is_versioned(), route.noun());
    let Route {
        method,
        path,
        rule,
        name,
        mut operation,
        ..
    } = route;
    operation.insert("tags".to_owned(), json!([noun]));
    operation.insert("operationId".to_owned(), json!(name));
    operation.insert("x-permission".to_owned(), json!(rule.permission));
    if let Some(kind) = rule.protected_action {
        operation.insert("x-protected-action".to_owned(), json!(kind));
    }
    let irreversible = rule
        .protected_action
        .is_some_and(ProtectedActionKind::is_irreversible);
    if irreversible || method == Method::DELETE {
        operation.insert("x-irreversible".to_owned(), json!(true));
    }
    let has_query = {
        let parameters = operation.entry("parameters").or_insert_with(|| json!([]));
        let parameters = parameters.as_array_mut();
        let mut found = false;
        if let Some(parameters) = parameters {
            found = parameters
                .iter()
                .any(|one| one.get("in") == Some(&json!("query")));
            let names = path
                .split(['{', '}'])
                .skip(1)
                .step_by(2)
                .map(path_parameter);
            parameters.splice(0..0, names);
            parameters.extend(header_parameters(&method, versioned));
        }
        found
    };
    let has_body = operation.contains_key("requestBody");
    let mut refused = vec![401, 403, 429, 500, 503];
    if has_query || has_body || method == Method::POST {
        refused.push(400);
    }
    // A query may name what is not there, too.
    if has_query || path.contains('{') {
        refused.push(404);
    }
    if has_query || method != Method::GET {
        refused.push(422);
    }
    if method != Method::GET {
        refused.extend([409, 413]);
    }
    if has_body {
        refused.push(415);
    }
    if matches!(method, Method::PUT | Method::PATCH | Method::DELETE) {
        refused.push(412);
    }
    if method == Method::PATCH {
        also_merge_patch(&mut operation);
    }
    let responses = operation.entry("responses").or_insert_with(|| json!({}));
    if let Some(responses) = responses.as_object_mut() {
        describe_responses(responses, &method, versioned, &refused);
    }
    operation
}

/// A PATCH is a merge patch (RFC 7396), by whichever name it comes.
fn also_merge_patch(operation: &mut Map<String, Value>) {
    let content = operation
        .get_mut("requestBody")
        .and_then(|body| body.get_mut("content"));
    if let Some(content) = content.and_then(Value::as_object_mut)
        && let Some(json) = content.get("application/json").cloned()
    {
        content.insert("application/merge-patch+json".to_owned(), json);
    }
}

fn describe_responses(
    responses: &mut Map<String, Value>,
    method: &Method,
    versioned: bool,
    refused: &[u16],
) {
    if versioned {
        for response in responses
            .values_mut()
            .filter_map(Value::as_object_mut)
            .filter(|one| one.contains_key("content"))
        {
            let etag =
                json!({"ETag": {"description": "The version.", "schema": {"type": "string"}}});
            response.insert("headers".to_owned(), etag);
        }
        if *method == Method::GET {
            responses.insert(
                "304".to_owned(),
                json!({"description": "It is as `If-None-Match` has it."}),
            );
        }
    }
    for status in refused {
        let Ok(status) = StatusCode::from_u16(*status) else {
            continue;
        };
        let reference = format!("#/components/responses/{}", response_name(status));
        responses
            .entry(status.as_str())
            .or_insert_with(|| json!({"$ref": reference}));
    }
}

fn path_parameter(name: &str) -> Value {
    let description = match name {
        "channel" => "The name of an approval channel.",
        "kid" => "The key's thumbprint (RFC 7638).",
        "token" => "An ID token or its `jti`, or the ID of an assertion.",
        "application" => "The application's id, a DID.",
        _ => "The id.",
    };
    json!({"name": name, "in": "path", "required": true, "description": description,
           "schema": {"type": "string", "minLength": 1}})
}

fn header_parameters(method: &Method, versioned: bool) -> Vec<Value> {
    let header = |name: &str, description: &str, schema: Value| json!({"name": name, "in": "header", "required": false, "description": description, "schema": schema});
    match *method {
        Method::GET if versioned => {
            vec![header(
                "If-None-Match",
                "The tags that are known; 304 if one of them is still right.",
                json!({"type": "string"}),
            )]
        }
        Method::POST => {
            let description = "Makes it safe to send the request again: it is done once, and for 24 hours answered as the \
                               first time.";
            let schema = json!({"type": "string", "minLength": 1, "maxLength": LONGEST, "pattern": "^[!-~]+$"});
            vec![header("Idempotency-Key", description, schema)]
        }
        Method::PATCH | Method::DELETE if versioned => {
            let description =
                "The tags of the versions that may be changed; `*` for any. 412 for another.";
            vec![header("If-Match", description, json!({"type": "string"}))]
        }
        _ => Vec::new(),
    }
}
