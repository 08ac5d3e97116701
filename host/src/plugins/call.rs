//! One call of a plugin, and the walls around it.
//!
//! Its code runs on a fiber, so a wait for the host holds no thread. A thread of the engine ticks every ten milliseconds; at
//! each tick running code yields to the other tasks of its thread, and it ends once it used more processor time than its
//! deadline. Only the time of the plugin's own code is counted, so neither the host's waits nor a busy machine are held
//! against it.
//!
//! While its own code runs, a call holds one of the few turns that all plugins share (see `turns`). Each application has its
//! share of them and of the plugin's places, and a breaker of its own.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::ready;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::{Handle, RuntimeFlavor};
use wasmtime::{Engine, ResourceLimiter, Store, Trap, UpdateDeadline};

use super::bindings::approval::assent::host::{clock, http, log};
use super::breaker::Breakers;
use super::egress::Egress;
use super::engine::TABLE_ENTRIES;
use super::fault::Fault;
use super::log_limit::{LINES_PER_SECOND, LogLimit};
use super::meter::Meter;
use super::spec::Limits;
use super::turns::{Bounds, Ticket, Turns};
use super::workbench::Scripted;
use crate::clock::SharedClock;
use crate::id::Did;
use crate::model::printable;

/// Lines that one call may write to the log, and bytes of a line.
const LOG_LINES: u32 = 32;
const LOG_LINE_BYTES: usize = 1024;
/// The message of a Rust plugin before it traps because it requested the time.
const NO_TIME: &str = "time not implemented on this platform";
/// The engine's error for a call that passed more data than the limit.
const TOO_MUCH: &str = "fuel allocated for hostcalls has been exhausted";
/// The running time after which a call counts as long. Other tasks of its thread then move to another thread.
const SHORT: Duration = Duration::from_millis(2);
/// Requests that one call may send.
const REQUESTS: u32 = 4;

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

/// Lines that a journal keeps.
const JOURNAL_LINES: usize = 256;

/// A line that a plugin wrote to the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// `debug`, `info`, `warn` or `error`.
    pub level: &'static str,
    /// The text, without control characters.
    pub message: String,
}

/// The first log lines of a plugin on trial, beside the operator's log.
#[derive(Debug, Default)]
pub struct Journal(Mutex<Vec<LogLine>>);

impl Journal {
    fn add(&self, level: &'static str, message: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() < JOURNAL_LINES {
            lines.push(LogLine { level, message: message.to_owned() });
        }
    }

    /// The lines until now.
    pub fn lines(&self) -> Vec<LogLine> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
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

/// The origin of a plugin call.
pub(super) enum Asker<'a> {
    /// An application.
    Application(&'a Did),
    /// The plugin itself, or all applications together.
    Itself,
    /// An unauthenticated caller, who must not be able to suspend the plugin for others.
    Stranger,
}

/// Calls a function of a component in a fresh instance of it: `fresh!(runner, component, interface.function, arguments...)`,
/// with `runner for asker` for others than the plugin itself.
macro_rules! fresh {
    ($runner:expr, $($rest:tt)*) => {
        $crate::plugins::call::fresh_for!($runner, $crate::plugins::call::Asker::Itself, $($rest)*)
    };
}
pub(super) use fresh;

/// The same, for an asker.
macro_rules! fresh_for {
    ($runner:expr, $asker:expr, $component:expr, $interface:ident . $function:ident $(, $argument:expr)*) => {{
        let call = async |mut store: wasmtime::Store<$crate::plugins::call::Call>| {
            let called = async {
                let instance = $component.instantiate_async(&mut store).await?;
                instance.$interface().$function(&mut store $(, $argument)*).await
            };
            let answer = called.await;
            (store, answer)
        };
        $runner.run($asker, call).await
    }};
}
pub(super) use fresh_for;

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
    /// The asker for the plugin's own calls.
    itself: Arc<str>,
    /// The common asker of all unauthenticated callers, so that they delay the plugin's own calls by one turn at most.
    strangers: Arc<str>,
    /// A place for each call that has an instance.
    places: Turns,
    /// The turns of all plugins: a call holds one while its code runs.
    turns: Arc<Turns>,
    breakers: Breakers,
    lines: Arc<LogLimit>,
    /// The host's own lines about the plugin.
    host_lines: LogLimit,
    journal: Option<Arc<Journal>>,
}

impl Runner {
    pub(super) fn new(
        engine: Engine,
        name: &str,
        limits: Limits,
        clock: SharedClock,
        outside: Outside,
        meter: Arc<Meter>,
        turns: Arc<Turns>,
    ) -> Self {
        let name: Arc<str> = name.into();
        Self {
            places: Turns::new(bounds(&limits, &outside)),
            breakers: Breakers::new(Arc::clone(&name), Arc::clone(&clock)),
            itself: Arc::clone(&name),
            strangers: format!("callbacks of {name}").into(),
            lines: Arc::default(),
            host_lines: LogLimit::default(),
            engine,
            name,
            limits,
            clock,
            outside,
            meter,
            turns,
            journal: None,
        }
    }

