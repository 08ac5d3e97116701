//! The text of files, of standard input and of bodies: UTF-8, with or without a byte order mark.
//!
//! Editors and shells of Windows write the mark. RFC 8259 section 8.1 permits to ignore it in JSON.

use std::io::{Error, ErrorKind, Result};

/// The byte order mark of UTF-8.
const MARK: char = '\u{feff}';
const MARK_BYTES: &[u8] = b"\xef\xbb\xbf";
/// The byte order marks of UTF-16, little and big endian.
const UTF_16: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

/// Decodes the content of a file, without a byte order mark.
///
/// # Errors
/// [`ErrorKind::InvalidData`] if it is not UTF-8. The error says what to do.
pub fn to_utf8(bytes: Vec<u8>) -> Result<String> {
    let error = |text: &str| Error::new(ErrorKind::InvalidData, text);
    if UTF_16.iter().any(|mark| bytes.starts_with(mark)) {
        return Err(error("it is encoded in UTF-16; save it as UTF-8"));
    }
    let text = String::from_utf8(bytes).map_err(|_| error("it is not encoded in UTF-8"))?;
    Ok(match text.strip_prefix(MARK) {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

/// Returns a text without a byte order mark at its beginning.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix(MARK).unwrap_or(text)
}

/// Returns bytes without a byte order mark of UTF-8 at their beginning.
pub fn bytes_without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(MARK_BYTES).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_mark_at_the_beginning_is_removed() {
        for (bytes, text) in [
            ("", ""),
            ("\u{feff}", ""),
            ("a", "a"),
            ("\u{feff}a\u{feff}", "a\u{feff}"),
            ("\u{feff}\u{feff}a", "\u{feff}a"),
        ] {
            assert_eq!(to_utf8(bytes.into()).unwrap(), text);
            assert_eq!(without_mark(bytes), text);
            assert_eq!(bytes_without_mark(bytes.as_bytes()), text.as_bytes());
        }
    }

    #[test]
    fn an_error_names_the_encoding() {
        let reason = |bytes: &[u8]| to_utf8(bytes.to_vec()).unwrap_err().to_string();
        assert!(reason(b"\xff\xfea\0").contains("UTF-16"));
        assert!(reason(b"\xfe\xff\0a").contains("UTF-16"));
        assert!(reason(b"\xe4").contains("not encoded in UTF-8"));
    }
}
