//! A user's devices: listed, renamed, and revoked after a recent sign-in.

use assent::domain::audit;
use assent::domain::devices::device;
use assent::domain::devices::device::RenameOutcome;
use assent::domain::portal;
use assent_model::audit::{AuditContext, Event};
use assent_model::recovery::CodesOfDevice;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{returned, signed_in, through_login};
use crate::harness::{Browser, Database, Device, Page, Parsed, TestHost, TestUser, Text, id};
use crate::lifecycle::{entries, events};
use crate::oidc::token::userinfo;
use assent_store::DeviceWrite;

/// Enrols another device of a user, with this name.
async fn another(host: &TestHost, ada: &TestUser, name: &str) -> Device {
    // Devices of the same millisecond have a random order.
    host.advance(1);
    let path = format!("/users/{}/enrolments", id(&ada.user));
    let enrolment = host.admin_ok(Method::POST, &path, Value::Null).await;
    Device::enrol(enrolment["link"].text(), name).await
}

fn question(device: &Device) -> String {
    format!("/devices/{}/revoke", device.device())
}

#[both_databases]
async fn a_user_lists_and_renames_devices(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    another(&host, &ada, "<img src=x onerror=alert(1)>").await;
    let browser = signed_in(&host, &ada).await;
    let page = browser.get("/devices").await;
    assert!(
        page.body.contains("<h2><bdi>Test phone</bdi></h2>"),
        "{database:?}: {}",
        page.body
    );
    assert!(
        page.body
            .contains("<h2><bdi>&#60;img src=x onerror=alert(1)&#62;</bdi></h2>"),
        "{}",
        page.body
    );
    assert!(!page.body.contains("<img src=x"));
    // One device approved this sign-in. The other has approved nothing yet.
    assert_eq!(
        page.body.matches("<dd>Never</dd>").count(),
        1,
        "{}",
        page.body
    );
    assert_eq!(page.body.matches("<time ").count(), 3);
    assert_eq!(
        page.body
            .matches("<dt>Face, finger or PIN</dt><dd>Off</dd>")
            .count(),
        2,
        "no device has a passkey: {}",
        page.body
    );

    let rename = format!("/devices/{}/name", ada.device.device());
    for bad in ["", "   ", "a\u{7}b", "a\u{202e}b", &"n".repeat(81)] {
        let refused = page.submit(&rename, &[("name", bad)]).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{bad:?}");
        assert!(
            refused.body.contains("aria-invalid=\"true\"")
                && refused.body.contains("1 to 80 characters")
        );
    }
    let renamed = page
        .submit(&rename, &[("name", " Pocket & <co> ")])
        .await
        .followed()
        .await;
    assert_eq!(returned(&renamed), Some("The device has its new name."));
    assert!(
        renamed
            .body
            .contains("<h2><bdi>Pocket &#38; &#60;co&#62;</bdi></h2>"),
        "{}",
        renamed.body
    );
    let audited = entries(
        &host,
        &format!("user={}&event=device.renamed", id(&ada.user)),
    )
    .await;
    assert_eq!(
        audited.len(),
        1,
        "{database:?}: a rejected name causes no event"
    );
    assert_eq!(
        audited[0]["actor"],
        json!({"kind": "user", "id": id(&ada.user), "name": "ada"})
    );
    assert_eq!(
        audited[0]["detail"]["device"],
        ada.device.device().to_string()
    );
    assert_eq!(audited[0]["personal"]["new_name"], "Pocket & <co>");
}

