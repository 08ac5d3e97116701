//! The schemas of types: a small part of JSON Schema (draft 2020-12), without references, patterns and combinations.
//!
//! Numbers are whole, because a fraction may change when it is stored and read. Every text has a largest length and
//! every list a largest number of elements, so the longest text that a device can be asked to show is known when the
//! type is registered. An object has no members beside its `properties`.

use serde_json::{Map, Value};

use super::content::{
    Content, LONGEST_NAME, ObjectSchema, Property, Range, Scalar, is_member_name, path_of,
};
use super::name::TYPE;
use super::values::{ValueError, check_object};
use crate::printable::is_printable;

/// The largest schema, in bytes of JSON.
const LARGEST: usize = 8 * 1024;
/// The largest number of values in one element.
const MOST_MEMBERS: usize = 32;
/// The largest depth of objects, with the element itself.
const DEEPEST: usize = 4;
/// The largest length of a text, in characters.
const LONGEST_TEXT: u64 = 500;
/// The largest number of elements in a list.
const MOST_ELEMENTS: u64 = 16;
/// The largest number of permitted texts.
const MOST_CHOICES: usize = 64;

/// The schema of a type's elements.
#[derive(Clone, Debug, PartialEq)]
pub struct DetailsSchema {
    source: Value,
    root: ObjectSchema,
}

/// An invalid schema, for the administrator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {reason}")]
pub struct SchemaError {
    /// The place in the schema, as a path.
    pub at: String,
    /// The reason.
    pub reason: String,
}

fn invalid<T>(at: &str, reason: impl Into<String>) -> Result<T, SchemaError> {
    Err(SchemaError {
        at: at.to_owned(),
        reason: reason.into(),
    })
}

impl DetailsSchema {
    /// Parses a schema.
    ///
    /// # Errors
    /// [`SchemaError`] with the place of the first mistake.
    pub fn parse(source: &Value) -> Result<Self, SchemaError> {
        let size = serde_json::to_vec(source).map_or(usize::MAX, |text| text.len());
        if size > LARGEST {
            return invalid("schema", format!("expected {LARGEST} bytes at most"));
        }
        let root = match content("schema", source, 0)? {
            Content::Object(root) => root,
            Content::Scalar(_) | Content::List { .. } => {
                return invalid("schema.type", "expected object");
            }
        };
        if root.properties.iter().any(|one| one.name == TYPE) {
            return invalid(
                "schema.properties.type",
                "each element has the member type, with the name of its type; remove it from the schema",
            );
        }
        let schema = Self {
            source: source.clone(),
            root,
        };
        if schema.members().len() > MOST_MEMBERS {
            return invalid("schema", format!("expected {MOST_MEMBERS} members at most"));
        }
        Ok(schema)
    }

    /// The schema as it was written.
    pub const fn source(&self) -> &Value {
        &self.source
    }

    /// The members with values, by their path with dots, each with the largest length of its text in characters.
    pub fn members(&self) -> Vec<(String, usize)> {
        let mut members = Vec::new();
        collect_members(&self.root, "", &mut members);
        members
    }

    /// Checks an element, and returns the values of its members by their paths. A member without a value has none.
    ///
    /// # Errors
    /// [`ValueError`] for the first member that does not match.
    pub fn values<'v>(
        &self,
        element: &'v Map<String, Value>,
    ) -> Result<Vec<(String, &'v Value)>, ValueError> {
        let mut values = Vec::new();
        check_object(&self.root, element, "", &mut values)?;
        Ok(values)
    }
}

fn collect_members(object: &ObjectSchema, parent: &str, members: &mut Vec<(String, usize)>) {
    for property in &object.properties {
        let path = path_of(parent, &property.name);
        match &property.content {
            Content::Scalar(scalar) => members.push((path, scalar.longest())),
            Content::List { elements, most, .. } => {
                let most = usize::try_from(*most).unwrap_or(usize::MAX);
                // A comma, a blank and two isolates beside each element.
                members.push((path, most.saturating_mul(elements.longest() + 4)));
            }
            Content::Object(inner) => collect_members(inner, &path, members),
        }
    }
}

/// The keywords of JSON Schema that each content may have. `title` and `description` have no effect.
fn check_keywords(
    at: &str,
    keywords: &Map<String, Value>,
    permitted: &[&str],
) -> Result<(), SchemaError> {
    let unknown = keywords.keys().find(|name| {
        !["type", "title", "description"].contains(&name.as_str())
            && !permitted.contains(&name.as_str())
    });
    match unknown {
        None => Ok(()),
        Some(_) => invalid(
            at,
            format!(
                "has an unsupported keyword; expected type, {}",
                permitted.join(", ")
            ),
        ),
    }
}

fn content(at: &str, source: &Value, depth: usize) -> Result<Content, SchemaError> {
    let Some(keywords) = source.as_object() else {
        return invalid(at, "expected an object");
    };
    match keywords.get("type").and_then(Value::as_str) {
        Some("object") => object(at, keywords, depth).map(Content::Object),
        Some("array") => list(at, keywords),
        _ => scalar(at, keywords).map(Content::Scalar),
    }
}

