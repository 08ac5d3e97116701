//! The applications that may ask a user without a browser: their requests, and the stop by the user.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{returned, signed_in, through_login};
use crate::harness::{
    Application, Browser, Database, Page, TestHost, TestUser, Text, id, jwt_claims,
};
use crate::lifecycle::entries;
use crate::oidc::token::userinfo;
use crate::oidc::{ciba, device_authorization};

/// Another application in which Ada has an account, and which may ask for her.
async fn other_application(host: &TestHost, ada: &TestUser) -> Application {
    let other = host.web_application().await;
    ciba::permit(host, &other).await;
    host.account(&ada.user, &other).await;
    other
}

/// Submits the form of an application on the page of requests, and returns the page that follows.
async fn choose(page: &Page, application: &Application, verb: &str) -> Page {
    let action = format!("/requests/{}/{verb}", application.id);
    page.submit(&action, &[]).await.followed().await
}

/// Whether a device of Ada receives a new request of the application, which must be accepted. Answers it.
async fn is_shown(host: &TestHost, ada: &TestUser, application: &Application) -> bool {
    let (status, answer) = ciba::ask(&host.base, application, &[]).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let requests = ada.device.pending_requests(0).await;
    let own = |one: &&assent::authenticator::enrolled::PendingRequest| {
        one.application.id == application.id
    };
    let Some(request) = requests.iter().find(own) else {
        return false;
    };
    assert_eq!(ada.device.approve(request, "").await, "approved");
    true
}

#[both_databases]
async fn a_user_sees_who_may_ask_and_what_they_asked(database: Database) {
    let (host, ada) = ciba::start(database).await;
    let browser = signed_in(&host, &ada).await;
    // An application without the grant type, and one to which Ada has no access, may not ask her.
    let silent = host.web_application().await;
    host.account(&ada.user, &silent).await;
    let foreign = host.web_application().await;
    ciba::permit(&host, &foreign).await;
    let page = browser.get("/requests").await;
    assert_eq!(page.body.matches("/stop\"").count(), 1, "{}", page.body);
    assert!(
        page.body
            .contains(&format!("/requests/{}/stop", ada.application.id)),
        "{}",
        page.body
    );
    assert!(page.body.contains("No application asked you."));

    let asked = ciba::asked(&host, &ada, &[("binding_message", Some("Pay <5> & go"))]).await;
    let page = browser.get("/requests").await;
    assert!(page.body.contains("Waiting for you"), "{}", page.body);
    let request = ciba::pending(&ada.device).await;
    ada.device.approve(&request, "").await;
    ciba::poll(&host.base, &ada.application, &asked).await;
    let page = browser.get("/requests").await;
    for expected in [
        "You approved",
        "Pay &#60;5&#62; &#38; go",
        "Confirm your identity",
        "Answered",
    ] {
        assert!(page.body.contains(expected), "{expected}: {}", page.body);
    }
    // No other user sees it.
    let bob = host
        .user_with_account("bob", host.web_application().await)
        .await;
    let of_bob = Browser::new(&host.base);
    let page = through_login(&bob, &of_bob.get("/requests").await).await;
    assert!(
        page.body.contains("No application asked you.") && !page.body.contains("Pay"),
        "{}",
        page.body
    );
}

