//! The scope and the claim `address` (OpenID Connect Core section 5.1.1), at each sink of the other profile claims.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::claims::claims;
use super::token::userinfo;
use crate::harness::{Body, Browser, Json, TestHost, TestUser, component, get, id};

fn home() -> Value {
    json!({
        "street_address": "12 St James's Square\n2nd floor",
        "locality": "London",
        "postal_code": "SW1Y 4JH",
        "country": "United Kingdom",
    })
}

/// Creates Ada with an address, and an application that may request it.
async fn resident(host: &TestHost) -> TestUser {
    let ada = host.ada().await;
    let path = format!("/users/{}", id(&ada.user));
    host.admin_ok(
        Method::PATCH,
        &path,
        json!({"profile": {"address": home()}}),
    )
    .await;
    let path = format!("/applications/{}", ada.application.id);
    host.admin_ok(
        Method::PATCH,
        &path,
        json!({"scopes": ["openid", "profile", "address"]}),
    )
    .await;
    ada
}

/// Signs in with this change of the request. Returns the claims of the ID token and of UserInfo.
async fn returned(host: &TestHost, ada: &TestUser, change: (&str, Option<&str>)) -> (Value, Value) {
    let browser = Browser::new(&host.base);
    let page = ada.begin_sign_in(&browser, &[change]).await;
    ada.approve(&page).await;
    let code = browser.finish(&page.url).await.parameter("code");
    let (claims, access) = claims(host, ada, &code).await;
    let (status, info) = userinfo(host, &access).await;
    assert_eq!(status, StatusCode::OK, "{info}");
    (Value::Object(claims), info)
}

#[tokio::test]
async fn the_address_scope_returns_the_address_in_id_token_and_userinfo() {
    let host = TestHost::start().await;
    let ada = resident(&host).await;
    let (claims, info) = returned(&host, &ada, ("scope", Some("openid address"))).await;
    assert_eq!((&claims["address"], &info["address"]), (&home(), &home()));
    assert!(
        claims.get("name").is_none() && claims.get("locality").is_none(),
        "{claims}"
    );
    let (claims, info) = returned(&host, &ada, ("scope", Some("openid profile"))).await;
    assert!(
        claims.get("address").is_none() && info.get("address").is_none(),
        "{claims} {info}"
    );
    // A user without an address has no such claim.
    let path = format!("/users/{}", id(&ada.user));
    host.admin_ok(Method::PATCH, &path, json!({"profile": {"address": null}}))
        .await;
    let (claims, info) = returned(&host, &ada, ("scope", Some("openid address"))).await;
    assert!(
        claims.get("address").is_none() && info.get("address").is_none(),
        "{claims} {info}"
    );
}

#[tokio::test]
async fn the_claims_parameter_requests_only_the_address() {
    let host = TestHost::start().await;
    let ada = resident(&host).await;
    let requested = r#"{"userinfo": {"address": null}}"#;
    let browser = Browser::new(&host.base);
    let page = ada
        .begin_sign_in(
            &browser,
            &[("scope", Some("openid")), ("claims", Some(requested))],
        )
        .await;
    ada.approve(&page).await;
    let consent = browser.get(&page.url).await;
    assert!(
        consent.asks_for_consent() && consent.body.contains("See your postal address"),
        "{}",
        consent.body
    );
    let code = consent.decide("allow").await.parameter("code");
    let (claims, access) = claims(&host, &ada, &code).await;
    assert!(claims.get("address").is_none(), "{claims:?}");
    assert_eq!(userinfo(&host, &access).await.1["address"], home());
}

#[tokio::test]
async fn the_address_scope_must_be_allowed_by_an_administrator() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let path = format!("/users/{}", id(&ada.user));
    host.admin_ok(
        Method::PATCH,
        &path,
        json!({"profile": {"address": home()}}),
    )
    .await;
    let path = format!("/applications/{}", ada.application.id);
    let scopes = host.admin_ok(Method::GET, &path, Value::Null).await["scopes"].clone();
    assert_eq!(
        scopes,
        json!(["openid", "profile", "email", "phone", "offline_access"])
    );
    let requested =
        r#"{"id_token": {"address": {"essential": true}}, "userinfo": {"address": null}}"#;
    let browser = Browser::new(&host.base);
    let page = ada
        .begin_sign_in(
            &browser,
            &[
                ("scope", Some("openid profile address")),
                ("claims", Some(requested)),
            ],
        )
        .await;
    ada.approve(&page).await;
    let code = browser.finish(&page.url).await.parameter("code");
    let (claims, access) = claims(&host, &ada, &code).await;
    assert!(claims.get("address").is_none(), "{claims:?}");
    assert!(userinfo(&host, &access).await.1.get("address").is_none());
}

