//! One call of a plugin, in its sandbox.
//!
//! The code runs on a fiber, so a wait for the host blocks no thread. A thread of the engine ticks every ten
//! milliseconds. At each tick running code yields to the other tasks of its thread. The call fails when its code has
//! used more processor time than its deadline. Only the time of the plugin's own code counts. Waits for the host and a
//! busy machine do not count.
//!
//! While its own code runs, a call holds one of the few turns that all plugins share (see `turns`). Each application
//! has its share of the turns and of the plugin's places, and a breaker of its own.

mod host_functions;
mod limiter;
mod own_time;
pub(crate) mod state;

use std::pin::pin;
use std::sync::Arc;
use std::task::ready;
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};
use tracing::Instrument;
use tracing::field::Empty;
use wasmtime::{Engine, Store, Trap, UpdateDeadline};

use crate::breaker::Breakers;
use crate::fault::Fault;
use crate::log_limit::LogLimit;
use crate::log_line::{Journal, one_line, say_suppressed};
use crate::meter::Meter;
use crate::spec::CallLimits;
use crate::turns::{Ticket, TurnBounds, Turns};
use crate::usage::{CallResult, Usage};
use assent_model::clock::SharedClock;
use assent_model::id::Did;
use assent_telemetry::{SPANS, field};
use own_time::OwnTime;
use state::{CallState, EgressMode, LOG_LINES, REQUESTS};

/// The message of a Rust plugin before it traps because it requested the time.
const NO_TIME: &str = "time not implemented on this platform";

/// The engine's error for a call that passed more data than the limit.
const TOO_MUCH: &str = "fuel allocated for hostcalls has been exhausted";

/// The running time after which a call counts as long. Other tasks of its thread then move to another thread.
const SHORT: Duration = Duration::from_millis(2);

/// The origin of a plugin call.
pub(crate) enum CallOrigin<'a> {
    /// An application.
    Application(&'a Did),
    /// The plugin itself, or all applications together.
    Itself,
    /// An unauthenticated caller, who must not be able to suspend the plugin for others.
    Stranger,
}

/// Calls a function of a component in a fresh instance: `fresh!(runner, component, interface.function, arguments...)`.
/// The origin of the call is the plugin itself.
macro_rules! fresh {
    ($runner:expr, $($rest:tt)*) => {
        $crate::call::fresh_for!($runner, $crate::call::CallOrigin::Itself, $($rest)*)
    };
}
pub(crate) use fresh;

