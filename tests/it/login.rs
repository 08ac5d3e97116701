//! Approvals: the display of the device, its permissions, and attacks that must fail.

use std::collections::BTreeSet;

use assent::authenticator::enrolled::Authenticator;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{
    Body, Browser, Database, Json, Respond, TestHost, Text, http_client, id, in_time, without_code,
};

#[tokio::test]
async fn the_device_shows_the_browser_but_never_the_matching_number() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let waiting = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let reply = ada
        .device
        .call(Method::GET, "/authenticator/api/requests", "", Vec::new())
        .await
        .expect("an answer");
    let request = &reply.body["requests"][0];
    assert_eq!(
        request["application"],
        json!({"id": ada.application.id, "name": "Books & <Co>", "logo": null})
    );
    assert_eq!(request["account"], "ada");
    assert_eq!(
        (&request["place"], &request["browser"]),
        (&json!("This computer"), &json!("Firefox on Linux"))
    );
    let names: Vec<&String> = request.members().keys().collect();
    assert!(
        !names.iter().any(|name| name.contains("number")),
        "{names:?}"
    );
    assert_eq!(waiting.number().len(), 2);
}

#[tokio::test]
async fn a_denial_is_shown_to_the_user_and_returned_to_the_application() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let page = ada.begin_sign_in(&browser, &[]).await;
    let requests = ada.device.pending_requests(5).await;
    assert_eq!(ada.device.deny(&requests[0]).await, "denied");
    let ended = browser.get(&page.url).await;
    assert_eq!(ended.outcome(), "denied");
    let back = ended.leave().await;
    assert_eq!(back.parameter("error"), "access_denied");
    assert_eq!(back.parameter("state"), "st&te");
    assert!(
        back.location()
            .as_str()
            .starts_with("https://rp.example/cb?")
    );
}

#[tokio::test]
async fn a_sign_in_expires_after_two_minutes_and_can_be_retried() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let page = ada.begin_sign_in(&browser, &[]).await;
    let requests = ada.device.pending_requests(5).await;
    host.advance(119);
    assert_eq!(browser.get(&page.url).await.number(), page.number());
    host.advance(1);
    let late = ada
        .device
        .decide(&requests[0], Some(&page.number()))
        .await
        .expect_err("too late");
    assert!(late.to_string().starts_with("expired"), "{late}");
    let ended = browser.get(&page.url).await;
    assert_eq!(ended.outcome(), "expired");
    let login = ended.retry().await;
    let page = login.submit_name("ada").await;
    ada.approve(&page).await;
    assert!(
        browser
            .finish(&page.url)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
}

#[tokio::test]
async fn a_cancelled_sign_in_cannot_be_approved() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let page = ada.begin_sign_in(&browser, &[]).await;
    let requests = ada.device.pending_requests(5).await;
    let ended = page.cancel().await.followed().await;
    assert_eq!(ended.outcome(), "cancelled");
    let late = ada
        .device
        .decide(&requests[0], Some(&page.number()))
        .await
        .expect_err("too late");
    assert!(late.to_string().starts_with("already_decided"), "{late}");
    assert!(ada.device.pending_requests(0).await.is_empty());
}

/// Returns the pages that a browser sees while it waits and after two minutes, without the parts that differ in each
/// sign-in.
async fn visible_pages(host: &TestHost, request: &str, name: &str) -> (String, String, String) {
    let browser = Browser::new(&host.base);
    let login = browser.get(request).await.followed().await;
    let answer = login.submit(&login.path(), &[("name", name)]).await;
    let same = |page: &crate::harness::Page| {
        let login = page.path();
        let mut body = page
            .body
            .replace(&page.csrf(), "CSRF")
            .replace(login.trim_end_matches('/'), "LOGIN")
            .replace(login.trim_start_matches("/login/"), "ID");
        if page.body.contains("id=\"number\">") {
            body = body.replace(
                &format!("id=\"number\">{}<", page.number()),
                "id=\"number\">NN<",
            );
            body = without_code(&body);
        }
        if let Some((_, token)) = page
            .returns()
            .as_deref()
            .and_then(|address| address.split_once("token="))
        {
            body = body.replace(token, "TOKEN");
        }
        body.replace(&format!("<bdi>{name}</bdi>"), "<bdi>NAME</bdi>")
    };
    let waiting = answer.followed().await;
    let first = same(&waiting);
    host.advance(120);
    let ended = browser.get(&waiting.url).await;
    let left = browser.get(&ended.returns().expect("it goes back")).await;
    (
        first,
        same(&ended),
        format!(
            "{} {}",
            left.parameter("error"),
            left.parameter("error_description")
        ),
    )
}

