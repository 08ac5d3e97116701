//! `ETag`, `If-Match`, `If-None-Match`.

use assent_test_macros::both_databases;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Answer, Caller, sent};
use crate::harness::{Database, TestHost, id};

async fn with(
    caller: &Caller,
    method: Method,
    path: &str,
    header: (&str, &str),
    body: Value,
) -> Answer {
    let request = caller.request(method, path).header(header.0, header.1);
    sent(if body.is_null() {
        request
    } else {
        request.json(&body)
    })
    .await
}

#[both_databases]
async fn if_match_updates_only_the_matching_version(database: Database) {
    let host = TestHost::start_on(database).await;
    let caller = Caller::machine(&host);
    let ada = host.ada().await;
    let saml = json!({"protocol": "saml", "name": "Wiki", "entity_id": "https://wiki.example/saml",
                          "acs": [{"url": "https://wiki.example/acs"}]});
    let saml = host.admin_ok(Method::POST, "/applications", saml).await;
    for (path, change) in [
        (
            format!("/users/{}", id(&ada.user)),
            json!({"profile": {"nickname": "x"}}),
        ),
        (
            format!("/accounts/{}", id(&ada.account)),
            json!({"roles": ["x"]}),
        ),
        (
            format!("/applications/{}", ada.application.id),
            json!({"name": "x"}),
        ),
        (format!("/applications/{}", id(&saml)), json!({"name": "x"})),
    ] {
        let read = caller.get(&path).await;
        let first = read.etag().to_owned();
        for known in [first.as_str(), "*", &format!("\"other\", W/{first}")] {
            let again = with(
                &caller,
                Method::GET,
                &path,
                ("if-none-match", known),
                Value::Null,
            )
            .await;
            assert_eq!(
                (again.status, again.etag()),
                (StatusCode::NOT_MODIFIED, first.as_str()),
                "{path} {known}"
            );
            assert_eq!(again.body, Value::Null);
        }
        let changed = with(
            &caller,
            Method::PATCH,
            &path,
            ("if-match", &first),
            change.clone(),
        )
        .await;
        assert_eq!(
            changed.status,
            StatusCode::OK,
            "{database:?} {path}: {}",
            changed.body
        );
        let second = changed.etag().to_owned();
        assert_eq!(
            caller.get(&path).await.etag(),
            second,
            "{path}: the response has the ETag of its representation"
        );
        assert_ne!(first, second);
        for old in [first.as_str(), &format!("W/{second}"), "\"\"", "nonsense"] {
            for (method, body) in [
                (Method::PATCH, change.clone()),
                (Method::DELETE, Value::Null),
            ] {
                let refused = with(&caller, method.clone(), &path, ("if-match", old), body).await;
                let what = format!("{database:?} {method} {path} {old}");
                assert_eq!(
                    (refused.status, refused.problem()),
                    (StatusCode::PRECONDITION_FAILED, "precondition-failed"),
                    "{what}"
                );
            }
        }
        let stale = with(
            &caller,
            Method::GET,
            &path,
            ("if-none-match", &first),
            Value::Null,
        )
        .await;
        assert_eq!(stale.status, StatusCode::OK);
        let one_of = format!("\"other\", {second}");
        with(
            &caller,
            Method::PATCH,
            &path,
            ("if-match", &one_of),
            change.clone(),
        )
        .await
        .success();
        with(&caller, Method::PATCH, &path, ("if-match", "*"), change)
            .await
            .success();
    }
    for path in [
        format!("/accounts/{}", id(&ada.account)),
        format!("/applications/{}", id(&saml)),
    ] {
        let last = caller.get(&path).await.etag().to_owned();
        let deleted = with(
            &caller,
            Method::DELETE,
            &path,
            ("if-match", &last),
            Value::Null,
        )
        .await;
        assert_eq!(
            deleted.status,
            StatusCode::NO_CONTENT,
            "{database:?} {path}: {}",
            deleted.body
        );
    }
}

#[tokio::test]
async fn if_match_is_rejected_for_resources_without_versions() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let caller = Caller::machine(&host);
    let path = format!("/users/{}/sessions", id(&ada.user));
    let refused = with(
        &caller,
        Method::DELETE,
        &path,
        ("if-match", "\"1\""),
        Value::Null,
    )
    .await;
    assert_eq!(refused.status, StatusCode::PRECONDITION_FAILED);
    let any = with(
        &caller,
        Method::DELETE,
        &path,
        ("if-match", "*"),
        Value::Null,
    )
    .await;
    assert_eq!(any.status, StatusCode::NO_CONTENT);
}
