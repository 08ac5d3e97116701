//! Calls that wait for news: one device has so many at a time.

use assent::authenticator::Authenticator;
use assent_model::clock::{Clock, SystemClock};
use assent_model::statement::CallStatement;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use reqwest::{Response, StatusCode};
use serde_json::Value;

use crate::harness::{TestHost, http_client, in_time};

/// How many calls of one device wait at a time.
const MOST: usize = 8;

/// A call of a phone that asks for requests, and waits for them for so many seconds.
async fn ask(host: &TestHost, phone: &Authenticator, wait: u32) -> Response {
    let path = "/authenticator/api/requests";
    let time = SystemClock.now().seconds();
    let statement = CallStatement {
        issuer: phone.issuer(),
        device: phone.device(),
        time,
        method: "GET",
        path,
        body: &[],
    };
    let signature = phone.sign(&statement.text()).expect("signed");
    let request = http_client().get(format!("{}{path}?wait={wait}", host.base));
    let header = format!("Assent-Device {}.{time}.{signature}", phone.device());
    let sent = request.header("authorization", header).send().await;
    sent.expect("an answer")
}

#[tokio::test]
async fn a_device_waits_in_eight_calls_at_a_time() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    // Of another person: a second device of hers would be news to the first one.
    let other = host.authenticator(&host.user("grace").await).await;
    let mut calls: FuturesUnordered<_> = (0..=MOST).map(|_| ask(&host, &ada.phone, 30)).collect();
    let refused = in_time(calls.next()).await.expect("one");
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers()["retry-after"], "5");
    let body: Value = refused.json().await.expect("JSON");
    assert_eq!(body["error"], "too_many_waiting");
    // A call that does not wait, and another device, are not held up.
    assert_eq!(ask(&host, &ada.phone, 0).await.status(), StatusCode::OK);
    assert_eq!(ask(&host, &other, 0).await.status(), StatusCode::OK);
    host.host.draining.begin();
    while let Some(answer) = in_time(calls.next()).await {
        assert_eq!(answer.status(), StatusCode::OK);
    }
    assert_eq!(ask(&host, &ada.phone, 1).await.status(), StatusCode::OK);
}
