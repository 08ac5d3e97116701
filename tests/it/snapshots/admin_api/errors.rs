//! The errors that follow from the OpenAPI document: of the caller, the path, the query, the headers and the body, each
//! by itself and two at once, which shows the order of the checks.

use reqwest::Method;
use serde_json::{Value, json};

use super::documented::{Document, Operation};
use crate::snapshots::world::{Step, StepKind};

/// An id of a valid form that no object has.
const UNKNOWN_ID: &str = "01a1fedd54ab7d72a67895d39f91c13f";
/// A service account of each script, and another one for the permissions that the first has.
const SERVICES: [&str; 2] = ["auditor", "manager"];

/// A request with at least one fault.
pub(super) struct Fault {
    pub(super) description: String,
    pub(super) step: Step,
}

/// Returns the requests with the faults that an operation can have.
pub(super) fn faults(document: &Document, operation: &Operation<'_>, step: &Step) -> Vec<Fault> {
    let mut faults = Faults {
        base: Step {
            kind: StepKind::Recorded,
            ..step.clone()
        },
        all: Vec::new(),
    };
    faults.of_callers(operation);
    faults.of_paths(operation);
    faults.of_queries(operation);
    faults.of_headers(operation);
    let body = step
        .body
        .as_deref()
        .and_then(|body| serde_json::from_str(body).ok());
    if let (Some(schema), Some(body)) = (operation.body(), &body) {
        faults.of_bodies();
        faults.of_members(document, schema, body);
        faults.of_two(operation, document, schema, body);
    }
    faults.all
}

struct Faults {
    base: Step,
    all: Vec<Fault>,
}

impl Faults {
    fn add(&mut self, description: impl Into<String>, change: impl FnOnce(&mut Step)) {
        let mut step = self.base.clone();
        change(&mut step);
        self.all.push(Fault {
            description: description.into(),
            step,
        });
    }

    fn of_callers(&mut self, operation: &Operation<'_>) {
        self.add("no token", |step| step.caller = Some("nobody".to_owned()));
        self.add("unknown token", |step| {
            step.caller = Some("nobody".to_owned());
            set_header(step, "authorization", "Bearer am_unknown");
        });
        if let Some(service) = without_permission(operation) {
            self.add("no permission", |step| step.caller = Some(service.clone()));
            self.add("no permission, unknown id", |step| {
                step.caller = Some(service.clone());
                step.path = unknown_path(operation, UNKNOWN_ID);
            });
            if operation.body().is_some() {
                self.add("no permission, malformed body", |step| {
                    step.caller = Some(service.clone());
                    step.body = Some("{".to_owned());
                });
                self.add("no permission, wrong content type", |step| {
                    step.caller = Some(service.clone());
                    set_header(step, "content-type", "text/plain");
                });
            }
        }
    }

    fn of_paths(&mut self, operation: &Operation<'_>) {
        if operation.template.contains('{') {
            for id in [UNKNOWN_ID, "nothing"] {
                self.add(format!("unknown id {id}"), |step| {
                    step.path = unknown_path(operation, id)
                });
            }
            let parameters: Vec<usize> = places(operation);
            for place in parameters.iter().filter(|_| parameters.len() > 1) {
                self.add(format!("unknown id at place {place}"), |step| {
                    let path = step.path.split('?').next().unwrap_or_default();
                    let mut parts: Vec<&str> = path.split('/').collect();
                    parts[*place] = UNKNOWN_ID;
                    step.path = parts.join("/");
                });
            }
        }
        let methods = operation.methods_of_path();
        let other = ["patch", "put", "delete", "post"];
        let other = other
            .iter()
            .find(|method| !methods.iter().any(|own| own == *method));
        if let Some(other) = other {
            let method: Method = other.to_uppercase().parse().expect("a method");
            self.add(format!("method {method}"), |step| step.method = method);
        }
    }

    fn of_queries(&mut self, operation: &Operation<'_>) {
        if self.base.method != Method::GET {
            return;
        }
        let mut queries = vec!["nothing=1".to_owned()];
        for name in operation.parameters("query") {
            queries.extend([
                format!("{name}="),
                format!("{name}=nothing"),
                format!("{name}=1&{name}=1"),
            ]);
            if name == "limit" {
                queries.extend(["limit=0", "limit=201"].map(str::to_owned));
            }
        }
        if operation.parameters("query").contains(&"limit") {
            queries.push("limit=0&after=x".to_owned());
            queries.push("after=x&limit=0".to_owned());
        }
        for query in queries {
            // A response with `wait` would wait.
            if query.starts_with("wait=1") {
                continue;
            }
            self.add(format!("query {query}"), |step| {
                let path = step.path.split('?').next().unwrap_or_default();
                step.path = format!("{path}?{query}");
            });
        }
        if operation.template.contains('{') {
            self.add("unknown id, unknown query", |step| {
                step.path = format!("{}?nothing=1", unknown_path(operation, UNKNOWN_ID));
            });
        }
    }

