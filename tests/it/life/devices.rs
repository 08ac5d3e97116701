//! A person's devices: another one by the first, removing one, and what the others tell of it.

use assent::authenticator::Authenticator;
use assent_store::sql;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{entries, events};
use crate::harness::{Ada, Browser, Database, HostOptions, TestHost, id};

/// What the device has to tell, by event.
async fn notifications(phone: &Authenticator) -> Vec<Value> {
    let answer = phone
        .ask(Method::GET, "/requests", None)
        .await
        .expect("an answer");
    answer["notifications"]
        .as_array()
        .expect("notifications")
        .clone()
}

async fn link(phone: &Authenticator) -> String {
    let made = phone
        .ask(Method::POST, "/devices/enrolment-links", None)
        .await
        .expect("a link");
    assert!(
        made["link_qr"]
            .as_str()
            .is_some_and(|picture| picture.starts_with("<?xml")),
        "{made}"
    );
    made["link"].as_str().expect("a link").to_owned()
}

/// Ada with a second device, whose link the first made.
async fn with_second(host: &TestHost) -> (Ada, Authenticator) {
    let ada = host.ada().await;
    host.advance(1);
    let second = Authenticator::enrol(&link(&ada.phone).await, "Tablet", None)
        .await
        .expect("enrolled");
    (ada, second)
}

#[both_databases]
async fn a_second_device_is_enrolled_from_the_first_and_both_approve(database: Database) {
    let host = TestHost::start_with(HostOptions {
        database,
        ..HostOptions::default()
    })
    .await;
    let (ada, second) = with_second(&host).await;
    let listed = second
        .ask(Method::GET, "/devices", None)
        .await
        .expect("devices");
    let names: Vec<_> = listed["devices"]
        .as_array()
        .expect("a list")
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
    let waiting = ada.ask(&browser, &[]).await;
    let request = &second.waiting(5).await.expect("requests")[0];
    assert_eq!(
        second
            .decide(request, Some(&waiting.number()))
            .await
            .expect("an outcome"),
        "approved"
    );
    let too_late = ada
        .phone
        .decide(request, Some(&waiting.number()))
        .await
        .expect_err("decided")
        .to_string();
    assert!(too_late.starts_with("already_decided"), "{too_late}");

    let told = entries(
        &host,
        &format!("user={}&event=enrolment.link-created", id(&ada.user)),
    )
    .await;
    assert_eq!(
        told.last().expect("an entry")["actor"]["id"],
        ada.phone.device().to_string()
    );
}

#[tokio::test]
async fn a_link_of_a_device_is_good_once_for_a_quarter_of_an_hour_and_while_its_person_may_sign_in()
{
    let host = TestHost::start().await;
    let (ada, _) = with_second(&host).await;
    let refused = async |link: &str| {
        Authenticator::enrol(link, "Third", None)
            .await
            .map(|_| ())
            .expect_err("refused")
            .to_string()
    };
    let used = link(&ada.phone).await;
    Authenticator::enrol(&used, "Third", None)
        .await
        .expect("enrolled");
    assert!(refused(&used).await.starts_with("link_not_found"));
    let gone = link(&ada.phone).await;
    let path = format!("/users/{}", id(&ada.user));
    host.admin_ok(Method::PATCH, &path, json!({"state": "suspended"}))
        .await;
    let error = ada
        .phone
        .ask(Method::POST, "/devices/enrolment-links", None)
        .await
        .expect_err("refused")
        .to_string();
    assert!(error.starts_with("user_inactive"), "{error}");
    host.admin_ok(Method::PATCH, &path, json!({"state": "active"}))
        .await;
    assert!(
        refused(&gone).await.starts_with("link_not_found"),
        "it does not come back with the person"
    );
    let late = link(&ada.phone).await;
    host.advance(15 * 60 + 1);
    assert!(refused(&late).await.starts_with("link_not_found"));
}

