//! The time of a call's own code, without the waits for the host and for a turn.
//!
//! The processor time of a thread is a system call. Most calls have one run, which ends before the engine's clock
//! ticks. So the first run is measured from its first tick. What came before is at most one interval of the clock, and
//! does not count against the deadline.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// The time of a call's own code.
#[derive(Default)]
pub(super) struct OwnTime(Mutex<Spans>);

#[derive(Clone, Copy, Default)]
pub(super) struct Spans {
    current: Option<Run>,
    /// Whether a run has ended.
    has_paused: bool,
    /// The running time of the earlier runs.
    pub(super) total: Duration,
    /// The measured processor time.
    pub(super) processor: Duration,
}

/// A run, which stays on one thread.
#[derive(Clone, Copy)]
struct Run {
    since: Instant,
    /// The processor time of the thread when it was read last; `None` if this run has not read it.
    thread: Option<Duration>,
}

impl OwnTime {
    pub(super) fn resume(&self) {
        self.change(|spans| {
            spans.current = Some(Run {
                since: Instant::now(),
                thread: spans.has_paused.then(thread_time),
            });
        });
    }

    pub(super) fn pause(&self) {
        self.change(|spans| {
            if let Some(run) = spans.current.take() {
                spans.total += run.since.elapsed();
                if let Some(before) = run.thread {
                    spans.processor += thread_time().saturating_sub(before);
                }
                spans.has_paused = true;
            }
        });
    }

    /// Returns the measured processor time so far. The caller must be on the thread that runs the call.
    pub(super) fn processor(&self) -> Duration {
        let mut so_far = Duration::ZERO;
        self.change(|spans| {
            if let Some(run) = &mut spans.current {
                let now = thread_time();
                if let Some(before) = run.thread.replace(now) {
                    spans.processor += now.saturating_sub(before);
                }
            }
            so_far = spans.processor;
        });
        so_far
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