#[tokio::test]
async fn responses_do_not_reveal_whether_a_user_exists_or_may_sign_in() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let request = ada.application.request(&[]);
    let known = visible_pages(&host, &request, "ada").await;
    assert_eq!(visible_pages(&host, &request, "nobody").await, known);
    for (path, state) in [
        (format!("/accounts/{}", id(&ada.account)), "suspended"),
        (format!("/users/{}", id(&ada.user)), "terminated"),
    ] {
        host.admin_ok(Method::PATCH, &path, json!({"state": state}))
            .await;
        assert_eq!(visible_pages(&host, &request, "ada").await, known, "{path}");
        assert!(
            ada.device.pending_requests(0).await.is_empty(),
            "no device is prompted"
        );
    }
}

#[tokio::test]
async fn a_user_suspended_before_or_after_approval_is_not_signed_in() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let user = format!("/users/{}", id(&ada.user));
    let browser = Browser::new(&host.base);
    let page = ada.begin_sign_in(&browser, &[]).await;
    let requests = ada.device.pending_requests(5).await;
    host.admin_ok(Method::PATCH, &user, json!({"state": "suspended"}))
        .await;
    let refused = ada.device.decide(&requests[0], Some(&page.number())).await;
    assert!(refused.is_err());
    assert_eq!(
        browser.get(&page.url).await.number(),
        page.number(),
        "the page is unchanged"
    );

    host.admin_ok(Method::PATCH, &user, json!({"state": "active"}))
        .await;
    assert!(
        ada.device.pending_requests(0).await.is_empty(),
        "the request does not return with the user"
    );
    assert_eq!(
        browser.get(&page.url).await.number(),
        page.number(),
        "the browser shows no difference"
    );

    let page = ada.begin_sign_in(&browser, &[]).await;
    ada.approve(&page).await;
    host.admin_ok(Method::PATCH, &user, json!({"state": "suspended"}))
        .await;
    let ended = browser.get(&page.url).await;
    assert_eq!(ended.outcome(), "rejected");
    assert!(ended.headers.get("set-cookie").is_none());
    host.admin_ok(Method::PATCH, &user, json!({"state": "active"}))
        .await;
    host.advance(120);
    assert_eq!(
        browser.get(&page.url).await.outcome(),
        "expired",
        "the approval does not return either"
    );
}

#[tokio::test]
async fn a_wrong_number_is_rejected_and_three_end_the_request() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let page = ada.begin_sign_in(&browser, &[]).await;
    let request = &ada.device.pending_requests(5).await[0];
    // No number is below 10. A repeated number counts once.
    for (wrong, left) in [("01", 2), ("01", 2), ("02", 1), ("03", 0)] {
        let signature = ada
            .device
            .signature(&ada.device.statement(request, Some(wrong)).text());
        let reply = ada
            .device
            .submit_proof(request, Some(wrong), &signature)
            .await;
        assert_eq!(
            (reply.status.as_u16(), &reply.body["attempts_left"]),
            (422, &json!(left))
        );
    }
    let late = ada
        .device
        .decide(request, Some(&page.number()))
        .await
        .expect_err("too late");
    assert!(late.to_string().starts_with("already_decided"), "{late}");
    let ended = browser.get(&page.url).await;
    assert_eq!(ended.outcome(), "number-mismatch");
    assert!(
        ended.body.contains("<h1>Wrong number</h1>"),
        "{}",
        ended.body
    );
}

