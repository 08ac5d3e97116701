//! Why an application was told what it was told: previews, traces, metrics.

use assent_store::sql;
use std::process::Stdio;
use std::time::Duration;

use assent_tests::harness::{
    Browser, HostOptions, TestHost, binary, component, http_client, id, in_time,
};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

/// `account-roles`, and after it the hostile mapper with this behaviour, which may write `team`, `note` and `email`.
fn plugins(behaviour: &str) -> String {
    format!(
        "[[plugins.claim_mappers]]\nname = \"account-roles\"\nfile = \"{}\"\nwrites = [\"account\"]\n\
         [[plugins.claim_mappers]]\nname = \"second\"\nfile = \"{}\"\nwrites = [\"team\", \"note\"]\nconfig = {behaviour}\n",
        component("account-roles").display(),
        component("hostile-mapper").display(),
    )
}

async fn start(behaviour: &str) -> TestHost {
    TestHost::start_with(HostOptions {
        plugins: &plugins(behaviour),
        ..HostOptions::default()
    })
    .await
}

/// The trace of a token, once it is written.
async fn trace(host: &TestHost, token: &str) -> Value {
    in_time(async {
        loop {
            let (status, trace) = host
                .admin(Method::GET, &format!("/claim-traces/{token}"), Value::Null)
                .await;
            if status == StatusCode::OK {
                return trace;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
    })
    .await
}

pub(super) fn claims_of(token: &str) -> Value {
    let payload = URL_SAFE_NO_PAD
        .decode(token.split('.').nth(1).expect("a payload"))
        .expect("base64url");
    serde_json::from_slice(&payload).expect("JSON")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_explained_by_itself_its_jti_and_the_command() {
    let host = start("{ behaviour = \"set\", claim = \"note\", value = \"42\" }").await;
    let ada = host.ada().await;
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    let token = tokens["id_token"].as_str().expect("an ID token");
    let claims = claims_of(token);

    let found = trace(&host, token).await;
    assert_eq!(
        found,
        trace(&host, claims["jti"].as_str().expect("a jti")).await
    );
    assert_eq!(
        (&found["user"], &found["sink"]),
        (&ada.user["id"], &json!("id-token"))
    );
    let calls = found["calls"].as_array().expect("calls");
    assert_eq!(calls.len(), 2, "{found}");
    assert_eq!(
        (&calls[0]["plugin"], &calls[0]["outcome"]),
        (&json!("account-roles"), &json!("changed"))
    );
    let change = &calls[0]["changes"][0];
    assert_eq!(
        (&change["claim"], &change["after"]),
        (&json!("account"), &claims["account"])
    );
    assert!(change.get("before").is_none(), "{change}");
    assert!(
        calls[0]["fuel"].as_u64() > Some(1_000) && calls[0]["time_us"].is_u64(),
        "{}",
        calls[0]
    );
    let digest = assent_model::secret::Digest::of(
        &std::fs::read(component("account-roles")).expect("the component"),
    )
    .to_text();
    assert_eq!(
        (&calls[0]["sha256"], &calls[0]["version"]),
        (&json!(digest), &json!("1.0.0"))
    );
    let note = calls[1]["changes"]
        .as_array()
        .expect("changes")
        .iter()
        .find(|change| change["claim"] == "note");
    assert_eq!(note.expect("the note")["after"], 42);

    let listed = host
        .admin_ok(
            Method::GET,
            &format!("/claim-traces?user={}", id(&ada.user)),
            Value::Null,
        )
        .await;
    assert_eq!(listed["items"], json!([found]), "one login, one token");
    let (status, _) = host
        .admin(Method::GET, "/claim-traces/unknown", Value::Null)
        .await;
    assert_eq!(status, StatusCode::NOT_FOUND);

    let settings = host.host.settings_file.clone().expect("a settings file");
    let output = tokio::process::Command::new(binary("assent"))
        .args(["explain", token, "--config"])
        .arg(&settings)
        .output()
        .await
        .expect("run");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        printed.contains("was told about ada") && printed.contains("note: nothing -> 42"),
        "{printed}"
    );

    // From standard input the token is in neither the history of a shell nor the list of processes.
    for arguments in [["explain", "-"].as_slice(), &["explain"]] {
        let mut command = tokio::process::Command::new(binary("assent"));
        command.args(arguments).arg("--config").arg(&settings);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut explain = command.spawn().expect("started");
        let mut stdin = explain.stdin.take().expect("its input");
        stdin
            .write_all(format!("{token}\n").as_bytes())
            .await
            .expect("written");
        drop(stdin);
        let output = explain.wait_with_output().await.expect("ended");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            printed,
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_kept_where_the_operator_says_so() {
    let plugins = format!(
        "[plugins]\ntrace_retention = \"0s\"\n{}",
        plugins("{ behaviour = \"set\", claim = \"note\", value = \"42\" }")
    );
    let host = TestHost::start_with(HostOptions {
        plugins: &plugins,
        ..HostOptions::default()
    })
    .await;
    let ada = host.ada().await;
    ada.sign_in(&Browser::new(&host.base)).await;
    let mut connection = host.connection().await;
    let (kept,): (i64,) = sql::query_as("SELECT COUNT(*) FROM claim_traces")
        .fetch_one(&mut connection)
        .await
        .expect("counted");
    assert_eq!(kept, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_is_what_a_login_would_tell() {
    let host = start("{ behaviour = \"set\", claim = \"note\", value = \"42\" }").await;
    let ada = host.ada().await;
    let path = |query: &str| {
        format!(
            "/applications/{}/claims-preview?account={}{query}",
            ada.application.id,
            id(&ada.account)
        )
    };
    let all = host
        .admin_ok(
            Method::GET,
            &path("&scope=openid%20profile%20email"),
            Value::Null,
        )
        .await;
    let sinks: Vec<_> = all["sinks"]
        .as_array()
        .expect("sinks")
        .iter()
        .map(|one| one["sink"].clone())
        .collect();
    assert_eq!(sinks, ["id-token", "userinfo", "introspection"], "{all}");
    let preview = all["sinks"][0].clone();
    let origin = |name: &str| {
        let origins = preview["origins"].as_array().expect("origins");
        origins
            .iter()
            .find(|origin| origin["name"] == name)
            .unwrap_or_else(|| panic!("no {name}: {preview}"))
            .clone()
    };
    assert_eq!(
        origin("email"),
        json!({"name": "email", "plugin": null, "change": "provided", "scope": "email"})
    );
    assert_eq!(
        origin("note"),
        json!({"name": "note", "plugin": "second", "change": "added", "scope": null})
    );
    let code = ada
        .sign_in_with(
            &Browser::new(&host.base),
            &[("scope", Some("openid profile email"))],
        )
        .await;
    let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    let told = claims_of(tokens["id_token"].as_str().expect("an ID token"));
    for (name, value) in preview["claims"].as_object().expect("claims") {
        assert_eq!(told.get(name), Some(value), "{name}");
    }
    assert!(
        preview["claims"]["email"].is_string() && preview["claims"]["account"].is_string(),
        "{preview}"
    );
    assert_eq!(preview["calls"][1]["plugin"], "second");

    let less = host
        .admin_ok(
            Method::GET,
            &path("&scope=openid&sink=userinfo"),
            Value::Null,
        )
        .await;
    let less = &less["sinks"][0];
    assert!(
        less["claims"].get("email").is_none() && less["sink"] == "userinfo",
        "{less}"
    );
    let two = host
        .admin_ok(
            Method::GET,
            &path("&sink=userinfo&sink=id-token"),
            Value::Null,
        )
        .await;
    assert_eq!(two["sinks"].as_array().map(Vec::len), Some(2), "{two}");
    for (query, status) in [
        ("&scope=openid%20nonsense", StatusCode::UNPROCESSABLE_ENTITY),
        ("&sink=saml-assertion", StatusCode::UNPROCESSABLE_ENTITY),
        ("&sink=nowhere", StatusCode::BAD_REQUEST),
        ("&scope=openid&scope=email", StatusCode::BAD_REQUEST),
        ("&unknown=1", StatusCode::BAD_REQUEST),
    ] {
        assert_eq!(
            host.admin(Method::GET, &path(query), Value::Null).await.0,
            status,
            "{query}"
        );
    }
    let other = host.web_application().await;
    let path = format!(
        "/applications/{}/claims-preview?account={}",
        other.id,
        id(&ada.account)
    );
    assert_eq!(
        host.admin(Method::GET, &path, Value::Null).await.0,
        StatusCode::NOT_FOUND,
        "an account elsewhere"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_is_compared_and_never_kept() {
    let host = start("{ behaviour = \"set\", claim = \"note\", value = \"42\" }").await;
    let ada = host.ada().await;
    let path = format!("/applications/{}/claims-preview", ada.application.id);
    let before = host.admin_ok(Method::GET, "/plugins", Value::Null).await;
    let asked = |candidate: Value| json!({"account": id(&ada.account), "sinks": ["id-token"], "candidate": candidate});
    let set =
        |claim: &str, value: &str| json!({"behaviour": "set", "claim": claim, "value": value});

    let told = host
        .admin_ok(
            Method::POST,
            &path,
            asked(json!({"plugin": "second", "config": set("note", "43")})),
        )
        .await;
    let difference =
        json!([{"sink": "id-token", "path": "/claims/note", "current": 42, "candidate": 43}]);
    assert_eq!(told["differences"], difference, "{told}");
    assert_eq!(told["current"]["sinks"][0]["claims"]["note"], 42);
    assert_eq!(told["candidate"]["sinks"][0]["claims"]["note"], 43);

    // Another component in its place, with the grants of that place: it writes a claim that is not among them.
    let wasm = |name: &str| STANDARD.encode(std::fs::read(component(name)).expect("a component"));
    let other = json!({"plugin": "account-roles", "component": wasm("hostile-mapper"), "config": set("note", "1")});
    let told = host.admin_ok(Method::POST, &path, asked(other)).await;
    let stopped = &told["candidate"]["sinks"][0]["stopped"];
    assert_eq!(
        (&stopped["plugin"], &stopped["outcome"]),
        (&json!("account-roles"), &json!("failed")),
        "{told}"
    );
    assert!(
        stopped["reason"]
            .as_str()
            .is_some_and(|why| why.contains("was not granted")),
        "{told}"
    );

    // A new one runs after the others, and takes no claim of theirs.
    let new = json!({"plugin": "another", "component": wasm("account-roles")});
    let (status, refused) = host.admin(Method::POST, &path, asked(new)).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{refused}");
    assert!(refused.to_string().contains("writes too"), "{refused}");

    for (candidate, words) in [
        (json!({"plugin": "unknown"}), "`component` has to say"),
        (
            json!({"plugin": "second", "component": "AAAA", "config": {}}),
            "plugin `second`",
        ),
        (json!({"plugin": "second", "component": "?"}), "base64"),
        (
            json!({"plugin": "account-roles", "config": {"nonsense": 1}}),
            "unknown field",
        ),
    ] {
        let (status, refused) = host
            .admin(Method::POST, &path, asked(candidate.clone()))
            .await;
        assert_eq!(
            status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{candidate}: {refused}"
        );
        assert!(
            refused.to_string().contains(words),
            "{candidate}: {refused}"
        );
    }
    // What a plugin is configured with is told to no other component.
    let (status, refused) = host
        .admin(
            Method::POST,
            &path,
            asked(json!({"plugin": "account-roles", "component": wasm("hostile-mapper")})),
        )
        .await;
    assert_eq!(
        (status, &refused["errors"][0]["pointer"]),
        (
            StatusCode::UNPROCESSABLE_ENTITY,
            &json!("/candidate/config")
        ),
        "{refused}"
    );
    let same = json!({"plugin": "second", "component": wasm("hostile-mapper")});
    let told = host.admin_ok(Method::POST, &path, asked(same)).await;
    assert_eq!(told["differences"], json!([]), "{told}");
    let entry = &crate::life::entries(&host, "event=claims.compared").await[0];
    let digest = before["plugins"]
        .as_array()
        .expect("plugins")
        .iter()
        .find(|one| one["plugin"] == "second");
    assert_eq!(
        entry["detail"]["sha256"],
        digest.expect("the plugin")["sha256"],
        "{entry}"
    );
    assert_eq!(
        (&entry["detail"]["plugin"], &entry["detail"]["account"]),
        (&json!("second"), &json!(id(&ada.account)))
    );

    // It ends within its limits, and says so.
    let told = host
        .admin_ok(
            Method::POST,
            &path,
            asked(json!({"plugin": "second", "config": {"behaviour": "loop"}})),
        )
        .await;
    assert_eq!(
        told["candidate"]["sinks"][0]["stopped"]["plugin"], "second",
        "{told}"
    );
    assert!(
        told["differences"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one["path"] == "/stopped")),
        "{told}"
    );

    let after = host.admin_ok(Method::GET, "/plugins", Value::Null).await;
    let names = |told: &Value| -> Vec<Value> {
        told["plugins"]
            .as_array()
            .expect("plugins")
            .iter()
            .map(|one| one["sha256"].clone())
            .collect()
    };
    assert_eq!(names(&before), names(&after));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_says_which_plugin_stops_it_and_why() {
    for (behaviour, outcome) in [("deny", "denied"), ("panic", "failed")] {
        let host = start(&format!("{{ behaviour = \"{behaviour}\" }}")).await;
        let ada = host.ada().await;
        let path = format!(
            "/applications/{}/claims-preview?account={}",
            ada.application.id,
            id(&ada.account)
        );
        let preview = host.admin_ok(Method::GET, &path, Value::Null).await["sinks"][0].clone();
        assert_eq!(
            (
                &preview["stopped"]["plugin"],
                &preview["stopped"]["outcome"]
            ),
            (&json!("second"), &json!(outcome))
        );
        assert_eq!(
            (
                &preview["calls"][0]["outcome"],
                &preview["calls"][1]["outcome"]
            ),
            (&json!("changed"), &json!(outcome))
        );
        assert!(
            preview["calls"][1]["reason"].is_string() && preview.get("claims").is_none(),
            "{preview}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn plugins_have_a_say_in_introspection_but_not_over_its_own_members() {
    let host = start("{ behaviour = \"set\", claim = \"note\", value = \"42\" }").await;
    let ada = host.ada().await;
    let code = ada.sign_in(&Browser::new(&host.base)).await;
    let (_, tokens) = ada.application.exchange(&host.base, &code, &[]).await;
    let introspect = async || -> Value {
        let request = http_client()
            .post(format!("{}/oidc/token/introspection", host.base))
            .basic_auth(
                ada.application.id.replace(':', "%3A"),
                ada.application.secret.as_ref(),
            )
            .form(&[("token", tokens["access_token"].as_str().expect("a token"))]);
        request
            .send()
            .await
            .expect("an answer")
            .json()
            .await
            .expect("JSON")
    };
    let told = introspect().await;
    assert_eq!(
        (&told["active"], &told["note"], &told["team"]),
        (&json!(true), &json!(42), &json!("red")),
        "{told}"
    );
    assert!(
        told.get("email").is_none() && told.get("account").is_none(),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_told_to_who_shows_the_secret() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "a-secret-of-the-operator\n").expect("written");
    let settings = format!("[http]\nmetrics_secret_file = \"{}\"\n", secret.display());
    let wish = HostOptions {
        plugins: &plugins("{ behaviour = \"deny\" }"),
        settings: &settings,
        ..HostOptions::default()
    };
    let host = TestHost::start_with(wish).await;
    let ada = host.ada().await;
    let path = format!(
        "/applications/{}/claims-preview?account={}",
        ada.application.id,
        id(&ada.account)
    );
    host.admin_ok(Method::GET, &path, Value::Null).await;

    let get = async |secret: Option<&str>| {
        let mut request = http_client().get(format!("{}/metrics", host.base));
        if let Some(secret) = secret {
            request = request.bearer_auth(secret);
        }
        let response = request.send().await.expect("an answer");
        (response.status(), response.text().await.expect("text"))
    };
    assert_eq!(get(None).await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(
        get(Some("another-secret")).await.0,
        StatusCode::UNAUTHORIZED
    );
    let (status, text) = get(Some("a-secret-of-the-operator")).await;
    assert_eq!(status, StatusCode::OK);
    let value = |series: &str| -> f64 {
        let line = text
            .lines()
            .find(|line| line.starts_with(series))
            .unwrap_or_else(|| panic!("{series} in {text}"));
        line.rsplit(' ')
            .next()
            .expect("a value")
            .parse()
            .expect("a number")
    };
    assert!(value("assent_plugin_calls_total{plugin=\"account-roles\"}") >= 1.0);
    assert!(value("assent_plugin_denials_total{plugin=\"second\"}") >= 1.0);
    assert!(value("assent_plugin_call_seconds{plugin=\"account-roles\",quantile=\"0.99\"}") > 0.0);
    assert!(value("assent_plugin_call_fuel{plugin=\"second\",quantile=\"0.5\"}") > 0.0);
    assert_eq!(value("assent_plugin_queue_length{plugin=\"second\"}"), 0.0);
    assert!(value("assent_http_requests_total{endpoint=\"administration\"}") >= 1.0);
    assert_eq!(
        value("assent_http_failures_total{endpoint=\"administration\"}"),
        0.0
    );
    assert!(
        value("assent_http_request_seconds{endpoint=\"administration\",quantile=\"0.99\"}") > 0.0
    );
    assert_eq!(value("assent_task_restarts_total{task=\"retention\"}"), 0.0);
    assert!(
        text.contains("assent_plugin_loaded{plugin=\"second\",role=\"claim-mapper\"")
            && text.ends_with("# EOF\n"),
        "{text}"
    );

    let without = TestHost::start().await;
    let response = reqwest::get(format!("{}/metrics", without.base))
        .await
        .expect("an answer");
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
}
