//! The bounds of open sign-ins: by network, for known browsers, and in total.

use assent_store::sql;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};

use crate::harness::{Browser, Database, Respond, TestHost, TestUser, Text};

async fn host_with(database: Database, limits: &str) -> (TestHost, TestUser) {
    let settings = format!("[http]\ntrusted_proxies = [\"127.0.0.1\"]\n[rate_limits]\n{limits}\n");
    let host = TestHost::start_on_with(database, &settings).await;
    let ada = host.ada().await;
    (host, ada)
}

/// Begins a sign-in in this network. Returns the path of its page.
async fn begin(host: &TestHost, ada: &TestUser, browser: &Browser, from: &str) -> String {
    let request = browser.request(Method::GET, &ada.application.request(&[]));
    let answer = request.header("x-forwarded-for", from).response().await;
    assert_eq!(answer.status(), StatusCode::SEE_OTHER);
    // Ids of the same millisecond have no order.
    host.advance(1);
    answer.headers()["location"].text().to_owned()
}

/// Returns the number of open sign-ins in networks with this beginning.
async fn open(host: &TestHost, network: &str) -> i64 {
    let (open,): (i64,) = sql::query_as(
        "SELECT COUNT(*) FROM logins WHERE approval_id IS NULL AND session_id IS NULL AND answered_at IS NULL
           AND network LIKE $1",
    )
    .bind(format!("{network}%"))
    .fetch_one(&mut host.connection().await)
    .await
    .expect("a count");
    open
}

#[both_databases]
async fn open_sign_ins_of_a_home_and_a_rented_machine_are_bounded(database: Database) {
    let (host, ada) = host_with(database, "open_sign_ins_per_ip = 2").await;
    // A home has a /56, so 256 networks.
    for number in 0..20 {
        let from = format!("2001:db8:0:{number:x}::1");
        begin(&host, &ada, &Browser::new(&host.base), &from).await;
    }
    assert_eq!(open(&host, "2001:db8:0:").await, 8, "{database:?}");
    // A rented machine has a /48, so 65,536 networks.
    for number in 0..50 {
        let from = format!("2001:db8:1:{:x}::1", number * 256);
        begin(&host, &ada, &Browser::new(&host.base), &from).await;
    }
    assert_eq!(open(&host, "2001:db8:1:").await, 32, "{database:?}");
    // Another network is not concerned.
    let browser = Browser::new(&host.base);
    let login = begin(&host, &ada, &browser, "2001:db8:2::1").await;
    assert_eq!(browser.get(&login).await.status, StatusCode::OK);
}

/// In total, the network with the most open sign-ins loses its oldest. The others lose nothing.
#[both_databases]
async fn an_attacker_evicts_only_own_sign_ins(database: Database) {
    let (host, ada) = host_with(database, "open_sign_ins_total = 12").await;
    let victim = Browser::new(&host.base);
    let oldest = begin(&host, &ada, &victim, "192.0.2.1").await;
    for number in 0..60 {
        let from = format!("2001:db8:1:{number:x}::1");
        begin(&host, &ada, &Browser::new(&host.base), &from).await;
    }
    assert_eq!(
        victim.get(&oldest).await.status,
        StatusCode::OK,
        "{database:?}"
    );
    assert!(open(&host, "2001:db8:1:").await <= 12, "{database:?}");
}

/// A browser in which a user signed in before keeps its sign-ins, but only 20 of them.
#[both_databases]
async fn known_browsers_lose_their_sign_ins_last(database: Database) {
    let limits = "open_sign_ins_per_ip = 30\nopen_sign_ins_total = 40\nlogin_pages_per_ip = { per_minute = 0 }";
    let (host, ada) = host_with(database, limits).await;
    let known = Browser::new(&host.base);
    ada.sign_in(&known).await;
    // The session is ended, so that the browser is only known.
    sql::query("UPDATE sessions SET ended_at = 1, signed_out = 1")
        .execute(&mut host.connection().await)
        .await
        .expect("ended");
    let first = begin(&host, &ada, &known, "192.0.2.1").await;
    for _ in 0..60 {
        begin(&host, &ada, &Browser::new(&host.base), "192.0.2.1").await;
    }
    assert_eq!(
        known.get(&first).await.status,
        StatusCode::OK,
        "{database:?}"
    );
    for _ in 0..25 {
        begin(&host, &ada, &known, "192.0.2.1").await;
    }
    assert_eq!(
        known.get(&first).await.status,
        StatusCode::NOT_FOUND,
        "{database:?}"
    );
    let (held,): (i64,) = sql::query_as("SELECT COUNT(*) FROM logins WHERE known = 1")
        .fetch_one(&mut host.connection().await)
        .await
        .expect("a count");
    assert_eq!(held, 20, "{database:?}");
    // A stranger in the same network can still begin a sign-in.
    let stranger = Browser::new(&host.base);
    let login = begin(&host, &ada, &stranger, "192.0.2.1").await;
    assert_eq!(
        stranger.get(&login).await.status,
        StatusCode::OK,
        "{database:?}"
    );
}
