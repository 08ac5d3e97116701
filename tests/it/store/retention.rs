//! Retention, consents and opening a database.

use super::*;
use assent_model::clock::{Clock, ManualClock, SystemClock};
use assent_store::sql;
use assent_test_macros::both_databases;

use crate::harness::temp_folder;

#[both_databases]
async fn expired_rows_are_deleted_in_batches_and_others_stay(database: Database) {
    let hour = Duration::from_secs(3600);
    let retention = Retention {
        logins: hour,
        sessions: hour,
        enrolments: hour,
        admin_tokens: hour,
        traces: hour,
        receipts: hour,
        audit: hour,
        streams: &[],
        denials: hour,
    };
    let Fixture { store, .. } = &fixture(database).await;
    let (ada, device) = ada(store).await;
    let requested = requested(store, Some(&ada), "ada").await;
    for _ in 0..1200 {
        store.insert_login(login()).await.expect("inserted");
    }
    assert_eq!(
        store
            .apply_retention(retention, NOW + hour)
            .await
            .expect("swept"),
        0
    );
    assert!(store.approval(requested.id).await.expect("read").is_some());
    // The sign-ins, the enrolment link of the device, and the first of the two changes of the request.
    assert_eq!(
        store
            .apply_retention(retention, NOW + hour + hour)
            .await
            .expect("swept"),
        1203
    );
    assert!(store.approval(requested.id).await.expect("read").is_none());
    assert!(store.user(ada.id).await.expect("read").is_some());
    assert!(store.device(device.id).await.expect("read").is_some());
}

#[both_databases]
async fn a_consent_is_valid_until_it_expires(database: Database) {
    let Fixture { store, .. } = &fixture(database).await;
    let (ada, _) = ada(store).await;
    let application = application();
    let insertion = AdminWrite::InsertClient(application.clone(), None);
    write(store, insertion, NOW).await.expect("inserted");
    let days = |count: u64| NOW + Duration::from_secs(count * 86_400);
    let remember = async |scopes, now: Timestamp| {
        let grant = ConsentGrant {
            id: ConsentId::new(now, &SystemEntropy),
            user: ada.id,
            application: application.id.clone(),
            scopes: Scopes::parse_known(scopes),
            until: now + Duration::from_secs(14 * 86_400),
        };
        store.remember_consent(grant, now).await.expect("stored");
    };
    let at = async |moment| {
        store
            .consented_scopes(ada.id, &application.id, moment)
            .await
            .expect("read")
            .to_string()
    };
    remember("openid email", NOW).await;
    remember("openid profile", days(1)).await;
    assert_eq!(
        at(days(1)).await,
        "openid profile email",
        "valid scopes are kept"
    );
    assert_eq!(at(days(15)).await, "");
    remember("openid", days(15)).await;
    assert_eq!(at(days(15)).await, "openid", "expired scopes are not kept");
}

#[tokio::test]
async fn a_database_with_a_wrong_collation_is_rejected() {
    let folder = temp_folder();
    let danish = "TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'da'";
    let url = Database::Postgres.create_with(folder.path(), danish).await;
    let error = open_store(url.url())
        .await
        .expect_err("a database with Danish collation")
        .to_string();
    assert!(
        error.contains(
            "its collation sorts texts by the rules of a language; create it with `createdb"
        ),
        "{error}"
    );
}

#[tokio::test]
async fn an_unreachable_database_is_named_without_its_password() {
    for url in [
        "mysql://x",
        "sqlite:///proc/nowhere/assent.db",
        "postgres://u:hunter2@127.0.0.1:1/x",
    ] {
        let error = open_store(url)
            .await
            .expect_err("no such database")
            .to_string();
        assert!(
            error.starts_with("cannot open the database") && !error.contains("hunter2"),
            "{error}"
        );
    }
}

