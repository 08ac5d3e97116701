//! The document in a JSON text, which may be in another encoding than UTF-8.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::error::MetadataError;
use assent_saml_core::xml::{declared_as_utf8, to_utf8};

const BOM: char = '\u{feff}';

/// Returns the document in a JSON text: the XML itself, or the bytes of a file in base64, which cannot begin like XML.
/// In a JSON text the encoding in the XML declaration has no meaning, because the text is decoded already.
pub(super) fn of_text(text: &str) -> Result<Vec<u8>, MetadataError> {
    if text.trim_start_matches(BOM).trim_start().starts_with('<') {
        return Ok(declared_as_utf8(text).into_owned().into_bytes());
    }
    let base64: String = text.split_ascii_whitespace().collect();
    match STANDARD.decode(base64) {
        Ok(bytes) if !bytes.is_empty() => Ok(to_utf8(&bytes)?.into_owned()),
        _ => Ok(text.as_bytes().to_vec()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed test")]

    use super::*;

    const TEXT: &str = "<a>Zürich &amp; Co</a>";

    fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
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
        fn no_text_panics(text: String) {
            let _ = of_text(&text);
        }
    }
}