/// The application does not learn of the stop: its requests are accepted, and expire.
#[both_databases]
async fn a_stopped_application_sees_requests_that_expire(database: Database) {
    let (host, ada) = ciba::start(database).await;
    let other = other_application(&host, &ada).await;
    let browser = signed_in(&host, &ada).await;
    let (_, usual) = ciba::ask(&host.base, &ada.application, &[]).await;
    let pending = usual["auth_req_id"].text().to_owned();
    let page = choose(&browser.get("/requests").await, &ada.application, "stop").await;
    assert_eq!(
        returned(&page),
        Some("Its requests no longer reach your phone. The application sees them expire."),
        "{}",
        page.body
    );
    assert!(page.body.contains("You stopped its requests:"));
    // The pending request is gone from the device, and pending for the application.
    assert!(
        ada.device.pending_requests(0).await.is_empty(),
        "{database:?}"
    );
    assert_eq!(
        ciba::poll_error(&host, &ada, &pending).await,
        "authorization_pending"
    );

    let (status, answer) = ciba::ask(&host.base, &ada.application, &[]).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let members = |answer: &Value| {
        let members = answer.as_object().expect("an object").keys().cloned();
        members.collect::<Vec<String>>()
    };
    assert_eq!(members(&answer), members(&usual), "{database:?}");
    assert_eq!(
        (&answer["expires_in"], &answer["interval"]),
        (&usual["expires_in"], &usual["interval"])
    );
    let stopped = answer["auth_req_id"].text().to_owned();
    assert!(
        ada.device.pending_requests(0).await.is_empty(),
        "{database:?}"
    );
    assert_eq!(
        ciba::poll_error(&host, &ada, &stopped).await,
        "authorization_pending"
    );
    // Another application and a sign-in still reach the device.
    assert!(is_shown(&host, &ada, &other).await, "{database:?}");
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    ada.approve(&waiting).await;
    host.advance(121);
    for expired in [&pending, &stopped] {
        assert_eq!(
            ciba::poll_error(&host, &ada, expired).await,
            "expired_token"
        );
    }
    let page = browser.get("/requests").await;
    assert!(
        page.body.contains("Not shown on your phone"),
        "{}",
        page.body
    );
    assert!(
        page.body.contains("Ended without a result"),
        "{}",
        page.body
    );

    // The stop is stored once, and a second click changes nothing.
    let audited = format!("user={}&event=backchannel.stopped", id(&ada.user));
    let stops = entries(&host, &audited).await;
    assert_eq!(stops.len(), 1, "{stops:?}");
    assert_eq!(stops[0]["application_id"], ada.application.id.as_str());
    let page = choose(&page, &ada.application, "permit").await;
    assert_eq!(
        returned(&page),
        Some("Its requests reach your phone again.")
    );
    assert!(
        is_shown(&host, &ada, &ada.application).await,
        "{database:?}"
    );
}

#[both_databases]
async fn a_denial_pauses_its_application_until_the_user_permits_it_again(database: Database) {
    let (host, ada) = ciba::start(database).await;
    let browser = signed_in(&host, &ada).await;
    ciba::asked(&host, &ada, &[]).await;
    ada.device.deny(&ciba::pending(&ada.device).await).await;
    host.advance(1);
    assert!(
        !is_shown(&host, &ada, &ada.application).await,
        "{database:?}"
    );
    let page = browser.get("/requests").await;
    assert!(
        page.body
            .contains("You denied or reported a request. End of the pause:"),
        "{}",
        page.body
    );
    assert!(page.body.contains("You denied</span>"), "{}", page.body);
    let page = choose(&page, &ada.application, "permit").await;
    assert!(
        page.body.contains("Its requests reach your phone."),
        "{}",
        page.body
    );
    assert!(
        is_shown(&host, &ada, &ada.application).await,
        "{database:?}"
    );
    // A later denial pauses it again.
    host.advance(1);
    ciba::asked(&host, &ada, &[]).await;
    ada.device.deny(&ciba::pending(&ada.device).await).await;
    assert!(
        !is_shown(&host, &ada, &ada.application).await,
        "{database:?}"
    );
}

/// A report from the card pauses all applications. The portal shows the pause, and ends it.
#[both_databases]
async fn a_report_pauses_all_applications_until_the_user_ends_the_pause(database: Database) {
    let (host, ada) = ciba::start(database).await;
    let other = other_application(&host, &ada).await;
    let browser = signed_in(&host, &ada).await;
    ciba::asked(&host, &ada, &[]).await;
    let request = ciba::pending(&ada.device).await;
    assert_eq!(ada.device.submit_report(&request).await, "reported");
    for application in [&ada.application, &other] {
        assert!(!is_shown(&host, &ada, application).await, "{database:?}");
    }
    let page = browser.get("/requests").await;
    assert!(
        page.body.contains("All requests are paused"),
        "{}",
        page.body
    );
    assert!(page.body.contains("You reported it"), "{}", page.body);
    let page = page.submit("/requests/resume", &[]).await.followed().await;
    assert_eq!(
        returned(&page),
        Some("The pause ended. Requests reach your phone again.")
    );
    assert!(!page.body.contains("All requests are paused"));
    assert_eq!(ada.device.cooldown_end().await, None, "{database:?}");
    // The request that the pause held arrives now. The application whose request was reported stays paused.
    let arrived = ada.device.pending_requests(5).await;
    let applications: Vec<&str> = arrived
        .iter()
        .map(|one| one.application.id.as_str())
        .collect();
    assert_eq!(applications, [other.id.as_str()], "{database:?}");
    assert!(
        page.body
            .contains("You denied or reported a request. End of the pause:"),
        "{}",
        page.body
    );
    choose(&page, &ada.application, "permit").await;
    assert!(
        is_shown(&host, &ada, &ada.application).await,
        "{database:?}"
    );
    let audited = format!("user={}&event=cooldown.lifted", id(&ada.user));
    assert_eq!(entries(&host, &audited).await[0]["actor"]["kind"], "user");
}