const HOUR: Duration = Duration::from_secs(3600);
const RETENTION: Retention = Retention {
    logins: HOUR,
    sessions: HOUR,
    enrolments: HOUR,
    admin_tokens: HOUR,
    traces: HOUR,
    receipts: HOUR,
    audit: HOUR,
    streams: &[],
    denials: HOUR,
};

#[both_databases]
async fn a_clock_far_ahead_deletes_nothing(database: Database) {
    let Fixture { store, url, .. } = &fixture(database).await;
    store.probe(&SystemClock).await.expect("probed");
    let login = login();
    store.insert_login(login.clone()).await.expect("inserted");
    let ahead = ManualClock::new(SystemClock.now() + HOUR * 24 * 500);
    assert!(ahead.now() > NOW + HOUR * 24);
    let other = open_store(url).await.expect("a store");
    let deleted = other.run_retention(RETENTION, &ahead).await.expect("run");
    let difference = other.probe(&ahead).await.expect("probed");
    match database {
        Database::Sqlite => assert_eq!((deleted, difference), (Some(0), 0)),
        Database::Postgres => {
            assert_eq!(deleted, None);
            assert!(difference < -(499 * 86_400_000), "{difference}");
        }
    }
    let id = login.id;
    assert!(store.login(id, NOW).await.expect("read").is_some());
    store
        .apply_retention(RETENTION, NOW + HOUR * 3)
        .await
        .expect("run");
    assert!(store.login(id, NOW).await.expect("read").is_none());
}

#[both_databases]
async fn one_instance_applies_retention_at_a_time(database: Database) {
    let Fixture { store, url, .. } = &fixture(database).await;
    let other = open_store(url).await.expect("a store");
    let run = async |store: &Store| {
        store
            .run_retention(RETENTION, &SystemClock)
            .await
            .expect("run")
    };
    assert_eq!(run(store).await, Some(0));
    assert_eq!(run(&other).await, None);
    assert_eq!(run(store).await, Some(0));
    // The first instance stopped, and its lease has expired.
    let mut connection = assent_tests::harness::connect(url).await;
    sql::query("UPDATE leases SET leased_until = 1")
        .execute(&mut connection)
        .await
        .expect("updated");
    assert_eq!(run(&other).await, Some(0));
    assert_eq!(run(store).await, None);
}

#[both_databases]
async fn a_cancelled_read_returns_its_connection(database: Database) {
    let Fixture { store, .. } = &fixture(database).await;
    for _ in 0..100 {
        let mut read = Box::pin(store.users_by_state());
        let _ = futures_util::poll!(&mut read);
    }
    let reads = (0..100).map(|_| store.users_by_state());
    for read in futures_util::future::join_all(reads).await {
        read.expect("read");
    }
}

#[both_databases]
async fn changes_are_deleted_with_the_next_run_but_for_the_newest(database: Database) {
    let Fixture { store, url, .. } = &fixture(database).await;
    let (ada, _) = ada(store).await;
    let mut connection = assent_tests::harness::connect(url).await;
    let mut numbers = async || -> Vec<i64> {
        let rows: Vec<(i64,)> = sql::query_as("SELECT seq FROM changes ORDER BY seq")
            .fetch_all(&mut connection)
            .await
            .expect("read");
        rows.into_iter().map(|(number,)| number).collect()
    };
    let run = async || store.apply_retention(RETENTION, NOW).await.expect("run");
    requested(store, Some(&ada), "ada").await;
    let before = numbers().await;
    run().await;
    assert_eq!(
        numbers().await,
        before,
        "a waiting request may not have read them yet"
    );
    requested(store, Some(&ada), "ada").await;
    run().await;
    let left = numbers().await;
    assert!(
        left.starts_with(&before[before.len() - 1..]) && left.len() > 1,
        "{left:?}"
    );
    run().await;
    run().await;
    assert_eq!(
        numbers().await,
        left[left.len() - 1..],
        "the next number follows it"
    );
    requested(store, None, "nobody").await;
    assert!(numbers().await[1] > left[left.len() - 1]);
}
