//! The engine that plugins run in, and the walls around each call.
//!
//! Every call gets a fresh instance from the pool, and nothing of it is left afterwards. Its code runs on a fiber, so a wait
//! for the host holds no thread. A thread of the engine ticks every ten milliseconds; at each tick running code gives way to
//! the other tasks of its thread, and after as many ticks as its deadline has, it ends. Only ticks that pass while the
//! plugin's own code runs are counted, so neither the host's waits nor a busy machine are held against it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use wasmtime::component::Component;
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, ResourceLimiter, Store,
    Trap, UpdateDeadline,
};

use super::bindings::approval::assent::host::{clock, http, log};
use super::egress::Egress;
use super::fault::Fault;
use super::spec::Limits;
use crate::clock::SharedClock;

/// How often running code is interrupted.
const TICK: Duration = Duration::from_millis(10);
/// Core instances, memories and tables that one component may have. A Rust plugin has three instances, one memory and two
/// tables; one in TypeScript 13, three (two of them empty) and three.
const CORE_INSTANCES: u32 = 16;
const MEMORIES: u32 = 3;
const TABLES: u32 = 4;
/// Entries of one table.
const TABLE_ENTRIES: usize = 20_000;
/// Bytes of a memory that are cleared rather than given back to the system, since most calls touch about so many.
const KEEP_RESIDENT: usize = 256 << 10;
/// Lines that one call may write to the log, and bytes of a line.
const LOG_LINES: u32 = 32;
const LOG_LINE_BYTES: usize = 1024;
/// Requests that one call may send.
const REQUESTS: u32 = 4;

/// An engine with room for all calls that `limits` allow at once.
pub(super) fn engine<'a>(limits: impl Iterator<Item = &'a Limits>) -> Result<Engine, String> {
    let (mut calls, mut memory) = (0_u32, 1 << 20);
    for limit in limits {
        calls = calls.saturating_add(limit.concurrency);
        memory = limit.memory_bytes.max(memory);
    }
    let calls = calls.max(1);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(calls)
        .total_core_instances(calls.saturating_mul(CORE_INSTANCES))
        .total_memories(calls.saturating_mul(MEMORIES))
        .total_tables(calls.saturating_mul(TABLES))
        .total_stacks(calls)
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_memories_per_component(MEMORIES)
        .max_tables_per_component(TABLES)
        .max_memory_size(memory)
        .table_elements(TABLE_ENTRIES)
        .linear_memory_keep_resident(KEEP_RESIDENT)
        .pagemap_scan(Enabled::Auto)
        .table_keep_resident(KEEP_RESIDENT);
    let mut config = Config::new();
    config
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
        .cranelift_opt_level(OptLevel::Speed)
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        .consume_fuel(true)
        .epoch_interruption(true);
    let engine = Engine::new(&config).map_err(|error| format!("the plugin engine can't start: {error:#}"))?;
    tick(&engine)?;
    Ok(engine)
}

/// Starts the engine's clock. It stops when the engine is dropped.
fn tick(engine: &Engine) -> Result<(), String> {
    let engine = engine.weak();
    let ticker = std::thread::Builder::new().name("plugin-epoch".to_owned()).spawn(move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            std::thread::sleep(TICK);
        }
    });
    ticker.map(drop).map_err(|error| format!("the plugin engine's clock can't start: {error}"))
}

/// Compiles a component. The error is the end of a sentence about the plugin.
pub(super) fn compile(engine: &Engine, bytes: &[u8]) -> Result<Component, String> {
    Component::new(engine, bytes).map_err(|error| format!("the component can't be compiled: {error:#}"))
}

/// What a plugin's calls have in common: its name, its limits, its place in the pool, what it may reach.
pub(super) struct Runner {
    engine: Engine,
    name: Arc<str>,
    limits: Limits,
    clock: SharedClock,
    egress: Option<Arc<Egress>>,
    /// A permit for each call that runs or waits.
    admitted: Semaphore,
    /// A permit for each call that runs.
    running: Semaphore,
}

impl Runner {
    pub(super) fn new(engine: Engine, name: &str, limits: Limits, clock: SharedClock, egress: Option<Egress>) -> Self {
        let places = |count: u32| Semaphore::new(usize::try_from(count).unwrap_or(Semaphore::MAX_PERMITS));
        Self {
            admitted: places(limits.concurrency.saturating_add(limits.waiting)),
            running: places(limits.concurrency),
            engine,
            name: name.into(),
            limits,
            clock,
            egress: egress.map(Arc::new),
        }
    }

    /// The plugin's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Runs one call in a store of its own.
    pub(super) async fn run<T, F>(&self, call: impl FnOnce(Store<Call>) -> F) -> Result<T, Fault>
    where
        F: Future<Output = wasmtime::Result<T>>,
    {
        let _admitted = self.admitted.try_acquire().map_err(|_| Fault::Busy)?;
        let place = tokio::time::timeout(self.limits.wait, self.running.acquire()).await;
        let Ok(Ok(_place)) = place else { return Err(Fault::Busy) };
        let store = self.store().map_err(|error| self.fault(&error))?;
        call(store).await.map_err(|error| self.fault(&error))
    }

