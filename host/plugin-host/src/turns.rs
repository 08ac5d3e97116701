//! A fair queue. It decides which calls run now, and the order of the others.
//!
//! It has two uses. Each plugin has places, one for each concurrent instance. All plugins together have turns, one for
//! each processor that plugin code may use. A call holds a turn only while its own code runs.
//!
//! The caller (`asker` in the code) is usually an application. The caller that used the least time is next. So an
//! application with many or long calls delays another one by at most one turn. If its code can be interrupted, the
//! delay is shorter.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZero;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use wasmtime::Engine;

/// The time for which an assigned turn waits for its call. A task that does not take it is busy with other work.
const UNTAKEN: Duration = Duration::from_millis(50);

/// The advantage of a new caller over the present ones.
const HEAD_START: Duration = Duration::from_micros(1);

/// The longest advantage of a caller that had no turn recently.
const SAVED: Duration = Duration::from_millis(100);

/// The limits of concurrent and waiting calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnBounds {
    /// The concurrent calls of all callers.
    pub(super) all: usize,
    /// The concurrent calls of one caller.
    pub(super) each: usize,
    /// The waiting calls of one caller.
    pub(super) each_waiting: usize,
}

/// A fair queue.
pub(super) struct Turns {
    bounds: TurnBounds,
    queue: Mutex<Queue>,
    /// The clocks of the engines sleep here while no call runs or waits.
    busy: Condvar,
}

#[derive(Default)]
struct Queue {
    next: u64,
    /// The number of sleeping clocks.
    sleeping: usize,
    /// The running calls, and the calls with an assigned turn.
    held: Vec<HeldTurn>,
    /// The waiting calls by caller, in the order of their arrival.
    lines: HashMap<Arc<str>, BTreeMap<u64, Waker>>,
    /// The callers with a ticket, and former callers that used more time than a caller with a ticket.
    askers: HashMap<Arc<str>, CallerShare>,
    /// The used time of the caller with the latest turn. A new caller starts with this value, because it has no
    /// advantage.
    clock: Duration,
}

/// The use of an application or plugin that has tickets, or had them a moment ago.
struct CallerShare {
    tickets: usize,
    /// The time for which its calls held turns. The count starts at the value of `clock` at its arrival.
    used: Duration,
}

/// The turn of a call.
struct HeldTurn {
    ticket: u64,
    asker: Arc<str>,
    /// The engine of its code, if other callers can interrupt it.
    engine: Option<Engine>,
    /// The time at which the call received the turn.
    since: Instant,
    /// The waker of the call, until it takes the turn.
    untaken: Option<Waker>,
}

/// A call in the queue. Dropping it releases its turn or ends its wait.
pub(super) struct Ticket<'a> {
    turns: &'a Turns,
    number: u64,
    asker: Arc<str>,
    engine: Option<Engine>,
}

impl Turns {
    pub(super) fn new(bounds: TurnBounds) -> Self {
        Self {
            bounds,
            queue: Mutex::default(),
            busy: Condvar::new(),
        }
    }

    /// Returns the turns for plugin code: one less than the processors, so that one is free for all other work. At
    /// least one.
    pub(super) fn of_processors() -> Self {
        let all = std::thread::available_parallelism()
            .map_or(1, NonZero::get)
            .saturating_sub(1)
            .max(1);
        Self::new(TurnBounds {
            all,
            each: all,
            each_waiting: usize::MAX,
        })
    }

