//! The first authenticator of an invited user decides who this user is.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::protected_actions::{owner, refused, requested, waiting};
use super::{Caller, console_caller, service};
use crate::channels::vendor::Vendor;
use crate::harness::{Database, TestHost, Text, http_client, id, plugins};
use crate::mail::{MailServer, Security};

async fn is_open(host: &TestHost, link: &str) -> bool {
    let (_, token) = link.split_once("#enrol=").expect("a token");
    let address = format!("{}/authenticator/api/enrolments/preview", host.base);
    let request = http_client().post(address).json(&json!({"token": token}));
    request
        .send()
        .await
        .expect("a response")
        .status()
        .is_success()
}

/// Returns the requests with which a caller could become the user, each with its expected success.
fn ways(user: &Value) -> Vec<(Method, String, Value, StatusCode)> {
    let path = format!("/users/{}", id(user));
    vec![
        (
            Method::POST,
            format!("{path}/enrolments"),
            Value::Null,
            StatusCode::CREATED,
        ),
        (
            Method::POST,
            "/invitations".to_owned(),
            json!({"users": [id(user)], "delivery": "link"}),
            StatusCode::CREATED,
        ),
        (
            Method::PUT,
            format!("{path}/external-authenticators/vendor"),
            json!({"identifier": "mallory"}),
            StatusCode::OK,
        ),
    ]
}

#[both_databases]
async fn nobody_becomes_an_invited_user_without_an_approval(database: Database) {
    let vendor = Vendor::start(500).await;
    let channels = plugins(&vendor.channel("vendor", ""));
    let host = TestHost::start_on_with_plugins(database, &channels).await;
    let support = console_caller(&host, "sue", "support").await;
    let (console, grace) = owner(&host).await;
    let bob = host.user("bob").await;
    // A user whom an administrator activated has no device either.
    let active = json!({"name": "carol", "state": "active"});
    let carol = host.admin_ok(Method::POST, "/users", active).await;
    for user in [&bob, &carol] {
        for (method, path, body, _) in ways(user) {
            let answer = support.call_once(method, &path, &body, None).await;
            assert!(refused(&answer), "{database:?} {path}: {}", answer.body);
        }
    }
    // Support cannot make a user look as if there had been a device.
    let path = format!("/users/{}", id(&bob));
    for (method, path, body) in [
        (Method::PATCH, path.as_str(), json!({"state": "active"})),
        (
            Method::POST,
            "/users",
            json!({"name": "eve", "state": "active"}),
        ),
    ] {
        let answer = support.call_once(method, path, &body, None).await;
        assert!(refused(&answer), "{path}: {}", answer.body);
    }
    let created = support
        .call(Method::POST, "/users", json!({"name": "eve"}))
        .await
        .success();
    for (method, path, body, _) in ways(&created) {
        let answer = support.call_once(method, &path, &body, None).await;
        assert!(refused(&answer), "{path}: {}", answer.body);
    }
    // The session of an administrator is not sufficient: the device shows the user.
    for (method, path, body, expected) in ways(&bob) {
        host.advance(60);
        let action = requested(&console, method.clone(), &path, &body).await;
        let summary = action["summary"].text();
        assert!(summary.contains("“bob”"), "{summary}");
        let request = waiting(&grace.device).await;
        grace
            .device
            .approve(&request, action["number"].text())
            .await;
        let done = console
            .call_once(method, &path, &body, action["id"].as_str())
            .await;
        assert_eq!(done.status, expected, "{path}: {}", done.body);
    }
    // A service account with the same permissions needs no approval.
    let users = service(&host, &["admin:users"]).await;
    let dave = host.user("dave").await;
    let link = users
        .call(
            Method::POST,
            &format!("/users/{}/enrolments", id(&dave)),
            Value::Null,
        )
        .await
        .success();
    assert!(is_open(&host, link["link"].text()).await);
}

