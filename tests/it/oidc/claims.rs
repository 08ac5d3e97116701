//! The claims of the ID token and UserInfo.

use josekit::jwk::JwkSet;
use josekit::jws::RS256;
use josekit::jwt;
use reqwest::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::refresh::{offline_tokens, refresh, refresh_token};
use super::token::userinfo;
use crate::harness::{
    Body, Browser, Json, Log, Page, Respond, TestHost, TestUser, Text, component, get, http_client,
    id, jwt_claims, parse_json,
};

/// Exchanges the code, and verifies the ID token with the published key. Returns the claims and the access token.
pub(super) async fn claims(
    host: &TestHost,
    ada: &TestUser,
    code: &str,
) -> (Map<String, Value>, String) {
    let (status, tokens) = ada.application.exchange(&host.base, code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let keys = get(format!("{}/jwks", host.issuer())).await;
    let keys = JwkSet::from_bytes(keys.bytes().await.expect("bytes")).expect("keys");
    let verifier = RS256.verifier_from_jwk(keys.keys()[0]).expect("a key");
    let id_token = tokens["id_token"].text();
    let (payload, header) =
        jwt::decode_with_verifier(id_token, &verifier).expect("a valid signature");
    assert_eq!(header.claim("kid"), keys.keys()[0].parameter("kid"));
    (
        payload.claims_set().clone(),
        tokens["access_token"].text().to_owned(),
    )
}

#[tokio::test]
async fn the_id_token_has_the_claims_of_the_specification() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let (claims, token) = claims(&host, &ada, &code).await;
    assert_eq!(claims["iss"], host.issuer());
    assert_eq!(claims["aud"], ada.application.id);
    assert_eq!(claims["nonce"], "n0nce");
    assert_eq!(claims["amr"], json!(["swk", "user"]));
    assert_eq!(claims["acr"], "urn:assent:acr:device");
    assert_eq!(claims["sub"], ada.user["sub"]);
    let (issued, expires) = (claims["iat"].integer(), claims["exp"].integer());
    assert_eq!(expires - issued, 3600);
    assert!(claims["auth_time"].integer() <= issued);
    assert!(claims["sid"].is_string() && claims["at_hash"].is_string());
    assert_eq!(claims["name"], "Ada Lovelace");
    assert_eq!(
        (&claims["email"], &claims["email_verified"]),
        (&json!("ada@example.org"), &json!(true))
    );
    assert_eq!(claims["preferred_username"], "ada");
    assert_eq!(claims["upn"], "ada");
    assert_eq!(claims["user_did"], ada.user["did"]);
    assert_eq!(claims["user_short_code"], ada.account["short_code"]);
    assert!(
        claims.get("phone_number").is_none(),
        "the scope phone was not requested"
    );

    let (_, info) = userinfo(&host, &token).await;
    for name in [
        "sub",
        "name",
        "email",
        "email_verified",
        "upn",
        "user_did",
        "user_short_code",
        "account",
    ] {
        assert_eq!(info[name], claims[name], "{name}");
    }
    assert!(info.get("nonce").is_none() && info.get("sid").is_none());
}

