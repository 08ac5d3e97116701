//! Statements of constant texts.

/// The length of joined texts.
pub(crate) const fn length_of_parts(mut parts: &[&str], separator: &str) -> usize {
    let mut length = 0;
    while let Some((part, rest)) = parts.split_first() {
        length += part.len();
        if !rest.is_empty() {
            length += separator.len();
        }
        parts = rest;
    }
    length
}

/// Joins texts with a total length of [`length_of_parts`].
pub(crate) const fn join_parts<const LENGTH: usize>(
    mut parts: &[&str],
    separator: &str,
) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    let mut free = bytes.as_mut_slice();
    while let Some((part, rest)) = parts.split_first() {
        let (place, behind) = free.split_at_mut(part.len());
        place.copy_from_slice(part.as_bytes());
        free = behind;
        if !rest.is_empty() {
            let (place, behind) = free.split_at_mut(separator.len());
            place.copy_from_slice(separator.as_bytes());
            free = behind;
        }
        parts = rest;
    }
    bytes
}

/// Joins constant texts at compile time.
macro_rules! join {
    ($separator:literal: $($part:expr),+ $(,)?) => {{
        const PARTS: &[&str] = &[$($part),+];
        const LENGTH: usize = $crate::engine::sql::length_of_parts(PARTS, $separator);
        const BYTES: [u8; LENGTH] = $crate::engine::sql::join_parts(PARTS, $separator);
        // The joined texts are UTF-8.
        const TEXT: &str = match ::std::str::from_utf8(&BYTES) {
            Ok(text) => text,
            Err(_) => "",
        };
        TEXT
    }};
}
pub(crate) use join;

/// A statement of constant texts, such as the columns of a row.
macro_rules! statement {
    ($($part:expr),+ $(,)?) => { $crate::engine::sql::join!("": $($part),+) };
}
pub(crate) use statement;
