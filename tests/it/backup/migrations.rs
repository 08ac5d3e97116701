//! The restore of a backup of an earlier release, and its single transaction.

use std::path::Path;
use std::sync::Arc;

use assent_model::audit::chain::ChainKey;
use assent_model::clock::Timestamp;
use assent_model::entropy::SystemEntropy;
use assent_model::user::LifecycleState;
use assent_store::{
    ChainContext, Database, DatabaseOptions, MIGRATIONS, Migration, RestoreOutcome, RestorePlan,
    Revocation, UnfinishedRestore, sql,
};
use assent_test_macros::both_databases;

use crate::harness::{Database as Kind, connect, open_store};
use crate::store::{Fixture, NOW, ada, fixture};

/// The additions of a later release.
const LATER: [Migration; 2] = [
    MIGRATIONS[0],
    Migration::new(
        "9002_expand_restored_notes",
        "ALTER TABLE users ADD COLUMN restored_note TEXT NOT NULL DEFAULT 'none';",
    ),
];

async fn unfinished(url: &str) -> UnfinishedRestore {
    let opened = match url.strip_prefix("sqlite://") {
        Some(file) => UnfinishedRestore::open_file(Path::new(file), &LATER).await,
        None => UnfinishedRestore::open(url, &LATER).await,
    };
    opened.unwrap_or_else(|error| panic!("{error}"))
}

async fn finish(unfinished: UnfinishedRestore, revocations: &[Revocation]) -> RestoreOutcome {
    let chaining = ChainContext::new(ChainKey::new(&[7; 32]).unwrap(), Arc::new(SystemEntropy));
    let plan = RestorePlan {
        backup_at: NOW,
        now: NOW + std::time::Duration::from_secs(60),
        revocations: Some(revocations.to_vec()),
        entropy: Arc::new(SystemEntropy),
    };
    let finished = unfinished.finish(&chaining, &plan).await;
    finished.unwrap_or_else(|error| panic!("{error}"))
}

#[both_databases]
async fn an_earlier_schema_is_migrated_before_an_instance_may_open_it(database: Kind) {
    let Fixture { store, url, .. } = &fixture(database).await;
    let (user, device) = ada(store).await;
    store.close().await;

    let restored = unfinished(url).await;
    // An interruption here leaves the marker of an unfinished restore.
    let early = Database::open(url).await;
    let reason = early
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    assert!(
        reason.contains("a restore into it is not finished"),
        "{reason}"
    );
    let revocations = [
        Revocation::UserSuspended(user.id),
        Revocation::DeviceRevoked(user.id, device.id),
    ];
    let outcome = finish(restored, &revocations).await;
    let counts = &outcome.reapplied;
    assert_eq!((counts.users_suspended, counts.devices_revoked), (1, 1));

    let options = DatabaseOptions {
        migrations: &LATER,
        ..DatabaseOptions::default()
    };
    Database::open_with(url, options).await.expect("opened");
    let mut connection = connect(url).await;
    let (note, version, state): (String, i64, String) =
        sql::query_as("SELECT restored_note, version, state FROM users")
            .fetch_one(&mut connection)
            .await
            .expect("a user");
    assert_eq!((note.as_str(), state.as_str()), ("none", "suspended"));
    assert!(version > NOW.seconds(), "no earlier version returns");
    connection.close().await;
    let store = open_store(url).await.expect("a store");
    let revoked = store.device(device.id).await.expect("read");
    assert!(revoked.is_some_and(|device| device.revoked_at.is_some()));
    store.close().await;

    // A second run changes nothing.
    let again = finish(unfinished(url).await, &revocations).await;
    assert_eq!(again.reapplied.unchanged, 2);
    assert!(again.epoch > outcome.epoch, "each restore begins an epoch");
    let store = open_store(url).await.expect("a store");
    let root = store.audit_root().await.expect("read");
    let lanes: Vec<i64> = root.root.heads.iter().map(|(lane, _)| lane).collect();
    assert!(root.authentic);
    assert_eq!(lanes.len(), 2, "each restore begins a lane: {lanes:?}");
    assert!(
        lanes
            .iter()
            .all(|lane| Timestamp::from_seconds(*lane) > NOW)
    );
    let stored = store.user(user.id).await.expect("read").expect("ada");
    assert_eq!(stored.state, LifecycleState::Suspended);
    store.close().await;
}
