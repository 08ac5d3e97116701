//! Signals: what wakes the requests that wait inside this process.
//!
//! A signal is a hint. Whoever waits looks into the database when one comes, and every second without one, since the
//! change may have been made by another host.

use std::time::Duration;

use tokio::sync::broadcast;

use crate::id::{ApprovalId, LoginId, TrialId, UserId};

/// How long to wait for a signal before looking all the same.
const TICK: Duration = Duration::from_secs(1);

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// An approval was decided.
    Decided(ApprovalId),
    /// A person has a new request.
    Asked(UserId),
    /// Somebody scanned a login's code.
    Scanned(LoginId),
    /// A person has news of their devices.
    News(UserId),
    /// There is an approval request to look after, or news of one.
    Carried,
    /// A trial went on.
    Tried(TrialId),
    /// A session may have ended, so that applications are to be told.
    LoggedOut,
}

/// Sends and receives signals.
#[derive(Debug)]
pub struct Signals(broadcast::Sender<Signal>);

impl Default for Signals {
    fn default() -> Self {
        Self(broadcast::channel(256).0)
    }
}

impl Signals {
    /// Wakes whoever waits for this.
    pub fn send(&self, signal: Signal) {
        // Nobody may be waiting.
        let _ = self.0.send(signal);
    }

    /// Begins to listen. To miss nothing, listen first and look then.
    pub fn listen(&self) -> Listener {
        Listener(self.0.subscribe())
    }
}

/// Receives signals from when it was made.
#[derive(Debug)]
pub struct Listener(broadcast::Receiver<Signal>);

impl Listener {
    /// Returns when `wanted` was signalled, or when it is time to look again.
    pub async fn next(&mut self, wanted: Signal) {
        self.next_of([wanted]).await;
    }

    /// The same for one of several.
    pub async fn next_of<const N: usize>(&mut self, wanted: [Signal; N]) {
        let _ = tokio::time::timeout(TICK, self.heard_of(wanted)).await;
    }

    /// Returns when `wanted` was signalled, or may have been.
    pub async fn heard(&mut self, wanted: Signal) {
        self.heard_of([wanted]).await;
    }

    async fn heard_of<const N: usize>(&mut self, wanted: [Signal; N]) {
        // An error means that signals were missed: look.
        while let Ok(signal) = self.0.recv().await {
            if wanted.contains(&signal) {
                break;
            }
        }
    }
}
