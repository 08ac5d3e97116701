//! What a preview tells beside the claims of the person: what the token says of itself, what a service provider calls
//! the person, and what would stop a sign-in before any plugin is asked.

use std::collections::BTreeSet;

use assent::domain::operations::rate_limits::CallerKey;
use assent_model::audit::Actor;
use assent_tests::harness::{Browser, TestHost, id};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::explain::claims_of;
use crate::saml::party::{Party, Response};

async fn preview(host: &TestHost, application: &str, account: &Value) -> Value {
    let path = format!(
        "/applications/{application}/claims-preview?account={}",
        id(account)
    );
    host.admin_ok(Method::GET, &path, Value::Null).await["sinks"].clone()
}

fn names(claims: &Value) -> BTreeSet<String> {
    claims
        .as_object()
        .expect("claims")
        .keys()
        .cloned()
        .collect()
}

fn texts(list: &Value) -> BTreeSet<String> {
    let list = list.as_array().unwrap_or_else(|| panic!("no list: {list}"));
    list.iter()
        .map(|text| text.as_str().expect("text").to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_token_has_the_claims_of_its_preview_and_no_others() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    for slim in [false, true] {
        let path = format!("/applications/{}", ada.application.id);
        host.admin_ok(Method::PATCH, &path, json!({"slim_id_token": slim}))
            .await;
        let shown = preview(&host, &ada.application.id, &ada.account).await;
        let shown_token = &shown[0]["token"];
        let scope = shown[0]["scope"]
            .as_str()
            .expect("scopes")
            .replace(" offline_access", "");
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
        let told = claims_of(tokens["id_token"].as_str().expect("an ID token"));
        for name in ["iss", "aud"] {
            assert_eq!(told[name], shown_token[name], "{name}");
        }
        assert_eq!(shown_token["iss"], host.issuer());
        for (name, value) in shown[0]["claims"].as_object().expect("claims") {
            assert_eq!(&told[name], value, "{name}");
        }
        let known =
            &names(&shown[0]["claims"]) | &BTreeSet::from(["iss".to_owned(), "aud".to_owned()]);
        let at_sign_in = texts(&shown_token["at_sign_in"]);
        assert!(known.is_disjoint(&at_sign_in), "{shown}");
        assert_eq!(names(&told), &known | &at_sign_in, "slim: {slim}");
        // A request without a nonce brings none; all else is there.
        let code = ada
            .sign_in_with(
                &Browser::new(&host.base),
                &[("scope", Some(scope.as_str())), ("nonce", None)],
            )
            .await;
        let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
        let without = claims_of(tokens["id_token"].as_str().expect("an ID token"));
        assert_eq!(
            &names(&told) - &names(&without),
            BTreeSet::from(["nonce".to_owned()])
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_preview_of_a_service_provider_has_the_name_that_its_assertion_has() {
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
        let party = Party::register(&host, changes).await;
        let ada = host
            .person(
                &format!("ada-{source}-{format}").to_lowercase(),
                party.application(),
            )
            .await;
        let shown = preview(&host, &party.id, &ada.account).await;
        let page = party
            .sign_in(&ada, &Browser::new(&host.base), &party.request(&host))
            .await;
        let response = Response::of(&page);
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
async fn a_preview_says_why_nobody_would_be_named_and_what_to_do() {
    let host = TestHost::start().await;
    let party = Party::register(&host, json!({})).await;
    let nameless = host
        .admin_ok(Method::POST, "/users", json!({"name": "nameless"}))
        .await;
    host.authenticator(&nameless).await;
    let account = host.account(&nameless, &party.application()).await;
    let shown = preview(&host, &party.id, &account).await[0].clone();
    let stopped = &shown["stopped"];
    assert_eq!(
        (&stopped["plugin"], &stopped["outcome"]),
        (&Value::Null, &json!("failed")),
        "{shown}"
    );
    let reason = stopped["reason"].as_str().expect("a reason");
    assert!(
        reason.contains("e-mail address")
            && reason.contains("NameID")
            && reason.contains("name_id_source"),
        "{reason}"
    );
    assert!(
        shown.get("name_id").is_none() && shown["attributes"].is_array(),
        "{shown}"
    );

    let path = format!("/applications/{}", party.id);
    host.admin_ok(
        Method::PATCH,
        &path,
        json!({"name_id_source": "account_name"}),
    )
    .await;
    let shown = preview(&host, &party.id, &account).await[0].clone();
    assert!(
        shown.get("stopped").is_none() && shown["name_id"]["value"] == account["name"],
        "{shown}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_says_which_state_would_stop_a_sign_in() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    let party = Party::register(&host, json!({})).await;
    let there = host.account(&ada.user, &party.application()).await;
    let newcomer = host
        .admin_ok(Method::POST, "/users", json!({"name": "newcomer"}))
        .await;
    let invited = host.account(&newcomer, &ada.application).await;
    let both = async || {
        let oidc = preview(&host, &ada.application.id, &ada.account).await;
        let saml = preview(&host, &party.id, &there).await;
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
        let reason = sink["stopped"]["reason"].as_str().expect("a reason");
        assert!(
            reason.contains("account in this application is suspended")
                && reason.contains("active"),
            "{reason}"
        );
        // What would be told once that is mended is shown all the same.
        assert!(
            sink["claims"].is_object() && !sink["origins"].as_array().expect("origins").is_empty(),
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
            reason.contains("the person is suspended"),
            "the person comes first: {reason}"
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

/// They take places at the plugins that sign-ins need.
#[tokio::test]
async fn one_caller_makes_few_previews_at_once() {
    let host = TestHost::start().await;
    let ada = host.ada().await;
    let me = host.admin_ok(Method::GET, "/me", Value::Null).await;
    let caller = Actor::AdminToken(
        me["id"]
            .as_str()
            .expect("an id")
            .parse()
            .expect("a token's id"),
    );
    let holding: Vec<_> = (0..4)
        .map(|_| {
            host.host
                .rate_limits
                .previews
                .hold(CallerKey::from(&caller))
                .expect("held")
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
