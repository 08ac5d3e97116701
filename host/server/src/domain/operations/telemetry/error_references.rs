//! The reference numbers of error pages with their causes, for administrators. The log has them too. They are in the
//! memory of this instance, in a limited number, because any client can cause error pages.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use assent_model::clock::Timestamp;

/// The number of references of each kind that remain in memory: the newest.
pub const CAPACITY: usize = 4096;

/// The largest length of a cause, in characters.
const LONGEST_CAUSE: usize = 500;

/// An error page that a user saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorReference {
    /// The number on the page: hexadecimal digits in upper case.
    pub reference: String,
    /// The id of its request. Empty without a request.
    pub request: String,
    /// The time at which it was shown.
    pub at: Timestamp,
    /// Its HTTP status.
    pub status: u16,
    /// Its title, in English.
    pub page: String,
    /// The cause, as in the log.
    pub cause: String,
}

/// The newest error pages of this instance. Any client can cause any number of client errors (status 400 to 499), so
/// these replace only each other.
#[derive(Debug, Default)]
pub struct ErrorReferences {
    client_errors: Mutex<VecDeque<ErrorReference>>,
    others: Mutex<VecDeque<ErrorReference>>,
}

impl ErrorReferences {
    /// Stores a reference. If there are too many, it replaces the oldest one of its kind.
    pub fn record(&self, mut page: ErrorReference) {
        if let Some((end, _)) = page.cause.char_indices().nth(LONGEST_CAUSE) {
            page.cause.truncate(end);
        }
        let of_kind = match page.status {
            400..=499 => &self.client_errors,
            _ => &self.others,
        };
        let mut known = of_kind.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= CAPACITY {
            known.pop_front();
        }
        known.push_back(page);
    }

    /// Returns the error page with this reference, in upper or lower case, or of the request with this id.
    pub fn find(&self, reference: &str) -> Option<ErrorReference> {
        [&self.others, &self.client_errors]
            .into_iter()
            .find_map(|of_kind| {
                let known = of_kind.lock().unwrap_or_else(PoisonError::into_inner);
                let mut newest_first = known.iter().rev();
                let found = newest_first.find(|page| {
                    page.reference.eq_ignore_ascii_case(reference) || page.request == reference
                });
                found.cloned()
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(number: usize) -> ErrorReference {
        ErrorReference {
            reference: format!("{number:08X}"),
            request: format!("7f3a-{number:x}"),
            at: Timestamp::from_millis(0),
            status: 400,
            page: "This sign-in request is not valid".to_owned(),
            cause: "ü".repeat(LONGEST_CAUSE + 1),
        }
    }

    #[test]
    fn the_newest_references_are_found_and_the_oldest_are_dropped() {
        let references = ErrorReferences::default();
        let server_error = ErrorReference {
            reference: "FFFFFFFF".to_owned(),
            status: 500,
            ..page(0)
        };
        references.record(server_error);
        for number in 0..=CAPACITY {
            references.record(page(number));
        }
        assert_eq!(references.find("00000000"), None);
        let found = references.find("ffffffff").map(|page| page.status);
        assert_eq!(found, Some(500), "client errors do not replace it");
        let found = references.find("7f3a-a").map(|page| page.reference);
        assert_eq!(found.as_deref(), Some("0000000A"));
        let found = references.find("0000000a").map(|page| page.cause);
        assert_eq!(found, Some("ü".repeat(LONGEST_CAUSE)));
        assert!(references.find(&format!("{CAPACITY:08x}")).is_some());
    }
}
