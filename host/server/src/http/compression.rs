//! The compression of responses (RFC 9110 sections 8.4 and 12.5.3).
//!
//! A response is compressed only where its route says so. If an attacker can insert text into a compressed response and
//! sees its size, the size reveals secrets that it contains (the BREACH attack). So a response that may contain a CSRF
//! token, a code, a token, a secret, or a link that is shown once is never compressed, and neither is an event stream.
//! Two layers compress:
//!
//! - [`CompressedDocuments`], for public documents: assets, discovery, the key set and SAML metadata. Each is
//!   compressed once and kept.
//! - [`compress_list`], for the lists of the admin API that [`super::admin_api`] names, from 1 KiB on.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use async_compression::Level;
use async_compression::tokio::write::{BrotliEncoder, GzipEncoder};
use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use openssl::sha::sha256;
use tokio::io::AsyncWriteExt;

use super::header_text;

/// The smallest body that is compressed, in bytes. The headers of a smaller one have the same size as what it saves.
const SMALLEST_DOCUMENT: usize = 256;
/// The smallest list that is compressed, in bytes.
const SMALLEST_LIST: u64 = 1024;
/// The largest body that is compressed, in bytes. A larger one is sent as it is.
const LARGEST: u64 = 8 << 20;
/// The maximum number of kept documents. The assets are about 150, and each service provider has one.
const MOST_KEPT: usize = 1024;
/// The codings of documents, the preferred ones first.
pub(super) const DOCUMENT_CODINGS: [Coding; 2] = [Coding::Brotli, Coding::Gzip];
/// The quality of documents, which are compressed once. A higher one takes ten times as long for a few percent.
const DOCUMENT_LEVEL: Level = Level::Precise(9);
/// The quality of lists, which are compressed for each response.
const LIST_LEVEL: Level = Level::Precise(5);

/// A content coding, the preferred ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Coding {
    #[strum(serialize = "br")]
    Brotli,
    Gzip,
    Identity,
}
assent_model::enum_texts!(Coding);

impl Coding {
    fn from_name(name: &str) -> Option<Self> {
        // `x-gzip` is another name of `gzip` (section 8.4.1.3).
        if name.eq_ignore_ascii_case("x-gzip") {
            return Some(Self::Gzip);
        }
        Self::ALL
            .into_iter()
            .find(|coding| name.eq_ignore_ascii_case(coding.as_str()))
    }

    /// Returns the coding of `offered` that the client prefers; of equal ones the first. It is the identity for a
    /// client without the header, and if the client accepts none.
    pub(super) fn preferred(headers: &HeaderMap, offered: &[Self]) -> Self {
        let accepted = Accepted::of(headers);
        let best = offered
            .iter()
            .copied()
            .chain([Self::Identity])
            .map(|coding| (coding, accepted.weight(coding)))
            .filter(|(_, weight)| *weight > 0)
            // Of equal ones, `min_by_key` returns the first.
            .min_by_key(|(_, weight)| Reverse(*weight));
        best.map_or(Self::Identity, |(coding, _)| coding)
    }

    /// Compresses a body. Returns `None` if the result is not smaller.
    async fn compress(self, body: &[u8], level: Level) -> Option<Bytes> {
        let compressed = match self {
            Self::Identity => return None,
            Self::Gzip => {
                let mut encoder = GzipEncoder::with_quality(Vec::new(), level);
                encoder.write_all(body).await.ok()?;
                encoder.shutdown().await.ok()?;
                encoder.into_inner()
            }
            Self::Brotli => {
                let mut encoder = BrotliEncoder::with_quality(Vec::new(), level);
                encoder.write_all(body).await.ok()?;
                encoder.shutdown().await.ok()?;
                encoder.into_inner()
            }
        };
        (compressed.len() < body.len()).then(|| compressed.into())
    }
}

/// The codings that a client accepts, with their weights in thousandths.
#[derive(Debug, Default)]
struct Accepted {
    named: Vec<(Coding, u16)>,
    /// The weight of `*`.
    any: Option<u16>,
}

