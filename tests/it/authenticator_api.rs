//! The OpenAPI document of the authenticator API, and the routes that it describes.

use std::collections::BTreeSet;

use assent::http::devices::openapi_document;
use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::harness::{Json, Parsed, Respond, TestHost, Text, http_client, parse_json};

const METHODS: [Method; 5] = [
    Method::GET,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
];

fn document() -> Value {
    parse_json(openapi_document())
}

/// Returns the operations of the document: method, path and description.
fn operations(document: &Value) -> Vec<(Method, String, Value)> {
    let paths = document["paths"].members();
    paths
        .iter()
        .flat_map(|(path, operations)| {
            let operations = operations.members();
            operations.iter().map(|(method, operation)| {
                let method = method.to_uppercase().parsed();
                (method, path.clone(), operation.clone())
            })
        })
        .collect()
}

#[test]
fn the_committed_document_matches_the_generated_document() {
    let committed = include_str!("../../config/authenticator-api.openapi.json");
    assert!(
        committed.trim_end() == openapi_document(),
        "run: cargo run -q -p assent -- config openapi --api authenticator > config/authenticator-api.openapi.json"
    );
}

#[test]
fn each_operation_has_an_id_a_summary_and_its_errors() {
    let document = document();
    let known: BTreeSet<&str> = document["components"]["schemas"]["ErrorCode"]["enum"]
        .items()
        .iter()
        .map(|code| code.text())
        .collect();
    let mut names = BTreeSet::new();
    let mut used = BTreeSet::new();
    for (method, path, operation) in operations(&document) {
        let what = format!("{method} {path}");
        let name = operation["operationId"].text();
        assert!(names.insert(name.to_owned()), "{what}");
        assert!(
            operation["summary"]
                .as_str()
                .is_some_and(|it| !it.is_empty()),
            "{what}"
        );
        for response in operation["responses"].members().values() {
            let codes = &response["content"]["application/json"]["schema"]["allOf"][1]["properties"]
                ["error"]["enum"];
            for code in codes.as_array().into_iter().flatten() {
                used.insert(code.text().to_owned());
            }
        }
        let is_signed = operation.get("security").is_none();
        assert_eq!(
            is_signed,
            operation["responses"].get("401").is_some(),
            "{what}"
        );
    }
    let used: BTreeSet<&str> = used.iter().map(String::as_str).collect();
    assert_eq!(used, known, "an operation has each code");
    let text = document.to_string();
    for reference in text
        .split("\"$ref\":\"#")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
    {
        assert!(document.pointer(reference).is_some(), "{reference}");
    }
}

#[tokio::test]
async fn the_document_lists_exactly_the_routes() {
    let host = TestHost::start().await;
    let document = document();
    let operations = operations(&document);
    let paths: BTreeSet<&String> = operations.iter().map(|(_, path, _)| path).collect();
    for path in paths {
        let url = format!(
            "{}/authenticator/api{}",
            host.base,
            path.replace("{id}", "x")
        );
        for method in METHODS {
            let what = format!("{method} {path}");
            let response = http_client().request(method.clone(), &url).response().await;
            let status = response.status();
            let body: Value = response.json().await.unwrap_or_default();
            let described = operations
                .iter()
                .find(|(one, at, _)| *one == method && at == path);
            let expected = match described {
                None => (StatusCode::METHOD_NOT_ALLOWED, None),
                Some((_, _, operation)) if operation.get("security").is_some() => {
                    (StatusCode::BAD_REQUEST, Some("invalid_request"))
                }
                Some(_) => (StatusCode::UNAUTHORIZED, Some("device_not_enrolled")),
            };
            assert_eq!((status, body["error"].as_str()), expected, "{what}");
        }
    }
}
