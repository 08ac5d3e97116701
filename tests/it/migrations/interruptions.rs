//! Migrations that are interrupted, that wait for locks, or that run twice at the same time.

use std::sync::Arc;
use std::time::Duration;

use assent_model::audit::chain::ChainKey;
use assent_model::clock::SystemClock;
use assent_model::entropy::SystemEntropy;
use assent_store::sql::{self, Connection};
use assent_store::{
    ChainContext, Database, DatabaseOptions, MIGRATIONS, Migration, MigrationOutcome,
    MigrationPolicy, Store, StoreError,
};
use assent_test_macros::both_databases;
use futures_util::future::{BoxFuture, join_all};
use tokio::task::JoinHandle;

use super::{Fixture, names, newer};
use crate::harness::{Database as Kind, MASTER_KEY, in_time, open_store, temp_folder};

const BY_UPDATE: Migration = Migration::new(
    "9002_expand_users_by_update",
    "-- For a list of the newest changes.
     CREATE INDEX CONCURRENTLY IF NOT EXISTS users_by_update ON users (updated_at);",
);
const LABELS: Migration = Migration::new(
    "9003_expand_labels",
    "ALTER TABLE users ADD COLUMN label TEXT;
     CREATE TABLE slices (after TEXT NOT NULL PRIMARY KEY);
     CREATE TABLE faults (after TEXT NOT NULL PRIMARY KEY);",
);
const NO_COMPONENTS: Migration = Migration::new(
    "9005_contract_no_components",
    "DROP TABLE component_approvals;",
);
const FILL: Migration =
    Migration::new("9004_expand_fill_labels", "").with_backfill(label_two_users);

/// Backfills a slice of two users. Fails where the test requires it.
fn label_two_users(
    connection: &mut Connection,
    after: String,
    _: i64,
) -> BoxFuture<'_, sql::Result<Option<String>>> {
    Box::pin(async move {
        let (faults,): (i64,) = sql::query_as("SELECT COUNT(*) FROM faults WHERE after = $1")
            .bind(after.clone())
            .fetch_one(&mut *connection)
            .await?;
        if faults > 0 {
            return Err(sql::Error::TimedOut("the test's slice"));
        }
        sql::query("INSERT INTO slices (after) VALUES ($1)")
            .bind(after.clone())
            .execute(&mut *connection)
            .await?;
        let ids: Vec<(String,)> = sql::query_as(
            "UPDATE users SET label = name
             WHERE id IN (SELECT id FROM users WHERE id > $1 ORDER BY id LIMIT 2) RETURNING id",
        )
        .bind(after)
        .fetch_all(connection)
        .await?;
        Ok(ids.into_iter().map(|(id,)| id).max())
    })
}

fn in_background(
    fixture: &Fixture,
    migrations: &'static [Migration],
) -> JoinHandle<Result<MigrationOutcome, StoreError>> {
    let url = fixture.url.url().to_owned();
    tokio::spawn(async move { Database::migrate(&url, migrations).await })
}

