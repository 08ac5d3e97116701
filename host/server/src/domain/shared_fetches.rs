//! Documents at addresses of applications, in bounded memory. Concurrent requests for one address share a fetch.

use std::sync::{Arc, Mutex, PoisonError};

use url::Url;

use assent_model::bounded_cache::BoundedCache;

/// The states of the fetched documents, by their address.
#[derive(Debug)]
pub struct SharedFetches<S>(Mutex<BoundedCache<Url, Arc<SharedFetch<S>>>>);

/// The state of the document at one address.
#[derive(Debug, Default)]
pub struct SharedFetch<S> {
    state: Mutex<S>,
    /// The lock during a fetch. Other requests for the document wait for the same fetch. If the request that fetches
    /// ends early, the next one fetches.
    fetching: tokio::sync::Mutex<()>,
}

impl<S: Default> SharedFetches<S> {
    /// Returns the states of no document. It keeps the last `addresses` ones at least, and at most twice as many.
    pub fn new(addresses: usize) -> Self {
        Self(Mutex::new(BoundedCache::new(addresses)))
    }

    /// Returns the state of the document at this address.
    pub fn at(&self, uri: &Url) -> Arc<SharedFetch<S>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let document = known.get(uri).unwrap_or_default();
        known.insert(uri.clone(), Arc::clone(&document));
        document
    }
}

impl<S: Clone> SharedFetch<S> {
    /// Returns the current state.
    pub fn state(&self) -> S {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.clone()
    }

    /// Returns the decision with the current state. Without one it waits for a current fetch, or else fetches the
    /// document and notes the result in the state. `None`: there is no decision after the fetch either.
    pub async fn decided<D, F>(
        &self,
        decide: impl Fn(&S) -> Option<D>,
        fetch: impl Future<Output = F>,
        note: impl FnOnce(&mut S, F),
    ) -> Option<D> {
        if let Some(decided) = decide(&self.state()) {
            return Some(decided);
        }
        let _guard = self.fetching.lock().await;
        if let Some(decided) = decide(&self.state()) {
            return Some(decided);
        }
        let fetched = fetch.await;
        note(
            &mut self.state.lock().unwrap_or_else(PoisonError::into_inner),
            fetched,
        );
        decide(&self.state())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn concurrent_requests_share_a_fetch() {
        let fetches = SharedFetches::<Option<usize>>::new(2);
        let uri = Url::parse("https://rp.example/document").unwrap();
        let count = AtomicUsize::new(0);
        let ask = async || {
            let fetch = async {
                tokio::task::yield_now().await;
                count.fetch_add(1, Ordering::Relaxed) + 1
            };
            let note = |state: &mut Option<usize>, fetched| *state = Some(fetched);
            fetches.at(&uri).decided(|state| *state, fetch, note).await
        };
        let answers = tokio::join!(ask(), ask(), ask());
        assert_eq!(answers, (Some(1), Some(1), Some(1)));
    }
}