    fn of_headers(&mut self, operation: &Operation<'_>) {
        // A POST does not change one version of an object.
        let is_change = ![Method::GET, Method::POST].contains(&self.base.method);
        if is_change {
            for tag in ["\"99\"", "W/\"1\"", "1"] {
                self.add(format!("If-Match {tag}"), |step| {
                    set_header(step, "if-match", tag)
                });
            }
            if operation.template.contains('{') {
                self.add("wrong If-Match, unknown id", |step| {
                    set_header(step, "if-match", "\"99\"");
                    step.path = unknown_path(operation, UNKNOWN_ID);
                });
            }
        }
        if operation.has_header("Idempotency-Key") {
            self.add("long Idempotency-Key", |step| {
                set_header(step, "idempotency-key", &"k".repeat(256))
            });
            self.add("blank in Idempotency-Key", |step| {
                set_header(step, "idempotency-key", "a b")
            });
            if let Some(service) = without_permission(operation) {
                self.add("blank in Idempotency-Key, no permission", |step| {
                    set_header(step, "idempotency-key", "a b");
                    step.caller = Some(service);
                });
            }
        }
    }

    fn of_bodies(&mut self) {
        for body in ["{", "", "[]", "null", "\"text\"", "7", "{}", "{} {}"] {
            self.add(format!("body {body:?}"), |step| {
                step.body = Some(body.to_owned())
            });
        }
        self.add("content type text/plain", |step| {
            set_header(step, "content-type", "text/plain")
        });
        self.add("no content type", |step| {
            step.headers.retain(|(name, _)| name != "content-type")
        });
        self.add("content type text/plain, malformed body", |step| {
            set_header(step, "content-type", "text/plain");
            step.body = Some("{".to_owned());
        });
    }

    /// Adds the faults of each member, and of the members of the objects in the body.
    fn of_members(&mut self, document: &Document, schema: &Value, body: &Value) {
        self.of_object(document, schema, body, "");
        for name in document.required(schema, body) {
            self.add_body(format!("without {name}"), body, |body| {
                body.as_object_mut().expect("an object").remove(&name);
            });
        }
    }

    fn of_object(&mut self, document: &Document, schema: &Value, root: &Value, pointer: &str) {
        let object = root.pointer(pointer).unwrap_or(&Value::Null);
        let object = if object.is_object() {
            object.clone()
        } else {
            json!({})
        };
        let Some(properties) = document.properties(schema, &object) else {
            return;
        };
        let mut faulty = vec![("unknown".to_owned(), "unknown member".to_owned(), json!(1))];
        for (name, schema) in properties {
            let mut with =
                |fault: &str, value: Value| faulty.push((name.clone(), fault.to_owned(), value));
            with("wrong type", document.wrong_value(schema));
            with("null", Value::Null);
            let types = document.types(schema);
            let has = |kind: &str| types.iter().any(|own| own == kind);
            if document.is_enumeration(schema) {
                with("unknown value", json!("nothing"));
            } else if has("string") {
                with("empty", json!(""));
                with("with a line break", json!("a\nb"));
                with("too long", json!(too_long()));
            }
            if has("integer") {
                with("negative", json!(-1));
                with("too large", json!(4_000_000_000_u64));
            }
            if has("array") {
                with("item of a wrong type", json!([7]));
                with("empty item", json!([""]));
            }
        }
        for (name, fault, value) in faulty {
            let member = format!("{pointer}/{name}");
            self.add_body(format!("{member} {fault}"), root, |body| {
                set(body, pointer, &object);
                body.pointer_mut(pointer).expect("an object")[&name] = value;
            });
        }
        for (name, schema) in properties {
            for part in document.alternatives(schema) {
                if part["properties"].is_object() {
                    self.of_object(document, part, root, &format!("{pointer}/{name}"));
                }
                let items = &part["items"];
                if root
                    .pointer(&format!("{pointer}/{name}/0"))
                    .is_some_and(Value::is_object)
                {
                    self.of_object(document, items, root, &format!("{pointer}/{name}/0"));
                }
            }
        }
    }

