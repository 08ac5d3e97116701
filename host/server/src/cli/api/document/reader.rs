//! The reader of the OpenAPI document.

use anyhow::Context;
use serde_json::{Map, Value};

use crate::cli::api::document::{
    Body, BodyMember, Document, Noun, Operation, ResponseDescription, Shape,
};

/// Reads an OpenAPI document.
///
/// # Errors
/// If it is not a valid document.
pub(crate) fn read(document: &str) -> anyhow::Result<Document> {
    let document: Value = serde_json::from_str(document)
        .context("the description of the admin API cannot be read")?;
    let reader = Reader {
        schemas: document
            .pointer("/components/schemas")
            .and_then(Value::as_object),
    };
    let paths = document
        .get("paths")
        .and_then(Value::as_object)
        .context("the admin API has no paths")?;
    let mut operations = Vec::new();
    for (path, item) in paths {
        for (method, operation) in item.as_object().into_iter().flatten() {
            operations.push(reader.operation(method, path, operation)?);
        }
    }
    let tags = document.get("tags").and_then(Value::as_array);
    let nouns = tags.into_iter().flatten().map(|tag| Noun {
        name: text(tag, "name"),
        about: text(tag, "description"),
    });
    Ok(Document {
        nouns: nouns.collect(),
        operations,
    })
}

/// Returns the text of a member; empty if there is none.
fn text(value: &Value, name: &str) -> String {
    value
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("null")
}

/// Whether a value may be null.
fn has_null(schema: &Value) -> bool {
    let types = schema.get("type").and_then(Value::as_array);
    let mut parts = ["oneOf", "anyOf"]
        .iter()
        .filter_map(|either| schema.get(*either)?.as_array())
        .flatten();
    types.is_some_and(|types| types.iter().any(|name| name == "null")) || parts.any(is_null)
}

struct Reader<'a> {
    schemas: Option<&'a Map<String, Value>>,
}

impl<'a> Reader<'a> {
    fn operation(
        &self,
        method: &str,
        path: &str,
        operation: &'a Value,
    ) -> anyhow::Result<Operation> {
        let parameters = || {
            operation
                .get("parameters")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
        };
        let of = |place: &'static str| parameters().filter(move |one| text(one, "in") == place);
        let query = of("query").map(|parameter| {
            let schema = parameter.get("schema").unwrap_or(&Value::Null);
            let member = self.member(&text(parameter, "name"), schema);
            let description = Some(text(parameter, "description")).filter(|text| !text.is_empty());
            BodyMember {
                description: description.unwrap_or(member.description),
                is_required: parameter.get("required") == Some(&Value::Bool(true)),
                ..member
            }
        });
        Ok(Operation {
            name: text(operation, "operationId"),
            method: method
                .to_uppercase()
                .parse()
                .context("a method of the admin API")?,
            path: path.to_owned(),
            summary: text(operation, "summary"),
            description: text(operation, "description"),
            permission: text(operation, "x-permission"),
            path_descriptions: of("path")
                .map(|parameter| text(parameter, "description"))
                .collect(),
            query: query.collect(),
            body: operation.get("requestBody").map(|body| self.body(body)),
            is_body_required: operation.pointer("/requestBody/required")
                == Some(&Value::Bool(true)),
            answer: self.answer(operation),
            is_versioned: of("header").any(|header| text(header, "name") == "If-Match"),
            is_irreversible: operation.get("x-irreversible") == Some(&Value::Bool(true)),
        })
    }

    fn body(&self, body: &'a Value) -> Body {
        let content = body.get("content").and_then(Value::as_object);
        match content.and_then(|content| content.get("application/json")) {
            Some(json) => Body::Json(self.members(json.get("schema").unwrap_or(&Value::Null))),
            None => {
                let kind = content.and_then(|content| content.keys().next());
                Body::Raw(
                    kind.map_or("application/octet-stream", String::as_str)
                        .to_owned(),
                )
            }
        }
    }

