//! The effect of an erasure on audit entries of the user's actions in the console, and on stored responses.

use assent::domain::audit::verify::verify;
use assent_model::audit::chain::Break;
use assent_store::sql;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::protected_actions::{requested, waiting};
use super::{Administrator, Caller, sent};
use crate::harness::{Database, Device, TestHost, Text, id};
use crate::lifecycle::entries;

async fn erase(host: &TestHost, user: &Value) {
    let path = format!("/users/{}", id(user));
    host.erase_user(&path).await;
}

#[both_databases]
async fn erasure_of_an_administrator_keeps_the_data_of_others(database: Database) {
    let host = TestHost::start_on(database).await;
    let application = host.web_application().await;
    let ada = Administrator::new(&host, "ada", "owner").await;
    let grace = Administrator::new(&host, "grace", "owner").await;
    let bob = host.user("bob").await;
    for owner in [&ada, &grace] {
        let console = owner.signed_in(&host).await;
        let slim = json!({"slim_id_token": owner.user["name"] == "ada"});
        console
            .call(
                Method::PATCH,
                &format!("/applications/{}", application.id),
                slim,
            )
            .await
            .success();
        let nickname = json!({"profile": {"nickname": format!("from {}", owner.user["name"])}});
        console
            .call(Method::PATCH, &format!("/users/{}", id(&bob)), nickname)
            .await
            .success();
    }
    let by =
        async |owner: &Administrator| entries(&host, &format!("actor={}", id(&owner.user))).await;
    let (adas, graces) = (by(&ada).await, by(&grace).await);
    assert!(
        adas.iter()
            .chain(&graces)
            .all(|entry| entry["personal"]["ip_address"] == "127.0.0.1"),
        "{adas:?}"
    );
    erase(&host, &ada.user).await;

    let after = by(&ada).await;
    assert_eq!(after.len(), adas.len());
    for (was, is) in adas.iter().zip(&after) {
        assert_eq!(
            (&was["id"], &was["event"], &was["detail"]),
            (&is["id"], &is["event"], &is["detail"])
        );
        for origin in ["ip_address", "browser"] {
            assert_eq!(is["personal"][origin], Value::Null, "{database:?}: {is}");
        }
        if is["event"] == "user.updated" {
            assert_eq!(
                is["personal"]["after"], was["personal"]["after"],
                "Bob's data stays: {is}"
            );
            assert!(is["personal"]["after"].to_string().contains("from"), "{is}");
        }
    }
    assert_eq!(by(&grace).await, graces, "{database:?}");
    let broken = async || {
        verify(&host.host.store, None)
            .await
            .expect("verified")
            .broken
            .map(|broken| broken.what)
    };
    assert_eq!(broken().await, None, "{database:?}");

    // Grace was not erased, so verification reports the missing origin. It also finds a replaced one.
    let mut connection = host.connection().await;
    let mut change = async |set: &str| {
        let of_grace = format!(
            "UPDATE audit_entries SET {set} WHERE actor = $1 AND origin_digest IS NOT NULL"
        );
        sql::query(of_grace)
            .bind(id(&grace.user).to_owned())
            .execute(&mut connection)
            .await
            .expect("set");
    };
    change("origin = '{\"address\":\"192.0.2.1\"}'").await;
    assert!(
        matches!(broken().await, Some(Break::PersonalChanged { .. })),
        "{database:?}"
    );
    change("origin = NULL, origin_salt = NULL").await;
    assert!(
        matches!(broken().await, Some(Break::PersonalRemoved { .. })),
        "{database:?}"
    );
}