    /// Adds requests with two faults.
    fn of_two(
        &mut self,
        operation: &Operation<'_>,
        document: &Document,
        schema: &Value,
        body: &Value,
    ) {
        let unknown = format!(
            "{{\"unknown\": 1, {}",
            body.to_string().trim_start_matches('{')
        );
        if operation.template.contains('{') {
            for (fault, body) in [("malformed body", "{"), ("unknown member", &unknown)] {
                self.add(format!("unknown id, {fault}"), |step| {
                    step.path = unknown_path(operation, UNKNOWN_ID);
                    step.body = Some(body.to_owned());
                });
            }
            self.add("unknown id, wrong content type", |step| {
                step.path = unknown_path(operation, UNKNOWN_ID);
                set_header(step, "content-type", "text/plain");
            });
        }
        for (fault, body) in [("malformed body", "{"), ("unknown member", &unknown)] {
            if operation.has_header("If-Match") {
                self.add(format!("wrong If-Match, {fault}"), |step| {
                    set_header(step, "if-match", "\"99\"");
                    step.body = Some(body.to_owned());
                });
            }
            if operation.has_header("Idempotency-Key") {
                self.add(format!("blank in Idempotency-Key, {fault}"), |step| {
                    set_header(step, "idempotency-key", "a b");
                    step.body = Some(body.to_owned());
                });
            }
        }
        let Some(properties) = document.properties(schema, body) else {
            return;
        };
        let wrong: Vec<(String, Value)> = properties
            .iter()
            .map(|(name, schema)| (name.clone(), document.wrong_value(schema)))
            .collect();
        if let [.., (last, value)] = &wrong[..] {
            let wrong_last = format!("\"{last}\": {value}");
            for (fault, text) in [
                (
                    "unknown member, wrong type",
                    format!("{{\"unknown\": 1, {wrong_last}}}"),
                ),
                (
                    "wrong type, unknown member",
                    format!("{{{wrong_last}, \"unknown\": 1}}"),
                ),
            ] {
                self.add(fault, |step| step.body = Some(text));
            }
        }
        // Most new objects may be without a value, and the creation of the key of a service provider takes long.
        let faults = match self.base.method {
            Method::PATCH => &["wrong type", "null", "empty"][..],
            _ => &["wrong type"],
        };
        // Two neighbours at once: the first fault in the order of the document or of the body.
        for pair in properties.iter().collect::<Vec<_>>().windows(2) {
            for fault in faults {
                let names: Vec<&str> = pair.iter().rev().map(|(name, _)| name.as_str()).collect();
                self.add_body(format!("{fault}: {}", names.join(", ")), body, |body| {
                    for (name, schema) in pair {
                        let value = match *fault {
                            "wrong type" => document.wrong_value(schema),
                            "null" => Value::Null,
                            _ if document.types(schema).iter().any(|own| own == "array") => {
                                json!([""])
                            }
                            _ => json!(""),
                        };
                        body[name.as_str()] = value;
                    }
                });
            }
        }
    }

    fn add_body(&mut self, description: String, body: &Value, change: impl FnOnce(&mut Value)) {
        let mut body = body.clone();
        change(&mut body);
        self.add(description, |step| step.body = Some(body.to_string()));
    }
}

/// Returns a text that is longer than each member permits.
pub(super) fn too_long() -> String {
    "x".repeat(3000)
}

/// Sets the object at a pointer, whose parent exists.
fn set(body: &mut Value, pointer: &str, object: &Value) {
    if let Some((parent, name)) = pointer.rsplit_once('/') {
        let parent = body.pointer_mut(parent).expect("an object");
        match parent {
            Value::Array(items) => items[0] = object.clone(),
            parent => parent[name] = object.clone(),
        }
    }
}

fn set_header(step: &mut Step, name: &str, value: &str) {
    step.headers.retain(|(own, _)| own != name);
    step.headers.push((name.to_owned(), value.to_owned()));
}

/// Returns the places of the parameters in the path.
fn places(operation: &Operation<'_>) -> Vec<usize> {
    let parts = operation.template.split('/').enumerate();
    let parameters = parts.filter(|(_, part)| part.starts_with('{'));
    parameters.map(|(place, _)| place).collect()
}

/// Returns the path with this id in place of each parameter.
fn unknown_path(operation: &Operation<'_>, id: &str) -> String {
    let parts = operation.template.split('/');
    let parts = parts.map(|part| if part.starts_with('{') { id } else { part });
    parts.collect::<Vec<_>>().join("/")
}

/// Returns a service account without the operation's permission.
fn without_permission(operation: &Operation<'_>) -> Option<String> {
    let scopes = ["admin:audit", "admin:users"];
    let gives = |scope: &str| {
        let all = assent_model::administration::AdminScope::ALL;
        let permissions = assent_model::administration::Permission::ALL;
        let permission = permissions
            .iter()
            .find(|own| own.as_str() == operation.permission());
        let scope = all
            .into_iter()
            .find(|own| own.as_str() == scope)
            .expect("a scope");
        scope.gives(*permission.expect("a permission"))
    };
    let found = scopes.iter().position(|scope| !gives(scope))?;
    Some(SERVICES[found].to_owned())
}
