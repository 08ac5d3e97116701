//! The text of header fields. A field value is a sequence of octets (RFC 9110 section 5.5), and an octet above 0x7F
//! is permitted anywhere. It must not hide the rest of the value.

use std::borrow::Cow;

use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// Returns the text of a field value. Octets that are not UTF-8 become replacement characters.
pub(super) fn text(value: &HeaderValue) -> Cow<'_, str> {
    String::from_utf8_lossy(value.as_bytes())
}

/// Returns the text of the first line of a field; empty without one.
pub(super) fn first<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Cow<'h, str> {
    headers.get(name).map(text).unwrap_or_default()
}

/// Returns the elements of a field that is a list, from all its lines (RFC 9110 section 5.3).
pub(super) fn elements<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> impl DoubleEndedIterator<Item = Cow<'h, str>> + use<'h> {
    let mut found = Vec::new();
    for line in headers.get_all(name) {
        let parts = line.as_bytes().split(|octet| *octet == b',');
        found.extend(parts.map(|part| String::from_utf8_lossy(part.trim_ascii())));
    }
    found.into_iter()
}

/// Returns the media type of a body in lower case, without its parameters (RFC 9110 section 8.3); empty without one.
pub(super) fn media_type(headers: &HeaderMap) -> String {
    let value = first(headers, &axum::http::header::CONTENT_TYPE);
    let essence = value.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::header::{ACCEPT, CONTENT_TYPE};

    #[test]
    fn octets_above_ascii_hide_nothing_else() {
        let mut headers = HeaderMap::new();
        let latin1 = HeaderValue::from_bytes(b"text/html;charset=K\xf6ln").unwrap();
        headers.insert(CONTENT_TYPE, latin1.clone());
        headers.append(ACCEPT, latin1);
        headers.append(ACCEPT, HeaderValue::from_static(" a , b"));
        assert_eq!(media_type(&headers), "text/html");
        let accepted: Vec<_> = elements(&headers, &ACCEPT).collect();
        assert_eq!(accepted, ["text/html;charset=K\u{fffd}ln", "a", "b"]);
    }
}
