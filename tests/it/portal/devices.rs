//! A person's devices: seen, renamed, and revoked by whoever signed in a moment ago.

use assent::authenticator::Authenticator;
use assent::domain::audit;
use assent::domain::devices::device;
use assent::domain::devices::device::RenameOutcome;
use assent::domain::portal;
use assent_model::audit::{AuditContext, Event};
use assent_model::recovery::CodesOfDevice;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{signed_in, through_login, told};
use crate::harness::{Ada, Browser, Database, HostOptions, Page, TestHost, id};
use crate::life::{entries, events};
use crate::oidc::token::userinfo;
use assent_store::DeviceWrite;

/// Another phone of a person's, which goes by this name.
async fn another(host: &TestHost, ada: &Ada, name: &str) -> Authenticator {
    // Of what is made at one moment the order is chance.
    host.advance(1);
    let path = format!("/users/{}/enrolments", id(&ada.user));
    let enrolment = host.admin_ok(Method::POST, &path, Value::Null).await;
    Authenticator::enrol(enrolment["link"].as_str().expect("a link"), name, None)
        .await
        .expect("enrolled")
}

fn question(phone: &Authenticator) -> String {
    format!("/devices/{}/revoke", phone.device())
}

#[both_databases]
async fn a_person_sees_their_devices_and_names_them(database: Database) {
    let host = TestHost::start_with(HostOptions {
        database,
        ..HostOptions::default()
    })
    .await;
    let ada = host.ada().await;
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
    // The one approved this sign-in, the other nothing yet.
    assert_eq!(
        page.body.matches("<dd>Never</dd>").count(),
        1,
        "{}",
        page.body
    );
    assert_eq!(page.body.matches("<time ").count(), 3);

    let rename = format!("/devices/{}/name", ada.phone.device());
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
    assert_eq!(told(&renamed), Some("The device has its new name."));
    assert!(
        renamed
            .body
            .contains("<h2><bdi>Pocket &#38; &#60;co&#62;</bdi></h2>"),
        "{}",
        renamed.body
    );
    let noted = entries(
        &host,
        &format!("user={}&event=device.renamed", id(&ada.user)),
    )
    .await;
    assert_eq!(noted.len(), 1, "{database:?}: a refused name is no event");
    assert_eq!(
        noted[0]["actor"],
        json!({"kind": "user", "id": id(&ada.user), "name": "ada"})
    );
    assert_eq!(noted[0]["detail"]["device"], ada.phone.device().to_string());
    assert_eq!(noted[0]["personal"]["new_name"], "Pocket & <co>");
}

#[both_databases]
async fn revoking_ends_the_device_and_the_sessions_that_it_approved(database: Database) {
    let host = TestHost::start_with(HostOptions {
        database,
        ..HostOptions::default()
    })
    .await;
    let lost = host.ada().await;
    // A thief's browser, signed in by the lost phone; its application has a token.
    let thief = Browser::new(&host.base);
    let code = lost.sign_in(&thief).await;
    let (_, tokens) = lost.application.exchange(&host.base, &code, &[]).await;
    let token = tokens["access_token"].as_str().expect("a token").to_owned();

    let phone = another(&host, &lost, "New phone").await;
    let ada = Ada {
        phone,
        user: lost.user.clone(),
        application: lost.application.clone(),
        account: lost.account.clone(),
    };
    let browser = signed_in(&host, &ada).await;
    let asked = browser.get(&question(&lost.phone)).await;
    assert!(
        asked.body.contains("Remove <bdi>Test phone</bdi>?")
            && !asked.body.contains("your last device")
    );
    // The thief asks for more, at this moment.
    let waiting = lost.ask(&Browser::new(&host.base), &[]).await;
    assert_eq!(lost.phone.waiting(5).await.expect("requests").len(), 1);
    let done = asked
        .submit(&question(&lost.phone), &[])
        .await
        .followed()
        .await;
    assert_eq!(done.path(), "/devices");
    let said = told(&done).expect("told");
    assert!(
        said.starts_with("The device is removed, and the browsers that it signed in"),
        "{said}"
    );
    assert!(
        !done.body.contains("Test phone") && done.body.contains("New phone"),
        "{database:?}: {}",
        done.body
    );

    assert!(
        lost.phone.waiting(0).await.is_err(),
        "{database:?}: it is nobody's any more"
    );
    assert!(
        ada.phone.waiting(0).await.expect("requests").is_empty(),
        "the open request is over"
    );
    assert_eq!(
        browser.get(&waiting.url).await.status,
        StatusCode::NOT_FOUND,
        "it was another browser's"
    );
    assert!(
        !thief.get("/").await.body.contains("Hello,"),
        "{database:?}: the session has ended"
    );
    assert_eq!(
        userinfo(&host, &token).await.0,
        StatusCode::UNAUTHORIZED,
        "{database:?}: and its token"
    );
    assert!(
        browser.get("/").await.body.contains("Hello,"),
        "{database:?}: what the other phone began goes on"
    );
    let noted = entries(
        &host,
        &format!("user={}&event=device.revoked", id(&ada.user)),
    )
    .await;
    assert_eq!(
        (noted.len(), &noted[0]["detail"]["sessions"]),
        (1, &json!(1))
    );
    assert_eq!(noted[0]["actor"]["kind"], "user");
    assert_eq!(
        browser.get(&question(&lost.phone)).await.status,
        StatusCode::NOT_FOUND,
        "once is enough"
    );
}

