//! The source of the commands: the operations and nouns of the OpenAPI document, as far as a command needs them.

pub(super) mod reader;

use reqwest::Method;

/// An operation of the admin API.
#[derive(Debug)]
pub(super) struct Operation {
    /// Nouns and a verb with dots, as in `users.sessions.end`: the operationId, and with spaces the command.
    pub(super) name: String,
    /// The HTTP method.
    pub(super) method: Method,
    /// The path below that of the API, with `{name}` for the variable segments.
    pub(super) path: String,
    /// The summary, in one sentence.
    pub(super) summary: String,
    /// Further description; may be empty.
    pub(super) description: String,
    /// The required permission.
    pub(super) permission: String,
    /// The descriptions of the path's parameters, in their order.
    pub(super) path_descriptions: Vec<String>,
    /// The parameters of the query.
    pub(super) query: Vec<BodyMember>,
    /// The body of the request.
    pub(super) body: Option<Body>,
    /// Whether a request without a body is invalid.
    pub(super) is_body_required: bool,
    /// The response.
    pub(super) answer: ResponseDescription,
    /// Whether `If-Match` selects the version to change.
    pub(super) is_versioned: bool,
    /// Whether the operation cannot be undone.
    pub(super) is_irreversible: bool,
}

/// The prefix of operation names.
#[derive(Debug)]
pub(super) struct Noun {
    /// The name, as in `users.sessions`.
    pub(super) name: String,
    /// The description, in one sentence.
    pub(super) about: String,
}

/// The parts of the OpenAPI document that commands need.
#[derive(Debug)]
pub(super) struct Document {
    /// The nouns.
    pub(super) nouns: Vec<Noun>,
    /// The operations.
    pub(super) operations: Vec<Operation>,
}

/// The body of a request.
#[derive(Debug)]
pub(super) enum Body {
    /// An object with these members.
    Json(Vec<BodyMember>),
    /// A body of this media type, which may contain a `*`.
    Raw(String),
}

/// A member of an object, or a parameter.
#[derive(Clone, Debug)]
pub(super) struct BodyMember {
    /// The name.
    pub(super) name: String,
    /// The description; may be empty.
    pub(super) description: String,
    /// The type of the value.
    pub(super) shape: Shape,
    /// Whether it is required.
    pub(super) is_required: bool,
    /// Whether it may be null. In a change, null removes the value.
    pub(super) is_nullable: bool,
}

/// The type of a value.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// A text.
    Text,
    /// One of these texts.
    Choice(Vec<String>),
    /// A number.
    Number,
    /// A boolean.
    Truth,
    /// An object with these members; without members, any object.
    Object(Vec<BodyMember>),
    /// A list.
    List(Box<Shape>),
    /// Any JSON.
    Any,
}

/// The response of a successful operation.
#[derive(Debug)]
pub(super) struct ResponseDescription {
    /// The description.
    pub(super) description: String,
    /// The media type; `None` without a body.
    pub(super) media_type: Option<String>,
    /// The members of an object.
    pub(super) members: Vec<BodyMember>,
    /// The name of the schema; for a list, of its items.
    pub(super) schema: Option<String>,
    /// The members of each item of a list.
    pub(super) items: Option<Vec<BodyMember>>,
}

impl ResponseDescription {
    /// Whether the response is JSON, or empty.
    pub(super) fn is_json(&self) -> bool {
        self.media_type
            .as_deref()
            .is_none_or(|kind| kind == "application/json")
    }
}

impl Operation {
    /// Returns the names of the path's parameters, in their order, each by the kind of its object: `{id}` of
    /// `/users/{id}` is a `user`.
    pub(super) fn path_parameters(&self) -> impl Iterator<Item = String> {
        let mut before = "";
        self.path.split('/').filter_map(move |part| {
            let name = part
                .strip_prefix('{')
                .and_then(|part| part.strip_suffix('}'));
            let of = std::mem::replace(&mut before, part);
            name.map(|name| match name {
                "id" => of.strip_suffix('s').unwrap_or(of).to_owned(),
                name => name.to_owned(),
            })
        })
    }

    /// Whether the response is a list with pages.
    pub(super) fn is_paged(&self) -> bool {
        ["after", "limit"]
            .iter()
            .all(|name| self.query.iter().any(|parameter| parameter.name == *name))
    }

    /// Returns the method and path in the form of the document.
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Returns the members of the body, if it is JSON.
    pub(super) fn members(&self) -> &[BodyMember] {
        match &self.body {
            Some(Body::Json(members)) => members,
            _ => &[],
        }
    }
}
