//! The reference numbers of error pages and their causes, for administrators: the log has them too. They are in the
//! memory of this instance, in a bounded number, because anybody can have error pages made.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use assent_model::clock::Timestamp;

/// How many references stay in memory, the newest.
pub const KEPT: usize = 4096;

/// The longest cause, in characters.
const LONGEST_CAUSE: usize = 500;

/// An error page that somebody saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorReference {
    /// The number on the page: hexadecimal digits in upper case.
    pub reference: String,
    /// When it was shown.
    pub at: Timestamp,
    /// Its HTTP status.
    pub status: u16,
    /// Its title, in English.
    pub page: String,
    /// The cause, as the log has it.
    pub cause: String,
}

/// The newest error pages of this instance.
#[derive(Debug, Default)]
pub struct ErrorReferences(Mutex<VecDeque<ErrorReference>>);

impl ErrorReferences {
    /// Keeps a reference, in place of the oldest one if there are many.
    pub fn record(&self, mut page: ErrorReference) {
        if let Some((end, _)) = page.cause.char_indices().nth(LONGEST_CAUSE) {
            page.cause.truncate(end);
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KEPT {
            known.pop_front();
        }
        known.push_back(page);
    }

    /// The error page with this reference, in upper or lower case.
    pub fn find(&self, reference: &str) -> Option<ErrorReference> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known
            .iter()
            .rev()
            .find(|page| page.reference.eq_ignore_ascii_case(reference));
        found.cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(number: usize) -> ErrorReference {
        ErrorReference {
            reference: format!("{number:08X}"),
            at: Timestamp::from_millis(0),
            status: 400,
            page: "This sign-in request is not valid".to_owned(),
            cause: "ü".repeat(LONGEST_CAUSE + 1),
        }
    }

    #[test]
    fn the_newest_references_are_found_and_the_oldest_forgotten() {
        let references = ErrorReferences::default();
        for number in 0..=KEPT {
            references.record(page(number));
        }
        assert_eq!(references.find("00000000"), None);
        let found = references.find("0000000a").map(|page| page.cause);
        assert_eq!(found, Some("ü".repeat(LONGEST_CAUSE)));
        assert!(references.find(&format!("{KEPT:08x}")).is_some());
    }
}