fn object(
    at: &str,
    keywords: &Map<String, Value>,
    depth: usize,
) -> Result<ObjectSchema, SchemaError> {
    check_keywords(
        at,
        keywords,
        &["properties", "required", "additionalProperties"],
    )?;
    if depth == DEEPEST {
        return invalid(at, format!("expected {DEEPEST} levels of objects at most"));
    }
    if keywords
        .get("additionalProperties")
        .is_some_and(|value| *value != Value::Bool(false))
    {
        return invalid(at, "additionalProperties must be false");
    }
    let Some(sources) = keywords.get("properties").and_then(Value::as_object) else {
        return invalid(at, "expected properties, an object");
    };
    let mut required = match keywords.get("required") {
        None => Vec::new(),
        Some(names) => texts(names).map_or_else(
            || invalid(at, "expected required to be a list of names"),
            Ok,
        )?,
    };
    let mut properties = Vec::new();
    for (name, source) in sources {
        if !is_member_name(name) {
            return invalid(
                at,
                format!(
                    "a name of a member must have 1 to {LONGEST_NAME} letters, digits, _ and - of ASCII"
                ),
            );
        }
        let content = content(&format!("{at}.properties.{name}"), source, depth + 1)?;
        let is_required = required.contains(name);
        required.retain(|one| one != name);
        properties.push(Property {
            name: name.clone(),
            is_required,
            content,
        });
    }
    match required.is_empty() {
        true => Ok(ObjectSchema { properties }),
        false => invalid(
            at,
            "required names a member that is not one of the properties",
        ),
    }
}

fn list(at: &str, keywords: &Map<String, Value>) -> Result<Content, SchemaError> {
    check_keywords(at, keywords, &["items", "minItems", "maxItems"])?;
    let items = keywords.get("items").and_then(Value::as_object);
    let Some(items) = items else {
        return invalid(at, "expected items, the schema of the elements");
    };
    let elements = scalar(&format!("{at}.items"), items)?;
    let has_comma = |choices: &Vec<String>| choices.iter().any(|one| one.contains(','));
    if matches!(&elements, Scalar::Choice(choices) if has_comma(choices)) {
        return invalid(
            at,
            "an element must not contain a comma, which separates elements",
        );
    }
    let (least, most) = bounds(at, keywords, ("minItems", "maxItems"), MOST_ELEMENTS)?;
    Ok(Content::List {
        elements,
        least,
        most,
    })
}

fn scalar(at: &str, keywords: &Map<String, Value>) -> Result<Scalar, SchemaError> {
    match keywords.get("type").and_then(Value::as_str) {
        Some("string") => text(at, keywords),
        Some("integer") => range(at, keywords).map(Scalar::Integer),
        _ => invalid(
            at,
            "expected the type string or integer; write a fraction, or a yes or no, as a string, and no object or \
             array as an element of an array",
        ),
    }
}

fn text(at: &str, keywords: &Map<String, Value>) -> Result<Scalar, SchemaError> {
    check_keywords(at, keywords, &["enum", "minLength", "maxLength"])?;
    let Some(choices) = keywords.get("enum") else {
        let (least, most) = bounds(at, keywords, ("minLength", "maxLength"), LONGEST_TEXT)?;
        // An empty text shows nothing.
        return Ok(Scalar::Text {
            least: least.max(1),
            most,
        });
    };
    let choices = texts(choices).filter(|choices| {
        let fits = |text: &String| {
            let length = text.chars().count() as u64;
            (1..=LONGEST_TEXT).contains(&length) && text.chars().all(is_printable)
        };
        (1..=MOST_CHOICES).contains(&choices.len()) && choices.iter().all(fits)
    });
    choices.map_or_else(
        || {
            invalid(
                at,
                format!(
                    "expected enum to be a list of 1 to {MOST_CHOICES} texts, each of 1 to {LONGEST_TEXT} printable \
                     characters"
                ),
            )
        },
        |choices| Ok(Scalar::Choice(choices)),
    )
}

/// Returns the least and the largest number of characters or elements. The largest is required.
fn bounds(
    at: &str,
    keywords: &Map<String, Value>,
    (least, most): (&str, &str),
    limit: u64,
) -> Result<(u64, u64), SchemaError> {
    let expected = || {
        format!(
            "expected {most} of 1 to {limit}, because devices show the whole value, and {least} of 0 to {most}"
        )
    };
    let highest = keywords.get(most).and_then(Value::as_u64);
    let lowest = match keywords.get(least) {
        None => Some(0),
        Some(value) => value.as_u64(),
    };
    match (lowest, highest) {
        (Some(lowest), Some(highest)) if (1..=limit).contains(&highest) && lowest <= highest => {
            Ok((lowest, highest))
        }
        _ => invalid(at, expected()),
    }
}

fn range(at: &str, keywords: &Map<String, Value>) -> Result<Range, SchemaError> {
    check_keywords(at, keywords, &["minimum", "maximum"])?;
    let limit = |name| match keywords.get(name) {
        None => Ok(None),
        Some(value) => value.as_i64().map_or_else(
            || invalid(at, format!("expected {name} to be a whole number")),
            |limit| Ok(Some(limit)),
        ),
    };
    Ok(Range {
        least: limit("minimum")?,
        most: limit("maximum")?,
    })
}

fn texts(value: &Value) -> Option<Vec<String>> {
    let texts = value.as_array()?.iter();
    texts.map(|text| text.as_str().map(str::to_owned)).collect()
}
