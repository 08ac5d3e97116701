//! Exchanging plugins while the host serves.

use std::path::PathBuf;

use assent_tests::harness::{
    Ada, Application, Browser, HostOptions, Log, TestHost, component, http_client,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::oidc::refresh::{offline_tokens, refresh, refresh_token};

/// The settings of `account-roles`, with more lines of them.
fn account_roles(more: &str) -> String {
    let file = component("account-roles");
    format!(
        "[[plugins.claim_mappers]]\nname = \"account-roles\"\nfile = \"{}\"\nwrites = [\"account\"]\n{more}\n",
        file.display()
    )
}

/// Writes the settings of the plugins anew.
fn set_plugins(host: &TestHost, plugins: &str) {
    let file: PathBuf = host.host.settings_file.clone().expect("a settings file");
    let text = std::fs::read_to_string(&file).expect("the settings");
    let rest = text.split("[[plugins.").next().expect("what comes before");
    std::fs::write(&file, format!("{rest}{plugins}")).expect("written");
}

async fn reload(host: &TestHost) -> (StatusCode, Value) {
    host.admin(Method::POST, "/plugins/reload", Value::Null)
        .await
}

/// What the `account` claim of a fresh ID token says.
async fn account(host: &TestHost, ada: &Ada) -> Option<Value> {
    let application: &Application = &ada.application;
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let (status, tokens) = application.exchange(&host.base, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let payload = tokens["id_token"]
        .as_str()
        .expect("an ID token")
        .split('.')
        .nth(1)
        .expect("a payload");
    let claims: Value =
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).expect("base64url")).expect("JSON");
    claims
        .get("account")
        .map(|text| text.as_str().expect("a string").parse().expect("JSON"))
}

async fn start() -> TestHost {
    TestHost::start_with(HostOptions {
        plugins: &account_roles(""),
        ..HostOptions::default()
    })
    .await
}