#[tokio::test]
async fn a_proof_over_other_content_is_rejected() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let page = ada.begin_sign_in(&Browser::new(&host.base), &[]).await;
    let request = &ada.device.pending_requests(5).await[0];
    let number = page.number();
    let good = ada.device.statement(request, Some(&number)).text();
    let other = if number == "42" { "43" } else { "42" };
    for (line, replacement) in [
        ("assent-approval-v1", "assent-approval-v2"),
        ("/oidc\"", "/evil\""),
        ("place: \"This computer\"", "place: \"Elsewhere\""),
        ("Firefox", "Chrome"),
        ("decision: \"approve\"", "decision: \"deny\""),
        ("account: \"ada\"", "account: \"eve\""),
        ("Books", "Bank"),
        (&number, other),
    ] {
        let forged = good.replace(line, replacement);
        assert_ne!(forged, good);
        let signature = ada.device.signature(&forged);
        let reply = ada
            .device
            .submit_proof(request, Some(&number), &signature)
            .await;
        assert_eq!(reply.status, StatusCode::FORBIDDEN, "{replacement}");
    }
    for signature in ["", "AAAA", "!!"] {
        let reply = ada
            .device
            .submit_proof(request, Some(&number), signature)
            .await;
        assert_eq!(reply.status, StatusCode::FORBIDDEN);
    }
    // The signature of a denial is not valid for an approval.
    let denial = ada
        .device
        .sign(&ada.device.statement(request, None).text())
        .expect("signed");
    let reply = ada
        .device
        .submit_proof(request, Some(&number), &denial)
        .await;
    assert_eq!(reply.status, StatusCode::FORBIDDEN);
    assert_eq!(ada.device.approve(request, &number).await, "approved");
}

#[tokio::test]
async fn a_proof_is_bound_to_its_approval_and_cannot_be_replayed() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let (first, second) = (Browser::new(&host.base), Browser::new(&host.base));
    let page = ada.begin_sign_in(&first, &[]).await;
    let old = ada.device.pending_requests(5).await.remove(0);
    let signature = ada
        .device
        .sign(&ada.device.statement(&old, Some(&page.number())).text())
        .expect("signed");
    host.advance(1);
    let newer = ada.begin_sign_in(&second, &[]).await;
    let both = ada.device.pending_requests(5).await;
    assert_eq!(
        (both.len(), both[0].id),
        (2, old.id),
        "each browser has its own request"
    );
    let new = &both[1];
    let reply = ada
        .device
        .submit_proof(new, Some(&page.number()), &signature)
        .await;
    assert_eq!(reply.status, StatusCode::FORBIDDEN);
    let signature = ada
        .device
        .sign(&ada.device.statement(new, Some(&newer.number())).text())
        .expect("signed");
    let newer_number = newer.number();
    let send = || {
        ada.device
            .send_proof(new.id, Some(&newer_number), &signature)
    };
    assert_eq!(send().await.expect("an answer").status, StatusCode::OK);
    // A repeat of the same device, whose response may have been lost, gets the same result and changes nothing.
    assert_eq!(send().await.expect("an answer").status, StatusCode::OK);
    assert_eq!(
        page.again().await.number(),
        page.number(),
        "the other browser still waits"
    );
    let cancelled = page.cancel().await.followed().await;
    assert_eq!(cancelled.outcome(), "cancelled");
}

#[tokio::test]
async fn requests_by_name_and_email_are_shown_and_complete_their_own_browser() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let (first, second) = (Browser::new(&host.base), Browser::new(&host.base));
    let by_name = ada.begin_sign_in(&first, &[]).await;
    host.advance(1);
    let login = ada.application.login_page(&second, &[]).await;
    let by_address = login.submit_name("ada@example.org").await;
    let pending = ada.device.pending_requests(5).await;
    let accounts: Vec<&str> = pending
        .iter()
        .map(|request| request.account.as_str())
        .collect();
    assert_eq!(accounts, ["ada", "ada@example.org"]);
    for (request, page, browser) in [
        (&pending[1], &by_address, &second),
        (&pending[0], &by_name, &first),
    ] {
        let outcome = ada.device.approve(request, &page.number()).await;
        assert_eq!(outcome, "approved");
        assert!(
            browser
                .finish(&page.url)
                .await
                .parameter("code")
                .starts_with("ac_")
        );
    }
}

