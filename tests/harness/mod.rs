//! A running instance for a test: its own database, folder and port, and a clock that the test moves.

mod browser;
mod certificate;
mod client;
mod database;
mod device;
mod encoded;
mod fault_proxy;
mod keys;
mod log;
mod logo_server;
mod lossy_proxy;
pub mod postgres_messages;
mod process;
pub mod proof_key;
mod read;
mod run;
mod test_user;
pub mod tls;
mod vendor_load;

use std::fs::DirBuilder;
use std::ops::Deref;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use assent::app::listen::Ports;
use assent::app::serve::RunningServer;
use assent::app::{self, Environment};
use assent::config;
use assent::domain::{Services, admin};
use assent::keys::FileMasterKey;
use assent_model::audit::AuditContext;
use assent_model::clock::{Clock, ManualClock, SystemClock, Timestamp};
use assent_model::entropy::SystemEntropy;
use assent_plugin_host::Compiler;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

pub use browser::{Browser, Page, without_code};
pub use certificate::certificate;
pub use client::{http_client, http_client_builder};
pub use database::{
    Database, DatabaseUrl, MASTER_KEY, connect, open_store, wait_for_count, write_user,
};
pub use device::{Device, parse_codes};
pub use encoded::{EncodedCertificate, EncodedKey, rsa_key};
pub use fault_proxy::{FaultProxy, HeldCommit};
pub use log::{Log, Statements, let_one_thread_listen};
pub use logo_server::{LogoServer, png};
pub use lossy_proxy::LossyProxy;
pub use postgres_messages::Commit;
pub use process::{ServerProcess, allow_open_files};
pub use proof_key::ProofKey;
pub use read::{
    Body, Json, Parsed, Respond, Text, after, base64url, between, free_port, get, jwt_claims,
    jwt_header, listen, locked, parse_json, read_bytes, read_file, temp_folder, utf8, write_file,
};
pub use run::{Pipes, Run};
pub use test_user::TestUser;
pub use vendor_load::{VendorLoad, slow_vendor, vendor_load};

/// The folder that the instances of all tests share. It stores compiled plugins, because their compilation takes longer
/// than most tests, and the master key that authenticates them.
static COMPILED: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = component("account-roles").with_file_name("compiled");
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .expect("a folder");
    FileMasterKey::read_or_create(&folder.join("master.key"), &SystemEntropy)
        .expect("a master key");
    folder
});

/// The time that a test waits for an expected event. The event ends the wait, so this is long: a machine may be slow or
/// busy, and a timeout would then prove nothing about the code.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// Waits for an expected event.
pub async fn in_time<F: Future>(event: F) -> F::Output {
    match tokio::time::timeout(PATIENCE, event).await {
        Ok(output) => output,
        Err(_) => panic!("the expected event did not occur within {PATIENCE:?}"),
    }
}

/// A running instance, with everything that a test needs of it.
pub struct TestHost {
    running: Option<RunningServer>,
    pub host: Arc<Services>,
    pub clock: Arc<ManualClock>,
    database: DatabaseUrl,
    folder: tempfile::TempDir,
    admin: Admin,
}

/// Additional TOML of a server that receives client certificates from a proxy. Others refuse the settings of
/// applications that need them.
pub const RECEIVES_CERTIFICATES: &str =
    "[http]\ntrusted_proxies = [\"127.0.0.1\", \"::1\"]\nclient_cert_header = true\n";

/// The options of a test's instance.
#[derive(Clone, Copy)]
pub struct HostOptions<'a> {
    pub database: Database,
    /// The TOML of `[plugins]`.
    pub plugins: &'a str,
    /// Additional TOML. `{mtls_port}` in it stands for the port of the listener for client certificates.
    pub settings: &'a str,
    /// Additional TOML of `[keys]`.
    pub keys: &'a str,
    /// The common URL of several instances; by default the URL of this one.
    pub base_url: &'a str,
}

impl Default for HostOptions<'_> {
    fn default() -> Self {
        Self {
            database: Database::Sqlite,
            plugins: "",
            settings: "",
            keys: "",
            base_url: "",
        }
    }
}