#[tokio::test]
async fn the_last_device_is_warned_of_and_takes_this_browser_along() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    let browser = signed_in(&host, &ada).await;
    let asked = browser.get(&question(&ada.phone)).await;
    assert!(
        asked.body.contains("This is your last device."),
        "{}",
        asked.body
    );
    let ended = asked.submit(&question(&ada.phone), &[]).await;
    assert_eq!(ended.location().path(), "/session/ended");
    assert!(
        ended.headers["set-cookie"]
            .to_str()
            .expect("text")
            .contains("assent-session=;")
    );
    assert!(!browser.get("/").await.body.contains("Hello,"));
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
        assert!(!page.body.contains(removed), "{other}: nobody else says so");
    }
}

/// The session was enough for looking; for this it is not.
#[tokio::test]
async fn a_sign_in_that_is_older_than_ten_minutes_revokes_nothing() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    another(&host, &ada, "Old phone").await;
    let browser = signed_in(&host, &ada).await;
    let device = browser.get("/devices").await;
    let old = old_phone(&device);
    host.advance(600);
    let asked = browser.get(&old).await;
    assert_eq!(asked.status, StatusCode::OK, "ten minutes are still recent");
    host.advance(1);
    let stale = asked.submit(&old, &[]).await;
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
        "the question is not even asked"
    );
    let again = through_login(&ada, &redirect).await;
    assert_eq!(
        again.path(),
        old,
        "after the approval the question is asked"
    );
    let done = again.submit(&old, &[]).await.followed().await;
    assert!(
        told(&done).is_some() && !done.body.contains("Old phone"),
        "{}",
        done.body
    );
}

/// Where the question is whether to revoke the device that was added last.
fn old_phone(devices: &Page) -> String {
    // The one that was enrolled last stands first.
    let first = devices
        .body
        .split("class=\"button small danger\" href=\"")
        .nth(1)
        .expect("a link");
    first.split('"').next().expect("an address").to_owned()
}

#[both_databases]
async fn another_persons_device_is_not_there_and_stays_as_it_is(database: Database) {
    let host = TestHost::start_with(HostOptions {
        database,
        ..HostOptions::default()
    })
    .await;
    let ada = host.ada().await;
    let eve = host.person("eve", ada.application.clone()).await;
    let browser = signed_in(&host, &eve).await;
    for other in [ada.phone.device().to_string(), "nonsense".to_owned()] {
        assert_eq!(
            browser
                .get(&format!("/devices/{other}/revoke"))
                .await
                .status,
            StatusCode::NOT_FOUND
        );
    }
    // Whatever leads there, the use cases and the statements themselves name whose device it has to be.
    let (phone, user) = (ada.phone.device(), id(&eve.user).parse().expect("an id"));
    let of_eve = host
        .host
        .store
        .user(user)
        .await
        .expect("read")
        .expect("Eve");
    let renaming = device::rename(&host.host, user, phone, "Stolen", &AuditContext::SERVER)
        .await
        .expect("done");
    assert_eq!(renaming, RenameOutcome::Unknown);
    assert!(
        portal::device(&host.host, &of_eve, phone)
            .await
            .expect("read")
            .is_none()
    );
    let entry = |event| audit::entry(&host.host, event, &AuditContext::SERVER).about(user);
    let (store, now) = (&host.host.store, host.host.now());
    let renamed = store
        .rename_device_of(
            user,
            phone,
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
            phone,
            CodesOfDevice::End,
            entry(Event::DeviceRevoked),
            now,
        )
        .await;
    assert!(revoked.expect("done").is_none(), "{database:?}");
    assert!(
        ada.phone.waiting(0).await.is_ok(),
        "{database:?}: Ada's phone is still hers"
    );
    assert!(
        signed_in(&host, &ada)
            .await
            .get("/devices")
            .await
            .body
            .contains("<bdi>Test phone</bdi>")
    );
    for person in [&ada, &eve] {
        let noted = entries(&host, &format!("user={}", id(&person.user))).await;
        assert!(
            !events(&noted)
                .iter()
                .any(|event| event.starts_with("device.re")),
            "{database:?}: {noted:?}"
        );
    }
}

#[tokio::test]
async fn whoever_loses_their_last_device_may_keep_the_codes_that_it_made() {
    for (fields, status) in [
        (&[("codes", "keep")][..], StatusCode::SEE_OTHER),
        (&[], StatusCode::UNPROCESSABLE_ENTITY),
    ] {
        let host = TestHost::start().await;
        let ada = host.ada().await;
        let browser = signed_in(&host, &ada).await;
        let asked = browser.get(&question(&ada.phone)).await;
        assert!(!asked.body.contains("name=\"codes\""), "there are none");
        let made = ada
            .phone
            .ask(Method::POST, "/recovery-codes", None)
            .await
            .expect("codes");
        let asked = browser.get(&question(&ada.phone)).await;
        assert!(
            asked.body.contains("name=\"codes\" value=\"keep\">"),
            "{}",
            asked.body
        );
        asked.submit(&question(&ada.phone), fields).await;
        let page = Browser::new(&host.base).get("/recover").await;
        let code = made["codes"][0].as_str().expect("a code");
        let tried = page
            .submit("/recover", &[("name", "ada"), ("code", code)])
            .await;
        assert_eq!(tried.status, status, "{fields:?}");
    }
}