#[both_databases]
async fn revoking_a_device_ends_its_sessions(database: Database) {
    let host = TestHost::start_on(database).await;
    let lost = host.ada().await;
    // A thief's browser, signed in with the lost phone. Its application has a token.
    let thief = Browser::new(&host.base);
    let code = lost.sign_in(&thief).await;
    let (_, tokens) = lost.application.exchange(&host.base, &code, &[]).await;
    let token = tokens["access_token"].text().to_owned();

    let device = another(&host, &lost, "New phone").await;
    let ada = TestUser {
        device,
        user: lost.user.clone(),
        application: lost.application.clone(),
        account: lost.account.clone(),
    };
    let browser = signed_in(&host, &ada).await;
    let requested = browser.get(&question(&lost.device)).await;
    assert!(
        requested.body.contains("Remove <bdi>Test phone</bdi>?")
            && !requested.body.contains("your last device")
    );
    // At this moment, the thief begins another sign-in.
    let waiting = lost.begin_sign_in(&Browser::new(&host.base), &[]).await;
    assert_eq!(lost.device.pending_requests(5).await.len(), 1);
    let done = requested
        .submit(&question(&lost.device), &[])
        .await
        .followed()
        .await;
    assert_eq!(done.path(), "/devices");
    let message = returned(&done).expect("a message");
    assert!(
        message.starts_with("The device is removed, and the browsers that it signed in"),
        "{message}"
    );
    assert!(
        !done.body.contains("Test phone") && done.body.contains("New phone"),
        "{database:?}: {}",
        done.body
    );

    assert!(
        lost.device.waiting(0).await.is_err(),
        "{database:?}: the device belongs to no user any more"
    );
    assert!(
        ada.device.pending_requests(0).await.is_empty(),
        "the pending request has ended"
    );
    assert_eq!(
        browser.get(&waiting.url).await.status,
        StatusCode::NOT_FOUND,
        "the page belongs to another browser"
    );
    assert!(
        !thief.get("/").await.body.contains("Hello,"),
        "{database:?}: the session has ended"
    );
    assert_eq!(
        userinfo(&host, &token).await.0,
        StatusCode::UNAUTHORIZED,
        "{database:?}: the token has ended"
    );
    assert!(
        browser.get("/").await.body.contains("Hello,"),
        "{database:?}: the session of the other device continues"
    );
    let audited = entries(
        &host,
        &format!("user={}&event=device.revoked", id(&ada.user)),
    )
    .await;
    assert_eq!(
        (audited.len(), &audited[0]["detail"]["sessions"]),
        (1, &json!(1))
    );
    assert_eq!(audited[0]["actor"]["kind"], "user");
    assert_eq!(
        browser.get(&question(&lost.device)).await.status,
        StatusCode::NOT_FOUND,
        "once is enough"
    );
    // The form may be sent twice.
    let again = requested.submit(&question(&lost.device), &[]).await;
    let message = returned(&again.followed().await).map(str::to_owned);
    assert!(
        message.is_some_and(|message| message.starts_with("The device is removed")),
        "{database:?}"
    );
    host.advance(30);
    let late = requested.submit(&question(&lost.device), &[]).await;
    assert_eq!(late.status, StatusCode::NOT_FOUND, "{database:?}");
    let path = format!("user={}&event=device.revoked", id(&ada.user));
    assert_eq!(entries(&host, &path).await.len(), 1, "{database:?}");
}

#[tokio::test]
async fn revoking_the_last_device_warns_and_ends_the_session() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let browser = signed_in(&host, &ada).await;
    let requested = browser.get(&question(&ada.device)).await;
    assert!(
        requested.body.contains("This is your last device."),
        "{}",
        requested.body
    );
    let ended = requested.submit(&question(&ada.device), &[]).await;
    assert_eq!(ended.location().path(), "/session/ended");
    assert!(
        ended.headers["set-cookie"]
            .text()
            .contains("assent-session=;")
    );
    assert!(!browser.get("/").await.body.contains("Hello,"));
    // The form may be sent twice.
    let again = requested.submit(&question(&ada.device), &[]).await;
    assert_eq!(again.location(), ended.location());
    let removed = "The device was removed.";
    assert!(
        browser
            .get(ended.location().as_str())
            .await
            .body
            .contains(removed)
    );
    for other in [
        "/session/ended",
        "/session/ended?device=x",
        "/session/ended?device=x&device=y",
    ] {
        let page = browser.get(other).await;
        assert_eq!(page.status, StatusCode::OK, "{other}");
        assert!(
            !page.body.contains(removed),
            "{other}: the notice is not shown"
        );
    }
}

