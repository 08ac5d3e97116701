//! The lanes of the audit log: writers do not wait for each other, and each lane has one writer at a time.

use std::time::Duration;

use assent_model::audit::chain::Break;
use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::clock::Timestamp;
use assent_model::entropy::SystemEntropy;
use assent_store::sql;
use assent_store::{AuditFilter, Retention, Store, UserAction};
use assent_test_macros::both_databases;

use super::{all_records, broken, tamper, verified};
use crate::harness::{Database, connect, in_time, open_store, write_user};
use crate::store::{Fixture, NOW, fixture, user};

/// Writes entries, each in a transaction of its own.
async fn write(store: &Store, count: usize) {
    write_at(store, NOW, count).await;
}

async fn write_at(store: &Store, at: Timestamp, count: usize) {
    for _ in 0..count {
        let entry = Entry::new(
            Event::CooldownStarted,
            &AuditContext::SERVER,
            at,
            &SystemEntropy,
        );
        store.append_audit(vec![entry]).await.expect("written");
    }
}

/// Returns the number of entries in each lane.
async fn lane_sizes(store: &Store) -> Vec<usize> {
    let mut sizes = Vec::new();
    for lane in store.audit_lanes().await.expect("read") {
        let records = store.audit_records(lane, 0, 1000).await.expect("read");
        sizes.push(records.len());
    }
    sizes
}

/// Ends the leases of all lanes, as if they had expired.
async fn end_leases(fixture: &Fixture) {
    let end = "UPDATE audit_lanes SET held_until = 0";
    tamper(&mut connect(&fixture.url).await, &[end]).await;
}

#[both_databases]
async fn each_instance_has_its_lane(database: Database) {
    let fixture = fixture(database).await;
    let second = open_store(&fixture.url).await.expect("a store");
    for _ in 0..3 {
        write(&fixture.store, 2).await;
        write(&second, 1).await;
    }
    assert_eq!(lane_sizes(&second).await, [6, 3], "{database:?}");
    // Each instance adds its own heads to the root.
    fixture.store.sign_audit_root().await.expect("written");
    second.sign_audit_root().await.expect("written");
    let root = second.audit_root().await.expect("read");
    assert_eq!(
        (
            root.authentic,
            root.root.heads.seq(1),
            root.root.heads.seq(2)
        ),
        (true, 6, 3),
        "{database:?}"
    );
    let verdict = verified(&fixture.store).await;
    assert_eq!(
        (verdict.broken, verdict.checked.entries),
        (None, 9),
        "{database:?}"
    );
    // Lists are in order of time, not of lanes.
    let listed = fixture
        .store
        .audit_entries(&AuditFilter::default(), None, 100)
        .await
        .expect("read");
    let lanes: Vec<i64> = listed.iter().rev().map(|entry| entry.lane).collect();
    assert_eq!(lanes, [1, 1, 2, 1, 1, 2, 1, 1, 2], "{database:?}");
}

#[both_databases]
async fn a_lane_is_taken_over_after_its_lease_and_the_former_holder_uses_another(
    database: Database,
) {
    let fixture = fixture(database).await;
    write(&fixture.store, 2).await;
    end_leases(&fixture).await;
    // The first instance was frozen and does not know that its lease has ended.
    let second = open_store(&fixture.url).await.expect("a store");
    write(&second, 3).await;
    assert_eq!(lane_sizes(&second).await, [5], "{database:?}");
    write(&fixture.store, 1).await;
    write(&second, 1).await;
    assert_eq!(lane_sizes(&second).await, [6, 1], "{database:?}");
    assert_eq!(broken(&second).await, None, "{database:?}");
}

