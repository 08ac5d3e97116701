//! A user's sessions, and their end.

use assent::domain::audit;
use assent::domain::portal::{self, EndForm};
use assent_model::audit::{AuditContext, Event};
use assent_store::sql;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::json;

use super::{actions, returned, signed_in};
use crate::harness::{Browser, Database, Page, Parsed, TestHost, TestUser, Text, id};
use crate::lifecycle::entries;
use crate::oidc::refresh::{OFFLINE, refresh, refresh_token};
use crate::oidc::token::userinfo;
use crate::saml::service_provider::TestServiceProvider;

/// Returns the forms that end one session each, the latest first.
fn end_forms(page: &Page) -> Vec<String> {
    let all = actions(page, "/sessions/");
    all.into_iter()
        .filter(|action| action.ends_with("/end"))
        .collect()
}

async fn access_token(host: &TestHost, ada: &TestUser, browser: &Browser) -> String {
    let code = ada.sign_in(browser).await;
    let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    tokens["access_token"].text().to_owned()
}

/// Signs in to the application with the browser's session.
async fn sign_in_again(ada: &TestUser, browser: &Browser) -> String {
    let page = browser.get(&ada.application.request(&[])).await;
    let is_login_page = page.location().path().starts_with("/login/");
    let page = if is_login_page {
        page.followed().await
    } else {
        page
    };
    let page = if page.asks_for_consent() {
        page.decide("allow").await
    } else {
        page
    };
    page.parameter("code")
}

/// Returns the number of queued logout tokens.
async fn queued(host: &TestHost) -> i64 {
    let mut connection = host.connection().await;
    let row: (i64,) = sql::query_as("SELECT COUNT(*) FROM logout_deliveries")
        .fetch_one(&mut connection)
        .await
        .expect("a count");
    row.0
}

/// Registers a back-channel logout URI without a server, so the queued tokens remain.
async fn notified_of_logouts(host: &TestHost, ada: &TestUser) {
    let path = format!("/applications/{}", ada.application.id);
    let change = json!({"backchannel_logout_uri": "https://rp.example/logout"});
    host.admin_ok(Method::PATCH, &path, change).await;
}

#[both_databases]
async fn a_user_sees_each_browser_in_plain_words(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let elsewhere = Browser::new(&host.base);
    ada.sign_in(&elsewhere).await;
    let browser = signed_in(&host, &ada).await;
    let page = browser.get("/sessions").await;
    assert_eq!(
        page.body
            .matches("<h2><bdi>Firefox</bdi> on <bdi>Linux</bdi>")
            .count(),
        2,
        "{}",
        page.body
    );
    assert_eq!(page.body.matches("This browser</span>").count(), 1);
    assert_eq!(page.body.matches("<li class=\"panel current\">").count(), 1);
    assert_eq!(page.body.matches("<dd>This computer</dd>").count(), 2);
    assert_eq!(
        page.body
            .matches("<li><bdi>Books &#38; &#60;Co&#62;</bdi></li>")
            .count(),
        1,
        "{}",
        page.body
    );
    assert!(!page.body.contains("Last used"));
    host.advance(60);
    sign_in_again(&ada, &browser).await;
    let page = browser.get("/sessions").await;
    assert_eq!(
        page.body.matches("Last used").count(),
        1,
        "{database:?}: {}",
        page.body
    );
    assert_eq!(
        page.body.matches("<li><bdi>Books").count(),
        2,
        "{database:?}"
    );
}

/// Returns the time with this label on the page, which shows one session.
fn time_of(page: &Page, label: &str) -> jiff::Timestamp {
    let label = format!("<dt>{label}</dt>");
    let (_, rest) = page.body.split_once(&label).expect("the label");
    let (_, rest) = rest.split_once("datetime=\"").expect("a time");
    let (time, _) = rest.split_once('"').expect("the end of the time");
    time.parsed()
}

#[tokio::test]
async fn a_user_sees_when_a_session_ends_at_the_latest() {
    for (settings, hours) in [
        ("", 1),
        (
            "[session]\nidle_timeout = \"1h\"\nabsolute_timeout = \"2h\"",
            2,
        ),
    ] {
        let host = TestHost::start_with_settings(settings).await;
        let ada = host.ada().await;
        let browser = signed_in(&host, &ada).await;
        let first = browser.get("/sessions").await;
        let latest = time_of(&first, "Signed in") + jiff::SignedDuration::from_hours(hours);
        host.advance(1200);
        // A use moves the expiry, and not the latest end.
        let second = browser.get("/sessions").await;
        for page in [&first, &second] {
            assert_eq!(
                time_of(page, "Ends at the latest"),
                latest,
                "{settings}: {}",
                page.body
            );
        }
    }
}