    /// The same with a journal of the log lines of its calls.
    pub(super) fn with_journal(self, journal: Option<Arc<Journal>>) -> Self {
        Self { journal, ..self }
    }

    /// The same for calls that are not counted. The error is the end of a sentence about the plugin.
    pub(super) fn uncounted(&self) -> Result<Self, String> {
        let (engine, clock, outside) = (self.engine.clone(), Arc::clone(&self.clock), self.outside.clone());
        let turns = Arc::clone(&self.turns);
        Ok(Self::new(engine, &self.name, self.limits, clock, outside, Arc::new(Meter::new()?), turns))
    }

    /// The plugin's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The limits of its calls.
    pub(super) const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What its calls used until now.
    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Runs one call in a store of its own, which it gives back; see [`fresh`].
    pub(super) async fn run<T, F>(&self, asker: Asker<'_>, call: impl FnOnce(Store<Call>) -> F) -> Ran<T>
    where
        F: Future<Output = (Store<Call>, wasmtime::Result<T>)>,
    {
        let key = match asker {
            Asker::Application(application) => application.as_str().into(),
            Asker::Itself => Arc::clone(&self.itself),
            Asker::Stranger => Arc::clone(&self.strangers),
        };
        // An unauthenticated caller could break a limit at will, and so suspend the plugin.
        let admitted = match (!matches!(asker, Asker::Stranger)).then(|| self.breakers.admit(&key)).transpose() {
            Ok(admitted) => admitted,
            Err(left) => {
                self.meter.turned_away();
                return Ran::not_begun(Fault::Suspended(left));
            }
        };
        let Some(place) = self.places.enter(&key, None) else { return self.turned_away() };
        let waiting = self.meter.waits();
        let has_place = tokio::time::timeout(self.limits.wait, place.turn()).await;
        drop(waiting);
        let (Ok(()), Some(turn)) = (has_place, self.turns.enter(&key, Some(self.engine.clone()))) else {
            return self.turned_away();
        };
        let own = Arc::new(OwnTime::default());
        let store = match self.store(Arc::clone(&own)) {
            Ok(store) => store,
            Err(error) => return Ran::not_begun(self.fault(&error, None)),
        };
        let (store, answer) = by_turns(&turn, &own, call(store)).await;
        drop(turn);
        let state = store.data();
        let usage = Usage {
            fuel: self.limits.fuel.saturating_sub(store.get_fuel().unwrap_or(0)),
            time: own.spans().total,
            waited: state.waited,
            memory: state.used_memory,
        };
        let result = answer.map_err(|error| self.fault(&error, state.last_words.as_deref()));
        self.meter.count(&usage, result.is_err());
        if admitted.is_some_and(|admitted| admitted.ended(result.as_ref().err())) {
            self.meter.suspended();
        }
        Ran { result, usage }
    }

    fn turned_away<T>(&self) -> Ran<T> {
        self.meter.turned_away();
        Ran::not_begun(Fault::Busy)
    }

    /// Whether the host may write one more line about this plugin into the log.
    pub(super) fn may_log(&self) -> bool {
        let allowed = self.host_lines.count(self.clock.now());
        say_suppressed(&self.name, allowed.suppressed);
        allowed.line
    }

    fn store(&self, own: Arc<OwnTime>) -> wasmtime::Result<Store<Call>> {
        let call = Call {
            plugin: Arc::clone(&self.name),
            memory: self.limits.memory_bytes,
            used_memory: 0,
            deadline: self.limits.deadline,
            own,
            waited: Duration::ZERO,
            limit: Arc::clone(&self.lines),
            clock: Arc::clone(&self.clock),
            outside: self.outside.clone(),
            requests: REQUESTS,
            lines: LOG_LINES,
            journal: self.journal.clone(),
            last_words: None,
        };
        let mut store = Store::new(&self.engine, call);
        store.limiter(|call| call);
        store.set_fuel(self.limits.fuel)?;
        store.set_hostcall_fuel(self.limits.output_bytes);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|mut store| {
            let call = store.data_mut();
            if call.own.processor() > call.deadline {
                return Err(Fault::Deadline(call.deadline).into());
            }
            Ok(UpdateDeadline::Yield(1))
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
            Some(_) if last_words.is_some_and(|words| words.contains(NO_TIME)) => Fault::NoClock,
            Some(trap) => Fault::Trap {
                trap: trap.to_string().trim_start_matches("wasm trap: ").to_owned(),
                last_words: last_words.map(str::to_owned),
            },
            // The engine has no type for it that could be compared.
            None if error.root_cause().to_string().contains(TOO_MUCH) => Fault::TooLarge(self.limits.output_bytes),
            None => Fault::Answer(one_line(&error.root_cause().to_string())),
        }
    }
}

/// How many calls of a plugin have an instance or wait for one. Claim mappers are called for applications, of which none has
/// more than half of the places, and each a queue of its own; calls of a channel are for all of them.
fn bounds(limits: &Limits, outside: &Outside) -> Bounds {
    let count = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
    let (all, each_waiting) = (count(limits.concurrency), count(limits.waiting));
    match outside {
        Outside::Closed => Bounds { all, each: all.div_ceil(2), each_waiting },
        Outside::Granted(_) | Outside::Scripted(_) => Bounds { all, each: all, each_waiting },
    }
}

/// Runs a call, one turn at a time.
async fn by_turns<F: Future>(turn: &Ticket<'_>, own: &OwnTime, call: F) -> F::Output {
    let mut call = pin!(call);
    let has_other_threads =
        Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    std::future::poll_fn(|context| {
        ready!(turn.poll(context));
        let is_long = own.spans().processor > SHORT;
        own.resume();
        let polled = if is_long && has_other_threads {
            // The other tasks of this thread may belong to sign-ins. They continue on another thread.
            tokio::task::block_in_place(|| call.as_mut().poll(context))
        } else {
            call.as_mut().poll(context)
        };
        own.pause();
        turn.end();
        polled
    })
    .await
}

/// How long a call's own code ran.
#[derive(Default)]
struct OwnTime(Mutex<Spans>);

#[derive(Clone, Copy, Default)]
struct Spans {
    /// The start of its run, and its thread's processor time at that moment.
    since: Option<(Instant, Duration)>,
    /// How long it ran before.
    total: Duration,
    /// Its processor time in earlier runs.
    processor: Duration,
}

impl OwnTime {
    fn resume(&self) {
        self.change(|spans| spans.since = Some((Instant::now(), thread_time())));
    }

