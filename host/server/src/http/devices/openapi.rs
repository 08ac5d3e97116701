//! The OpenAPI document of the authenticator API, generated from the operations. This module adds the parts that all
//! operations have in common: the signature of calls, and errors.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::http::api::openapi::{DocumentParts, error_response, extend, operations};
use crate::http::devices::device_api_error::ErrorView;
use crate::http::devices::error_code::ErrorCode;
use crate::http::devices::routes::{self, DeviceOperation};

const ABOUT: &str = "\
The API of authenticators: of the web app at `/authenticator`, and of `assent authenticator`.

**Callers.** A device has its own P-256 key, which an enrolment link enrols. It signs each further call, and \
the decision about each approval request. The texts that it signs begin with their purpose and version, such as \
`assent-approval-v1`; then each value has a line of its own, `name: value`, texts as JSON strings. An approval in \
the browser that signs in begins with `assent-same-browser-v1` and has no number. Each of the `details` of a \
request has a line `detail` before `decision`. A signature is \
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
    let document = document(routes::operations());
    serde_json::to_string_pretty(&document).unwrap_or_default()
});

/// The document: JSON, OpenAPI 3.1.
pub fn text() -> &'static str {
    &DOCUMENT
}

fn document(all: Vec<DeviceOperation>) -> Value {
    let mut parts = DocumentParts::of_api::<ErrorView>();
    for DeviceOperation {
        described: (schemas, described, _),
        is_signed,
        errors,
    } in all
    {
        parts.add_schemas(schemas);
        for (path, item) in described.paths {
            for (method, mut operation) in operations(item) {
                complete(&mut operation, is_signed, errors);
                parts.add_operation(path.clone(), &method, operation);
            }
        }
    }
    let security = json!({"security": [{"device": []}]});
    let mut document = parts.document(
        "Assent authenticator API",
        ABOUT,
        "/authenticator/api",
        security,
    );
    let device = json!({
        "type": "http",
        "scheme": "Assent-Device",
        "description": "`Authorization: Assent-Device {device}.{seconds}.{signature}`: the device's id, its time in \
            seconds since \
               the epoch, and the signature of the call's method, path and body.",
    });
    let schemes = json!({"securitySchemes": {"device": device}});
    extend(&mut document, "/components", schemes);
    document
}

/// Completes the description of an operation, and adds its errors.
fn complete(operation: &mut Map<String, Value>, is_signed: bool, errors: &[ErrorCode]) {
    // The macro uses the name of the module as a tag.
    operation.remove("tags");
    if !is_signed {
        operation.insert("security".to_owned(), json!([]));
    }
    let is_possible = |code: &ErrorCode| {
        errors.contains(code)
            || COMMON_ERRORS.contains(code)
            || is_signed && SIGNATURE_ERRORS.contains(code)
    };
    let mut by_status: BTreeMap<u16, (Vec<String>, Vec<&str>)> = BTreeMap::new();
    for (code, about) in ErrorCode::ALL.iter().filter(|(code, _)| is_possible(code)) {
        let (abouts, names) = by_status.entry(code.status().as_u16()).or_default();
        abouts.push(format!(
            "- `{}`: {}",
            code.as_str(),
            about.trim_ascii_start()
        ));
        names.push(code.as_str());
    }
    if let Some(Value::Object(responses)) = operation.get_mut("responses") {
        for (status, (abouts, names)) in by_status {
            let response = error_response(
                &abouts.join("\n"),
                "application/json",
                "Error",
                "error",
                &names,
            );
            responses.insert(status.to_string(), response);
        }
    }
}
