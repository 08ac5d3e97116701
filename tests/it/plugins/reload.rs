//! Reloading plugins in a running instance.

use std::path::PathBuf;

use assent_tests::harness::{
    Application, Body, Browser, Log, Parsed, Respond, TestHost, TestUser, Text, component,
    http_client, jwt_claims, read_file, write_file,
};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::oidc::refresh::{offline_tokens, refresh, refresh_token};

/// Returns the settings of `account-roles` with additional lines.
fn account_roles(more: &str) -> String {
    let file = component("account-roles");
    format!(
        "[[plugins.claim_mappers]]\nname = \"account-roles\"\nfile = \"{}\"\nwrites = [\"account\"]\n{more}\n",
        file.display()
    )
}

/// Replaces the settings of the plugins in the settings file.
fn set_plugins(host: &TestHost, plugins: &str) {
    let file: PathBuf = host.host.settings_file.clone().expect("a settings file");
    let text = read_file(&file);
    let rest = text
        .split("[[plugins.")
        .next()
        .expect("the settings before the plugins");
    write_file(&file, format!("{rest}{plugins}"));
}

async fn reload(host: &TestHost) -> (StatusCode, Value) {
    host.admin(Method::POST, "/plugins/reload", Value::Null)
        .await
}

/// Returns the content of the `account` claim in a new ID token.
async fn account(host: &TestHost, ada: &TestUser) -> Option<Value> {
    let application: &Application = &ada.application;
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let (status, tokens) = application.exchange(&host.base, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    let claims = jwt_claims(tokens["id_token"].text());
    claims.get("account").map(|text| text.text().parsed())
}

async fn start() -> TestHost {
    TestHost::start_with_plugins(&account_roles("")).await
}

/// Compiling may take longer than the time limit of a response.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reload_continues_in_the_background() {
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
async fn reloaded_settings_apply_at_once() {
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
        "no plugin is loaded any more"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_can_be_rolled_back() {
    let host = start().await;
    let ada = host.ada().await;
    let returned = host.admin_ok(Method::GET, "/plugins", Value::Null).await;
    assert_eq!(
        (&returned["previous"], &returned["changed_on_disk"]),
        (&Value::Null, &json!(false)),
        "{returned}"
    );
    let roll_back = async || {
        host.admin(Method::POST, "/plugins/rollback", Value::Null)
            .await
    };
    assert_eq!(roll_back().await.0, StatusCode::CONFLICT);

    set_plugins(&host, &account_roles("config = { include = [] }"));
    let returned = host.admin_ok(Method::GET, "/plugins", Value::Null).await;
    assert_eq!(returned["changed_on_disk"], true, "{returned}");
    let (_, returned) = reload(&host).await;
    assert_eq!(returned["changed_on_disk"], false, "{returned}");
    assert_eq!(
        returned["previous"]["plugins"][0]["plugin"], "account-roles",
        "{returned}"
    );
    assert!(
        account(&host, &ada)
            .await
            .expect("an account claim")
            .get("name")
            .is_none()
    );

    let (status, returned) = roll_back().await;
    assert_eq!(
        (status, &returned["changed_on_disk"]),
        (StatusCode::OK, &json!(true)),
        "{returned}"
    );
    assert!(
        account(&host, &ada)
            .await
            .expect("an account claim")
            .get("name")
            .is_some(),
        "unchanged"
    );
    let entries = crate::lifecycle::entries(&host, "event=plugins.rolled-back").await;
    assert_eq!(entries[0]["detail"]["plugins"][0]["name"], "account-roles");
    // A second rollback restores the newer plugins. The next exchange uses the files on disk.
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
async fn a_failed_reload_keeps_the_previous_plugins() {
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
            "no-such.wasm` cannot be read",
        ),
        (account_roles("limmits = 1"), "limmits: unknown key"),
        (
            account_roles("").replace("[\"account\"]", "[\"sub\"]"),
            "`sub` is protected",
        ),
        (
            account_roles(&format!("sha256 = \"{}\"", "0".repeat(64))),
            "which differs from `sha256`",
        ),
        (
            hostile("{ behaviour = \"loop\" }"),
            "plugin `hostile`: in the smoke test, it used up its fuel",
        ),
        (
            hostile("{ behaviour = \"set\", claim = \"sub\", value = \"1\" }"),
            "in the smoke test, it tried to write the protected claim `sub`",
        ),
    ] {
        set_plugins(&host, &plugins);
        let (status, problem) = reload(&host).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
        let detail = problem["detail"].text();
        assert!(
            detail.starts_with("the previous plugins stay in use: ") && detail.contains(words),
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
        plugin["metrics"]["calls"].as_u64() >= Some(1) && plugin["sha256"].as_str().is_some(),
        "{plugin}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denying_or_failing_plugin_can_be_loaded() {
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
async fn a_reload_names_settings_that_need_a_restart() {
    let host = start().await;
    let file = host.host.settings_file.clone().expect("a settings file");
    let text = read_file(&file);
    write_file(
        &file,
        format!("operator = \"Another\"\n{text}\n[session]\nabsolute_timeout = \"10m\"\n"),
    );
    let (status, answer) = reload(&host).await;
    assert_eq!(
        (status, &answer["last_reload"]["needs_restart"]),
        (StatusCode::OK, &json!(["operator", "session"]))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn sign_ins_continue_during_a_reload() {
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
async fn a_user_denied_after_a_reload_gets_no_tokens_with_narrower_scope() {
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

/// The operator finds the log entry. No response suggests a retry, because a retry does not fix a bug of a plugin.
#[tokio::test]
async fn a_plugin_fault_has_a_reference_that_is_in_the_log() {
    let host = start().await;
    let ada = host.ada().await;
    let tokens = offline_tokens(&host, &ada).await;
    let access = tokens["access_token"].text();
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
        .response()
        .await;
    let user_info = (user_info.status(), user_info.read_json().await);
    let refreshed = refresh(&host.base, &ada.application, refresh_token(&tokens), &[]).await;
    let introspection = client
        .post(format!("{}/oidc/token/introspection", host.base))
        .basic_auth(&ada.application.id, ada.application.secret.as_ref())
        .form(&[("token", access)]);
    let introspection = introspection.response().await;
    let introspection = (introspection.status(), introspection.read_json().await);
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
        let message = answer["error_description"].text();
        assert!(
            message.starts_with("a plugin of the identity provider failed")
                && !message.contains("try again"),
            "{message}"
        );
        let reference = message.split_whitespace().last().expect("a reference");
        assert_eq!(reference.len(), 8, "{message}");
        let named = [reference, "plugin `hostile`", "the hostile plugin panics"];
        assert!(log.has(&named), "{what}: {reference}: {:?}", log.lines());
    }
}
