use std::cell::RefCell;

use super::*;

struct Vendor {
    answer: Result<Response, HttpError>,
    seen: RefCell<Vec<Request>>,
}

impl Vendor {
    fn new(answer: Result<Response, HttpError>) -> Self {
        Self {
            answer,
            seen: RefCell::default(),
        }
    }

    fn says(body: &Value) -> Self {
        Self::new(Ok(Response {
            status: 200,
            headers: Vec::new(),
            body: body.to_string().into_bytes(),
        }))
    }

    fn only_request(self) -> Request {
        let mut seen = self.seen.into_inner();
        assert_eq!(seen.len(), 1);
        seen.remove(0)
    }
}

impl Host for Vendor {
    fn now(&self) -> u64 {
        1_000
    }
    fn send(&self, request: Request) -> Result<Response, HttpError> {
        self.seen.borrow_mut().push(request);
        self.answer.clone()
    }
}

fn config(more: &Value) -> Config {
    let mut config = json!({ "base_url": "https://api.vendor.example/v1/" });
    config
        .as_object_mut()
        .expect("an object")
        .extend(more.as_object().expect("an object").clone());
    serde_json::from_value(config).expect("settings")
}

fn question() -> Question {
    Question {
        request_id: "018f".to_owned(),
        expires_at: 1_120,
        address: "ada@vendor".to_owned(),
        application: "Books".to_owned(),
        account: "ada".to_owned(),
        place: "London".to_owned(),
        browser: "Firefox on Linux".to_owned(),
        binding: "KQRT".to_owned(),
        callback_url: "https://id.example/approvals/callbacks/x".to_owned(),
    }
}

fn handle() -> Vec<u8> {
    br#"{"id": "a/b ?", "request_id": "018f"}"#.to_vec()
}

fn poll(config: &Config, body: &Value) -> Result<State, Failure> {
    HttpGateway::poll(&Vendor::says(body), config, &handle())
}

fn rejected<T: std::fmt::Debug>(answer: Result<T, Failure>) -> String {
    match answer {
        Err(Failure::Rejected(why)) => why,
        other => panic!("expected a rejection, got {other:?}"),
    }
}

#[test]
fn the_approval_request_is_posted_to_the_vendor() {
    let vendor = Vendor::says(&json!({ "id": "v1", "poll_after_ms": 700 }));
    let begun = HttpGateway::begin(&vendor, &config(&json!({})), &question()).expect("begun");
    assert_eq!(begun.poll_after_ms, 700);
    assert_eq!(
        read(&begun.handle).ok(),
        Some(Handle {
            id: "v1".to_owned(),
            request_id: "018f".to_owned()
        })
    );
    let request = vendor.only_request();
    assert_eq!(
        (request.method, request.url.as_str()),
        (Method::Post, "https://api.vendor.example/v1/approvals")
    );
    let header = |name: &str| {
        request
            .headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    };
    assert_eq!(
        (header("idempotency-key"), header("content-type")),
        (Some("018f"), Some("application/json"))
    );
    assert_eq!(header("authorization"), None);
    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
    assert_eq!(
        body,
        json!({
            "request_id": "018f", "user": "ada@vendor", "application": "Books", "account": "ada", "place": "London",
            "browser": "Firefox on Linux", "binding_message": "KQRT", "expires_at": 1120,
            "callback_url": "https://id.example/approvals/callbacks/x",
        })
    );
}

