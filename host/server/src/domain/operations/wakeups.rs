//! Wake-ups of the requests that wait inside this process.
//!
//! A wake-up is a hint. A waiting request reads the database when one comes, and every second without one, because
//! another instance may have made the change.

use std::time::Duration;

use tokio::sync::broadcast;

use assent_model::id::{ApprovalId, LoginId, TestSignInId, UserId};

/// How long to wait for a wake-up before reading the database without one.
const TICK: Duration = Duration::from_secs(1);

/// The change that a wake-up reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// Sends and receives wake-ups.
#[derive(Debug)]
pub struct Wakeups(broadcast::Sender<Wakeup>);

impl Default for Wakeups {
    fn default() -> Self {
        Self(broadcast::channel(256).0)
    }
}

impl Wakeups {
    /// Wakes the requests that wait for this change.
    pub fn send(&self, wakeup: Wakeup) {
        // An error means that no request waits.
        let _ = self.0.send(wakeup);
    }

    /// Begins to listen. To miss nothing, listen first and read the database then.
    pub fn listen(&self) -> WakeupListener {
        WakeupListener(self.0.subscribe())
    }
}

/// Receives the wake-ups that are sent after its creation.
#[derive(Debug)]
pub struct WakeupListener(broadcast::Receiver<Wakeup>);

impl WakeupListener {
    /// Returns when `wanted` comes, or when it is time to read the database again.
    pub async fn next(&mut self, wanted: Wakeup) {
        self.next_of([wanted]).await;
    }

    /// The same for one of several.
    pub async fn next_of<const N: usize>(&mut self, wanted: [Wakeup; N]) {
        let _ = tokio::time::timeout(TICK, self.heard_of(wanted)).await;
    }

    /// Returns when `wanted` came, or may have come.
    pub async fn heard(&mut self, wanted: Wakeup) {
        self.heard_of([wanted]).await;
    }

    async fn heard_of<const N: usize>(&mut self, wanted: [Wakeup; N]) {
        // An error means that wake-ups were missed: read the database.
        while let Ok(wakeup) = self.0.recv().await {
            if wanted.contains(&wakeup) {
                break;
            }
        }
    }
}