#[tokio::test]
async fn other_users_and_revoked_devices_cannot_approve() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let eve = host.user("eve").await;
    let eves_phone = host.authenticator(&eve).await;
    let browser = Browser::new(&host.base);
    let page = ada.begin_sign_in(&browser, &[]).await;
    let request = &ada.device.pending_requests(5).await[0];
    assert!(eves_phone.pending_requests(0).await.is_empty());
    let refused = eves_phone
        .decide(request, Some(&page.number()))
        .await
        .expect_err("the request of another user");
    assert!(
        refused.to_string().starts_with("request_not_found"),
        "{refused}"
    );

    let lost = host.authenticator(&ada.user).await;
    host.admin_ok(
        Method::DELETE,
        &format!("/devices/{}", lost.device()),
        Value::Null,
    )
    .await;
    let refused = lost
        .decide(request, Some(&page.number()))
        .await
        .expect_err("revoked");
    assert!(
        refused.to_string().starts_with("device_not_enrolled"),
        "{refused}"
    );
    assert!(lost.waiting(0).await.is_err());
    assert_eq!(browser.get(&page.url).await.number(), page.number());
}

#[tokio::test]
async fn device_calls_are_signed_over_path_body_and_time() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let url = format!("{}/authenticator/api/requests", host.base);
    let now = host.host.now().seconds();
    let statement = |time: i64, path: &str| {
        assent_model::statement::CallStatement {
            issuer: ada.device.issuer(),
            device: ada.device.device(),
            time,
            method: "GET",
            path: Box::leak(path.to_owned().into_boxed_str()),
            body: b"",
        }
        .text()
    };
    let header = |time: i64, path: &str| {
        format!(
            "Assent-Device {}.{time}.{}",
            ada.device.device(),
            ada.device.signature(&statement(time, path))
        )
    };
    let path = "/authenticator/api/requests";
    for (header, error) in [
        (header(now, path), None),
        (
            header(now, "/authenticator/api/device"),
            Some("device_not_enrolled"),
        ),
        (header(now - 61, path), Some("clock_difference")),
        (header(now + 61, path), Some("clock_difference")),
        (
            header(now, path).replace(&format!(".{now}."), &format!(".{}.", now + 1)),
            Some("device_not_enrolled"),
        ),
        (
            "Assent-Device x.y.z".to_owned(),
            Some("device_not_enrolled"),
        ),
        ("Bearer x".to_owned(), Some("device_not_enrolled")),
    ] {
        let response = http_client()
            .get(&url)
            .header("authorization", &header)
            .response()
            .await;
        let status = response.status();
        let answer: Value = response.read_json().await;
        assert_eq!(answer["error"].as_str(), error, "{header}");
        assert_eq!(status.is_success(), error.is_none());
    }
}

