#![allow(clippy::unwrap_used, reason = "a failed test")]

use super::*;

const TEXT: &str = "<a>Zürich &amp; Co</a>";

fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(bytes).collect()
}

fn read(bytes: &[u8]) -> String {
    String::from_utf8(to_utf8(bytes).unwrap().into_owned()).unwrap()
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
                let read = read(&bytes);
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
        assert_eq!(read(&bytes), expected);
    }
    for text in [
        TEXT.to_owned(),
        format!("\u{feff}{TEXT}"),
        format!("<?xml version=\"1.0\" encoding=\"utf-8\"?>{TEXT}"),
    ] {
        assert_eq!(read(text.as_bytes()), text, "the document is unchanged");
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
        assert!(to_utf8(&bytes).is_err());
    }
    // The reader rejects these.
    let unknown = b"<?xml version=\"1.0\" encoding=\"windows-1252\"?><a/>".to_vec();
    assert_eq!(to_utf8(&unknown).unwrap(), unknown);
}

/// Programs in .NET write the encoding of their strings into documents in UTF-8.
#[test]
fn utf16_is_not_read_from_utf8() {
    let text = format!("<?xml version=\"1.0\" encoding=\"utf-16\"?>{TEXT}");
    let expected = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>{TEXT}");
    assert_eq!(read(text.as_bytes()), expected);
    let mut latin1 = b"<?xml version=\"1.0\" encoding=\"utf-16\"?><a>".to_vec();
    latin1.push(0xfc);
    assert!(matches!(to_utf8(&latin1), Ok(Cow::Borrowed(_))));
}

proptest::proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>, text: String) {
        let _ = to_utf8(&bytes);
        let _ = to_utf8(format!("<?xml encoding{text}").as_bytes());
        let _ = declared_as_utf8(&text);
    }
}