    fn answer(&self, operation: &'a Value) -> ResponseDescription {
        let responses = operation.get("responses").and_then(Value::as_object);
        let done = responses
            .into_iter()
            .flatten()
            .find(|(status, _)| status.starts_with('2'));
        let response = done.map_or(&Value::Null, |(_, response)| response);
        let content = response
            .get("content")
            .and_then(Value::as_object)
            .and_then(|content| {
                // A file that also exists in JSON is a file.
                let is_file = |(kind, _): &(&String, &Value)| *kind != "application/json";
                content
                    .iter()
                    .find(is_file)
                    .or_else(|| content.iter().next())
            });
        let schema = content.and_then(|(_, content)| content.get("schema"));
        let items =
            schema.and_then(|schema| self.resolve(schema).pointer("/properties/items/items"));
        ResponseDescription {
            description: text(response, "description"),
            media_type: content.map(|(kind, _)| kind.clone()),
            members: schema
                .map(|schema| self.members(schema))
                .unwrap_or_default(),
            schema: items.or(schema).and_then(reference).map(str::to_owned),
            items: items.map(|items| self.members(items)),
        }
    }

    fn member(&self, name: &str, schema: &'a Value) -> BodyMember {
        let parts = ["oneOf", "anyOf"]
            .iter()
            .find_map(|either| schema.get(*either)?.as_array());
        let first = parts.into_iter().flatten().find(|part| !is_null(part));
        let places = [
            Some(schema),
            first,
            Some(self.resolve(first.unwrap_or(schema))),
        ];
        let description = places
            .into_iter()
            .flatten()
            .map(|place| text(place, "description"));
        BodyMember {
            name: name.to_owned(),
            description: description
                .into_iter()
                .find(|text| !text.is_empty())
                .unwrap_or_default(),
            shape: self.shape(schema),
            is_required: false,
            is_nullable: has_null(schema),
        }
    }

    /// Returns the schema that a reference names.
    fn resolve(&self, schema: &'a Value) -> &'a Value {
        reference(schema)
            .and_then(|name| self.schemas?.get(name))
            .unwrap_or(schema)
    }

    /// Returns the members of an object, or of all alternatives if there are several.
    fn members(&self, schema: &'a Value) -> Vec<BodyMember> {
        let schema = self.resolve(schema);
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut members: Vec<BodyMember> = properties
            .into_iter()
            .flatten()
            .map(|(name, schema)| BodyMember {
                is_required: is_required(name),
                ..self.member(name, schema)
            })
            .collect();
        for either in ["oneOf", "anyOf"]
            .iter()
            .filter_map(|either| schema.get(*either)?.as_array())
        {
            for member in either.iter().flat_map(|part| self.members(part)) {
                join(&mut members, member);
            }
        }
        members
    }

    fn shape(&self, schema: &'a Value) -> Shape {
        let schema = self.resolve(schema);
        if let Some(either) = ["oneOf", "anyOf"]
            .iter()
            .find_map(|either| schema.get(*either)?.as_array())
        {
            let mut parts = either.iter().filter(|part| !is_null(part));
            return match (parts.next(), parts.next()) {
                (Some(only), None) => self.shape(only),
                _ => Shape::Any,
            };
        }
        let names = match schema.get("type") {
            Some(Value::String(name)) => vec![name.as_str()],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        match names.into_iter().find(|name| *name != "null") {
            Some("string") => match schema.get("enum").and_then(Value::as_array) {
                Some(texts) => Shape::Choice(
                    texts
                        .iter()
                        .filter_map(Value::as_str)
                        .map(str::to_owned)
                        .collect(),
                ),
                None => Shape::Text,
            },
            Some("integer" | "number") => Shape::Number,
            Some("boolean") => Shape::Truth,
            Some("array") => Shape::List(Box::new(
                schema
                    .get("items")
                    .map_or(Shape::Any, |items| self.shape(items)),
            )),
            Some("object") => Shape::Object(self.members(schema)),
            _ => Shape::Any,
        }
    }
}

fn reference(schema: &Value) -> Option<&str> {
    schema
        .get("$ref")?
        .as_str()?
        .strip_prefix("#/components/schemas/")
}

/// Adds a member of another alternative of the same object. It is not required, because not every alternative has it.
fn join(members: &mut Vec<BodyMember>, member: BodyMember) {
    match members.iter_mut().find(|known| known.name == member.name) {
        Some(known) => {
            known.is_required = false;
            known.is_nullable |= member.is_nullable;
            if let (Shape::Choice(known), Shape::Choice(more)) = (&mut known.shape, member.shape) {
                known.extend(
                    more.into_iter()
                        .filter(|text| !known.contains(text))
                        .collect::<Vec<_>>(),
                );
            }
        }
        None => members.push(BodyMember {
            is_required: false,
            ..member
        }),
    }
}
