//! Faults and changes of PostgreSQL.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use assent_store::{Database, MIGRATIONS, Migration};
use assent_tests::flows::load::under_load;
use assent_tests::flows::{Cluster, PostgresServer, SignIn, new_name};
use assent_tests::harness::{Browser, DatabaseUrl, FaultProxy};
use futures_util::future::{join, join_all};
use tokio::time::sleep;

use crate::cluster;

/// A time after which an instance tests its connections before it uses them.
const IDLE: Duration = Duration::from_secs(12);
/// The time for which the snapshot stays open.
const SNAPSHOT: Duration = Duration::from_secs(180);
/// The duration of the measurement of a rate.
const MEASURED: Duration = Duration::from_secs(20);

/// Waits until both instances serve again, and returns a text with the times.
async fn expect_both(cluster: &Cluster, since: Instant) -> String {
    let mut times = Vec::new();
    for index in [0, 1] {
        cluster.route_to(index);
        let took = cluster.expect_service(since).await;
        times.push(format!("{:.1} s", took.as_secs_f64()));
    }
    cluster.route_to_both();
    format!("sign-ins after {}", times.join(" and "))
}

pub async fn crash() -> String {
    let server = PostgresServer::start();
    let cluster = cluster(&server).await;
    let mut result = String::new();
    let rounds = under_load(&cluster, async |load| {
        load.more(5).await;
        server.crash();
        sleep(Duration::from_secs(2)).await;
        server.start_again();
        result = expect_both(&cluster, Instant::now()).await;
        load.more(5).await;
    })
    .await;
    format!("{result}, {rounds} rounds of the load")
}

pub async fn fail_over() -> String {
    let server = PostgresServer::start();
    let mut cluster = cluster(&server).await;
    let replica = server.start_replica();
    let mut result = String::new();
    // The instances reach the database through their proxies. The test's own connections do not.
    cluster.database = cluster.database.at_socket_of(replica.folder());
    let rounds = under_load(&cluster, async |load| {
        load.more(5).await;
        server.crash();
        replica.promote();
        for instance in &cluster.instances {
            instance.proxy.redirect(replica.socket());
        }
        result = expect_both(&cluster, Instant::now()).await;
        load.more(5).await;
    })
    .await;
    format!("{result}, {rounds} rounds of the load")
}

/// A firewall forgets the connections of an idle instance, and drops their packets.
pub async fn silent_connections() -> String {
    let server = PostgresServer::start();
    let cluster = cluster(&server).await;
    cluster.route_to(0);
    cluster.expect_service(Instant::now()).await;
    sleep(IDLE).await;
    cluster.instances[0].proxy.silence();
    let took = cluster.expect_service(Instant::now()).await;
    assert!(took < Duration::from_secs(5), "{took:?}");
    format!("a sign-in after {:.1} s", took.as_secs_f64())
}

/// The same while a migration waits for its statement, which has no time limit.
pub async fn silent_migration() -> String {
    let server = PostgresServer::start();
    let database = DatabaseUrl::create_at(&server.url(), "").await;
    let proxy = FaultProxy::start(server.socket()).await;
    let url = database.behind(proxy.port());
    let slow = [Migration::new("9002_expand_sleep", "SELECT pg_sleep(15)")];
    let slow: &'static [Migration] = [MIGRATIONS, &slow].concat().leak();
    // One that takes longer than the interval of questions succeeds.
    Database::migrate(url.url(), slow).await.expect("migrated");
    let more = [Migration::new("9003_expand_sleep", "SELECT pg_sleep(15)")];
    let more: &'static [Migration] = [slow, &more].concat().leak();
    let since = Instant::now();
    let silence = async {
        sleep(Duration::from_secs(2)).await;
        proxy.silence();
    };
    let (outcome, ()) = join(Database::migrate(url.url(), more), silence).await;
    let error = outcome.expect_err("silent");
    format!("{error} after {:.0} s", since.elapsed().as_secs_f64())
}

pub async fn newer_schema() -> String {
    let server = PostgresServer::start();
    let mut cluster = cluster(&server).await;
    let more = [
        Migration::new(
            "9002_expand_application_notes",
            "ALTER TABLE applications ADD COLUMN note TEXT; ALTER TABLE users ADD COLUMN note TEXT;",
        ),
        Migration::new(
            "9003_expand_audit_by_time",
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS audit_entries_by_time ON audit_entries (happened_at);",
        ),
    ];
    let newer: &'static [Migration] = [MIGRATIONS, &more].concat().leak();
    let rounds = under_load(&cluster, async |load| {
        load.more(3).await;
        let url = cluster.database.url();
        let outcome = Database::migrate(url, newer).await.expect("migrated");
        assert_eq!(outcome.applied.len(), more.len());
        load.more(5).await;
    })
    .await;
    cluster.kill(1).await;
    cluster.start_instance(1, &[]).await;
    let result = expect_both(&cluster, Instant::now()).await;
    format!("{result}, {rounds} rounds of the load")
}

pub async fn open_snapshot() -> String {
    let server = PostgresServer::start();
    let cluster = cluster(&server).await;
    cluster.route_to_both();
    let signed_in = AtomicUsize::new(0);
    let is_finished = std::sync::atomic::AtomicBool::new(false);
    let workers = join_all((0..8).map(async |_| {
        let user = cluster.ada_named(&new_name()).await;
        let browser = Browser::new(&cluster.base);
        let mut first = SignIn::new(&user, browser.clone(), &[]);
        first.attempt().await.expect("signed in");
        // With a session, each request is a commit with an audit entry.
        while !is_finished.load(Ordering::Relaxed) {
            let page = browser.get(&user.application.request(&[])).await;
            assert!(!page.parameter("code").is_empty());
            signed_in.fetch_add(1, Ordering::Relaxed);
        }
    }));
    let measured = async || {
        let before = signed_in.load(Ordering::Relaxed);
        sleep(MEASURED).await;
        (signed_in.load(Ordering::Relaxed) - before) as f64 / MEASURED.as_secs_f64()
    };
    let observed = async {
        sleep(MEASURED).await;
        let before = measured().await;
        let mut snapshot = cluster.database.connection().await;
        snapshot
            .batch("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT COUNT(*) FROM audit_entries")
            .await
            .expect("a snapshot");
        sleep(SNAPSHOT).await;
        let after = measured().await;
        snapshot.batch("COMMIT").await.expect("ended");
        is_finished.store(true, Ordering::Relaxed);
        (before, after)
    };
    let (_, (before, after)) = join(workers, observed).await;
    assert!(
        after >= before / 2.0,
        "{before:.0} sign-ins/s before, {after:.0} beside the snapshot"
    );
    cluster.verify_audit_log().await;
    format!(
        "{before:.0} sign-ins/s before, {after:.0} after {} s",
        SNAPSHOT.as_secs()
    )
}