/// The claims of the scopes are listed by name. Each must have the value in the directory.
#[tokio::test]
async fn id_token_and_userinfo_contain_each_claim_of_profile_email_and_phone() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let profile = json!({
        "name": "Ada King, Countess of Lovelace",
        "given_name": "Augusta Ada",
        "family_name": "King",
        "middle_name": "Noel",
        "nickname": "The Enchantress of Number",
        "picture": "https://people.example/ada.png",
        "profile": "https://people.example/ada",
        "website": "https://ada.example/",
        "gender": "female",
        "birthdate": "1815-12-10",
        "zoneinfo": "Europe/London",
        "locale": "en-GB",
        "phone_number": "+44 20 7946 0958",
        "phone_number_verified": true,
        "email_verified": true,
    });
    let path = format!("/users/{}", id(&ada.user));
    host.advance(5);
    let user = host
        .admin_ok(Method::PATCH, &path, json!({"profile": profile}))
        .await;
    let changed_at = host.host.now().seconds();
    let code = ada
        .sign_in_with(
            &Browser::new(&host.base),
            &[("scope", Some("openid profile email phone"))],
        )
        .await;
    let (claims, token) = claims(&host, &ada, &code).await;
    let (status, info) = userinfo(&host, &token).await;
    assert_eq!(status, StatusCode::OK);

    let mut expected = profile.members().clone();
    expected.insert("updated_at".to_owned(), json!(changed_at));
    expected.insert("email".to_owned(), json!("ada@example.org"));
    expected.insert("preferred_username".to_owned(), json!("ada"));
    expected.insert("upn".to_owned(), json!("ada"));
    expected.insert("user_did".to_owned(), user["did"].clone());
    expected.insert(
        "user_short_code".to_owned(),
        ada.account["short_code"].clone(),
    );
    for (name, value) in &expected {
        assert_eq!(claims.get(name), Some(value), "{name} in the ID token");
        assert_eq!(info.get(name), Some(value), "{name} at UserInfo");
    }
    // The verification status comes from the directory, for both values.
    let verdicts = json!({"phone_number_verified": false, "email_verified": false});
    host.admin_ok(Method::PATCH, &path, json!({"profile": verdicts}))
        .await;
    let (_, info) = userinfo(&host, &token).await;
    assert_eq!(
        (&info["phone_number_verified"], &info["email_verified"]),
        (&json!(false), &json!(false))
    );
}

#[tokio::test]
async fn the_account_claim_is_a_json_string_with_the_roles_and_comes_from_the_plugin() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let (claims, _) = claims(&host, &ada, &code).await;
    let account: Value = parse_json(claims["account"].text());
    assert_eq!(account["roles"], json!(["reader", "editor"]));

    // Without the plugin, the claim does not exist, because the instance does not create it.
    let host = TestHost::start_with_plugins("[plugins]").await;
    let ada = host.ada().await;
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let (status, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    assert_eq!(status, StatusCode::OK);
    let (_, info) = userinfo(&host, tokens["access_token"].text()).await;
    assert!(info.get("account").is_none() && info["name"] == "Ada Lovelace");
}

#[tokio::test]
async fn only_claims_of_granted_scopes_are_returned() {
    let (host, ada, browser) = TestHost::start().await.with_ada_and_browser().await;
    let page = ada
        .begin_sign_in(&browser, &[("scope", Some("openid phone"))])
        .await;
    ada.approve(&page).await;
    let code = browser.finish(&page.url).await.parameter("code");
    let (claims, _) = claims(&host, &ada, &code).await;
    assert_eq!(claims["phone_number"], "+44 20 7946 0000");
    for name in ["name", "email", "account", "upn"] {
        assert!(claims.get(name).is_none(), "{name}");
    }
}

#[tokio::test]
async fn an_application_receives_only_claims_of_its_allowed_scopes() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let path = format!("/applications/{}", ada.application.id);
    host.admin_ok(Method::PATCH, &path, json!({"scopes": ["openid", "email"]}))
        .await;
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let (claims, _) = claims(&host, &ada, &code).await;
    assert!(claims.get("name").is_none());
    assert_eq!(claims["email"], "ada@example.org");
}

#[tokio::test]
async fn scopes_withdrawn_after_the_grant_are_returned_neither_by_userinfo_nor_refresh() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let first = offline_tokens(&host, &ada).await;
    let access = first["access_token"].text();
    assert_eq!(userinfo(&host, access).await.1["email"], "ada@example.org");
    let path = format!("/applications/{}", ada.application.id);
    host.admin_ok(
        Method::PATCH,
        &path,
        json!({"scopes": ["openid", "profile", "offline_access"]}),
    )
    .await;

    let (status, returned) = userinfo(&host, access).await;
    assert_eq!(
        (status, &returned["name"]),
        (StatusCode::OK, &json!("Ada Lovelace"))
    );
    assert!(
        returned.get("email").is_none() && returned.get("email_verified").is_none(),
        "{returned}"
    );
    let (_, refused) = refresh(
        &host.base,
        &ada.application,
        refresh_token(&first),
        &[("scope", "openid email")],
    )
    .await;
    assert_eq!(refused["error"], "invalid_scope");
    let (status, second) = refresh(&host.base, &ada.application, refresh_token(&first), &[]).await;
    assert_eq!(
        (status, &second["scope"]),
        (StatusCode::OK, &json!("openid profile offline_access"))
    );
    let claims = jwt_claims(second["id_token"].text());
    assert_eq!(claims["name"], "Ada Lovelace");
    assert!(
        claims.get("email").is_none() && claims.get("email_verified").is_none(),
        "{claims}"
    );
    let (_, returned) = userinfo(&host, second["access_token"].text()).await;
    assert!(returned.get("email").is_none(), "{returned}");
}

