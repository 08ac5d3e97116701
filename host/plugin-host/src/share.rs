//! The part of a claim mapper's places that UserInfo and introspection may use.
//!
//! A client with an access token can call these endpoints at will, and sign-ins of every application wait for the same
//! places. So these calls wait in a queue of their own and use a quarter of the places at most. One application has at
//! most half of that quarter, so that none holds all of it. The queue is fair between applications.

use std::time::Duration;

use super::fault::Fault;
use super::spec::CallLimits;
use super::turns::{Ticket, TurnBounds, Turns};
use assent_model::id::Did;

/// A part of the places of a plugin.
pub(super) struct Share {
    /// The places of the share. A call holds one while it runs or waits for the plugin.
    places: Turns,
    wait: Duration,
}

impl Share {
    /// Returns a quarter of the places of these limits, at least one. Each application has at most half of them, and
    /// half of the queue.
    pub(super) fn quarter_of(limits: &CallLimits) -> Self {
        let count = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        let running = count((limits.concurrency / 4).max(1));
        let bounds = TurnBounds {
            all: running,
            each: running.div_ceil(2),
            each_waiting: count(limits.queue_length / 2),
        };
        Self {
            places: Turns::new(bounds),
            wait: limits.wait,
        }
    }

    /// Waits for a place for a call of this application. The wait ends after the plugin's limit. Dropping the ticket
    /// returns the place.
    pub(super) async fn enter(&self, application: &Did) -> Result<Ticket<'_>, Fault> {
        let ticket = self
            .places
            .enter(&application.as_str().into(), None)
            .ok_or(Fault::Busy)?;
        tokio::time::timeout(self.wait, ticket.turn())
            .await
            .map_err(|_| Fault::Busy)?;
        Ok(ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_application_leaves_slots_to_others() {
        let limits = CallLimits {
            wait: Duration::from_millis(20),
            ..CallLimits::default()
        };
        let share = Share::quarter_of(&limits);
        let [first, second] = [1, 2].map(|key| Did::from_ed25519(&[key; 32]));
        let mut held = Vec::new();
        for _ in 0..limits.concurrency / 8 {
            held.push(share.enter(&first).await.unwrap());
        }
        assert!(matches!(share.enter(&first).await, Err(Fault::Busy)));
        for _ in 0..limits.concurrency / 8 {
            held.push(share.enter(&second).await.unwrap());
        }
        assert!(matches!(share.enter(&second).await, Err(Fault::Busy)));
        held.clear();
        assert!(share.enter(&first).await.is_ok());
    }
}
