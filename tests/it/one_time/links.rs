//! Enrolment links: repeats after a lost response, and the reasons why a link cannot be used.

use assent::authenticator::enrolled::Authenticator;
use assent::authenticator::enrolment::PendingEnrolment;
use assent_model::token_text;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{
    Database, Device, Json, LossyProxy, Parsed, Respond, TestHost, Text, http_client, id,
    parse_json, read_file,
};
use crate::lifecycle::entries;

const ENROL: &str = "POST /authenticator/api/enrolments ";

/// Returns the error of an enrolment.
async fn refused(link: &str) -> String {
    let error = Authenticator::enrol(link, "Phone", None).await;
    error.map(|_| ()).expect_err("rejected").to_string()
}

async fn new_link(host: &TestHost, user: &Value) -> String {
    host.enrolment_link(user).await
}

async fn device_count(host: &TestHost, user: &Value) -> usize {
    let path = format!("/users/{}/devices", id(user));
    let listed = host.admin_ok(Method::GET, &path, Value::Null).await;
    listed["items"].items().len()
}

#[both_databases]
async fn a_lost_response_to_an_enrolment_is_repeated_with_the_same_key(database: Database) {
    let host = TestHost::start_on(database).await;
    let user = host.user("ada").await;
    let proxy = LossyProxy::start(&host.base).await;
    let link = proxy.through(&new_link(&host, &user).await);
    proxy.lose(ENROL, 1);
    let device = Device::enrol(&link, "Phone").await;
    assert_eq!(proxy.lost(), 1, "{database:?}");
    assert_eq!(device_count(&host, &user).await, 1, "{database:?}");
    assert_eq!(
        entries(&host, "event=device.enrolled").await.len(),
        1,
        "{database:?}: the repeat is no second enrolment"
    );
    // The key that the device has is that of the enrolled device.
    device.call_ok(Method::GET, "/devices", None).await;
}

#[tokio::test]
async fn an_enrolment_whose_commit_reply_was_lost_is_repeated() {
    let (host, proxy) = TestHost::start_behind_proxy().await;
    let user = host.user("ada").await;
    let link = new_link(&host, &user).await;
    proxy.drop_reply_to_commit_of("Unlucky phone");
    let device = Device::enrol(&link, "Unlucky phone").await;
    assert_eq!(proxy.dropped(), 1);
    device.call_ok(Method::GET, "/devices", None).await;
    assert_eq!(device_count(&host, &user).await, 1);
}

#[both_databases]
async fn only_the_key_that_used_a_link_gets_its_result_again(database: Database) {
    let host = TestHost::start_on(database).await;
    let user = host.user("ada").await;
    let link = new_link(&host, &user).await;
    let pending = PendingEnrolment::prepare(&link)
        .await
        .expect("an open link");
    let thief = PendingEnrolment::prepare(&link)
        .await
        .expect("an open link");
    let first = pending.send(&link, "Phone", None).await.expect("enrolled");
    let again = pending.send(&link, "Phone", None).await.expect("the same");
    assert_eq!(again.device(), first.device(), "{database:?}");
    // Another name does not rename the device.
    let renamed = pending.send(&link, "Tablet", None).await.expect("the same");
    assert_eq!(renamed.device(), first.device(), "{database:?}");
    let error = thief
        .send(&link, "Phone", None)
        .await
        .expect_err("rejected");
    assert!(
        error.to_string().starts_with("link_used"),
        "{database:?}: {error}"
    );
    assert_eq!(device_count(&host, &user).await, 1, "{database:?}");
    // A device that was removed does not return by its link.
    let path = format!("/devices/{}", first.device());
    host.admin(Method::DELETE, &path, Value::Null).await;
    let error = pending
        .send(&link, "Phone", None)
        .await
        .expect_err("rejected");
    assert!(
        error.to_string().starts_with("link_used"),
        "{database:?}: {error}"
    );
}

