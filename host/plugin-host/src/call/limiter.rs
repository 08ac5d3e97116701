//! The memory limit of a call.

use wasmtime::ResourceLimiter;

use super::state::CallState;
use crate::engine::TABLE_ENTRIES;
use crate::fault::Fault;

impl ResourceLimiter for CallState {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        // A component may have several memories. The limit applies to their sum.
        let used = self
            .used_memory
            .saturating_sub(current)
            .saturating_add(desired);
        if used > self.memory {
            return Err(Fault::Memory(self.memory).into());
        }
        self.used_memory = used;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= TABLE_ENTRIES)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::call::state::EgressMode;

    #[test]
    fn all_memories_of_a_call_share_one_limit() {
        let mut call = CallState {
            plugin: "greedy".into(),
            memory: 100,
            used_memory: 0,
            deadline: Duration::ZERO,
            own: Arc::default(),
            limit: Arc::default(),
            waited: Duration::ZERO,
            clock: Arc::new(assent_model::clock::SystemClock),
            outside: EgressMode::Closed,
            requests: 0,
            lines: 0,
            journal: None,
            last_words: None,
        };
        // The first memory starts with 40 and grows to 60. The second starts with 40; after that, neither can grow.
        for (current, desired) in [(0, 40), (40, 60), (0, 40)] {
            assert!(
                call.memory_growing(current, desired, None).is_ok(),
                "{current} to {desired}"
            );
        }
        assert_eq!(call.used_memory, 100);
        for (current, desired) in [(60, 61), (40, 41), (0, 1)] {
            assert!(
                call.memory_growing(current, desired, None).is_err(),
                "{current} to {desired}"
            );
        }
    }
}