#[test]
fn names_paths_and_statuses_of_a_vendor_are_configurable() {
    let config = config(&json!({
        "begin_path": "/push?for={request_id}",
        "status_path": "/push/{id}/state",
        "question": { "user": "username", "place": "", "request_id": "ref" },
        "extra": { "policy": "strict" },
        "answer": { "id": "data.id", "request_id": "data.ref", "status": "data.state" },
        "statuses": { "approved": ["ALLOW"], "pending": ["WAIT", "SENT"] },
        "poll_interval": "900ms",
    }));
    assert_eq!(HttpGateway::validate(&config), Ok(()));
    let vendor = Vendor::says(&json!({ "data": { "id": 7 } }));
    let begun = HttpGateway::begin(&vendor, &config, &question()).expect("begun");
    assert_eq!(begun.poll_after_ms, 900);
    let request = vendor.only_request();
    assert_eq!(request.url, "https://api.vendor.example/v1/push?for=018f");
    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
    assert_eq!(
        (&body["username"], &body["ref"], &body["policy"]),
        (&json!("ada@vendor"), &json!("018f"), &json!("strict"))
    );
    assert!(body.get("user").is_none() && body.get("place").is_none());
    assert!(matches!(
        poll(
            &config,
            &json!({ "data": { "ref": "018f", "state": "ALLOW" } })
        ),
        Ok(State::Approved)
    ));
    assert!(matches!(
        poll(
            &config,
            &json!({ "data": { "ref": "018f", "state": "SENT" } })
        ),
        Ok(State::Pending(900))
    ));
    // The settings replace the default word, so it is unknown now.
    rejected(poll(
        &config,
        &json!({ "data": { "ref": "018f", "state": "approved" } }),
    ));
}

#[test]
fn each_status_of_the_vendor_has_a_state() {
    let config = config(&json!({}));
    let says = |status: &str| poll(&config, &json!({ "request_id": "018f", "status": status }));
    assert!(matches!(says("approved"), Ok(State::Approved)));
    assert!(matches!(says("denied"), Ok(State::Denied)));
    assert!(matches!(says("expired"), Ok(State::Expired)));
    assert!(matches!(says("pending"), Ok(State::Pending(2000))));
    for unknown in ["", "Approved", "approved ", "yes"] {
        assert!(rejected(says(unknown)).contains("statuses"), "{unknown}");
    }
    let vendor = Vendor::says(&json!({ "request_id": "018f", "status": "pending" }));
    HttpGateway::poll(&vendor, &config, &handle()).expect("a state");
    assert_eq!(
        vendor.only_request().url,
        "https://api.vendor.example/v1/approvals/a%2Fb%20%3F"
    );
}

#[test]
fn a_response_about_another_request_is_rejected() {
    let config = config(&json!({}));
    for answer in [
        json!({ "status": "approved" }),
        json!({ "request_id": "018e", "status": "approved" }),
        json!({ "request_id": null, "status": "approved" }),
        json!({ "request_id": ["018f"], "status": "approved" }),
    ] {
        assert!(
            rejected(poll(&config, &answer)).contains("does not name this request"),
            "{answer}"
        );
    }
    for body in [&b"[]"[..], b"\"approved\"", b"", b"<html>"] {
        let vendor = Vendor::new(Ok(Response {
            status: 200,
            headers: Vec::new(),
            body: body.to_vec(),
        }));
        rejected(HttpGateway::poll(&vendor, &config, &handle()));
    }
    let vendor = Vendor::says(&json!({ "id": "v1", "request_id": "018e" }));
    rejected(HttpGateway::begin(&vendor, &config, &question()));
    rejected(HttpGateway::poll(
        &Vendor::says(&json!({})),
        &config,
        b"not ours",
    ));
}

#[test]
fn failures_of_the_vendor_are_reported() {
    let config = config(&json!({}));
    let begin = |status: u16| {
        let headers = vec![("retry-after".to_owned(), "17".to_owned())];
        HttpGateway::begin(
            &Vendor::new(Ok(Response {
                status,
                headers,
                body: Vec::new(),
            })),
            &config,
            &question(),
        )
    };
    assert!(matches!(begin(404), Err(Failure::Gone)));
    assert!(matches!(begin(429), Err(Failure::RetryAfter(17))));
    assert!(matches!(begin(503), Err(Failure::RetryAfter(17))));
    assert_eq!(rejected(begin(302)), "the vendor answered 302");
    assert_eq!(
        rejected(begin(200)),
        "the vendor's answer is not a JSON object"
    );
    for answer in [
        json!({}),
        json!({ "id": "" }),
        json!({ "id": "x".repeat(2000) }),
        json!({ "id": {} }),
    ] {
        rejected(HttpGateway::begin(
            &Vendor::says(&answer),
            &config,
            &question(),
        ));
    }
    let unreachable = Vendor::new(Err(HttpError::Unreachable("no".to_owned())));
    assert!(matches!(
        HttpGateway::begin(&unreachable, &config, &question()),
        Err(Failure::RetryAfter(RETRY_AFTER))
    ));
}

