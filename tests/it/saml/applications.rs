//! Service providers in the admin API.

use assent_store::sql;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::service_provider::{ACS, ENTITY_ID, TestServiceProvider};
use crate::harness::{Database, Json, TestHost, Text, id};

/// Removes and returns the notes, which only the response to a save has.
fn without_notes(application: &mut Value) -> Value {
    application
        .as_object_mut()
        .and_then(|members| members.remove("notes"))
        .unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_saml_setting_is_stored_and_shown() {
    for database in [Database::Sqlite, Database::Postgres] {
        let host = TestHost::start_on(database).await;
        let settings = json!({
            "name": "Engines",
            "entity_id": ENTITY_ID,
            "acs": [{"url": ACS, "index": 4, "default": false}, {"url": "https://sp.example/b", "index": 9,
                "default": true}],
            "single_logout": {"url": "https://sp.example/slo", "response_url": "https://sp.example/slo/r",
                "binding": "post"},
            "name_id_format": "persistent",
            "other_name_id_formats": ["emailAddress", "transient"],
            "name_id_source": "account_name",
            "custom_attributes": [{"name": "department", "values": ["a", "b"]}],
            "idp_initiated": true,
            "default_relay_state": "/home",
            "relay_states": ["/a", "/b"],
            "clock_skew_seconds": 5,
            "idp_entity_id": "https://idp.example/own",
        });
        let mut body = settings.clone();
        body["protocol"] = "saml".into();
        let mut created = host.admin_ok(Method::POST, "/applications", body).await;
        assert!(
            without_notes(&mut created)
                .to_string()
                .contains("need not be an email address")
        );
        let path = format!("/applications/{}", id(&created));
        let shown = host.admin_ok(Method::GET, &path, Value::Null).await;
        assert_eq!(created, shown);
        assert_eq!(shown["protocol"], "saml");
        for (name, value) in settings.members() {
            assert_eq!(shown[name], *value, "{name}");
        }
        let mut changed = host
            .admin_ok(
                Method::PATCH,
                &path,
                json!({"default_relay_state": null, "single_logout": null}),
            )
            .await;
        without_notes(&mut changed);
        assert!(changed["default_relay_state"].is_null() && changed["single_logout"].is_null());
        assert_eq!(changed["relay_states"], json!(["/a", "/b"]));
        let listed = host
            .admin_ok(Method::GET, "/applications", Value::Null)
            .await;
        let mut item = listed["items"][0].clone();
        let usage = item
            .as_object_mut()
            .and_then(|members| members.remove("usage"));
        assert_eq!((listed["items"].items().len(), &item), (1, &changed));
        assert_eq!(usage.expect("its usage")["users"], 0);
        // A service provider has no endpoints that only OIDC clients need.
        let (status, problem) = host
            .admin(Method::POST, &format!("{path}/secret/rotate"), Value::Null)
            .await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
        host.admin_ok(Method::DELETE, &path, Value::Null).await;
        assert_eq!(
            host.admin(Method::GET, &path, Value::Null).await.0,
            StatusCode::NOT_FOUND
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_saml_settings_name_the_valid_values() {
    let host = TestHost::start().await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let path = format!("/applications/{}", service_provider.id);
    let long = "x".repeat(5000);
    for (change, field) in [
        (json!({"entity_id": ""}), "entity_id"),
        (json!({"entity_id": "a b"}), "entity_id"),
        (json!({"entity_id": long}), "entity_id"),
        (json!({"acs": []}), "acs"),
        (json!({"acs": [{"url": "http://sp.example/acs"}]}), "acs"),
        (json!({"acs": [{"url": "https://u@sp.example/acs"}]}), "acs"),
        (json!({"acs": [{"url": "javascript:alert(1)"}]}), "acs"),
        (
            json!({"acs": [{"url": ACS, "index": 1}, {"url": ACS, "index": 1}]}),
            "acs",
        ),
        (
            json!({"acs": [{"url": ACS, "default": true}, {"url": ACS, "default": true}]}),
            "acs",
        ),
        (
            json!({"single_logout": {"url": "ftp://sp.example", "binding": "post"}}),
            "single_logout",
        ),
        (json!({"certificates": ["hello"]}), "certificates"),
        (
            json!({"certificates": ["-----BEGIN PRIVATE KEY-----"]}),
            "certificates",
        ),
        (
            json!({"certificates": [], "require_signed_requests": true}),
            "require_signed_requests",
        ),
        (
            json!({"custom_attributes": [{"name": "a", "values": []}, {"name": "a", "values": []}]}),
            "custom_attributes",
        ),
        (
            json!({"custom_attributes": [{"name": "", "values": []}]}),
            "custom_attributes",
        ),
        (
            json!({"custom_attributes": [{"name": "a", "values": ["\u{1}"]}]}),
            "custom_attributes",
        ),
        (
            json!({"custom_attributes": [{"name": "a", "values": [long]}]}),
            "custom_attributes",
        ),
        (json!({"default_relay_state": ""}), "default_relay_state"),
        (json!({"relay_states": [long]}), "relay_states"),
        (json!({"clock_skew_seconds": 601}), "clock_skew_seconds"),
        (
            json!({"not_before_margin_seconds": 121}),
            "not_before_margin_seconds",
        ),
        (json!({"idp_entity_id": " "}), "idp_entity_id"),
        (
            json!({"metadata_url": "https://127.0.0.1/x"}),
            "metadata_url",
        ),
        (json!({"name": ""}), "name"),
    ] {
        let (status, problem) = host.admin(Method::PATCH, &path, change.clone()).await;
        assert_eq!(
            status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{change}: {problem}"
        );
        let detail = problem["detail"].text();
        assert!(
            detail.starts_with(field)
                && (detail.contains("expected") || detail.contains("use 1 to 120"))
                || detail.contains("private key"),
            "{detail}"
        );
    }
    for change in [
        json!({"name_id_format": "kerberos"}),
        json!({"redirect_uris": []}),
        json!({"acs": [{"address": ACS}]}),
        json!({"custom_attributes": [{"name": "a", "values": [], "type": "x"}]}),
    ] {
        assert_eq!(
            host.admin(Method::PATCH, &path, change.clone()).await.0,
            StatusCode::BAD_REQUEST,
            "{change}"
        );
    }
    for body in [
        json!({"protocol": "saml", "name": "x", "acs": [{"url": ACS}]}),
        json!({"protocol": "saml", "entity_id": "x", "acs": [{"url": ACS}]}),
        json!({"protocol": "saml", "entity_id": "x", "name": "x"}),
    ] {
        assert_eq!(
            host.admin(Method::POST, "/applications", body.clone())
                .await
                .0,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{body}"
        );
    }
    let forgotten = json!({"name": "x", "entity_id": "x", "acs": [{"url": ACS}]});
    let (status, problem) = host.admin(Method::POST, "/applications", forgotten).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        problem["detail"].text().contains("\"protocol\": \"saml\""),
        "{problem}"
    );
    assert_eq!(
        host.admin(Method::POST, "/applications", json!({"protocol": "cas"}))
            .await
            .0,
        StatusCode::BAD_REQUEST
    );
}

/// The records of a SAML session are deleted with the session, with the account, and by retention.
#[tokio::test(flavor = "multi_thread")]
async fn expired_saml_records_are_deleted() {
    for database in [Database::Sqlite, Database::Postgres] {
        let host = TestHost::start_on(database).await;
        let service_provider =
            TestServiceProvider::register(&host, json!({"idp_initiated": true})).await;
        let ada = service_provider.ada(&host).await;
        let browser = crate::harness::Browser::new(&host.base);
        let count = async |table: &str| {
            let mut connection = host.connection().await;
            let query = format!("SELECT COUNT(*) FROM {table}");
            let row: (i64,) = sql::query_as(query)
                .fetch_one(&mut connection)
                .await
                .expect("a count");
            row.0
        };
        service_provider
            .sign_in(&ada, &browser, &service_provider.request(&host))
            .await;
        assert!(
            browser
                .get("/")
                .await
                .body
                .contains(&service_provider.sign_on())
        );
        assert_eq!(
            (
                count("saml_participants").await,
                count("sign_on_requests").await
            ),
            (1, 1)
        );
        let account = format!("/accounts/{}", id(&ada.account));
        host.admin_ok(Method::PATCH, &account, json!({"state": "suspended"}))
            .await;
        assert_eq!(count("saml_participants").await, 0);
        assert!(
            !browser
                .get("/")
                .await
                .body
                .contains(&service_provider.sign_on())
        );
        host.admin_ok(Method::PATCH, &account, json!({"state": "active"}))
            .await;
        service_provider
            .begin(&browser, &service_provider.request(&host), None)
            .await;
        assert_eq!(count("saml_participants").await, 1);
        let home = browser.get("/").await;
        home.submit("/sign-out", &[]).await.followed().await;
        assert_eq!(
            (
                count("saml_participants").await,
                count("saml_logouts").await
            ),
            (0, 1)
        );
        assert_eq!(count("saml_logout_requests").await, 1);
        host.advance(40 * 24 * 60 * 60);
        let day = std::time::Duration::from_secs(24 * 60 * 60);
        let retention = assent_store::Retention {
            logins: day,
            sessions: day,
            enrolments: day,
            admin_tokens: day,
            traces: day,
            receipts: day,
            audit: day,
            streams: &[],
            denials: day,
        };
        host.host
            .store
            .apply_retention(retention, host.host.now())
            .await
            .expect("swept");
        for table in [
            "sign_on_requests",
            "saml_logouts",
            "saml_logout_requests",
            "replay_cache",
        ] {
            assert_eq!(count(table).await, 0, "{table}");
        }
    }
}
