//! Waiting for changes costs a few statements a second, however many requests wait. Another instance may make the
//! change.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assent::domain::approvals::request;
use assent::domain::devices::device::{self, DeviceInbox};
use assent::domain::sign_in::qr_sign_in;
use assent::domain::{InternalError, Services};
use assent_model::change::Change;
use assent_model::clock::Timestamp;
use assent_model::device::Device;
use assent_model::entropy::SystemEntropy;
use assent_model::id::{ApprovalId, DeviceId, LoginId, UserId};
use assent_model::language::Language;
use assent_store::sql;
use assent_test_macros::both_databases;
use futures_util::FutureExt;
use futures_util::future::join_all;
use reqwest::Method;

use crate::harness::{
    Browser, Database, HostOptions, Page, Parsed, Statements, TestHost, TestUser, id, in_time,
};

/// The reads of the poller.
const POLL: &str = "FROM changes WHERE seq > ";
/// The reads of the background task of approval channels, about one a second.
const BACKGROUND: &str = "FROM approval_dispatches";
/// The reads of requests that wait for a decision, for an approval request and for a name.
const WAITED_FOR: [&str; 3] = [
    "FROM approvals WHERE",
    "JOIN devices d",
    "FROM logins WHERE",
];
/// A time that exceeds the duration of any test, in seconds.
const PATIENT: u32 = 3600;

/// Inserts `count` further devices of the user. Each key is the key of the enrolled device with a different number of
/// spaces after it, because two devices cannot have the same key.
async fn more_devices_of(host: &TestHost, ada: &TestUser, count: usize) -> Vec<Device> {
    let user: UserId = id(&ada.user).parsed();
    let store = &host.host.store;
    let enrolled = store.devices_of(user).await.expect("read").swap_remove(0);
    let mut database = host.connection().await;
    let mut devices = Vec::new();
    for number in 1..=count {
        let device = DeviceId::new(Timestamp::from_millis(1), &SystemEntropy);
        sql::query(
            "INSERT INTO devices (id, user_id, name, public_key, created_at, enrolment_id, enrolled_by, link_issued_at)
             SELECT $1, user_id, name, public_key || $2, created_at, enrolment_id, enrolled_by, link_issued_at
             FROM devices WHERE id = $3",
        )
        .bind(device.to_string())
        .bind(" ".repeat(number))
        .bind(enrolled.id.to_string())
        .execute(&mut database)
        .await
        .expect("inserted");
        devices.extend(store.device(device).await.expect("read"));
    }
    assert_eq!(devices.len(), count);
    devices
}

async fn inbox(
    services: &Arc<Services>,
    device: &Device,
    shown: &HashSet<ApprovalId>,
) -> Result<Option<DeviceInbox>, InternalError> {
    device::request(services, device, PATIENT, shown, None, Language::English).await
}

/// Returns the numbers of requests and notifications.
fn counts(inbox: Result<Option<DeviceInbox>, InternalError>) -> (usize, usize) {
    let inbox = inbox.expect("read").expect("the device is enrolled");
    (inbox.pending.len(), inbox.notifications.len())
}

fn login_of(page: &Page) -> LoginId {
    page.path().trim_start_matches("/login/").parsed()
}

async fn until(what: &str, done: impl Fn() -> bool) {
    let waited = async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    println!("waiting until {what}");
    in_time(waited).await;
}

/// No request waits, so for a while the poller reads nothing.
async fn assert_no_poll(services: &Services, statements: &Statements) {
    assert_eq!(services.store.waiting_requests(), 0);
    let looks = statements.count(BACKGROUND);
    // A poll for the last request may be under way.
    statements.reach(BACKGROUND, looks + 2).await;
    let polls = statements.count(POLL);
    statements.reach(BACKGROUND, looks + 4).await;
    assert_eq!(statements.count(POLL), polls, "no request waits");
}

