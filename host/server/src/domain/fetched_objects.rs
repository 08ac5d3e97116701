//! The last fetches of request objects. Each sign-in needs the current object, so it is not cached: only the requests
//! that wait for one fetch share it, and after a failure the next fetch is later.

use std::sync::Arc;
use std::time::Duration;

use super::shared_fetches::SharedFetches;
use assent_model::clock::Timestamp;
use url::Url;

/// The time without a fetch after a failed one.
const PAUSE: Duration = Duration::from_secs(5);
/// The number of addresses whose last fetch is stored, each with an object of up to 15 KiB. The cache holds up to twice
/// as many.
const ADDRESSES: usize = 200;

/// The last fetches, by address.
#[derive(Debug)]
pub struct FetchedObjects(SharedFetches<LastFetch>);

/// The last fetch of an address.
#[derive(Clone, Debug, Default)]
struct LastFetch {
    /// The number of fetches.
    count: u64,
    /// The object. `None`: the fetch failed.
    object: Option<Arc<str>>,
    failed_at: Option<Timestamp>,
}

impl Default for FetchedObjects {
    fn default() -> Self {
        Self(SharedFetches::new(ADDRESSES))
    }
}

impl FetchedObjects {
    /// Returns the object of a fetch that ends after this call: that of `fetch`, or of another request. `None`: the
    /// fetch failed, or the last one failed a moment ago.
    pub async fn object_at(
        &self,
        uri: &Url,
        now: impl Fn() -> Timestamp,
        fetch: impl Future<Output = Option<String>>,
    ) -> Option<Arc<str>> {
        let document = self.0.at(uri);
        let begun = document.state().count;
        let decide = |last: &LastFetch| {
            if last.is_paused(now()) {
                return Some(None);
            }
            (last.count != begun).then(|| last.object.clone())
        };
        let note = |last: &mut LastFetch, fetched: Option<String>| {
            last.count += 1;
            last.failed_at = fetched.is_none().then(&now);
            last.object = fetched.map(Arc::from);
        };
        document.decided(decide, fetch, note).await.flatten()
    }
}

impl LastFetch {
    fn is_paused(&self, now: Timestamp) -> bool {
        // If the clock was set back, the pause does not become longer.
        self.failed_at
            .is_some_and(|failed| failed <= now && now < failed + PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_failure_pauses_and_a_success_is_not_cached() {
        let objects = FetchedObjects::default();
        let uri = Url::parse("https://rp.example/object").unwrap();
        let (count, seconds) = (AtomicUsize::new(0), AtomicI64::new(1000));
        let now = || Timestamp::from_millis(seconds.load(Ordering::Relaxed) * 1000);
        let ask = async |object: Option<&str>| {
            let fetch = async {
                tokio::task::yield_now().await;
                count.fetch_add(1, Ordering::Relaxed);
                object.map(str::to_owned)
            };
            objects.object_at(&uri, now, fetch).await
        };
        let counted = || count.load(Ordering::Relaxed);
        let (first, second) = tokio::join!(ask(Some("a")), ask(Some("b")));
        assert_eq!(
            (first.as_deref(), second.as_deref()),
            (Some("a"), Some("a"))
        );
        assert_eq!(counted(), 1);
        assert_eq!(ask(Some("c")).await.as_deref(), Some("c"));
        assert_eq!(tokio::join!(ask(None), ask(None)), (None, None));
        assert_eq!(counted(), 3);
        assert_eq!(ask(Some("d")).await, None);
        assert_eq!(counted(), 3, "in the pause nothing is fetched");
        seconds.fetch_add(5, Ordering::Relaxed);
        assert_eq!(ask(Some("e")).await.as_deref(), Some("e"));
    }
}
