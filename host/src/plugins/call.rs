//! One call of a plugin, and the walls around it.
//!
//! Its code runs on a fiber, so a wait for the host holds no thread. A thread of the engine ticks every ten milliseconds; at
//! each tick running code gives way to the other tasks of its thread, and after as many ticks as its deadline has, it ends.
//! Only ticks that pass while the plugin's own code runs are counted, so neither the host's waits nor a busy machine are
//! held against it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use wasmtime::{Engine, ResourceLimiter, Store, Trap, UpdateDeadline};

use super::bindings::approval::assent::host::{clock, http, log};
use super::egress::Egress;
use super::engine::{TABLE_ENTRIES, TICK};
use super::fault::Fault;
use super::meter::Meter;
use super::spec::Limits;
use super::workbench::Scripted;
use crate::clock::SharedClock;
use crate::model::printable;

/// Lines that one call may write to the log, and bytes of a line.
const LOG_LINES: u32 = 32;
const LOG_LINE_BYTES: usize = 1024;
/// Requests that one call may send.
const REQUESTS: u32 = 4;

/// What a call used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Units of work, about one a WebAssembly instruction.
    pub fuel: u64,
    /// From the fresh instance to its answer, without what it waited for the host.
    pub time: Duration,
    /// What it waited for outgoing requests.
    pub waited: Duration,
    /// Bytes of linear memory that it had in the end.
    pub memory: usize,
}

/// How a call ended, and what it used.
#[derive(Debug)]
pub(super) struct Ran<T> {
    pub(super) result: Result<T, Fault>,
    pub(super) usage: Usage,
}

impl<T> Ran<T> {
    /// An answer that the plugin was not asked for.
    pub(super) fn unasked(answer: T) -> Self {
        Self { result: Ok(answer), usage: Usage::default() }
    }

    /// A call that never began.
    fn not_begun(fault: Fault) -> Self {
        Self { result: Err(fault), usage: Usage::default() }
    }

    pub(super) fn map<U>(self, change: impl FnOnce(T) -> U) -> Ran<U> {
        Ran { result: self.result.map(change), usage: self.usage }
    }
}

/// Calls a function of a component in a fresh instance of it: `fresh!(runner, component, interface.function, arguments...)`.
macro_rules! fresh {
    ($runner:expr, $component:expr, $interface:ident . $function:ident $(, $argument:expr)*) => {{
        let call = async |mut store: wasmtime::Store<$crate::plugins::call::Call>| {
            let called = async {
                let instance = $component.instantiate_async(&mut store).await?;
                instance.$interface().$function(&mut store $(, $argument)*).await
            };
            let answer = called.await;
            (store, answer)
        };
        $runner.run(call).await
    }};
}
pub(super) use fresh;

/// Where the requests of a plugin go.
#[derive(Clone)]
pub(super) enum Outside {
    /// Nowhere.
    Closed,
    /// To the hosts that the operator granted.
    Granted(Arc<Egress>),
    /// To whoever tries the plugin out.
    Scripted(Arc<Scripted>),
}

/// What a plugin's calls have in common: its name, its limits, its place in the pool, what it may reach.
pub(super) struct Runner {
    engine: Engine,
    name: Arc<str>,
    limits: Limits,
    clock: SharedClock,
    outside: Outside,
    meter: Arc<Meter>,
    /// A permit for each call that runs or waits.
    admitted: Semaphore,
    /// A permit for each call that runs.
    running: Semaphore,
}

impl Runner {
    pub(super) fn new(
        engine: Engine,
        name: &str,
        limits: Limits,
        clock: SharedClock,
        outside: Outside,
        meter: Arc<Meter>,
    ) -> Self {
        let places = |count: u32| Semaphore::new(usize::try_from(count).unwrap_or(Semaphore::MAX_PERMITS));
        Self {
            admitted: places(limits.concurrency.saturating_add(limits.waiting)),
            running: places(limits.concurrency),
            engine,
            name: name.into(),
            limits,
            clock,
            outside,
            meter,
        }
    }

    /// The same for calls that are not counted. The error is the end of a sentence about the plugin.
    pub(super) fn uncounted(&self) -> Result<Self, String> {
        let (engine, clock, outside) = (self.engine.clone(), Arc::clone(&self.clock), self.outside.clone());
        Ok(Self::new(engine, &self.name, self.limits, clock, outside, Arc::new(Meter::new()?)))
    }

    /// The plugin's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// What its calls used until now.
    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Runs one call in a store of its own, which it gives back; see [`fresh`].
    pub(super) async fn run<T, F>(&self, call: impl FnOnce(Store<Call>) -> F) -> Ran<T>
    where
        F: Future<Output = (Store<Call>, wasmtime::Result<T>)>,
    {
        let Ok(_admitted) = self.admitted.try_acquire() else { return self.turned_away() };
        let waiting = self.meter.waits();
        let place = tokio::time::timeout(self.limits.wait, self.running.acquire()).await;
        drop(waiting);
        let Ok(Ok(_place)) = place else { return self.turned_away() };
        let store = match self.store() {
            Ok(store) => store,
            Err(error) => return Ran::not_begun(self.fault(&error, None)),
        };
        let begun = Instant::now();
        let (store, answer) = call(store).await;
        let state = store.data();
        let usage = Usage {
            fuel: self.limits.fuel.saturating_sub(store.get_fuel().unwrap_or(0)),
            time: begun.elapsed().saturating_sub(state.waited),
            waited: state.waited,
            memory: state.used_memory,
        };
        let result = answer.map_err(|error| self.fault(&error, state.last_words.as_deref()));
        self.meter.count(&usage, result.is_err());
        Ran { result, usage }
    }

