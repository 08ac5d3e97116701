//! A preview shows more than the claims of the user: the token's own claims, the user's name at a service provider, and
//! the causes that would stop a sign-in before any plugin is called.

use std::collections::BTreeSet;

use assent::domain::operations::traffic::rate_limits::keys::CallerKey;
use assent_model::audit::Actor;
use assent_tests::harness::{Browser, Json, Parsed, ProofKey, TestHost, Text, id, jwt_claims};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::saml::service_provider::{Response, TestServiceProvider};

async fn preview(host: &TestHost, application: &str, account: &Value) -> Value {
    let path = format!(
        "/applications/{application}/claims-preview?account={}",
        id(account)
    );
    host.admin_ok(Method::GET, &path, Value::Null).await["sinks"].clone()
}

fn names(claims: &Value) -> BTreeSet<String> {
    claims.members().keys().cloned().collect()
}

fn texts(list: &Value) -> BTreeSet<String> {
    let list = list.as_array().unwrap_or_else(|| panic!("no list: {list}"));
    list.iter().map(|text| text.text().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_token_has_the_claims_of_its_preview_and_no_others() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    for slim in [false, true] {
        let path = format!("/applications/{}", ada.application.id);
        host.admin_ok(Method::PATCH, &path, json!({"slim_id_token": slim}))
            .await;
        let shown = preview(&host, &ada.application.id, &ada.account).await;
        let shown_token = &shown[0]["token"];
        let scope = shown[0]["scope"].text().replace(" offline_access", "");
        assert_eq!(shown_token["slim_id_token"], slim, "{shown}");
        assert_eq!(shown[0]["claims"].get("email").is_none(), slim, "{shown}");
        assert!(
            shown[1].get("token").is_none() && shown[2].get("token").is_none(),
            "{shown}"
        );

        let request = [
            ("scope", Some(scope.as_str())),
            ("nonce", Some("n-0S6_WzA2Mj")),
        ];
        let code = ada.sign_in_with(&Browser::new(&host.base), &request).await;
        let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
        let returned = jwt_claims(tokens["id_token"].text());
        for name in ["iss", "aud"] {
            assert_eq!(returned[name], shown_token[name], "{name}");
        }
        assert_eq!(shown_token["iss"], host.issuer());
        for (name, value) in shown[0]["claims"].members() {
            assert_eq!(&returned[name], value, "{name}");
        }
        let known =
            &names(&shown[0]["claims"]) | &BTreeSet::from(["iss".to_owned(), "aud".to_owned()]);
        let at_sign_in = texts(&shown_token["at_sign_in"]);
        assert!(known.is_disjoint(&at_sign_in), "{shown}");
        assert_eq!(names(&returned), &known | &at_sign_in, "slim: {slim}");
        // A request without a nonce causes a token without one. All other claims are present.
        let code = ada
            .sign_in_with(
                &Browser::new(&host.base),
                &[("scope", Some(scope.as_str())), ("nonce", None)],
            )
            .await;
        let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
        let without = jwt_claims(tokens["id_token"].text());
        assert_eq!(
            &names(&returned) - &names(&without),
            BTreeSet::from(["nonce".to_owned()])
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_preview_of_a_service_provider_has_the_name_id_of_its_assertion() {
    let host = TestHost::start().await;
    for (format, source) in [
        ("emailAddress", "user_email"),
        ("emailAddress", "account_name"),
        ("unspecified", "account_name"),
        ("persistent", "user_email"),
        ("transient", "user_email"),
    ] {
        let entity = format!("https://{source}.{format}.example");
        let changes =
            json!({"name_id_format": format, "name_id_source": source, "entity_id": entity});
        let service_provider = TestServiceProvider::register(&host, changes).await;
        let ada = host
            .user_with_account(
                &format!("ada-{source}-{format}").to_lowercase(),
                service_provider.application(),
            )
            .await;
        let shown = preview(&host, &service_provider.id, &ada.account).await;
        let page = service_provider
            .sign_in(
                &ada,
                &Browser::new(&host.base),
                &service_provider.request(&host),
            )
            .await;
        let response = Response::from_page(&page);
        let name = &shown[0]["name_id"];
        assert_eq!(
            name["format"],
            response.attribute("NameID", "Format"),
            "{shown}"
        );
        if format == "transient" {
            assert!(
                name.as_object()
                    .is_some_and(|name| name.get("value") == Some(&Value::Null)),
                "{shown}"
            );
        } else {
            assert_eq!(
                name["value"],
                response.text("NameID"),
                "{format} of {source}"
            );
        }
        assert!(shown[0].get("stopped").is_none(), "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_explains_a_missing_name_id_and_the_remedy() {
    let host = TestHost::start().await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let nameless = host
        .admin_ok(Method::POST, "/users", json!({"name": "nameless"}))
        .await;
    host.authenticator(&nameless).await;
    let account = host
        .account(&nameless, &service_provider.application())
        .await;
    let shown = preview(&host, &service_provider.id, &account).await[0].clone();
    let stopped = &shown["stopped"];
    assert_eq!(
        (&stopped["plugin"], &stopped["outcome"]),
        (&Value::Null, &json!("failed")),
        "{shown}"
    );
    let reason = stopped["reason"].text();
    assert!(
        reason.contains("email address")
            && reason.contains("NameID")
            && reason.contains("name_id_source"),
        "{reason}"
    );
    assert!(
        shown.get("name_id").is_none() && shown["attributes"].is_array(),
        "{shown}"
    );

    let path = format!("/applications/{}", service_provider.id);
    host.admin_ok(
        Method::PATCH,
        &path,
        json!({"name_id_source": "account_name"}),
    )
    .await;
    let shown = preview(&host, &service_provider.id, &account).await[0].clone();
    assert!(
        shown.get("stopped").is_none() && shown["name_id"]["value"] == account["name"],
        "{shown}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_names_the_blocking_lifecycle_state() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let service_provider = TestServiceProvider::register(&host, json!({})).await;
    let there = host
        .account(&ada.user, &service_provider.application())
        .await;
    let newcomer = host
        .admin_ok(Method::POST, "/users", json!({"name": "newcomer"}))
        .await;
    let invited = host.account(&newcomer, &ada.application).await;
    let both = async || {
        let oidc = preview(&host, &ada.application.id, &ada.account).await;
        let saml = preview(&host, &service_provider.id, &there).await;
        [
            oidc[0].clone(),
            oidc[1].clone(),
            oidc[2].clone(),
            saml[0].clone(),
        ]
    };
    let state = async |path: String, state: &str| {
        host.admin_ok(Method::PATCH, &path, json!({"state": state}))
            .await
    };
    let user = format!("/users/{}", id(&ada.user));
    let account = format!("/accounts/{}", id(&ada.account));
    assert!(
        both()
            .await
            .iter()
            .all(|sink| sink.get("stopped").is_none())
    );

    state(account.clone(), "suspended").await;
    let [id_token, userinfo, _, assertion] = both().await;
    for sink in [&id_token, &userinfo] {
        assert_eq!(
            (&sink["stopped"]["plugin"], &sink["stopped"]["outcome"]),
            (&Value::Null, &json!("denied")),
            "{sink}"
        );
        let reason = sink["stopped"]["reason"].text();
        assert!(
            reason.contains("account in this application is suspended")
                && reason.contains("active"),
            "{reason}"
        );
        // The preview also shows the claims that would follow after a solution of the problem.
        assert!(
            sink["claims"].is_object() && !sink["origins"].items().is_empty(),
            "{sink}"
        );
    }
    assert!(
        assertion.get("stopped").is_none(),
        "an account elsewhere: {assertion}"
    );

    state(user, "suspended").await;
    for sink in both().await {
        let reason = sink["stopped"]["reason"]
            .as_str()
            .unwrap_or_else(|| panic!("no reason: {sink}"));
        assert!(
            reason.contains("the user is suspended"),
            "the state of the user comes first: {reason}"
        );
    }

    let waits = preview(&host, &ada.application.id, &invited).await[0].clone();
    let reason = waits["stopped"]["reason"]
        .as_str()
        .unwrap_or_else(|| panic!("no reason: {waits}"));
    assert!(
        reason.contains("no device") && reason.contains("enrol"),
        "{reason}"
    );
}

/// Only the application has its key, so the preview has neither a request object nor a proof.
#[tokio::test(flavor = "multi_thread")]
async fn a_preview_does_not_depend_on_the_security_profile() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let path = format!("/applications/{}", ada.application.id);
    let without = preview(&host, &ada.application.id, &ada.account).await;
    let key = ProofKey::generate();
    for (number, change) in [
        json!({
            "security_profile": "fapi2", "token_endpoint_auth_method": "private_key_jwt",
            "jwks": {"keys": [key.public()]}, "dpop_bound_access_tokens": true,
            "require_pushed_authorization_requests": true, "require_pkce": true,
            "id_token_signed_response_alg": "ES256",
        }),
        json!({"security_profile": "fapi2-message-signing", "require_signed_request_object": true}),
        json!({"dpop_bound_access_tokens": false, "tls_client_certificate_bound_access_tokens": true}),
    ]
    .into_iter()
    .enumerate()
    {
        let set = host.admin_ok(Method::PATCH, &path, change).await;
        assert!(set["security_profile"].is_string(), "{set}");
        let shown = preview(&host, &ada.application.id, &ada.account).await;
        let (sinks, expected) = (shown.items(), without.items());
        assert_eq!(sinks.len(), expected.len(), "{number}");
        for (sink, expected) in sinks.iter().zip(expected) {
            assert_eq!(sink["claims"], expected["claims"], "{number}");
            assert_eq!(sink.get("stopped"), None, "{number}: {sink}");
        }
    }
}

/// Previews use slots of the plugins that sign-ins need.
#[tokio::test]
async fn concurrent_previews_per_caller_are_limited() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let me = host.admin_ok(Method::GET, "/me", Value::Null).await;
    let caller = Actor::AdminToken(me["id"].text().parsed());
    let holding: Vec<_> = (0..4)
        .map(|_| {
            host.host
                .rate_limits
                .previews
                .hold(CallerKey::from(&caller))
                .expect("a permit")
        })
        .collect();
    let path = format!(
        "/applications/{}/claims-preview?account={}",
        ada.application.id,
        id(&ada.account)
    );
    let (status, problem) = host.admin(Method::GET, &path, Value::Null).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS, "{problem}");
    drop(holding);
    preview(&host, &ada.application.id, &ada.account).await;
}