impl TestHost {
    /// Returns the URL of the metrics of an instance with `metrics.listen`.
    pub fn metrics_url(&self) -> String {
        let running = self.running.as_ref().expect("it runs");
        let address = running.metrics_address.expect("a listener of metrics");
        format!("http://{address}/metrics")
    }

    /// Starts an instance on SQLite with the plugins that ship.
    pub async fn start() -> Self {
        Self::start_with(HostOptions::default()).await
    }

    /// Starts an instance on this database with the plugins that ship.
    pub async fn start_on(database: Database) -> Self {
        Self::start_with(HostOptions {
            database,
            ..HostOptions::default()
        })
        .await
    }

    /// Starts an instance on SQLite with additional settings.
    pub async fn start_with_settings(settings: &str) -> Self {
        Self::start_with(HostOptions {
            settings,
            ..HostOptions::default()
        })
        .await
    }

    /// Starts an instance on this database with additional settings.
    pub async fn start_on_with(database: Database, settings: &str) -> Self {
        Self::start_with(HostOptions {
            database,
            settings,
            ..HostOptions::default()
        })
        .await
    }

    /// Starts an instance on this database with these plugins.
    pub async fn start_on_with_plugins(database: Database, plugins: &str) -> Self {
        Self::start_with(HostOptions {
            database,
            plugins,
            ..HostOptions::default()
        })
        .await
    }

    /// Starts an instance on SQLite with these plugins.
    pub async fn start_with_plugins(plugins: &str) -> Self {
        Self::start_with(HostOptions {
            plugins,
            ..HostOptions::default()
        })
        .await
    }

    pub async fn start_with(options: HostOptions<'_>) -> Self {
        let folder = temp_folder();
        let database = options.database.create_migrated(folder.path()).await;
        Self::launch_in(options, folder, database).await
    }

    /// Starts an instance that reaches PostgreSQL through the proxy.
    pub async fn start_behind_proxy() -> (Self, FaultProxy) {
        let options = HostOptions {
            database: Database::Postgres,
            ..HostOptions::default()
        };
        let folder = temp_folder();
        let database = options.database.create_migrated(folder.path()).await;
        let proxy = FaultProxy::start(database.socket()).await;
        let database = database.behind(proxy.port());
        (Self::launch_in(options, folder, database).await, proxy)
    }

    async fn launch_in(
        options: HostOptions<'_>,
        folder: tempfile::TempDir,
        database: DatabaseUrl,
    ) -> Self {
        let clock = Arc::new(ManualClock::new(SystemClock.now()));
        let (host, running, base) = launch(&options, &database, folder.path(), &clock).await;
        let admin = Admin::new(&host, base).await;
        Self {
            running: Some(running),
            host,
            clock,
            database,
            folder,
            admin,
        }
    }

    /// Starts a second instance on the same database, with the same master key and clock.
    pub async fn second(&self, options: HostOptions<'_>) -> (Arc<Services>, RunningServer, String) {
        launch(&options, &self.database, self.folder.path(), &self.clock).await
    }

    pub fn issuer(&self) -> String {
        format!("{}/oidc", self.base)
    }

    /// Opens a connection to the instance's database.
    pub async fn connection(&self) -> assent_store::sql::Connection {
        self.database.connection().await
    }

    /// Returns the URL of the instance's database.
    pub fn database_url(&self) -> &str {
        self.database.url()
    }

    /// Returns the folder of this instance, which no other instance shares.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Replaces the operator's token, which expires soon after a jump of the clock.
    pub async fn renew_token(&mut self) {
        let base = self.admin.base.clone();
        self.admin = Admin::new(&self.host, base).await;
    }

    pub fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// Advances the instance's clock with the machine's clock, as tests with real browsers need it. It never returns.
    pub async fn keep_time(&self) {
        // The clock stood still until now.
        self.clock
            .advance(SystemClock.now().remaining(self.clock.now()));
        let mut shown = SystemClock.now();
        loop {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let now = SystemClock.now();
            self.clock.advance(now.remaining(shown));
            shown = now;
        }
    }

