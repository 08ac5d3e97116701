//! The source of each claim: previews, traces, metrics.

use assent_store::sql;
use std::process::Stdio;
use std::time::Duration;

use assent_tests::harness::{
    Body, Browser, HostOptions, Json, Parsed, Pipes, Respond, Run, TestHost, Text, binary,
    component, http_client, id, in_time, jwt_claims, read_bytes, temp_folder, write_file,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::oidc::refresh::{offline_tokens, refresh, refresh_token};
use tokio::io::AsyncWriteExt;

/// Returns the settings of `account-roles` and, after it, of the hostile mapper with this behaviour. The mapper may
/// write `team` and `note`.
fn plugins(behaviour: &str) -> String {
    format!(
        "[[plugins.claim_mappers]]\nname = \"account-roles\"\nfile = \"{}\"\nwrites = [\"account\"]\n\
         [[plugins.claim_mappers]]\nname = \"second\"\nfile = \"{}\"\nwrites = [\"team\", \"note\"]\nconfig = \
              {behaviour}\n",
        component("account-roles").display(),
        component("hostile-mapper").display(),
    )
}

async fn start(behaviour: &str) -> TestHost {
    TestHost::start_with_plugins(&plugins(behaviour)).await
}

/// Waits until the trace of a token is written, and returns it.
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

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_explained_by_itself_its_jti_and_the_command() {
    let host = start("{ behaviour = \"set\", claim = \"note\", value = \"42\" }").await;
    let ada = host.ada().await;
    let tokens = ada.tokens(&host, &Browser::new(&host.base)).await;
    let token = tokens["id_token"].text();
    let claims = jwt_claims(token);

    let found = trace(&host, token).await;
    assert_eq!(found, trace(&host, claims["jti"].text()).await);
    assert_eq!(
        (&found["user"], &found["sink"]),
        (&ada.user["id"], &json!("id-token"))
    );
    let calls = found["calls"].items();
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
    let digest =
        assent_model::secret::Digest::sha256(&read_bytes(component("account-roles"))).to_text();
    assert_eq!(
        (&calls[0]["sha256"], &calls[0]["version"]),
        (&json!(digest), &json!("1.0.0"))
    );
    let note = calls[1]["changes"]
        .items()
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
    assert_eq!(listed["items"], json!([found]), "one sign-in has one token");
    let (status, _) = host
        .admin(Method::GET, "/claim-traces/unknown", Value::Null)
        .await;
    assert_eq!(status, StatusCode::NOT_FOUND);

    let settings = host.host.settings_file.clone().expect("a settings file");
    let output = tokio::process::Command::new(binary("assent"))
        .args(["explain", token, "--config"])
        .arg(&settings)
        .finish()
        .await;
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        printed.contains("received about ada") && printed.contains("note: nothing -> 42"),
        "{printed}"
    );

    // A token from standard input is neither in the history of a shell nor in the list of processes.
    for arguments in [["explain", "-"].as_slice(), &["explain"]] {
        let mut command = tokio::process::Command::new(binary("assent"));
        command.args(arguments).arg("--config").arg(&settings);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut explain = command.start();
        let mut stdin = explain.input();
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

/// A refresh at which the plugins did the same as at the one before gets no trace of its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_with_an_equal_result_shares_the_trace_of_an_earlier_one() {
    let mapper = plugins("{ behaviour = \"set\", claim = \"note\", value = \"42\" }");
    let short = format!("[plugins]\ntrace_retention = \"10m\"\n{mapper}");
    let host = TestHost::start_with_plugins(&short).await;
    let ada = host.ada().await;
    let mut tokens = offline_tokens(&host, &ada).await;
    let mut refreshes = 0;
    let mut next = async || {
        let (status, answer) =
            refresh(&host.base, &ada.application, refresh_token(&tokens), &[]).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        tokens = answer;
        refreshes += 1;
        eprintln!(
            "refresh {refreshes} {}",
            jwt_claims(tokens["id_token"].text())
        );
        let token = tokens["id_token"].text().to_owned();
        let jti = jwt_claims(&token)["jti"].text().to_owned();
        (trace(&host, &token).await, jti)
    };
    let (first, _) = next().await;
    let (shared, jti) = in_time(async {
        loop {
            let (shared, jti) = next().await;
            // Until the first trace is stored, others are stored too.
            if jti.contains('.') {
                break (shared, jti);
            }
        }
    })
    .await;
    assert_eq!(shared["token"], jti.as_str());
    let done = |trace: &Value| {
        let calls = trace["calls"].items().iter();
        calls
            .map(|call| call["changes"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(done(&shared), done(&first));
    assert_eq!(trace(&host, &jti).await, shared);

    let roles = json!({ "roles": ["auditor"] });
    let account = format!("/accounts/{}", id(&ada.account));
    host.admin_ok(Method::PATCH, &account, roles).await;
    let (changed, jti) = next().await;
    assert!(!jti.contains('.'), "{jti}");
    assert_ne!(done(&changed), done(&first));

    // A trace is deleted after its retention, so a later token needs one of its own.
    host.advance(61);
    let (_, jti) = next().await;
    assert!(!jti.contains('.'), "{jti}");

    let listed = host
        .admin_ok(
            Method::GET,
            &format!("/claim-traces?user={}&limit=200", id(&ada.user)),
            Value::Null,
        )
        .await;
    // One more for the sign-in, and two fewer for the shared ones.
    assert_eq!(listed["items"].items().len(), refreshes);
}

#[tokio::test(flavor = "multi_thread")]
async fn traces_can_be_disabled() {
    let plugins = format!(
        "[plugins]\ntrace_retention = \"0s\"\n{}",
        plugins("{ behaviour = \"set\", claim = \"note\", value = \"42\" }")
    );
    let host = TestHost::start_with_plugins(&plugins).await;
    let ada = host.ada().await;
    ada.sign_in(&Browser::new(&host.base)).await;
    let mut connection = host.connection().await;
    let (stored,): (i64,) = sql::query_as("SELECT COUNT(*) FROM claim_traces")
        .fetch_one(&mut connection)
        .await
        .expect("counted");
    assert_eq!(stored, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_matches_the_claims_of_a_sign_in() {
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
        .items()
        .iter()
        .map(|one| one["sink"].clone())
        .collect();
    assert_eq!(sinks, ["id-token", "userinfo", "introspection"], "{all}");
    let preview = all["sinks"][0].clone();
    let origin = |name: &str| {
        let origins = preview["origins"].items();
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
    let returned = jwt_claims(tokens["id_token"].text());
    for (name, value) in preview["claims"].members() {
        assert_eq!(returned.get(name), Some(value), "{name}");
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
async fn a_candidate_is_compared_and_never_stored() {
    let host = start("{ behaviour = \"set\", claim = \"note\", value = \"42\" }").await;
    let ada = host.ada().await;
    let path = format!("/applications/{}/claims-preview", ada.application.id);
    let before = host.admin_ok(Method::GET, "/plugins", Value::Null).await;
    let account = id(&ada.account);
    let requested = |candidate: Value| json!({"account": account, "sinks": ["id-token"], "candidate": candidate});
    let set =
        |claim: &str, value: &str| json!({"behaviour": "set", "claim": claim, "value": value});

    let returned = host
        .admin_ok(
            Method::POST,
            &path,
            requested(json!({"plugin": "second", "config": set("note", "43")})),
        )
        .await;
    let difference =
        json!([{"sink": "id-token", "path": "/claims/note", "current": 42, "candidate": 43}]);
    assert_eq!(returned["differences"], difference, "{returned}");
    assert_eq!(returned["current"]["sinks"][0]["claims"]["note"], 42);
    assert_eq!(returned["candidate"]["sinks"][0]["claims"]["note"], 43);

    // Another component replaces the plugin and has the plugin's grants. It writes a claim that is not granted.
    let wasm = |name: &str| STANDARD.encode(read_bytes(component(name)));
    let other = json!({"plugin": "account-roles", "component": wasm("hostile-mapper"), "config": set("note", "1")});
    let returned = host.admin_ok(Method::POST, &path, requested(other)).await;
    let stopped = &returned["candidate"]["sinks"][0]["stopped"];
    assert_eq!(
        (&stopped["plugin"], &stopped["outcome"]),
        (&json!("account-roles"), &json!("failed")),
        "{returned}"
    );
    assert!(
        stopped["reason"]
            .as_str()
            .is_some_and(|why| why.contains("was not granted")),
        "{returned}"
    );

    let same = json!({"plugin": "second", "component": wasm("hostile-mapper")});
    let returned = host.admin_ok(Method::POST, &path, requested(same)).await;
    assert_eq!(returned["differences"], json!([]), "{returned}");
    let entry = &crate::lifecycle::entries(&host, "event=claims.compared").await[0];
    let digest = before["plugins"]
        .items()
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

    // The loop ends at its limits, and the result names the plugin.
    let returned = host
        .admin_ok(
            Method::POST,
            &path,
            requested(json!({"plugin": "second", "config": {"behaviour": "loop"}})),
        )
        .await;
    assert_eq!(
        returned["candidate"]["sinks"][0]["stopped"]["plugin"], "second",
        "{returned}"
    );
    assert!(
        returned["differences"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one["path"] == "/stopped")),
        "{returned}"
    );

    let after = host.admin_ok(Method::GET, "/plugins", Value::Null).await;
    let names = |returned: &Value| -> Vec<Value> {
        returned["plugins"]
            .items()
            .iter()
            .map(|one| one["sha256"].clone())
            .collect()
    };
    assert_eq!(names(&before), names(&after));
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_candidates_are_rejected() {
    let host = start("{ behaviour = \"set\", claim = \"note\", value = \"42\" }").await;
    let ada = host.ada().await;
    let path = format!("/applications/{}/claims-preview", ada.application.id);
    let account = id(&ada.account);
    let requested = |candidate: Value| json!({"account": account, "sinks": ["id-token"], "candidate": candidate});
    let wasm = |name: &str| STANDARD.encode(read_bytes(component(name)));
    // A new plugin runs after the others, and cannot own their claims.
    let new = json!({"plugin": "another", "component": wasm("account-roles")});
    let (status, refused) = host.admin(Method::POST, &path, requested(new)).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{refused}");
    assert!(refused.to_string().contains("writes too"), "{refused}");

    for (candidate, words) in [
        (json!({"plugin": "unknown"}), "`component` is required"),
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
            .admin(Method::POST, &path, requested(candidate.clone()))
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
    // The server does not pass the configuration of a plugin to another component.
    let (status, refused) = host
        .admin(
            Method::POST,
            &path,
            requested(json!({"plugin": "account-roles", "component": wasm("hostile-mapper")})),
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
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_names_the_denying_plugin_and_its_reason() {
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
async fn plugins_extend_introspection_but_cannot_change_its_standard_members() {
    let host = start("{ behaviour = \"set\", claim = \"note\", value = \"42\" }").await;
    let ada = host.ada().await;
    let tokens = ada.tokens(&host, &Browser::new(&host.base)).await;
    let introspect = async || -> Value {
        let request = http_client()
            .post(format!("{}/oidc/token/introspection", host.base))
            .basic_auth(
                ada.application.id.replace(':', "%3A"),
                ada.application.secret.as_ref(),
            )
            .form(&[("token", tokens["access_token"].text())]);
        request.response().await.read_json().await
    };
    let returned = introspect().await;
    assert_eq!(
        (&returned["active"], &returned["note"], &returned["team"]),
        (&json!(true), &json!(42), &json!("red")),
        "{returned}"
    );
    assert!(
        returned.get("email").is_none() && returned.get("account").is_none(),
        "{returned}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_have_a_listener_and_a_secret() {
    let folder = temp_folder();
    let secret = folder.path().join("secret");
    write_file(&secret, "a-secret-of-the-operator\n");
    let settings = format!(
        "[metrics]\nlisten = \"127.0.0.1:0\"\nsecret_file = \"{}\"\n",
        secret.display()
    );
    let options = HostOptions {
        plugins: &plugins("{ behaviour = \"deny\" }"),
        settings: &settings,
        ..HostOptions::default()
    };
    let host = TestHost::start_with(options).await;
    let ada = host.ada().await;
    let path = format!(
        "/applications/{}/claims-preview?account={}",
        ada.application.id,
        id(&ada.account)
    );
    host.admin_ok(Method::GET, &path, Value::Null).await;

    let get = async |secret: Option<&str>| {
        let mut request = http_client().get(host.metrics_url());
        if let Some(secret) = secret {
            request = request.bearer_auth(secret);
        }
        let response = request.response().await;
        (response.status(), response.read_text().await)
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
        line.rsplit(' ').next().expect("a value").parsed()
    };
    assert!(value("assent_plugin_calls_total{plugin=\"account-roles\"}") >= 1.0);
    assert!(value("assent_plugin_denials_total{plugin=\"second\"}") >= 1.0);
    assert!(value("assent_plugin_call_duration_seconds_count{plugin=\"account-roles\"}") >= 1.0);
    assert!(value("assent_plugin_call_fuel_sum{plugin=\"second\"}") > 0.0);
    assert_eq!(value("assent_plugin_queue_length{plugin=\"second\"}"), 0.0);
    assert!(value("assent_http_requests_total{endpoint=\"admin_api\",status=\"200\"}") >= 1.0);
    assert!(value("assent_http_request_duration_seconds_count{endpoint=\"admin_api\"}") >= 1.0);
    assert_eq!(value("assent_task_restarts_total{task=\"retention\"}"), 0.0);
    assert!(
        text.contains("assent_plugin_loaded{plugin=\"second\",role=\"claim-mapper\"")
            && text.ends_with("# EOF\n"),
        "{text}"
    );

    // The public listener does not serve the metrics.
    let response = http_client()
        .get(format!("{}/metrics", host.base))
        .bearer_auth("a-secret-of-the-operator")
        .response()
        .await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
}
