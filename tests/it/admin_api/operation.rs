//! Keys, plugins, settings and the overview.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::Caller;
use crate::harness::{Browser, Database, TestHost, Wish};

#[tokio::test]
async fn keys_are_rotated_and_revoked() {
    let host = TestHost::start().await;
    let caller = Caller::machine(&host);
    let of = |keys: &Value, state: &str| -> Vec<String> {
        let keys =
            keys["items"].as_array().expect("keys").iter().filter(|key| key["alg"] == "RS256" && key["state"] == state);
        keys.map(|key| key["kid"].as_str().expect("a kid").to_owned()).collect()
    };
    let before = caller.get("/keys").await.good();
    assert_eq!((of(&before, "signing").len(), of(&before, "published").len()), (1, 0));
    let rotated = caller.call(Method::POST, "/keys/rotate", json!({"algorithm": "RS256"})).await.good();
    assert_eq!(of(&rotated, "signing"), of(&before, "signing"));
    let next = of(&rotated, "published");
    let rotated = caller.call(Method::POST, "/keys/rotate", json!({"algorithm": "RS256", "now": true})).await.good();
    assert_eq!(of(&rotated, "signing"), next, "the one that waited");
    let path = format!("/keys/{}/revoke", next[0]);
    let revoked = caller.call(Method::POST, &path, Value::Null).await.good();
    assert_eq!(of(&revoked, "revoked"), next);
    assert_ne!(of(&revoked, "signing"), next);
    assert_eq!(caller.call(Method::POST, &path, Value::Null).await.status, StatusCode::CONFLICT);
    assert_eq!(caller.call(Method::POST, "/keys/none/revoke", Value::Null).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn plugins_are_told_with_what_they_may_do() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    ada.sign_in(&Browser::new(&host.base)).await;
    let told = host.admin_ok(Method::GET, "/plugins", Value::Null).await;
    let mapper = &told["plugins"][0];
    assert_eq!((&mapper["plugin"], &mapper["role"]), (&json!("account-roles"), &json!("claim-mapper")));
    assert_eq!(mapper["granted"], json!({"applications": null, "writes": ["account"], "hosts": []}));
    assert_eq!(mapper["sha256"].as_str().map(str::len), Some(64));
    assert!(mapper["measured"]["calls"].as_u64() > Some(0), "{told}");
}

#[tokio::test]
async fn settings_are_told_with_their_source_and_without_secrets() {
    for database in Database::BOTH {
        let settings = "operator = \"Example\"\n";
        let host = TestHost::start_with(Wish { database, settings, ..Wish::default() }).await;
        let told = host.admin_ok(Method::GET, "/settings", Value::Null).await;
        let items = told["items"].as_array().expect("items");
        let of = |key: &str| items.iter().find(|item| item["key"] == key).unwrap_or_else(|| panic!("no {key}: {told}"));
        assert_eq!(
            of("operator"),
            &json!({"key": "operator", "value": "Example", "is_set": true, "is_secret": false, "source": "file"})
        );
        assert_eq!((&of("audit.days")["source"], &of("audit.days")["is_set"]), (&json!("default"), &json!(true)));
        assert_eq!(
            of("store.url"),
            &json!({"key": "store.url", "is_set": true, "is_secret": true, "source": "file"}),
            "an address may have a password in it"
        );
    }
}

#[tokio::test]
async fn the_overview_counts_on_both_databases() {
    for database in Database::BOTH {
        let host = TestHost::start_with(Wish { database, ..Wish::default() }).await;
        let ada = host.ada().await;
        host.user("eve").await;
        let browser = Browser::new(&host.base);
        ada.sign_in(&browser).await;
        let page = ada.ask(&Browser::new(&host.base), &[("prompt", Some("login"))]).await;
        let requests = ada.phone.waiting(5).await.expect("requests");
        ada.phone.decide(&requests[0], None).await.expect("denied");
        drop(page);
        let counts = host.admin_ok(Method::GET, "/overview", Value::Null).await;
        assert_eq!(
            counts["users"],
            json!({"invited": 1, "active": 1, "suspended": 0, "terminated": 0}),
            "{database:?}"
        );
        assert_eq!(counts["applications"], json!({"openid_connect": 1, "saml": 0}));
        let hours = counts["sign_ins"].as_array().expect("hours");
        assert_eq!(hours.len(), 24);
        assert_eq!((&hours[23]["completed"], &hours[23]["failed"]), (&json!(1), &json!(1)), "{counts}");
        assert!(hours[..23].iter().all(|hour| hour["completed"] == 0 && hour["failed"] == 0));
    }
}
