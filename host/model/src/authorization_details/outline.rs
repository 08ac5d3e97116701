//! What a schema permits, member by member, for the administrator who approves the type.

use super::content::{Content, ObjectSchema, Scalar, path_of};
use super::schema::DetailsSchema;

/// A member of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberOutline<'a> {
    /// The path with dots.
    pub path: String,
    /// Whether each object with this member's parent has the member.
    pub is_required: bool,
    /// The values that it permits.
    pub values: ValueOutline<'a>,
    /// The least and the largest number of values; `None` if the member is not a list.
    pub list: Option<(u64, u64)>,
}

/// The values that a member permits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueOutline<'a> {
    /// A text with this length in characters.
    Text {
        /// The least length.
        least: u64,
        /// The largest length.
        most: u64,
    },
    /// One of these texts.
    Choice(&'a [String]),
    /// A whole number.
    Integer {
        /// The least one.
        least: Option<i64>,
        /// The largest one.
        most: Option<i64>,
    },
    /// An object. Its members follow.
    Object,
}

impl DetailsSchema {
    /// Returns all members, each object before its members. Schemas that accept different
    /// values have different outlines.
    pub fn outline(&self) -> Vec<MemberOutline<'_>> {
        let mut members = Vec::new();
        collect(self.root(), "", &mut members);
        members
    }
}

fn collect<'a>(object: &'a ObjectSchema, parent: &str, members: &mut Vec<MemberOutline<'a>>) {
    for property in &object.properties {
        let path = path_of(parent, &property.name);
        let (values, list) = match &property.content {
            Content::Scalar(scalar) => (values_of(scalar), None),
            Content::List {
                elements,
                least,
                most,
            } => (values_of(elements), Some((*least, *most))),
            Content::Object(_) => (ValueOutline::Object, None),
        };
        members.push(MemberOutline {
            path: path.clone(),
            is_required: property.is_required,
            values,
            list,
        });
        if let Content::Object(inner) = &property.content {
            collect(inner, &path, members);
        }
    }
}

fn values_of(scalar: &Scalar) -> ValueOutline<'_> {
    match scalar {
        Scalar::Text { least, most } => ValueOutline::Text {
            least: *least,
            most: *most,
        },
        Scalar::Choice(choices) => ValueOutline::Choice(choices),
        Scalar::Integer(range) => ValueOutline::Integer {
            least: range.least,
            most: range.most,
        },
    }
}