#[both_databases]
async fn concurrent_requests_with_one_key_enrol_one_device(database: Database) {
    let host = TestHost::start_on(database).await;
    let user = host.user("ada").await;
    let link = new_link(&host, &user).await;
    let pending = PendingEnrolment::prepare(&link)
        .await
        .expect("an open link");
    let requests = (0..5).map(|_| pending.send(&link, "Phone", None));
    let devices = futures_util::future::join_all(requests).await;
    let ids: std::collections::BTreeSet<_> = devices
        .into_iter()
        .map(|device| device.expect("enrolled").device().to_string())
        .collect();
    assert_eq!(ids.len(), 1, "{database:?}");
    assert_eq!(device_count(&host, &user).await, 1, "{database:?}");
}

#[both_databases]
async fn a_link_tells_its_holder_why_it_cannot_be_used(database: Database) {
    let host = TestHost::start_on(database).await;
    let user = host.user("ada").await;
    let used = new_link(&host, &user).await;
    Device::enrol(&used, "Phone").await;
    let ended = new_link(&host, &user).await;
    let path = format!("/users/{}/enrolments", id(&user));
    let open = host.admin_ok(Method::GET, &path, Value::Null).await;
    let link = open["items"][0]["id"].text();
    host.admin_ok(Method::DELETE, &format!("{path}/{link}"), Value::Null)
        .await;
    let expired = new_link(&host, &user).await;
    host.advance(24 * 3600);
    let unknown = format!(
        "{}/authenticator#enrol={}",
        host.base,
        *token_text::write("en", &[7; 48])
    );
    for (link, reason) in [
        (used.as_str(), "link_used"),
        (ended.as_str(), "link_withdrawn"),
        (expired.as_str(), "link_expired"),
        (unknown.as_str(), "link_not_found"),
        (&used[..used.len() - 1], "the link is damaged"),
    ] {
        let error = refused(link).await;
        assert!(error.starts_with(reason), "{database:?}: {reason}: {error}");
    }
    // The server itself also reports damage, without a look-up.
    let response = http_client()
        .post(format!(
            "{}/authenticator/api/enrolments/preview",
            host.base
        ))
        .json(&json!({"token": "en_nonsense"}))
        .response()
        .await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    let body: Value = response.json().await.expect("JSON");
    assert_eq!(body["error"], "link_damaged");
}

#[both_databases]
async fn an_administrator_sees_and_ends_open_links(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let path = format!("/users/{}/enrolments", id(&ada.user));
    let listed = async || {
        let listed = host.admin_ok(Method::GET, &path, Value::Null).await;
        listed["items"].items().to_vec()
    };
    assert!(
        listed().await.is_empty(),
        "{database:?}: a used link is not open"
    );
    host.advance(1);
    let handed_over = new_link(&host, &ada.user).await;
    host.advance(1);
    let created = ada
        .device
        .call_ok(Method::POST, "/devices/enrolment-links", None)
        .await;
    let open = listed().await;
    let ways: Vec<&str> = open.iter().map(|link| link["by"].text()).collect();
    assert_eq!(ways, ["link", "device"], "{database:?}");
    let text = Value::from(open.clone()).to_string();
    for link in [handed_over.as_str(), created["link"].text()] {
        let (_, token) = link.split_once("#enrol=").expect("a token");
        assert!(!text.contains(token), "{database:?}: the list has no token");
    }
    let end = format!("{path}/{}", open[0]["id"].text());
    host.admin_ok(Method::DELETE, &end, Value::Null).await;
    assert!(refused(&handed_over).await.starts_with("link_withdrawn"));
    let again = host.admin(Method::DELETE, &end, Value::Null).await;
    assert_eq!(
        again.0,
        StatusCode::NOT_FOUND,
        "{database:?}: it ended before"
    );
    // Another user's page does not end it.
    let bob = host.user("bob").await;
    let other = format!("/users/{}/enrolments/{}", id(&bob), open[1]["id"].text());
    let refused_end = host.admin(Method::DELETE, &other, Value::Null).await;
    assert_eq!(refused_end.0, StatusCode::NOT_FOUND, "{database:?}");
    assert_eq!(listed().await.len(), 1, "{database:?}");
    // A new link of the same device ends its earlier one, which was perhaps never shown.
    ada.device
        .call_ok(Method::POST, "/devices/enrolment-links", None)
        .await;
    assert_eq!(listed().await.len(), 1, "{database:?}");
    assert!(
        refused(created["link"].text())
            .await
            .starts_with("link_withdrawn")
    );
}