fn hostile(config: &str) -> String {
    format!(
        "[[plugins.claim_mappers]]\nname = \"hostile\"\nfile = \"{}\"\nwrites = [\"team\", \"note\"]\nconfig = {{ \
         {config} }}\n",
        component("hostile-mapper").display()
    )
}

/// A hostile plugin fails the sign-in in which it takes part, and no other. The sign-in fails closed.
async fn fails_closed(config: &str) {
    let plugins = hostile(config);
    let host = TestHost::start_with_plugins(&plugins).await;
    let ada = host.ada().await;
    let browser = Browser::new(&host.base);
    let page = ada.begin_sign_in(&browser, &[]).await;
    ada.approve(&page).await;
    let answer = browser.finish(&page.url).await;
    assert_eq!(answer.parameter("error"), "server_error", "{config}");
    // The operator finds the log lines by the request id.
    let request_id = answer.headers["x-request-id"].to_str().expect("text");
    let description = answer.parameter("error_description");
    let expected = format!("in the log by the request id {request_id}");
    assert!(description.ends_with(&expected), "{description}");
    assert!(
        answer
            .location()
            .query_pairs()
            .all(|(name, _)| name != "code")
    );
    assert!(
        answer.headers.get("set-cookie").is_none(),
        "no session begins"
    );
    assert_eq!(
        get(format!("{}/readyz", host.base)).await.status(),
        StatusCode::OK
    );
    assert_eq!(browser.get("/").await.status, StatusCode::OK);
}

#[tokio::test]
async fn an_endless_claim_mapper_fails_closed() {
    fails_closed("behaviour = \"loop\"").await;
}

#[tokio::test]
async fn a_claim_mapper_beyond_its_memory_fails_closed() {
    fails_closed("behaviour = \"memory\"").await;
}

#[tokio::test]
async fn a_claim_mapper_that_sets_a_protected_claim_fails_closed() {
    fails_closed("claim = \"sub\", value = '\"somebody else\"'").await;
}

#[tokio::test]
async fn a_claim_mapper_may_deny_with_a_reason() {
    let plugins = hostile("behaviour = \"deny\", value = \"Only on workdays.\"");
    let host = TestHost::start_with_plugins(&plugins).await;
    let ada = host.ada().await;
    let browser = Browser::new(&host.base);
    let page = ada.begin_sign_in(&browser, &[]).await;
    ada.approve(&page).await;
    let log = Log::capture();
    let ended = browser.finish(&page.url).await;
    assert_eq!(ended.outcome(), "rejected");
    assert!(ended.body.contains("Only on workdays."));
    // A denial is a decision, so the log has one line at `info`, and no failure.
    let lines = log.lines();
    let denials = lines
        .iter()
        .filter(|line| line.contains("plugin denied the sign-in"));
    let denials: Vec<&String> = denials.collect();
    assert_eq!(denials.len(), 1, "{lines:?}");
    let application = format!("application={}", ada.application.id);
    for words in [
        "INFO",
        "plugin=\"hostile\"",
        &application,
        "Only on workdays.",
    ] {
        assert!(denials[0].contains(words), "{words}: {lines:?}");
    }
    assert!(!log.has(&["WARN"]) && !log.has(&["ERROR"]), "{lines:?}");
}

