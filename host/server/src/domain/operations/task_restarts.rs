//! The restarts of background tasks, as the metrics show them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How often each background task was restarted, by its name.
#[derive(Debug, Default)]
pub struct TaskRestarts(Mutex<BTreeMap<&'static str, u64>>);

impl TaskRestarts {
    /// Makes a task known that was not restarted yet.
    pub fn register(&self, task: &'static str) {
        self.restarts().entry(task).or_default();
    }

    /// Counts a restart of a task.
    pub fn count(&self, task: &'static str) {
        *self.restarts().entry(task).or_default() += 1;
    }

    /// The restarts of all tasks.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.restarts().clone()
    }

    fn restarts(&self) -> MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
