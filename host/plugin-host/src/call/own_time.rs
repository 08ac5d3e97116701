//! The time of a call's own code, without the waits for the host and for a turn.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// The time of a call's own code.
#[derive(Default)]
pub(super) struct OwnTime(Mutex<Spans>);

#[derive(Clone, Copy, Default)]
pub(super) struct Spans {
    /// The start of the current run, and the processor time of its thread at that moment.
    since: Option<(Instant, Duration)>,
    /// The running time of the earlier runs.
    pub(super) total: Duration,
    /// The processor time of the earlier runs.
    pub(super) processor: Duration,
}

impl OwnTime {
    pub(super) fn resume(&self) {
        self.change(|spans| spans.since = Some((Instant::now(), thread_time())));
    }

    pub(super) fn pause(&self) {
        self.change(|spans| {
            if let Some((since, before)) = spans.since.take() {
                spans.total += since.elapsed();
                spans.processor += thread_time().saturating_sub(before);
            }
        });
    }

    /// Returns the processor time so far. The caller must be on the thread that runs the call.
    pub(super) fn processor(&self) -> Duration {
        let Spans {
            since, processor, ..
        } = self.spans();
        since.map_or(processor, |(_, before)| {
            processor + thread_time().saturating_sub(before)
        })
    }

    pub(super) fn spans(&self) -> Spans {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Spans)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Returns the processor time of this thread.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}
