//! Callbacks: at any instance, after a restart, late, replayed and forged.

use assent_store::sql;
use assent_test_macros::both_databases;
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};

use super::vendor::Vendor;
use super::{add_external_authenticator, call_back, next_page, path_of, question};
use crate::harness::{
    Body, Browser, Database, HostOptions, Page, Respond, TestHost, TestUser, Text, http_client,
    plugins,
};

/// A poll interval that never elapses, because the clock of the test stands still.
const LONG: u32 = 30_000;

struct PendingRequest {
    host: TestHost,
    ada: TestUser,
    waiting: Page,
    question: Value,
    callback: String,
    settings: String,
}

/// Starts a sign-in of Ada that waits for a callback of the vendor.
async fn requested(vendor: &Vendor, database: Database) -> PendingRequest {
    let settings = plugins(&vendor.channel("vendor", ""));
    let host = TestHost::start_on_with_plugins(database, &settings).await;
    let ada = host.ada().await;
    add_external_authenticator(&host, &ada, "vendor", "ada@vendor").await;
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let question = question(&host, vendor, "ada@vendor").await;
    let callback = path_of(question["callback_url"].text());
    PendingRequest {
        host,
        ada,
        waiting,
        question,
        callback,
        settings,
    }
}

fn callbacks(question: &Value) -> String {
    json!({"request_id": question["request_id"], "status": "approved"}).to_string()
}

