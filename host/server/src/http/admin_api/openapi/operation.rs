//! The description of one operation.

use axum::http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use crate::http::admin_api::idempotency::LONGEST;
use crate::http::admin_api::routes::Route;
use assent_model::administration::ProtectedActionKind;

/// Returns the description of a route, with the parts that it has in common with others.
pub(super) fn operation(route: Route) -> Map<String, Value> {
    let versioned = route.is_versioned();
    let Route {
        method,
        path,
        rule,
        name,
        noun,
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
            parameters.splice(0..0, path_parameters(&path));
            parameters.extend(header_parameters(&method, versioned));
            parameters.extend(rule.protected_action.map(|_| accept_language()));
        }
        found
    };
    let has_body = operation.contains_key("requestBody");
    let mut refused = vec![401, 403, 429, 500, 503];
    if has_query || has_body || method == Method::POST {
        refused.push(400);
    }
    // A query may name an object that does not exist, too.
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

/// A PATCH is a merge patch (RFC 7396), with either media type.
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
                json!({"description": "The user has the version in `If-None-Match`."}),
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

/// Returns the parameters of a path, in their order.
fn path_parameters(path: &str) -> Vec<Value> {
    let segments = path.split('/');
    let pairs = segments.clone().zip(segments.skip(1));
    pairs
        .filter_map(|(before, segment)| {
            let name = segment.strip_prefix('{')?.strip_suffix('}')?;
            let description = path_parameter(before, name);
            Some(
                json!({"name": name, "in": "path", "required": true, "description": description,
                        "schema": {"type": "string", "minLength": 1}}),
            )
        })
        .collect()
}

/// Returns the description of a parameter by its name and the segment before it.
fn path_parameter(before: &str, name: &str) -> &'static str {
    match (before, name) {
        ("applications", "id") | (_, "application") => "The application's id, a DID.",
        ("users", "id") | (_, "user") => "The user's id.",
        ("accounts", "id") => "The account's id.",
        ("groups", "id") | (_, "group") => "The group's id.",
        ("devices", "id") => "The device's id.",
        ("action-approvals", "id") => "The id of the approval request.",
        ("receipts", "id") => "The id of the approval request, `detail.request` in the audit log.",
        ("test-sign-ins", "id") => "The id of the test sign-in.",
        (_, "session") => "The session's id.",
        (_, "secret") => "The id of the client secret.",
        (_, "certificate") => "The certificate's id.",
        (_, "reference") => "The reference number of an error page.",
        (_, "channel") => "The name of an approval channel.",
        (_, "kid") => "The key's thumbprint (RFC 7638).",
        (_, "token") => "An ID token or its `jti`, or the ID of an assertion.",
        (_, "owner") => "The owner of the manifest.",
        (_, "key") => "The key of the object in the manifests of its owner.",
        _ => "The id.",
    }
}

fn header_parameters(method: &Method, versioned: bool) -> Vec<Value> {
    let header = |name: &str, description: &str, schema: Value| {
        json!({"name": name, "in": "header", "required": false,
        "description": description, "schema": schema})
    };
    match *method {
        Method::GET if versioned => {
            vec![header(
                "If-None-Match",
                "The known versions; 304 if one of them is current.",
                json!({"type": "string"}),
            )]
        }
        Method::POST => {
            let description = "Makes a retry safe: the server executes the request once, and returns the same \
                response to repetitions for 24 hours. If the request made changes but its response was lost, \
                repetitions get the problem `response-lost`.";
            let schema = json!({"type": "string", "minLength": 1, "maxLength": LONGEST, "pattern": "^[!-~]+$"});
            vec![header("Idempotency-Key", description, schema)]
        }
        Method::PUT | Method::PATCH | Method::DELETE if versioned => {
            let description = "The versions that the request may update; `*` for any. 412 if the version is another \
                one.";
            vec![header("If-Match", description, json!({"type": "string"}))]
        }
        _ => Vec::new(),
    }
}

/// The header of the language of a protected action's summary.
fn accept_language() -> Value {
    let description = "The preferred language of `action_approval.summary`, if the action needs an approval: `en` or \
        `de`.";
    json!({"name": "Accept-Language", "in": "header", "required": false, "description": description,
           "schema": {"type": "string"}})
}

pub(super) fn response_name(status: StatusCode) -> String {
    format!("Problem{}", status.as_u16())
}
