use proptest::prelude::*;

use super::*;

const START: Timestamp = Timestamp::from_seconds(1_800_000_000);

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn day(number: u32) -> Timestamp {
    START + DAY * number
}

/// Returns two generations: the first signs from the start, the second from day 90, published a day before.
fn two() -> [KeyTimes; 2] {
    let second = KeyTimes {
        generation: 2,
        published_at: day(89),
        signs_from: day(90),
        revoked_at: None,
    };
    [KeyTimes::at_once(1, START), second]
}

#[test]
fn a_key_is_published_signing_retired_archived_and_expired() {
    let all = two();
    let stage = |key: &KeyTimes, number| {
        let life = key.life_at(&all, day(number));
        (life.stage, life.until)
    };
    let [first, second] = &all;
    assert_eq!(stage(first, 89), (KeyStage::Signing, Some(day(90))));
    assert_eq!(stage(second, 89), (KeyStage::Published, Some(day(90))));
    assert_eq!(stage(first, 90), (KeyStage::Retired, Some(day(92))));
    assert_eq!(stage(second, 90), (KeyStage::Signing, None));
    assert_eq!(stage(first, 92), (KeyStage::Archived, Some(day(182))));
    assert_eq!(stage(first, 182), (KeyStage::Expired, None));
}

#[test]
fn a_key_revoked_before_it_signs_retires_no_other_key() {
    let mut all = two();
    all[1].revoked_at = Some(day(89));
    assert_eq!(all[0].life_at(&all, day(100)).stage, KeyStage::Signing);
    // If the revoked key had signed before, the preceding key is retired and does not return.
    all[1].revoked_at = Some(day(95));
    let third = KeyTimes {
        generation: 3,
        published_at: day(95),
        signs_from: day(95),
        revoked_at: None,
    };
    let all = [all[0], all[1], third];
    assert_eq!(all[0].life_at(&all, day(96)).since, day(92));
    assert_eq!(all[2].life_at(&all, day(96)).stage, KeyStage::Signing);
}

#[test]
fn the_next_key_is_due_once_and_in_time() {
    let due = |all: &[KeyTimes], number| is_next_due(all, DAY * 90, DAY, day(number));
    assert!(!due(&two()[..1], 88));
    assert!(due(&two()[..1], 89));
    // Also after a long downtime, but not again while the next key waits.
    assert!(due(&two()[..1], 300));
    assert!(!due(&two(), 89));
    assert!(!due(&two(), 90));
    assert!(due(&two(), 179));
    assert!(due(&[], 0));
}

proptest! {
    /// For any timestamps, even in the future, exactly one key signs unless all keys were revoked.
    #[test]
    fn exactly_one_key_signs(
        days in proptest::collection::vec((0..100_u32, 0..100_u32, proptest::option::of(0..100_u32)), 1..6),
        now in 0..300_u32,
    ) {
        let all: Vec<KeyTimes> = days.iter().zip(1..).map(|((published, signs, revoked), generation)| KeyTimes {
            generation,
            published_at: day(10 + published),
            signs_from: day(10 + signs),
            revoked_at: revoked.map(|at| day(10 + at)),
        }).collect();
        let signing = all.iter().filter(|key| key.life_at(&all, day(now)).stage == KeyStage::Signing).count();
        let live = all.iter().any(|key| key.revoked_at.is_none());
        prop_assert_eq!(signing, usize::from(live));
    }
}
