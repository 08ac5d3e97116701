//! An instance with a wrong clock, by libfaketime.

use std::time::{Duration, Instant};

use assent_store::sql;
use assent_tests::flows::postgres_server::glob;
use assent_tests::flows::{Cluster, Flow, PostgresServer, new_name};
use assent_tests::harness::in_time;
use tokio::time::sleep;

use crate::cluster;

/// Returns the numbers of rows that retention could delete.
async fn rows(cluster: &Cluster) -> Vec<i64> {
    let mut connection = cluster.database.connection().await;
    let (sessions, families, entries): (i64, i64, i64) = sql::query_as(
        "SELECT (SELECT COUNT(*) FROM sessions), (SELECT COUNT(*) FROM token_families),
                (SELECT COUNT(*) FROM audit_entries)",
    )
    .fetch_one(&mut connection)
    .await
    .expect("counts");
    vec![sessions, families, entries]
}

/// Starts the second instance with a clock that differs by this time.
pub async fn differs(difference: &str) -> String {
    let library = glob("/usr/lib", "faketime/libfaketimeMT.so.1");
    let library = library.expect("libfaketime; run: scripts/setup faults");
    let server = PostgresServer::start();
    let mut cluster = cluster(&server).await;
    let mut refresh = Flow::Refresh.prepare(&cluster, &new_name()).await;
    let before = rows(&cluster).await;
    cluster.kill(1).await;
    let library = library.to_str().expect("UTF-8").to_owned();
    let environment = [
        ("LD_PRELOAD", library.as_str()),
        ("FAKETIME", difference),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
    ];
    cluster.start_instance(1, &environment).await;
    let deletes_nothing = async {
        while !cluster.log(1).contains("this instance deletes nothing") {
            sleep(Duration::from_millis(100)).await;
        }
    };
    in_time(deletes_nothing).await;
    let (status, text) = cluster.readiness(1).await.expect("an answer");
    assert_eq!(
        (status, text.as_str()),
        (503, "the clock differs from the database's clock\n")
    );
    let after = rows(&cluster).await;
    assert!(
        before
            .iter()
            .zip(&after)
            .all(|(before, after)| before <= after),
        "{before:?} rows before, {after:?} after"
    );
    // The balancer sends no connections to an instance that is not ready.
    cluster.route_to(0);
    let took = cluster.expect_service(Instant::now()).await;
    refresh.attempt().await.expect("refreshed");
    refresh.check(&cluster).await;
    cluster.verify_audit_log().await;
    format!(
        "not ready, no row deleted; the other signed a user in after {:.1} s",
        took.as_secs_f64()
    )
}