/// Waits until the statement returns a row.
async fn until(connection: &mut Connection, statement: &'static str) {
    let found = async {
        while sql::query_as::<sql::Row>(statement)
            .fetch_optional(&mut *connection)
            .await
            .expect("readable")
            .is_none()
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    in_time(found).await;
}

#[tokio::test]
async fn an_interrupted_concurrent_index_is_built_again() {
    let mut fixture = Fixture::new(Kind::Postgres).await;
    fixture.add_users(&["ada"]).await;
    let all = newer(&[BY_UPDATE]);
    let mut writer = fixture.url.connection().await;
    writer
        .batch("BEGIN; UPDATE users SET version = version")
        .await
        .expect("a transaction");
    let interrupted = in_background(&fixture, all);
    until(
        &mut fixture.connection,
        "SELECT 1 AS found FROM pg_index WHERE indexrelid = to_regclass('users_by_update') AND NOT indisvalid",
    )
    .await;
    let ended: Vec<(bool,)> = sql::query_as(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND query LIKE 'CREATE INDEX CONCURRENTLY%'",
    )
    .fetch_all(&mut fixture.connection)
    .await
    .expect("ended");
    assert_eq!(ended, [(true,)]);
    in_time(interrupted)
        .await
        .expect("no panic")
        .expect_err("interrupted");
    writer.batch("ROLLBACK").await.expect("ended");
    assert_eq!(fixture.applied().await, [""; 0]);

    let outcome = fixture.migrate(all).await.expect("migrated");
    assert_eq!(names(&outcome.applied), ["9002_expand_users_by_update"]);
    let valid: (bool,) = sql::query_as(
        "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('users_by_update')",
    )
    .fetch_one(&mut fixture.connection)
    .await
    .expect("the index");
    assert_eq!(valid, (true,));
}

#[both_databases]
async fn an_interrupted_backfill_continues(database: Kind) {
    let mut fixture = Fixture::new(database).await;
    fixture
        .add_users(&["ada", "bob", "cleo", "dan", "eve"])
        .await;
    fixture.migrate(newer(&[LABELS])).await.expect("expanded");
    let all = newer(&[LABELS, FILL]);
    fixture
        .connection
        .batch("INSERT INTO faults (after) VALUES ('bob')")
        .await
        .expect("inserted");
    let failed = fixture.migrate(all).await.expect_err("the second slice");
    assert!(
        failed
            .to_string()
            .contains("migration 9004_expand_fill_labels failed: the test's slice"),
        "{failed}"
    );
    let labelled = fixture
        .texts("SELECT label FROM users WHERE label IS NOT NULL ORDER BY id")
        .await;
    match database {
        Kind::Sqlite => assert!(labelled.is_empty(), "all is one transaction"),
        Kind::Postgres => assert_eq!(labelled, ["ada", "bob"]),
    }
    let pending = Database::pending_migrations(fixture.url.url(), all).await;
    assert_eq!(
        names(&pending.expect("a list")),
        ["9004_expand_fill_labels"]
    );

    fixture
        .connection
        .batch("DELETE FROM faults")
        .await
        .expect("deleted");
    let outcome = fixture.migrate(all).await.expect("migrated");
    assert_eq!(names(&outcome.applied), ["9004_expand_fill_labels"]);
    let slices = fixture
        .texts("SELECT after FROM slices ORDER BY after")
        .await;
    assert_eq!(slices, ["", "bob", "dan", "eve"], "each slice once");
    let labelled = fixture.texts("SELECT label FROM users ORDER BY id").await;
    assert_eq!(labelled, ["ada", "bob", "cleo", "dan", "eve"]);
}

#[both_databases]
async fn processes_that_migrate_at_once_apply_each_migration_once(database: Kind) {
    let folder = temp_folder();
    let empty = database.create(folder.path()).await;
    let all = newer(&[BY_UPDATE, LABELS, FILL]);
    // First an empty database, then a database of this release.
    let mut fixture = Fixture::new(database).await;
    fixture.add_users(&["ada", "bob", "cleo"]).await;
    for (url, expected) in [(&empty, all), (&fixture.url, &all[MIGRATIONS.len()..])] {
        let processes = (0..3).map(|_| Database::migrate(url.url(), all));
        let mut applied: Vec<String> = Vec::new();
        for outcome in in_time(join_all(processes)).await {
            applied.extend(names(&outcome.expect("migrated").applied));
        }
        applied.sort_unstable();
        assert_eq!(applied, names(expected));
    }
    let labelled = fixture.texts("SELECT label FROM users ORDER BY id").await;
    assert_eq!(labelled, ["ada", "bob", "cleo"]);
}

/// A statement that waits for a lock would block all later requests.
#[tokio::test]
async fn a_migration_that_waits_for_a_lock_lets_requests_pass() {
    let mut fixture = Fixture::new(Kind::Postgres).await;
    let all = newer(&[LABELS]);
    let mut reader = fixture.url.connection().await;
    reader
        .batch("BEGIN; SELECT id FROM users")
        .await
        .expect("a transaction");
    let waiting = in_background(&fixture, all);
    until(
        &mut fixture.connection,
        "SELECT 1 AS found FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'ALTER TABLE users%'",
    )
    .await;
    in_time(fixture.texts("SELECT id FROM users")).await;
    // Behind a pooler, another transaction could use another session. So the lock of migrations belongs to a
    // transaction.
    let held = fixture
        .texts(
            "SELECT state FROM pg_locks JOIN pg_stat_activity USING (pid)
             WHERE locktype = 'advisory' AND datname = current_database()",
        )
        .await;
    assert_eq!(held, ["idle in transaction"]);
    reader.batch("COMMIT").await.expect("ended");
    let outcome = in_time(waiting).await.expect("no panic").expect("migrated");
    assert_eq!(names(&outcome.applied), ["9003_expand_labels"]);
}

/// Probes write to `instances`, so a contracting migration must not lock that table while it waits for others.
#[tokio::test]
async fn instances_stay_ready_while_a_contracting_migration_waits() {
    let mut fixture = Fixture::new(Kind::Postgres).await;
    let all = newer(&[NO_COMPONENTS]);
    let options = DatabaseOptions {
        migrations: all,
        migrate: MigrationPolicy::Manual,
        ..DatabaseOptions::default()
    };
    let database = Database::open_with(fixture.url.url(), options).await;
    let chaining = ChainContext::new(ChainKey::new(&[7; 32]).unwrap(), Arc::new(SystemEntropy));
    let new = Store::start(database.expect("a database"), chaining, MASTER_KEY).await;
    let new = new.expect("a store");
    let old = open_store(fixture.url.url()).await.expect("a store");
    let mut reader = fixture.url.connection().await;
    reader
        .batch("BEGIN; SELECT * FROM component_approvals")
        .await
        .expect("a transaction");
    let waiting = in_background(&fixture, all);
    until(
        &mut fixture.connection,
        "SELECT 1 AS found FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'DROP TABLE%'",
    )
    .await;
    new.probe(&SystemClock).await.expect("ready");
    // This instance wrote no heartbeat before. Now its probe returns the error.
    let refused = old.probe(&SystemClock).await;
    assert!(
        matches!(refused, Err(StoreError::Contracted)),
        "{refused:?}"
    );
    let refused = open_store(fixture.url.url()).await;
    refused.expect_err("an older release does not start any more");
    reader.batch("COMMIT").await.expect("ended");
    let outcome = in_time(waiting).await.expect("no panic").expect("migrated");
    assert_eq!(names(&outcome.applied), ["9005_contract_no_components"]);
}
