//! Supervision of background tasks: a task that panics or ends is restarted, because nothing else would do its work.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::Instant;

use crate::domain::operations::telemetry::metrics::TaskRestarts;

/// The pause before the first restart. Each further restart doubles the pause.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause before a restart. A task that ran for this long begins with the shortest pause again.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The pauses before restarts, with exponential backoff.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pauses {
    shortest: Duration,
    longest: Duration,
    next: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Self::between(SHORTEST_PAUSE, LONGEST_PAUSE)
    }
}

impl Pauses {
    const fn between(shortest: Duration, longest: Duration) -> Self {
        Self {
            shortest,
            longest,
            next: shortest,
        }
    }

    /// Returns the pause after a run of this length.
    fn after(&mut self, ran: Duration) -> Duration {
        if ran >= self.longest {
            self.next = self.shortest;
        }
        let pause = self.next;
        self.next = (pause * 2).min(self.longest);
        pause
    }
}

/// Runs a task, and restarts it after a pause whenever it panics or ends. It never returns.
pub(super) async fn supervise<F: Future<Output = ()>>(
    restarts: &TaskRestarts,
    mut pauses: Pauses,
    name: &'static str,
    task: impl Fn() -> F,
) {
    restarts.register(name);
    loop {
        let begun = Instant::now();
        // The locks of the state that tasks share tolerate a panic.
        let ended = AssertUnwindSafe(task()).catch_unwind().await;
        let pause = pauses.after(begun.elapsed());
        match ended {
            Ok(()) => {
                tracing::error!(
                    task = name,
                    delay = ?pause,
                    "background task ended, restarting"
                );
            }
            Err(panic) => {
                let panic = message_of(&*panic);
                tracing::error!(
                    task = name,
                    panic,
                    delay = ?pause,
                    "background task panicked, restarting"
                );
            }
        }
        tokio::time::sleep(pause).await;
        restarts.count(name);
    }
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Notify;

    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_or_ends_is_restarted_and_counted() {
        let restarts = TaskRestarts::default();
        let (starts, fourth) = (AtomicUsize::new(0), Notify::new());
        let task = || async {
            match starts.fetch_add(1, Ordering::Relaxed) {
                0 => panic!("as the test wants it"),
                1 => {}
                2 => panic!("{}", "with a value".to_owned()),
                _ => {
                    fourth.notify_one();
                    std::future::pending::<()>().await;
                }
            }
        };
        let pauses = Pauses::between(Duration::from_millis(1), Duration::from_secs(60));
        tokio::select! {
            () = supervise(&restarts, pauses, "task", task) => {}
            () = fourth.notified() => {}
        }
        assert_eq!(restarts.counts()["task"], 3);
    }

    #[test]
    fn restart_delays_grow_and_reset_after_a_long_run() {
        let mut pauses = Pauses::default();
        let mut after = |ran| pauses.after(Duration::from_secs(ran)).as_secs();
        let grown: Vec<u64> = (0..9).map(|_| after(0)).collect();
        assert_eq!(grown, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!((after(60), after(59)), (1, 2));
    }

    #[test]
    fn the_message_of_a_panic_is_found() {
        assert_eq!(message_of(&"text"), "text");
        assert_eq!(message_of(&"owned".to_owned()), "owned");
        assert_eq!(message_of(&7), "no message");
    }
}
