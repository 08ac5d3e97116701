//! A user's devices: enrolment by another device, revocation, and notifications on the others.

use assent::authenticator::enrolled::Authenticator;
use assent_store::sql;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{entries, events};
use crate::harness::{Browser, Database, Device, Json, TestHost, TestUser, Text, id};

/// Returns the account notifications of the device.
async fn notifications(device: &Device) -> Vec<Value> {
    let answer = device.call_ok(Method::GET, "/requests", None).await;
    answer["notifications"].items().clone()
}

async fn link(device: &Device) -> String {
    let created = device
        .call_ok(Method::POST, "/devices/enrolment-links", None)
        .await;
    assert!(
        created["link_qr"]
            .as_str()
            .is_some_and(|picture| picture.starts_with("<?xml")),
        "{created}"
    );
    created["link"].text().to_owned()
}

/// Returns Ada with a second device, which uses an enrolment link of the first.
async fn with_second(host: &TestHost) -> (TestUser, Device) {
    let ada = host.ada().await;
    host.advance(1);
    let second = Device::enrol(&link(&ada.device).await, "Tablet").await;
    (ada, second)
}

#[both_databases]
async fn a_device_enrols_a_second_device_and_both_approve(database: Database) {
    let host = TestHost::start_on(database).await;
    let (ada, second) = with_second(&host).await;
    let listed = second.call_ok(Method::GET, "/devices", None).await;
    let names: Vec<_> = listed["devices"]
        .items()
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(names, ["Tablet", "Test phone"], "{database:?}");
    assert_eq!(
        (
            &listed["devices"][0]["is_current"],
            &listed["devices"][1]["is_current"]
        ),
        (&json!(true), &json!(false))
    );

    let browser = Browser::new(&host.base);
    let waiting = ada.begin_sign_in(&browser, &[]).await;
    let request = &second.pending_requests(5).await[0];
    assert_eq!(second.approve(request, &waiting.number()).await, "approved");
    let too_late = ada
        .device
        .decide(request, Some(&waiting.number()))
        .await
        .expect_err("decided")
        .to_string();
    assert!(too_late.starts_with("already_decided"), "{too_late}");

    let returned = entries(
        &host,
        &format!("user={}&event=enrolment.link-created", id(&ada.user)),
    )
    .await;
    assert_eq!(
        returned.last().expect("an entry")["actor"]["id"],
        ada.device.device().to_string()
    );
}

#[tokio::test]
async fn a_device_link_is_valid_once_for_15_minutes_while_its_user_may_sign_in() {
    let host = TestHost::start().await;
    let (ada, _) = with_second(&host).await;
    let refused = async |link: &str| {
        Authenticator::enrol(link, "Third", None)
            .await
            .map(|_| ())
            .expect_err("rejected")
            .to_string()
    };
    let used = link(&ada.device).await;
    Device::enrol(&used, "Third").await;
    assert!(refused(&used).await.starts_with("link_used"));
    let gone = link(&ada.device).await;
    let path = format!("/users/{}", id(&ada.user));
    host.admin_ok(Method::PATCH, &path, json!({"state": "suspended"}))
        .await;
    let error = ada
        .device
        .ask(Method::POST, "/devices/enrolment-links", None)
        .await
        .expect_err("rejected")
        .to_string();
    assert!(error.starts_with("user_inactive"), "{error}");
    host.admin_ok(Method::PATCH, &path, json!({"state": "active"}))
        .await;
    assert!(
        refused(&gone).await.starts_with("link_withdrawn"),
        "the link does not return with the user"
    );
    let late = link(&ada.device).await;
    host.advance(15 * 60 + 1);
    assert!(refused(&late).await.starts_with("link_expired"));
}

