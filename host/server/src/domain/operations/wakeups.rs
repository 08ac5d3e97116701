//! Wake-ups of background tasks inside this process.
//!
//! A wake-up is only a hint. Each task also checks for work regularly, because another instance may have made the
//! change. The store wakes requests that wait for a change, see [`Store::listen`](assent_store::Store::listen).

use tokio::sync::Notify;

/// The kind of work for which a task is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wakeup {
    /// An approval channel has a new or changed delivery.
    Carried,
    /// The outbox has a new email.
    MailQueued,
    /// A session may have ended, and applications must be notified.
    LoggedOut,
    /// A user decided a back-channel request, and the application must be notified.
    BackchannelDecided,
}

/// The wake-ups of all tasks. Each has one receiver.
#[derive(Debug, Default)]
pub struct Wakeups {
    carried: Notify,
    mail_queued: Notify,
    logged_out: Notify,
    backchannel_decided: Notify,
}

impl Wakeups {
    const fn notifier_of(&self, wakeup: Wakeup) -> &Notify {
        match wakeup {
            Wakeup::Carried => &self.carried,
            Wakeup::MailQueued => &self.mail_queued,
            Wakeup::LoggedOut => &self.logged_out,
            Wakeup::BackchannelDecided => &self.backchannel_decided,
        }
    }

    /// Wakes the task that does this work.
    pub fn send(&self, wakeup: Wakeup) {
        self.notifier_of(wakeup).notify_one();
    }

    /// Waits for the wake-up. Returns at once if it was sent since the last call.
    pub async fn received(&self, wakeup: Wakeup) {
        self.notifier_of(wakeup).notified().await;
    }
}
