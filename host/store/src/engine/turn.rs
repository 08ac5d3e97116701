//! The turn of a call in a queue. Either the call begins, or its caller gives it up; the first of the two wins.

use std::sync::atomic::{AtomicU8, Ordering};

/// Whether a call has begun or was given up.
#[derive(Debug, Default)]
pub(crate) struct Turn(AtomicU8);

impl Turn {
    const WAITS: u8 = 0;
    const BEGUN: u8 = 1;
    const GIVEN_UP: u8 = 2;

    /// Begins the call. Returns `false` if its caller has given it up.
    pub(crate) fn begin(&self) -> bool {
        self.leave_queue(Self::BEGUN)
    }

    /// Gives the call up. Returns `false` if it has begun.
    pub(crate) fn give_up(&self) -> bool {
        self.leave_queue(Self::GIVEN_UP)
    }

    fn leave_queue(&self, next: u8) -> bool {
        self.0
            .compare_exchange(Self::WAITS, next, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}
