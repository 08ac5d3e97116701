//! The format of a cell with a list of texts.

use std::borrow::Cow;

/// Returns a cell with the texts, separated by `;`. If a text itself contains a separator, the cell is a list in JSON.
pub(super) fn list_cell<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> String {
    let is_plain = |text: &str| {
        !text.is_empty()
            && !text.contains(';')
            && !text.starts_with('[')
            && !text.contains(char::is_whitespace)
    };
    if texts.clone().all(is_plain) {
        texts.collect::<Vec<_>>().join(";")
    } else {
        serde_json::to_string(&texts.collect::<Vec<_>>()).unwrap_or_default()
    }
}

/// Returns the texts of a cell, which are separated by `;` or blanks, or a list in JSON. `None` if the cell begins like
/// JSON and is invalid.
pub(super) fn texts_of(cell: &str) -> Option<Vec<Cow<'_, str>>> {
    if cell.starts_with('[') {
        let texts: Vec<String> = serde_json::from_str(cell).ok()?;
        return Some(texts.into_iter().map(Cow::Owned).collect());
    }
    let separator: fn(char) -> bool = if cell.contains(';') {
        |c| c == ';'
    } else {
        char::is_whitespace
    };
    let texts = cell.split(separator).map(str::trim);
    Some(
        texts
            .filter(|text| !text.is_empty())
            .map(Cow::Borrowed)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed test")]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_are_parsed_in_each_notation() {
        for (cell, expected) in [
            ("", &[][..]),
            ("editor", &["editor"]),
            ("editor reader", &["editor", "reader"]),
            ("editor; reader;", &["editor", "reader"]),
            ("demo admin; reader", &["demo admin", "reader"]),
            ("[\"a;b c\", \"d\"]", &["a;b c", "d"]),
        ] {
            assert_eq!(texts_of(cell).unwrap(), expected, "{cell}");
        }
        assert!(texts_of("[1]").is_none());
    }

    proptest! {
        #[test]
        fn lists_round_trip(texts in prop::collection::vec("[a-c;\\[\" ]{0,5}", 0..4)) {
            let cell = list_cell(texts.iter().map(String::as_str));
            prop_assert_eq!(texts_of(&cell).unwrap(), texts);
        }
    }
}
