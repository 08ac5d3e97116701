use super::*;

fn turns(all: usize, each: usize) -> Turns {
    Turns::new(TurnBounds {
        all,
        each,
        each_waiting: 2,
    })
}

fn asker(name: &str) -> Arc<str> {
    name.into()
}

fn has_turn(ticket: &Ticket<'_>) -> bool {
    ticket
        .poll(&mut Context::from_waker(Waker::noop()))
        .is_ready()
}

#[test]
fn an_application_with_many_calls_delays_another_by_one_turn() {
    let turns = Turns::new(TurnBounds {
        all: 1,
        each: 1,
        each_waiting: 100,
    });
    let (a, b) = (asker("a"), asker("b"));
    let many: Vec<_> = (0..50)
        .map(|_| turns.enter(&a, None).expect("room"))
        .collect();
    assert_eq!(
        many.iter().filter(|ticket| has_turn(ticket)).count(),
        1,
        "one call runs, the others wait"
    );
    let other = turns.enter(&b, None).expect("room");
    assert!(!has_turn(&other));
    many[0].end();
    assert!(
        has_turn(&other),
        "the call waited for one turn, and not for 49"
    );
    assert!(!has_turn(&many[0]));
    other.end();
    assert!(
        has_turn(&many[0]),
        "then the first application has a turn, with its earliest call"
    );
}

#[test]
fn an_unstarted_call_yields_to_an_application_that_used_less() {
    let turns = Turns::new(TurnBounds {
        all: 1,
        each: 1,
        each_waiting: 100,
    });
    let (long, short) = (asker("long"), asker("short"));
    let calls: Vec<_> = (0..2)
        .map(|_| turns.enter(&long, None).expect("room"))
        .collect();
    assert!(has_turn(&calls[0]) && !has_turn(&calls[1]));
    turns.queue().askers.get_mut(&long).expect("an asker").used += UNTAKEN;
    calls[0].end();
    // The second call has an assigned turn and has not taken it yet.
    let other = turns.enter(&short, None).expect("room");
    assert!(!has_turn(&other));
    assert!(
        !has_turn(&calls[1]),
        "the other application used nothing yet"
    );
    assert!(has_turn(&other));
    other.end();
    assert!(has_turn(&calls[1]));
}

#[test]
fn repeated_calls_of_some_applications_do_not_starve_another() {
    let turns = Turns::new(TurnBounds {
        all: 1,
        each: 1,
        each_waiting: 100,
    });
    let run = |ticket: &Ticket<'_>| {
        turns
            .queue()
            .askers
            .get_mut(&ticket.asker)
            .expect("an asker")
            .used += Duration::from_millis(5);
        ticket.end();
    };
    let patient = turns.enter(&asker("patient"), None).expect("room");
    assert!(has_turn(&patient));
    run(&patient);
    // Each of the others takes its turn, ends, and enters again while `other` waits.
    let mut others = std::collections::VecDeque::from(
        ["a", "b"].map(|name| turns.enter(&asker(name), None).expect("room")),
    );
    let mut rounds = 0;
    while !has_turn(&patient) {
        rounds += 1;
        assert!(rounds < 6, "the call waits forever");
        others.iter().for_each(|other| _ = has_turn(other));
        let at = others
            .iter()
            .position(has_turn)
            .expect("one call has the turn");
        let gone = others.remove(at).expect("the position exists");
        run(&gone);
        let name = Arc::clone(&gone.asker);
        drop(gone);
        others.push_back(turns.enter(&name, None).expect("room"));
    }
}

#[test]
fn an_application_has_no_more_than_its_share() {
    let turns = turns(4, 2);
    let (a, b) = (asker("a"), asker("b"));
    let held: Vec<_> = (0..4)
        .map(|_| turns.enter(&a, None).expect("room"))
        .collect();
    assert_eq!(
        held.iter().filter(|ticket| has_turn(ticket)).count(),
        2,
        "the share of the application runs"
    );
    assert!(turns.enter(&a, None).is_none(), "and two wait");
    let other = turns.enter(&b, None).expect("room for another");
    assert!(has_turn(&other), "the other share is free");
    drop(held);
    let again = turns.enter(&a, None).expect("room again");
    assert!(has_turn(&again));
}

#[test]
fn an_abandoned_call_leaves_no_state() {
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
    assert!(queue.held.is_empty() && queue.lines.is_empty() && queue.askers.is_empty());
}

#[test]
fn an_unused_turn_passes_to_another_application() {
    let turns = turns(1, 1);
    let [neglected, other, runs] =
        ["a", "b", "c"].map(|name| turns.enter(&asker(name), None).expect("room"));
    assert!(has_turn(&runs) && !has_turn(&neglected) && !has_turn(&other));
    runs.end();
    turns.reclaim();
    assert!(
        !has_turn(&other),
        "the turn is still reserved for the first application"
    );
    for held in &mut turns.queue().held {
        held.since = held.since.checked_sub(2 * UNTAKEN).expect("a moment ago");
    }
    turns.reclaim();
    assert!(
        has_turn(&other),
        "the task of the first application had other work"
    );
    other.end();
    assert!(
        has_turn(&neglected),
        "the first application has a turn later"
    );
}

#[test]
fn code_of_an_application_that_used_more_is_interrupted_for_one_that_used_less() {
    let turns = Turns::new(TurnBounds {
        all: 2,
        each: 2,
        each_waiting: 100,
    });
    let (long, short) = (asker("long"), asker("short"));
    let engine = Engine::default();
    let with_engine = turns.enter(&long, Some(engine.clone())).expect("room");
    let without = turns.enter(&long, None).expect("room");
    assert!(has_turn(&with_engine) && has_turn(&without));
    let waits = turns.enter(&short, None).expect("room");
    assert!(!has_turn(&waits));
    let ran = |moments: Duration| {
        let mut queue = turns.queue();
        for held in &mut queue.held {
            held.since = held.since.checked_sub(moments).expect("a moment ago");
        }
    };
    ran(Duration::from_secs(1));
    let interrupted = |asker: &Arc<str>| turns.queue().in_the_way_of(asker);
    assert!(
        interrupted(&short).is_some_and(|interrupted| Engine::same(&interrupted, &engine)),
        "the application with the turns used more"
    );
    assert!(
        interrupted(&long).is_none(),
        "an application does not interrupt itself"
    );
    turns.queue().askers.get_mut(&short).expect("it waits").used = Duration::from_secs(60);
    assert!(
        interrupted(&short).is_none(),
        "an application that used more waits for the end of the other turn"
    );
    drop(with_engine);
    turns.queue().askers.get_mut(&short).expect("it waits").used = Duration::ZERO;
    assert!(
        interrupted(&short).is_none(),
        "code without an engine ends by itself"
    );
}

#[test]
fn the_clock_sleeps_until_a_call_runs() {
    let turns = Arc::new(turns(1, 1));
    let sleeper = Arc::clone(&turns);
    let clock = std::thread::spawn(move || {
        let longest = Duration::from_secs(600);
        let start = Instant::now();
        sleeper.sleep_while_idle(longest);
        start.elapsed() < longest
    });
    while turns.queue().sleeping == 0 {
        std::thread::yield_now();
    }
    let a = asker("a");
    let ticket = turns.enter(&a, None).expect("room");
    assert!(has_turn(&ticket));
    assert!(clock.join().expect("no panic"), "the call woke it");
    turns.sleep_while_idle(Duration::from_secs(600));
    ticket.end();
    assert!(turns.queue().is_idle());
}
