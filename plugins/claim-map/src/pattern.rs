//! Patterns: texts in which one `*` stands for any text.

/// The reason why a text is not a pattern. It is the end of a sentence that begins with the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternError {
    /// The pattern would match only the empty text.
    Empty,
    /// A pattern may contain `*` only once.
    Stars,
}

impl PatternError {
    /// Returns the end of the sentence.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "is empty",
            Self::Stars => "has more than one `*`",
        }
    }
}

/// Checks a pattern.
///
/// # Errors
/// See [`PatternError`].
pub fn check(pattern: &str) -> Result<(), PatternError> {
    match pattern.matches('*').count() {
        _ if pattern.is_empty() => Err(PatternError::Empty),
        0 | 1 => Ok(()),
        _ => Err(PatternError::Stars),
    }
}

/// Returns whether a text matches the pattern. All characters except `*` must be equal.
pub fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text
            .strip_prefix(before)
            .is_some_and(|rest| rest.ends_with(after)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_text() {
        for (pattern, matching, other) in [
            ("admin", vec!["admin"], vec!["admins", "Admin", ""]),
            (
                "wiki-*",
                vec!["wiki-", "wiki-editor"],
                vec!["wiki", "a-wiki-editor"],
            ),
            (
                "*@example.org",
                vec!["ada@example.org"],
                vec!["ada@example.org.evil.example", "ada@example.com"],
            ),
            ("a*z", vec!["az", "a-to-z"], vec!["a", "z"]),
            // The texts before and after the star must not overlap.
            ("ab*ba", vec!["abba"], vec!["aba"]),
            ("*", vec!["", "anything"], vec![]),
        ] {
            assert_eq!(check(pattern), Ok(()));
            assert!(
                matching.iter().all(|text| matches(pattern, text)),
                "{pattern}"
            );
            assert!(
                !other.iter().any(|text| matches(pattern, text)),
                "{pattern}"
            );
        }
        assert_eq!(check(""), Err(PatternError::Empty));
        assert_eq!(check("*a*"), Err(PatternError::Stars));
    }
}