#[tokio::test]
async fn a_user_removes_only_their_own_devices_with_immediate_effect() {
    let host = TestHost::start().await;
    let (ada, second) = with_second(&host).await;
    let bob = host.user_with_account("bob", ada.application.clone()).await;
    for wrong in [
        bob.device.device().to_string(),
        "no-id".to_owned(),
        ada.account["id"].text().to_owned(),
    ] {
        let error = ada
            .device
            .ask(Method::DELETE, &format!("/devices/{wrong}"), None)
            .await
            .expect_err("rejected");
        assert!(error.to_string().starts_with("device_not_found"), "{error}");
    }
    bob.device.pending_requests(0).await;

    let browser = Browser::new(&host.base);
    let waiting = ada.begin_sign_in(&browser, &[]).await;
    let request = second.pending_requests(5).await[0].clone();
    let path = format!("/devices/{}", second.device());
    ada.device.call_ok(Method::DELETE, &path, None).await;
    let error = second
        .decide(&request, Some(&waiting.number()))
        .await
        .expect_err("rejected")
        .to_string();
    assert!(error.starts_with("device_not_enrolled"), "{error}");
    // A repeated removal succeeds, because the first response may have been lost.
    ada.device.call_ok(Method::DELETE, &path, None).await;
    let returned = entries(
        &host,
        &format!("user={}&event=device.revoked", id(&ada.user)),
    )
    .await;
    assert_eq!(returned.len(), 1);
    assert_eq!(returned[0]["actor"]["id"], ada.device.device().to_string());
}

#[both_databases]
async fn a_user_renames_devices(database: Database) {
    let host = TestHost::start_on(database).await;
    let (ada, second) = with_second(&host).await;
    let long = "n".repeat(80);
    for name in ["Test phone", &long, &long] {
        host.advance(1);
        Device::enrol(&link(&ada.device).await, name).await;
    }
    let path = format!("/devices/{}", second.device());
    ada.device
        .call_ok(Method::PATCH, &path, Some(json!({"name": " The old one "})))
        .await;
    let listed = ada.device.call_ok(Method::GET, "/devices", None).await;
    let names: Vec<&Value> = listed["devices"]
        .items()
        .iter()
        .map(|one| &one["name"])
        .collect();
    let numbered = format!("{} 2", &long[..78]);
    assert_eq!(
        names,
        [
            &numbered,
            &long,
            "Test phone 2",
            "The old one",
            "Test phone"
        ],
        "{database:?}: the newest first"
    );
    assert_eq!(listed["devices"][4]["has_passkey"], false);
    for unfit in ["", "\u{202e}", &"n".repeat(81)] {
        let refused = ada
            .device
            .ask(Method::PATCH, &path, Some(json!({"name": unfit})))
            .await;
        assert!(
            refused
                .expect_err("rejected")
                .to_string()
                .starts_with("invalid_name"),
            "{unfit}"
        );
    }
    let bob = host.user_with_account("bob", ada.application.clone()).await;
    let refused = bob
        .device
        .ask(Method::PATCH, &path, Some(json!({"name": "Bob's"})))
        .await;
    assert!(
        refused
            .expect_err("rejected")
            .to_string()
            .starts_with("device_not_found")
    );
    let returned = entries(&host, "event=device.renamed").await;
    assert_eq!(returned.len(), 1, "{database:?}");
    assert_eq!(returned[0]["actor"]["id"], ada.device.device().to_string());
}

#[both_databases]
async fn each_device_shows_notifications_about_other_devices_until_read(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    assert_eq!(
        notifications(&ada.device).await,
        [] as [Value; 0],
        "no notification about the own enrolment"
    );
    host.advance(1);
    let second = Device::enrol(&link(&ada.device).await, "Tablet").await;
    let returned = notifications(&ada.device).await;
    assert_eq!(
        events(&returned),
        ["device.enrolled"],
        "{database:?}: no notification about its own actions"
    );
    assert_eq!(returned[0]["name"], "Tablet");
    assert_eq!(notifications(&second).await, [] as [Value; 0]);

    host.advance(1);
    second.recovery_codes().await;
    host.advance(1);
    host.authenticator(&ada.user).await;
    let returned = notifications(&ada.device).await;
    let all = [
        "device.enrolled",
        "recovery.codes-created",
        "enrolment.link-created",
        "device.enrolled",
    ];
    assert_eq!(events(&returned).len(), all.len(), "{returned:?}");
    for event in all {
        assert!(events(&returned).contains(&event), "{returned:?}");
    }

    // The device confirms the first two notifications.
    let seen = json!({"last": returned[1]["id"]});
    ada.device
        .call_ok(Method::POST, "/notifications/read", Some(seen.clone()))
        .await;
    assert_eq!(notifications(&ada.device).await, returned[2..]);
    ada.device
        .call_ok(
            Method::POST,
            "/notifications/read",
            Some(json!({"last": returned[0]["id"]})),
        )
        .await;
    assert_eq!(
        notifications(&ada.device).await,
        returned[2..],
        "notifications stay read"
    );
    assert_eq!(
        notifications(&second).await.len(),
        2,
        "each device has its own notifications"
    );
    host.advance(31 * 24 * 60 * 60);
    assert_eq!(
        notifications(&ada.device).await,
        [] as [Value; 0],
        "old events are no notifications"
    );
}

