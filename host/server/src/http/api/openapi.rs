//! An OpenAPI document, collected from the descriptions of handlers.

use axum::http::Method;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa::openapi::path::PathItem;
use utoipa::openapi::schema::ComponentsBuilder;
use utoipa::openapi::{InfoBuilder, OpenApiBuilder, RefOr, Schema};

/// The schemas and paths of a document.
pub(in crate::http) struct DocumentParts {
    schemas: Vec<(String, RefOr<Schema>)>,
    paths: Map<String, Value>,
}

impl DocumentParts {
    /// The parts of an API with errors of this schema.
    pub(in crate::http) fn of_api<E: ToSchema>() -> Self {
        let mut schemas = vec![(E::name().into_owned(), E::schema())];
        E::schemas(&mut schemas);
        Self {
            schemas,
            paths: Map::new(),
        }
    }

    /// Adds schemas to which operations refer.
    pub(in crate::http) fn add_schemas(&mut self, schemas: Vec<(String, RefOr<Schema>)>) {
        self.schemas.extend(schemas);
    }

    pub(in crate::http) fn add_operation(
        &mut self,
        path: String,
        method: &Method,
        operation: Map<String, Value>,
    ) {
        let operations = self.paths.entry(path).or_insert_with(|| json!({}));
        if let Some(operations) = operations.as_object_mut() {
            operations.insert(method.as_str().to_lowercase(), operation.into());
        }
    }

    /// Returns the document with the address of the API, and with further members.
    pub(in crate::http) fn document(
        self,
        title: &str,
        about: &str,
        address: &str,
        further: Value,
    ) -> Value {
        let components = ComponentsBuilder::new().schemas_from_iter(self.schemas);
        let info = InfoBuilder::new()
            .title(title)
            .version("1")
            .description(Some(about));
        let base = OpenApiBuilder::new()
            .info(info.build())
            .components(Some(components.build()))
            .build();
        let mut document = serde_json::to_value(base).unwrap_or_default();
        let own = json!({"servers": [{"url": address}], "paths": self.paths});
        extend(&mut document, "", own);
        extend(&mut document, "", further);
        document
    }
}

/// Adds members to the object at this JSON pointer (RFC 6901).
pub(in crate::http) fn extend(document: &mut Value, pointer: &str, members: Value) {
    if let (Some(Value::Object(object)), Value::Object(members)) =
        (document.pointer_mut(pointer), members)
    {
        object.extend(members);
    }
}

pub(in crate::http) fn operations(
    item: PathItem,
) -> impl Iterator<Item = (Method, Map<String, Value>)> {
    let operations = [
        (Method::GET, item.get),
        (Method::POST, item.post),
        (Method::PUT, item.put),
        (Method::PATCH, item.patch),
        (Method::DELETE, item.delete),
    ];
    operations.into_iter().filter_map(|(method, operation)| {
        match serde_json::to_value(operation?) {
            Ok(Value::Object(operation)) => Some((method, operation)),
            _ => None,
        }
    })
}

/// Returns the response with an error of one of these kinds. `schema` describes the body, and `member` of it is the
/// kind.
pub(in crate::http) fn error_response(
    description: &str,
    media_type: &str,
    schema: &str,
    member: &str,
    kinds: &[&str],
) -> Value {
    json!({
        "description": description,
        "content": {media_type: {"schema": {
            "allOf": [
                {"$ref": format!("#/components/schemas/{schema}")},
                {"properties": {member: {"enum": kinds}}},
            ],
        }}},
    })
}