/// Requests without an answer pause their application too.
#[both_databases]
async fn an_application_is_paused_after_requests_without_an_answer(database: Database) {
    let (host, ada) = ciba::start(database).await;
    let browser = signed_in(&host, &ada).await;
    for _ in 0..5 {
        let page = browser.get("/requests").await;
        assert!(
            page.body.contains("Its requests reach your phone."),
            "{database:?}: {}",
            page.body
        );
        ciba::asked(&host, &ada, &[("requested_expiry", Some("10"))]).await;
        host.advance(11);
    }
    assert!(
        !is_shown(&host, &ada, &ada.application).await,
        "{database:?}"
    );
    let page = browser.get("/requests").await;
    assert!(
        page.body
            .contains("You left several requests without an answer. End of the pause:"),
        "{database:?}: {}",
        page.body
    );
    choose(&page, &ada.application, "permit").await;
    assert!(
        is_shown(&host, &ada, &ada.application).await,
        "{database:?}"
    );
}

/// An application that withdraws its request receives nothing, also if the user approved it before.
#[both_databases]
async fn a_withdrawn_request_is_not_shown_as_approved(database: Database) {
    let (host, ada) = ciba::start(database).await;
    let browser = signed_in(&host, &ada).await;
    for is_approved in [false, true] {
        let asked = ciba::asked(&host, &ada, &[]).await;
        let request = ciba::pending(&ada.device).await;
        if is_approved {
            assert_eq!(ada.device.approve(&request, "").await, "approved");
        }
        let (status, _) = ciba::revoke(&host, &ada.application, &asked).await;
        assert_eq!(status, StatusCode::OK, "{database:?}");
    }
    let page = browser.get("/requests").await;
    let ended = page.body.matches("Ended without a result").count();
    assert_eq!(ended, 2, "{database:?}: {}", page.body);
    assert!(!page.body.contains("You approved"), "{}", page.body);
    let path = format!("/applications/{}/backchannel-requests", ada.application.id);
    let listed = host.admin_ok(Method::GET, &path, Value::Null).await;
    for index in 0..2 {
        let item = &listed["items"][index];
        assert_eq!(item["outcome"], "withdrawn", "{database:?}: {listed}");
        assert!(item["decided_at"].is_null(), "{database:?}: {listed}");
    }
    ciba::approved(&host, &ada, &[]).await;
    let page = browser.get("/requests").await;
    assert!(page.body.contains("You approved"), "{}", page.body);
}

/// A stolen session may stop requests, but not let them through again.
#[tokio::test]
async fn requests_are_permitted_again_only_after_a_recent_sign_in() {
    let (host, ada) = ciba::start(Database::Sqlite).await;
    let browser = signed_in(&host, &ada).await;
    host.advance(1500);
    let page = choose(&browser.get("/requests").await, &ada.application, "stop").await;
    assert!(
        page.body.contains("You stopped its requests:"),
        "{}",
        page.body
    );
    let action = format!("/requests/{}/permit", ada.application.id);
    let redirect = page.submit(&action, &[]).await;
    assert_eq!(redirect.location().path(), "/sign-in");
    assert!(!is_shown(&host, &ada, &ada.application).await);
    let page = through_login(&ada, &redirect).await;
    assert_eq!(page.path(), "/requests");
    choose(&page, &ada.application, "permit").await;
    assert!(is_shown(&host, &ada, &ada.application).await);
}

