//! The operator's records of a sign-in contain no secret. The test searches them for every secret on the wire: the log
//! at its most verbose level, the traces of the plugins, the audit log and the database.

use assent_store::sql::{self, Options, Row};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, OnceLock};

use assent_model::clock::{Clock, SystemClock};
use assent_tests::harness::{
    Admin, Browser, Page, Pipes, Respond, Run, TestUser, Text, VERIFIER, after, between, binary,
    component, http_client, in_time, locked, read_bytes, read_file, temp_folder, utf8, write_file,
};
use axum::Router;
use axum::extract::State;
use axum::routing::post;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

use crate::oidc::refresh::{OFFLINE, refresh, refresh_token};
use crate::saml::service_provider::{Request, Response, TestServiceProvider, identify};

/// The RelayState that the browser returns to a service provider. Only the database stores it, and only until then.
const RELAY_STATE: &str = "a relay state that is the provider's own";

/// A forwarder to the instance. It stores all bytes, separately for each direction of each connection.
#[derive(Clone, Default)]
struct Wire {
    passed: Arc<Mutex<Vec<Vec<u8>>>>,
    host: Arc<OnceLock<String>>,
}

impl Wire {
    /// Starts the forwarder. Returns it with its base URL.
    async fn start() -> (Self, String) {
        let wire = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!(
            "http://localhost:{}",
            listener.local_addr().expect("an address").port()
        );
        let taken = wire.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let host = taken.host.get().expect("the address of the instance");
                let host = TcpStream::connect(host).await.expect("the instance");
                let ((from_client, to_client), (from_host, to_host)) =
                    (client.into_split(), host.into_split());
                tokio::spawn(taken.clone().pass(from_client, to_host));
                tokio::spawn(taken.clone().pass(from_host, to_client));
            }
        });
        (wire, address)
    }

    async fn pass(self, mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
        let place = {
            let mut passed = locked(&self.passed);
            passed.push(Vec::new());
            passed.len() - 1
        };
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(read @ 1..) = from.read(&mut buffer).await {
            locked(&self.passed)[place].extend_from_slice(&buffer[..read]);
            if to.write_all(&buffer[..read]).await.is_err() {
                break;
            }
        }
        let _ = to.shutdown().await;
    }

    fn texts(&self) -> Vec<String> {
        locked(&self.passed)
            .iter()
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .collect()
    }
}

/// A process of the server that logs to a file.
struct Process {
    child: Child,
    admin: Admin,
}

