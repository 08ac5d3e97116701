//! Conditional requests (RFC 9110 section 13): `ETag`, `If-Match` and `If-None-Match`. A tag is the version of the
//! resource.

use std::borrow::Cow;

use axum::Json;
use axum::body::Body;
use axum::extract::{FromRequestParts, Request};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::domain::admin::{AdminError, ExpectedVersion};
use crate::http::header_text;
use crate::http::problem::{Problem, ProblemKind};

/// A response with the version of its resource.
pub(super) struct VersionedResponse<T>(pub(super) i64, pub(super) T);

fn tag_of(version: i64) -> String {
    format!("\"{version}\"")
}

impl<T: Serialize> IntoResponse for VersionedResponse<T> {
    fn into_response(self) -> Response {
        let mut response = Json(self.1).into_response();
        if let Ok(tag) = HeaderValue::from_str(&tag_of(self.0)) {
            response.headers_mut().insert(ETAG, tag);
        }
        response
    }
}

/// The tags in a header; `None` if the header is missing.
fn tags(headers: &HeaderMap, name: &HeaderName) -> Option<Vec<String>> {
    let tags = || header_text::elements(headers, name).map(Cow::into_owned);
    headers.contains_key(name).then(|| tags().collect())
}

/// The condition of `If-Match`: a change applies only to a version that the header names.
#[derive(Clone, Debug)]
pub(super) struct IfMatch(Option<Vec<String>>);

impl IfMatch {
    /// The versions to which a command applies.
    pub(super) fn expected_version(&self) -> ExpectedVersion {
        let Some(tags) = &self.0 else {
            return ExpectedVersion::Any;
        };
        if tags.iter().any(|tag| tag == "*") {
            return ExpectedVersion::Any;
        }
        let version = |tag: &String| strong(tag)?.parse().ok();
        ExpectedVersion::OneOf(tags.iter().filter_map(version).collect())
    }
}

/// Returns the content of a strong tag. A weak tag never matches in `If-Match` (section 13.1.1), and the tags of this
/// server are strong.
fn strong(tag: &str) -> Option<&str> {
    tag.strip_prefix('"')?.strip_suffix('"')
}

/// Returns why none of these tags can ever match.
fn mistake(tags: &[String]) -> Option<String> {
    let known = |tag: &String| tag == "*" || strong(tag).is_some();
    if tags.iter().any(known) {
        return None;
    }
    let tag = tags.first()?;
    let kind = match tag.strip_prefix("W/") {
        Some(_) => "is a weak tag, which never matches",
        None => "is not a tag, because it has no quotation marks",
    };
    Some(format!(
        "If-Match: {tag} {kind}; send the ETag of the response unchanged, such as \"5\""
    ))
}

impl<S: Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let tags = tags(&parts.headers, &IF_MATCH);
        match tags.as_deref().and_then(mistake) {
            None => Ok(Self(tags)),
            Some(detail) => Err(Problem::with_kind(ProblemKind::Stale, detail)),
        }
    }
}

/// Responds with 304 if the caller has the current version.
pub(super) async fn not_modified(request: Request, next: Next) -> Response {
    let known = tags(request.headers(), &IF_NONE_MATCH);
    let mut response = next.run(request).await;
    let Some(tag) = response
        .headers()
        .get(ETAG)
        .and_then(|tag| tag.to_str().ok())
    else {
        return response;
    };
    // This is the weak comparison (section 13.1.2).
    let names = |tags: Vec<String>| {
        tags.iter()
            .any(|known| known == "*" || known.trim_start_matches("W/") == tag)
    };
    if response.status() == StatusCode::OK && known.is_some_and(names) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Body::empty();
        response.headers_mut().remove(CONTENT_TYPE);
        response.headers_mut().remove(CONTENT_LENGTH);
    }
    response
}

/// Rejects a change with `If-Match` of a resource without a version, because no tag can match.
pub(super) async fn without_version(request: Request, next: Next) -> Response {
    match tags(request.headers(), &IF_MATCH) {
        Some(tags) if !tags.iter().any(|tag| tag == "*") => {
            Problem::from(AdminError::Stale).into_response()
        }
        _ => next.run(request).await,
    }
}
