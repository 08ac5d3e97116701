//! A user's stored data, and the claims that each application receives.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::signed_in;
use crate::harness::{Browser, Json, TestHost, Text, component, id, plugins};

#[tokio::test]
async fn a_user_sees_their_stored_data() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let path = format!("/users/{}", id(&ada.user));
    host.admin_ok(
        Method::PATCH,
        &path,
        json!({"profile": {"name": "Ada <Lovelace>", "locale": "en-GB"}}),
    )
    .await;
    let page = signed_in(&host, &ada).await.get("/profile").await;
    for (label, value) in [
        ("Account name", "ada"),
        ("Name", "Ada &#60;Lovelace&#62;"),
        ("Email address", "ada@example.org"),
        ("Language", "en-GB"),
    ] {
        let row = format!("<dt>{label}</dt><dd><bdi>{value}</bdi></dd>");
        assert!(page.body.contains(&row), "{row}: {}", page.body);
    }
    assert!(
        !page.body.contains("Nickname"),
        "a value that is not stored is not listed"
    );
    let seen = format!(
        "<a href=\"/profile/{}\">What <bdi>Books &#38; &#60;Co&#62;</bdi> sees</a>",
        ada.application.id
    );
    assert!(page.body.contains(&seen), "{}", page.body);
}

#[tokio::test]
async fn a_user_sees_their_postal_address_and_its_recipients() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let address = json!({"street_address": "12 St James's Square", "locality": "London", "postal_code": "SW1Y 4JH"});
    let path = format!("/users/{}", id(&ada.user));
    host.admin_ok(
        Method::PATCH,
        &path,
        json!({"profile": {"address": address}}),
    )
    .await;
    let path = format!("/applications/{}", ada.application.id);
    host.admin_ok(
        Method::PATCH,
        &path,
        json!({"scopes": ["openid", "address"]}),
    )
    .await;
    let browser = signed_in(&host, &ada).await;
    let page = browser.get("/profile").await;
    assert!(
        page.body.contains("<dt>Postal address</dt>"),
        "{}",
        page.body
    );
    for line in ["12 St James&#39;s Square", "SW1Y 4JH London"] {
        assert!(page.body.contains(line), "{line}: {}", page.body);
    }
    let seen = browser
        .get(&format!("/profile/{}", ada.application.id))
        .await;
    assert!(
        seen.body
            .contains("12 St James&#39;s Square, SW1Y 4JH London"),
        "{}",
        seen.body
    );
}

#[tokio::test]
async fn the_portal_shows_exactly_the_claims_that_an_application_receives() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let browser = signed_in(&host, &ada).await;
    let address = format!("/profile/{}", ada.application.id);
    let before = browser.get(&address).await;
    assert!(
        before.body.contains("has to ask you first") && before.body.contains("+44 20 7946 0000")
    );
    // She permits the application to receive her email address, but not her phone number.
    let tokens = ada.tokens(&host, &Browser::new(&host.base)).await;
    let (_, userinfo) = crate::oidc::token::userinfo(&host, tokens["access_token"].text()).await;
    let page = browser.get(&address).await;
    assert!(
        page.body.contains("receives this about you:")
            && !page.body.contains("has to ask you first")
    );
    assert!(!page.body.contains("+44 20 7946 0000"), "{}", page.body);
    let returned = userinfo.members();
    assert!(
        returned.contains_key("account") && returned.contains_key("email"),
        "{returned:?}"
    );
    for (name, value) in returned {
        let shown = match value {
            // The page shows the roles of the account as text.
            Value::String(_) if name == "account" => "Roles: <bdi>reader, editor</bdi>".to_owned(),
            Value::String(text) => text
                .replace('&', "&#38;")
                .replace('"', "&#34;")
                .replace('<', "&#60;"),
            Value::Bool(yes) => if *yes { "Yes" } else { "No" }.to_owned(),
            // `updated_at`, which the page's script shows in local time.
            Value::Number(_) => "<time datetime=\"".to_owned(),
            other => other.to_string(),
        };
        assert!(page.body.contains(&shown), "{name}: {shown}: {}", page.body);
    }
    assert!(
        !page.body.contains("short_code") && !page.body.contains("Account name there"),
        "no JSON, and no repeated value: {}",
        page.body
    );
    assert_eq!(
        page.body.matches("<dt>").count(),
        returned.len() - usize::from(returned.contains_key("upn")),
        "no other values: {}",
        page.body
    );
    let (_, technical) = page
        .body
        .split_once("<summary>Technical details</summary>")
        .expect("the list of technical values");
    assert!(
        technical.contains("Your identifier there") && !technical.contains("Email address"),
        "{technical}"
    );
}

#[tokio::test]
async fn an_application_of_another_user_is_not_found() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let other = host.native_application().await;
    let eve = host.user_with_account("eve", other.clone()).await;
    let browser = signed_in(&host, &ada).await;
    for path in [other.id.as_str(), "nonsense", id(&eve.account)] {
        let page = browser.get(&format!("/profile/{path}")).await;
        assert_eq!(page.status, StatusCode::NOT_FOUND, "{path}");
        assert!(!page.body.contains("Pocket Books"), "{path}");
    }
    host.admin_ok(
        Method::PATCH,
        &format!("/accounts/{}", id(&ada.account)),
        json!({"state": "suspended"}),
    )
    .await;
    assert_eq!(
        browser
            .get(&format!("/profile/{}", ada.application.id))
            .await
            .status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn plugin_failures_and_denials_are_shown_without_internals() {
    for (behaviour, message) in [
        ("deny", "A rule blocks your sign-in to"),
        ("panic", "is not available at the moment"),
    ] {
        let entries = plugins(&format!(
            "[[plugins.claim_mappers]]\nname = \"secret-name\"\nfile = \"{}\"\nwrites = [\"team\", \"note\"]\n\
             config = {{ behaviour = \"{behaviour}\", value = \"Only <b>editors</b>\" }}\n",
            component("hostile-mapper").display()
        ));
        let host = TestHost::start_with_plugins(&entries).await;
        let ada = host.ada().await;
        let browser = signed_in(&host, &ada).await;
        let page = browser
            .get(&format!("/profile/{}", ada.application.id))
            .await;
        assert_eq!(page.status, StatusCode::OK);
        assert!(page.body.contains(message), "{behaviour}: {}", page.body);
        assert!(
            !page.body.contains("secret-name")
                && !page.body.contains("panic")
                && !page.body.contains("<dt>")
        );
        assert_eq!(
            page.body.contains("Only &#60;b&#62;editors"),
            behaviour == "deny",
            "{}",
            page.body
        );
    }
}