#[both_databases]
async fn five_hundred_waiting_requests_cost_ten_statements_a_second(database: Database) {
    let statements = Statements::capture();
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let services = &host.host;
    let page = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let code = ada
        .application
        .login_page(&Browser::new(&host.base), &[])
        .await;
    let request = ada.device.pending_requests(0).await[0].id;
    let shown = HashSet::from([request]);
    // Each of them reads its own inbox at the end, and a busy machine rejects reads that wait for too long.
    let devices = more_devices_of(&host, &ada, 50).await;
    assert_no_poll(services, &statements).await;

    let pages = join_all((0..350).map(|_| request::decided(services, request)));
    let inboxes = join_all(devices.iter().map(|device| inbox(services, device, &shown)));
    let codes = join_all((0..100).map(|_| qr_sign_in::is_scanned(services, login_of(&code))));
    let mut waiting = Box::pin(async { tokio::join!(pages, inboxes, codes) });
    let measured = async {
        until("each request waits", || {
            services.store.waiting_requests() == 500
        })
        .await;
        // When the poller begins, each request that waits already reads once more.
        let reads = || WAITED_FOR.map(|words| statements.count(words));
        for _ in 0..20 {
            let before = reads();
            statements.reach(POLL, statements.count(POLL) + 10).await;
            if reads() == before {
                break;
            }
        }
        let (begun, before) = (Instant::now(), statements.executed().len());
        statements.reach(POLL, statements.count(POLL) + 20).await;
        (begun.elapsed(), statements.executed().split_off(before))
    };
    let (took, executed) = tokio::select! {
        _ = &mut waiting => panic!("nothing happened"),
        measured = measured => measured,
    };
    for waited_for in WAITED_FOR {
        assert!(
            !executed.iter().any(|text| text.contains(waited_for)),
            "{executed:?}"
        );
    }
    let most = 10.0 * took.as_secs_f64() + 5.0;
    println!("{} statements in {took:?}", executed.len());
    assert!(
        f64::from(u32::try_from(executed.len()).expect("few")) < most,
        "{executed:?}"
    );

    let happening = async {
        ada.approve(&page).await;
        code.submit_name("ada").await;
    };
    let ((pages, inboxes, codes), ()) = in_time(async { tokio::join!(waiting, happening) }).await;
    for page in pages {
        page.expect("read");
    }
    for inbox in inboxes {
        inbox.expect("read");
    }
    for scanned in codes {
        assert!(scanned.expect("read"), "a name was typed");
    }

    // No request waits any more, so the poller stops.
    assert_no_poll(services, &statements).await;
}

/// The second instance waits until the first one makes the change.
#[both_databases]
async fn a_change_on_another_instance_wakes_waiting_requests(database: Database) {
    let statements = Statements::capture();
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let options = HostOptions {
        database,
        ..HostOptions::default()
    };
    let (second, running, _) = host.second(options).await;
    let phone = more_devices_of(&host, &ada, 1).await.remove(0);
    let browser = Browser::new(&host.base);
    // Both instances poll while a request waits on them. Here a request waits only on the second one.
    let polled = async || {
        until("one request waits", || second.store.waiting_requests() == 1).await;
        statements.reach(POLL, statements.count(POLL) + 3).await;
    };

    let login = ada.application.login_page(&browser, &[]).await;
    let typed = async {
        polled().await;
        login.submit_name("ada").await
    };
    let scanned = qr_sign_in::is_scanned(&second, login_of(&login));
    let (scanned, page) = in_time(async { tokio::join!(scanned, typed) }).await;
    assert!(scanned.expect("read"), "a name was typed");

    let request = ada.device.pending_requests(0).await[0].id;
    let none = HashSet::new();
    let seen = in_time(inbox(&second, &phone, &none)).await;
    assert_eq!(counts(seen), (1, 0), "a request is returned");
    let shown = HashSet::from([request]);
    let (decided, seen, ()) = in_time(async {
        tokio::join!(
            request::decided(&second, request),
            inbox(&second, &phone, &shown),
            async {
                until("both requests wait", || {
                    second.store.waiting_requests() == 2
                })
                .await;
                statements.reach(POLL, statements.count(POLL) + 3).await;
                ada.approve(&page).await;
            }
        )
    })
    .await;
    decided.expect("read");
    assert_eq!(counts(seen), (0, 0), "the request has ended");

    let asking = async {
        polled().await;
        ada.begin_sign_in(&Browser::new(&host.base), &[]).await
    };
    let (seen, page) = in_time(async { tokio::join!(inbox(&second, &phone, &none), asking) }).await;
    assert_eq!(counts(seen), (1, 0), "a request is returned");
    page.cancel().await;
    // Events of the same millisecond as the enrolment cause no notification.
    host.advance(1);
    let changing = async {
        polled().await;
        ada.device.recovery_codes().await;
    };
    let (seen, ()) = in_time(async { tokio::join!(inbox(&second, &phone, &none), changing) }).await;
    assert_eq!(counts(seen), (0, 1), "a notification is returned");
    running.stop().await;
}