#[both_databases]
async fn an_instance_that_stops_leaves_its_lanes_to_the_next(database: Database) {
    let fixture = fixture(database).await;
    write(&fixture.store, 2).await;
    fixture.store.close().await;
    for _ in 0..3 {
        let next = open_store(&fixture.url).await.expect("a store");
        assert_eq!(broken(&next).await, None, "{database:?}");
        write(&next, 1).await;
        next.close().await;
    }
    let last = open_store(&fixture.url).await.expect("a store");
    assert_eq!(lane_sizes(&last).await, [5], "{database:?}");
    let root = last.audit_root().await.expect("read");
    assert_eq!((root.authentic, root.root.heads.seq(1)), (true, 5));
}

/// A transaction of a frozen instance holds its lane. No other instance waits for it.
#[tokio::test]
async fn a_frozen_transaction_does_not_block_other_instances() {
    let fixture = fixture(Database::Postgres).await;
    write(&fixture.store, 1).await;
    let mut frozen = connect(&fixture.url).await;
    frozen
        .batch("BEGIN; SELECT 1 FROM audit_lanes WHERE lane = 1 FOR SHARE")
        .await
        .expect("locked");
    end_leases_but_locked(&fixture).await;
    let second = open_store(&fixture.url).await.expect("a store");
    in_time(write(&second, 3)).await;
    assert_eq!(lane_sizes(&second).await, [1, 3]);
    frozen.batch("ROLLBACK").await.expect("ended");
}

async fn end_leases_but_locked(fixture: &Fixture) {
    let end = "UPDATE audit_lanes SET held_until = 0
               WHERE lane IN (SELECT lane FROM audit_lanes FOR UPDATE SKIP LOCKED)";
    tamper(&mut connect(&fixture.url).await, &[end]).await;
}

/// While a snapshot is open, a row that each transaction updates would keep a dead version for each update.
#[tokio::test]
async fn no_row_is_updated_for_each_transaction() {
    let fixture = fixture(Database::Postgres).await;
    write(&fixture.store, 1).await;
    let mut connection = connect(&fixture.url).await;
    let versions = "SELECT CAST(ctid AS text) FROM audit_lanes UNION ALL SELECT CAST(ctid AS text) FROM audit_root
                    UNION ALL SELECT CAST(ctid AS text) FROM audit_anchors";
    let before: Vec<(String,)> = sql::query_as(versions)
        .fetch_all(&mut connection)
        .await
        .expect("read");
    write(&fixture.store, 50).await;
    let after: Vec<(String,)> = sql::query_as(versions)
        .fetch_all(&mut connection)
        .await
        .expect("read");
    assert_eq!(before, after);
}

#[both_databases]
async fn a_running_instance_detects_entries_removed_before_the_next_root(database: Database) {
    let fixture = fixture(database).await;
    let store = &fixture.store;
    write(store, 3).await;
    store.sign_audit_root().await.expect("written");
    write(store, 3).await;
    // No root covers the last entries, and the entry before them has a code of its own.
    let mut connection = connect(&fixture.url).await;
    tamper(
        &mut connection,
        &["DELETE FROM audit_entries WHERE seq > 4"],
    )
    .await;
    assert_eq!(broken(store).await, None, "{database:?}: not yet");
    store.sign_audit_root().await.expect("written");
    assert_eq!(
        broken(store).await,
        Some(Break::CutOff { first: 5, last: 6 }),
        "{database:?}"
    );
}

#[both_databases]
async fn no_instance_continues_a_tampered_lane(database: Database) {
    let ways = [
        "DELETE FROM audit_entries WHERE seq = 3",
        "UPDATE audit_entries SET mac = NULL WHERE seq = 3",
        "UPDATE audit_entries SET digest = '00' WHERE seq = 3",
    ];
    for way in ways {
        let fixture = fixture(database).await;
        write(&fixture.store, 3).await;
        fixture.store.sign_audit_root().await.expect("written");
        tamper(&mut connect(&fixture.url).await, &[way]).await;
        fixture.store.close().await;
        let second = open_store(&fixture.url).await.expect("a store");
        write(&second, 2).await;
        assert_eq!(second.audit_lanes().await.expect("read"), [1, 2]);
        assert!(broken(&second).await.is_some(), "{database:?} {way}");
        second.close().await;
    }
}

