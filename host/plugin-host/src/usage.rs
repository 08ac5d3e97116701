//! The result and the resource use of a call.

use std::time::Duration;

use crate::fault::Fault;

/// The resource use of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The units of work. A WebAssembly instruction is about one unit.
    pub fuel: u64,
    /// The time from the fresh instance to the result, without the waits for the host and for a turn.
    pub time: Duration,
    /// The time of the waits for HTTP requests.
    pub waited: Duration,
    /// The linear memory at the end of the call, in bytes.
    pub memory: usize,
}

/// The result and the resource use of a call.
#[derive(Debug)]
pub(crate) struct CallResult<T> {
    pub(crate) result: Result<T, Fault>,
    pub(crate) usage: Usage,
}

impl<T> CallResult<T> {
    /// Returns a result that needed no call of the plugin.
    pub(crate) fn without_call(answer: T) -> Self {
        Self {
            result: Ok(answer),
            usage: Usage::default(),
        }
    }

    /// Returns the result of a call that could not start.
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