#[both_databases]
async fn the_expiry_of_a_request_ends_a_wait_without_a_change(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let request = ada.device.pending_requests(0).await[0].id;
    let phone = more_devices_of(&host, &ada, 1).await.remove(0);
    let shown = HashSet::from([request]);
    let passing = async {
        until("both requests wait", || {
            host.host.store.waiting_requests() == 2
        })
        .await;
        host.advance(121);
    };
    let (decided, seen, ()) = in_time(async {
        tokio::join!(
            request::decided(&host.host, request),
            inbox(&host.host, &phone, &shown),
            passing
        )
    })
    .await;
    decided.expect("read");
    assert_eq!(counts(seen), (0, 0), "the request has ended");
}

/// The statements of a call that finds nothing and waits until its end. It reads the device and the passkey once, and
/// the pending work at the beginning and at the end. When the poller begins, each request reads once more.
#[both_databases]
async fn a_long_poll_without_a_change_costs_few_statements(database: Database) {
    let statements = Statements::capture();
    let (_host, ada) = TestHost::start_on(database).await.with_ada().await;
    let before = statements.executed().len();
    let path = "/authenticator/api/requests";
    let reply = ada.device.call(Method::GET, path, "?wait=1", Vec::new());
    assert_eq!(
        reply.await.expect("an answer").body["requests"],
        serde_json::json!([])
    );
    let tables = [
        "devices",
        "users",
        "approvals",
        "approval_cooldowns",
        "passkeys",
    ];
    let executed = statements.executed().split_off(before);
    let of_the_call: Vec<&String> = executed
        .iter()
        .filter(|text| text.starts_with("SELECT"))
        .filter(|text| {
            tables
                .iter()
                .any(|table| text.contains(&format!("{table} ")))
        })
        .collect();
    assert!((2..=5).contains(&of_the_call.len()), "{of_the_call:#?}");
}

#[both_databases]
async fn a_poll_of_a_revoked_device_ends_at_once(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let phone = more_devices_of(&host, &ada, 1).await.remove(0);
    let revoke = format!("/devices/{}", phone.id);
    host.admin_ok(Method::DELETE, &revoke, serde_json::json!({}))
        .await;
    let seen = in_time(inbox(&host.host, &phone, &HashSet::new())).await;
    assert!(seen.expect("read").is_none());
}

/// On PostgreSQL, transactions may commit in another order than the order of their numbers.
#[tokio::test]
async fn a_change_that_commits_after_later_ones_is_not_missed() {
    let host = TestHost::start_on(Database::Postgres).await;
    let [first, second] = [(); 2]
        .map(|()| Change::Approval(ApprovalId::new(Timestamp::from_millis(1), &SystemEntropy)));
    let store = &host.host.store;
    let (mut of_first, mut of_second) = (store.listen([first]), store.listen([second]));
    // The poller begins with a wake-up of both requests.
    in_time(of_first.changed(None)).await;
    in_time(of_second.changed(None)).await;
    let insert = |change: Change| {
        sql::query("INSERT INTO changes (change) VALUES ($1)").bind(change.to_string())
    };
    let mut late = host.connection().await;
    late.batch("BEGIN").await.expect("a transaction");
    insert(first).execute(&mut late).await.expect("inserted");
    let mut early = host.connection().await;
    insert(second).execute(&mut early).await.expect("inserted");
    in_time(of_second.changed(None)).await;
    assert!(of_first.changed(None).now_or_never().is_none());
    late.batch("COMMIT").await.expect("committed");
    in_time(of_first.changed(None)).await;
}

#[both_databases]
async fn a_device_has_two_long_polls_and_the_newest_replaces_the_oldest(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let poll = async || {
        let path = "/authenticator/api/requests";
        let reply = ada.device.call(Method::GET, path, "?wait=30", Vec::new());
        reply.await.expect("an answer").body["requests"].clone()
    };
    let store = &host.host.store;
    let waiting = |count: usize| {
        until("the requests wait", move || {
            store.waiting_requests() == count
        })
    };
    let mut first = Box::pin(poll());
    let mut second = Box::pin(poll());
    let mut third = Box::pin(poll());
    tokio::select! {
        _ = &mut first => panic!("nothing happened"),
        () = waiting(1) => {}
    }
    tokio::select! {
        _ = &mut second => panic!("nothing happened"),
        () = waiting(2) => {}
    }
    let replaced = tokio::select! {
        _ = &mut third => panic!("nothing happened"),
        _ = &mut second => panic!("the oldest is replaced"),
        replaced = in_time(&mut first) => replaced,
    };
    assert_eq!(replaced, serde_json::json!([]), "nothing new");
    assert_eq!(store.waiting_requests(), 2);
    ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let (second, third) = in_time(async { tokio::join!(second, third) }).await;
    for requests in [second, third] {
        assert_eq!(requests.as_array().map(Vec::len), Some(1));
    }
}