    /// Replaces this instance with one on another database, at the same address and with the same master key. The clock
    /// advances to the machine's time.
    pub async fn replace(mut self, database: DatabaseUrl, options: HostOptions<'_>) -> Self {
        self.stop().await;
        self.database = database;
        self.restart_with(options).await
    }

    /// Replaces this instance with one with these options, at the same address and with the same database. The clock
    /// advances to the machine's time.
    pub async fn restart_with(mut self, options: HostOptions<'_>) -> Self {
        self.stop().await;
        let behind = SystemClock.now().remaining(self.clock.now());
        self.clock.advance(behind);
        let port = port_of(&self.admin.base);
        let (folder, clock) = (self.folder.path(), &self.clock);
        let (host, running, base) = launch_at(&options, &self.database, folder, clock, port).await;
        let admin = Admin::new(&host, base).await;
        Self {
            running: Some(running),
            host,
            admin,
            ..self
        }
    }

    /// Stops the instance. The database and the folder stay until the end of the test.
    pub async fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop().await;
        }
    }
}

impl Deref for TestHost {
    type Target = Admin;

    fn deref(&self) -> &Admin {
        &self.admin
    }
}

/// The admin API of an instance.
pub struct Admin {
    pub base: String,
    pub token: String,
}

impl Admin {
    /// Creates a client with a new token.
    async fn new(host: &Services, base: String) -> Self {
        let (token, _) = admin::issue_admin_token(host, &AuditContext::SERVER)
            .await
            .expect("a token");
        let token = token.expose().to_owned();
        Self { base, token }
    }

    /// Calls the admin API with a valid token.
    pub async fn admin(&self, method: Method, path: &str, body: Value) -> (StatusCode, Value) {
        let url = format!("{}/admin/api/v1{path}", self.base);
        let mut request = http_client().request(method, url).bearer_auth(&self.token);
        if !body.is_null() {
            request = request.json(&body);
        }
        let response = request.response().await;
        let status = response.status();
        (status, response.json().await.unwrap_or_default())
    }

    /// Calls the admin API. The call must succeed.
    pub async fn admin_ok(&self, method: Method, path: &str, body: Value) -> Value {
        let (status, answer) = self.admin(method.clone(), path, body).await;
        assert!(status.is_success(), "{method} {path}: {status} {answer}");
        answer
    }

    /// Creates a user with this name.
    pub async fn user(&self, name: &str) -> Value {
        let body = json!({
            "name": name,
            "email": format!("{name}@example.org"),
            "profile": {"name": "Ada Lovelace", "given_name": "Ada", "email_verified": true,
                "phone_number": "+44 20 7946 0000"},
        });
        self.admin_ok(Method::POST, "/users", body).await
    }

    /// Enrols an authenticator of a user.
    pub async fn authenticator(&self, user: &Value) -> Device {
        Device::enrol(&self.enrolment_link(user).await, "Test phone").await
    }

    /// Creates an enrolment link of a user.
    pub async fn enrolment_link(&self, user: &Value) -> String {
        let path = format!("/users/{}/enrolments", id(user));
        let enrolment = self.admin_ok(Method::POST, &path, Value::Null).await;
        enrolment["link"].text().to_owned()
    }

    /// Creates a web application with a secret.
    pub async fn web_application(&self) -> Application {
        let body = json!({
            "name": "Books & <Co>",
            "application_type": "web",
            "redirect_uris": ["https://rp.example/cb", "https://rp.example/other"],
        });
        let application = self.admin_ok(Method::POST, "/applications", body).await;
        let path = format!("/applications/{}/secret/rotate", id(&application));
        let secret = self.admin_ok(Method::POST, &path, Value::Null).await;
        Application {
            id: id(&application).to_owned(),
            secret: secret["client_secret"].as_str().map(str::to_owned),
            redirect_uri: "https://rp.example/cb".to_owned(),
        }
    }

    /// Creates a native application, which is a public client.
    pub async fn native_application(&self) -> Application {
        let body = json!({
            "name": "Pocket Books",
            "application_type": "native",
            "redirect_uris": ["http://127.0.0.1/callback", "com.example.books://callback"],
        });
        let application = self.admin_ok(Method::POST, "/applications", body).await;
        Application {
            id: id(&application).to_owned(),
            secret: None,
            redirect_uri: "http://127.0.0.1/callback".to_owned(),
        }
    }

