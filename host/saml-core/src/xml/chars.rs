//! The characters that XML 1.0 (fifth edition) allows.

/// Whether XML allows the character (production 2, `Char`).
pub(super) const fn is_char(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// Whether XML allows the text: no control characters except tab and line ends, no U+FFFE and U+FFFF.
pub fn is_text(text: &str) -> bool {
    text.chars().all(is_char)
}

/// Whether the character is white space (production 3, `S`), after line ends were normalized to line feeds.
pub(super) const fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// Whether the text is a name without a colon (Namespaces in XML 1.0, production 4, `NCName`), as `xs:ID` requires.
pub fn is_ncname(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(begins_name) && chars.all(continues_name)
}

const fn begins_name(c: char) -> bool {
    matches!(c, 'A'..='Z' | '_' | 'a'..='z'
        | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}'
        | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}' | '\u{200c}'..='\u{200d}'
        | '\u{2070}'..='\u{218f}' | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}'
        | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}' | '\u{10000}'..='\u{effff}')
}

const fn continues_name(c: char) -> bool {
    begins_name(c)
        || matches!(c, '-' | '.' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_begin_with_a_letter_or_an_underscore() {
        assert!(
            ["a", "_1", "Ünï-code.0", "\u{10000}"]
                .into_iter()
                .all(is_ncname)
        );
        assert!(
            !["", "1a", "-a", "a b", "a:b", "a\u{d7}", "\u{f0000}"]
                .into_iter()
                .any(is_ncname)
        );
    }

    #[test]
    fn text_has_no_control_characters() {
        assert!(is_text("a\t\r\n\u{7f}\u{fffd}\u{10ffff}"));
        assert!(
            !["\0", "\u{1b}", "\u{fffe}", "\u{ffff}"]
                .into_iter()
                .any(is_text)
        );
    }
}
