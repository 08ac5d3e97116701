//! Metadata in other encodings than UTF-8: UTF-16 and Latin-1, which some programs write. Protocol messages are only in
//! UTF-8.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::error::MetadataError;

/// The maximum end of the XML declaration in a document, in bytes.
const DECLARATION: usize = 256;
const BOM: char = '\u{feff}';

/// Returns the document in a JSON text: the XML itself, or the bytes of a file in base64, which cannot begin like XML.
/// In a JSON text the encoding in the XML declaration has no meaning, because the text is decoded already.
pub(super) fn of_text(text: &str) -> Result<Vec<u8>, MetadataError> {
    if text.trim_start_matches(BOM).trim_start().starts_with('<') {
        return Ok(declared_as_utf8(text).into_owned().into_bytes());
    }
    let base64: String = text.split_ascii_whitespace().collect();
    match STANDARD.decode(base64) {
        Ok(bytes) if !bytes.is_empty() => of_bytes(bytes),
        _ => Ok(text.as_bytes().to_vec()),
    }
}

/// Converts the document to UTF-8. A byte order mark decides, then the zero bytes of UTF-16, then the XML declaration
/// (XML 1.0 appendix F).
///
/// # Errors
/// [`MetadataError::Encoding`] for bytes that are not valid in their encoding. The reader rejects an unsupported
/// encoding.
pub(super) fn of_bytes(bytes: Vec<u8>) -> Result<Vec<u8>, MetadataError> {
    let wide = match bytes.get(..2) {
        Some([0xff, 0xfe] | [b'<', 0]) => Some(u16::from_le_bytes as fn([u8; 2]) -> u16),
        Some([0xfe, 0xff] | [0, b'<']) => Some(u16::from_be_bytes as fn([u8; 2]) -> u16),
        _ => None,
    };
    if let Some(unit) = wide {
        let text = wide_text(&bytes, unit).ok_or(MetadataError::Encoding("UTF-16"))?;
        return Ok(declared_as_utf8(&text).into_owned().into_bytes());
    }
    if is_latin1(&bytes) {
        let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
        return Ok(declared_as_utf8(&text).into_owned().into_bytes());
    }
    Ok(bytes)
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

/// Whether the document declares ISO 8859-1, or its subset ASCII.
fn is_latin1(bytes: &[u8]) -> bool {
    let head = bytes
        .get(..DECLARATION.min(bytes.len()))
        .unwrap_or_default();
    let head: String = head.iter().map(|byte| char::from(*byte)).collect();
    let encoding = declared(&head)
        .and_then(|(start, end)| head.get(start..end))
        .unwrap_or_default();
    [
        "iso-8859-1",
        "iso_8859-1",
        "latin1",
        "latin-1",
        "l1",
        "us-ascii",
        "ascii",
    ]
    .iter()
    .any(|name| encoding.eq_ignore_ascii_case(name))
}

/// Returns the text, which declares UTF-8 if it declared another encoding.
fn declared_as_utf8(text: &str) -> Cow<'_, str> {
    match declared(text) {
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
fn declared(text: &str) -> Option<(usize, usize)> {
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
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed test")]

    use super::*;

    const TEXT: &str = "<a>Zürich &amp; Co</a>";

    fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    }

    fn read(bytes: Vec<u8>) -> String {
        String::from_utf8(of_bytes(bytes).unwrap()).unwrap()
    }

    #[test]
    fn the_encoding_is_detected_from_the_mark_the_zero_bytes_or_the_declaration() {
        for declaration in [
            "",
            "<?xml version=\"1.0\" encoding=\"UTF-16\"?>",
            "<?xml version='1.0' encoding='utf-16LE' ?>\n",
        ] {
            for mark in ["", "\u{feff}"] {
                let text = format!("{mark}{declaration}{TEXT}");
                for bytes in [
                    utf16(&text, u16::to_le_bytes),
                    utf16(&text, u16::to_be_bytes),
                ] {
                    let read = read(bytes);
                    assert!(read.ends_with(TEXT) && !read.contains("16"), "{read}");
                }
            }
        }
        for name in ["ISO-8859-1", "latin1", "us-ascii"] {
            let text =
                format!("<?xml version=\"1.0\" encoding = \"{name}\" standalone=\"yes\"?>{TEXT}");
            let bytes: Vec<u8> = text
                .chars()
                .map(|c| u8::try_from(u32::from(c)).unwrap())
                .collect();
            let expected =
                format!("<?xml version=\"1.0\" encoding = \"UTF-8\" standalone=\"yes\"?>{TEXT}");
            assert_eq!(read(bytes), expected);
        }
        for text in [
            TEXT.to_owned(),
            format!("\u{feff}{TEXT}"),
            format!("<?xml version=\"1.0\" encoding=\"utf-8\"?>{TEXT}"),
        ] {
            assert_eq!(
                read(text.clone().into_bytes()),
                text,
                "the document is unchanged"
            );
        }
    }

    #[test]
    fn bytes_invalid_in_their_encoding_are_rejected() {
        let mut odd = utf16(TEXT, u16::to_le_bytes);
        odd.pop();
        let lone = utf16("<a>", u16::to_le_bytes)
            .into_iter()
            .chain([0, 0xd8, b'<', 0])
            .collect();
        for bytes in [odd, lone] {
            assert!(of_bytes(bytes).is_err());
        }
        // The reader rejects these.
        let unknown = b"<?xml version=\"1.0\" encoding=\"windows-1252\"?><a/>".to_vec();
        assert_eq!(of_bytes(unknown.clone()).unwrap(), unknown);
    }

    #[test]
    fn a_json_text_is_the_document_or_the_file_in_base64() {
        let declared = |name: &str| format!("<?xml version=\"1.0\" encoding=\"{name}\"?>{TEXT}");
        for text in ["UTF-16", "ISO-8859-1", "windows-1252"].map(declared) {
            assert_eq!(
                String::from_utf8(of_text(&text).unwrap()).unwrap(),
                declared("UTF-8")
            );
        }
        let file = STANDARD.encode(utf16(&declared("UTF-16"), u16::to_le_bytes));
        let (first, rest) = file.split_at(20);
        assert_eq!(
            String::from_utf8(of_text(&format!("{first}\r\n{rest}\n")).unwrap()).unwrap(),
            declared("UTF-8")
        );
        assert_eq!(of_text("no metadata").unwrap(), b"no metadata");
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, text: String) {
            let _ = of_bytes(bytes);
            let _ = of_text(&text);
            let _ = of_text(&format!("<?xml encoding{text}"));
        }
    }
}