#[tokio::test]
async fn a_waiting_device_receives_each_notification_once_and_at_once() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    host.advance(1);
    let wait = async |known: &str| {
        let query = format!("?wait=25{known}");
        let reply = ada
            .device
            .call(
                Method::GET,
                "/authenticator/api/requests",
                &query,
                Vec::new(),
            )
            .await;
        reply.expect("an answer").into_body().expect("agreed")
    };
    let begin = tokio::time::Instant::now();
    let (answer, _) = tokio::join!(wait(""), host.authenticator(&ada.user));
    assert!(!answer["notifications"].items().is_empty());
    let answer = wait("").await;
    let last = answer["notifications"]
        .items()
        .last()
        .expect("notifications")["id"]
        .text()
        .to_owned();
    assert!(
        begin.elapsed().as_secs() < 20,
        "the poll did not wait to the end"
    );
    // A known notification does not wake the device. A request does.
    let waits = async {
        let known = wait(&format!("&last_notification={last}")).await;
        assert_eq!(
            known["requests"].as_array().map(Vec::len),
            Some(1),
            "{known}"
        );
    };
    let browser = Browser::new(&host.base);
    tokio::join!(waits, ada.begin_sign_in(&browser, &[]));
}

#[tokio::test]
async fn a_device_revoked_while_it_waits_receives_no_notification() {
    let host = TestHost::start().await;
    let (ada, second) = with_second(&host).await;
    let waits = second.call(
        Method::GET,
        "/authenticator/api/requests",
        "?wait=20",
        Vec::new(),
    );
    let revokes = async {
        // By now the call waits, or the server rejects it at once. In both cases the device must not receive the
        // request.
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        ada.device
            .call_ok(
                Method::DELETE,
                &format!("/devices/{}", second.device()),
                None,
            )
            .await;
        ada.begin_sign_in(&Browser::new(&host.base), &[]).await
    };
    let (reply, _) = tokio::join!(waits, revokes);
    let error = reply
        .expect("an answer")
        .into_body()
        .expect_err("rejected")
        .to_string();
    assert!(error.starts_with("device_not_enrolled"), "{error}");
}

#[tokio::test]
async fn links_and_codes_per_device_and_devices_per_user_are_limited() {
    let settings = "[rate_limits]\nactions_per_device = { per_minute = 1, burst = 3 }\n";
    let host = TestHost::start_with_settings(settings).await;
    let ada = host.ada().await;
    for path in [
        "/devices/enrolment-links",
        "/recovery-codes",
        "/devices/enrolment-links",
    ] {
        ada.device.call_ok(Method::POST, path, None).await;
    }
    for path in ["/devices/enrolment-links", "/recovery-codes"] {
        let error = ada
            .device
            .ask(Method::POST, path, None)
            .await
            .expect_err("rejected")
            .to_string();
        assert!(error.starts_with("too_many_calls"), "{path}: {error}");
    }
    for _ in 1..20 {
        host.authenticator(&ada.user).await;
    }
    let path = format!("/users/{}/enrolments", id(&ada.user));
    let link = host.admin_ok(Method::POST, &path, Value::Null).await["link"]
        .text()
        .to_owned();
    let error = Authenticator::enrol(&link, "One more", None)
        .await
        .map(|_| ())
        .expect_err("rejected")
        .to_string();
    assert!(error.starts_with("too_many_devices"), "{error}");
    let listed = ada.device.call_ok(Method::GET, "/devices", None).await;
    let last = listed["devices"].items().last().expect("one")["id"].text();
    let last = if last == ada.device.device().to_string() {
        &listed["devices"][0]["id"]
    } else {
        &json!(last)
    };
    let path = format!("/devices/{}", last.text());
    ada.device.call_ok(Method::DELETE, &path, None).await;
    Device::enrol(&link, "One more").await;
}

