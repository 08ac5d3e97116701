//! Applications by the keys of their owners.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::super::{Answer, Caller, sent};
use super::{changes, plan, web_manifest};
use crate::harness::{Database, TestHost, Text, id};

const PATH: &str = "/applications/by-key/team/wiki";

async fn put_application(caller: &Caller, body: &Value, if_match: Option<&str>) -> Answer {
    let request = caller.request(Method::PUT, PATH).json(body);
    sent(match if_match {
        Some(version) => request.header("if-match", version),
        None => request,
    })
    .await
}

#[both_databases]
async fn an_application_is_created_then_replaced_by_its_key(database: Database) {
    let host = TestHost::start_on(database).await;
    let caller = Caller::machine(&host);
    assert_eq!(caller.get(PATH).await.status, StatusCode::NOT_FOUND);
    let body = json!({"name": "Wiki", "application_type": "web", "redirect_uris": ["https://wiki.example/cb"],
                      "slim_id_token": true});
    let early = put_application(&caller, &body, Some("\"1\"")).await;
    assert_eq!(early.status, StatusCode::PRECONDITION_FAILED);
    let created = put_application(&caller, &body, None).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.body);
    let first = created.etag().to_owned();
    let again = put_application(&caller, &body, Some(&first)).await;
    assert_eq!(
        (again.status, again.etag(), &again.body),
        (StatusCode::OK, first.as_str(), &created.body),
        "{database:?}: the second request changes nothing"
    );
    let read = caller.get(PATH).await;
    assert_eq!((read.etag(), &read.body), (first.as_str(), &created.body));

    let less = json!({"protocol": "openid_connect", "name": "Wiki", "application_type": "web",
                      "redirect_uris": ["https://wiki.example/cb"]});
    let replaced = put_application(&caller, &less, Some(&first)).await;
    assert_eq!(replaced.status, StatusCode::OK, "{}", replaced.body);
    assert_eq!(replaced.body["slim_id_token"], false, "a PUT is the whole");
    assert_eq!(replaced.body["id"], created.body["id"]);
    let stale = put_application(&caller, &body, Some(&first)).await;
    assert_eq!(stale.status, StatusCode::PRECONDITION_FAILED);
    // A manifest of the owner identifies the application by the same key.
    let shown = plan(&host, &web_manifest("team", "wiki", "Renamed"), false).await;
    assert_eq!(changes(&shown), ["update application wiki"]);

    for (body, status, pointer) in [
        (json!({"name": "Wiki"}), 422, "/application_type"),
        (
            json!({"name": "Wiki", "application_type": "spa", "redirect_uris": ["https://wiki.example/cb"]}),
            422,
            "/application_type",
        ),
        (
            json!({"name": "Wiki", "application_type": "web", "redirect_uris": ["http://plain.example/"]}),
            422,
            "/redirect_uris",
        ),
        (
            json!({"protocol": "saml", "name": "Wiki", "entity_id": "x", "acs": [{"url": "https://a.example/"}]}),
            422,
            "/protocol",
        ),
        (json!({"nam": "Wiki"}), 400, "/nam"),
    ] {
        let answer = put_application(&caller, &body, None).await;
        assert_eq!(
            (
                answer.status.as_u16(),
                answer.body["errors"][0]["pointer"].text()
            ),
            (status, pointer),
            "{body}: {}",
            answer.body
        );
    }
    for path in [
        "/applications/by-key/Team/wiki",
        "/applications/by-key/team/..",
    ] {
        let request = caller.request(Method::PUT, path).json(&less);
        assert!(sent(request).await.status.is_client_error(), "{path}");
    }
    let stale = caller
        .request(Method::DELETE, PATH)
        .header("if-match", first.as_str());
    assert_eq!(sent(stale).await.status, StatusCode::PRECONDITION_FAILED);
    let deleted = caller.call(Method::DELETE, PATH, Value::Null).await;
    assert_eq!(deleted.status, StatusCode::NO_CONTENT);
    let path = format!("/applications/{}", id(&created.body));
    assert_eq!(caller.get(&path).await.status, StatusCode::NOT_FOUND);
}

#[both_databases]
async fn a_service_provider_is_described_by_its_key_too(database: Database) {
    let host = TestHost::start_on(database).await;
    let caller = Caller::machine(&host);
    let body = json!({"protocol": "saml", "name": "Wiki", "entity_id": "https://wiki.example/saml",
                      "acs": [{"url": "https://wiki.example/acs"}], "clock_skew_seconds": 30});
    let created = put_application(&caller, &body, None).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.body);
    let path = format!("/applications/{}/certificates", id(&created.body));
    let certificates = caller.get(&path).await.success();
    assert_eq!(
        put_application(&caller, &body, None).await.body,
        created.body
    );
    let less = json!({"protocol": "saml", "name": "Wiki", "entity_id": "https://wiki.example/saml",
                      "acs": [{"url": "https://wiki.example/acs"}]});
    let replaced = put_application(&caller, &less, None).await;
    assert_eq!(replaced.status, StatusCode::OK, "{database:?}");
    assert_ne!(replaced.body["clock_skew_seconds"], 30);
    assert_eq!(
        caller.get(&path).await.success(),
        certificates,
        "its key stays"
    );
}
