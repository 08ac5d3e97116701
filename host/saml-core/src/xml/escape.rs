//! The escapes of Canonical XML 1.0 (section 2.3) for markup characters.

/// Appends character data.
pub(super) fn text(out: &mut String, text: &str) {
    escape(out, text, |byte| match byte {
        b'&' => Some("&amp;"),
        b'<' => Some("&lt;"),
        b'>' => Some("&gt;"),
        b'\r' => Some("&#xD;"),
        _ => None,
    });
}

/// Appends the value of an attribute for double quotes.
pub(super) fn attribute(out: &mut String, value: &str) {
    escape(out, value, |byte| match byte {
        b'&' => Some("&amp;"),
        b'<' => Some("&lt;"),
        b'"' => Some("&quot;"),
        b'\t' => Some("&#x9;"),
        b'\n' => Some("&#xA;"),
        b'\r' => Some("&#xD;"),
        _ => None,
    });
}

fn escape(out: &mut String, text: &str, replaced: impl Fn(u8) -> Option<&'static str>) {
    out.reserve(text.len());
    let mut rest = text;
    while let Some((at, replacement)) = rest
        .bytes()
        .enumerate()
        .find_map(|(at, byte)| Some((at, replaced(byte)?)))
    {
        // A replaced character is one byte long.
        out.push_str(rest.get(..at).unwrap_or_default());
        out.push_str(replacement);
        rest = rest.get(at + 1..).unwrap_or_default();
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_markup_characters_are_escaped() {
        let all = "a&<>\"'\t\n\rü\u{10000}";
        let (mut as_text, mut as_value) = (String::new(), String::new());
        text(&mut as_text, all);
        attribute(&mut as_value, all);
        assert_eq!(as_text, "a&amp;&lt;&gt;\"'\t\n&#xD;ü\u{10000}");
        assert_eq!(as_value, "a&amp;&lt;>&quot;'&#x9;&#xA;&#xD;ü\u{10000}");
    }
}