#[both_databases]
async fn signing_out_one_browser_keeps_the_others(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let (first, second) = (Browser::new(&host.base), Browser::new(&host.base));
    let first_token = access_token(&host, &ada, &first).await;
    host.advance(1);
    let second_token = access_token(&host, &ada, &second).await;
    notified_of_logouts(&host, &ada).await;
    host.advance(1);
    let browser = signed_in(&host, &ada).await;
    let page = browser.get("/sessions").await;
    let end_forms = end_forms(&page);
    assert_eq!(end_forms.len(), 3, "{}", page.body);
    let done = page.submit(&end_forms[2], &[]).await.followed().await;
    assert_eq!(
        returned(&done),
        Some("That browser is signed out."),
        "{database:?}"
    );
    assert!(
        !first.get("/").await.body.contains("Hello,")
            && second.get("/").await.body.contains("Hello,")
    );
    assert_eq!(
        userinfo(&host, &first_token).await.0,
        StatusCode::UNAUTHORIZED,
        "{database:?}"
    );
    assert_eq!(
        userinfo(&host, &second_token).await.0,
        StatusCode::OK,
        "{database:?}"
    );
    assert_eq!(
        queued(&host).await,
        1,
        "{database:?}: the application of the session is notified"
    );
    let audited = entries(
        &host,
        &format!("user={}&event=session.ended", id(&ada.user)),
    )
    .await;
    assert_eq!(
        (audited.len(), &audited[0]["actor"]["kind"]),
        (1, &json!("user"))
    );
    // The form may be sent twice. Other users and later requests find nothing.
    let again = page.submit(&end_forms[2], &[]).await.followed().await;
    assert_eq!(returned(&again), Some("That browser is signed out."));
    let eve = id(&host.user("eve").await).parsed();
    let form = EndForm::from_path(&end_forms[2]).expect("a form");
    let of_eve = portal::was_sent(&host.host, eve, form).await;
    assert!(!of_eve.expect("read"), "{database:?}");
    host.advance(30);
    assert_eq!(
        page.submit(&end_forms[2], &[]).await.status,
        StatusCode::NOT_FOUND,
        "{database:?}: it has ended"
    );

    for _ in 0..2 {
        let out = page.submit(&end_forms[0], &[]).await;
        assert_eq!(out.location().path(), "/session/ended", "this browser");
    }
    assert!(
        !browser.get("/").await.body.contains("Hello,")
            && second.get("/").await.body.contains("Hello,")
    );
    let audited = entries(
        &host,
        &format!("user={}&event=session.signed-out", id(&ada.user)),
    )
    .await;
    assert_eq!(audited.len(), 1, "{database:?}");
}

#[tokio::test]
async fn signing_out_the_others_keeps_this_browser() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let others = [Browser::new(&host.base), Browser::new(&host.base)];
    for other in &others {
        ada.sign_in(other).await;
    }
    notified_of_logouts(&host, &ada).await;
    let browser = signed_in(&host, &ada).await;
    let done = browser
        .get("/sessions")
        .await
        .submit("/sessions/end-others", &[])
        .await
        .followed()
        .await;
    assert_eq!(returned(&done), Some("All other browsers are signed out."));
    assert!(
        !done.body.contains("end-others"),
        "no other sessions exist any more"
    );
    for other in &others {
        assert!(!other.get("/").await.body.contains("Hello,"));
    }
    assert!(browser.get("/").await.body.contains("Hello,"));
    assert_eq!(queued(&host).await, 2);
    let audited = entries(
        &host,
        &format!("user={}&event=session.ended", id(&ada.user)),
    )
    .await;
    assert_eq!(
        (audited.len(), &audited[0]["detail"]["sessions"]),
        (1, &json!(2))
    );
}

