//! The operations of the OpenAPI document.

use assent::http::admin_api::openapi::text as openapi_document;
use serde_json::{Map, Value, json};

use crate::harness::{Json, Text, parse_json};
use crate::snapshots::world::Step;

/// The OpenAPI document of the admin API.
pub(super) struct Document(Value);

/// An operation.
pub(super) struct Operation<'a> {
    document: &'a Document,
    pub(super) method: String,
    pub(super) template: String,
    description: &'a Value,
}

impl Document {
    pub(super) fn read() -> Self {
        Self(parse_json(openapi_document()))
    }

    /// Returns the operation that a step calls.
    pub(super) fn operation(&self, step: &Step) -> Operation<'_> {
        let path = step.path.split('?').next().unwrap_or_default();
        let parts: Vec<&str> = path.split('/').collect();
        let fits = |template: &str| {
            let own: Vec<&str> = template.split('/').collect();
            let pairs = own.iter().zip(&parts);
            let mut same = pairs.map(|(own, part)| own.starts_with('{') || own == part);
            own.len() == parts.len() && same.all(|same| same)
        };
        let method = step.method.as_str().to_lowercase();
        let all = self.0["paths"].members().iter();
        let found = all
            .filter(|(template, operations)| fits(template) && operations.get(&method).is_some());
        // A fixed path precedes one with parameters, as in the router.
        let found = found.min_by_key(|(template, _)| template.matches('{').count());
        let (template, operations) = found.unwrap_or_else(|| panic!("no operation for {step:?}"));
        Operation {
            document: self,
            method: step.method.as_str().to_owned(),
            template: template.clone(),
            description: &operations[&method],
        }
    }

    pub(super) fn methods(&self, template: &str) -> Vec<String> {
        self.0["paths"][template]
            .members()
            .keys()
            .cloned()
            .collect()
    }

    /// Returns the schema to which a schema refers.
    pub(super) fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        match schema["$ref"].as_str() {
            Some(reference) => {
                let target = self.0.pointer(reference.trim_start_matches('#'));
                self.resolved(target.expect("a schema"))
            }
            None => schema,
        }
    }

    /// Returns the alternatives of a schema, without null.
    pub(super) fn alternatives<'a>(&'a self, schema: &'a Value) -> Vec<&'a Value> {
        let schema = self.resolved(schema);
        let parts = ["oneOf", "anyOf"]
            .iter()
            .filter_map(|name| schema[*name].as_array());
        let parts: Vec<&Value> = parts.flatten().collect();
        if parts.is_empty() {
            return vec![schema];
        }
        let parts = parts.into_iter().flat_map(|part| self.alternatives(part));
        parts.filter(|part| part["type"] != "null").collect()
    }

    /// Returns the members of the object that this body is, by the alternative with exactly its members.
    pub(super) fn properties<'a>(
        &'a self,
        schema: &'a Value,
        body: &Value,
    ) -> Option<&'a Map<String, Value>> {
        let fits = |schema: &&Value| {
            let properties = schema["properties"].as_object();
            let has_all = properties.is_some_and(|own| {
                let sent = body.as_object().into_iter().flatten();
                sent.clone().all(|(name, _)| own.contains_key(name))
            });
            let protocol = &schema["properties"]["protocol"]["enum"][0];
            has_all
                && (body["protocol"].is_null()
                    || protocol.is_null()
                    || body["protocol"] == *protocol)
        };
        let found = self.alternatives(schema).into_iter().find(fits)?;
        found["properties"].as_object()
    }

    /// Returns the required members of the same object.
    pub(super) fn required(&self, schema: &Value, body: &Value) -> Vec<String> {
        let of_body = self.properties(schema, body);
        let alternatives = self.alternatives(schema);
        let found = alternatives
            .iter()
            .find(|own| own["properties"].as_object() == of_body);
        let names = found.and_then(|own| own["required"].as_array());
        names
            .into_iter()
            .flatten()
            .map(|name| name.text().to_owned())
            .collect()
    }

    /// Returns the types of the values that a schema permits.
    pub(super) fn types(&self, schema: &Value) -> Vec<String> {
        let mut types = Vec::new();
        for part in self.alternatives(schema) {
            match &part["type"] {
                Value::String(one) => types.push(one.clone()),
                Value::Array(several) => {
                    types.extend(several.iter().map(|one| one.text().to_owned()))
                }
                _ => types.push("string".to_owned()),
            }
        }
        types
    }

    pub(super) fn is_enumeration(&self, schema: &Value) -> bool {
        self.alternatives(schema)
            .iter()
            .any(|part| part["enum"].is_array())
    }

    /// Returns a value of another type than the schema's.
    pub(super) fn wrong_value(&self, schema: &Value) -> Value {
        let types = self.types(schema);
        match types.iter().any(|own| own == "string") {
            true => json!(7),
            false => json!("text"),
        }
    }
}

impl Operation<'_> {
    /// Returns the method and the path.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.method, self.template)
    }

    /// Returns the name of the file with the operation's responses.
    pub(super) fn file(&self) -> String {
        let path = self.template.replace(['{', '}'], "").replace('/', "_");
        format!("{}{path}.txt", self.method)
    }

    pub(super) fn permission(&self) -> &str {
        self.description["x-permission"].text()
    }

    /// Returns the names of the parameters in a part of the request.
    pub(super) fn parameters(&self, part: &str) -> Vec<&str> {
        let all = self.description["parameters"]
            .as_array()
            .into_iter()
            .flatten();
        let own = all.filter(|parameter| parameter["in"] == part);
        own.map(|parameter| parameter["name"].text()).collect()
    }

    pub(super) fn has_header(&self, name: &str) -> bool {
        self.parameters("header")
            .iter()
            .any(|own| own.eq_ignore_ascii_case(name))
    }

    /// Returns the schema of the JSON body.
    pub(super) fn body(&self) -> Option<&Value> {
        self.description
            .pointer("/requestBody/content/application~1json/schema")
    }

    pub(super) fn methods_of_path(&self) -> Vec<String> {
        self.document.methods(&self.template)
    }
}