/// Waits for the log line about the start, which another thread writes. Returns the address in it.
async fn logged_address(log: &Path) -> String {
    in_time(async {
        loop {
            let text = read_file(log);
            let start = text
                .split_inclusive('\n')
                .find(|line| line.contains(" serving ") && line.ends_with('\n'));
            if let Some((_, address)) = start.and_then(|line| line.split_once("address=")) {
                let address = address.split_whitespace().next();
                return address.expect("an address").to_owned();
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

impl Process {
    async fn start(folder: &Path, wire: &Wire, base: &str) -> Self {
        let settings = format!(
            "base_url = \"{base}\"\nallow_insecure_redirect_uris = true\n[http]\nlisten = \
            \"127.0.0.1:0\"\n[log]\nlevel = \"trace\"\n\
             [egress]\nallow_private_addresses = true\n\
             [[plugins.claim_mappers]]\nname = \"account-roles\"\nfile = \"{}\"\nwrites = [\"account\"]\n\
             [[plugins.claim_mappers]]\nname = \"saml-attributes\"\nfile = \"{}\"\nwrites = [\"attribute:*\"]\n",
            component("account-roles").display(),
            component("saml-attributes").display(),
        );
        write_file(folder.join("assent.toml"), settings);
        let log = File::create(folder.join("log")).expect("a file");
        let mut command = Command::new(binary("assent"));
        command
            .args(["serve", "--config", "assent.toml"])
            .current_dir(folder)
            .kill_on_drop(true);
        let mut child = command.stdout(Stdio::piped()).stderr(log).start();
        let mut lines = child.output_lines();
        while !in_time(lines.next_line())
            .await
            .expect("readable")
            .expect("it serves")
            .contains("The console:")
        {}
        wire.host
            .set(logged_address(&folder.join("log")).await)
            .expect("set once");
        let mut command = Command::new(binary("assent"));
        let created = command
            .args(["admin", "token", "--config", "assent.toml"])
            .current_dir(folder)
            .output()
            .await;
        let token = utf8(created.expect("run").stdout).trim().to_owned();
        Self {
            child,
            admin: Admin {
                base: base.to_owned(),
                token,
            },
        }
    }

    async fn stop(mut self) {
        let process = self.child.id().expect("running").to_string();
        Command::new("kill")
            .args(["-TERM", &process])
            .status()
            .await
            .expect("sent");
        assert!(self.child.wait().await.expect("ended").success());
    }
}

/// The secrets of the test, each with its name.
#[derive(Default)]
struct Secrets(Vec<(&'static str, String)>);

impl Secrets {
    fn add(&mut self, name: &'static str, secret: &str) {
        assert!(
            secret.len() >= 14,
            "{name} is too short to be looked for: {secret}"
        );
        self.0.push((name, secret.to_owned()));
    }

    /// Adds the secret members of a token response.
    fn add_tokens(&mut self, tokens: &Value) {
        for name in ["access_token", "refresh_token", "id_token"] {
            if let Some(token) = tokens[name].as_str() {
                self.add(name, token);
            }
        }
        if let Some(token) = tokens["id_token"].as_str() {
            self.add(
                "the signature of an ID token",
                token.rsplit('.').next().expect("a signature"),
            );
        }
    }

    /// Adds cookies, credentials, and tokens of forms, in their encoding in HTTP messages.
    fn add_seen(&mut self, texts: &[String]) {
        for (name, start, end) in [
            ("a cookie", "set-cookie: assent-browser=", ";"),
            ("a cookie", "set-cookie: assent-session=", ";"),
            ("basic credentials", "authorization: Basic ", "\r"),
            ("bearer credentials", "authorization: Bearer ", "\r"),
            ("a form's token", "name=\"csrf\" value=\"", "\""),
            ("a form's user", "name=\"user\" value=\"", "\""),
            ("a device's signature", "\"signature\":\"", "\""),
            ("a code for scanning", "#login=", "\""),
        ] {
            let found: BTreeSet<&str> = texts
                .iter()
                .flat_map(|text| text.split(start).skip(1))
                .filter_map(|rest| rest.split(end).next())
                .filter(|value| !value.is_empty())
                .collect();
            assert!(!found.is_empty(), "{name} was never on the wire");
            for value in found {
                self.add(name, value);
            }
        }
        // `Assent-Device {device}.{seconds}.{signature}`
        for call in texts
            .iter()
            .flat_map(|text| text.split("authorization: Assent-Device ").skip(1))
        {
            let signature = call
                .split("\r")
                .next()
                .and_then(|value| value.rsplit('.').next())
                .expect("a signature");
            self.add("the signature of a device's call", signature);
        }
    }

    fn found_in(&self, text: &str) -> Vec<&(&'static str, String)> {
        self.0
            .iter()
            .filter(|(_, secret)| text.contains(secret.as_str()))
            .collect()
    }
}

/// Starts an application's server that receives logout tokens.
async fn logout_receiver() -> (String, Arc<Mutex<Vec<String>>>) {
    let taken = Arc::new(Mutex::new(Vec::new()));
    let take = async |State(taken): State<Arc<Mutex<Vec<String>>>>, body: String| {
        locked(&taken).push(body.trim_start_matches("logout_token=").to_owned());
    };
    let router = Router::new()
        .route("/logout", post(take))
        .with_state(Arc::clone(&taken));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!(
        "http://localhost:{}/logout",
        listener.local_addr().expect("an address").port()
    );
    tokio::spawn(async move { axum::serve(listener, router).await });
    (address, taken)
}

async fn client_call(admin: &Admin, ada: &TestUser, path: &str, token: &str) -> Value {
    let request = http_client()
        .post(format!("{}/oidc/token/{path}", admin.base))
        .form(&[("token", token)]);
    let answer = request
        .basic_auth(&ada.application.id, ada.application.secret.as_ref())
        .send()
        .await;
    answer.expect("an answer").json().await.unwrap_or_default()
}

/// Signs in with OpenID Connect, from the enrolment to the logout, with failures on the way. Returns the shown numbers.
async fn openid_connect(admin: &Admin, ada: &TestUser, secrets: &mut Secrets) -> Vec<String> {
    let browser = Browser::new(&admin.base);
    let waiting = ada.begin_sign_in(&browser, &OFFLINE).await;
    let number = waiting.number();
    let request = ada.device.pending_requests(60).await.remove(0);
    let wrong = if number == "42" { "43" } else { "42" };
    ada.device
        .decide(&request, Some(wrong))
        .await
        .expect_err("a wrong number");
    ada.approve(&waiting).await;
    let code = browser.finish(&waiting.url).await.parameter("code");
    secrets.add("a code", &code);
    secrets.add("a code verifier", VERIFIER);
    // A wrong verifier spends its code.
    let consent = browser.get(&ada.application.request(&OFFLINE)).await;
    let spent = consent.followed().await.decide("allow").await;
    let spent = spent.parameter("code");
    secrets.add("a spent code", &spent);
    let (_, refused) = ada
        .application
        .exchange(
            &admin.base,
            &spent,
            &[("code_verifier", Some(&"x".repeat(43)))],
        )
        .await;
    assert_eq!(refused["error"], "invalid_grant");
    let (status, tokens) = ada.application.exchange(&admin.base, &code, &[]).await;
    assert_eq!(status, StatusCode::OK, "{tokens}");
    secrets.add_tokens(&tokens);
    let access = tokens["access_token"].text();
    let information = http_client()
        .get(format!("{}/oidc/me", admin.base))
        .bearer_auth(access)
        .send()
        .await;
    assert_eq!(information.expect("an answer").status(), StatusCode::OK);
    assert_eq!(
        client_call(admin, ada, "introspection", access).await["active"],
        true
    );
    let (_, fresh) = refresh(&admin.base, &ada.application, refresh_token(&tokens), &[]).await;
    secrets.add_tokens(&fresh);
    let (_, again) = refresh(&admin.base, &ada.application, refresh_token(&fresh), &[]).await;
    secrets.add_tokens(&again);
    // The reuse of a refresh token, and the replay of a code.
    assert_eq!(
        refresh(&admin.base, &ada.application, refresh_token(&tokens), &[])
            .await
            .1["error"],
        "invalid_grant"
    );
    assert_eq!(
        ada.application.exchange(&admin.base, &code, &[]).await.1["error"],
        "invalid_grant"
    );
    client_call(admin, ada, "revocation", refresh_token(&again)).await;

    // The second code of the session. The logout revokes it.
    let code = browser
        .finish(&ada.application.request(&[]))
        .await
        .parameter("code");
    secrets.add("a code", &code);
    let (_, tokens) = ada.application.exchange(&admin.base, &code, &[]).await;
    secrets.add_tokens(&tokens);
    let hint = tokens["id_token"].text();
    let question = browser
        .get(&format!("/oidc/session/end?id_token_hint={hint}&state=st"))
        .await;
    let ended = if question.status.is_redirection() {
        question.followed().await
    } else {
        question
    };
    if ended.body.contains("action=\"/session/end\"") {
        ended.submit("/session/end", &[("answer", "yes")]).await;
    }
    vec![number]
}

/// Signs in with SAML.
async fn saml(
    admin: &Admin,
    service_provider: &TestServiceProvider,
    ada: &TestUser,
    secrets: &mut Secrets,
) -> String {
    let browser = Browser::new(&admin.base);
    let request = Request {
        id: "_0c9a8e2f7f7d4f0fa4a0c0a8f0e3d2b1".to_owned(),
        issuer: service_provider.entity_id.clone(),
        issue_instant: assent_saml_core::message::instant_text(SystemClock.now()),
        destination: Some(format!(
            "{}{}",
            service_provider.base,
            service_provider.sign_on()
        )),
        attributes: Vec::new(),
        content: String::new(),
    };
    let login = service_provider
        .begin(&browser, &request, Some(RELAY_STATE))
        .await;
    let waiting = identify(ada, &login).await;
    let number = waiting.number();
    ada.approve(&waiting).await;
    let page: Page = browser.finish(&waiting.url).await;
    let response = Response::from_page(&page);
    assert!(response.is_success(), "{}", response.xml);
    secrets.add("a SAML response", &page.field("SAMLResponse"));
    for signature in response.xml.split("SignatureValue>").skip(1).step_by(2) {
        secrets.add(
            "the signature of a SAML response",
            signature.split('<').next().expect("a signature").trim(),
        );
    }
    browser.get("/").await.submit("/sign-out", &[]).await;
    number
}

/// Submits a wrong and a valid recovery code.
async fn recovery(admin: &Admin, ada: &TestUser, secrets: &mut Secrets) {
    let codes = ada.device.recovery_codes().await;
    for code in &codes {
        secrets.add("a recovery code", code);
    }
    let browser = Browser::new(&admin.base);
    let page = browser.get("/recover").await;
    let code = codes[0].as_str();
    page.submit(
        "/recover",
        &[("name", "ada"), ("code", "AAAA-AAAA-AAAA-AAAA")],
    )
    .await;
    let done = page
        .submit("/recover", &[("name", "ada"), ("code", code)])
        .await
        .followed()
        .await;
    let link = between(&done.body, "#enrol=", "\"");
    secrets.add("a recovered enrolment", link);
}

/// Returns each row of these tables, with all columns as text.
async fn rows(folder: &Path, tables: &[&str]) -> String {
    let options = Options::sqlite(folder.join("data/assent.db"), None);
    let mut connection = options.connect().await.expect("the database");
    let mut text = String::new();
    for table in tables {
        let columns: Vec<(String,)> =
            sql::query_as(format!("SELECT name FROM pragma_table_info('{table}')"))
                .fetch_all(&mut connection)
                .await
                .expect("columns");
        let columns: Vec<String> = columns
            .into_iter()
            .map(|(name,)| format!("CAST({name} AS TEXT)"))
            .collect();
        let query = format!("SELECT {} FROM {table}", columns.join(", "));
        let found = sql::query_as::<Row>(query)
            .fetch_all(&mut connection)
            .await
            .expect("rows");
        assert!(!found.is_empty(), "{table} is empty");
        for row in found {
            for value in row.into_values() {
                if let sql::Value::Text(value) = value {
                    text.push_str(&value);
                }
                text.push('\n');
            }
        }
    }
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_traces_audit_log_and_database_contain_no_secrets_of_a_sign_in() {
    let folder = temp_folder();
    let folder = folder.path();
    let (wire, base) = Wire::start().await;
    let process = Process::start(folder, &wire, &base).await;
    let admin = &process.admin;
    let mut secrets = Secrets::default();
    secrets.add("an admin token", &admin.token);

    let ada = admin.ada().await;
    secrets.add(
        "a client secret",
        ada.application.secret.as_deref().expect("a secret"),
    );
    let (logout, logout_tokens) = logout_receiver().await;
    let changes = json!({"backchannel_logout_uri": logout});
    admin
        .admin_ok(
            Method::PATCH,
            &format!("/applications/{}", ada.application.id),
            changes,
        )
        .await;
    let link = admin.enrolment_link(&ada.user).await;
    let link = link.as_str();
    secrets.add("an enrolment link's token", after(link, "#enrol="));
    let service_provider =
        TestServiceProvider::register(admin, json!({"custom_attributes": []})).await;
    admin
        .account(&ada.user, &service_provider.application())
        .await;

    let mut numbers = openid_connect(admin, &ada, &mut secrets).await;
    numbers.push(saml(admin, &service_provider, &ada, &mut secrets).await);
    recovery(admin, &ada, &mut secrets).await;
    // Wrong credentials of each kind. An error message must not repeat a rejected value.
    let wrong = "cs_a-wrong-secret-that-a-client-mistyped-1";
    let form = [("grant_type", "client_credentials")];
    let token = http_client()
        .post(format!("{base}/oidc/token"))
        .basic_auth(&ada.application.id, Some(wrong))
        .form(&form);
    assert_eq!(token.response().await.status(), StatusCode::UNAUTHORIZED);
    secrets.add("a mistyped client secret", wrong);
    let wrong = "am_a-wrong-token-of-an-administrator-1";
    let listing = http_client()
        .get(format!("{base}/admin/api/v1/users"))
        .bearer_auth(wrong);
    assert_eq!(listing.response().await.status(), StatusCode::UNAUTHORIZED);
    secrets.add("a mistyped admin token", wrong);
    // The logout token arrives at any time.
    in_time(async {
        while locked(&logout_tokens).is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
    for token in locked(&logout_tokens).iter() {
        secrets.add("a logout token", token);
    }
    process.stop().await;

    let texts = wire.texts();
    secrets.add_seen(&texts);
    let key = read_bytes(folder.join("data/master.key"));
    secrets.add("the master key", String::from_utf8_lossy(&key).trim());
    secrets.add("a private key", "PRIVATE KEY-----");
    let log = read_file(folder.join("log"));
    assert!(
        log.contains("TRACE") && log.contains("DEBUG"),
        "the log does not have its most verbose level"
    );
    let stored = rows(folder, &["audit_entries", "claim_traces"]).await;
    let files = ["data/assent.db", "data/assent.db-wal"]
        .map(|name| std::fs::read(folder.join(name)).unwrap_or_default());
    let database = files
        .iter()
        .map(|file| String::from_utf8_lossy(file))
        .collect::<String>();
    for (place, text) in [
        ("the log", &log),
        ("the audit log and the traces", &stored),
        ("the database", &database),
    ] {
        let found = secrets.found_in(text);
        assert!(found.is_empty(), "{place} contains {found:?}");
    }
    assert!(
        !log.contains(RELAY_STATE) && !stored.contains(RELAY_STATE),
        "a relay state is stored"
    );
    for number in numbers {
        for written in [
            format!("number={number}"),
            format!("number\":{number}"),
            format!("number\":\"{number}\""),
        ] {
            assert!(
                !log.contains(&written) && !stored.contains(&written),
                "{written}"
            );
        }
    }
}
