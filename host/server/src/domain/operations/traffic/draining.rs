//! Draining: the time between the operator's request to stop and the end of the listeners. The instance reports that it
//! is not ready but still serves, so that a load balancer can move its clients to other instances.

use std::time::Duration;

use tokio::sync::watch;

/// The longest wait of a long poll that arrives during draining. With an immediate response, clients would repeat their
/// requests without a pause.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The switch that starts the draining of this instance.
#[derive(Debug, Default)]
pub struct DrainSwitch(watch::Sender<bool>);

impl DrainSwitch {
    /// Begins draining, which lasts until the process ends.
    pub fn begin(&self) {
        self.0.send_replace(true);
    }

    /// Returns whether draining has begun.
    pub fn is_begun(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until a long poll should be answered without a change: until draining begins. If it has begun already, for
    /// a second.
    pub async fn interrupts(&self) {
        let mut begun = self.0.subscribe();
        if *begun.borrow_and_update() {
            return tokio::time::sleep(LONGEST_WAIT).await;
        }
        // An error means that the instance is gone, which has the same effect.
        let _ = begun.wait_for(|begun| *begun).await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn waits_end_when_draining_begins_and_later_waits_end_after_a_second() {
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