#[both_databases]
async fn an_administrator_sees_how_and_when_a_device_was_enrolled(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let path = format!("/users/{}/devices", id(&ada.user));
    host.advance(10);
    let created = ada
        .device
        .call_ok(Method::POST, "/devices/enrolment-links", None)
        .await;
    host.advance(4);
    let second = Device::enrol(created["link"].text(), "Tablet").await;
    let listed = host.admin_ok(Method::GET, &path, Value::Null).await;
    let of = |device: &Device| {
        let id = device.device().to_string();
        let found = listed["items"].items().iter().find(|one| one["id"] == id);
        found.expect("listed").clone()
    };
    let (first, second) = (of(&ada.device), of(&second));
    assert_eq!(first["enrolled_by"], "link", "{database:?}");
    assert_eq!(second["enrolled_by"], "device", "{database:?}");
    let from: std::net::IpAddr = second["enrolled_from"].text().parsed();
    assert!(from.is_loopback(), "{database:?}: {from}");
    let moment = |value: &Value| -> jiff::Timestamp { value.text().parse().expect("a time") };
    let after = moment(&second["created_at"]).duration_since(moment(&second["link_issued_at"]));
    assert_eq!(after.as_secs(), 4, "{database:?}");
}

#[tokio::test]
async fn the_command_line_repeats_a_request_without_a_response() {
    let host = TestHost::start().await;
    let proxy = LossyProxy::start(&host.base).await;
    proxy.lose("POST /admin/api/v1/users ", 1);
    let server = proxy.through(&host.base);
    let arguments = ["users", "create", "--name", "ada", "--server", &server];
    let token = [("ASSENT_ADMIN_TOKEN", host.token.as_str())];
    let created = crate::commands::assent_with(host.folder(), &arguments, &token).await;
    assert!(
        created.status.success(),
        "{}",
        crate::commands::err(&created)
    );
    assert_eq!(proxy.lost(), 1);
    // A token that was cut is named so, without a request.
    let cut = [("ASSENT_ADMIN_TOKEN", &host.token[..host.token.len() - 1])];
    let refused = crate::commands::assent_with(host.folder(), &arguments, &cut).await;
    let error = crate::commands::err(&refused);
    assert!(error.contains("the token is damaged"), "{error}");
    // The server itself names damage and the end of a token.
    let detail = async |token: &str| {
        let url = format!("{}/admin/api/v1/users", host.base);
        let response = http_client().get(url).bearer_auth(token).response().await;
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        let body: Value = response.json().await.expect("JSON");
        body["detail"].text().to_owned()
    };
    assert!(detail(cut[0].1).await.starts_with("the token is damaged"));
    host.advance(400 * 24 * 3600);
    assert!(
        detail(&host.token)
            .await
            .starts_with("the token has expired")
    );
}

#[tokio::test]
async fn the_command_continues_an_enrolment_without_a_response() {
    let host = TestHost::start().await;
    let user = host.user("ada").await;
    let proxy = LossyProxy::start(&host.base).await;
    let link = proxy.through(&new_link(&host, &user).await);
    let enrol = async |link: &str| {
        let arguments = ["authenticator", "enrol", link, "--store", "phone.json"];
        crate::commands::assent(host.folder(), &arguments).await
    };
    // More responses are lost than the command repeats requests.
    proxy.lose(ENROL, 3);
    let lost = enrol(&link).await;
    let error = crate::commands::err(&lost);
    assert!(
        !lost.status.success() && error.contains("run the same command again"),
        "{error}"
    );
    let key = |text: &str| parse_json::<Value>(text)["private_key"].text().to_owned();
    let before = key(&read_file(host.folder().join("phone.json")));
    // The link may be copied with a full stop this time.
    let done = enrol(&format!("{link}.")).await;
    assert!(done.status.success(), "{}", crate::commands::err(&done));
    assert_eq!(key(&read_file(host.folder().join("phone.json"))), before);
    assert_eq!(device_count(&host, &user).await, 1);
    // A link that another key used leaves no file behind.
    let other = ["authenticator", "enrol", &link, "--store", "other.json"];
    let used = crate::commands::assent(host.folder(), &other).await;
    assert!(crate::commands::err(&used).contains("link_used"));
    assert!(!host.folder().join("other.json").exists());
}