#[both_databases]
async fn support_lets_the_server_send_a_link_to_the_users_own_address(database: Database) {
    let mut server = MailServer::start(Security::None).await;
    let settings = server.settings();
    let host = TestHost::start_on_with(database, &settings).await;
    let support = console_caller(&host, "sue", "support").await;
    let bob = host.user("bob").await;
    let body = json!({"users": [id(&bob)], "delivery": "email"});
    let answer = support
        .call_once(Method::POST, "/invitations", &body, None)
        .await
        .success();
    assert_eq!(answer["items"][0]["link"], Value::Null, "{answer}");
    assert!(!answer.to_string().contains("#enrol="), "{answer}");
    assert_eq!(server.messages(1).await.len(), 1);
}

#[both_databases]
async fn a_new_address_or_name_ends_the_open_link(database: Database) {
    let host = TestHost::start_on(database).await;
    for (name, change) in [
        ("bob", json!({"email": "bob@new.example"})),
        ("carol", json!({"email": ""})),
        ("dave", json!({"name": "david"})),
    ] {
        let user = host.user(name).await;
        let path = format!("/users/{}", id(&user));
        let link = host.enrolment_link(&user).await;
        host.admin_ok(Method::PATCH, &path, json!({"profile": {"nickname": "x"}}))
            .await;
        assert!(is_open(&host, &link).await, "{database:?}");
        host.admin_ok(Method::PATCH, &path, change.clone()).await;
        assert!(!is_open(&host, &link).await, "{database:?} {change}");
        let again = host.enrolment_link(&user).await;
        assert!(is_open(&host, &again).await);
    }
    // An import changes the address too.
    let user = host.user("erin").await;
    let link = host.enrolment_link(&user).await;
    let table = "name,email\nerin,erin@new.example\n";
    let caller = Caller::machine(&host);
    let report = super::transfers::import(&caller, "/users/import", table).await;
    assert_eq!(report.success()["updated"], 1);
    assert!(!is_open(&host, &link).await, "{database:?}");
}

#[both_databases]
async fn a_queued_mail_is_not_sent_after_a_change_of_the_address(database: Database) {
    let mut server = MailServer::start(Security::None).await;
    let settings = server.settings();
    let host = TestHost::start_on_with(database, &settings).await;
    server.answer(Some("451 4.3.0 later")).await;
    let bob = host.user("bob").await;
    let body = json!({"users": [id(&bob)], "delivery": "email"});
    host.admin_ok(Method::POST, "/invitations", body).await;
    server.attempts(1).await;
    let path = format!("/users/{}", id(&bob));
    host.admin_ok(Method::PATCH, &path, json!({"email": "bob@new.example"}))
        .await;
    let next = host.host.store.next_invitation_mail().await;
    assert_eq!(next.expect("no error"), None, "{database:?}");
}

/// Only a link that the server mailed proves that the user has the address.
#[both_databases]
async fn a_mailed_link_confirms_and_verifies_the_address(database: Database) {
    let mut server = MailServer::start(Security::None).await;
    let settings = server.settings();
    let host = TestHost::start_on_with(database, &settings).await;
    let support = console_caller(&host, "sue", "support").await;
    let new = async |name: &str| {
        let body = json!({"name": name, "email": format!("{name}@corp.example")});
        support.call(Method::POST, "/users", body).await.success()
    };
    let shown = async |user: &Value| {
        let path = format!("/users/{}", id(user));
        let user = host.admin_ok(Method::GET, &path, Value::Null).await;
        (
            user["email_confirmed"] == true,
            user["profile"]["email_verified"] == true,
        )
    };
    let (mailed, handed) = (new("bob").await, new("carol").await);
    assert_eq!(shown(&mailed).await, (false, false), "{database:?}");
    let body = json!({"users": [id(&mailed)], "delivery": "email"});
    support
        .call(Method::POST, "/invitations", body)
        .await
        .success();
    let message = server.messages(1).await[0].clone();
    let text = message["text"].text().to_owned();
    let link = text
        .lines()
        .find(|line| line.contains("#enrol="))
        .expect("a link");
    crate::harness::Device::enrol(link.trim(), "Phone").await;
    assert_eq!(shown(&mailed).await, (true, true), "{database:?}");
    host.authenticator(&handed).await;
    assert_eq!(shown(&handed).await, (false, false), "{database:?}");
}