    /// Adds a call to the queue. `None` if this caller has too many calls there. With an `engine`, the code of the call
    /// is interrupted when another caller waits.
    pub(super) fn enter(&self, asker: &Arc<str>, engine: Option<Engine>) -> Option<Ticket<'_>> {
        let TurnBounds {
            each, each_waiting, ..
        } = self.bounds;
        let mut queue = self.queue();
        let used = queue.clock.saturating_sub(HEAD_START);
        let own = queue
            .askers
            .entry(Arc::clone(asker))
            .or_insert(CallerShare { tickets: 0, used });
        if own.tickets == 0 {
            own.used = own.used.max(used);
        }
        if own.tickets >= each.saturating_add(each_waiting) {
            return None;
        }
        own.tickets += 1;
        let number = queue.next;
        queue.next += 1;
        Some(Ticket {
            turns: self,
            number,
            asker: Arc::clone(asker),
            engine,
        })
    }

    /// Sleeps while no call runs or waits, for `longest` at most.
    pub(super) fn sleep_while_idle(&self, longest: Duration) {
        let mut queue = self.queue();
        if !queue.is_idle() {
            return;
        }
        queue.sleeping += 1;
        let (mut queue, _) = self
            .busy
            .wait_timeout_while(queue, longest, |queue| queue.is_idle())
            .unwrap_or_else(PoisonError::into_inner);
        queue.sleeping -= 1;
    }

    /// Reclaims turns from calls that did not take them in time, and assigns them to others.
    pub(super) fn reclaim(&self) {
        let woken = {
            let mut queue = self.queue();
            let is_late =
                |held: &HeldTurn| held.untaken.is_some() && held.since.elapsed() > UNTAKEN;
            let (late, held): (Vec<HeldTurn>, Vec<HeldTurn>) = std::mem::take(&mut queue.held)
                .into_iter()
                .partition(is_late);
            queue.held = held;
            for HeldTurn {
                ticket,
                asker,
                untaken,
                ..
            } in late
            {
                if let Some(waker) = untaken {
                    // The call blocked the turn for others, so they are first now.
                    if let Some(asker) = queue.askers.get_mut(&asker) {
                        asker.used += UNTAKEN;
                    }
                    queue.wait(&asker, ticket, waker);
                }
            }
            queue.grant_turns(&self.bounds)
        };
        woken.into_iter().for_each(Waker::wake);
    }

    /// Locks the queue. It is consistent even after a panic of another thread, because no code of callers runs under
    /// the lock.
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn is_idle(&self) -> bool {
        self.held.is_empty() && self.lines.is_empty()
    }

    fn wake_clocks(&self, busy: &Condvar) {
        if self.sleeping > 0 {
            busy.notify_all();
        }
    }

    fn held_by(&self, asker: &Arc<str>) -> usize {
        self.held.iter().filter(|held| held.asker == *asker).count()
    }

    fn wait(&mut self, asker: &Arc<str>, ticket: u64, waker: Waker) {
        // A call that waited long for something else has this advantage at most.
        let least = self.clock.saturating_sub(SAVED);
        if let Some(own) = self.askers.get_mut(asker) {
            own.used = own.used.max(least);
        }
        self.lines
            .entry(Arc::clone(asker))
            .or_default()
            .insert(ticket, waker);
    }

    /// Returns the time for which a caller's calls held turns, with the turns that they hold now.
    fn time_used(&self, asker: &Arc<str>) -> Duration {
        let before = self
            .askers
            .get(asker)
            .map_or(self.clock, |asker| asker.used);
        let now = self
            .held
            .iter()
            .filter(|held| held.untaken.is_none() && held.asker == *asker);
        before + now.map(|held| held.since.elapsed()).sum::<Duration>()
    }

    /// Returns whether a call that waits for a turn belongs to a caller that used less time than this one.
    fn is_overtaken(&self, asker: &Arc<str>, bounds: &TurnBounds) -> bool {
        let own = self.time_used(asker);
        let others = self
            .lines
            .keys()
            .filter(|other| *other != asker && self.held_by(other) < bounds.each);
        others.into_iter().any(|other| self.time_used(other) < own)
    }

    /// Removes the callers without a ticket that used no more time than others. Their use no longer affects the order.
    fn drop_idle_shares(&mut self) {
        if self.askers.values().all(|asker| asker.tickets == 0) {
            self.clock = self
                .askers
                .values()
                .map(|asker| asker.used)
                .fold(self.clock, Duration::max);
            self.askers.clear();
        } else {
            let clock = self.clock;
            self.askers
                .retain(|_, asker| asker.tickets > 0 || asker.used > clock);
        }
    }

    fn leave(&mut self, asker: &Arc<str>, ticket: u64) {
        let left = self
            .held
            .iter()
            .position(|held| held.ticket == ticket)
            .map(|at| self.held.swap_remove(at));
        if let Some(held) = left.filter(|held| held.untaken.is_none())
            && let Some(asker) = self.askers.get_mut(asker)
        {
            asker.used += held.since.elapsed().max(Duration::from_nanos(1));
        }
        let Some(line) = self.lines.get_mut(asker) else {
            return;
        };
        line.remove(&ticket);
        if line.is_empty() {
            self.lines.remove(asker);
        }
    }

    /// Assigns free turns to the next calls. Returns their wakers, which the caller of this function must wake.
    fn grant_turns(&mut self, bounds: &TurnBounds) -> Vec<Waker> {
        let mut woken = Vec::new();
        while self.held.len() < bounds.all {
            let waiting = self
                .lines
                .iter()
                .filter(|(asker, _)| self.held_by(asker) < bounds.each);
            let next = waiting
                .min_by_key(|(asker, line)| (self.time_used(asker), line.keys().next().copied()));
            let Some(asker) = next.map(|(asker, _)| Arc::clone(asker)) else {
                break;
            };
            let Some((ticket, waker)) = self.lines.get_mut(&asker).and_then(BTreeMap::pop_first)
            else {
                break;
            };
            if self.lines.get(&asker).is_some_and(BTreeMap::is_empty) {
                self.lines.remove(&asker);
            }
            self.clock = self.clock.max(self.time_used(&asker));
            woken.push(waker.clone());
            self.held.push(HeldTurn {
                ticket,
                asker,
                engine: None,
                since: Instant::now(),
                untaken: Some(waker),
            });
        }
        woken
    }

    /// Returns the engine of a caller that used more time than this one, if its interruption frees a turn.
    fn in_the_way_of(&self, asker: &Arc<str>) -> Option<Engine> {
        let own = self.time_used(asker);
        let running = self
            .held
            .iter()
            .filter(|held| held.untaken.is_none() && held.asker != *asker);
        running
            .filter(|held| self.time_used(&held.asker) > own)
            .find_map(|held| held.engine.clone())
    }
}

