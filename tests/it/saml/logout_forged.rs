//! LogoutRequests that name no session, or are forged.

use assent_saml_core::message::{LogoutRequest, LogoutResponse, Status, instant};
use reqwest::StatusCode;
use serde_json::json;

use super::logout::{SUCCESS, answer, codes, header, request, send, signed_in};
use super::service_provider::{Response, SLO, TestServiceProvider};
use crate::harness::{Browser, TestHost};

#[tokio::test(flavor = "multi_thread")]
async fn forged_logout_requests_end_no_session() {
    let host = TestHost::start().await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let other =
        TestServiceProvider::register(&host, json!({"entity_id": "https://other.example"})).await;
    let ada = service_provider.ada(&host).await;
    let browser = Browser::new(&host.base);
    let known = signed_in(&service_provider, &ada, &browser, &host).await;
    let good = request(&service_provider, &host, &known);
    let xml = |request: &LogoutRequest| request.write(None).expect("written");
    let query = |query: String| format!("{}?{query}", service_provider.single_logout());
    let moment = instant("2020-01-01T00:00:00Z");
    let changed = |change: &dyn Fn(&mut LogoutRequest)| {
        let mut request = request(&service_provider, &host, &known);
        change(&mut request);
        query(service_provider.signed_query("SAMLRequest", &xml(&request), None))
    };
    for (what, address) in [
        (
            "unsigned",
            query(super::service_provider::query(
                "SAMLRequest",
                &xml(&good),
                None,
            )),
        ),
        (
            "signed by another",
            query(other.signed_query("SAMLRequest", &xml(&good), None)),
        ),
        (
            "of another issuer",
            changed(&|request| request.header.issuer = Some("https://other.example".to_owned())),
        ),
        (
            "for another address",
            changed(&|request| request.header.destination = Some(SLO.to_owned())),
        ),
        (
            "too late",
            changed(&|request| request.not_on_or_after = moment),
        ),
        (
            "long ago",
            changed(&|request| request.header.issue_instant = moment.expect("a moment")),
        ),
        ("a response that nobody waits for", {
            let response = LogoutResponse {
                header: header(&service_provider, &host),
                in_response_to: Some("_x".to_owned()),
                status: Status::success(),
            };
            query(service_provider.signed_query(
                "SAMLResponse",
                &response.write(None).expect("written"),
                None,
            ))
        }),
        ("nothing", service_provider.single_logout()),
    ] {
        let page = browser.get(&address).await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{what}");
        assert!(
            page.body.contains("Reference <code>") && !page.headers.contains_key("location"),
            "{what}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logout_request_ends_only_the_named_sessions_and_once() {
    let (host, service_provider, ada) = TestServiceProvider::start_with_ada().await;
    let browser = Browser::new(&host.base);
    let known = signed_in(&service_provider, &ada, &browser, &host).await;
    let mut another = request(&service_provider, &host, &known);
    another.session_indexes = vec!["another".to_owned()];
    let page = send(&service_provider, &browser, &another, None).await;
    assert_eq!(codes(&answer(&page)), (SUCCESS, None));
    assert!(
        Response::from_page(
            &service_provider
                .begin(&browser, &service_provider.request(&host), None)
                .await
        )
        .is_success(),
        "the user is still signed in"
    );
    // A request without a SessionIndex applies to all sessions.
    let mut all = request(&service_provider, &host, &known);
    all.session_indexes.clear();
    assert_eq!(
        codes(&answer(
            &send(&service_provider, &browser, &all, None).await
        )),
        (SUCCESS, None)
    );
    // The same request gets its response again, but only for a short time.
    let repeated = send(&service_provider, &browser, &all, None).await;
    assert_eq!(codes(&answer(&repeated.followed().await)), (SUCCESS, None));
    host.advance(31);
    assert_eq!(
        send(&service_provider, &browser, &all, None).await.status,
        StatusCode::BAD_REQUEST
    );
    assert!(
        service_provider
            .begin(&browser, &service_provider.request(&host), None)
            .await
            .body
            .contains("name=\"name\"")
    );
}