/// The session is sufficient to view the page, but not for a revocation.
#[tokio::test]
async fn revocation_requires_a_sign_in_of_the_last_ten_minutes() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    another(&host, &ada, "Old phone").await;
    let browser = signed_in(&host, &ada).await;
    let device = browser.get("/devices").await;
    let old = old_phone(&device);
    host.advance(600);
    let requested = browser.get(&old).await;
    assert_eq!(
        requested.status,
        StatusCode::OK,
        "ten minutes are still recent"
    );
    host.advance(1);
    let stale = requested.submit(&old, &[]).await;
    assert_eq!(
        stale.location().path(),
        "/sign-in",
        "the form that was open"
    );
    assert!(
        browser.get("/devices").await.body.contains("Old phone"),
        "nothing was revoked"
    );
    let redirect = browser.get(&old).await;
    assert_eq!(
        redirect.location().path(),
        "/sign-in",
        "the confirmation is not shown"
    );
    let again = through_login(&ada, &redirect).await;
    assert_eq!(
        again.path(),
        old,
        "after the approval the confirmation is shown"
    );
    let done = again.submit(&old, &[]).await.followed().await;
    assert!(
        returned(&done).is_some() && !done.body.contains("Old phone"),
        "{}",
        done.body
    );
}

/// Returns the path of the revocation page of the device that was enrolled last.
fn old_phone(devices: &Page) -> String {
    // The list begins with the device that was enrolled last.
    let first = devices
        .body
        .split("class=\"button small danger\" href=\"")
        .nth(1)
        .expect("a link");
    first.split('"').next().expect("an address").to_owned()
}

#[both_databases]
async fn a_device_of_another_user_is_not_found(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let eve = host.user_with_account("eve", ada.application.clone()).await;
    let browser = signed_in(&host, &eve).await;
    for other in [ada.device.device().to_string(), "nonsense".to_owned()] {
        assert_eq!(
            browser
                .get(&format!("/devices/{other}/revoke"))
                .await
                .status,
            StatusCode::NOT_FOUND
        );
    }
    // The use cases and the statements themselves check the owner of the device, independent of the page.
    let (device, user) = (ada.device.device(), id(&eve.user).parsed());
    let of_eve = host
        .host
        .store
        .user(user)
        .await
        .expect("read")
        .expect("Eve");
    let renaming = device::rename(&host.host, user, device, "Stolen", &AuditContext::SERVER)
        .await
        .expect("done");
    assert_eq!(renaming, RenameOutcome::Unknown);
    assert!(
        portal::device(&host.host, &of_eve, device)
            .await
            .expect("read")
            .is_none()
    );
    let entry = |event| audit::entry(&host.host, event, &AuditContext::SERVER).about(user);
    let (store, now) = (&host.host.store, host.host.now());
    let renamed = store
        .rename_device_of(
            user,
            device,
            "Stolen".to_owned(),
            entry(Event::DeviceRenamed),
        )
        .await;
    assert_eq!(
        renamed.expect("done"),
        DeviceWrite::Inactive,
        "{database:?}"
    );
    let revoked = store
        .revoke_device_of(
            user,
            device,
            CodesOfDevice::End,
            entry(Event::DeviceRevoked),
            now,
        )
        .await;
    assert!(revoked.expect("done").is_none(), "{database:?}");
    assert!(
        ada.device.waiting(0).await.is_ok(),
        "{database:?}: the device of Ada still works"
    );
    assert!(
        signed_in(&host, &ada)
            .await
            .get("/devices")
            .await
            .body
            .contains("<bdi>Test phone</bdi>")
    );
    for user in [&ada, &eve] {
        let audited = entries(&host, &format!("user={}", id(&user.user))).await;
        assert!(
            !events(&audited)
                .iter()
                .any(|event| event.starts_with("device.re")),
            "{database:?}: {audited:?}"
        );
    }
}

#[tokio::test]
async fn revoking_the_last_device_may_keep_its_recovery_codes() {
    for (fields, status) in [
        (&[("codes", "keep")][..], StatusCode::SEE_OTHER),
        (&[], StatusCode::UNPROCESSABLE_ENTITY),
    ] {
        let (host, ada) = TestHost::start().await.with_ada().await;
        let browser = signed_in(&host, &ada).await;
        let requested = browser.get(&question(&ada.device)).await;
        assert!(!requested.body.contains("name=\"codes\""), "no codes exist");
        let created = ada.device.recovery_codes().await;
        let requested = browser.get(&question(&ada.device)).await;
        assert!(
            requested.body.contains("name=\"codes\" value=\"keep\">"),
            "{}",
            requested.body
        );
        requested.submit(&question(&ada.device), fields).await;
        let page = Browser::new(&host.base).get("/recover").await;
        let code = created[0].as_str();
        let tried = page
            .submit("/recover", &[("name", "ada"), ("code", code)])
            .await;
        assert_eq!(tried.status, status, "{fields:?}");
    }
}
