//! A fair queue: which calls go on now, and in which order the others follow.
//!
//! It serves two purposes. Each plugin has places, one for each instance that it may have at a time. All plugins together
//! have turns, one for each processor that plugin code may keep busy; a call holds a turn only while its own code runs.
//! Both go round by asker, usually the application: an application with many calls delays another one by one turn, however
//! many calls it makes.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use wasmtime::Engine;

/// How long a turn waits for the call that it was given to. A task that does not take it has other work.
const UNTAKEN: Duration = Duration::from_millis(50);
/// For how many askers it is remembered when they had a turn last.
const REMEMBERED: usize = 4_096;

/// How many calls go on at a time, and how many wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Calls that go on at a time.
    pub(super) all: usize,
    /// Those of one asker among them.
    pub(super) each: usize,
    /// Calls of one asker that wait.
    pub(super) each_waiting: usize,
}

/// A fair queue.
pub(super) struct Turns {
    bounds: Bounds,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    next: u64,
    /// Calls that go on, or were told to.
    held: Vec<Held>,
    /// Calls that wait, by their askers, the earliest call first.
    lines: HashMap<Arc<str>, BTreeMap<u64, Waker>>,
    /// When each asker had a turn last, as a number that grows. Who had none for the longest time is next.
    served: HashMap<Arc<str>, u64>,
    /// How many tickets each asker has.
    tickets: HashMap<Arc<str>, usize>,
}

/// A turn that a call has.
struct Held {
    ticket: u64,
    asker: Arc<str>,
    /// What runs its code, where that can be interrupted for another asker.
    engine: Option<Engine>,
    /// When it was given to a call that has not taken it yet.
    untaken: Option<(Instant, Waker)>,
}

/// A call in the queue. When it is dropped, it gives up its turn or its wait.
pub(super) struct Ticket<'a> {
    turns: &'a Turns,
    number: u64,
    asker: Arc<str>,
    engine: Option<Engine>,
}

impl Turns {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self { bounds, queue: Mutex::default() }
    }

    /// Turns for plugin code: one processor less than there are, so that one is left for all other work; at least one.
    pub(super) fn of_processors() -> Self {
        let all = std::thread::available_parallelism().map_or(1, NonZero::get).saturating_sub(1).max(1);
        Self::new(Bounds { all, each: all, each_waiting: usize::MAX })
    }

    /// Lets a call in; `None` if too many calls of this asker are in already. With an `engine`, its code is interrupted when another asker
    /// waits.
    pub(super) fn enter(&self, asker: &Arc<str>, engine: Option<Engine>) -> Option<Ticket<'_>> {
        let Bounds { each, each_waiting, .. } = self.bounds;
        let mut queue = self.queue();
        let own = queue.tickets.get(asker).copied().unwrap_or(0);
        if own >= each.saturating_add(each_waiting) {
            return None;
        }
        queue.tickets.insert(Arc::clone(asker), own + 1);
        let number = queue.next;
        queue.next += 1;
        Some(Ticket { turns: self, number, asker: Arc::clone(asker), engine })
    }

    /// Takes turns back from calls that did not take them in time, and gives them to others.
    pub(super) fn reclaim(&self) {
        let woken = {
            let mut queue = self.queue();
            let is_late = |held: &Held| held.untaken.as_ref().is_some_and(|(since, _)| since.elapsed() > UNTAKEN);
            let (late, held): (Vec<Held>, Vec<Held>) = std::mem::take(&mut queue.held).into_iter().partition(is_late);
            queue.held = held;
            for Held { ticket, asker, untaken, .. } in late {
                if let Some((_, waker)) = untaken {
                    queue.wait(&asker, ticket, waker);
                }
            }
            queue.give(&self.bounds)
        };
        woken.into_iter().for_each(Waker::wake);
    }

    /// A thread that panicked left a queue that is whole: no caller's code runs inside.
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn held_by(&self, asker: &Arc<str>) -> usize {
        self.held.iter().filter(|held| held.asker == *asker).count()
    }

    fn wait(&mut self, asker: &Arc<str>, ticket: u64, waker: Waker) {
        self.lines.entry(Arc::clone(asker)).or_default().insert(ticket, waker);
    }

    /// Notes that an asker has a turn now.
    fn serve(&mut self, asker: &Arc<str>) {
        if self.served.len() >= REMEMBERED {
            self.served.clear();
        }
        let number = self.next;
        self.next += 1;
        self.served.insert(Arc::clone(asker), number);
    }

    fn leave(&mut self, asker: &Arc<str>, ticket: u64) {
        self.held.retain(|held| held.ticket != ticket);
        let Some(line) = self.lines.get_mut(asker) else { return };
        line.remove(&ticket);
        if line.is_empty() {
            self.lines.remove(asker);
        }
    }

    /// Gives what is free to those whose turn it is, who have to be woken.
    fn give(&mut self, bounds: &Bounds) -> Vec<Waker> {
        let mut woken = Vec::new();
        while self.held.len() < bounds.all {
            let waiting = self.lines.iter().filter(|(asker, _)| self.held_by(asker) < bounds.each);
            let next = waiting.min_by_key(|(asker, line)| (self.served.get(*asker), line.keys().next()));
            let Some(asker) = next.map(|(asker, _)| Arc::clone(asker)) else { break };
            let Some((ticket, waker)) = self.lines.get_mut(&asker).and_then(BTreeMap::pop_first) else { break };
            if self.lines.get(&asker).is_some_and(BTreeMap::is_empty) {
                self.lines.remove(&asker);
            }
            self.serve(&asker);
            woken.push(waker.clone());
            self.held.push(Held { ticket, asker, engine: None, untaken: Some((Instant::now(), waker)) });
        }
        woken
    }

    /// What runs code of an asker that has more turns than this one, and could make room for it.
    fn in_the_way_of(&self, asker: &Arc<str>) -> Option<Engine> {
        let own = self.held_by(asker);
        let running = self.held.iter().filter(|held| held.untaken.is_none() && held.asker != *asker);
        running.filter(|held| self.held_by(&held.asker) > own).find_map(|held| held.engine.clone())
    }
}