/// Entries from a clock that was far ahead do not affect the times of later entries.
#[both_databases]
async fn a_lane_with_entries_far_ahead_of_the_clock_is_left(database: Database) {
    let fixture = fixture(database).await;
    let store = &fixture.store;
    write(store, 1).await;
    write_at(store, NOW + Duration::from_secs(86_400 * 500), 1).await;
    write(store, 2).await;
    assert_eq!(lane_sizes(store).await, [2, 2], "{database:?}");
    let times: Vec<i64> = all_records(store).await.iter().map(|one| one.at).collect();
    assert!(times.is_sorted(), "{database:?}: {times:?}");
    assert_eq!(broken(store).await, None, "{database:?}");
    // The server accepts a clock that is slightly ahead.
    write_at(store, NOW - Duration::from_secs(60), 1).await;
    assert_eq!(lane_sizes(store).await, [2, 3], "{database:?}");
}

#[tokio::test]
async fn entries_have_the_partition_of_their_week() {
    let fixture = fixture(Database::Postgres).await;
    let mut connection = connect(&fixture.url).await;
    let (now,): (i64,) =
        sql::query_as("SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)")
            .fetch_one(&mut connection)
            .await
            .expect("read");
    let now = Timestamp::from_millis(now);
    let week = Duration::from_secs(7 * 86_400);
    for at in [now - week, now, now + week, now + week * 2] {
        write_at(&fixture.store, at, 1).await;
    }
    let placed: Vec<(String,)> = sql::query_as(
        "SELECT CAST(CAST(tableoid AS regclass) AS text) FROM audit_entries ORDER BY id",
    )
    .fetch_all(&mut connection)
    .await
    .expect("read");
    let placed: Vec<&str> = placed.iter().map(|(name,)| name.as_str()).collect();
    assert_eq!(
        (placed[0], placed[3]),
        ("audit_entries_default", "audit_entries_default")
    );
    assert!(placed[1].starts_with("audit_entries_d"), "{placed:?}");
    assert!(placed[1] < placed[2], "{placed:?}");
    assert_eq!(broken(&fixture.store).await, None);
}

/// The write of the root shares a transaction with other writes, which may fail.
#[both_databases]
async fn a_failed_write_does_not_stop_the_root(database: Database) {
    let fixture = fixture(database).await;
    let store = &fixture.store;
    let ada = user("ada");
    let insert = async || write_user(store, UserAction::Insert(ada.clone()), NOW).await;
    insert().await.expect("inserted");
    for _ in 0..20 {
        write(store, 1).await;
        let (signed, again, ()) = tokio::join!(store.sign_audit_root(), insert(), write(store, 1),);
        signed.expect("signed");
        again.expect_err("the user exists");
    }
    store.sign_audit_root().await.expect("signed");
    let root = store.audit_root().await.expect("read");
    assert!(root.authentic, "{database:?}");
    assert_eq!(broken(store).await, None, "{database:?}");
}

/// An attacker saves an old root, and restores it to hide the later entries of one lane.
#[both_databases]
async fn a_restored_old_root_is_detected(database: Database) {
    let fixture = fixture(database).await;
    let second = open_store(&fixture.url).await.expect("a store");
    write(&fixture.store, 1).await;
    write(&second, 1).await;
    fixture.store.sign_audit_root().await.expect("written");
    second.sign_audit_root().await.expect("written");
    let mut connection = connect(&fixture.url).await;
    tamper(
        &mut connection,
        &["CREATE TABLE saved_root AS SELECT * FROM audit_root"],
    )
    .await;
    for _ in 0..2 {
        write(&fixture.store, 1).await;
        write(&second, 1).await;
        fixture.store.sign_audit_root().await.expect("written");
        second.sign_audit_root().await.expect("written");
    }
    let put_back = [
        "DELETE FROM audit_entries WHERE lane = 2 AND seq > 1",
        "DELETE FROM audit_root",
        "INSERT INTO audit_root SELECT * FROM saved_root",
        "UPDATE audit_lanes SET held_until = 0, holder = 'x' WHERE lane = 2",
    ];
    tamper(&mut connection, &put_back).await;
    assert_eq!(
        broken(&second).await,
        Some(Break::RootForged),
        "{database:?}: lane 1 names a later root"
    );
    write(&second, 2).await;
    second.sign_audit_root().await.expect("done");
    assert_eq!(
        broken(&second).await,
        Some(Break::RootForged),
        "{database:?}"
    );
}

