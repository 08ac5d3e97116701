//! Documents in other encodings than UTF-8: UTF-16, which every XML processor must read (XML 1.0 section 4.3.3), and
//! ISO 8859-1 with its subset ASCII, which some programs write. A document is converted once, before it is read.

use std::borrow::Cow;

use super::{XmlError, XmlProblem};

/// The maximum end of the XML declaration in a document, in bytes.
const DECLARATION: usize = 256;
const BOM: char = '\u{feff}';

/// Converts the document to UTF-8. A byte order mark decides, then the zero bytes of UTF-16, then the XML declaration
/// (XML 1.0 appendix F).
///
/// # Errors
/// [`XmlProblem::Encoding`] for bytes that are not valid in their encoding. [`Document::read`](super::Document::read)
/// rejects an unsupported encoding.
pub fn to_utf8(bytes: &[u8]) -> Result<Cow<'_, [u8]>, XmlError> {
    let wide = match bytes.get(..2) {
        Some([0xff, 0xfe] | [b'<', 0]) => Some(u16::from_le_bytes as fn([u8; 2]) -> u16),
        Some([0xfe, 0xff] | [0, b'<']) => Some(u16::from_be_bytes as fn([u8; 2]) -> u16),
        _ => None,
    };
    if let Some(unit) = wide {
        let text = wide_text(bytes, unit).ok_or(XmlError {
            problem: XmlProblem::Encoding,
            line: 1,
        })?;
        return Ok(Cow::Owned(
            declared_as_utf8(&text).into_owned().into_bytes(),
        ));
    }
    match declared_encoding(bytes) {
        DeclaredEncoding::Latin1 => {
            let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
            Ok(Cow::Owned(
                declared_as_utf8(&text).into_owned().into_bytes(),
            ))
        }
        // A document in UTF-16 begins with other bytes. Programs in .NET declare the encoding of their strings, and
        // then write UTF-8.
        DeclaredEncoding::Utf16 => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Cow::Owned(declared_as_utf8(text).into_owned().into_bytes())),
            Err(_) => Ok(Cow::Borrowed(bytes)),
        },
        DeclaredEncoding::Other => Ok(Cow::Borrowed(bytes)),
    }
}

/// The encoding that a document declares.
enum DeclaredEncoding {
    /// ISO 8859-1, or its subset ASCII.
    Latin1,
    /// UTF-16.
    Utf16,
    /// UTF-8, none, or an unsupported one.
    Other,
}

fn wide_text(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    if rest.is_empty() {
        String::from_utf16(&units).ok()
    } else {
        None
    }
}

fn declared_encoding(bytes: &[u8]) -> DeclaredEncoding {
    let head = bytes
        .get(..DECLARATION.min(bytes.len()))
        .unwrap_or_default();
    let head: String = head.iter().map(|byte| char::from(*byte)).collect();
    let encoding = encoding_position(&head)
        .and_then(|(start, end)| head.get(start..end))
        .unwrap_or_default();
    let is_one_of = |names: &[&str]| names.iter().any(|name| encoding.eq_ignore_ascii_case(name));
    if is_one_of(&[
        "iso-8859-1",
        "iso_8859-1",
        "latin1",
        "latin-1",
        "l1",
        "us-ascii",
        "ascii",
    ]) {
        DeclaredEncoding::Latin1
    } else if is_one_of(&["utf-16", "utf-16le", "utf-16be"]) {
        DeclaredEncoding::Utf16
    } else {
        DeclaredEncoding::Other
    }
}

/// Returns the text, which declares UTF-8 if it declared another encoding.
pub fn declared_as_utf8(text: &str) -> Cow<'_, str> {
    match encoding_position(text) {
        Some((start, end)) => {
            let (before, after) = (
                text.get(..start).unwrap_or_default(),
                text.get(end..).unwrap_or_default(),
            );
            Cow::Owned(format!("{before}UTF-8{after}"))
        }
        None => Cow::Borrowed(text),
    }
}

/// Returns the position of the encoding's name in the XML declaration, if it names one (XML 1.0 production 80).
fn encoding_position(text: &str) -> Option<(usize, usize)> {
    let inside = text.trim_start_matches(BOM).strip_prefix("<?xml")?;
    let begins = text.len() - inside.len();
    let (declaration, _) = inside.split_once("?>")?;
    let at = declaration.find("encoding")?;
    let rest = declaration
        .get(at + "encoding".len()..)?
        .trim_start()
        .strip_prefix('=')?
        .trim_start();
    let quote = rest
        .chars()
        .next()
        .filter(|quote| matches!(quote, '"' | '\''))?;
    let (name, _) = rest.get(1..)?.split_once(quote)?;
    let start = begins + declaration.len() - rest.len() + 1;
    Some((start, start + name.len()))
}

#[cfg(test)]
mod tests;