#[tokio::test]
async fn a_form_for_another_application_or_without_its_token_is_rejected() {
    let (host, ada) = ciba::start(Database::Sqlite).await;
    let foreign = host.web_application().await;
    ciba::permit(&host, &foreign).await;
    let browser = signed_in(&host, &ada).await;
    let page = browser.get("/requests").await;
    let own = format!("/requests/{}/stop", ada.application.id);
    let other = format!("/requests/{}/stop", foreign.id);
    let posted = browser.post(&own, &[("csrf", "wrong")]).await;
    assert_ne!(posted.status, StatusCode::SEE_OTHER, "{}", posted.body);
    let forged = browser.post(&other, &[("csrf", &page.csrf())]).await;
    assert_ne!(forged.status, StatusCode::SEE_OTHER, "{}", forged.body);
    assert!(is_shown(&host, &ada, &ada.application).await);
}

#[both_databases]
async fn a_session_without_a_browser_names_its_application(database: Database) {
    let (host, ada) = ciba::start(database).await;
    let browser = signed_in(&host, &ada).await;
    let tokens = ciba::approved(&host, &ada, &[]).await;
    let access = tokens["access_token"].text();
    assert!(
        !jwt_claims(tokens["id_token"].text())["sid"]
            .text()
            .is_empty()
    );
    let page = browser.get("/sessions").await;
    assert!(
        page.body.contains("<h2>Approved without a browser"),
        "{}",
        page.body
    );
    assert!(
        page.body.contains("Books &#38; &#60;Co&#62;"),
        "{}",
        page.body
    );
    assert!(!page.body.contains("Unknown browser"), "{}", page.body);
    // The console and the device say the same.
    let path = format!("/users/{}/sessions", id(&ada.user));
    let sessions = host.admin_ok(Method::GET, &path, Value::Null).await;
    let without: Vec<&Value> = sessions["items"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|session| session["without_browser"] == true)
        .collect();
    assert_eq!(without.len(), 1, "{sessions}");
    assert_eq!(
        without[0]["applications"],
        json!(["Books & <Co>"]),
        "{sessions}"
    );
    let history = ada.device.call_ok(Method::GET, "/history", None).await;
    let past = &history["items"][0];
    assert_eq!(
        (&past["without_browser"], &past["outcome"], &past["browser"]),
        (&json!(true), &json!("approved"), &json!("")),
        "{history}"
    );

    // The approval is the consent, which the user withdraws with the tokens.
    assert_eq!(userinfo(&host, access).await.0, StatusCode::OK);
    let consents = browser.get("/consents").await;
    assert!(
        consents.body.contains("See your name and profile"),
        "{}",
        consents.body
    );
    let client = [("application", ada.application.id.as_str())];
    let after = consents
        .submit("/consents/withdraw", &client)
        .await
        .followed()
        .await;
    assert!(
        after.body.contains("is no longer allowed"),
        "{}",
        after.body
    );
    let (status, _) = userinfo(&host, access).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED, "{database:?}");
    // The session ends like any other.
    let page = browser.get("/sessions").await;
    let ends = super::actions(&page, "/sessions/");
    let ends: Vec<&String> = ends
        .iter()
        .filter(|action| action.ends_with("/end"))
        .collect();
    assert_eq!(ends.len(), 2, "{}", page.body);
    page.submit(ends[0], &[]).await;
    let page = browser.get("/sessions").await;
    assert!(
        !page.body.contains("Approved without a browser"),
        "{}",
        page.body
    );
}

/// A sign-in on another device has no browser either. The user began it, so it is no request of an application.
#[both_databases]
async fn a_session_on_another_device_has_no_browser(database: Database) {
    let (host, ada) = device_authorization::start(database).await;
    let browser = signed_in(&host, &ada).await;
    device_authorization::approved(&host, &ada).await;
    let page = browser.get("/sessions").await;
    assert!(
        page.body.contains("<h2>Approved without a browser"),
        "{database:?}: {}",
        page.body
    );
    let history = ada.device.call_ok(Method::GET, "/history", None).await;
    let past = &history["items"][0];
    assert_eq!(
        (&past["without_browser"], &past["outcome"]),
        (&json!(true), &json!("approved")),
        "{database:?}: {history}"
    );
    let page = browser.get("/requests").await;
    assert!(
        page.body.contains("No application asked you."),
        "{}",
        page.body
    );
}