#[both_databases]
async fn links_of_an_invited_user_end_with_a_new_link_or_the_first_device(database: Database) {
    let host = TestHost::start_on(database).await;
    let user = host.user("ada").await;
    let path = format!("/users/{}/enrolments", id(&user));
    let created = async || {
        let created = host.admin_ok(Method::POST, &path, Value::Null).await;
        created["link"].text().to_owned()
    };
    let in_state = async |state: &str| {
        let mut connection = host.connection().await;
        let set =
            sql::query("UPDATE users SET state = $2 WHERE id = $1").bind(id(&user).to_owned());
        set.bind(state.to_owned())
            .execute(&mut connection)
            .await
            .expect("set");
    };
    let refused = async |link: &str| {
        let error = Authenticator::enrol(link, "Another", None)
            .await
            .map(|_| ())
            .expect_err("rejected")
            .to_string();
        assert!(
            error.starts_with("link_withdrawn") || error.starts_with("link_used"),
            "{database:?} {error}"
        );
    };
    // A new link of an administrator ends the older one.
    let first = created().await;
    let second = created().await;
    refused(&first).await;
    // The test bypasses the rule to get a second link, such as a link from before the rule existed.
    in_state("active").await;
    let third = created().await;
    in_state("invited").await;
    let (one, other) = futures_util::future::join(
        Authenticator::enrol(&second, "Phone", None),
        Authenticator::enrol(&third, "Tablet", None),
    )
    .await;
    assert_ne!(
        one.is_ok(),
        other.is_ok(),
        "{database:?}: the first device ends the other link"
    );
    for link in [&second, &third] {
        refused(link).await;
    }
    // An active user requested these links, or used a device to request them.
    let (fourth, fifth) = (created().await, created().await);
    for link in [&fourth, &fifth] {
        Device::enrol(link, "Further").await;
    }

    let bob = host.user("bob").await;
    let link = host
        .admin_ok(
            Method::POST,
            &format!("/users/{}/enrolments", id(&bob)),
            Value::Null,
        )
        .await;
    host.admin_ok(
        Method::PATCH,
        &format!("/users/{}", id(&bob)),
        json!({"state": "active"}),
    )
    .await;
    refused(link["link"].text()).await;
}

#[tokio::test]
async fn renames_per_device_are_limited_to_ten_an_hour() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let tablet = host.authenticator(&ada.user).await;
    let path = format!("/authenticator/api/devices/{}", ada.device.device());
    let rename = async |by: &Device, name: String| {
        let body = serde_json::to_vec(&json!({ "name": name })).expect("JSON");
        by.call(Method::PATCH, &path, "", body)
            .await
            .expect("an answer")
    };
    for number in 0..10 {
        let reply = rename(&ada.device, format!("Phone {number}")).await;
        assert_eq!(reply.status, StatusCode::NO_CONTENT, "{}", reply.body);
    }
    let refused = rename(&ada.device, "Once more".to_owned()).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(
        (&refused.body["error"], &refused.body["retry_after"]),
        (&json!("too_many_calls"), &json!(360))
    );
    let other = rename(&tablet, "By the tablet".to_owned()).await;
    assert_eq!(other.status, StatusCode::NO_CONTENT, "{}", other.body);
    host.advance(360);
    let later = rename(&ada.device, "Later".to_owned()).await;
    assert_eq!(later.status, StatusCode::NO_CONTENT, "{}", later.body);
    let names = entries(&host, "event=device.renamed").await;
    assert_eq!(names.len(), 12);
}
