//! The bounds of storage before authentication.

use assent::domain::admin;
use assent::domain::audit::sum_up_repeated;
use assent_model::audit::AuditContext;
use assent_store::sql;
use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::audit::verified;
use crate::harness::{
    Body, Browser, Database, Parsed, Respond, TestHost, Text, http_client, http_client_builder,
};

/// Sends an authorization request. Returns the parameters of the redirect, or `None` if a sign-in began.
async fn answer(host: &TestHost, address: &str) -> Option<Vec<(String, String)>> {
    let client = http_client_builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .expect("a client");
    let answer = client
        .get(format!("{}{address}", host.base))
        .response()
        .await;
    assert_eq!(answer.status(), StatusCode::SEE_OTHER, "{address}");
    let location = answer.headers()["location"].text().to_owned();
    if location.starts_with("/login/") {
        return None;
    }
    let url: url::Url = location.parsed();
    Some(url.query_pairs().into_owned().collect())
}

fn value<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs
        .iter()
        .find(|(known, _)| known == name)
        .map(|(_, value)| value.as_str())
}

#[tokio::test]
async fn control_characters_in_state_and_nonce_are_rejected() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    for bad in [
        "\u{1}",
        "a\nb",
        "a\rb",
        "\u{7f}",
        "\u{85}",
        "\u{1}\u{1}\u{1}",
    ] {
        for name in ["state", "nonce"] {
            let pairs = answer(&host, &application.request(&[(name, Some(bad))]))
                .await
                .expect("an error");
            assert_eq!(
                value(&pairs, "error"),
                Some("invalid_request"),
                "{name} {bad:?}"
            );
            assert!(
                value(&pairs, "error_description")
                    .expect("a reason")
                    .starts_with(name),
                "{pairs:?}"
            );
            let state = if name == "state" { None } else { Some("st&te") };
            assert_eq!(
                value(&pairs, "state"),
                state,
                "a rejected value is not repeated"
            );
        }
    }
    let longest = "x".repeat(2048);
    for good in ["a b~!\"\\<script>&", "/für/wen?=✓", "%00", longest.as_str()] {
        assert_eq!(
            answer(&host, &application.request(&[("state", Some(good))])).await,
            None,
            "{good}"
        );
    }
}

/// ATTACKS: `state` has 64 KiB. The server stores a bounded amount for every request.
#[tokio::test]
async fn stored_request_values_are_bounded() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    let (state, nonce) = ("\"".repeat(2048), "\\".repeat(512));
    let claims = json!({"id_token": {"acr": {"values": ["x".repeat(3600)]}}}).to_string();
    let fits = application.request(&[("state", Some(&state)), ("nonce", Some(&nonce))]);
    assert_eq!(answer(&host, &fits).await, None);
    let too_much = application.request(&[
        ("state", Some(&state)),
        ("nonce", Some(&nonce)),
        ("claims", Some(&claims)),
    ]);
    let pairs = answer(&host, &too_much).await.expect("an error");
    assert_eq!(value(&pairs, "error"), Some("invalid_request"), "{pairs:?}");
    assert!(
        value(&pairs, "error_description").is_some_and(|text| text.contains("8192 bytes")),
        "{pairs:?}"
    );
    let pairs = answer(
        &host,
        &application.request(&[("state", Some(&"x".repeat(2049)))]),
    )
    .await
    .expect("an error");
    assert_eq!(
        (value(&pairs, "error"), value(&pairs, "state")),
        (Some("invalid_request"), None)
    );
    let huge = http_client().get(format!(
        "{}{}",
        host.base,
        application.request(&[("state", Some(&"x".repeat(65_536)))])
    ));
    // The connection may end before the client has sent everything.
    if let Ok(refused) = huge.send().await {
        assert!(refused.status().is_client_error());
    }
    let form = [
        ("client_id", application.id.as_str()),
        ("state", &"x".repeat(65_536)),
    ];
    let huge = http_client()
        .post(format!("{}/oidc/auth", host.base))
        .form(&form);
    assert_eq!(
        huge.response().await.status(),
        StatusCode::PAYLOAD_TOO_LARGE
    );
    let (largest,): (i64,) = sql::query_as("SELECT MAX(LENGTH(request)) FROM logins")
        .fetch_one(&mut host.connection().await)
        .await
        .expect("a length");
    assert!((4096..=8192).contains(&largest), "{largest}");
}

