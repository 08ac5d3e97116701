//! Keys, plugins, settings and the overview.

use assent::domain::keys::signing_keys::PUBLICATION_MARGIN;
use assent_store::sql;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::Caller;
use crate::harness::{Browser, Database, Json, TestHost, TestUser, Text};

#[tokio::test]
async fn signing_keys_are_rotated_and_revoked() {
    let host = TestHost::start().await;
    let caller = Caller::machine(&host);
    let of = |keys: &Value, state: &str| -> Vec<String> {
        let keys = keys["items"]
            .items()
            .iter()
            .filter(|key| key["alg"] == "RS256" && key["stage"] == state);
        keys.map(|key| key["kid"].text().to_owned()).collect()
    };
    let before = caller.get("/keys").await.success();
    assert_eq!(
        (of(&before, "signing").len(), of(&before, "published").len()),
        (1, 0)
    );
    let rotated = caller
        .call(Method::POST, "/keys/rotate", json!({"algorithm": "RS256"}))
        .await
        .success();
    assert_eq!(of(&rotated, "signing"), of(&before, "signing"));
    assert_eq!(rotated["changed"], true);
    let next = of(&rotated, "published");
    let again = caller
        .call(Method::POST, "/keys/rotate", json!({"algorithm": "RS256"}))
        .await
        .success();
    assert_eq!(
        (&again["changed"], of(&again, "published")),
        (&json!(false), next.clone())
    );
    host.clock.advance(PUBLICATION_MARGIN);
    let rotated = caller
        .call(
            Method::POST,
            "/keys/rotate",
            json!({"algorithm": "RS256", "now": true}),
        )
        .await
        .success();
    assert_eq!(of(&rotated, "signing"), next, "the one that waited");
    assert_eq!(rotated["changed"], true);
    let path = format!("/keys/{}/revoke", next[0]);
    let revoked = caller
        .call(Method::POST, &path, Value::Null)
        .await
        .success();
    assert_eq!(of(&revoked, "revoked"), next);
    assert_ne!(of(&revoked, "signing"), next);
    assert_eq!(
        caller.call(Method::POST, &path, Value::Null).await.status,
        StatusCode::CONFLICT
    );
    assert_eq!(
        caller
            .call(Method::POST, "/keys/none/revoke", Value::Null)
            .await
            .status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn plugins_are_listed_with_their_grants() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    ada.sign_in(&Browser::new(&host.base)).await;
    let returned = host.admin_ok(Method::GET, "/plugins", Value::Null).await;
    let mapper = &returned["plugins"][0];
    assert_eq!(
        (&mapper["plugin"], &mapper["role"]),
        (&json!("account-roles"), &json!("claim-mapper"))
    );
    assert_eq!(
        mapper["grants"],
        json!({"applications": null, "writes": ["account"], "hosts": []})
    );
    assert_eq!(mapper["sha256"].as_str().map(str::len), Some(64));
    assert!(mapper["metrics"]["calls"].as_u64() > Some(0), "{returned}");
}

#[both_databases]
async fn settings_are_listed_with_their_source_and_without_secrets(database: Database) {
    let settings = "operator = \"Example\"\n";
    let host = TestHost::start_on_with(database, settings).await;
    let returned = host.admin_ok(Method::GET, "/settings", Value::Null).await;
    let items = returned["items"].items();
    let of = |key: &str| {
        items
            .iter()
            .find(|item| item["key"] == key)
            .unwrap_or_else(|| panic!("no {key}: {returned}"))
    };
    assert_eq!(
        of("operator"),
        &json!({
            "key": "operator",
            "description": "The operator's name, as the pages show it.",
            "value": "Example",
            "is_set": true,
            "is_secret": false,
            "source": "file",
        })
    );
    assert_eq!(
        (
            &of("audit.retention")["source"],
            &of("audit.retention")["is_set"]
        ),
        (&json!("default"), &json!(true))
    );
    assert_eq!(
        of("database.url"),
        &json!({
            "key": "database.url",
            "description": "`sqlite://path/to/file`, or `postgres://user:password@host/database` for several \
                            instances.",
            "is_set": true,
            "is_secret": true,
            "source": "file",
        }),
        "an address may have a password in it"
    );
}

/// Starts an instance with two users. Ada signed in a minute ago, at the beginning of an hour.
async fn with_sign_in(database: Database) -> (TestHost, TestUser) {
    let settings = "[lifetimes]\nadmin_token = \"1d\"\n";
    let host = TestHost::start_on_with(database, settings).await;
    // All events are in one hour, at any time of the test run.
    let in_hour = host.host.now().seconds().rem_euclid(3600);
    host.advance(3600 - u64::try_from(in_hour).expect("a part of an hour"));
    let ada = host.ada().await;
    host.user("eve").await;
    let browser = Browser::new(&host.base);
    ada.sign_in(&browser).await;
    host.advance(60);
    (host, ada)
}

#[both_databases]
async fn the_overview_counts_users_sessions_and_requests(database: Database) {
    let (host, ada) = with_sign_in(database).await;
    let page = ada
        .begin_sign_in(&Browser::new(&host.base), &[("prompt", Some("login"))])
        .await;
    let requests = ada.device.pending_requests(5).await;
    ada.device.deny(&requests[0]).await;
    drop(page);
    let counts = host.admin_ok(Method::GET, "/overview", Value::Null).await;
    assert_eq!(
        counts["users"],
        json!({"invited": 1, "active": 1, "suspended": 0, "terminated": 0}),
        "{database:?}"
    );
    assert_eq!(
        counts["applications"],
        json!({"openid_connect": 1, "saml": 0})
    );
    let requested = counts["response_times"]
        .items()
        .iter()
        .find(|one| one["endpoint"] == "authorization");
    let requested = requested.expect("the authorization endpoint");
    assert_eq!(
        (&requested["count"], &requested["failures"]),
        (&json!(2), &json!(0)),
        "{counts}"
    );
    assert!(
        requested["p99_us"].as_u64() >= requested["p50_us"].as_u64() && requested["p50_us"] != 0,
        "{counts}"
    );
    let of = |counts: &Value, place: usize| counts["sign_ins"].items()[place].clone();
    assert_eq!(
        (
            counts["sign_ins"].as_array().map(Vec::len),
            &counts["bucket"]
        ),
        (Some(24), &json!("hour"))
    );
    let now = of(&counts, 23);
    assert_eq!(
        [
            &now["completed"],
            &now["denied"],
            &now["expired"],
            &now["number_mismatches"]
        ],
        [&json!(1), &json!(1), &json!(0), &json!(0)],
        "{counts}"
    );
    assert_eq!(
        (&now["approval_ms_p50"], &now["approval_ms_p95"]),
        (&json!(0), &json!(0)),
        "the test clock does not advance"
    );
    let before = of(&counts, 0);
    assert_eq!(
        (&before["completed"], &before["approval_ms_p50"]),
        (&json!(0), &Value::Null)
    );
}

#[both_databases]
async fn the_overview_counts_waiting_times_and_past_hours_once(database: Database) {
    let (host, ada) = with_sign_in(database).await;
    host.advance(600);
    let browser = Browser::new(&host.base);
    let page = ada
        .begin_sign_in(&browser, &[("prompt", Some("login"))])
        .await;
    host.advance(12);
    ada.approve(&page).await;
    browser.finish(&page.url).await;
    host.advance(2 * 60 * 60);
    for _ in 0..2 {
        let counts = host
            .admin_ok(Method::GET, "/overview?range=day", Value::Null)
            .await;
        let all = counts["sign_ins"].items();
        assert_eq!(
            all.iter()
                .filter_map(|one| one["completed"].as_u64())
                .sum::<u64>(),
            2,
            "{counts}"
        );
        assert!(
            all.iter().any(|one| one["approval_ms_p95"] == 12_000),
            "{database:?}: {counts}"
        );
    }
    let month = host
        .admin_ok(Method::GET, "/overview?range=month", Value::Null)
        .await;
    let days = month["sign_ins"].items();
    assert_eq!((days.len(), &month["bucket"]), (30, &json!("day")));
    assert_eq!(
        days.iter()
            .filter_map(|one| one["completed"].as_u64())
            .sum::<u64>(),
        2,
        "{month}"
    );
    let mut connection = host.connection().await;
    let stored: (i64,) =
        sql::query_as("SELECT CAST(COALESCE(SUM(completed), 0) AS BIGINT) FROM sign_in_hours")
            .fetch_one(&mut connection)
            .await
            .expect("counted");
    assert_eq!(stored.0, 2, "{database:?}");
    let (status, _) = host
        .admin(Method::GET, "/overview?range=year", Value::Null)
        .await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}