/// Like [`fresh`], with another origin of the call:
/// `fresh_for!(runner, origin, component, interface.function, arguments...)`.
macro_rules! fresh_for {
    ($runner:expr, $asker:expr, $component:expr, $interface:ident . $function:ident $(, $argument:expr)*) => {{
        let call = async |mut store: wasmtime::Store<$crate::call::state::CallState>| {
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
pub(crate) use fresh_for;

/// The common state of a plugin's calls: its name, its limits, its pool, and its access to the network.
pub(crate) struct Runner {
    engine: Engine,
    name: Arc<str>,
    limits: CallLimits,
    clock: SharedClock,
    outside: EgressMode,
    meter: Arc<Meter>,
    /// The key of the plugin itself as a caller.
    itself: Arc<str>,
    /// The common key of all unauthenticated callers, so that they delay the plugin's own calls by one turn at most.
    strangers: Arc<str>,
    /// The places: one for each call that has an instance.
    places: Turns,
    /// The turns of all plugins. A call holds one while its code runs.
    turns: Arc<Turns>,
    breakers: Breakers,
    lines: Arc<LogLimit>,
    /// The rate limit of the host's own log lines about the plugin.
    host_lines: LogLimit,
    journal: Option<Arc<Journal>>,
}

impl Runner {
    pub(crate) fn new(
        engine: Engine,
        name: &str,
        limits: CallLimits,
        clock: SharedClock,
        outside: EgressMode,
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

    /// Returns the runner with a journal that records the log lines of its calls.
    pub(crate) fn with_journal(self, journal: Option<Arc<Journal>>) -> Self {
        Self { journal, ..self }
    }

    /// Returns a runner of the same plugin with metrics of its own, so that its calls do not count. The error is the
    /// end of a sentence about the plugin.
    pub(crate) fn without_metrics(&self) -> Result<Self, String> {
        let (engine, clock, outside) = (
            self.engine.clone(),
            Arc::clone(&self.clock),
            self.outside.clone(),
        );
        let turns = Arc::clone(&self.turns);
        Ok(Self::new(
            engine,
            &self.name,
            self.limits,
            clock,
            outside,
            Arc::new(Meter::new()),
            turns,
        ))
    }

    /// Returns the plugin's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) const fn limits(&self) -> &CallLimits {
        &self.limits
    }

    /// Returns the metrics of the plugin's calls.
    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Runs one call in a store of its own, which the call returns at its end; see [`fresh`].
    pub(crate) async fn run<T, F>(
        &self,
        asker: CallOrigin<'_>,
        call: impl FnOnce(Store<CallState>) -> F,
    ) -> CallResult<T>
    where
        F: Future<Output = (Store<CallState>, wasmtime::Result<T>)>,
    {
        let key = match asker {
            CallOrigin::Application(application) => application.as_str().into(),
            CallOrigin::Itself => Arc::clone(&self.itself),
            CallOrigin::Stranger => Arc::clone(&self.strangers),
        };
        // The breaker ignores unauthenticated callers. They could exceed a limit at will, and so suspend the plugin.
        let admitted = match (!matches!(asker, CallOrigin::Stranger))
            .then(|| self.breakers.admit(&key))
            .transpose()
        {
            Ok(admitted) => admitted,
            Err(left) => {
                self.meter.count_rejection();
                return CallResult::not_begun(Fault::Suspended(left));
            }
        };
        let Some(place) = self.places.enter(&key, None) else {
            return self.reject_call();
        };
        let waiting = self.meter.waits();
        // One deadline applies to both queues: for a place of the plugin, and for the first turn of its code.
        let begin = async {
            place.turn().await;
            let turn = self.turns.enter(&key, Some(self.engine.clone()))?;
            turn.turn().await;
            Some(turn)
        };
        let begun = tokio::time::timeout(self.limits.wait, begin).await;
        drop(waiting);
        let Ok(Some(turn)) = begun else {
            return self.reject_call();
        };
        let plugin = self.name();
        let span =
            tracing::info_span!(target: SPANS, "plugin.call", plugin, fuel = Empty, failed = Empty);
        let own = Arc::new(OwnTime::default());
        let store = match self.store(Arc::clone(&own)) {
            Ok(store) => store,
            Err(error) => return CallResult::not_begun(self.fault(&error, None)),
        };
        let (store, answer) = by_turns(&turn, &own, call(store))
            .instrument(span.clone())
            .await;
        drop(turn);
        let state = store.data();
        let usage = Usage {
            fuel: self
                .limits
                .fuel
                .saturating_sub(store.get_fuel().unwrap_or(0)),
            time: own.spans().total,
            waited: state.waited,
            memory: state.used_memory,
        };
        let result = answer.map_err(|error| self.fault(&error, state.last_words.as_deref()));
        self.meter.count(&usage, result.is_err());
        span.record("fuel", field(usage.fuel))
            .record("failed", result.is_err());
        if admitted.is_some_and(|admitted| admitted.record_end(result.as_ref().err())) {
            self.meter.count_suspension();
        }
        CallResult { result, usage }
    }

    fn reject_call<T>(&self) -> CallResult<T> {
        self.meter.count_rejection();
        CallResult::not_begun(Fault::Busy)
    }

    /// Returns whether the rate limit permits one more log line of the host about this plugin.
    pub(crate) fn may_log(&self) -> bool {
        let allowed = self.host_lines.count(self.clock.now());
        say_suppressed(&self.name, allowed.suppressed);
        allowed.line
    }

    fn store(&self, own: Arc<OwnTime>) -> wasmtime::Result<Store<CallState>> {
        let call = CallState {
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

    /// Translates an error of the engine to a fault. `last_words` is the plugin's latest log line at level `error`.
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
                trap: trap
                    .to_string()
                    .trim_start_matches("wasm trap: ")
                    .to_owned(),
                last_words: last_words.map(str::to_owned),
            },
            // The engine has no type of its own for this error.
            None if error.root_cause().to_string().contains(TOO_MUCH) => {
                Fault::TooLarge(self.limits.output_bytes)
            }
            None => Fault::Answer(one_line(&error.root_cause().to_string())),
        }
    }
}

/// Returns how many calls of a plugin may have an instance or wait for one. Each application has at most half of a
/// claim mapper's places and a queue of its own. The calls of a channel serve all applications, so they share one
/// queue.
fn bounds(limits: &CallLimits, outside: &EgressMode) -> TurnBounds {
    let count = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
    let (all, each_waiting) = (count(limits.concurrency), count(limits.queue_length));
    match outside {
        EgressMode::Closed => TurnBounds {
            all,
            each: all.div_ceil(2),
            each_waiting,
        },
        EgressMode::Granted(_) | EgressMode::Scripted(_) => TurnBounds {
            all,
            each: all,
            each_waiting,
        },
    }
}

/// Runs a call, one turn at a time.
async fn by_turns<F: Future>(turn: &Ticket<'_>, own: &OwnTime, call: F) -> F::Output {
    let mut call = pin!(call);
    let has_other_threads = Handle::try_current()
        .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    std::future::poll_fn(|context| {
        ready!(turn.poll(context));
        let is_long = own.spans().total > SHORT;
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
