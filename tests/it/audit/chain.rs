//! The hash chain detects each change of the audit log outside the server. Changes by the server leave it intact.

use assent_store::sql::Connection;
use assent_test_macros::both_databases;
use std::time::Duration;

use assent::domain::audit::verify::verify;
use assent_model::audit::chain::{Break, Mark};
use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::entropy::SystemEntropy;
use assent_model::id::UserId;
use assent_store::{AdminWrite, AdminWrites, AuditFilter, Retention, UserAction};
use reqwest::Method;
use serde_json::{Value, json};

use super::{all_records, broken, tamper, verified};
use crate::harness::{
    Browser, Database, HostOptions, MASTER_KEY, Parsed, Respond, TestHost, http_client, id, in_time,
};
use crate::lifecycle::entries;
use crate::store::fixture;

/// Restores the saved log.
const RESTORE: [&str; 6] = [
    "DELETE FROM audit_entries",
    "DELETE FROM audit_anchors",
    "DELETE FROM audit_root",
    "INSERT INTO audit_entries SELECT * FROM saved_entries",
    "INSERT INTO audit_anchors SELECT * FROM saved_anchors",
    "INSERT INTO audit_root SELECT * FROM saved_root",
];

/// Starts an instance with a log of ten entries. Returns it with a connection to its database, where a copy is saved.
async fn host_with_log(database: Database) -> (TestHost, Connection) {
    let host = TestHost::start_on(database).await;
    for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"] {
        host.user(name).await;
    }
    let store = &host.host.store;
    store.sign_audit_root().await.expect("written");
    assert_eq!(store.audit_lanes().await.expect("read"), [1]);
    // The instance itself may be writing the root that contains the head of the lane.
    in_time(async {
        while store.audit_root().await.expect("read").root.heads.seq(1) < head_of(&host).await {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let mut connection = host.connection().await;
    let save = [
        "CREATE TABLE saved_entries AS SELECT * FROM audit_entries",
        "CREATE TABLE saved_anchors AS SELECT * FROM audit_anchors",
        "CREATE TABLE saved_root AS SELECT * FROM audit_root",
    ];
    tamper(&mut connection, &save).await;
    (host, connection)
}

/// Returns the position of the last entry of the first lane.
async fn head_of(host: &TestHost) -> i64 {
    let head = host.host.store.audit_head(1).await.expect("read");
    head.map_or(0, |head| head.mark.seq)
}

#[both_databases]
async fn each_kind_of_tampering_is_detected(database: Database) {
    let (host, mut connection) = host_with_log(database).await;
    let store = &host.host.store;
    let good = verified(store).await;
    let last = good.checked.entries;
    assert_eq!(
        (good.broken, good.heads.seq(1)),
        (None, i64::try_from(last).expect("few")),
        "{database:?}"
    );
    assert!(last >= 10, "{database:?}");

    // Each column of an entry, one at a time.
    for column in [
        "id",
        "event",
        "actor_kind",
        "actor",
        "user_id",
        "application_id",
        "approval_id",
        "detail",
        "previous",
    ] {
        let change = format!("UPDATE audit_entries SET {column} = 'x' WHERE seq = 3");
        tamper(&mut connection, &[&change]).await;
        let found = broken(store).await;
        assert!(
            matches!(found, Some(Break::Changed { seq: 3, .. })),
            "{database:?} {column}: {found:?}"
        );
        tamper(&mut connection, &RESTORE).await;
    }
    let ways: &[(&str, &[&str])] = &[
            ("changed", &["UPDATE audit_entries SET happened_at = happened_at + 1 WHERE seq = 3"]),
            ("changed", &["UPDATE audit_entries SET user_id = NULL WHERE seq = 3"]),
            ("changed", &["UPDATE audit_entries SET digest = '' WHERE seq = 3"]),
            ("changed", &["UPDATE audit_entries SET personal_digest = NULL WHERE seq = 3"]),
            // Two entries exchange their positions.
            ("changed", &[
                "UPDATE audit_entries SET seq = -3 WHERE seq = 3",
                "UPDATE audit_entries SET seq = 3 WHERE seq = 4",
                "UPDATE audit_entries SET seq = 4 WHERE seq = -3",
            ]),
            ("personal_changed", &["UPDATE audit_entries SET personal = '{}' WHERE seq = 3"]),
            ("personal_changed", &["UPDATE audit_entries SET personal = NULL WHERE seq = 3"]),
            ("personal_changed", &["UPDATE audit_entries SET personal_salt = '00' WHERE seq = 3"]),
            ("personal_removed", &["UPDATE audit_entries SET personal = NULL, personal_salt = NULL WHERE seq = 3"]),
            ("missing", &["DELETE FROM audit_entries WHERE seq = 3"]),
            ("missing", &["DELETE FROM audit_entries WHERE seq < 4"]),
            ("cut_off", &["DELETE FROM audit_entries WHERE seq > 5"]),
            ("cut_off", &["DELETE FROM audit_entries"]),
            // The last entry of an earlier transaction has a message authentication code. The root shows that more
            // entries followed.
            ("cut_off", &["DELETE FROM audit_entries WHERE seq = (SELECT MAX(seq) FROM saved_entries)"]),
            ("head_forged", &["UPDATE audit_entries SET mac = NULL WHERE seq = (SELECT MAX(seq) FROM saved_entries)"]),
            ("head_forged", &["UPDATE audit_entries SET mac = digest
                              WHERE seq = (SELECT MAX(seq) FROM saved_entries)"]),
            ("root_forged", &["UPDATE audit_root SET mac = ''"]),
            ("root_forged", &["UPDATE audit_root SET number = number + 1"]),
            ("root_forged", &["UPDATE audit_root SET heads = ''", "DELETE FROM audit_entries"]),
            ("root_forged", &["DELETE FROM audit_root"]),
            ("anchor_forged", &["DELETE FROM audit_entries", "DELETE FROM audit_anchors"]),
            ("anchor_forged", &[
                "UPDATE audit_anchors SET seq = 2, digest = (SELECT digest FROM audit_entries WHERE seq = 2)",
                "DELETE FROM audit_entries WHERE seq < 3",
            ]),
            // The code of the last entry as the code of the anchor.
            ("anchor_forged", &[
                "UPDATE audit_anchors SET seq = (SELECT MAX(seq) FROM saved_entries),
                     digest = (SELECT digest FROM saved_entries ORDER BY seq DESC LIMIT 1),
                     mac = (SELECT mac FROM saved_entries ORDER BY seq DESC LIMIT 1)",
                "DELETE FROM audit_entries",
            ]),
            // After the end, before the beginning, at the position of another entry, and in a lane that does not exist.
            ("inserted", &["INSERT INTO audit_entries
                              (id, lane, seq, previous, digest, happened_at, event, actor_kind, detail)
                            VALUES ('x', 1, 1000, '', '', 0, 'user.created', 'server', '{}')"]),
            ("inserted", &["INSERT INTO audit_entries
                              (id, lane, seq, previous, digest, happened_at, event, actor_kind, detail)
                            VALUES ('x', 1, 0, '', '', 0, 'user.created', 'server', '{}')"]),
            ("out_of_order", &["INSERT INTO audit_entries
                              (id, lane, seq, previous, digest, happened_at, event, actor_kind, detail)
                            VALUES ('x', 1, 3, '', '', 0, 'user.created', 'server', '{}')"]),
            ("inserted", &["INSERT INTO audit_entries
                              (id, lane, seq, previous, digest, happened_at, event, actor_kind, detail)
                            VALUES ('x', 7, 1, '', '', 0, 'user.created', 'server', '{}')"]),
            ("changed", &["UPDATE audit_entries SET lane = 7 WHERE seq = 3",
                          "UPDATE audit_entries SET lane = 1 WHERE seq = 3",
                          "UPDATE audit_entries SET happened_at = 5 WHERE seq = 3"]),
            ("missing", &["UPDATE audit_entries SET lane = 7 WHERE seq = 3"]),
        ];
    for (kind, statements) in ways {
        tamper(&mut connection, statements).await;
        let found = broken(store).await;
        assert_eq!(
            found.as_ref().map(Break::kind),
            Some(*kind),
            "{database:?} {statements:?}: {found:?}"
        );
        tamper(&mut connection, &RESTORE).await;
    }
    assert_eq!(
        broken(store).await,
        None,
        "{database:?}: the log is as before"
    );
}

#[both_databases]
async fn a_chain_rewritten_without_the_key_is_detected_and_stays_broken(database: Database) {
    let (host, mut connection) = host_with_log(database).await;
    let store = &host.host.store;
    let mut records = store.audit_records(1, 0, 100).await.expect("read");
    let mut last = Mark::START;
    for record in &mut records {
        if record.seq == 3 {
            record.event = "user.updated".to_owned();
        }
        last = record.follow(&last);
        for (column, value) in [
            ("event", &record.event),
            ("previous", &record.previous),
            ("digest", &record.digest),
        ] {
            let change = format!(
                "UPDATE audit_entries SET {column} = '{value}' WHERE seq = {}",
                record.seq
            );
            tamper(&mut connection, &[&change]).await;
        }
    }
    let found = broken(store).await;
    assert!(
        matches!(found, Some(Break::HeadForged { .. })),
        "{database:?}: the root has another head: {found:?}"
    );
    let root = format!(
        "UPDATE audit_root SET heads = '1:{}:{}'",
        last.seq,
        last.digest.to_text()
    );
    tamper(&mut connection, &[&root]).await;
    let found = broken(store).await;
    assert_eq!(
        found,
        Some(Break::RootForged),
        "{database:?}: the root has no valid code"
    );

    // The instance continues to serve, and does not certify the broken part.
    host.user("k").await;
    store.sign_audit_root().await.expect("done");
    assert!(
        !store.audit_root().await.expect("read").authentic,
        "{database:?}"
    );
    assert_eq!(broken(store).await, Some(Break::RootForged), "{database:?}");

    // One changed entry with a matching digest.
    tamper(&mut connection, &RESTORE).await;
    let change = format!(
        "UPDATE audit_entries SET event = 'user.updated', digest = '{}' WHERE seq = 3",
        records
            .iter()
            .find(|record| record.seq == 3)
            .expect("one")
            .digest
    );
    tamper(&mut connection, &[&change]).await;
    let found = broken(store).await;
    assert!(
        matches!(found, Some(Break::Replaced { seq: 4, .. })),
        "{database:?}: {found:?}"
    );
}

#[both_databases]
async fn a_deleted_root_is_not_recreated(database: Database) {
    let (host, mut connection) = host_with_log(database).await;
    tamper(
        &mut connection,
        &[
            "UPDATE audit_entries SET event = 'user.updated' WHERE seq = 3",
            "DELETE FROM audit_root",
        ],
    )
    .await;
    let (second, running, _) = host
        .second(HostOptions {
            database,
            ..HostOptions::default()
        })
        .await;
    assert_eq!(
        broken(&second.store).await,
        Some(Break::RootForged),
        "{database:?}"
    );
    host.user("k").await;
    host.host.store.sign_audit_root().await.expect("done");
    assert_eq!(
        broken(&second.store).await,
        Some(Break::RootForged),
        "{database:?}"
    );
    running.stop().await;
}

#[both_databases]
async fn erasure_and_retention_leave_the_chain_whole(database: Database) {
    let host = TestHost::start_on(database).await;
    let store = &host.host.store;
    let ada = host.ada().await;
    ada.sign_in(&Browser::new(&host.base)).await;
    let path = format!("/users/{}", id(&ada.user));
    host.erase_user(&path).await;
    let verdict = verified(store).await;
    assert_eq!(verdict.broken, None, "{database:?}");
    assert!(verdict.checked.erased > 5, "{database:?}: {verdict:?}");
    let records = store.audit_records(1, 0, 100).await.expect("read");
    let erased: Vec<_> = records.iter().filter(|record| record.is_erased()).collect();
    assert!(
        erased.iter().all(|record| record.salt.is_none()),
        "{database:?}: with the salt, the erased data could be guessed"
    );

    host.admin_ok(Method::DELETE, &path, Value::Null).await;
    assert_eq!(broken(store).await, None, "{database:?}");

    // Half of the entries are old. On PostgreSQL, retention drops a partition of one week at once.
    host.advance(20 * 24 * 60 * 60);
    let before = records.len();
    let later = Entry::new(
        Event::UserCreated,
        &AuditContext::SERVER,
        host.host.now(),
        &SystemEntropy,
    );
    store.append_audit(vec![later]).await.expect("stored");
    let day = Duration::from_secs(86_400);
    let retention = Retention {
        logins: day * 1000,
        sessions: day * 1000,
        enrolments: day * 1000,
        admin_tokens: day * 1000,
        traces: day * 1000,
        receipts: day * 1000,
        audit: day * 5,
        streams: &[],
        denials: day * 1000,
    };
    store
        .apply_retention(retention, host.host.now())
        .await
        .expect("applied");
    let verdict = verified(store).await;
    assert_eq!(
        (verdict.broken, verdict.checked.entries),
        (None, 1),
        "{database:?}: the later one"
    );
    let last = verdict.heads.seq(1);
    assert!(last > i64::try_from(before).expect("few"));
    let anchor = store.audit_anchor(1).await.expect("read");
    assert_eq!(
        (anchor.authentic, anchor.mark.seq),
        (true, last - 1),
        "{database:?}"
    );
    host.advance(20 * 24 * 60 * 60);
    store
        .apply_retention(retention, host.host.now())
        .await
        .expect("applied");
    let verdict = verified(store).await;
    assert_eq!(
        (verdict.broken, verdict.checked.entries),
        (None, 0),
        "{database:?}: an empty log is intact"
    );
    let mut connection = host.connection().await;
    tamper(
        &mut connection,
        &["UPDATE audit_anchors SET seq = seq + 1 WHERE lane = 1"],
    )
    .await;
    assert!(
        matches!(broken(store).await, Some(Break::AnchorForged { .. })),
        "{database:?}"
    );
}

#[both_databases]
async fn retention_does_not_repair_a_tampered_chain(database: Database) {
    let (host, mut connection) = host_with_log(database).await;
    tamper(
        &mut connection,
        &["UPDATE audit_entries SET event = 'user.updated' WHERE seq = 3"],
    )
    .await;
    let day = Duration::from_secs(86_400);
    let retention = Retention {
        logins: day,
        sessions: day,
        enrolments: day,
        admin_tokens: day,
        traces: day,
        receipts: day,
        audit: day,
        streams: &[],
        denials: day,
    };
    let store = &host.host.store;
    store
        .apply_retention(retention, host.host.now() + day * 20)
        .await
        .expect("applied");
    assert_eq!(
        store.audit_records(1, 0, 10).await.expect("read").len(),
        0,
        "{database:?}: the entries are deleted nevertheless"
    );
    assert!(
        matches!(broken(store).await, Some(Break::AnchorForged { .. })),
        "{database:?}"
    );
}

#[both_databases]
async fn concurrent_instances_write_one_log(database: Database) {
    let host = TestHost::start_on(database).await;
    let (_, running, base) = host
        .second(HostOptions {
            database,
            ..HostOptions::default()
        })
        .await;
    let mut writes = tokio::task::JoinSet::new();
    for number in 0..60 {
        let url = format!(
            "{}/admin/api/v1/users",
            if number % 2 == 0 { &host.base } else { &base }
        );
        let request = http_client().post(url).bearer_auth(&host.token);
        let request = request.json(&json!({"name": format!("user{number}")}));
        writes.spawn(async move { request.response().await.status() });
    }
    assert!(
        writes
            .join_all()
            .await
            .iter()
            .all(reqwest::StatusCode::is_success)
    );
    let verdict = verified(&host.host.store).await;
    assert_eq!(verdict.broken, None, "{database:?}");
    assert!(verdict.checked.entries >= 60, "{database:?}");
    let created = entries(&host, "event=user.created").await;
    assert_eq!(created.len(), 60, "{database:?}");
    // Other writers are active meanwhile.
    let mut writes = tokio::task::JoinSet::new();
    for number in 0..20 {
        let url = format!("{base}/admin/api/v1/users");
        let request = http_client().post(url).bearer_auth(&host.token);
        let request = request.json(&json!({"name": format!("later{number}")}));
        writes.spawn(async move { request.response().await.status() });
        assert_eq!(broken(&host.host.store).await, None, "{database:?}");
    }
    writes.join_all().await;
    running.stop().await;
}

#[both_databases]
async fn a_bounded_verification_reads_the_last_entries(database: Database) {
    let (host, mut connection) = host_with_log(database).await;
    let store = &host.host.store;
    tamper(
        &mut connection,
        &["UPDATE audit_entries SET event = 'user.updated' WHERE seq = 3"],
    )
    .await;
    let head = head_of(&host).await;
    let of = async |most| verify(store, Some(most)).await.expect("verified");
    let bounded = of(5).await;
    assert_eq!(
        (bounded.broken, bounded.checked.entries),
        (None, 5),
        "{database:?}"
    );
    assert_eq!(
        bounded.checked.first.map(|first| first.seq),
        Some(head - 4),
        "{database:?}"
    );
    assert!(
        matches!(
            of(head - 2).await.broken.map(|broken| broken.what),
            Some(Break::Changed { seq: 3, .. })
        ),
        "{database:?}"
    );
    assert!(
        matches!(
            of(10_000).await.broken.map(|broken| broken.what),
            Some(Break::Changed { seq: 3, .. })
        ),
        "{database:?}"
    );
    tamper(&mut connection, &RESTORE).await;
    tamper(
        &mut connection,
        &["DELETE FROM audit_entries WHERE seq > 5"],
    )
    .await;
    assert!(
        matches!(
            of(2).await.broken.map(|broken| broken.what),
            Some(Break::HeadForged { .. } | Break::CutOff { .. })
        ),
        "{database:?}"
    );
}

/// A chain key of another master key does not authenticate the root.
#[tokio::test]
async fn verification_with_another_key_reports_a_forged_root() {
    let fixture = fixture(Database::Sqlite).await;
    assert_eq!(broken(&fixture.store).await, None);
    let chaining = assent_store::ChainContext::new(
        assent_model::audit::chain::ChainKey::new(&[8; 32]).unwrap(),
        std::sync::Arc::new(SystemEntropy),
    );
    let database = assent_store::Database::open(&fixture.url)
        .await
        .expect("open");
    let other = assent_store::Store::start(database, chaining, MASTER_KEY)
        .await
        .expect("a store");
    assert_eq!(broken(&other).await, Some(Break::RootForged));
}

/// A deletion also removes personal data from entries that are still queued for the log.
#[both_databases]
async fn entries_written_during_a_deletion_do_not_name_the_user(database: Database) {
    let host = TestHost::start_on(database).await;
    let store = &host.host.store;
    let entry = |event| {
        Entry::new(
            event,
            &AuditContext::SERVER,
            host.host.now(),
            &SystemEntropy,
        )
    };
    for number in 0..20 {
        let user = host.user(&format!("user{number}")).await;
        let user: UserId = id(&user).parsed();
        let returned = entry(Event::UserUpdated)
            .about(user)
            .personal("name", "augusta");
        let gone = entry(Event::UserDeleted).about(user);
        let deletion = AdminWrite::User(UserAction::Delete(user, 1));
        let plan = AdminWrites {
            writes: vec![(deletion, vec![gone])],
            ..AdminWrites::default()
        };
        // One write occupies the writer, so the next two share a transaction.
        let (first, second, third) = tokio::join!(
            store.append_audit(vec![entry(Event::CooldownStarted)]),
            store.append_audit(vec![returned]),
            store.execute(plan, host.host.now()),
        );
        assert!(first.is_ok() && second.is_ok());
        third.expect("deleted");
    }
    let left = all_records(store).await;
    let mut gone = std::collections::HashSet::new();
    for record in left.iter().rev().filter(|record| record.user.is_some()) {
        if record.event == Event::UserDeleted.as_str() {
            gone.insert(record.user.clone());
        } else if gone.contains(&record.user) && database == Database::Sqlite {
            assert_eq!(record.personal, None, "{database:?}: {record:?}");
        }
    }
    assert_eq!(
        (gone.len(), broken(store).await),
        (20, None),
        "{database:?}"
    );
}

#[both_databases]
async fn a_time_range_is_listed_completely(database: Database) {
    let fixture = fixture(database).await;
    let started = crate::store::NOW;
    let hour = Duration::from_secs(3600);
    // Several entries have the same millisecond.
    for number in 0..10 {
        let at = started + hour * number;
        let entries = (0..5)
            .map(|_| {
                Entry::new(
                    Event::UserCreated,
                    &AuditContext::SERVER,
                    at,
                    &SystemEntropy,
                )
            })
            .collect();
        fixture.store.append_audit(entries).await.expect("stored");
    }
    let listed = async |since: Option<u32>, until: Option<u32>| {
        let filter = AuditFilter {
            since: since.map(|hours| started + hour * hours),
            until: until.map(|hours| started + hour * hours),
            ..AuditFilter::default()
        };
        let entries = fixture
            .store
            .audit_entries(&filter, None, 100)
            .await
            .expect("read");
        assert!(
            entries.windows(2).all(|pair| pair[0].id > pair[1].id),
            "{database:?}: the latest first"
        );
        entries.len()
    };
    assert_eq!(listed(None, None).await, 50, "{database:?}");
    assert_eq!(listed(Some(0), Some(10)).await, 50, "{database:?}");
    assert_eq!(listed(Some(3), None).await, 35, "{database:?}");
    assert_eq!(listed(None, Some(3)).await, 15, "{database:?}");
    assert_eq!(listed(Some(3), Some(4)).await, 5, "{database:?}");
    assert_eq!(listed(Some(20), None).await, 0, "{database:?}");
}