#[both_databases]
async fn pending_sign_ins_are_bounded_per_network_and_in_total(database: Database) {
    let settings = "[http]\ntrusted_proxies = [\"127.0.0.1\"]\n\
                    [rate_limits]\nopen_sign_ins_per_ip = 5\nopen_sign_ins_total = 12\n";
    let host = TestHost::start_on_with(database, settings).await;
    let ada = host.ada().await;
    let open = async || {
        let (open,): (i64,) = sql::query_as(
            "SELECT COUNT(*) FROM logins WHERE approval_id IS NULL AND answered_at IS NULL",
        )
        .fetch_one(&mut host.connection().await)
        .await
        .expect("a count");
        open
    };
    let begin = async |browser: &Browser, from: &str| {
        let request = browser.request(Method::GET, &ada.application.request(&[]));
        let answer = request.header("x-forwarded-for", from).response().await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER);
        // Ids of the same millisecond have no order.
        host.advance(1);
        answer.headers()["location"].text().to_owned()
    };
    // The server never evicts a sign-in with a submitted name.
    let requested = Browser::new(&host.base);
    let waiting = ada.begin_sign_in(&requested, &[]).await;
    let victim = Browser::new(&host.base);
    let oldest = begin(&victim, "192.0.2.1").await;
    assert_eq!(
        victim.get(&oldest).await.status,
        StatusCode::OK,
        "{database:?}"
    );
    for number in 1..=20 {
        let browser = Browser::new(&host.base);
        let login = begin(&browser, "192.0.2.1").await;
        assert_eq!(
            browser.get(&login).await.status,
            StatusCode::OK,
            "{database:?}: the newest always works"
        );
        assert_eq!(open().await, 5.min(number + 1), "{database:?}");
    }
    assert_eq!(
        victim.get(&oldest).await.status,
        StatusCode::NOT_FOUND,
        "{database:?}: the oldest is evicted"
    );
    // Another network has a bound of its own, and an IPv6 network counts as one.
    for number in 0..5 {
        begin(&Browser::new(&host.base), &format!("2001:db8::{number}")).await;
    }
    assert_eq!(open().await, 10, "{database:?}");
    begin(&Browser::new(&host.base), "2001:db8::ffff:1").await;
    assert_eq!(open().await, 10, "{database:?}");
    for number in 0..20 {
        begin(&Browser::new(&host.base), &format!("198.51.100.{number}")).await;
        assert!(open().await <= 12, "{database:?}");
    }
    ada.approve(&waiting).await;
    assert!(
        !requested
            .finish(&waiting.url)
            .await
            .parameter("code")
            .is_empty(),
        "{database:?}"
    );
}

/// Returns the `sign-in.requested` entries of the audit log, the oldest first. It uses a new operator token, because
/// these tests take longer than a token is valid.
async fn requested(host: &TestHost) -> Vec<Value> {
    let (token, _) = admin::issue_admin_token(&host.host, &AuditContext::SERVER)
        .await
        .expect("a token");
    let request = http_client().get(format!(
        "{}/admin/api/v1/audit?limit=200&event=sign-in.requested",
        host.base
    ));
    let answer = request.bearer_auth(token.expose()).response().await;
    let mut list: Value = answer.read_json().await;
    let mut items = list["items"]
        .as_array_mut()
        .map(std::mem::take)
        .expect("items");
    items.reverse();
    items
}

#[both_databases]
async fn repeated_prompts_for_a_name_are_summarized_in_the_audit_log(database: Database) {
    let settings = "[http]\ntrusted_proxies = [\"127.0.0.1\"]\n\
                    [rate_limits]\nsign_ins_per_user_name = { per_minute = 0 }\n\
                    prompts_per_user = { per_minute = 0 }\n";
    let host = TestHost::start_on_with(database, settings).await;
    let ada = host.ada().await;
    let type_name = async |name: &str, from: &str| {
        let browser = Browser::new(&host.base);
        let login = ada.application.login_page(&browser, &[]).await;
        let form = [("csrf", login.csrf()), ("name", name.to_owned())];
        let request = browser.request(Method::POST, &login.path()).form(&form);
        let answer = request.header("x-forwarded-for", from).response().await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER, "{database:?}");
    };
    let requested = async || requested(&host).await;
    for number in 0..40 {
        type_name("ada", &format!("2001:db8::{number}")).await;
        type_name("nobody", "192.0.2.1").await;
        // The pause avoids all other rate limits.
        host.advance(5);
    }
    assert_eq!(requested().await.len(), 30, "{database:?}");
    type_name("ada", "192.0.2.2").await;
    assert_eq!(
        requested().await.len(),
        31,
        "{database:?}: another network has its own limit"
    );

    sum_up_repeated(&host.host).await.expect("done");
    assert_eq!(
        requested().await.len(),
        31,
        "{database:?}: not before the hour ends"
    );
    host.advance(3600);
    sum_up_repeated(&host.host).await.expect("done");
    sum_up_repeated(&host.host).await.expect("done");
    let all = requested().await;
    assert_eq!(all.len(), 32, "{database:?}");
    let summary = all.last().expect("an entry");
    assert_eq!(
        summary["detail"]["repetitions"], 10,
        "{database:?}: {summary}"
    );
    assert_eq!(
        summary["user_id"], ada.user["id"],
        "{database:?}: {summary}"
    );
    assert_eq!(
        verified(&host.host.store).await.broken,
        None,
        "{database:?}"
    );
    let (left,): (i64,) = sql::query_as("SELECT COUNT(*) FROM repeated_requests")
        .fetch_one(&mut host.connection().await)
        .await
        .expect("a count");
    assert_eq!(left, 0, "{database:?}");
    // From then on, each request has an entry again.
    type_name("ada", "2001:db8::1").await;
    assert_eq!(requested().await.len(), 33, "{database:?}");
}
