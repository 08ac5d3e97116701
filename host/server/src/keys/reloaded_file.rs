//! Values of files that the server reads again when they change, such as certificates.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assent_model::clock::{SharedClock, Timestamp};
use assent_model::secret::Digest;

/// The minimum time between checks of the files. A use of the value triggers a check if the last one is that old.
pub(crate) const CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// The value of files.
pub struct ReloadedFile<T> {
    clock: SharedClock,
    looked_at: AtomicI64,
    current: Mutex<Current<T>>,
}

struct Current<T> {
    value: T,
    /// The digest of the files from which the value was read, or that were last rejected.
    seen: Digest,
}

impl<T: Clone> ReloadedFile<T> {
    /// Returns the value of files with this digest.
    pub fn new(value: T, seen: Digest, clock: SharedClock) -> Self {
        Self {
            looked_at: AtomicI64::new(clock.now().millis()),
            clock,
            current: Mutex::new(Current { value, seen }),
        }
    }

    /// Returns the current value.
    pub fn current(&self) -> T {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.value.clone()
    }

    /// Replaces the value, if the files have another digest now. Returns whether it did. Invalid files change nothing,
    /// and are an error once.
    ///
    /// # Errors
    /// The error of `parse`.
    pub fn replace<E>(
        &self,
        seen: Digest,
        parse: impl FnOnce() -> Result<T, E>,
    ) -> Result<bool, E> {
        let lock = || self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut lock().seen, seen) == seen {
            return Ok(false);
        }
        // The current value stays in use meanwhile.
        let value = parse()?;
        lock().value = value;
        Ok(true)
    }

    /// Lets the owner of the value read the files again, if the last check is long ago. `reload` is its function for
    /// that, which may block.
    pub async fn reload_if_due<O: Send + Sync + 'static>(&self, owner: &Arc<O>, reload: fn(&O)) {
        let now = self.clock.now();
        let last = self.looked_at.load(Ordering::Relaxed);
        let due = now >= Timestamp::from_millis(last) + CHECK_INTERVAL || now.millis() < last;
        // Only one of several simultaneous callers checks.
        if due
            && self
                .looked_at
                .compare_exchange(last, now.millis(), Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        {
            let owner = Arc::clone(owner);
            // A check that panicked changed nothing.
            let _ = tokio::task::spawn_blocking(move || reload(&owner)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assent_model::clock::SystemClock;

    #[test]
    fn a_rejected_file_is_an_error_once_and_changes_nothing() {
        let digest = |text: &str| Digest::sha256(text.as_bytes());
        let file = ReloadedFile::new(1, digest("one"), Arc::new(SystemClock));
        let replace = |text: &str, value: Result<u8, ()>| file.replace(digest(text), || value);
        assert_eq!(replace("one", Ok(9)), Ok(false));
        assert_eq!(replace("bad", Err(())), Err(()));
        assert_eq!(replace("bad", Err(())), Ok(false));
        assert_eq!(file.current(), 1);
        assert_eq!(replace("two", Ok(2)), Ok(true));
        assert_eq!(file.current(), 2);
    }
}
