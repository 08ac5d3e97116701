//! The summaries of protected actions in the language of the device that shows and signs them.

use assent::authenticator::enrolled::PendingRequest;
use assent_model::clock::Clock;
use assent_model::statement::{CallStatement, Decision};
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};

use super::protected_actions::{number, owner, requested};
use super::sent;
use crate::harness::{Browser, Device, Json, TestHost, Text, id};

/// Sends a request of a device whose browser prefers German. Returns the status and the body of the response.
async fn call_in_german(
    host: &TestHost,
    device: &Device,
    method: Method,
    path: &str,
    body: &Value,
) -> (StatusCode, Value) {
    let path = format!("/authenticator/api{path}");
    let body = match body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    let time = host.clock.now().seconds();
    let statement = CallStatement {
        issuer: &host.issuer(),
        device: device.device(),
        time,
        method: method.as_str(),
        path: &path,
        body: body.as_bytes(),
    };
    let signature = device.signature(&statement.text());
    let authorization = format!("Assent-Device {}.{time}.{signature}", device.device());
    let answer = Client::new()
        .request(method, format!("{}{path}", host.base))
        .header("authorization", authorization)
        .header("accept-language", "de")
        .header("content-type", "application/json")
        .body(body)
        .send()
        .await
        .expect("an answer");
    (answer.status(), answer.json().await.unwrap_or_default())
}

#[tokio::test]
async fn a_device_shows_and_signs_the_summary_in_its_language() {
    let host = TestHost::start().await;
    let (console, grace) = owner(&host).await;
    let bob = host.user("bob").await;
    let user = format!("/users/{}", id(&bob));
    let action = requested(&console, Method::DELETE, &user, &Value::Null).await;
    assert_eq!(
        action["summary"], "Delete the user “bob”",
        "the API answers in English by default"
    );
    let device = &grace.device;
    let (_, listed) = call_in_german(&host, device, Method::GET, "/requests", &Value::Null).await;
    let request = listed["requests"].items()[0].clone();
    assert_eq!(request["action"], "Benutzer „bob“ löschen");

    let request: PendingRequest = serde_json::from_value(request).expect("a request");
    let number = number(&action).expect("a number");
    let statement = device.statement(&request, Some(number)).text();
    let signature = device.signature(&statement);
    // The signature covers the text in the language of the call, so an English call rejects the German signature.
    let reply = device
        .submit_proof(&request, Some(number), &signature)
        .await;
    assert_eq!(reply.body["error"].text(), "invalid_proof");
    let proof = json!({"decision": "approve", "number": number, "signature": signature});
    let path = format!("/requests/{}", request.id);
    let (status, outcome) = call_in_german(&host, device, Method::POST, &path, &proof).await;
    assert_eq!(
        (status, &outcome["outcome"]),
        (StatusCode::OK, &json!("approved")),
        "{outcome}"
    );
    // The approval is valid for the request of the console in any language.
    console
        .call_once(Method::DELETE, &user, &Value::Null, action["id"].as_str())
        .await
        .success();
}

#[tokio::test]
async fn the_api_shows_the_summary_in_the_requested_language_and_the_approval_holds_in_each() {
    let host = TestHost::start().await;
    let (console, grace) = owner(&host).await;
    let bob = host.user("bob").await;
    let path = format!("/users/{}", id(&bob));
    let mut action = Value::Null;
    for (languages, tag, summary) in [
        (None, "en", "Delete the user “bob”"),
        (Some("fr, *;q=0.1"), "en", "Delete the user “bob”"),
        (Some("de-AT, en;q=0.5"), "de", "Benutzer „bob“ löschen"),
    ] {
        let request = console.request(Method::DELETE, &path);
        let answer = sent(match languages {
            Some(languages) => request.header("accept-language", languages),
            None => request,
        })
        .await;
        assert_eq!(answer.problem(), "approval-required", "{}", answer.body);
        action = answer.body["action_approval"].clone();
        assert_eq!(action["summary"], summary, "{languages:?}");
        assert_eq!(answer.headers["content-language"], tag, "{languages:?}");
        let varies = answer.headers.get_all("vary").iter();
        assert!(
            varies.map(Text::text).any(|by| by == "accept-language"),
            "{:?}",
            answer.headers
        );
        let number = number(&action).expect("a number");
        // The text for programs is English.
        assert_eq!(
            answer.body["detail"],
            format!("type {number} on your device to approve: Delete the user “bob”")
        );
    }
    // The summary in the console is German, and the device signs the English one.
    let requests = grace.device.pending_requests(5).await;
    let newest = requests.last().expect("a request");
    assert_eq!(newest.action.as_deref(), Some("Delete the user “bob”"));
    let number = number(&action).expect("a number");
    assert_eq!(grace.device.approve(newest, number).await, "approved");
    console
        .call_once(Method::DELETE, &path, &Value::Null, action["id"].as_str())
        .await
        .success();
}