    fn store(&self) -> wasmtime::Result<Store<Call>> {
        let ticks = self.limits.deadline.as_millis().div_ceil(TICK.as_millis());
        let call = Call {
            plugin: Arc::clone(&self.name),
            memory: self.limits.memory_bytes,
            deadline: self.limits.deadline,
            ticks: u64::try_from(ticks).unwrap_or(u64::MAX),
            clock: Arc::clone(&self.clock),
            egress: self.egress.clone(),
            requests: REQUESTS,
            lines: LOG_LINES,
        };
        let mut store = Store::new(&self.engine, call);
        store.limiter(|call| call);
        store.set_fuel(self.limits.fuel)?;
        store.set_hostcall_fuel(self.limits.output_bytes);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|mut store| {
            let call = store.data_mut();
            match call.ticks.checked_sub(1) {
                Some(left) => {
                    call.ticks = left;
                    Ok(UpdateDeadline::Yield(1))
                }
                None => Err(Fault::Deadline(call.deadline).into()),
            }
        });
        Ok(store)
    }

    /// What an error of the engine means.
    fn fault(&self, error: &wasmtime::Error) -> Fault {
        if let Some(fault) = error.downcast_ref::<Fault>() {
            return fault.clone();
        }
        if error.is::<wasmtime::PoolConcurrencyLimitError>() {
            return Fault::Busy;
        }
        match error.downcast_ref::<Trap>() {
            Some(Trap::OutOfFuel) => Fault::Fuel(self.limits.fuel),
            Some(Trap::StackOverflow) => Fault::Stack,
            Some(trap) => Fault::Trap(trap.to_string().trim_start_matches("wasm trap: ").to_owned()),
            None => Fault::Answer(error.root_cause().to_string()),
        }
    }
}

/// The state of one call.
pub(super) struct Call {
    plugin: Arc<str>,
    memory: usize,
    deadline: Duration,
    /// Ticks that its code may still see.
    ticks: u64,
    clock: SharedClock,
    egress: Option<Arc<Egress>>,
    /// Requests that it may still send.
    requests: u32,
    /// Lines that it may still write to the log.
    lines: u32,
}

impl ResourceLimiter for Call {
    fn memory_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        if desired > self.memory {
            return Err(Fault::Memory(self.memory).into());
        }
        Ok(true)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= TABLE_ENTRIES)
    }
}

impl log::Host for Call {
    fn write(&mut self, level: log::Level, message: String) {
        let plugin = &*self.plugin;
        let Some(left) = self.lines.checked_sub(1) else { return };
        self.lines = left;
        let line = one_line(&message);
        match level {
            log::Level::Debug => tracing::debug!(plugin, "{line}"),
            log::Level::Info => tracing::info!(plugin, "{line}"),
            log::Level::Warn => tracing::warn!(plugin, "{line}"),
            log::Level::Error => tracing::error!(plugin, "{line}"),
        }
        if left == 0 {
            tracing::warn!(plugin, "the plugin wrote {LOG_LINES} lines in one call; the rest is dropped");
        }
    }
}

/// A message cut to the length of a line, with nothing in it that could pass for a line of its own.
pub(super) fn one_line(message: &str) -> String {
    let mut line = String::new();
    for character in message.chars() {
        if line.len() + character.len_utf8() > LOG_LINE_BYTES {
            line.push('…');
            break;
        }
        // Line and paragraph separators and the marks that turn text around are no control characters of `char`.
        let shown = !character.is_control() && !matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        line.push(if shown { character } else { ' ' });
    }
    line
}

impl clock::Host for Call {
    fn now(&mut self) -> u64 {
        u64::try_from(self.clock.now().seconds()).unwrap_or(0)
    }
}

impl http::Host for Call {
    async fn send(&mut self, request: http::Request) -> Result<http::Response, http::Error> {
        let Some(left) = self.requests.checked_sub(1) else {
            return Err(http::Error::Refused(format!("one call may send {REQUESTS} requests")));
        };
        self.requests = left;
        let sent = match &self.egress {
            Some(egress) => egress.send(request).await,
            None => Err(http::Error::Refused("the operator granted no host".to_owned())),
        };
        if let Err(http::Error::Refused(why)) = &sent {
            tracing::warn!(plugin = &*self.plugin, "refused a request of the plugin: {}", one_line(why));
        }
        sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_log_stays_one_line() {
        assert_eq!(one_line("a\nERROR forged\u{2028}b\x1b[31m"), "a ERROR forged b [31m");
        let long = one_line(&"é".repeat(10_000));
        assert!(long.len() <= LOG_LINE_BYTES + '…'.len_utf8() && long.ends_with('…'));
    }
}
