//! What the commands are made from: the operations and nouns of the OpenAPI document, as far as a command needs to know
//! them.

pub(super) mod reader;

use reqwest::Method;

/// Something that the admin API does.
#[derive(Debug)]
pub(super) struct Operation {
    /// Nouns and a verb with dots, as in `users.sessions.end`: the operationId, and with spaces the command.
    pub(super) name: String,
    /// The method.
    pub(super) method: Method,
    /// The path below the API's own, with `{name}` for what varies.
    pub(super) path: String,
    /// One sentence.
    pub(super) summary: String,
    /// More of it; may be empty.
    pub(super) description: String,
    /// The permission that it needs.
    pub(super) permission: String,
    /// The parameters of the query.
    pub(super) query: Vec<BodyMember>,
    /// What it takes.
    pub(super) body: Option<Body>,
    /// What it answers.
    pub(super) answer: ResponseDescription,
    /// Whether `If-Match` names the version that is changed.
    pub(super) is_versioned: bool,
    /// Whether it takes something away that nothing brings back.
    pub(super) is_irreversible: bool,
}

/// What the names of operations begin with.
#[derive(Debug)]
pub(super) struct Noun {
    /// As in `users.sessions`.
    pub(super) name: String,
    /// One sentence.
    pub(super) about: String,
}

/// What a command needs of the OpenAPI document.
#[derive(Debug)]
pub(super) struct Document {
    /// The nouns.
    pub(super) nouns: Vec<Noun>,
    /// The operations.
    pub(super) operations: Vec<Operation>,
}

/// What a request carries.
#[derive(Debug)]
pub(super) enum Body {
    /// An object with these members.
    Json(Vec<BodyMember>),
    /// Something else, of this media type, which may have a `*`.
    Raw(String),
}

/// A member of an object, or a parameter.
#[derive(Clone, Debug)]
pub(super) struct BodyMember {
    /// Its name.
    pub(super) name: String,
    /// What it is; may be empty.
    pub(super) description: String,
    /// What it may be.
    pub(super) shape: Shape,
    /// Whether it must be there.
    pub(super) is_required: bool,
}

/// What a value may be.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// A text.
    Text,
    /// One of these texts.
    Choice(Vec<String>),
    /// A number.
    Number,
    /// Yes or no.
    Truth,
    /// An object; one without members may have any.
    Object(Vec<BodyMember>),
    /// A list.
    List(Box<Shape>),
    /// Any JSON.
    Any,
}

/// What an operation answers when it is done.
#[derive(Debug)]
pub(super) struct ResponseDescription {
    /// In words.
    pub(super) description: String,
    /// The media type; none where there is no body.
    pub(super) media_type: Option<String>,
    /// Its members, of an object.
    pub(super) members: Vec<BodyMember>,
    /// The name of the schema; of a list that of its items.
    pub(super) schema: Option<String>,
    /// What each item of a list has.
    pub(super) items: Option<Vec<BodyMember>>,
}

impl ResponseDescription {
    /// Whether it is JSON, or nothing.
    pub(super) fn is_json(&self) -> bool {
        self.media_type
            .as_deref()
            .is_none_or(|kind| kind == "application/json")
    }
}

impl Operation {
    /// The parameters of the path, in their order, each by what it identifies: `{id}` of `/users/{id}` is a `user`.
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

    /// Whether it answers a list by pages.
    pub(super) fn is_paged(&self) -> bool {
        ["after", "limit"]
            .iter()
            .all(|name| self.query.iter().any(|parameter| parameter.name == *name))
    }

    /// Method and path, as the document names it.
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// The members of its body, where that is JSON.
    pub(super) fn members(&self) -> &[BodyMember] {
        match &self.body {
            Some(Body::Json(members)) => members,
            _ => &[],
        }
    }
}