#[both_databases]
async fn signing_out_everywhere_ends_sessions_and_tokens_and_notifies_applications(
    database: Database,
) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let (browser, other) = (Browser::new(&host.base), Browser::new(&host.base));
    let tokens = [
        access_token(&host, &ada, &browser).await,
        access_token(&host, &ada, &other).await,
    ];
    // Offline access outlasts the session, as after any logout.
    let code = ada.sign_in_with(&Browser::new(&host.base), &OFFLINE).await;
    let (_, stored) = ada.application.exchange(&host.base, &code, &[]).await;
    notified_of_logouts(&host, &ada).await;
    let page = browser.get("/sessions").await;
    let out = page.submit("/sessions/end-all", &[]).await;
    assert_eq!(out.location().path(), "/session/ended");
    assert!(
        out.headers["set-cookie"]
            .text()
            .contains("assent-session=;")
    );
    for browser in [&browser, &other] {
        assert!(
            !browser.get("/").await.body.contains("Hello,"),
            "{database:?}"
        );
    }
    for token in &tokens {
        assert_eq!(
            userinfo(&host, token).await.0,
            StatusCode::UNAUTHORIZED,
            "{database:?}"
        );
    }
    assert_eq!(queued(&host).await, 3, "{database:?}");
    // The form may be sent twice, for half a minute. A user who signed in again since is not signed out everywhere.
    for (seconds, expected) in [
        (0, "/session/ended"),
        (29, "/session/ended"),
        (2, "/sign-in"),
    ] {
        host.advance(seconds);
        let again = page.submit("/sessions/end-all", &[]).await;
        assert_eq!(again.location().path(), expected, "{database:?}");
    }
    host.advance(30);
    ada.sign_in(&other).await;
    let again = page.submit("/sessions/end-all", &[]).await;
    assert_eq!(again.location().path(), "/sign-in", "{database:?}");
    let (status, _) = refresh(&host.base, &ada.application, refresh_token(&stored), &[]).await;
    assert_eq!(status, StatusCode::OK, "{database:?}");
    let path = format!("user={}&event=session.ended", id(&ada.user));
    assert_eq!(
        entries(&host, &path).await[0]["detail"]["sessions"],
        2,
        "{database:?}"
    );
    let path = format!("user={}&event=session.signed-out", id(&ada.user));
    assert_eq!(entries(&host, &path).await.len(), 1, "{database:?}");
}

#[both_databases]
async fn a_session_of_another_user_is_not_found_and_continues(database: Database) {
    let (host, ada) = TestHost::start_on(database).await.with_ada().await;
    let eve = host.user_with_account("eve", ada.application.clone()).await;
    let (of_ada, of_eve) = (signed_in(&host, &ada).await, signed_in(&host, &eve).await);
    let page = of_eve.get("/sessions").await;
    assert_eq!(end_forms(&page).len(), 1, "{database:?}: {}", page.body);
    let session = end_forms(&of_ada.get("/sessions").await).remove(0);
    let session = session.split('/').nth(2).expect("an id").parsed();
    let user = id(&eve.user).parsed();
    let entry = || audit::entry(&host.host, Event::SessionEnded, &AuditContext::SERVER).about(user);
    let (store, now) = (&host.host.store, host.host.now());
    assert!(
        store
            .end_session_of(user, session, entry(), now)
            .await
            .expect("done")
            .is_none(),
        "{database:?}"
    );
    store
        .end_other_sessions_of(user, String::new(), entry(), now)
        .await
        .expect("done");
    assert!(
        of_ada.get("/").await.body.contains("Hello,"),
        "{database:?}"
    );
    assert!(
        !of_eve.get("/").await.body.contains("Hello,"),
        "{database:?}: her own are ended"
    );
}

#[tokio::test]
async fn a_session_without_a_place_is_listed() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let browser = signed_in(&host, &ada).await;
    let mut connection = host.connection().await;
    let forget = "UPDATE sessions SET ip_address = NULL, browser = NULL, device_id = NULL";
    sql::query(forget)
        .execute(&mut connection)
        .await
        .expect("forgotten");
    let page = browser.get("/sessions").await;
    assert!(
        page.body.contains("<h2>Unknown browser") && page.body.contains("<dd>Not known</dd>"),
        "{}",
        page.body
    );
}

/// A service provider can be notified of a logout only through its own browser.
#[tokio::test(flavor = "multi_thread")]
async fn service_providers_are_notified_from_their_own_browser_and_others_are_listed() {
    let (host, service_provider, ada) = TestServiceProvider::start_with_ada().await;
    let (here, elsewhere) = (Browser::new(&host.base), Browser::new(&host.base));
    service_provider
        .sign_in(&ada, &elsewhere, &service_provider.request(&host))
        .await;
    host.advance(1);
    service_provider
        .sign_in(&ada, &here, &service_provider.request(&host))
        .await;
    let page = here.get("/sessions").await;
    let done = page
        .submit(&end_forms(&page)[1], &[])
        .await
        .followed()
        .await;
    let message = returned(&done).expect("a message");
    assert!(
        message.starts_with("That browser is signed out.")
            && message.contains("cannot be notified"),
        "{message}"
    );
    assert!(!elsewhere.get("/").await.body.contains("Hello,"));
    let redirect = done.submit("/sessions/end-all", &[]).await;
    assert!(
        redirect.location().path().starts_with("/sso/logout/"),
        "{}",
        redirect.location()
    );
    assert!(!here.get("/").await.body.contains("Hello,"));
}
