//! How a call ended, and what it used.

use std::time::Duration;

use crate::fault::Fault;

/// What a call used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Units of work, about one a WebAssembly instruction.
    pub fuel: u64,
    /// From the fresh instance to its answer, without its waits for the host and for its turn.
    pub time: Duration,
    /// What it waited for outgoing requests.
    pub waited: Duration,
    /// Bytes of linear memory that it had in the end.
    pub memory: usize,
}

/// How a call ended, and what it used.
#[derive(Debug)]
pub(crate) struct CallResult<T> {
    pub(crate) result: Result<T, Fault>,
    pub(crate) usage: Usage,
}

impl<T> CallResult<T> {
    /// An answer that the plugin was not asked for.
    pub(crate) fn unasked(answer: T) -> Self {
        Self {
            result: Ok(answer),
            usage: Usage::default(),
        }
    }

    /// A call that never began.
    pub(crate) fn not_begun(fault: Fault) -> Self {
        Self {
            result: Err(fault),
            usage: Usage::default(),
        }
    }

    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> CallResult<U> {
        CallResult {
            result: self.result.map(change),
            usage: self.usage,
        }
    }
}
