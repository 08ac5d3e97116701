//! Wake-ups of the requests that wait inside this process.
//!
//! A wake-up is a hint. A waiting request reads the database when one comes, and every second without one, because another
//! instance may have made the change. Each request names the changes that concern it, so a change wakes only those requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use assent_model::id::{ApprovalId, LoginId, TestSignInId, UserId};

/// How long to wait for a wake-up before reading the database without one.
const TICK: Duration = Duration::from_secs(1);

/// The change that a wake-up reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wakeup {
    /// An approval was decided.
    Decided(ApprovalId),
    /// A person has a new request.
    Asked(UserId),
    /// Somebody scanned a login's code.
    Scanned(LoginId),
    /// A user has an account notification.
    AccountNotification(UserId),
    /// There is an approval request to look after, or news of one.
    Carried,
    /// A test sign-in went on.
    TestSignIn(TestSignInId),
    /// A session may have ended, so that applications are to be told.
    LoggedOut,
}

/// The listeners of each change.
type Listening = HashMap<Wakeup, Vec<Arc<Notify>>>;

/// Sends and receives wake-ups.
#[derive(Clone, Debug, Default)]
pub struct Wakeups(Arc<Mutex<Listening>>);

impl Wakeups {
    /// Wakes the requests that wait for this change, and no others.
    pub fn send(&self, wakeup: Wakeup) {
        for listener in self.listening().get(&wakeup).into_iter().flatten() {
            // It is stored until the listener waits, so none is missed between two waits.
            listener.notify_one();
        }
    }

    /// Begins to listen for these changes. To miss nothing, listen first and read the database then.
    pub fn listen<const N: usize>(&self, wanted: [Wakeup; N]) -> Listener<N> {
        let notify = Arc::new(Notify::new());
        let mut listening = self.listening();
        for wakeup in wanted {
            listening
                .entry(wakeup)
                .or_default()
                .push(Arc::clone(&notify));
        }
        drop(listening);
        Listener {
            wakeups: self.clone(),
            wanted,
            notify,
        }
    }

    fn listening(&self) -> MutexGuard<'_, Listening> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Receives the wake-ups that are sent after its creation.
#[derive(Debug)]
pub struct Listener<const N: usize> {
    wakeups: Wakeups,
    wanted: [Wakeup; N],
    notify: Arc<Notify>,
}

impl<const N: usize> Listener<N> {
    /// Returns when one of the changes comes, or when it is time to read the database again.
    pub async fn next(&self) {
        let _ = tokio::time::timeout(TICK, self.heard()).await;
    }

    /// Returns when one of the changes came.
    pub async fn heard(&self) {
        self.notify.notified().await;
    }
}

impl<const N: usize> Drop for Listener<N> {
    fn drop(&mut self) {
        let mut listening = self.wakeups.listening();
        for wakeup in self.wanted {
            let Some(listeners) = listening.get_mut(&wakeup) else {
                continue;
            };
            listeners.retain(|listener| !Arc::ptr_eq(listener, &self.notify));
            if listeners.is_empty() {
                listening.remove(&wakeup);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use assent_model::clock::Timestamp;
    use assent_model::entropy::SystemEntropy;

    fn id() -> ApprovalId {
        ApprovalId::new(Timestamp::from_seconds(1_800_000_000), &SystemEntropy)
    }

    fn is_woken<const N: usize>(listener: &Listener<N>) -> bool {
        listener.heard().now_or_never().is_some()
    }

    #[test]
    fn a_change_wakes_only_those_that_wait_for_it() {
        let wakeups = Wakeups::default();
        let (one, other) = (id(), id());
        let first = wakeups.listen([Wakeup::Decided(one)]);
        let second = wakeups.listen([Wakeup::Decided(one), Wakeup::LoggedOut]);
        let third = wakeups.listen([Wakeup::Decided(other)]);
        wakeups.send(Wakeup::Decided(one));
        wakeups.send(Wakeup::Carried);
        assert!(is_woken(&first) && is_woken(&second));
        assert!(!is_woken(&third));
        // Once for each change.
        assert!(!is_woken(&first) && !is_woken(&second));
        wakeups.send(Wakeup::LoggedOut);
        assert!(is_woken(&second));
        assert!(!is_woken(&first));
    }

    #[test]
    fn nothing_is_kept_of_listeners_that_are_gone() {
        let wakeups = Wakeups::default();
        let one = id();
        let first = wakeups.listen([Wakeup::Decided(one)]);
        let second = wakeups.listen([Wakeup::Decided(one), Wakeup::LoggedOut]);
        drop(second);
        assert_eq!(wakeups.listening().len(), 1);
        wakeups.send(Wakeup::Decided(one));
        assert!(is_woken(&first));
        drop(first);
        assert!(wakeups.listening().is_empty());
    }
}
