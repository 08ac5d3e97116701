//! The input of a request: JSON bodies and queries, parsed strictly, with errors that name the position.

use std::collections::HashSet;

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, FailedToBufferBody, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::domain::admin::AdminError;
use crate::http::header_text;
use crate::http::problem::{Problem, ProblemKind};
use assent_model::command::{Change, unremovable_member};
use assent_model::id::UserId;
use assent_model::text::bytes_without_mark;

/// A JSON body of a type that knows its members. Unknown members are errors, and the problem names the position. A
/// value in another form than its own is an error, too. Without that check serde would also read the value of an
/// enumeration from an object, and an object from an array.
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned + Serialize, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let UnparsedJson(bytes) = UnparsedJson::from_request(request, state).await?;
        Ok(Self(parse_strictly(&bytes)?))
    }
}

/// The JSON body of a change, read as [`Body`] is. Null removes a member (RFC 7396), or is an error.
pub(super) struct ChangeBody<T>(pub(super) T);

impl<T, S> FromRequest<S> for ChangeBody<T>
where
    T: Change + DeserializeOwned + Serialize,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let UnparsedJson(bytes) = UnparsedJson::from_request(request, state).await?;
        Ok(Self(parse_change(&bytes)?))
    }
}

/// Reads a change as [`parse_strictly`] does, and rejects null for members that cannot be removed.
pub(super) fn parse_change<T>(body: &[u8]) -> Result<T, Problem>
where
    T: Change + DeserializeOwned + Serialize,
{
    let change: T = parse_strictly(body)?;
    let sent: Map<String, Value> = parse(body)?;
    match unremovable_member(&change, &sent) {
        None => Ok(change),
        Some(name) => Err(Problem::field(name, NULL_KEEPS)),
    }
}

/// The detail of the problem of a member that null cannot remove.
pub(super) const NULL_KEEPS: &str =
    "null would remove it, but it must have a value; send one, or omit the member";

/// Reads a JSON object as [`parse`] does, and rejects values in another form than their own.
pub(super) fn parse_strictly<T: DeserializeOwned + Serialize>(body: &[u8]) -> Result<T, Problem> {
    let value: T = parse(body)?;
    let sent: Map<String, Value> = parse(body)?;
    let Ok(Value::Object(own)) = serde_json::to_value(&value) else {
        return Err(Problem::no_object());
    };
    let unfit = sent
        .iter()
        .filter(|(_, value)| !value.is_null())
        .find(|(name, value)| !own.get(*name).is_some_and(|own| is_same(value, own)));
    match unfit {
        None => Ok(value),
        Some((name, _)) => Err(Problem::field(
            name,
            "the value has another form than expected",
        )),
    }
}

/// Whether the sent value equals the parsed one, which may contain defaults as well. The texts of a list may be in
/// another order, because some lists are sets. The time is linear in the size of the values.
fn is_same(sent: &Value, own: &Value) -> bool {
    match (sent, own) {
        (Value::Object(sent), Value::Object(own)) => sent
            .iter()
            .all(|(name, value)| own.get(name).is_some_and(|own| is_same(value, own))),
        (Value::Array(sent), Value::Array(own)) => {
            let is_in_order = || {
                sent.len() == own.len()
                    && sent.iter().zip(own).all(|(sent, own)| is_same(sent, own))
            };
            has_texts(sent, own) || is_in_order()
        }
        (sent, own) => sent == own,
    }
}

/// Whether all items of a list are texts that are also in the other list.
fn has_texts(sent: &[Value], own: &[Value]) -> bool {
    if !sent.iter().all(Value::is_string) {
        return false;
    }
    let own: HashSet<&str> = own.iter().filter_map(Value::as_str).collect();
    sent.iter()
        .filter_map(Value::as_str)
        .all(|text| own.contains(text))
}

/// A JSON body before parsing.
pub(super) struct UnparsedJson(pub(super) Bytes);

impl<S: Send + Sync> FromRequest<S> for UnparsedJson {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let merges = *request.method() == Method::PATCH;
        if !is_json(request.headers(), merges) {
            let also = if merges {
                " or application/merge-patch+json"
            } else {
                ""
            };
            let detail = format!(
                "the body is JSON; send it with the header Content-Type: application/json{also}"
            );
            return Err(Problem::with_kind(ProblemKind::MediaType, detail));
        }
        body(request, state).await.map(Self)
    }
}