    /// Creates a user's account in an application, with roles.
    pub async fn account(&self, user: &Value, application: &Application) -> Value {
        let path = format!("/applications/{}/accounts", application.id);
        self.admin_ok(
            Method::POST,
            &path,
            json!({"user_id": id(user), "roles": ["reader", "editor"]}),
        )
        .await
    }
}

/// An application with its credentials.
#[derive(Clone, Debug)]
pub struct Application {
    pub id: String,
    pub secret: Option<String>,
    pub redirect_uri: String,
}

/// The PKCE verifier that tests use, and its challenge (RFC 7636 appendix B).
pub const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

impl Application {
    /// Returns the path of an authorization request with `changes`: a value replaces a parameter, and `None` removes
    /// it.
    pub fn request(&self, changes: &[(&str, Option<&str>)]) -> String {
        let mut parameters = vec![
            ("client_id", self.id.as_str()),
            ("redirect_uri", self.redirect_uri.as_str()),
            ("response_type", "code"),
            ("scope", "openid profile email"),
            ("state", "st&te"),
            ("nonce", "n0nce"),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
        ];
        for (name, value) in changes {
            parameters.retain(|(known, _)| known != name);
            parameters.extend(value.map(|value| (*name, value)));
        }
        let query = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(parameters)
            .finish();
        format!("/oidc/auth?{query}")
    }

    /// Opens the login page of an authorization request with `changes`.
    pub async fn login_page(&self, browser: &Browser, changes: &[(&str, Option<&str>)]) -> Page {
        browser.get(&self.request(changes)).await.followed().await
    }

    /// Sends a token request for a code, with `changes`.
    pub async fn exchange(
        &self,
        base: &str,
        code: &str,
        changes: &[(&str, Option<&str>)],
    ) -> (StatusCode, Value) {
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", self.redirect_uri.as_str()),
            ("client_id", self.id.as_str()),
            ("code_verifier", VERIFIER),
        ];
        for (name, value) in changes {
            form.retain(|(known, _)| known != name);
            form.extend(value.map(|value| (*name, value)));
        }
        let mut request = http_client().post(format!("{base}/oidc/token")).form(&form);
        if let Some(secret) = &self.secret {
            request = request.basic_auth(&self.id, Some(secret));
        }
        let response = request.response().await;
        assert_eq!(response.headers()["cache-control"], "no-store");
        (response.status(), response.read_json().await)
    }
}

/// Returns the id in an answer of the admin API.
pub fn id(value: &Value) -> &str {
    value["id"].text()
}

/// Returns the file of a built component. The components are in the folder `ASSENT_TEST_PLUGINS`, or in the output
/// folder of `assent-plugin build`.
pub fn component(name: &str) -> PathBuf {
    let folder = std::env::var_os("ASSENT_TEST_PLUGINS")
        .map(PathBuf::from)
        .or_else(|| {
            // This binary is `<target>/<profile>/deps/it-...`.
            let binary = std::env::current_exe().ok()?;
            Some(binary.ancestors().nth(3)?.join("plugins"))
        });
    let file = folder
        .expect("the target folder")
        .join(name)
        .with_extension("wasm");
    assert!(
        file.is_file(),
        "{} is missing; run `make test`, or `cargo run -p assent-plugin -- build plugins/* tests/plugins/*` first",
        file.display()
    );
    file
}

/// Returns a program of the workspace from the same build as these tests.
pub fn binary(name: &str) -> PathBuf {
    // This binary is `<target>/<profile>/deps/it-...`.
    let tests = std::env::current_exe().expect("this binary");
    let file = tests
        .ancestors()
        .nth(2)
        .expect("the profile's folder")
        .join(name);
    assert!(
        file.is_file(),
        "{} is missing; run `make test`, or `cargo build --workspace --bins` first",
        file.display()
    );
    file
}

/// Returns the environment of a test's instance.
pub fn surroundings(clock: &Arc<ManualClock>, settings_file: Option<PathBuf>) -> Environment {
    let compiler = Compiler::Program(binary("assent"));
    Environment {
        clock: Arc::clone(clock) as _,
        entropy: Arc::new(SystemEntropy),
        compiler,
        settings_file,
        dropped_log_lines: None,
        collector: None,
        serves: true,
    }
}