impl Ticket<'_> {
    /// Returns `Ready` when the call has its turn. The call keeps the turn until [`end`](Self::end), or until it is
    /// dropped.
    pub(super) fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        let (woken, in_the_way) = {
            let mut queue = self.turns.queue();
            let bounds = self.turns.bounds;
            if let Some(at) = queue
                .held
                .iter()
                .position(|held| held.ticket == self.number)
            {
                // A call with precedence may have arrived after the assignment.
                let is_overtaken = queue
                    .held
                    .get(at)
                    .is_some_and(|held| held.untaken.is_some())
                    && queue.is_overtaken(&self.asker, &bounds);
                if !is_overtaken {
                    if let Some(held) = queue.held.get_mut(at)
                        && held.untaken.take().is_some()
                    {
                        (held.since, held.engine) = (Instant::now(), self.engine.clone());
                    }
                    return Poll::Ready(());
                }
                queue.held.swap_remove(at);
            }
            // Waiting calls already received the free turns. So this call overtakes only calls whose callers are at
            // their limit.
            else if queue.held.len() < bounds.all && queue.held_by(&self.asker) < bounds.each {
                let (asker, engine) = (Arc::clone(&self.asker), self.engine.clone());
                queue.clock = queue.clock.max(queue.time_used(&asker));
                queue.held.push(HeldTurn {
                    ticket: self.number,
                    asker,
                    engine,
                    since: Instant::now(),
                    untaken: None,
                });
                queue.wake_clocks(&self.turns.busy);
                return Poll::Ready(());
            }
            queue.wait(&self.asker, self.number, context.waker().clone());
            queue.wake_clocks(&self.turns.busy);
            (queue.grant_turns(&bounds), queue.in_the_way_of(&self.asker))
        };
        woken.into_iter().for_each(Waker::wake);
        if let Some(engine) = in_the_way {
            engine.increment_epoch();
        }
        Poll::Pending
    }

    /// Waits for the turn of the call.
    pub(super) async fn turn(&self) {
        std::future::poll_fn(|context| self.poll(context)).await;
    }

    /// Ends the turn. The call may request another one.
    pub(super) fn end(&self) {
        let woken = {
            let mut queue = self.turns.queue();
            queue.leave(&self.asker, self.number);
            queue.grant_turns(&self.turns.bounds)
        };
        woken.into_iter().for_each(Waker::wake);
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let woken = {
            let mut queue = self.turns.queue();
            queue.leave(&self.asker, self.number);
            if let Some(asker) = queue.askers.get_mut(&self.asker) {
                asker.tickets -= 1;
            }
            queue.drop_idle_shares();
            queue.grant_turns(&self.turns.bounds)
        };
        woken.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests;
