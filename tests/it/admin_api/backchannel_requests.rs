//! What an application asked users without a browser, for administrators.

use assent_store::Retention;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use std::time::Duration;

use super::{Caller, console_caller, service};
use crate::harness::{Database, TestHost, TestUser, Text};
use crate::oidc::ciba;

async fn get(host: &TestHost, path: &str) -> Value {
    host.admin_ok(Method::GET, path, Value::Null).await
}

/// Asks for Ada, and answers in this way.
async fn asked(host: &TestHost, ada: &TestUser, message: &str, answer: &str) {
    ciba::asked(host, ada, &[("binding_message", Some(message))]).await;
    let request = ciba::pending(&ada.device).await;
    match answer {
        "approved" => ada.device.approve(&request, "").await,
        "denied" => ada.device.deny(&request).await,
        _ => ada.device.submit_report(&request).await,
    };
}

#[both_databases]
async fn an_administrator_sees_what_an_application_asked(database: Database) {
    let (host, ada) = ciba::start(database).await;
    let path = format!("/applications/{}/backchannel-requests", ada.application.id);
    assert_eq!(get(&host, &path).await["items"], json!([]));
    assert_eq!(
        get(&host, &format!("{path}/days")).await["items"],
        json!([])
    );
    asked(&host, &ada, "Order 1", "approved").await;
    // The list is in the order of the times.
    host.advance(1);
    asked(&host, &ada, "Order 2", "denied").await;
    host.advance(1);
    // The denial pauses the application.
    ciba::asked(&host, &ada, &[("binding_message", Some("Order 3"))]).await;
    host.advance(700);
    asked(&host, &ada, "Order 4", "reported").await;

    let listed = get(&host, &path).await;
    let items = listed["items"].as_array().expect("a list");
    let outcomes: Vec<(&str, &str)> = items
        .iter()
        .map(|one| (one["message"].text(), one["outcome"].text()))
        .collect();
    assert_eq!(
        outcomes,
        [
            ("Order 4", "reported"),
            ("Order 3", "not_shown"),
            ("Order 2", "denied"),
            ("Order 1", "approved"),
        ],
        "{database:?}"
    );
    assert_eq!(
        (&items[3]["user_name"], &items[3]["user_id"]),
        (&json!("ada"), &ada.user["id"])
    );
    assert!(!items[3]["device_name"].text().is_empty(), "{listed}");
    assert!(
        items[1]["decided_at"].is_null() && !items[3]["decided_at"].is_null(),
        "{listed}"
    );
    let days = get(&host, &format!("{path}/days")).await;
    let day = &days["items"][0];
    let counts = [
        "requests",
        "approved",
        "denied",
        "reported",
        "expired",
        "not_shown",
    ];
    assert_eq!(
        counts.map(|name| day[name].clone()),
        [4, 1, 1, 1, 0, 1].map(Value::from),
        "{database:?}: {days}"
    );

    let first = get(&host, &format!("{path}?limit=3")).await;
    let next = first["next"].text();
    let second = get(&host, &format!("{path}?limit=3&after={next}")).await;
    assert_eq!(second["items"][0]["message"], "Order 1");
    assert!(second.get("next").is_none(), "{second}");
}

/// The list has names and messages, so it needs the permission of the audit log.
#[tokio::test]
async fn only_readers_of_the_audit_log_see_the_requests() {
    let (host, ada) = ciba::start(Database::Sqlite).await;
    let path = format!("/applications/{}/backchannel-requests", ada.application.id);
    let support = console_caller(&host, "sue", "support").await;
    let auditor = console_caller(&host, "tom", "auditor").await;
    let applications = service(&host, &["admin:applications"]).await;
    for (caller, expected) in [
        (&support, StatusCode::FORBIDDEN),
        (&applications, StatusCode::FORBIDDEN),
        (&auditor, StatusCode::OK),
        (&Caller::machine(&host), StatusCode::OK),
    ] {
        for path in [path.clone(), format!("{path}/days")] {
            assert_eq!(caller.get(&path).await.status, expected, "{path}");
        }
    }
    let nothing = "/applications/did:key:z6Mkx/backchannel-requests";
    assert_eq!(
        Caller::machine(&host).get(nothing).await.status,
        StatusCode::NOT_FOUND
    );
}

#[both_databases]
async fn retention_deletes_requests_after_thirty_days(database: Database) {
    let (host, ada) = ciba::start(database).await;
    let path = format!("/applications/{}/backchannel-requests", ada.application.id);
    asked(&host, &ada, "Order 1", "approved").await;
    let day = Duration::from_secs(86_400);
    let retention = Retention {
        logins: day,
        sessions: day,
        enrolments: day,
        admin_tokens: 400 * day,
        traces: day,
        receipts: day,
        audit: 400 * day,
        streams: &[],
        denials: day,
    };
    let store = &host.host.store;
    let now = host.host.now();
    store
        .apply_retention(retention, now + 29 * day)
        .await
        .expect("a run");
    assert_eq!(
        get(&host, &path).await["items"].as_array().map(Vec::len),
        Some(1)
    );
    store
        .apply_retention(retention, now + 31 * day)
        .await
        .expect("a run");
    assert_eq!(get(&host, &path).await["items"], json!([]), "{database:?}");
}