impl Ticket<'_> {
    /// Whether it is the call's turn. It keeps the turn until [`end`](Self::end), or until it is dropped.
    pub(super) fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        let interrupted = {
            let mut queue = self.turns.queue();
            if let Some(held) = queue.held.iter_mut().find(|held| held.ticket == self.number) {
                (held.untaken, held.engine) = (None, self.engine.clone());
                return Poll::Ready(());
            }
            // Whatever is free was given to those who wait, so nobody is overtaken here but where they have their share.
            let Bounds { all, each, .. } = self.turns.bounds;
            if queue.held.len() < all && queue.held_by(&self.asker) < each {
                let asker = Arc::clone(&self.asker);
                let engine = self.engine.clone();
                queue.serve(&asker);
                queue.held.push(Held { ticket: self.number, asker, engine, untaken: None });
                return Poll::Ready(());
            }
            queue.wait(&self.asker, self.number, context.waker().clone());
            queue.in_the_way_of(&self.asker)
        };
        if let Some(engine) = interrupted {
            engine.increment_epoch();
        }
        Poll::Pending
    }

    /// Returns once it is the call's turn.
    pub(super) async fn turn(&self) {
        std::future::poll_fn(|context| self.poll(context)).await;
    }

    /// Ends the turn. The call may ask for another one.
    pub(super) fn end(&self) {
        let woken = {
            let mut queue = self.turns.queue();
            queue.leave(&self.asker, self.number);
            queue.give(&self.turns.bounds)
        };
        woken.into_iter().for_each(Waker::wake);
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        {
            let mut queue = self.turns.queue();
            if let Some(count) = queue.tickets.get_mut(&self.asker) {
                *count -= 1;
                if *count == 0 {
                    queue.tickets.remove(&self.asker);
                }
            }
        }
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(all: usize, each: usize) -> Turns {
        Turns::new(Bounds { all, each, each_waiting: 2 })
    }

    fn asker(name: &str) -> Arc<str> {
        name.into()
    }

    fn has_turn(ticket: &Ticket<'_>) -> bool {
        ticket.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn an_application_with_many_calls_delays_another_by_one_turn() {
        let turns = Turns::new(Bounds { all: 1, each: 1, each_waiting: 100 });
        let (a, b) = (asker("a"), asker("b"));
        let many: Vec<_> = (0..50).map(|_| turns.enter(&a, None).expect("room")).collect();
        assert_eq!(many.iter().filter(|ticket| has_turn(ticket)).count(), 1, "one runs, the others wait");
        let other = turns.enter(&b, None).expect("room");
        assert!(!has_turn(&other));
        many[0].end();
        assert!(has_turn(&other), "it waited for one turn, and not for 49");
        assert!(!has_turn(&many[0]));
        other.end();
        assert!(has_turn(&many[0]), "then the first again, whose earliest call goes on");
    }

    #[test]
    fn an_application_has_no_more_than_its_share() {
        let turns = turns(4, 2);
        let (a, b) = (asker("a"), asker("b"));
        let held: Vec<_> = (0..4).map(|_| turns.enter(&a, None).expect("room")).collect();
        assert_eq!(held.iter().filter(|ticket| has_turn(ticket)).count(), 2, "its share goes on");
        assert!(turns.enter(&a, None).is_none(), "and two wait");
        let other = turns.enter(&b, None).expect("room for another");
        assert!(has_turn(&other), "the other share is free");
        drop(held);
        let again = turns.enter(&a, None).expect("room again");
        assert!(has_turn(&again));
    }

    #[test]
    fn a_call_that_is_given_up_keeps_nothing() {
        let turns = turns(1, 1);
        let a = asker("a");
        let runs = turns.enter(&a, None).expect("room");
        let waits = turns.enter(&a, None).expect("room");
        let last = turns.enter(&a, None).expect("room");
        assert!(has_turn(&runs) && !has_turn(&waits) && !has_turn(&last));
        drop(waits);
        drop(runs);
        assert!(has_turn(&last));
        drop(last);
        let queue = turns.queue();
        assert!(queue.held.is_empty() && queue.lines.is_empty() && queue.tickets.is_empty());
    }

    #[test]
    fn a_turn_that_is_not_taken_goes_to_another() {
        let turns = turns(1, 1);
        let [neglected, other, runs] = ["a", "b", "c"].map(|name| turns.enter(&asker(name), None).expect("room"));
        assert!(has_turn(&runs) && !has_turn(&neglected) && !has_turn(&other));
        runs.end();
        turns.reclaim();
        assert!(!has_turn(&other), "the turn is still kept for the first");
        for held in &mut turns.queue().held {
            if let Some((since, _)) = &mut held.untaken {
                *since = since.checked_sub(2 * UNTAKEN).expect("a moment ago");
            }
        }
        turns.reclaim();
        assert!(has_turn(&other), "its task had other work");
        other.end();
        assert!(has_turn(&neglected), "and comes later");
    }
}