#[tokio::test]
async fn a_person_removes_their_own_devices_alone_and_it_counts_at_once() {
    let host = TestHost::start().await;
    let (ada, second) = with_second(&host).await;
    let bob = host.person("bob", ada.application.clone()).await;
    for wrong in [
        bob.phone.device().to_string(),
        "no-id".to_owned(),
        ada.account["id"].as_str().expect("an id").to_owned(),
    ] {
        let error = ada
            .phone
            .ask(Method::DELETE, &format!("/devices/{wrong}"), None)
            .await
            .expect_err("refused");
        assert!(error.to_string().starts_with("device_not_found"), "{error}");
    }
    bob.phone.waiting(0).await.expect("Bob's is as it was");

    let browser = Browser::new(&host.base);
    let waiting = ada.ask(&browser, &[]).await;
    let request = second.waiting(5).await.expect("requests")[0].clone();
    let path = format!("/devices/{}", second.device());
    ada.phone
        .ask(Method::DELETE, &path, None)
        .await
        .expect("removed");
    let error = second
        .decide(&request, Some(&waiting.number()))
        .await
        .expect_err("refused")
        .to_string();
    assert!(error.starts_with("device_not_enrolled"), "{error}");
    assert!(
        ada.phone.ask(Method::DELETE, &path, None).await.is_err(),
        "once"
    );
    let told = entries(
        &host,
        &format!("user={}&event=device.revoked", id(&ada.user)),
    )
    .await;
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["actor"]["id"], ada.phone.device().to_string());
}

#[both_databases]
async fn devices_have_names_of_their_own_and_a_person_renames_them(database: Database) {
    let host = TestHost::start_with(HostOptions {
        database,
        ..HostOptions::default()
    })
    .await;
    let (ada, second) = with_second(&host).await;
    let long = "n".repeat(80);
    for name in ["Test phone", &long, &long] {
        host.advance(1);
        Authenticator::enrol(&link(&ada.phone).await, name, None)
            .await
            .expect("enrolled");
    }
    let path = format!("/devices/{}", second.device());
    ada.phone
        .ask(Method::PATCH, &path, Some(json!({"name": " The old one "})))
        .await
        .expect("renamed");
    let listed = ada
        .phone
        .ask(Method::GET, "/devices", None)
        .await
        .expect("listed");
    let names: Vec<&Value> = listed["devices"]
        .as_array()
        .expect("devices")
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
            .phone
            .ask(Method::PATCH, &path, Some(json!({"name": unfit})))
            .await;
        assert!(
            refused
                .expect_err("refused")
                .to_string()
                .starts_with("invalid_name"),
            "{unfit}"
        );
    }
    let bob = host.person("bob", ada.application.clone()).await;
    let refused = bob
        .phone
        .ask(Method::PATCH, &path, Some(json!({"name": "Bob's"})))
        .await;
    assert!(
        refused
            .expect_err("refused")
            .to_string()
            .starts_with("device_not_found")
    );
    let told = entries(&host, "event=device.renamed").await;
    assert_eq!(told.len(), 1, "{database:?}");
    assert_eq!(told[0]["actor"]["id"], ada.phone.device().to_string());
}