/// Several addresses are confirmed at once, with an approval that shows each of them.
#[both_databases]
async fn administrators_confirm_several_addresses_at_once(database: Database) {
    let host = TestHost::start_on(database).await;
    let support = console_caller(&host, "sue", "support").await;
    let (console, grace) = owner(&host).await;
    let mut ids = Vec::new();
    for name in ["bob", "carol"] {
        let body = json!({"name": name, "email": format!("{name}@corp.example")});
        let user = support.call(Method::POST, "/users", body).await.success();
        ids.push(id(&user).to_owned());
    }
    let list = async |caller: &Caller| {
        let list = caller.get("/users/unconfirmed-emails").await.success();
        let items = list["items"].as_array().expect("a list").clone();
        // Ids of the same millisecond have no order.
        let mut names: Vec<String> = items
            .iter()
            .map(|user| user["name"].text().to_owned())
            .filter(|name| name == "bob" || name == "carol")
            .collect();
        names.sort();
        names
    };
    assert_eq!(list(&support).await, ["bob", "carol"], "{database:?}");
    let body = json!({"users": ids});
    let path = "/users/confirm-emails";
    let denied = support.call_once(Method::POST, path, &body, None).await;
    assert!(refused(&denied), "{}", denied.body);
    let single = json!({"email_confirmed": true});
    let path_of = format!("/users/{}", ids[0]);
    let denied = support
        .call_once(Method::PATCH, &path_of, &single, None)
        .await;
    assert!(refused(&denied), "{}", denied.body);
    let action = requested(&console, Method::POST, path, &body).await;
    let summary = action["summary"].text();
    for user in ["“bob” (bob@corp.example)", "“carol” (carol@corp.example)"] {
        assert!(summary.contains(user), "{summary}");
    }
    let request = waiting(&grace.device).await;
    grace
        .device
        .approve(&request, action["number"].text())
        .await;
    let done = console
        .call_once(Method::POST, path, &body, action["id"].as_str())
        .await
        .success();
    assert_eq!(done["items"].as_array().map(Vec::len), Some(2), "{done}");
    assert!(list(&support).await.is_empty(), "{database:?}");
    // A confirmed address stays so, and OpenID Connect keeps its own meaning.
    let bob = host.admin_ok(Method::GET, &path_of, Value::Null).await;
    assert_eq!(bob["email_confirmed"], true);
    assert_ne!(bob["profile"]["email_verified"], true);
}

/// Applications receive the name of a user too. So support may choose no name that is another user's address.
#[both_databases]
async fn support_chooses_no_name_that_is_another_address(database: Database) {
    let host = TestHost::start_on(database).await;
    let support = console_caller(&host, "sue", "support").await;
    for body in [
        json!({"name": "ceo@corp.example"}),
        json!({"name": "ceo@corp.example", "email": "mallory@corp.example"}),
    ] {
        let answer = support.call_once(Method::POST, "/users", &body, None).await;
        assert!(refused(&answer), "{database:?} {body}: {}", answer.body);
    }
    let table = "name,email\nceo@corp.example,mallory@corp.example\n";
    let report = super::transfers::import(&support, "/users/import?dry_run=true", table).await;
    assert_eq!(report.success()["rejected"], 1, "{database:?}");
    let own = json!({"name": "eve@corp.example", "email": "eve@corp.example"});
    support.call(Method::POST, "/users", own).await.success();
    host.admin_ok(Method::POST, "/users", json!({"name": "ceo@corp.example"}))
        .await;
}

