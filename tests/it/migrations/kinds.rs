//! Expanding and contracting migrations, and the commands that apply them.

use std::time::Duration;

use assent_model::clock::{Clock, ManualClock, SystemClock};
use assent_store::sql::{self, Connection};
use assent_store::{Database, DatabaseOptions, MIGRATIONS, Migration, MigrationPolicy, StoreError};
use assent_test_macros::both_databases;
use futures_util::future::BoxFuture;

use super::{Fixture, names, newer};
use crate::harness::{Database as Kind, open_store, temp_folder};

const NOTES: Migration = Migration::new(
    "9002_expand_application_notes",
    "ALTER TABLE applications ADD COLUMN note TEXT;",
);
const NO_TRACES: Migration =
    Migration::new("9003_contract_no_traces", "DROP TABLE component_approvals;");
const LABELS: Migration = Migration::new(
    "9004_expand_labels",
    "ALTER TABLE users ADD COLUMN label TEXT;",
);

#[both_databases]
async fn an_empty_database_receives_each_migration_once(database: Kind) {
    let folder = temp_folder();
    let url = database.create(folder.path()).await;
    let all = newer(&[NOTES]);
    let pending = Database::pending_migrations(url.url(), all).await;
    assert_eq!(names(&pending.expect("a list")), names(all));
    assert!(
        !folder.path().join("assent.db").exists(),
        "a check creates nothing"
    );
    let outcome = Database::migrate(url.url(), all).await.expect("migrated");
    assert_eq!(names(&outcome.applied), names(all));
    for _ in 0..2 {
        let pending = Database::pending_migrations(url.url(), all).await;
        assert_eq!(names(&pending.expect("a list")), [""; 0]);
        let outcome = Database::migrate(url.url(), all).await.expect("nothing");
        assert!(outcome.applied.is_empty() && outcome.postponed.is_empty());
    }
    let store = open_store(url.url()).await.expect("a store");
    store.probe(&SystemClock).await.expect("a heartbeat");
}

#[both_databases]
async fn an_older_release_runs_until_the_schema_is_contracted(database: Kind) {
    let fixture = Fixture::new(database).await;
    let running = open_store(fixture.url.url()).await.expect("a store");
    fixture.migrate(newer(&[NOTES])).await.expect("expanded");
    running.probe(&SystemClock).await.expect("a heartbeat");
    let started = open_store(fixture.url.url()).await.expect("a second one");
    started.probe(&SystemClock).await.expect("a heartbeat");
    running.close().await;
    started.close().await;

    // Without a heartbeat, the migration cannot detect the instance.
    let silent = open_store(fixture.url.url()).await.expect("a store");
    let outcome = fixture.migrate(newer(&[NOTES, NO_TRACES])).await;
    assert_eq!(
        names(&outcome.expect("contracted").applied),
        ["9003_contract_no_traces"]
    );
    let refused = silent.probe(&SystemClock).await;
    assert!(
        matches!(refused, Err(StoreError::Contracted)),
        "{refused:?}"
    );
    let refused = open_store(fixture.url.url()).await.expect_err("too old");
    assert!(
        refused.to_string().contains(
            "a newer release applied migration 9003_contract_no_traces, which removed tables or columns that this \
             release uses"
        ),
        "{refused}"
    );
}

#[both_databases]
async fn a_contracting_migration_waits_for_older_instances(database: Kind) {
    let mut fixture = Fixture::new(database).await;
    let all = newer(&[NOTES, NO_TRACES, LABELS]);
    let old = open_store(fixture.url.url()).await.expect("a store");
    old.probe(&SystemClock).await.expect("a heartbeat");

    let outcome = fixture.migrate(all).await.expect("migrated");
    assert_eq!(
        names(&outcome.applied),
        ["9002_expand_application_notes", "9004_expand_labels"],
        "the waiting migration blocks no other"
    );
    let [postponed] = outcome.postponed.as_slice() else {
        panic!("{outcome:?}");
    };
    let (version, kind, name) = (
        postponed.migration.version(),
        postponed.migration.kind().as_str(),
        postponed.migration.name(),
    );
    assert_eq!((version, kind, name), (9003, "contract", "no_traces"));
    let [instance] = postponed.instances.as_slice() else {
        panic!("{outcome:?}");
    };
    assert_eq!(instance.release, env!("CARGO_PKG_VERSION"));
    assert_eq!(instance.process_id, i64::from(std::process::id()));
    assert!(instance.to_string().contains(&instance.id), "{instance}");

    // The new release runs beside the instance, and does not block it.
    let options = DatabaseOptions {
        migrations: all,
        ..DatabaseOptions::default()
    };
    Database::open_with(fixture.url.url(), options)
        .await
        .expect("it starts");
    assert_eq!(fixture.applied().await, ["application_notes", "labels"]);
    old.close().await;
    let outcome = fixture.migrate(all).await.expect("migrated");
    assert_eq!(names(&outcome.applied), ["9003_contract_no_traces"]);
}