/// Compiling may take longer than an answer may.
#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_that_takes_longer_continues_in_the_background_and_says_so() {
    let host = start().await;
    set_plugins(&host, &account_roles("config = { include = [] }"));
    let (status, answer) = host
        .admin(Method::POST, "/plugins/reload?wait=0", Value::Null)
        .await;
    assert_eq!(
        (status, &answer["reloading"]),
        (StatusCode::ACCEPTED, &json!(true)),
        "{answer}"
    );
    let ended = loop {
        let now = host.admin_ok(Method::GET, "/plugins", Value::Null).await;
        if now["reloading"] == false && !now["last_reload"].is_null() {
            break now;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    assert_eq!(ended["last_reload"]["error"], Value::Null, "{ended}");
    assert_eq!(ended["changed_on_disk"], false, "{ended}");
}

#[tokio::test(flavor = "multi_thread")]
async fn new_settings_count_at_once() {
    let host = start().await;
    let ada = host.ada().await;
    let before = account(&host, &ada).await.expect("an account claim");
    assert!(before.get("name").is_some(), "{before}");

    set_plugins(&host, &account_roles("config = { include = [] }"));
    let (status, answer) = reload(&host).await;
    assert_eq!(
        (status, &answer["last_reload"]["error"]),
        (StatusCode::OK, &Value::Null),
        "{answer}"
    );
    let after = account(&host, &ada).await.expect("an account claim");
    assert!(
        after.get("name").is_none() && after.get("roles").is_some(),
        "{after}"
    );

    set_plugins(&host, "");
    assert_eq!(reload(&host).await.0, StatusCode::OK);
    assert_eq!(
        account(&host, &ada).await,
        None,
        "there is no plugin any more"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plugins_before_an_exchange_are_put_back() {
    let host = start().await;
    let ada = host.ada().await;
    let told = host.admin_ok(Method::GET, "/plugins", Value::Null).await;
    assert_eq!(
        (&told["previous"], &told["changed_on_disk"]),
        (&Value::Null, &json!(false)),
        "{told}"
    );
    let roll_back = async || {
        host.admin(Method::POST, "/plugins/rollback", Value::Null)
            .await
    };
    assert_eq!(roll_back().await.0, StatusCode::CONFLICT);

    set_plugins(&host, &account_roles("config = { include = [] }"));
    let told = host.admin_ok(Method::GET, "/plugins", Value::Null).await;
    assert_eq!(told["changed_on_disk"], true, "{told}");
    let (_, told) = reload(&host).await;
    assert_eq!(told["changed_on_disk"], false, "{told}");
    assert_eq!(
        told["previous"]["plugins"][0]["plugin"], "account-roles",
        "{told}"
    );
    assert!(
        account(&host, &ada)
            .await
            .expect("an account claim")
            .get("name")
            .is_none()
    );

    let (status, told) = roll_back().await;
    assert_eq!(
        (status, &told["changed_on_disk"]),
        (StatusCode::OK, &json!(true)),
        "{told}"
    );
    assert!(
        account(&host, &ada)
            .await
            .expect("an account claim")
            .get("name")
            .is_some(),
        "as it was"
    );
    let entries = crate::life::entries(&host, "event=plugins.rolled-back").await;
    assert_eq!(entries[0]["detail"]["plugins"][0]["name"], "account-roles");
    // And on again; and what is on disk counts at the next exchange.
    assert_eq!(roll_back().await.0, StatusCode::OK);
    assert!(
        account(&host, &ada)
            .await
            .expect("an account claim")
            .get("name")
            .is_none()
    );
    set_plugins(&host, "");
    assert_eq!(reload(&host).await.0, StatusCode::OK);
    assert_eq!(account(&host, &ada).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_anything_is_wrong_the_last_good_plugins_go_on() {
    let host = start().await;
    let ada = host.ada().await;
    let hostile = |behaviour: &str| {
        let file = component("hostile-mapper");
        format!(
            "[[plugins.claim_mappers]]\nname = \"hostile\"\nfile = \"{}\"\nwrites = [\"team\", \"note\"]\nconfig = \
             {behaviour}\n",
            file.display()
        )
    };
    for (plugins, words) in [
        (
            account_roles("config = { includes = [] }"),
            "plugin `account-roles`: its settings are not as expected: unknown field",
        ),
        (
            account_roles("").replace("account-roles.wasm", "no-such.wasm"),
            "no-such.wasm` can't be read",
        ),
        (account_roles("limmits = 1"), "limmits: unknown key"),
        (
            account_roles("").replace("[\"account\"]", "[\"sub\"]"),
            "`sub` is protected",
        ),
        (
            account_roles(&format!("sha256 = \"{}\"", "0".repeat(64))),
            "not the one that `sha256` names",
        ),
        (
            hostile("{ behaviour = \"loop\" }"),
            "plugin `hostile`: when it was tried out, it used up its fuel",
        ),
        (
            hostile("{ behaviour = \"set\", claim = \"sub\", value = \"1\" }"),
            "when it was tried out, it tried to write the protected claim `sub`",
        ),
    ] {
        set_plugins(&host, &plugins);
        let (status, problem) = reload(&host).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
        let detail = problem["detail"].as_str().expect("a detail");
        assert!(
            detail.starts_with("the plugins that were there go on: ") && detail.contains(words),
            "{detail}"
        );
        let (_, listed) = host.admin(Method::GET, "/plugins", Value::Null).await;
        assert_eq!(listed["plugins"][0]["plugin"], "account-roles", "{listed}");
        assert!(
            listed["last_reload"]["error"]
                .as_str()
                .is_some_and(|error| error.contains(words)),
            "{listed}"
        );
    }
    assert!(
        account(&host, &ada)
            .await
            .expect("an account claim")
            .get("name")
            .is_some()
    );
    let (_, listed) = host.admin(Method::GET, "/plugins", Value::Null).await;
    let plugin = &listed["plugins"][0];
    assert!(
        plugin["measured"]["calls"].as_u64() >= Some(1) && plugin["sha256"].as_str().is_some(),
        "{plugin}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_denies_or_reports_is_taken() {
    let host = start().await;
    for behaviour in ["deny", "fault"] {
        set_plugins(
            &host,
            &format!(
                "[[plugins.claim_mappers]]\nname = \"hostile\"\nfile = \"{}\"\nwrites = [\"team\", \"note\"]\nconfig = \
                 {{ behaviour = \"{behaviour}\" }}\n",
                component("hostile-mapper").display()
            ),
        );
        let (status, answer) = reload(&host).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_tables_are_named_that_count_after_a_restart() {
    let host = start().await;
    let file = host.host.settings_file.clone().expect("a settings file");
    let text = std::fs::read_to_string(&file).expect("the settings");
    std::fs::write(
        &file,
        format!("operator = \"Another\"\n{text}\n[session]\nabsolute_timeout = \"10m\"\n"),
    )
    .expect("written");
    let (status, answer) = reload(&host).await;
    assert_eq!(
        (status, &answer["last_reload"]["needs_restart"]),
        (StatusCode::OK, &json!(["operator", "session"]))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_go_on_while_plugins_are_exchanged() {
    let host = start().await;
    let ada = host.ada().await;
    let exchanging = async {
        for round in 0..6 {
            let include = if round % 2 == 0 {
                "config = { include = [] }"
            } else {
                ""
            };
            set_plugins(&host, &account_roles(include));
            assert_eq!(reload(&host).await.0, StatusCode::OK);
        }
    };
    let signing_in = async {
        for _ in 0..6 {
            assert!(
                account(&host, &ada).await.is_some(),
                "each login has one set of plugins or the other"
            );
        }
    };
    tokio::join!(exchanging, signing_in);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_turned_away_by_now_gets_no_tokens_by_a_narrower_scope_either() {
    let host = start().await;
    let ada = host.ada().await;
    let tokens = offline_tokens(&host, &ada).await;
    let file = component("hostile-mapper");
    let denies = "config = { behaviour = \"deny\" }";
    let plugins = format!(
        "[[plugins.claim_mappers]]\nname = \"hostile\"\nfile = \"{}\"\nwrites = [\"team\"]\n{denies}\n",
        file.display()
    );
    set_plugins(&host, &plugins);
    assert_eq!(reload(&host).await.0, StatusCode::OK);
    for scope in ["openid profile", "profile"] {
        let more = [("scope", scope)];
        let (status, refused) =
            refresh(&host.base, &ada.application, refresh_token(&tokens), &more).await;
        assert_eq!(
            (status, &refused["error"]),
            (StatusCode::BAD_REQUEST, &json!("invalid_grant")),
            "{scope}: {refused}"
        );
    }
}

/// The operator finds the line of the log. No answer asks to try again, because a retry does not fix a plugin's bug.
#[tokio::test]
async fn a_fault_of_a_plugin_is_answered_with_a_reference_that_is_in_the_log() {
    let host = start().await;
    let ada = host.ada().await;
    let tokens = offline_tokens(&host, &ada).await;
    let access = tokens["access_token"].as_str().expect("an access token");
    let hostile = format!(
        "[[plugins.claim_mappers]]\nname = \"hostile\"\nfile = \"{}\"\nwrites = [\"note\"]\n\
         config = {{ behaviour = \"panic\", only = \"{}\" }}\n",
        component("hostile-mapper").display(),
        ada.application.id
    );
    set_plugins(&host, &hostile);
    let (status, answer) = reload(&host).await;
    assert_eq!(status, StatusCode::OK, "{answer}");

    let log = Log::capture();
    let client = http_client();
    let user_info = client
        .get(format!("{}/oidc/me", host.base))
        .bearer_auth(access)
        .send()
        .await
        .expect("an answer");
    let user_info = (user_info.status(), user_info.json().await.expect("JSON"));
    let refreshed = refresh(&host.base, &ada.application, refresh_token(&tokens), &[]).await;
    let introspection = client
        .post(format!("{}/oidc/token/introspection", host.base))
        .basic_auth(&ada.application.id, ada.application.secret.as_ref())
        .form(&[("token", access)]);
    let introspection = introspection.send().await.expect("an answer");
    let introspection = (
        introspection.status(),
        introspection.json().await.expect("JSON"),
    );
    for (what, (status, answer)) in [
        ("UserInfo", user_info),
        ("refresh", refreshed),
        ("introspection", introspection),
    ] {
        let answer: Value = answer;
        assert_eq!(
            (status, &answer["error"]),
            (StatusCode::INTERNAL_SERVER_ERROR, &json!("server_error")),
            "{what}"
        );
        let said = answer["error_description"].as_str().expect("a description");
        assert!(
            said.starts_with("a plugin of the identity provider failed")
                && !said.contains("try again"),
            "{said}"
        );
        let reference = said.split_whitespace().last().expect("a reference");
        assert_eq!(reference.len(), 8, "{said}");
        let named = [reference, "plugin `hostile`", "the hostile plugin panics"];
        assert!(log.has(&named), "{what}: {reference}: {:?}", log.lines());
    }
}