/// The entries of a device contain personal data of its user: the IP address and the device's name.
#[both_databases]
async fn audit_entries_of_devices_do_not_name_an_erased_user(database: Database) {
    let host = TestHost::start_on(database).await;
    // A second owner, because the last owner cannot be erased.
    let _owner = Administrator::new(&host, "grace", "owner").await;
    // No identifier contains this name by chance.
    let ada = Administrator::new(&host, "augusta", "owner").await;
    let bob = host.user("bob").await;
    let bobs_phone = host.authenticator(&bob).await;
    bobs_phone.recovery_codes().await;

    let console = ada.signed_in(&host).await;
    let path = format!("/users/{}", id(&bob));
    console
        .call(
            Method::PATCH,
            &path,
            json!({"profile": {"nickname": "Bobby"}}),
        )
        .await
        .success();
    host.advance(30);
    // A device denies a protected action on another user.
    requested(&console, Method::DELETE, &path, &Value::Null).await;
    assert_eq!(ada.device.deny(&waiting(&ada.device).await).await, "denied");
    ada.device.recovery_codes().await;
    let link = ada
        .device
        .call_ok(Method::POST, "/devices/enrolment-links", None)
        .await;
    let link = link["link"].text();
    let tablet = Device::enrol(link, "Augusta's tablet").await;
    let rename = format!("/devices/{}", tablet.device());
    let name = json!({"name": "Slate of Augusta"});
    tablet.call_ok(Method::PATCH, &rename, Some(name)).await;
    // The first device is deleted before the erasure. The erasure deletes the second.
    tablet.call_ok(Method::DELETE, "/device", None).await;

    let by = async |actor: &str| entries(&host, &format!("actor={actor}")).await;
    let [device, tablet, bobs] =
        [ada.device.device(), tablet.device(), bobs_phone.device()].map(|id| id.to_string());
    let actors = [device.as_str(), tablet.as_str(), id(&ada.user)];
    let mut before = Vec::new();
    for actor in actors {
        let entries = by(actor).await;
        let has_address = |entry: &Value| entry["personal"]["ip_address"] == "127.0.0.1";
        assert!(entries.iter().any(has_address), "{database:?}: {entries:?}");
        before.push(entries);
    }
    let words = ["augusta", "slate", "tablet"];
    let all = json!(entries(&host, "").await).to_string().to_lowercase();
    assert!(
        words.iter().all(|word| all.contains(word)),
        "{database:?}: {all}"
    );
    let of_bob = by(&bobs).await;
    erase(&host, &ada.user).await;

    for (actor, before) in actors.into_iter().zip(&before) {
        let after = by(actor).await;
        assert_eq!(after.len(), before.len(), "{database:?}");
        for (was, is) in before.iter().zip(&after) {
            assert_eq!(
                (&was["id"], &was["event"], &was["detail"]),
                (&is["id"], &is["event"], &is["detail"])
            );
            for origin in ["ip_address", "browser", "name"] {
                assert_eq!(is["personal"][origin], Value::Null, "{database:?}: {is}");
            }
            if is["actor"]["kind"] == "device" {
                assert_eq!(is["personal"], json!({}), "{database:?}: {is}");
            }
        }
        // The columns that the API does not show contain no origin either.
        let mut connection = host.connection().await;
        let origins = "SELECT COUNT(*) FROM audit_entries
                           WHERE actor = $1 AND (origin IS NOT NULL OR origin_salt IS NOT NULL)";
        let origins = sql::query_as(origins)
            .bind(actor.to_owned())
            .fetch_one(&mut connection)
            .await;
        let (origins,): (i64,) = origins.expect("a count");
        assert_eq!(origins, 0, "{database:?}");
    }
    let all = json!(entries(&host, "").await).to_string().to_lowercase();
    for word in words {
        assert!(!all.contains(word), "{database:?}: {word} in {all}");
    }
    assert_eq!(
        by(&bobs).await,
        of_bob,
        "{database:?}: the responses about others stay"
    );
    assert_eq!(
        verify(&host.host.store, None)
            .await
            .expect("verified")
            .broken,
        None,
        "{database:?}"
    );
}

#[both_databases]
async fn erasure_deletes_stored_responses_about_the_user_only(database: Database) {
    let host = TestHost::start_on(database).await;
    let application = host.web_application().await;
    let caller = Caller::machine(&host);
    let post = async |path: &str, key: &str, body: &Value| {
        let request = caller
            .request(Method::POST, path)
            .header("idempotency-key", key);
        sent(if body.is_null() {
            request
        } else {
            request.json(body)
        })
        .await
    };
    let (ada, bob) = (
        json!({"name": "ada", "email": "ada@example.org"}),
        json!({"name": "bob"}),
    );
    let user = post("/users", "ada", &ada).await.body;
    let other = post("/users", "bob", &bob).await.body;
    let accounts = format!("/applications/{}/accounts", application.id);
    post(&accounts, "account", &json!({"user_id": id(&user)}))
        .await
        .success();
    let link = format!("/users/{}/enrolments", id(&user));
    assert_eq!(
        post(&link, "link", &Value::Null).await.status,
        StatusCode::CREATED
    );
    let stored = async || {
        let rows: Vec<(String,)> = sql::query_as("SELECT id FROM idempotent_requests")
            .fetch_all(&mut host.connection().await)
            .await
            .expect("rows");
        rows.len()
    };
    assert_eq!(stored().await, 4, "{database:?}");
    erase(&host, &user).await;
    assert_eq!(stored().await, 1, "{database:?}");
    assert_eq!(
        post("/users", "bob", &bob).await.body["id"],
        other["id"],
        "{database:?}"
    );
}
