//! Untrusted text in logs, terminals and messages.

/// Whether a character is safe to print: not a control character, not invisible, and without effect on the text
/// direction.
pub fn is_printable(character: char) -> bool {
    !character.is_control()
        && !matches!(
            character,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{3164}' | '\u{ffa0}'
            | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

/// Returns a text in one line of at most `longest` bytes and an ellipsis, with a space for each unprintable character.
pub fn line(text: &str, longest: usize) -> String {
    let mut line = String::new();
    for character in text.chars() {
        if line.len() + character.len_utf8() > longest {
            line.push('…');
            break;
        }
        line.push(if is_printable(character) {
            character
        } else {
            ' '
        });
    }
    line
}

/// Returns several lines of text, with `\u{fffd}` for each unprintable character.
pub fn lines(text: &str) -> String {
    let shown = |character| {
        if is_printable(character) || character == '\n' {
            character
        } else {
            char::REPLACEMENT_CHARACTER
        }
    };
    text.replace("\r\n", "\n").chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untrusted_text_becomes_printable_and_bounded() {
        assert_eq!(
            line("a\nERROR forged\u{2028}b\x1b[31m\u{202e}c", 100),
            "a ERROR forged b [31m c"
        );
        let long = line(&"é".repeat(10_000), 1024);
        assert!(long.len() <= 1024 + '…'.len_utf8() && long.ends_with('…'));
        assert_eq!(
            lines("a\r\nb\x1b[31m\u{202e}c\r"),
            "a\nb\u{fffd}[31m\u{fffd}c\u{fffd}"
        );
    }
}