#[test]
fn a_callback_names_requests_and_decides_nothing() {
    let config = config(&json!({}));
    let news = |body: &[u8]| {
        let callback = Callback {
            headers: Vec::new(),
            body: body.to_vec(),
        };
        HttpGateway::on_callback(&Vendor::says(&json!({})), &config, &callback)
    };
    assert_eq!(
        news(br#"{"request_id": "018f", "status": "approved"}"#).ok(),
        Some(vec!["018f".to_owned()])
    );
    assert_eq!(news(b"{}").ok(), Some(Vec::new()));
    assert_eq!(news(b"[]").ok(), Some(Vec::new()));
    rejected(news(b"request_id=018f"));
}

#[test]
fn a_request_is_cancelled_if_the_vendor_supports_it() {
    let vendor = Vendor::says(&json!({}));
    assert_eq!(
        HttpGateway::cancel(&vendor, &config(&json!({})), &handle()).is_ok(),
        vendor.seen.into_inner().is_empty()
    );
    let vendor = Vendor::new(Ok(Response {
        status: 204,
        ..Response::default()
    }));
    let with_path =
        config(&json!({ "cancel_path": "/approvals/{id}/cancel", "cancel_method": "post" }));
    HttpGateway::cancel(&vendor, &with_path, &handle()).expect("cancelled");
    let request = vendor.only_request();
    assert_eq!(request.method, Method::Post);
    assert_eq!(
        request.url,
        "https://api.vendor.example/v1/approvals/a%2Fb%20%3F/cancel"
    );
}

#[test]
fn invalid_settings_are_named() {
    for (more, expected) in [
        (json!({ "base_url": "api.vendor.example" }), "`base_url`"),
        (json!({ "base_url": "https:///v1" }), "`base_url`"),
        (
            json!({ "base_url": "https://key@api.vendor.example" }),
            "`base_url`",
        ),
        (json!({ "begin_path": "approvals" }), "`begin_path`"),
        (json!({ "begin_path": "/approvals/{id}" }), "`begin_path`"),
        (json!({ "status_path": "/approvals" }), "`status_path`"),
        (json!({ "cancel_path": "/approvals" }), "`cancel_path`"),
        (
            json!({ "question": { "number": "n" } }),
            "`question.number`",
        ),
        (
            json!({ "statuses": { "approved": [] } }),
            "`statuses.approved`",
        ),
        (
            json!({ "statuses": { "approved": ["done"], "denied": ["done"] } }),
            "`statuses`",
        ),
    ] {
        let errors = HttpGateway::validate(&config(&more)).expect_err("errors");
        assert!(
            errors.iter().any(|error| error.contains(expected)),
            "{more}: {errors:?}"
        );
    }
    assert!(
        serde_json::from_value::<Config>(json!({ "base_url": "https://a.example", "secret": "x" }))
            .is_err()
    );
}

#[test]
fn the_poll_interval_is_a_duration_with_a_unit() {
    let config = |interval: &str| {
        let config = json!({ "base_url": "https://api.vendor.example", "poll_interval": interval });
        serde_json::from_value::<crate::config::Config>(config)
            .map(|config| config.poll_after(&json!({})))
    };
    for (interval, millis) in [("500ms", 500), ("2s", 2_000), ("1m", 60_000), ("0s", 0)] {
        assert_eq!(config(interval).ok(), Some(millis), "{interval}");
    }
    for interval in [
        "",
        "2",
        "s",
        "+2s",
        "-2s",
        "2 s",
        "2h",
        "1.5s",
        "4294967295m",
    ] {
        assert!(config(interval).is_err(), "{interval}");
    }
}