#[both_databases]
async fn entries_in_unknown_lanes_are_found(database: Database) {
    let fixture = fixture(database).await;
    write(&fixture.store, 3).await;
    let mut connection = connect(&fixture.url).await;
    for lane in [i64::MIN, -1, 0, 2, i64::MAX] {
        let insert = format!(
            "INSERT INTO audit_entries (id, lane, seq, previous, digest, happened_at, event, actor_kind, detail)
             VALUES ('x', {lane}, 1, '', '', 0, 'user.created', 'server', '{{}}')"
        );
        tamper(&mut connection, &[&insert]).await;
        assert!(
            matches!(broken(&fixture.store).await, Some(Break::Stray { .. })),
            "{database:?} {lane}"
        );
        tamper(
            &mut connection,
            &["DELETE FROM audit_entries WHERE id = 'x'"],
        )
        .await;
    }
    // A copy of the last entry is added.
    let copy = "INSERT INTO audit_entries (id, lane, seq, previous, digest, known_root, mac, happened_at, event,
                    actor_kind, detail)
                SELECT 'y', lane, seq, previous, digest, known_root, mac, happened_at, 'user.created',
                    actor_kind, detail
                FROM audit_entries WHERE seq = 3";
    tamper(&mut connection, &[copy]).await;
    assert!(broken(&fixture.store).await.is_some(), "{database:?}");
}

/// Rows of a period in the default partition do not prevent the partition of the next period.
#[tokio::test]
async fn rows_of_the_default_partition_are_deleted_before_later_partitions() {
    let fixture = fixture(Database::Postgres).await;
    let store = &fixture.store;
    let mut connection = connect(&fixture.url).await;
    let (now,): (i64,) =
        sql::query_as("SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)")
            .fetch_one(&mut connection)
            .await
            .expect("read");
    let now = Timestamp::from_millis(now);
    let week = Duration::from_secs(7 * 86_400);
    // Two entries before the partitions, two in them, one after them.
    for at in [now - week * 2, now - week, now, now + week, now + week * 3] {
        write_at(store, at, 1).await;
    }
    let year = Duration::from_secs(365 * 86_400);
    let retention = Retention {
        logins: year,
        sessions: year,
        enrolments: year,
        admin_tokens: year,
        traces: year,
        receipts: year,
        audit: week,
        streams: &[],
        denials: year,
    };
    for (after, left) in [(week / 2, 4), (week * 3, 1), (week * 6, 0)] {
        // A backup reads the log, so no partition is dropped the first time.
        let mut reader = connect(&fixture.url).await;
        reader
            .batch("BEGIN; LOCK TABLE audit_entries IN ACCESS SHARE MODE")
            .await
            .expect("locked");
        store
            .apply_retention(retention, now + after)
            .await
            .expect("applied");
        assert_eq!(broken(store).await, None, "{after:?}: with a reader");
        reader.batch("ROLLBACK").await.expect("ended");
        for _ in 0..2 {
            store
                .apply_retention(retention, now + after)
                .await
                .expect("applied");
        }
        assert_eq!(broken(store).await, None, "{after:?}");
        assert!(all_records(store).await.len() <= left, "{after:?}");
    }
}
