//! The check of values by a schema.

use serde_json::{Map, Value};

use super::content::{Content, ObjectSchema, Range, Scalar, is_member_name, path_of};
use super::name::TYPE;
use crate::printable::is_printable;

/// The largest whole number that each JSON parser reads without loss (RFC 8259 section 6).
const LARGEST_INTEGER: i64 = (1 << 53) - 1;

/// A value that does not match the schema of its type. The message names the member.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{member}{problem}")]
pub struct ValueError {
    member: String,
    problem: String,
}

fn mismatch<T>(member: &str, problem: impl Into<String>) -> Result<T, ValueError> {
    Err(ValueError {
        member: member.to_owned(),
        problem: problem.into(),
    })
}

/// Checks an object, and adds the values of its members with their paths.
pub(super) fn check_object<'v>(
    schema: &ObjectSchema,
    object: &'v Map<String, Value>,
    parent: &str,
    values: &mut Vec<(String, &'v Value)>,
) -> Result<(), ValueError> {
    for property in &schema.properties {
        let path = path_of(parent, &property.name);
        match object.get(&property.name) {
            None if property.is_required => return mismatch(&path, " is missing"),
            None => {}
            Some(value) => check_value(&property.content, value, path, values)?,
        }
    }
    let is_known = |name: &str| {
        let is_type = parent.is_empty() && name == TYPE;
        is_type || schema.properties.iter().any(|one| one.name == name)
    };
    match object.keys().find(|name| !is_known(name)) {
        None => Ok(()),
        // Only a name that a schema could have is safe to repeat in an error.
        Some(name) if is_member_name(name) => mismatch(
            &path_of(parent, name),
            " is not a member of the type; remove it",
        ),
        Some(_) => mismatch(
            &path_of(parent, "?"),
            " is a member that the type does not have; remove it",
        ),
    }
}

fn check_value<'v>(
    content: &Content,
    value: &'v Value,
    path: String,
    values: &mut Vec<(String, &'v Value)>,
) -> Result<(), ValueError> {
    match (content, value) {
        (Content::Object(schema), Value::Object(object)) => {
            return check_object(schema, object, &path, values);
        }
        (Content::Object(_), _) => return mismatch(&path, " must be an object"),
        (Content::Scalar(scalar), _) => scalar.check(&path, value)?,
        (
            Content::List {
                elements,
                least,
                most,
            },
            Value::Array(list),
        ) => {
            let count = list.len() as u64;
            if count < *least || count > *most {
                return mismatch(&path, format!(" must have {least} to {most} elements"));
            }
            for element in list {
                elements.check(&path, element)?;
                if element.as_str().is_some_and(|text| text.contains(',')) {
                    return mismatch(&path, " must not contain a comma, which separates elements");
                }
            }
        }
        (Content::List { .. }, _) => return mismatch(&path, " must be an array"),
    }
    values.push((path, value));
    Ok(())
}

impl Scalar {
    fn check(&self, path: &str, value: &Value) -> Result<(), ValueError> {
        match (self, value) {
            (Self::Text { least, most }, Value::String(text)) => {
                let length = text.chars().count() as u64;
                if length > *most {
                    return mismatch(path, format!(" is longer than {most} characters"));
                }
                if length < *least {
                    return mismatch(path, format!(" is shorter than {least} characters"));
                }
                if text.chars().all(is_printable) {
                    return Ok(());
                }
                mismatch(
                    path,
                    " must not contain control characters, invisible ones, or those that change the direction of text",
                )
            }
            (Self::Text { .. }, _) => mismatch(path, " must be a string"),
            (Self::Choice(choices), value) => {
                let is_one = value
                    .as_str()
                    .is_some_and(|text| choices.iter().any(|choice| choice == text));
                match is_one {
                    true => Ok(()),
                    false => mismatch(path, " must be one of the strings of the type"),
                }
            }
            (Self::Integer(range), value) => match value.as_i64() {
                Some(number) if (-LARGEST_INTEGER..=LARGEST_INTEGER).contains(&number) => {
                    range.check(path, number)
                }
                _ => mismatch(path, " must be a whole number below 2^53"),
            },
        }
    }
}

impl Range {
    fn check(self, path: &str, number: i64) -> Result<(), ValueError> {
        if let Some(least) = self.least.filter(|least| number < *least) {
            return mismatch(path, format!(" must be {least} at least"));
        }
        if let Some(most) = self.most.filter(|most| number > *most) {
            return mismatch(path, format!(" must be {most} at most"));
        }
        Ok(())
    }
}
