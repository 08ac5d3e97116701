//! Claims from settings only, in a real sign-in.

use reqwest::{Method, StatusCode};
use serde_json::json;

use super::claims::claims;
use super::token::userinfo;
use crate::harness::{Browser, Json, TestHost, component, id};

/// Returns the TOML of `[plugins]` with these rules.
fn plugins(writes: &str, rules: &str) -> String {
    let file = component("claim-map");
    format!(
        "[[plugins.claim_mappers]]\nname = \"claim-map\"\nfile = \"{}\"\nwrites = {writes}\n{}",
        file.display(),
        rules.replace("[[rules]]", "[[plugins.claim_mappers.config.rules]]")
    )
}

#[tokio::test]
async fn id_token_and_userinfo_contain_claims_of_the_rules() {
    let plugins = plugins(
        r#"["groups", "login", "contact", "phone_home", "preferred_username", "nickname"]"#,
        r#"
            [[rules]]
            claim = "groups"
            from = "roles"
            lookup = { editor = "wiki-write", reader = "wiki-read" }

            [[rules]]
            claim = "login"
            from = "preferred_username"

            [[rules]]
            remove = "preferred_username"

            [[rules]]
            claim = "contact"
            value = { name = "{user.profile.given_name}", mail = "<{email}>", account = "{account.short_code}" }
            when = { sink = "userinfo" }

            [[rules]]
            claim = "phone_home"
            from = "user.profile.phone_number"
            scopes = "phone"

            [[rules]]
            claim = "nickname"
            value = "nick"
            scopes = "phone"
        "#,
    );
    let host = TestHost::start_with_plugins(&plugins).await;
    let ada = host.ada().await;
    // The scope is not granted. The request names one of its two claims, for the ID token only.
    let requested = json!({ "id_token": { "nickname": null } }).to_string();
    let code = ada
        .sign_in_with(&Browser::new(&host.base), &[("claims", Some(&requested))])
        .await;
    let (claims, token) = claims(&host, &ada, &code).await;
    assert_eq!(claims["groups"], json!(["wiki-read", "wiki-write"]));
    assert_eq!(claims["login"], "ada");
    assert!(!claims.contains_key("preferred_username") && !claims.contains_key("contact"));
    assert_eq!(claims["nickname"], "nick");

    let (_, info) = userinfo(&host, &token).await;
    assert_eq!(
        (&info["groups"], &info["login"]),
        (&claims["groups"], &claims["login"])
    );
    let contact =
        json!({ "name": "Ada", "mail": "<ada@example.org>", "account": ada.account["short_code"] });
    assert_eq!(info["contact"], contact);
    for returned in [&claims, info.members()] {
        assert!(
            !returned.contains_key("phone_home"),
            "its scope was not granted"
        );
        assert_eq!(
            returned["name"], "Ada Lovelace",
            "a claim without a rule is unchanged"
        );
    }
    assert!(
        info.get("nickname").is_none(),
        "the claim was requested only in the ID token"
    );
}

#[tokio::test]
async fn a_rule_rejects_users_without_a_role() {
    let rules =
        "[[rules]]\ndeny = \"Ask the librarian for access.\"\nunless = { role = \"editor\" }";
    let plugins = plugins("[]", rules);
    let host = TestHost::start_with_plugins(&plugins).await;
    let ada = host.ada().await;
    let browser = Browser::new(&host.base);
    let code = ada.sign_in(&browser).await;
    let (_, token) = claims(&host, &ada, &code).await;

    let account = format!("/accounts/{}", id(&ada.account));
    host.admin_ok(Method::PATCH, &account, json!({ "roles": ["reader"] }))
        .await;
    assert_eq!(userinfo(&host, &token).await.0, StatusCode::UNAUTHORIZED);
    let answer = ada.application.login_page(&browser, &[]).await;
    assert!(
        answer.body.contains("Ask the librarian for access."),
        "{}",
        answer.body
    );
    assert!(
        !answer.url.starts_with("https://rp.example/"),
        "no code is issued: {}",
        answer.url
    );
}