/// A body of any kind.
pub(super) struct RawBody(pub(super) Bytes);

impl<S: Send + Sync> FromRequest<S> for RawBody {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        body(request, state).await.map(Self)
    }
}

pub(super) async fn body<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, Problem> {
    Bytes::from_request(request, state)
        .await
        .map_err(|rejection| match rejection {
            BytesRejection::FailedToBufferBody(FailedToBufferBody::LengthLimitError(_)) => {
                Problem::with_kind(ProblemKind::TooLarge, TOO_LARGE)
            }
            _ => Problem::with_kind(ProblemKind::Malformed, "the body ended early"),
        })
}

/// The detail of the problem of a body that is too large.
pub(super) const TOO_LARGE: &str =
    "the body is larger than 64 KiB, or as a file larger than 12 MiB";

fn is_json(headers: &HeaderMap, merges: bool) -> bool {
    let kind = header_text::media_type(headers);
    kind == "application/json" || (merges && kind == "application/merge-patch+json")
}

/// Reads a JSON object. Unknown members are errors, and the problem names the position. serde would read an array as
/// the members in their order. That is never intended, and code that searches a member by its name would not find it.
pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let body = bytes_without_mark(body);
    if holds_nul(body) {
        return Err(Problem::with_kind(
            ProblemKind::Malformed,
            "no text may contain the character NUL",
        ));
    }
    if body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
        return Err(Problem::no_object());
    }
    let mut json = serde_json::Deserializer::from_slice(body);
    let value =
        serde_path_to_error::deserialize(&mut json).map_err(|error| Problem::body(&error))?;
    json.end().map_err(|error| {
        Problem::with_kind(
            ProblemKind::Malformed,
            format!("the body is not the JSON expected here: {error}"),
        )
    })?;
    Ok(value)
}

/// Whether a text of a JSON body contains NUL, which PostgreSQL cannot store. JSON has only one way to write it.
fn holds_nul(body: &[u8]) -> bool {
    let mut rest = body;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        let escape = rest.get(at + 1..).unwrap_or_default();
        if escape.starts_with(b"u0000") {
            return true;
        }
        // The character after a backslash does not begin another escape.
        rest = escape.get(1..).unwrap_or_default();
    }
    false
}

/// The query parameters, of a type that knows them. Unknown ones are errors.
pub(super) struct Query<T>(pub(super) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let read = axum::extract::Query::try_from_uri(&parts.uri);
        let problem =
            |error: QueryRejection| Problem::with_kind(ProblemKind::Malformed, error.body_text());
        read.map(|axum::extract::Query(query)| Self(query))
            .map_err(problem)
    }
}

/// The maximum number of rows on a page of a list.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct PageLimit(u32);

impl Default for PageLimit {
    fn default() -> Self {
        Self(50)
    }
}

impl TryFrom<String> for PageLimit {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, &'static str> {
        let limit = text.parse().ok().filter(|limit| (1..=200).contains(limit));
        limit.map(Self).ok_or("expected 1 to 200")
    }
}

impl PageLimit {
    /// The rows of an export that are read at once: 500 with the first row of the next page.
    pub(super) const EXPORT: Self = Self(499);

    /// The number of rows.
    pub(super) const fn rows(self) -> u32 {
        self.0
    }

    /// One more than the number of rows, to detect a further page.
    pub(super) const fn and_one(self) -> u32 {
        self.0 + 1
    }
}

/// The text of a search: the beginning of a name, or an identifier.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Search(String);

impl Search {
    /// The maximum length, in characters: that of the longest name.
    pub(super) const LONGEST: usize = 254;

    /// The text; `None` if it is blank.
    pub(super) fn text(self) -> Option<String> {
        Some(self.0).filter(|text| !text.trim().is_empty())
    }
}

impl TryFrom<String> for Search {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, &'static str> {
        if text.chars().count() <= Self::LONGEST {
            Ok(Self(text))
        } else {
            Err("expected 254 characters at most")
        }
    }
}