/// The largest weight.
const FULL: u16 = 1000;

impl Accepted {
    fn of(headers: &HeaderMap) -> Self {
        let mut accepted = Self::default();
        for element in header_text::elements(headers, &ACCEPT_ENCODING) {
            let mut parts = element.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default();
            let weight = weight_of(parts);
            if name == "*" {
                accepted.any.get_or_insert(weight);
            } else if let Some(coding) = Coding::from_name(name) {
                accepted.named.push((coding, weight));
            }
        }
        accepted
    }

    /// The weight of a coding: 0 if the client does not accept it. The identity is acceptable unless it is excluded,
    /// but a named coding is better.
    fn weight(&self, coding: Coding) -> u16 {
        let named = self.named.iter().find(|(known, _)| *known == coding);
        match (named, self.any, coding) {
            (Some((_, weight)), ..) => *weight,
            (None, Some(0), _) => 0,
            (None, _, Coding::Identity) => 1,
            (None, any, _) => any.unwrap_or(0),
        }
    }
}

/// Reads the weight in the parameters of an element (section 12.4.2), in thousandths. An unreadable one excludes the
/// coding.
fn weight_of<'a>(mut parameters: impl Iterator<Item = &'a str>) -> u16 {
    let value = parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then(|| value.trim())
    });
    let Some(value) = value else {
        return FULL;
    };
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    let is_valid = fraction.len() <= 3 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let thousandths: u16 = match format!("{fraction:0<3}").parse() {
        Ok(thousandths) if is_valid => thousandths,
        _ => return 0,
    };
    match (whole, thousandths) {
        ("0", thousandths) => thousandths,
        ("1", 0) => FULL,
        _ => 0,
    }
}

/// The compressed public documents, by their entity tags.
#[derive(Debug, Default)]
pub(super) struct CompressedDocuments {
    kept: RwLock<HashMap<(String, Coding), Option<Bytes>>>,
}

impl CompressedDocuments {
    /// Returns the compressed body of the document with this tag, or `None` if the compression does not help.
    async fn compressed_body(&self, tag: &str, coding: Coding, body: &[u8]) -> Option<Bytes> {
        let key = (tag.to_owned(), coding);
        let known = self
            .kept
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&key)
            .cloned();
        if let Some(known) = known {
            return known;
        }
        let compressed = coding.compress(body, DOCUMENT_LEVEL).await;
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MOST_KEPT {
            kept.clear();
        }
        kept.insert(key, compressed.clone());
        compressed
    }
}

/// Compresses a public document, and responds with 304 if the client has it. Each coding has an entity tag of its own,
/// because its bytes differ (section 8.8.3.3).
pub(super) async fn compress_document(
    State(documents): State<Arc<CompressedDocuments>>,
    mut request: Request,
    next: Next,
) -> Response {
    let preferred = Coding::preferred(request.headers(), &DOCUMENT_CODINGS);
    // The handler does not know the codings of tags.
    let known = request.headers_mut().remove(IF_NONE_MATCH);
    let response = next.run(request).await;
    if response.status() != StatusCode::OK {
        return response;
    }
    let is_text = is_text(response.headers());
    let coding = if is_text { preferred } else { Coding::Identity };
    let (mut head, body) = response.into_parts();
    let limit = usize::try_from(LARGEST).unwrap_or(usize::MAX);
    let Ok(body) = to_bytes(body, limit).await else {
        return status(StatusCode::INTERNAL_SERVER_ERROR);
    };
    let tag = plain_tag(&head.headers, &body);
    let compressed = match coding {
        Coding::Identity => None,
        _ if body.len() < SMALLEST_DOCUMENT => None,
        _ => documents.compressed_body(&tag, coding, &body).await,
    };
    let tag = match &compressed {
        Some(_) => format!("\"{tag}-{}\"", coding.as_str()),
        None => format!("\"{tag}\""),
    };
    if is_text {
        varies(&mut head.headers);
    }
    insert(&mut head.headers, ETAG, &tag);
    if known.is_some_and(|known| names(&known, &tag)) {
        head.status = StatusCode::NOT_MODIFIED;
        head.headers.remove(CONTENT_TYPE);
        head.headers.remove(CONTENT_LENGTH);
        return Response::from_parts(head, Body::empty());
    }
    if compressed.is_some() {
        insert(&mut head.headers, CONTENT_ENCODING, coding.as_str());
    }
    head.headers.remove(CONTENT_LENGTH);
    Response::from_parts(head, Body::from(compressed.unwrap_or(body)))
}

