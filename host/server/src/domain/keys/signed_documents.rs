//! The cache of signed documents, which are reused while their content is unchanged. A signature costs as much as a
//! hundred other responses.

use std::sync::{Arc, Mutex, PoisonError};

use assent_model::bounded_cache::BoundedCache;
use assent_model::clock::Timestamp;
use assent_model::id::Did;
use assent_model::secret::Digest;

/// The number of cached documents. The cache holds up to twice as many.
const CAPACITY: usize = 128;

/// A signed document.
#[derive(Clone, Debug)]
pub struct SignedDocument {
    /// The digest of the whole content of the document, except its own ID and validity.
    pub content: Digest,
    /// The time of the signature.
    pub signed_at: Timestamp,
    /// The time from which it is signed again.
    pub renew_at: Timestamp,
    /// The document.
    pub text: Arc<str>,
}

/// The last signed document of each application.
#[derive(Debug)]
pub struct SignedDocuments(Mutex<BoundedCache<Did, SignedDocument>>);

impl Default for SignedDocuments {
    fn default() -> Self {
        Self(Mutex::new(BoundedCache::new(CAPACITY)))
    }
}

impl SignedDocuments {
    /// Returns the application's document, if it has this content and is not due for renewal. If the clock was set
    /// back, the document is renewed.
    pub fn get(&self, application: &Did, content: Digest, now: Timestamp) -> Option<Arc<str>> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let document = held.get(application)?;
        let is_current =
            document.content == content && document.signed_at <= now && now < document.renew_at;
        is_current.then_some(document.text)
    }

    /// Stores the application's document.
    pub fn insert(&self, application: Did, document: SignedDocument) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.insert(application, document);
    }
}
