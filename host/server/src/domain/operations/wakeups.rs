//! Wake-ups of background tasks inside this process.
//!
//! A wake-up is a hint: each task also looks by itself, because another instance may have made the change. Requests
//! that wait for a change are woken by the store instead, see [`Store::listen`](assent_store::Store::listen).

use tokio::sync::Notify;

/// The work that a wake-up reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wakeup {
    /// An approval channel has a new delivery, or there is news of one.
    Carried,
    /// The outbox has a new email.
    MailQueued,
    /// A session may have ended, so that applications are to be notified.
    LoggedOut,
}

/// Sends and receives wake-ups. Each has one receiver.
#[derive(Debug, Default)]
pub struct Wakeups {
    carried: Notify,
    mail_queued: Notify,
    logged_out: Notify,
}

impl Wakeups {
    const fn of(&self, wakeup: Wakeup) -> &Notify {
        match wakeup {
            Wakeup::Carried => &self.carried,
            Wakeup::MailQueued => &self.mail_queued,
            Wakeup::LoggedOut => &self.logged_out,
        }
    }

    /// Wakes the task that does this work.
    pub fn send(&self, wakeup: Wakeup) {
        self.of(wakeup).notify_one();
    }

    /// Returns when the wake-up came, also if it came since the last call.
    pub async fn received(&self, wakeup: Wakeup) {
        self.of(wakeup).notified().await;
    }
}