#[tokio::test]
async fn users_without_an_account_learn_it_only_after_approval() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    host.admin_ok(
        Method::DELETE,
        &format!("/accounts/{}", id(&ada.account)),
        Value::Null,
    )
    .await;
    let browser = Browser::new(&host.base);
    let page = ada.begin_sign_in(&browser, &[]).await;
    ada.approve(&page).await;
    let ended = browser.get(&page.url).await;
    assert_eq!(ended.outcome(), "rejected");
    assert!(
        ended
            .body
            .contains("You have no account with <bdi>Books &#38; &#60;Co&#62;</bdi>."),
        "{}",
        ended.body
    );
    let no_account = |back: &Page| {
        assert_eq!(back.parameter("error"), "access_denied");
        assert_eq!(
            back.parameter("error_description"),
            "the user has no account with this application"
        );
    };
    no_account(&ended.leave().await);
    // The page returns by itself with the same reason.
    let browser = Browser::new(&host.base);
    let page = ada.begin_sign_in(&browser, &[]).await;
    ada.approve(&page).await;
    let address = browser.get(&page.url).await.returns().expect("a return");
    no_account(&browser.get(&address).await);
    // Without an approval the application learns nothing about the account.
    let browser = Browser::new(&host.base);
    let page = ada.begin_sign_in(&browser, &[]).await;
    let requests = ada.device.pending_requests(5).await;
    assert_eq!(ada.device.deny(&requests[0]).await, "denied");
    let denied = browser.get(&page.url).await.leave().await;
    assert_eq!(
        denied.parameter("error_description"),
        "the request was denied in the authenticator"
    );
}

/// A caller sends requests with one access token at full rate while the plugin is slow. UserInfo answers that it is
/// busy, and sign-ins of other users succeed.
#[tokio::test]
async fn userinfo_at_full_load_starves_no_sign_in() {
    let plugins = format!(
        "{}limits = {{ fuel = 1000000000000, deadline = \"60s\", concurrency = 4, queue_length = 4 }}\n",
        hostile("behaviour = \"busy\", value = \"100000000\"")
    );
    let host = TestHost::start_with_plugins(&plugins).await;
    let ada = host.ada().await;
    let bob = host.user_with_account("bob", ada.application.clone()).await;
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    let access = tokens["access_token"].text().to_owned();
    let (client, url) = (http_client(), format!("{}/oidc/me", host.base));
    let mut callers = tokio::task::JoinSet::new();
    let busy = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    for _ in 0..40 {
        let (client, url, access, busy) = (
            client.clone(),
            url.clone(),
            access.clone(),
            std::sync::Arc::clone(&busy),
        );
        callers.spawn(async move {
            loop {
                let answer = client.get(&url).bearer_auth(&access).response().await;
                if answer.status() == StatusCode::SERVICE_UNAVAILABLE {
                    assert_eq!(answer.headers()["retry-after"], "1");
                    let body: Value = answer.read_json().await;
                    assert_eq!(body["error"], "temporarily_unavailable");
                    busy.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                } else {
                    assert_eq!(answer.status(), StatusCode::OK);
                }
            }
        });
    }
    let busy_callers = async {
        while busy.load(std::sync::atomic::Ordering::SeqCst) < 300 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    // A result is reused for one second, so the clock must run.
    let clock = async {
        loop {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            host.advance(1);
        }
    };
    let sign_ins = async {
        tokio::time::timeout(std::time::Duration::from_secs(300), busy_callers)
            .await
            .expect("UserInfo is busy");
        for _ in 0..3 {
            let code = bob.sign_in(&Browser::new(&host.base)).await;
            let (status, tokens) = bob.application.exchange(&host.base, &code, &[]).await;
            assert_eq!(status, StatusCode::OK, "{tokens}");
            host.advance(10);
        }
    };
    tokio::select! {
        () = sign_ins => {}
        () = clock => {}
    }
    callers.abort_all();
    while let Some(ended) = callers.join_next().await {
        assert!(
            ended.is_err_and(|error| error.is_cancelled()),
            "a caller received another response"
        );
    }
}