    fn pause(&self) {
        self.change(|spans| {
            if let Some((since, before)) = spans.since.take() {
                spans.total += since.elapsed();
                spans.processor += thread_time().saturating_sub(before);
            }
        });
    }

    /// Its processor time until now. The caller must be on the thread that runs it.
    fn processor(&self) -> Duration {
        let Spans { since, processor, .. } = self.spans();
        since.map_or(processor, |(_, before)| processor + thread_time().saturating_sub(before))
    }

    fn spans(&self) -> Spans {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Spans)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The processor time of this thread.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn say_suppressed(plugin: &str, lines: u64) {
    if lines > 0 {
        tracing::warn!(plugin, lines, "log lines suppressed: the plugin may have {LINES_PER_SECOND} a second");
    }
}

/// The state of one call.
pub(super) struct Call {
    plugin: Arc<str>,
    memory: usize,
    /// Bytes of linear memory that it has.
    used_memory: usize,
    deadline: Duration,
    /// How long its code ran.
    own: Arc<OwnTime>,
    /// What it waited for the host.
    waited: Duration,
    clock: SharedClock,
    outside: Outside,
    /// Requests that it may still send.
    requests: u32,
    /// Lines that it may still write to the log.
    lines: u32,
    /// Lines that the plugin may have in the log.
    limit: Arc<LogLimit>,
    journal: Option<Arc<Journal>>,
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
        if let Some(journal) = &self.journal {
            let level = match level {
                log::Level::Debug => "debug",
                log::Level::Info => "info",
                log::Level::Warn => "warn",
                log::Level::Error => "error",
            };
            journal.add(level, &line);
        }
        let allowed = self.limit.count(self.clock.now());
        say_suppressed(plugin, allowed.suppressed);
        match level {
            _ if !allowed.line => {}
            log::Level::Debug => tracing::debug!(plugin, "{line}"),
            log::Level::Info => tracing::info!(plugin, "{line}"),
            log::Level::Warn => tracing::warn!(plugin, "{line}"),
            log::Level::Error => tracing::error!(plugin, "{line}"),
        }
        if matches!(level, log::Level::Error) {
            self.last_words = Some(line);
        }
        if !allowed.line {
            return;
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
        let failed = matches!(&sent, Err(http::Error::Refused(_) | http::Error::Unreachable(_)));
        let allowed = failed.then(|| self.limit.count(self.clock.now()));
        say_suppressed(plugin, allowed.as_ref().map_or(0, |allowed| allowed.suppressed));
        match &sent {
            _ if !allowed.is_some_and(|allowed| allowed.line) => {}
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
            own: Arc::default(),
            limit: Arc::default(),
            waited: Duration::ZERO,
            clock: Arc::new(crate::clock::SystemClock),
            outside: Outside::Closed,
            requests: 0,
            lines: 0,
            journal: None,
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
