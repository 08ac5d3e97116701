//! Signed documents that are served again while nothing of their content has changed: each signature costs as much as a
//! hundred other responses.

use std::sync::{Arc, Mutex, PoisonError};

use assent_model::bounded_cache::BoundedCache;
use assent_model::clock::Timestamp;
use assent_model::id::Did;
use assent_model::secret::Digest;

/// How many documents are held at least.
const HELD: usize = 128;

/// A signed document.
#[derive(Clone, Debug)]
pub struct SignedDocument {
    /// The digest of everything that the document states, except for its own ID and validity.
    pub content: Digest,
    /// When it was signed.
    pub signed_at: Timestamp,
    /// Until when it is served again.
    pub renew_at: Timestamp,
    /// The document.
    pub text: Arc<str>,
}

/// The last signed document of each application.
#[derive(Debug)]
pub struct SignedDocuments(Mutex<BoundedCache<Did, SignedDocument>>);

impl Default for SignedDocuments {
    fn default() -> Self {
        Self(Mutex::new(BoundedCache::new(HELD)))
    }
}

impl SignedDocuments {
    /// The application's document, if it has this content and need not be renewed. A clock that was set back renews it.
    pub fn get(&self, application: &Did, content: Digest, now: Timestamp) -> Option<Arc<str>> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let document = held.get(application)?;
        let is_current =
            document.content == content && document.signed_at <= now && now < document.renew_at;
        is_current.then_some(document.text)
    }

    /// Holds the application's document.
    pub fn insert(&self, application: Did, document: SignedDocument) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.insert(application, document);
    }
}