#[both_databases]
async fn of_fifty_decisions_on_one_request_one_counts(database: Database) {
    let host = TestHost::start_on(database).await;
    let ada = std::sync::Arc::new(host.ada().await);
    let browser = Browser::new(&host.base);
    let page = ada.begin_sign_in(&browser, &[]).await;
    let request = ada.device.pending_requests(5).await.remove(0);
    let mut attempts = tokio::task::JoinSet::new();
    for number in 0..50 {
        let (ada, request) = (std::sync::Arc::clone(&ada), request.clone());
        let typed = (number % 2 == 0).then(|| page.number());
        attempts.spawn(async move { ada.device.decide(&request, typed.as_deref()).await.ok() });
    }
    // One decision counts. The same decision of the same device gets its result again, and the other one fails.
    let won: Vec<String> = attempts.join_all().await.into_iter().flatten().collect();
    let outcomes: BTreeSet<&String> = won.iter().collect();
    assert_eq!(outcomes.len(), 1, "{database:?}: {won:?}");
    let mut counted = 0;
    for event in ["sign-in.approved", "sign-in.denied"] {
        let path = format!("/audit?event={event}");
        let entries = host.admin_ok(Method::GET, &path, Value::Null).await;
        counted += entries["items"].as_array().map_or(0, Vec::len);
    }
    assert_eq!(counted, 1, "{database:?}");
    let page = browser.finish(&page.url).await;
    match won[0].as_str() {
        "approved" => assert!(page.parameter("code").starts_with("ac_")),
        _ => assert_eq!(page.outcome(), "denied"),
    }
}

#[tokio::test]
async fn the_waiting_page_is_notified_at_once() {
    let (_host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let page = ada.begin_sign_in(&browser, &[]).await;
    assert!(
        page.body
            .contains("<noscript><meta http-equiv=\"refresh\" content=\"3\"></noscript>")
    );
    let cookie = page.headers.get("set-cookie");
    assert!(cookie.is_none(), "the browser has its cookie already");
    let events = browser.stream(&format!("{}/events", page.path())).await;
    assert_eq!(events.headers()["content-type"], "text/event-stream");
    ada.approve(&page).await;
    let events = in_time(events.read_text()).await;
    assert!(events.contains("event: changed"), "{events}");
}

#[tokio::test]
async fn an_enrolment_link_is_valid_once_for_a_day() {
    let host = TestHost::start().await;
    let user = host.user("ada").await;
    let path = format!("/users/{}/enrolments", id(&user));
    let link = host.admin_ok(Method::POST, &path, Value::Null).await["link"]
        .text()
        .to_owned();
    let mut attempts = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let link = link.clone();
        attempts.spawn(async move { Authenticator::enrol(&link, "Phone", None).await.is_ok() });
    }
    let enrolled = attempts.join_all().await;
    assert_eq!(enrolled.iter().filter(|good| **good).count(), 1);
    let link = host.admin_ok(Method::POST, &path, Value::Null).await["link"]
        .text()
        .to_owned();
    host.advance(86_400);
    let late = Authenticator::enrol(&link, "Phone", None)
        .await
        .expect_err("too late");
    assert!(late.to_string().starts_with("link_expired"), "{late}");
    let (start, last) = link.split_at(link.len() - 1);
    let forged = format!("{start}{}", if last == "x" { "y" } else { "x" });
    assert!(Authenticator::enrol(&forged, "Phone", None).await.is_err());
}

#[tokio::test]
async fn the_console_requires_an_administrator_signed_in_with_a_device() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let login = browser.get("/admin").await.followed().await;
    let page = login.submit_name("ada").await;
    ada.approve(&page).await;
    let console = browser.get(&page.url).await.followed().await;
    assert_eq!(console.status, StatusCode::FORBIDDEN);
    let to_console = "href=\"/admin\"";
    assert!(
        !browser.get("/").await.body.contains(to_console),
        "the start page links no other user to the console"
    );
    host.set_console_role(&ada.user, "owner").await;
    // A user with a new role must sign in again, because another user may have begun the earlier session.
    let login = browser.get("/admin").await.followed().await;
    let page = login.submit_name("ada").await;
    ada.approve(&page).await;
    browser.get(&page.url).await.followed().await;
    assert!(browser.get("/").await.body.contains(to_console));
    let console = browser.get("/admin").await;
    assert_eq!(console.status, StatusCode::OK);
    assert!(console.body.contains("Ada Lovelace") && !console.body.contains(&ada.application.id));
    let home = console.submit("/sign-out", &[]).await.followed().await;
    assert!(!home.body.contains("Ada Lovelace"));
    assert_eq!(browser.get("/admin").await.status, StatusCode::SEE_OTHER);
}