/// Returns the file of the master key in this folder. The first call copies it there, and stores signing keys in the
/// database that this key sealed.
pub async fn give_master_key(folder: &Path, database: &DatabaseUrl, now: Timestamp) -> PathBuf {
    let master_key = folder.join("master.key");
    if !master_key.exists() {
        std::fs::copy(COMPILED.join("master.key"), &master_key).expect("a master key");
        let master = FileMasterKey::read(&master_key).expect("a master key");
        keys::give_keys(database.url(), &master, now).await;
    }
    master_key
}

/// Returns the port of an address.
pub fn port_of(base: &str) -> u16 {
    let url = url::Url::parse(base).expect("a URL");
    url.port().expect("a port")
}

async fn launch(
    options: &HostOptions<'_>,
    database: &DatabaseUrl,
    folder: &Path,
    clock: &Arc<ManualClock>,
) -> (Arc<Services>, RunningServer, String) {
    launch_at(options, database, folder, clock, 0).await
}

/// Starts an instance at this port. The system chooses the port if it is 0.
async fn launch_at(
    options: &HostOptions<'_>,
    database: &DatabaseUrl,
    folder: &Path,
    clock: &Arc<ManualClock>,
    port: u16,
) -> (Arc<Services>, RunningServer, String) {
    let plugins = if options.plugins.is_empty() {
        shipped()
    } else {
        options.plugins.to_owned()
    };
    let master_key = give_master_key(folder, database, clock.now()).await;
    // The system chooses the ports, and the settings need them. So the listeners come first.
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port))
        .await
        .expect("a port");
    let mtls = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let mtls_port = mtls.local_addr().expect("an address").port().to_string();
    let scheme = if options.settings.contains("[http.tls]") {
        "https"
    } else {
        "http"
    };
    let base = format!(
        "{scheme}://localhost:{}",
        listener.local_addr().expect("an address").port()
    );
    let base_url = match options.base_url {
        "" => base.as_str(),
        shared => shared,
    };
    let text = format!(
        "base_url = \"{base_url}\"\n{}\n[database]\nurl = \"{}\"\n[keys]\nmaster_key_file = \"{}\"\n{}\n{plugins}\n",
        options.settings.replace("{mtls_port}", &mtls_port),
        database.url(),
        master_key.display(),
        options.keys,
    );
    let file = folder.join(format!(
        "assent-{}.toml",
        listener.local_addr().expect("an address").port()
    ));
    write_file(&file, text);
    let settings = config::load(&file).expect("valid settings");
    let surroundings = surroundings(clock, Some(file));
    let metrics = match settings.metrics.listen {
        Some(address) => Some(
            tokio::net::TcpListener::bind(address)
                .await
                .expect("a port"),
        ),
        None => None,
    };
    let host = app::compose(settings, surroundings)
        .await
        .expect("an instance");
    let running = app::serve::serve(
        Arc::clone(&host),
        Ports {
            main: listener.into(),
            mtls: Some(mtls.into()),
            metrics,
        },
    )
    .expect("serving");
    (host, running, base)
}

/// Returns the settings of `[plugins]` with the plugins that ship.
pub fn shipped() -> String {
    // On a busy machine, a call may get no processor for longer than its normal time limit.
    let patient = "limits = { deadline = \"60s\" }\n";
    plugins(&format!(
        "[[plugins.claim_mappers]]\nname = \"account-roles\"\nfile = \"{}\"\nwrites = [\"account\"]\n{patient}\
         [[plugins.claim_mappers]]\nname = \"saml-attributes\"\nfile = \"{}\"\nwrites = [\"attribute:*\"]\n{patient}",
        component("account-roles").display(),
        component("saml-attributes").display(),
    ))
}

/// Returns the settings of `[plugins]` with these entries, which are compiled once for all tests.
pub fn plugins(entries: &str) -> String {
    format!(
        "[plugins]\ncompiled_folder = \"{}\"\n{entries}",
        COMPILED.display()
    )
}