#[both_databases]
async fn each_device_tells_what_others_did_until_its_owner_has_seen_it(database: Database) {
    let host = TestHost::start_with(HostOptions {
        database,
        ..HostOptions::default()
    })
    .await;
    let ada = host.ada().await;
    assert_eq!(
        notifications(&ada.phone).await,
        [] as [Value; 0],
        "not what led to itself"
    );
    host.advance(1);
    let second = Authenticator::enrol(&link(&ada.phone).await, "Tablet", None)
        .await
        .expect("enrolled");
    let told = notifications(&ada.phone).await;
    assert_eq!(
        events(&told),
        ["device.enrolled"],
        "{database:?}: not what it did itself"
    );
    assert_eq!(told[0]["name"], "Tablet");
    assert_eq!(notifications(&second).await, [] as [Value; 0]);

    host.advance(1);
    second
        .ask(Method::POST, "/recovery-codes", None)
        .await
        .expect("codes");
    host.advance(1);
    host.authenticator(&ada.user).await;
    let told = notifications(&ada.phone).await;
    let all = [
        "device.enrolled",
        "recovery.codes-created",
        "enrolment.link-created",
        "device.enrolled",
    ];
    assert_eq!(events(&told).len(), all.len(), "{told:?}");
    for event in all {
        assert!(events(&told).contains(&event), "{told:?}");
    }

    // To the first two it says that it was them.
    let seen = json!({"last": told[1]["id"]});
    ada.phone
        .ask(Method::POST, "/notifications/read", Some(seen.clone()))
        .await
        .expect("seen");
    assert_eq!(notifications(&ada.phone).await, told[2..]);
    ada.phone
        .ask(
            Method::POST,
            "/notifications/read",
            Some(json!({"last": told[0]["id"]})),
        )
        .await
        .expect("seen");
    assert_eq!(
        notifications(&ada.phone).await,
        told[2..],
        "what was seen stays seen"
    );
    assert_eq!(
        notifications(&second).await.len(),
        2,
        "each device has its own"
    );
    host.advance(31 * 24 * 60 * 60);
    assert_eq!(
        notifications(&ada.phone).await,
        [] as [Value; 0],
        "what is old is no notifications"
    );
}

#[tokio::test]
async fn whoever_waits_is_told_of_notifications_at_once_and_of_none_twice() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    host.advance(1);
    let wait = async |known: &str| {
        let query = format!("?wait=25{known}");
        let reply = ada
            .phone
            .call(
                Method::GET,
                "/authenticator/api/requests",
                &query,
                Vec::new(),
            )
            .await;
        reply.expect("an answer").agreed().expect("agreed")
    };
    let begin = tokio::time::Instant::now();
    let (answer, _) = tokio::join!(wait(""), host.authenticator(&ada.user));
    assert!(
        !answer["notifications"]
            .as_array()
            .expect("notifications")
            .is_empty()
    );
    let answer = wait("").await;
    let last = answer["notifications"]
        .as_array()
        .expect("notifications")
        .last()
        .expect("notifications")["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    assert!(begin.elapsed().as_secs() < 20, "it did not wait to the end");
    // What it shows already is nothing to wake for; a request is.
    let waits = async {
        let known = wait(&format!("&known={last}")).await;
        assert_eq!(
            known["requests"].as_array().map(Vec::len),
            Some(1),
            "{known}"
        );
    };
    let browser = Browser::new(&host.base);
    tokio::join!(waits, ada.ask(&browser, &[]));
}

#[tokio::test]
async fn whoever_waits_with_a_device_that_is_revoked_meanwhile_is_told_nothing() {
    let host = TestHost::start().await;
    let (ada, second) = with_second(&host).await;
    let waits = second.call(
        Method::GET,
        "/authenticator/api/requests",
        "?wait=20",
        Vec::new(),
    );
    let revokes = async {
        // It waits by then, or is refused at once: either way it must not hear of the request.
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        ada.phone
            .ask(
                Method::DELETE,
                &format!("/devices/{}", second.device()),
                None,
            )
            .await
            .expect("removed");
        ada.ask(&Browser::new(&host.base), &[]).await
    };
    let (reply, _) = tokio::join!(waits, revokes);
    let error = reply
        .expect("an answer")
        .agreed()
        .expect_err("refused")
        .to_string();
    assert!(error.starts_with("device_not_enrolled"), "{error}");
}