#[both_databases]
async fn an_instance_without_heartbeats_counts_as_ended(database: Kind) {
    let mut fixture = Fixture::new(database).await;
    let all = newer(&[NO_TRACES]);
    let old = open_store(fixture.url.url()).await.expect("a store");
    old.probe(&SystemClock).await.expect("a heartbeat");
    let outcome = fixture.migrate(all).await.expect("nothing");
    assert_eq!(outcome.postponed.len(), 1);
    let age = i64::try_from((assent_store::HEARTBEAT_LIMIT + Duration::from_secs(1)).as_millis());
    let statement = format!(
        "UPDATE instances SET seen_at = seen_at - {}",
        age.expect("a number")
    );
    fixture
        .connection
        .batch(&statement)
        .await
        .expect("backdated");
    let outcome = fixture.migrate(all).await.expect("migrated");
    assert_eq!(names(&outcome.applied), ["9003_contract_no_traces"]);
}

/// The server uses PostgreSQL's clock, so a heartbeat of an instance with a wrong clock is equally recent.
#[tokio::test]
async fn an_instance_whose_clock_differs_counts_as_running() {
    let fixture = Fixture::new(Kind::Postgres).await;
    let old = open_store(fixture.url.url()).await.expect("a store");
    let ahead = ManualClock::new(SystemClock.now() + assent_store::HEARTBEAT_LIMIT * 10);
    old.probe(&ahead).await.expect("a heartbeat");
    let outcome = fixture.migrate(newer(&[NO_TRACES])).await.expect("nothing");
    assert!(outcome.applied.is_empty(), "{outcome:?}");
    let [postponed] = outcome.postponed.as_slice() else {
        panic!("{outcome:?}");
    };
    assert_eq!(postponed.instances.len(), 1);
}

/// The backfill of a contracting migration reads the column that the migration removes.
fn keep_labels(
    connection: &mut Connection,
    after: String,
    limit: i64,
) -> BoxFuture<'_, sql::Result<Option<String>>> {
    Box::pin(async move {
        let ids: Vec<(String,)> = sql::query_as(
            "UPDATE users SET note = label
             WHERE id IN (SELECT id FROM users WHERE id > $1 ORDER BY id LIMIT $2) RETURNING id",
        )
        .bind(after)
        .bind(limit)
        .fetch_all(connection)
        .await?;
        Ok(ids.into_iter().map(|(id,)| id).max())
    })
}

#[both_databases]
async fn a_contracting_migration_fills_before_it_removes(database: Kind) {
    let mut fixture = Fixture::new(database).await;
    fixture.add_users(&["ada", "bob"]).await;
    let more = [
        LABELS,
        Migration::new(
            "9005_expand_notes",
            "ALTER TABLE users ADD COLUMN note TEXT;",
        ),
    ];
    fixture.migrate(newer(&more)).await.expect("expanded");
    fixture
        .connection
        .batch("UPDATE users SET label = name")
        .await
        .expect("labelled");
    let contract = Migration::new(
        "9006_contract_labels",
        "ALTER TABLE users DROP COLUMN label;",
    )
    .with_backfill(keep_labels);
    let all = newer(&[more[0], more[1], contract]);
    let outcome = fixture.migrate(all).await.expect("contracted");
    assert_eq!(names(&outcome.applied), ["9006_contract_labels"]);
    let notes = fixture.texts("SELECT note FROM users ORDER BY id").await;
    assert_eq!(notes, ["ada", "bob"]);
    let pending = Database::pending_migrations(fixture.url.url(), all).await;
    assert!(pending.expect("a list").is_empty());
}

async fn open(url: &str, migrate: MigrationPolicy) -> Result<Database, StoreError> {
    let options = DatabaseOptions {
        migrate,
        migrations: newer(&[NOTES]),
        ..DatabaseOptions::default()
    };
    Database::open_with(url, options).await
}

fn expect_refusal(opened: Result<Database, StoreError>, missing: &str) {
    let refused = opened.expect_err("it has to be migrated").to_string();
    let expected = format!(
        "the database lacks migrations of this release ({missing}); run `assent migrate`, then start again"
    );
    assert!(refused.contains(&expected), "{refused}");
}

#[both_databases]
async fn a_start_migrates_where_the_policy_permits(database: Kind) {
    let mut fixture = Fixture::new(database).await;
    let (url, notes) = (fixture.url.url().to_owned(), NOTES.to_string());
    expect_refusal(open(&url, MigrationPolicy::Manual).await, &notes);
    let opened = open(&url, MigrationPolicy::SqliteOrEmpty).await;
    match database {
        Kind::Sqlite => drop(opened.expect("one instance migrates by itself")),
        Kind::Postgres => {
            expect_refusal(opened, &notes);
            assert_eq!(fixture.applied().await, [""; 0]);
            open(&url, MigrationPolicy::Automatic)
                .await
                .expect("migrated");
        }
    }
    assert_eq!(fixture.applied().await, ["application_notes"]);

    let folder = temp_folder();
    let empty = database.create(folder.path()).await;
    let all = names(newer(&[NOTES])).join(", ");
    expect_refusal(open(empty.url(), MigrationPolicy::Manual).await, &all);
    open(empty.url(), MigrationPolicy::SqliteOrEmpty)
        .await
        .expect("an empty database is filled");
    let pending = Database::pending_migrations(empty.url(), MIGRATIONS).await;
    assert!(pending.expect("a list").is_empty());
}
