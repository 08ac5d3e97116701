//! The OpenAPI document of the authenticator API, generated from the operations. This module adds the parts that all
//! operations have in common: the signature of calls, and errors.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use utoipa::openapi::path::{Operation as Description, PathItem};
use utoipa::openapi::schema::ComponentsBuilder;
use utoipa::openapi::{InfoBuilder, OpenApiBuilder};
use utoipa::{PartialSchema, ToSchema};

use crate::http::devices::device_api_error::ErrorView;
use crate::http::devices::error_code::ErrorCode;
use crate::http::devices::routes::{DeviceOperation, operations};

const ABOUT: &str = "\
The API of authenticators: of the web app at `/authenticator`, and of `assent authenticator`.

**Callers.** A device has its own P-256 key, which an enrolment link enrols. It signs each further call, and \
the decision about each approval request. The texts that it signs begin with their purpose and version, such as \
`assent-approval-v1`; then each value has a line of its own, `name: value`, texts as JSON strings. An approval in \
the browser that signs in begins with `assent-same-browser-v1` and has no number. A signature is \
ECDSA with SHA-256, `r` and `s` of 32 bytes each, base64url without padding.

**Bodies** are JSON of 64 KiB at most, whatever their `Content-Type` says. The server ignores members that it does \
not know, except where the schema denies them. **Times** are whole seconds since 1970-01-01T00:00:00Z. **Errors** \
are objects with a stable `error` code; each operation lists its codes by status. A request that reaches no \
operation, such as one with another method or a larger body, receives a response without this object.";

/// The errors of every operation.
const COMMON_ERRORS: [ErrorCode; 5] = [
    ErrorCode::InvalidRequest,
    ErrorCode::CrossSiteRequest,
    ErrorCode::TooManyRequests,
    ErrorCode::TemporarilyUnavailable,
    ErrorCode::ServerError,
];
/// The errors of every signed operation.
const SIGNATURE_ERRORS: [ErrorCode; 2] = [ErrorCode::DeviceNotEnrolled, ErrorCode::ClockDifference];

static DOCUMENT: LazyLock<String> = LazyLock::new(|| {
    let document = document(operations());
    serde_json::to_string_pretty(&document).unwrap_or_default()
});

/// The document: JSON, OpenAPI 3.1.
pub fn text() -> &'static str {
    &DOCUMENT
}

fn document(operations: Vec<DeviceOperation>) -> Value {
    let mut schemas = vec![(ErrorView::name().into_owned(), ErrorView::schema())];
    ErrorView::schemas(&mut schemas);
    let mut paths: Map<String, Value> = Map::new();
    for operation in operations {
        let DeviceOperation {
            described,
            is_signed,
            errors,
        } = operation;
        let (used, described, _) = described;
        schemas.extend(used);
        for (path, item) in described.paths {
            let methods = paths.entry(path).or_insert_with(|| json!({}));
            for (method, description) in descriptions(item) {
                if let Some(methods) = methods.as_object_mut() {
                    methods.insert(
                        method.to_owned(),
                        described_with(&description, is_signed, errors),
                    );
                }
            }
        }
    }
    let components = ComponentsBuilder::new().schemas_from_iter(schemas).build();
    let info = InfoBuilder::new()
        .title("Assent authenticator API")
        .version("1")
        .description(Some(ABOUT))
        .build();
    let base = OpenApiBuilder::new()
        .info(info)
        .components(Some(components))
        .build();
    let mut document = serde_json::to_value(base).unwrap_or_default();
    if let Some(document) = document.as_object_mut() {
        document.insert("servers".to_owned(), json!([{"url": "/authenticator/api"}]));
        document.insert("paths".to_owned(), Value::Object(paths));
        document.insert("security".to_owned(), json!([{"device": []}]));
    }
    if let Some(components) = document
        .get_mut("components")
        .and_then(Value::as_object_mut)
    {
        let device = json!({
            "type": "http",
            "scheme": "Assent-Device",
            "description": "`Authorization: Assent-Device {device}.{seconds}.{signature}`: the device's id, its time \
             in seconds since \
                the epoch, and the signature of the call's method, path and body.",
        });
        components.insert("securitySchemes".to_owned(), json!({"device": device}));
    }
    document
}

/// Returns the operations of a path.
fn descriptions(item: PathItem) -> Vec<(&'static str, Description)> {
    let operations = [
        ("get", item.get),
        ("post", item.post),
        ("put", item.put),
        ("patch", item.patch),
        ("delete", item.delete),
    ];
    operations
        .into_iter()
        .filter_map(|(method, operation)| Some((method, operation?)))
        .collect()
}

/// Returns the description of an operation, with its errors.
fn described_with(description: &Description, is_signed: bool, errors: &[ErrorCode]) -> Value {
    let mut value = serde_json::to_value(description).unwrap_or_default();
    let Some(operation) = value.as_object_mut() else {
        return value;
    };
    // The macro uses the name of the module as a tag.
    operation.remove("tags");
    if !is_signed {
        operation.insert("security".to_owned(), json!([]));
    }
    let of_signature = SIGNATURE_ERRORS.iter().filter(|_| is_signed);
    let codes: BTreeSet<ErrorCode> = errors
        .iter()
        .chain(&COMMON_ERRORS)
        .chain(of_signature)
        .copied()
        .collect();
    let mut by_status: BTreeMap<u16, Vec<ErrorCode>> = BTreeMap::new();
    for code in codes {
        by_status
            .entry(code.status().as_u16())
            .or_default()
            .push(code);
    }
    if let Some(Value::Object(responses)) = operation.get_mut("responses") {
        for (status, codes) in by_status {
            responses.insert(status.to_string(), response(&codes));
        }
    }
    value
}

/// Returns the response with one of these errors.
fn response(codes: &[ErrorCode]) -> Value {
    let about: Vec<String> = codes
        .iter()
        .map(|code| format!("- `{}`: {}", code.as_str(), code.about()))
        .collect();
    let names: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
    json!({
        "description": about.join("\n"),
        "content": {"application/json": {"schema": {
            "allOf": [
                {"$ref": "#/components/schemas/Error"},
                {"properties": {"error": {"enum": names}}},
            ],
        }}},
    })
}