/// Compresses a JSON list of the admin API. Browsers and proxies never store it, so it has no entity tag.
pub(super) async fn compress_list(request: Request, next: Next) -> Response {
    let coding = Coding::preferred(request.headers(), &[Coding::Gzip]);
    let response = next.run(request).await;
    let is_json = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind == "application/json");
    if response.status() != StatusCode::OK || !is_json || response.headers().contains_key(ETAG) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    varies(&mut head.headers);
    let size = body.size_hint().exact().unwrap_or(0);
    if coding == Coding::Identity || !(SMALLEST_LIST..=LARGEST).contains(&size) {
        return Response::from_parts(head, body);
    }
    let limit = usize::try_from(LARGEST).unwrap_or(usize::MAX);
    let Ok(body) = to_bytes(body, limit).await else {
        return status(StatusCode::INTERNAL_SERVER_ERROR);
    };
    match coding.compress(&body, LIST_LEVEL).await {
        Some(compressed) => {
            insert(&mut head.headers, CONTENT_ENCODING, coding.as_str());
            head.headers.remove(CONTENT_LENGTH);
            Response::from_parts(head, Body::from(compressed))
        }
        None => Response::from_parts(head, Body::from(body)),
    }
}

fn status(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Whether the media type is text. Images are compressed already.
fn is_text(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .and_then(|kind| kind.split(';').next())
        .unwrap_or_default()
        .trim();
    kind.starts_with("text/") && kind != "text/event-stream"
        || matches!(
            kind,
            "application/json" | "application/manifest+json" | "image/svg+xml"
        )
}

/// The content of the document's entity tag, without quotes. A document without a tag gets one of its content.
fn plain_tag(headers: &HeaderMap, body: &[u8]) -> String {
    let own = headers
        .get(ETAG)
        .and_then(|tag| tag.to_str().ok())
        .and_then(|tag| tag.strip_prefix('"')?.strip_suffix('"'));
    own.map_or_else(
        || hex::encode(sha256(body).get(..8).unwrap_or_default()),
        str::to_owned,
    )
}

/// Whether `If-None-Match` names the tag, by the weak comparison (section 13.1.2).
fn names(known: &HeaderValue, tag: &str) -> bool {
    header_text::text(known)
        .split(',')
        .map(str::trim)
        .any(|known| known == "*" || known.trim_start_matches("W/") == tag)
}

/// Notes that the response depends on `Accept-Encoding`, for caches.
fn varies(headers: &mut HeaderMap) {
    headers.append(VARY, HeaderValue::from_static("accept-encoding"));
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use async_compression::tokio::write::{BrotliDecoder, GzipDecoder};

    use super::*;

    fn preferred(lines: &[&'static str], offered: &[Coding]) -> Coding {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(ACCEPT_ENCODING, HeaderValue::from_static(line));
        }
        Coding::preferred(&headers, offered)
    }

    const BOTH: &[Coding] = &[Coding::Brotli, Coding::Gzip];

    #[test]
    fn the_client_chooses_the_coding_by_weights() {
        use Coding::{Brotli, Gzip, Identity};
        for (lines, expected) in [
            (&[][..], Identity),
            (&[""], Identity),
            (&["gzip, deflate, br, zstd"], Brotli),
            (&["gzip, deflate"], Gzip),
            (&["x-gzip"], Gzip),
            (&["GZIP;Q=1"], Gzip),
            (&["deflate, zstd"], Identity),
            (&["gzip", "br"], Brotli),
            (&["br;q=0.5, gzip;q=0.8"], Gzip),
            (&["br;q=0.800, gzip;q=0.8"], Brotli),
            (&["br;q=0, gzip"], Gzip),
            (&["br;q=0, gzip;q=0.000"], Identity),
            (&["br ; q=0 , gzip ; q=0.001"], Gzip),
            // Every coding that is not named.
            (&["*"], Brotli),
            (&["*;q=0.1, br;q=0"], Gzip),
            (&["*;q=0"], Identity),
            (&["*;q=0, gzip"], Gzip),
            (&["gzip;q=0, *"], Brotli),
            // The identity.
            (&["identity"], Identity),
            (&["identity, gzip;q=0.5"], Identity),
            (&["identity;q=0.5, gzip"], Gzip),
            (&["identity;q=0, gzip;q=0.1"], Gzip),
            (&["identity;q=0"], Identity),
            (&["identity;q=0, *;q=0"], Identity),
            // Unreadable elements exclude their coding only.
            (&["br;q=2, gzip"], Gzip),
            (&["br;q=-1, gzip"], Gzip),
            (&["br;q=0.1234, gzip;q=0.1"], Gzip),
            (&["br;q=, gzip;q=x"], Identity),
            (&["br;q=1.5, br"], Identity),
            (&[",, ;q=1, gzip"], Gzip),
            (&["gzip;level=9;q=0"], Identity),
        ] {
            assert_eq!(preferred(lines, BOTH), expected, "{lines:?}");
        }
        assert_eq!(preferred(&["br, gzip;q=0.1"], &[Gzip]), Gzip);
        assert_eq!(preferred(&["br"], &[Gzip]), Identity);
        // An octet above 0x7F hides no other element.
        let line = HeaderValue::from_bytes(b"K\xf6ln, gzip").unwrap();
        let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, line)]);
        assert_eq!(Coding::preferred(&headers, BOTH), Gzip);
        let known = HeaderValue::from_bytes(b"\"K\xf6ln\", W/\"a\"").unwrap();
        assert!(names(&known, "\"a\"") && !names(&known, "\"b\""));
    }

    #[tokio::test]
    async fn a_compressed_body_is_the_same_after_decompression() {
        let body = "assent ".repeat(500);
        for level in [DOCUMENT_LEVEL, LIST_LEVEL] {
            let gzip = Coding::Gzip.compress(body.as_bytes(), level).await.unwrap();
            let mut decoder = GzipDecoder::new(Vec::new());
            decoder.write_all(&gzip).await.unwrap();
            decoder.shutdown().await.unwrap();
            assert_eq!(decoder.into_inner(), body.as_bytes());
            let br = Coding::Brotli
                .compress(body.as_bytes(), level)
                .await
                .unwrap();
            let mut decoder = BrotliDecoder::new(Vec::new());
            decoder.write_all(&br).await.unwrap();
            decoder.shutdown().await.unwrap();
            assert_eq!(decoder.into_inner(), body.as_bytes());
        }
        assert_eq!(Coding::Gzip.compress(b"x", LIST_LEVEL).await, None);
        assert_eq!(
            Coding::Identity.compress(body.as_bytes(), LIST_LEVEL).await,
            None
        );
    }

    #[test]
    fn a_known_tag_is_found_in_a_list() {
        let names = |known: &'static str| names(&HeaderValue::from_static(known), "\"a-br\"");
        for known in ["\"a-br\"", "W/\"a-br\"", "\"b\", \"a-br\"", "*"] {
            assert!(names(known), "{known}");
        }
        for known in ["\"a\"", "\"a-gzip\"", "a-br", ""] {
            assert!(!names(known), "{known}");
        }
    }
}