/// Defines the query of a list: its filters, and the members of each page.
macro_rules! list_query {
    ($(#[doc = $about:literal])+ $access:vis struct $name:ident; $($filters:tt)*) => {
        $(#[doc = $about])+
        #[derive(serde::Deserialize, utoipa::IntoParams)]
        #[serde(deny_unknown_fields)]
        #[into_params(parameter_in = Query)]
        $access struct $name {
            $($filters)*
            /// The beginning of the page: `next` of the previous page.
            pub(super) after: Option<String>,
            /// The maximum number of items on the page.
            #[serde(default)]
            #[param(value_type = u32, minimum = 1, maximum = 200, default = 50, required = false)]
            pub(super) limit: crate::http::admin_api::input::PageLimit,
        }
    };
}

pub(super) use list_query;

list_query! {
    /// A page of a list without filters.
    pub(super) struct Page;
}

impl Page {
    /// The position at which the page begins.
    pub(super) fn after<T: std::str::FromStr>(&self) -> Result<Option<T>, Problem> {
        after(self.after.as_deref())
    }
}

/// Parses the cursor of a page.
pub(super) fn after<T: std::str::FromStr>(cursor: Option<&str>) -> Result<Option<T>, Problem> {
    let invalid = || {
        Problem::with_kind(
            ProblemKind::Malformed,
            "after: expected `next` of the page before",
        )
    };
    cursor
        .map(|text| text.parse().map_err(|_| invalid()))
        .transpose()
}

/// A page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct List<T> {
    pub(super) items: Vec<T>,
    /// The value of `after` for the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) next: Option<String>,
}

impl<T> List<T> {
    /// Creates a page from rows that were requested with [`PageLimit::and_one`].
    pub(super) fn from_rows<R>(
        mut rows: Vec<R>,
        limit: PageLimit,
        id: impl Fn(&R) -> String,
        show: impl Fn(R) -> T,
    ) -> Self {
        let limit = limit.0 as usize;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = if more { rows.last().map(id) } else { None };
        Self {
            items: rows.into_iter().map(show).collect(),
            next,
        }
    }

    /// A list of all items, without further pages.
    pub(super) fn whole(items: impl IntoIterator<Item = T>) -> Self {
        Self {
            items: items.into_iter().collect(),
            next: None,
        }
    }
}

/// Parses an id in a path. A text of another form is the id of no object.
pub(super) fn id_of<T: std::str::FromStr>(text: &str, what: &'static str) -> Result<T, Problem> {
    text.parse().map_err(|_| AdminError::NotFound(what).into())
}

/// Parses the member `users` of a body: ids of users.
pub(super) fn user_ids(texts: &[String]) -> Result<Vec<UserId>, Problem> {
    let invalid = |_| Problem::field("users", "expected the ids of users");
    texts
        .iter()
        .map(|text| text.parse().map_err(invalid))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{holds_nul, is_same};

    #[test]
    fn a_value_with_another_shape_is_different() {
        let read = json!({"url": "https://a.example", "index": null, "roles": ["a", "b"]});
        assert!(is_same(
            &json!({"url": "https://a.example", "roles": ["b", "a"]}),
            &read
        ));
        for other in [
            json!(["https://a.example", null]),
            json!({"url": ["https://a.example"]}),
            json!({"url": {"https://a.example": null}}),
            json!({"roles": [{"a": null}]}),
            json!({"unknown": 1}),
        ] {
            assert!(!is_same(&other, &read), "{other}");
        }
    }

    #[test]
    fn only_lists_of_texts_may_be_in_another_order() {
        let read = json!({"accounts": [{"user": "a", "roles": ["x", "y"]}, {"user": "b"}]});
        let sent = json!({"accounts": [{"user": "a", "roles": ["y", "x"]}, {"user": "b"}]});
        assert!(is_same(&sent, &read));
        let reversed = json!({"accounts": [{"user": "b"}, {"user": "a", "roles": ["x", "y"]}]});
        assert!(
            !is_same(&reversed, &read),
            "comparing all pairs of a long list takes too long"
        );
    }

    #[test]
    fn an_escaped_nul_is_found_at_any_place() {
        for text in [r#"{"a":"\u0000"}"#, r#""x\\\u0000""#, r#"{"\n\u0000":1}"#] {
            assert!(holds_nul(text.as_bytes()), "{text}");
        }
        for text in [r#""\\u0000""#, r#""u0000""#, r#""\u0001""#, r#""\"#] {
            assert!(!holds_nul(text.as_bytes()), "{text}");
        }
    }
}
