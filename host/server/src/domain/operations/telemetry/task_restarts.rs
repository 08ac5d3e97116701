//! The restarts of background tasks, for the metrics.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of restarts of each background task, by its name.
#[derive(Debug, Default)]
pub struct TaskRestarts(Mutex<BTreeMap<&'static str, u64>>);

impl TaskRestarts {
    /// Registers a task that was not restarted yet.
    pub fn register(&self, task: &'static str) {
        self.restarts().entry(task).or_default();
    }

    /// Counts a restart of a task.
    pub fn count(&self, task: &'static str) {
        *self.restarts().entry(task).or_default() += 1;
    }

    /// Returns the restarts of all tasks.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.restarts().clone()
    }

    fn restarts(&self) -> MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