#[tokio::test]
async fn the_device_receives_its_current_name() {
    let (_host, ada) = TestHost::start().await.with_ada().await;
    let before = ada.device.call_ok(Method::GET, "/requests", None).await;
    let path = format!("/devices/{}", ada.device.device());
    ada.device
        .call_ok(Method::PATCH, &path, Some(json!({"name": "Pixel 8"})))
        .await;
    let after = ada.device.call_ok(Method::GET, "/requests", None).await;
    assert_ne!(before["device_name"], after["device_name"]);
    assert_eq!(after["device_name"], "Pixel 8");
}

#[tokio::test]
async fn an_entry_names_the_browser_in_the_requested_language() {
    let host = TestHost::start().await;
    let (console, grace) = owner(&host).await;
    let path = format!("/audit?event=sign-in.requested&user={}", id(&grace.user));
    for (languages, browser) in [("en", "Firefox on Linux"), ("de", "Firefox auf Linux")] {
        let request = console.request(Method::GET, &path);
        let answer = sent(request.header("accept-language", languages)).await;
        let entry = &answer.body["items"][0];
        assert_eq!(entry["browser"], browser, "{entry}");
        assert_eq!(entry["personal"]["browser"], "Firefox on Linux", "{entry}");
    }
}

/// The browser speaks German. Each device, and each reader of a report, gets its description in the own language.
#[tokio::test]
async fn the_browser_of_a_request_is_described_in_the_language_of_the_reader() {
    let host = TestHost::start().await;
    let (console, _grace) = owner(&host).await;
    let ada = host.ada().await;
    let german = Browser::reading(&host.base, "de");
    let login = ada.application.login_page(&german, &[]).await;
    login.submit_name("ada").await;

    let device = &ada.device;
    let english = device.pending_requests(0).await.remove(0);
    let words = |place: &str, browser: &str| json!([place, browser]);
    let of = |request: &Value| json!([request["place"], request["browser"]]);
    assert_eq!(
        words(&english.place, &english.browser),
        words("This computer", "Firefox on Linux")
    );
    let (_, listed) = call_in_german(&host, device, Method::GET, "/requests", &Value::Null).await;
    let request = listed["requests"].items()[0].clone();
    assert_eq!(of(&request), words("Dieser Computer", "Firefox auf Linux"));

    // The signature covers the words that the device showed.
    let shown: PendingRequest = serde_json::from_value(request).expect("a request");
    let signed = |request: &PendingRequest| {
        let mut statement = device.statement(request, None);
        statement.decision = Decision::Report;
        json!({"decision": "report", "number": "", "signature": device.signature(&statement.text())})
    };
    let path = format!("/requests/{}", shown.id);
    let (_, answer) = call_in_german(&host, device, Method::POST, &path, &signed(&english)).await;
    assert_eq!(answer["error"], "invalid_proof", "{answer}");
    let (_, answer) = call_in_german(&host, device, Method::POST, &path, &signed(&shown)).await;
    assert_eq!(answer["outcome"], "reported", "{answer}");

    let (_, history) = call_in_german(&host, device, Method::GET, "/history", &Value::Null).await;
    assert_eq!(
        of(&history["items"][0]),
        words("Dieser Computer", "Firefox auf Linux")
    );
    let history = device.call_ok(Method::GET, "/history", None).await;
    assert_eq!(
        of(&history["items"][0]),
        words("This computer", "Firefox on Linux")
    );
    for (languages, place, browser) in [
        ("en", "This computer", "Firefox on Linux"),
        ("de", "Dieser Computer", "Firefox auf Linux"),
    ] {
        let request = console.request(Method::GET, "/reports");
        let answer = sent(request.header("accept-language", languages)).await;
        let report = &answer.body["items"][0];
        assert_eq!(
            json!([report["requested_from"], report["requested_with"]]),
            words(place, browser),
            "{report}"
        );
    }
}
