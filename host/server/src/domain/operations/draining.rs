//! Draining: the time between the operator's request to stop and the end of the listeners. The instance reports that it
//! is not ready but still serves, so that a load balancer moves its clients elsewhere first.

use std::time::Duration;

use tokio::sync::watch;

/// How long a request may wait for news that comes during draining. Answered at once, clients that ask again at once
/// would repeat without a pause.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Whether this instance drains.
#[derive(Debug, Default)]
pub struct DrainSwitch(watch::Sender<bool>);

impl DrainSwitch {
    /// Begins to drain. It lasts until the process ends.
    pub fn begin(&self) {
        self.0.send_replace(true);
    }

    /// Whether it has begun.
    pub fn is_begun(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when a request that waits for news should be answered without any: as soon as draining begins. If it has
    /// begun already, after a second.
    pub async fn interrupts(&self) {
        let mut begun = self.0.subscribe();
        if *begun.borrow_and_update() {
            return tokio::time::sleep(LONGEST_WAIT).await;
        }
        // An error means that nothing is left to drain.
        let _ = begun.wait_for(|begun| *begun).await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn requests_that_wait_are_answered_at_once_and_those_that_come_later_after_a_second() {
        let draining = DrainSwitch::default();
        let waiting = draining.interrupts();
        let mut waiting = std::pin::pin!(waiting);
        assert!((&mut waiting).now_or_never().is_none());
        assert!(!draining.is_begun());
        draining.begin();
        assert!(draining.is_begun());
        assert!(waiting.now_or_never().is_some());

        let begun = tokio::time::Instant::now();
        draining.interrupts().await;
        assert!(begun.elapsed() >= LONGEST_WAIT);
    }
}