#[tokio::test]
async fn a_callback_triggers_a_poll_and_decides_nothing() {
    let vendor = Vendor::start(LONG).await;
    let it = requested(&vendor, Database::Sqlite).await;
    // The callback claims that the user approved. The poll returns another status.
    assert_eq!(
        call_back(&it.host.base, &it.callback, callbacks(&it.question)).await,
        StatusCode::NO_CONTENT
    );
    vendor.polled(&it.question, 1).await;
    assert_eq!(it.waiting.again().await.number(), it.waiting.number());
    vendor.answer(&it.question, "approved");
    super::wait_until("the decision was accepted", async || {
        let next = it
            .host
            .host
            .store
            .next_delivery()
            .await
            .expect("read")
            .expect("a delivery");
        next.remaining(it.host.host.now()) <= Duration::from_secs(30)
    })
    .await;
    assert_eq!(
        call_back(&it.host.base, &it.callback, callbacks(&it.question)).await,
        StatusCode::NO_CONTENT
    );
    assert!(
        next_page(&it.waiting)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
    assert_eq!(
        vendor.polls(&it.question),
        2,
        "the clock did not advance, so only the callbacks triggered the polls"
    );
}

#[both_databases]
async fn a_callback_may_reach_another_instance(database: Database) {
    let vendor = Vendor::start(LONG).await;
    let it = requested(&vendor, database).await;
    let options = HostOptions {
        plugins: &it.settings,
        database,
        ..HostOptions::default()
    };
    let (_, other, base) = it.host.second(options).await;
    vendor.answer(&it.question, "approved");
    assert_eq!(
        call_back(&base, &it.callback, callbacks(&it.question)).await,
        StatusCode::NO_CONTENT
    );
    assert!(
        next_page(&it.waiting)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
    other.stop().await;
}

#[tokio::test]
async fn a_restart_between_begin_and_callback_loses_nothing() {
    let vendor = Vendor::start(LONG).await;
    let mut it = requested(&vendor, Database::Sqlite).await;
    it.host.stop().await;
    let options = HostOptions {
        plugins: &it.settings,
        ..HostOptions::default()
    };
    let (_, restarted, base) = it.host.second(options).await;
    vendor.answer(&it.question, "approved");
    let page = it.waiting.browser().at(&base).get(&it.waiting.path()).await;
    assert_eq!(page.number(), it.waiting.number());
    assert_eq!(
        call_back(&base, &it.callback, callbacks(&it.question)).await,
        StatusCode::NO_CONTENT
    );
    assert!(next_page(&page).await.parameter("code").starts_with("ac_"));
    restarted.stop().await;
}

#[both_databases]
async fn an_instance_that_stops_returns_the_leases_on_its_deliveries(database: Database) {
    let vendor = Vendor::start(LONG).await;
    let mut it = requested(&vendor, database).await;
    vendor.answer(&it.question, "hangs");
    assert_eq!(
        call_back(&it.host.base, &it.callback, callbacks(&it.question)).await,
        StatusCode::NO_CONTENT
    );
    vendor.polled(&it.question, 1).await;
    it.host.stop().await;
    vendor.answer(&it.question, "approved");
    let options = HostOptions {
        plugins: &it.settings,
        database,
        ..HostOptions::default()
    };
    let (_, restarted, base) = it.host.second(options).await;
    // The clock stands still, so no lease has expired.
    let page = it.waiting.browser().at(&base).get(&it.waiting.path()).await;
    assert!(next_page(&page).await.parameter("code").starts_with("ac_"));
    restarted.stop().await;
}

/// The stored handle is unreadable for a while. This represents any failure inside the instance.
#[both_databases]
async fn a_failed_attempt_at_a_delivery_returns_its_lease(database: Database) {
    let vendor = Vendor::start(LONG).await;
    let it = requested(&vendor, database).await;
    let mut connection = it.host.connection().await;
    let handle: (String,) = sql::query_as("SELECT handle FROM approval_deliveries")
        .fetch_one(&mut connection)
        .await
        .expect("read");
    let mut set_handle = async |handle: &str| {
        sql::query("UPDATE approval_deliveries SET handle = $1")
            .bind(handle.to_owned())
            .execute(&mut connection)
            .await
            .expect("updated");
    };
    set_handle("unreadable").await;
    vendor.answer(&it.question, "approved");
    assert_eq!(
        call_back(&it.host.base, &it.callback, callbacks(&it.question)).await,
        StatusCode::NO_CONTENT
    );
    let store = &it.host.host.store;
    super::wait_until("an instance attempted the delivery", async || {
        let next = store.next_delivery().await.expect("read");
        next.expect("a delivery").remaining(it.host.host.now()) > Duration::from_secs(30)
    })
    .await;
    set_handle(&handle.0).await;
    // The clock stands still, so the lease cannot expire.
    assert!(
        next_page(&it.waiting)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
}

#[tokio::test]
async fn late_and_replayed_callbacks_change_nothing() {
    let vendor = Vendor::start(LONG).await;
    let it = requested(&vendor, Database::Sqlite).await;
    vendor.answer(&it.question, "denied");
    let several = (0..8).map(|_| call_back(&it.host.base, &it.callback, callbacks(&it.question)));
    for status in futures_util::future::join_all(several).await {
        assert_eq!(status, StatusCode::NO_CONTENT);
    }
    assert_eq!(next_page(&it.waiting).await.outcome(), "denied");
    let polls = vendor.polls(&it.question);
    vendor.answer(&it.question, "approved");
    for _ in 0..3 {
        assert_eq!(
            call_back(&it.host.base, &it.callback, callbacks(&it.question)).await,
            StatusCode::NO_CONTENT
        );
    }
    it.host.advance(10);
    assert_eq!(it.waiting.again().await.outcome(), "denied");
    assert_eq!(vendor.polls(&it.question), polls);
    // A callback also changes nothing after the two minutes. The denial began a cooldown.
    it.host.advance(30);
    let waiting = it
        .ada
        .begin_sign_in(&Browser::new(&it.host.base), &[])
        .await;
    let question = question(&it.host, &vendor, "ada@vendor").await;
    it.host.advance(120);
    vendor.answer(&question, "approved");
    assert_eq!(
        call_back(&it.host.base, &it.callback, callbacks(&question)).await,
        StatusCode::NO_CONTENT
    );
    super::wait_until("the request is cancelled", async || {
        vendor.cancelled(&question) == 1
    })
    .await;
    assert_eq!(
        (waiting.again().await.outcome(), vendor.polls(&question)),
        ("expired".to_owned(), 0)
    );
}

#[tokio::test]
async fn a_channel_receives_no_callbacks_for_other_channels() {
    let (vendor, other) = (Vendor::start(LONG).await, Vendor::start(LONG).await);
    let settings = plugins(&(vendor.channel("vendor", "") + &other.channel("other", "")));
    let host = TestHost::start_with_plugins(&settings).await;
    let application = host.web_application().await;
    let (ada, eve) = (
        host.user_with_account("ada", application.clone()).await,
        host.user_with_account("eve", application).await,
    );
    add_external_authenticator(&host, &ada, "vendor", "ada@vendor").await;
    add_external_authenticator(&host, &eve, "other", "eve@other").await;
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    eve.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let (question, others) = (
        question(&host, &vendor, "ada@vendor").await,
        question(&host, &other, "eve@other").await,
    );
    let address = |question: &Value| path_of(question["callback_url"].text());
    assert_ne!(address(&question), address(&others));
    vendor.answer(&question, "approved");
    assert_eq!(
        call_back(&host.base, &address(&others), callbacks(&question)).await,
        StatusCode::NO_CONTENT
    );
    // The channel polls for its own request, so it had time to poll for the other one too.
    assert_eq!(
        call_back(&host.base, &address(&others), callbacks(&others)).await,
        StatusCode::NO_CONTENT
    );
    other.polled(&others, 1).await;
    assert_eq!(
        (vendor.polls(&question), waiting.again().await.number()),
        (0, waiting.number())
    );
}

#[tokio::test]
async fn a_callback_response_does_not_reveal_whether_a_request_exists() {
    let vendor = Vendor::start(LONG).await;
    let it = requested(&vendor, Database::Sqlite).await;
    let answer = async |path: &str, body: String| {
        let url = format!("{}{path}", it.host.base);
        let answer = http_client().post(url).body(body).response().await;
        let length = answer.headers().len();
        (answer.status(), length, answer.read_text().await)
    };
    let good = answer(&it.callback, callbacks(&it.question)).await;
    assert_eq!((good.0, good.2.as_str()), (StatusCode::NO_CONTENT, ""));
    for body in [
        "",
        "{}",
        "not JSON",
        "[]",
        r#"{"request_id": "018f0000000070008000000000000001"}"#,
        r#"{"request_id": 1}"#,
    ] {
        assert_eq!(answer(&it.callback, body.to_owned()).await, good, "{body}");
    }
    let many: Vec<Value> = vec![it.question["request_id"].clone(); 1000];
    assert_eq!(answer(&it.callback, json!(many).to_string()).await, good);
    assert_eq!(
        answer(&it.callback, "x".repeat(65 * 1024)).await.0,
        StatusCode::PAYLOAD_TOO_LARGE
    );
    let long = http_client().post(format!("{}{}", it.host.base, it.callback));
    let long = (0..70).fold(long, |request, n| request.header(format!("x-{n}"), "x"));
    assert_eq!(
        long.response().await.status(),
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
    );
    let id = it.callback.rsplit('/').next().expect("an id");
    assert!(id.len() == 43, "{id}");
    for unknown in [
        "x",
        "vendor",
        &id[1..],
        &format!("{id}A"),
        &id.to_lowercase(),
    ] {
        assert_eq!(
            answer(
                &format!("/approvals/callbacks/{unknown}"),
                callbacks(&it.question)
            )
            .await
            .0,
            StatusCode::NOT_FOUND
        );
    }
    let page = it.waiting.browser().get(&it.callback).await;
    assert_eq!(page.status, StatusCode::METHOD_NOT_ALLOWED);
}