/// The session of an administrator is not sufficient to create a user whom applications take for another one.
#[both_databases]
async fn a_name_that_is_another_address_needs_an_approval(database: Database) {
    let host = TestHost::start_on(database).await;
    let (console, grace) = owner(&host).await;
    let create = json!({"name": "ceo@corp.example", "email": "mallory@corp.example"});
    let action = requested(&console, Method::POST, "/users", &create).await;
    assert_eq!(
        action["summary"],
        "Create the user “ceo@corp.example”, with the email address mallory@corp.example. The name is an address too, \
         but not the user’s email address. Applications may take the user for the owner of that address",
        "{database:?}"
    );
    grace.device.deny(&waiting(&grace.device).await).await;
    let without = json!({"name": "ceo@corp.example"});
    let action = requested(&console, Method::POST, "/users", &without).await;
    let summary = action["summary"].text();
    assert!(
        summary.starts_with("Create the user “ceo@corp.example”. The name is an address too"),
        "{database:?}: {summary}"
    );
    // The own address as the name needs none, in any spelling. Nor does a name that is no address.
    for harmless in [
        json!({"name": "eve@corp.example", "email": "EVE@Corp.example"}),
        json!({"name": "frank", "email": "frank@corp.example"}),
    ] {
        console
            .call_once(Method::POST, "/users", &harmless, None)
            .await
            .success();
    }
    // Each later change of a name needs an approval.
    let bob = host.user("bob").await;
    let path = format!("/users/{}", id(&bob));
    let rename = json!({"name": "cfo@corp.example"});
    let action = requested(&console, Method::PATCH, &path, &rename).await;
    assert_eq!(
        action["summary"],
        "Change the sign-in name of “bob” to “cfo@corp.example”"
    );
    let created = console.call(Method::POST, "/users", create).await.success();
    assert_eq!(created["name"], "ceo@corp.example", "{database:?}");
}

/// One mark covers the email address and a name that is an address. Proof of another address does not confirm a name
/// that support chose.
#[both_databases]
async fn another_address_does_not_confirm_the_name_that_support_chose(database: Database) {
    let mut server = MailServer::start(Security::None).await;
    let settings = server.settings();
    let host = TestHost::start_on_with(database, &settings).await;
    let support = console_caller(&host, "sue", "support").await;
    let body = json!({"name": "ceo@corp.example", "email": "ceo@corp.example"});
    let user = support.call(Method::POST, "/users", body).await.success();
    let path = format!("/users/{}", id(&user));
    let change = async |change: Value| host.admin_ok(Method::PATCH, &path, change).await;
    for proof in [
        json!({"email": "mallory@corp.example"}),
        json!({"profile": {"email_verified": true}}),
    ] {
        let changed = change(proof.clone()).await;
        assert_eq!(changed["email_confirmed"], false, "{database:?} {proof}");
    }
    let body = json!({"users": [id(&user)], "delivery": "email"});
    support
        .call(Method::POST, "/invitations", body)
        .await
        .success();
    let message = server.messages(1).await[0].clone();
    let link = message["text"]
        .text()
        .lines()
        .find(|line| line.contains("#enrol="))
        .expect("a link");
    crate::harness::Device::enrol(link.trim(), "Phone").await;
    let table = "name,nickname\nceo@corp.example,Boss\n";
    let caller = Caller::machine(&host);
    let report = super::transfers::import(&caller, "/users/import", table).await;
    assert_eq!(report.success()["updated"], 1);
    let now = host.admin_ok(Method::GET, &path, Value::Null).await;
    assert_eq!(
        (&now["email_confirmed"], &now["profile"]["email_verified"]),
        (&json!(false), &json!(true)),
        "{database:?}"
    );
    // The approval of a confirmation shows the name, too.
    let (console, _) = owner(&host).await;
    let body = json!({"users": [id(&user)]});
    let action = requested(&console, Method::POST, "/users/confirm-emails", &body).await;
    let summary = action["summary"].text();
    let words =
        "“ceo@corp.example” (mallory@corp.example, and the name is an address of the user too)";
    assert!(summary.ends_with(words), "{database:?}: {summary}");
    let body = json!({"email_confirmed": true});
    let action = requested(&console, Method::PATCH, &path, &body).await;
    let summary = action["summary"].text();
    let words =
        "Confirm that the name of “ceo@corp.example”, which is an address, belongs to the user too";
    assert!(summary.contains(words), "{database:?}: {summary}");
    let changed = change(json!({"email_confirmed": true})).await;
    assert_eq!(changed["email_confirmed"], true);
    // Both are confirmed now, so a new address of an administrator is too.
    let changed = change(json!({"email": "boss@corp.example"})).await;
    assert_eq!(changed["email_confirmed"], true, "{database:?}");
}
