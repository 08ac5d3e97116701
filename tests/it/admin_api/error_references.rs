//! Administrators find the cause of an error page by its reference number.

use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::harness::{Browser, TestHost, Text};

#[tokio::test]
async fn the_reference_of_an_error_page_leads_to_its_cause() {
    let host = TestHost::start().await;
    let application = host.web_application().await;
    let browser = Browser::new(&host.base);
    let request = application.request(&[("redirect_uri", Some("https://evil.example/cb"))]);
    let page = browser.get(&request).await;
    let reference = page.between("<code>", "</code>");
    let path = |reference: &str| format!("/error-references/{reference}");
    let found = host
        .admin_ok(Method::GET, &path(&reference.to_lowercase()), Value::Null)
        .await;
    assert_eq!(found["reference"], reference);
    assert_eq!(found["status"], 400);
    let request = page.headers["x-request-id"].to_str().expect("text");
    assert_eq!(found["request_id"], request);
    assert!(
        page.body.contains(&format!("<code>{request}</code>")),
        "{}",
        page.body
    );
    let by_request = host
        .admin_ok(Method::GET, &path(request), Value::Null)
        .await;
    assert_eq!(by_request, found);
    assert_eq!(found["page"], "This sign-in request is not valid");
    let cause = found["cause"].text();
    assert!(
        cause.contains("https://evil.example/cb") && cause.contains(&application.id),
        "{cause}"
    );

    let (status, problem) = host
        .admin(Method::GET, &path("00000000"), Value::Null)
        .await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let detail = problem["detail"].text();
    assert!(
        detail.contains("knows no error page with the reference") && detail.contains("the log"),
        "{detail}"
    );
}