    fn turned_away<T>(&self) -> Ran<T> {
        self.meter.turned_away();
        Ran::not_begun(Fault::Busy)
    }

    fn store(&self) -> wasmtime::Result<Store<Call>> {
        let ticks = self.limits.deadline.as_millis().div_ceil(TICK.as_millis());
        let call = Call {
            plugin: Arc::clone(&self.name),
            memory: self.limits.memory_bytes,
            used_memory: 0,
            deadline: self.limits.deadline,
            ticks: u64::try_from(ticks).unwrap_or(u64::MAX),
            waited: Duration::ZERO,
            clock: Arc::clone(&self.clock),
            outside: self.outside.clone(),
            requests: REQUESTS,
            lines: LOG_LINES,
            last_words: None,
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

    /// What an error of the engine means, after what the plugin complained of last.
    fn fault(&self, error: &wasmtime::Error, last_words: Option<&str>) -> Fault {
        if let Some(fault) = error.downcast_ref::<Fault>() {
            return fault.clone();
        }
        if error.is::<wasmtime::PoolConcurrencyLimitError>() {
            return Fault::Busy;
        }
        match error.downcast_ref::<Trap>() {
            Some(Trap::OutOfFuel) => Fault::Fuel(self.limits.fuel),
            Some(Trap::StackOverflow) => Fault::Stack,
            Some(trap) => Fault::Trap {
                trap: trap.to_string().trim_start_matches("wasm trap: ").to_owned(),
                last_words: last_words.map(str::to_owned),
            },
            None => Fault::Answer(one_line(&error.root_cause().to_string())),
        }
    }
}

/// The state of one call.
pub(super) struct Call {
    plugin: Arc<str>,
    memory: usize,
    /// Bytes of linear memory that it has.
    used_memory: usize,
    deadline: Duration,
    /// Ticks that its code may still see.
    ticks: u64,
    /// What it waited for the host.
    waited: Duration,
    clock: SharedClock,
    outside: Outside,
    /// Requests that it may still send.
    requests: u32,
    /// Lines that it may still write to the log.
    lines: u32,
    /// The last line of it that was an error. A Rust plugin that panics says so in one.
    last_words: Option<String>,
}

impl ResourceLimiter for Call {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        // A component may have several memories; the limit is one for all of them.
        let used = self.used_memory.saturating_sub(current).saturating_add(desired);
        if used > self.memory {
            return Err(Fault::Memory(self.memory).into());
        }
        self.used_memory = used;
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
            log::Level::Error => {
                tracing::error!(plugin, "{line}");
                self.last_words = Some(line);
            }
        }
        if left == 0 {
            tracing::warn!(plugin, "the plugin wrote {LOG_LINES} lines in one call; the rest is dropped");
        }
    }
}

/// A message cut to the length of a line, with nothing in it that could pass for a line of its own.
pub fn one_line(message: &str) -> String {
    printable::line(message, LOG_LINE_BYTES)
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
        let begun = Instant::now();
        let sent = match &self.outside {
            Outside::Closed => Err(http::Error::Refused("the operator granted no host".to_owned())),
            Outside::Granted(egress) => egress.send(request).await,
            Outside::Scripted(script) => script.answer(request),
        };
        self.waited += begun.elapsed();
        let plugin = &*self.plugin;
        match &sent {
            Err(http::Error::Refused(why)) => {
                tracing::warn!(plugin, "refused a request of the plugin: {}", one_line(why));
            }
            Err(http::Error::Unreachable(why)) => {
                tracing::info!(plugin, "a request of the plugin did not get there: {}", one_line(why));
            }
            _ => {}
        }
        sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_memories_of_a_call_share_one_limit() {
        let mut call = Call {
            plugin: "greedy".into(),
            memory: 100,
            used_memory: 0,
            deadline: Duration::ZERO,
            ticks: 0,
            waited: Duration::ZERO,
            clock: Arc::new(crate::clock::SystemClock),
            outside: Outside::Closed,
            requests: 0,
            lines: 0,
            last_words: None,
        };
        // One memory begins with 40 and grows to 60; another begins with 40, and then neither can grow.
        for (current, desired) in [(0, 40), (40, 60), (0, 40)] {
            assert!(call.memory_growing(current, desired, None).is_ok(), "{current} to {desired}");
        }
        assert_eq!(call.used_memory, 100);
        for (current, desired) in [(60, 61), (40, 41), (0, 1)] {
            assert!(call.memory_growing(current, desired, None).is_err(), "{current} to {desired}");
        }
    }
}