#[tokio::test]
async fn address_consent_is_localized_and_discovery_lists_the_scope() {
    let host = TestHost::start().await;
    let ada = resident(&host).await;
    for (locale, words) in [
        ("en", "See your postal address"),
        ("de", "Ihre Postanschrift sehen"),
    ] {
        let browser = Browser::new(&host.base);
        let page = ada
            .begin_sign_in(
                &browser,
                &[
                    ("scope", Some("openid address")),
                    ("ui_locales", Some(locale)),
                ],
            )
            .await;
        ada.approve(&page).await;
        let page = browser.get(&page.url).await;
        assert!(
            page.asks_for_consent() && page.body.contains(words),
            "{}",
            page.body
        );
        host.advance(60);
    }
    let url = format!("{}/.well-known/openid-configuration", host.issuer());
    let document: Value = get(url).await.read_json().await;
    let has = |list: &str| document[list].items().contains(&json!("address"));
    assert!(
        has("scopes_supported") && has("claims_supported"),
        "{document}"
    );
}

#[tokio::test]
async fn address_updates_merge_members_and_are_validated() {
    let host = TestHost::start().await;
    let ada = host.user("ada").await;
    let path = format!("/users/{}", id(&ada));
    let change = async |address: Value| {
        host.admin(
            Method::PATCH,
            &path,
            json!({"profile": {"address": address}}),
        )
        .await
    };
    assert_eq!(change(home()).await.1["profile"]["address"], home());
    let moved = change(json!({"locality": "Marylebone", "country": null}))
        .await
        .1;
    assert_eq!(moved["profile"]["address"]["locality"], "Marylebone");
    assert_eq!(moved["profile"]["address"]["postal_code"], "SW1Y 4JH");
    assert!(
        moved["profile"]["address"].get("country").is_none(),
        "{moved}"
    );
    assert_eq!(
        moved["profile"]["name"], "Ada Lovelace",
        "the rest of the profile stays"
    );
    for wrong in [
        json!({"locality": "a\nb"}),
        json!({"locality": 1}),
        json!({"planet": "Earth"}),
        json!("London"),
        json!({"formatted": "x".repeat(1025)}),
        json!({"locality": {"name": "London"}}),
    ] {
        let (status, problem) = change(wrong.clone()).await;
        assert_eq!(
            status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{wrong}: {problem}"
        );
        assert!(
            problem.to_string().contains("address"),
            "{wrong}: {problem}"
        );
    }
    let gone = host
        .admin_ok(Method::PATCH, &path, json!({"profile": {"address": null}}))
        .await;
    assert!(gone["profile"].get("address").is_none(), "{gone}");
    let again = host
        .admin_ok(
            Method::PATCH,
            &path,
            json!({"profile": {"address": {"locality": null}}}),
        )
        .await;
    assert!(again["profile"].get("address").is_none(), "{again}");
}

#[tokio::test]
async fn claim_map_and_the_preview_support_the_address() {
    let rules = format!(
        "[[plugins.claim_mappers]]\nname = \"town\"\nfile = \"{}\"\nwrites = [\"town\", \"street\"]\n\
         [[plugins.claim_mappers.config.rules]]\nclaim = \"town\"\nfrom = \"user.profile.address.locality\"\n\
         [[plugins.claim_mappers.config.rules]]\nclaim = \"street\"\nfrom = \"address.street_address\"\n",
        component("claim-map").display()
    );
    let host = TestHost::start_with_plugins(&rules).await;
    let ada = resident(&host).await;
    // The plugin always receives the user's record, and the claim only with its scope.
    let (claims, _) = returned(&host, &ada, ("scope", Some("openid"))).await;
    assert_eq!(
        (&claims["town"], claims.get("street")),
        (&json!("London"), None)
    );
    let (claims, _) = returned(&host, &ada, ("scope", Some("openid address"))).await;
    assert_eq!(claims["street"], "12 St James's Square\n2nd floor");
    let preview = format!(
        "/applications/{}/claims-preview?account={}",
        ada.application.id,
        id(&ada.account)
    );
    let shown = host.admin_ok(Method::GET, &preview, Value::Null).await;
    assert_eq!(shown["sinks"][0]["claims"]["address"], home(), "{shown}");
}