#[tokio::test]
async fn a_device_makes_so_many_links_and_codes_and_a_person_has_so_many_devices() {
    let settings = "[rate_limits]\nactions_per_device = { per_minute = 1, burst = 3 }\n";
    let host = TestHost::start_with(HostOptions {
        settings,
        ..HostOptions::default()
    })
    .await;
    let ada = host.ada().await;
    for path in [
        "/devices/enrolment-links",
        "/recovery-codes",
        "/devices/enrolment-links",
    ] {
        ada.phone.ask(Method::POST, path, None).await.expect("made");
    }
    for path in ["/devices/enrolment-links", "/recovery-codes"] {
        let error = ada
            .phone
            .ask(Method::POST, path, None)
            .await
            .expect_err("refused")
            .to_string();
        assert!(error.starts_with("too_many_calls"), "{path}: {error}");
    }
    for _ in 1..20 {
        host.authenticator(&ada.user).await;
    }
    let path = format!("/users/{}/enrolments", id(&ada.user));
    let link = host.admin_ok(Method::POST, &path, Value::Null).await["link"]
        .as_str()
        .expect("a link")
        .to_owned();
    let error = Authenticator::enrol(&link, "One more", None)
        .await
        .map(|_| ())
        .expect_err("refused")
        .to_string();
    assert!(error.starts_with("too_many_devices"), "{error}");
    let listed = ada
        .phone
        .ask(Method::GET, "/devices", None)
        .await
        .expect("devices");
    let last = listed["devices"]
        .as_array()
        .expect("a list")
        .last()
        .expect("one")["id"]
        .as_str()
        .expect("an id");
    let last = if last == ada.phone.device().to_string() {
        &listed["devices"][0]["id"]
    } else {
        &json!(last)
    };
    let path = format!("/devices/{}", last.as_str().expect("an id"));
    ada.phone
        .ask(Method::DELETE, &path, None)
        .await
        .expect("removed");
    Authenticator::enrol(&link, "One more", None)
        .await
        .expect("the link was not used up");
}

#[both_databases]
async fn no_link_of_an_invited_person_outlives_another_or_the_first_phone(database: Database) {
    let host = TestHost::start_with(HostOptions {
        database,
        ..HostOptions::default()
    })
    .await;
    let user = host.user("ada").await;
    let path = format!("/users/{}/enrolments", id(&user));
    let made = async || {
        let made = host.admin_ok(Method::POST, &path, Value::Null).await;
        made["link"].as_str().expect("a link").to_owned()
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
            .expect_err("refused")
            .to_string();
        assert!(error.starts_with("link_not_found"), "{database:?} {error}");
    };
    // An administrator's new link ends the older one.
    let first = made().await;
    let second = made().await;
    refused(&first).await;
    // Such as links that were made before this was so.
    in_state("active").await;
    let third = made().await;
    in_state("invited").await;
    let (one, other) = futures_util::future::join(
        Authenticator::enrol(&second, "Phone", None),
        Authenticator::enrol(&third, "Tablet", None),
    )
    .await;
    assert_ne!(
        one.is_ok(),
        other.is_ok(),
        "{database:?}: the first phone ends the other link"
    );
    for link in [&second, &third] {
        refused(link).await;
    }
    // Of somebody who is active each was asked for with a phone, or by the person.
    let (fourth, fifth) = (made().await, made().await);
    for link in [&fourth, &fifth] {
        Authenticator::enrol(link, "Further", None)
            .await
            .expect("enrolled");
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
    refused(link["link"].as_str().expect("a link")).await;
}

#[tokio::test]
async fn a_device_renames_devices_ten_times_an_hour() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    let tablet = host.authenticator(&ada.user).await;
    let path = format!("/authenticator/api/devices/{}", ada.phone.device());
    let rename = async |by: &Authenticator, name: String| {
        let body = serde_json::to_vec(&json!({ "name": name })).expect("JSON");
        by.call(Method::PATCH, &path, "", body)
            .await
            .expect("an answer")
    };
    for number in 0..10 {
        let reply = rename(&ada.phone, format!("Phone {number}")).await;
        assert_eq!(reply.status, StatusCode::NO_CONTENT, "{}", reply.body);
    }
    let refused = rename(&ada.phone, "Once more".to_owned()).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(
        (&refused.body["error"], &refused.body["retry_after"]),
        (&json!("too_many_calls"), &json!(360))
    );
    let other = rename(&tablet, "By the tablet".to_owned()).await;
    assert_eq!(other.status, StatusCode::NO_CONTENT, "{}", other.body);
    host.advance(360);
    let later = rename(&ada.phone, "Later".to_owned()).await;
    assert_eq!(later.status, StatusCode::NO_CONTENT, "{}", later.body);
    let names = entries(&host, "event=device.renamed").await;
    assert_eq!(names.len(), 12);
}
