//! The proxy configurations of the book, with a real nginx and a real Caddy in front of two instances.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openssl::x509::X509;
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use assent::app;
use assent::app::serve::RunningServer;
use assent::domain::Services;
use assent::http::{self, Front, Listener, NewConnectionBounds};
use assent_tests::flows::postgres_server::is_root;

use crate::harness::tls::{certificate_of, client_builder, files};
use crate::harness::{
    Body, Browser, Database, EncodedCertificate, HostOptions, Respond, TestHost, Text, free_port,
    id, in_time, read_file, temp_folder, write_file,
};
use crate::programs::target;

#[tokio::test]
async fn nginx_forwards_requests() {
    check(Program::Nginx).await;
}

#[tokio::test]
async fn caddy_forwards_requests() {
    check(Program::Caddy).await;
}

#[tokio::test]
async fn caddy_forwards_requests_to_one_instance() {
    let folder = temp_folder();
    let path = folder.path().join("assent.sock");
    let host = TestHost::start_with_settings(&socket_settings(&path)).await;
    let requests = async {
        let socket = InstanceSocket::open(&host.host).await;
        let proxy = Proxy::start(Program::CaddyForOne, [&socket.path, &socket.path]).await;
        names_the_client(&proxy).await;
    };
    with_running_clock(&host, requests).await;
}

async fn check(program: Program) {
    let folder = temp_folder();
    let settings = ["first.sock", "second.sock"]
        .map(|name| socket_settings(&folder.path().join(name)) + "client_cert_header = true\n");
    let [first, second] = settings.each_ref().map(|settings| HostOptions {
        database: Database::Postgres,
        settings,
        ..HostOptions::default()
    });
    let host = TestHost::start_with(first).await;
    let (second_services, second, _) = host.second(second).await;
    let requests = async {
        let first_socket = InstanceSocket::open(&host.host).await;
        let second_socket = InstanceSocket::open(&second_services).await;
        let proxy = Proxy::start(program, [&first_socket.path, &second_socket.path]).await;
        names_the_client(&proxy).await;
        uses_https(&proxy).await;
        limits_bodies(program, &host, &proxy).await;
        sends_events([&host.host, &second_services], &host, &proxy).await;
        proves_certificates(&host, &proxy).await;
        let second = (second, second_socket);
        stops_without_errors(&second_services, second, &proxy).await;
    };
    with_running_clock(&host, requests).await;
}

/// Returns the settings of an instance behind a proxy of the same machine.
fn socket_settings(path: &Path) -> String {
    format!("[http]\nlisten = \"unix:{}\"\n", path.display())
}

/// The socket of an instance. The proxy uses only the socket, and the rest of the test the port of the harness.
struct InstanceSocket {
    path: PathBuf,
    stop: oneshot::Sender<()>,
    server: JoinHandle<()>,
}

impl InstanceSocket {
    /// Serves the instance at the socket of its settings.
    async fn open(services: &Arc<Services>) -> Self {
        let settings = &services.settings.http;
        let path = settings.listen.socket().expect("a socket").to_owned();
        let ports = app::listen::listen(&services.settings).await;
        let listener = Listener {
            socket: ports.expect("a socket").main,
            tls: None,
            most_connections: 1000,
            newcomers: NewConnectionBounds {
                most_of_network: 1000,
                patience: settings.first_request_timeout.get(),
                exempt: Vec::new(),
            },
            head_timeout: settings.head_timeout.get(),
            write_timeout: settings.write_timeout.get(),
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async { drop(stopped.await) };
        let front = Front::new(Arc::clone(services));
        let server = tokio::spawn(http::serve(listener, front, stopped));
        Self { path, stop, server }
    }

    /// Returns the number of connections to the socket.
    fn open_connections(&self) -> usize {
        /// The state of the listener itself.
        const LISTENING: &str = "01";
        let path = self.path.to_str().expect("a path");
        read_file("/proc/net/unix")
            .lines()
            .filter(|line| {
                let mut fields = line.split_whitespace().skip(5);
                let state = fields.next();
                // The server gave the socket its final name afterwards.
                let is_this = fields.nth(1).is_some_and(|name| name.starts_with(path));
                is_this && state != Some(LISTENING)
            })
            .count()
    }

    /// Closes the socket like an instance that ends: the file remains.
    async fn close(self) {
        let _ = self.stop.send(());
        self.server.await.expect("served");
    }
}

/// Caddy sends requests only to instances that are ready, and an instance is not ready if its clock differs from the
/// database's clock.
async fn with_running_clock(host: &TestHost, requests: impl Future<Output = ()>) {
    tokio::select! {
        () = host.keep_time() => {}
        () = requests => {}
    }
}

/// An instance drains and stops, and each request has a response. `http.drain_time` is longer than the time for which
/// the proxy keeps idle connections.
async fn stops_without_errors(
    draining: &Services,
    (instance, socket): (RunningServer, InstanceSocket),
    proxy: &Proxy,
) {
    draining.draining.begin();
    in_time(async {
        while socket.open_connections() > 0 {
            is_answered(proxy).await;
            tokio::time::sleep(TICK).await;
        }
    })
    .await;
    socket.close().await;
    instance.stop().await;
    for _ in 0..20 {
        is_answered(proxy).await;
    }
}

async fn is_answered(proxy: &Proxy) {
    let client = proxy.client();
    let url = proxy.url("/oidc/.well-known/openid-configuration");
    let read = client.get(url).response().await.status();
    assert_eq!(read, StatusCode::OK, "{}", proxy.log());
    // A request without a client has a response of the server, and counts for no limit.
    let form = [("grant_type", "client_credentials")];
    let sent = client.post(proxy.url("/oidc/token")).form(&form);
    let sent = sent.response().await.status();
    assert_eq!(sent, StatusCode::BAD_REQUEST, "{}", proxy.log());
}

/// The client cannot choose its address or the request id.
async fn names_the_client(proxy: &Proxy) {
    let response = proxy
        .client()
        .get(proxy.url("/connection"))
        .header("x-forwarded-for", "203.0.113.9")
        .header("x-request-id", "forged")
        .response()
        .await;
    assert_ne!(response.headers()["x-request-id"], "forged");
    let connection: Value = response.read_json().await;
    assert_eq!(
        connection,
        json!({"client_address": "127.0.0.2", "forwarded_for": "used"})
    );
}

async fn uses_https(proxy: &Proxy) {
    let client = proxy.client();
    let plain = format!("http://localhost:{}/admin?x=1", proxy.ports[1]);
    let redirect = client.get(plain).response().await;
    assert_eq!(redirect.status(), StatusCode::PERMANENT_REDIRECT);
    assert_eq!(
        redirect.headers()["location"],
        "https://id.example.org/admin?x=1"
    );
    for path in ["/", "/oidc/jwks", "/nothing"] {
        let response = client.get(proxy.url(path)).response().await;
        let all = response.headers().get_all("strict-transport-security");
        let all: Vec<&str> = all.iter().map(Text::text).collect();
        assert_eq!(all, ["max-age=31536000"], "{path}");
    }
}

/// Only the admin API receives bodies of more than 64 KiB.
async fn limits_bodies(program: Program, host: &TestHost, proxy: &Proxy) {
    let post = async |path: &str, size: usize| {
        let request = proxy
            .client()
            .post(proxy.url(path))
            .bearer_auth(&host.token);
        let request = request
            .header("content-type", "application/json")
            .header("expect", "100-continue")
            .body("a".repeat(size));
        request.response().await.status()
    };
    for _ in 0..3 {
        let status = post("/oidc/token", 70 << 10).await;
        // If Caddy's own limit ends the request, its status is 502.
        let is_limit = matches!(program, Program::Caddy) && status == StatusCode::BAD_GATEWAY;
        assert!(
            is_limit || status == StatusCode::PAYLOAD_TOO_LARGE,
            "{status}"
        );
    }
    let status = post("/admin/api/v1/plans", 1 << 20).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "the server read the body");
}

/// The event of an approval reaches a page that waits at either instance.
async fn sends_events(instances: [&Services; 2], host: &TestHost, proxy: &Proxy) {
    let ada = host.ada().await;
    let browser = Browser::new(&host.base);
    let page = ada.begin_sign_in(&browser, &[]).await;
    let events = proxy
        .client()
        .get(proxy.url(&format!("{}/events", page.path())))
        .header("cookie", browser.cookie_header());
    let approve = async {
        let waits = || instances.iter().any(|one| one.store.waiting_requests() > 0);
        while !waits() {
            tokio::time::sleep(TICK).await;
        }
        ada.approve(&page).await;
    };
    // With HTTP/2, nginx may send the head of the response together with the first event.
    let (events, ()) = in_time(async { tokio::join!(events.response(), approve) }).await;
    assert_eq!(events.headers()["content-type"], "text/event-stream");
    let received = in_time(events.text()).await.expect("a response");
    assert!(received.contains("event: changed"), "{received}");
}

/// The proxy replaces the header with the certificate of the client that has proved its key.
async fn proves_certificates(host: &TestHost, proxy: &Proxy) {
    let [books, stranger] = &["books", "stranger"].map(certificate_of);
    let body = json!({
        "name": "Books", "application_type": "web", "redirect_uris": ["https://rp.example/cb"],
        "token_endpoint_auth_method": "tls_client_certificate", "certificate": books.0.pem(),
    });
    let application = host.admin_ok(Method::POST, "/applications", body).await;
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", id(&application)),
        ("scope", "openid"),
    ];
    let header = format!(":{}:", STANDARD.encode(books.0.to_der().expect("DER")));
    let token = async |url: String, own: Option<&_>, header: Option<&str>| {
        let client = client_builder(&proxy.certificate, own);
        let client = client.build().expect("a client");
        let mut request = client.post(url).form(&form);
        if let Some(header) = header {
            request = request.header("client-cert", header);
        }
        let response = request.send().await.ok()?;
        let status = response.status();
        let body = response.read_text().await;
        assert!(
            !status.is_server_error(),
            "{status}: {body}\n{}",
            proxy.log()
        );
        Some(status)
    };
    let mtls = || proxy.mtls_url("/oidc/token");
    assert_eq!(token(mtls(), Some(books), None).await, Some(StatusCode::OK));
    let forged = Some(header.as_str());
    for own in [None, Some(stranger)] {
        // Caddy ends the handshake of a client without a certificate.
        let status = token(mtls(), own, forged).await;
        assert!(
            status == Some(StatusCode::UNAUTHORIZED) || (own.is_none() && status.is_none()),
            "{status:?}"
        );
    }
    let main = proxy.url("/oidc/token");
    let status = token(main, Some(books), forged).await;
    assert_eq!(status, Some(StatusCode::UNAUTHORIZED));
    let elsewhere = client_builder(&proxy.certificate, Some(books)).build();
    let elsewhere = elsewhere.expect("a client").get(proxy.mtls_url("/admin"));
    assert_eq!(elsewhere.response().await.status(), StatusCode::NOT_FOUND);
}

/// The interval between two checks of a program.
const TICK: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug)]
enum Program {
    Nginx,
    Caddy,
    CaddyForOne,
}

/// A running proxy in front of two instances.
struct Proxy {
    process: Child,
    /// Deleted at the end of the test.
    _folder: tempfile::TempDir,
    /// The file with its errors.
    errors: PathBuf,
    certificate: X509,
    /// The ports for browsers, for plain HTTP, and for applications with a client certificate.
    ports: [u16; 3],
}

impl Proxy {
    /// Starts the proxy with its file from `packaging/proxies`. Only names, paths and ports differ from the file.
    async fn start(program: Program, instances: [&Path; 2]) -> Self {
        for _ in 0..8 {
            let folder = temp_folder();
            let (certificate, key) = certificate_of("proxy");
            files(folder.path(), &certificate, &key);
            let ports = [free_port(), free_port(), free_port()];
            let (process, errors) = program.start(folder.path(), ports, instances);
            let mut proxy = Self {
                process,
                _folder: folder,
                errors,
                certificate,
                ports,
            };
            // Another program may take a port first.
            if proxy.is_up().await {
                return proxy;
            }
        }
        panic!("{program:?} found no free port");
    }

    /// Returns whether the proxy forwards requests.
    async fn is_up(&mut self) -> bool {
        let client = self.client();
        in_time(async {
            loop {
                if let Some(ended) = self.process.try_wait().expect("a process") {
                    let log = self.log();
                    assert!(
                        log.to_lowercase().contains("address already in use"),
                        "the proxy ended with {ended}: {log}"
                    );
                    return false;
                }
                let ready = client.get(self.url("/readyz")).send().await;
                if ready.is_ok_and(|response| response.status().is_success()) {
                    return true;
                }
                tokio::time::sleep(TICK).await;
            }
        })
        .await
    }

    fn log(&self) -> String {
        read_file(&self.errors)
    }

    /// A client with an address that is not in `http.trusted_proxies`.
    fn client(&self) -> Client {
        let builder = client_builder(&self.certificate, None);
        let builder = builder.local_address(Some([127, 0, 0, 2].into()));
        builder.build().expect("a client")
    }

    fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.ports[0])
    }

    fn mtls_url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.ports[2])
    }
}

impl Program {
    /// The file in `packaging/proxies`.
    fn file(self) -> &'static str {
        match self {
            Self::Nginx => "nginx.conf",
            Self::Caddy => "Caddyfile",
            Self::CaddyForOne => "Caddyfile.one-instance",
        }
    }

    /// Returns the texts of the file that differ in this test.
    fn replacements(
        self,
        folder: &Path,
        [main, plain, mtls]: [u16; 3],
        [first, second]: [&Path; 2],
    ) -> Vec<(&'static str, String)> {
        let place = folder.display();
        let second = ("/run/assent-2/assent.sock", second.display().to_string());
        let mut all = vec![("/run/assent/assent.sock", first.display().to_string())];
        match self {
            Self::Nginx => all.extend([
                second,
                ("user www-data;\n", String::new()),
                ("pid /run/nginx.pid", format!("pid {place}/nginx.pid")),
                ("/var/log/nginx", place.to_string()),
                ("/etc/nginx/tls/fullchain", format!("{place}/certificate")),
                ("/etc/nginx/tls/privkey", format!("{place}/key")),
                ("        listen [::]:80;\n", String::new()),
                ("        listen [::]:443 ssl http2;\n", String::new()),
                ("        listen [::]:8443 ssl http2;\n", String::new()),
                ("listen 80;", format!("listen 127.0.0.1:{plain};")),
                ("listen 443", format!("listen 127.0.0.1:{main}")),
                ("listen 8443", format!("listen 127.0.0.1:{mtls}")),
                (
                    "    server_tokens off;\n",
                    ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
                        .map(|kind| format!("    {kind}_temp_path {place}/{kind};\n"))
                        .concat(),
                ),
                (
                    "server_name id.example.org",
                    "server_name localhost".to_owned(),
                ),
            ]),
            Self::Caddy => all.extend([
                second,
                ("/var/lib/caddy", place.to_string()),
                ("/etc/caddy/tls/fullchain", format!("{place}/certificate")),
                ("/etc/caddy/tls/privkey", format!("{place}/key")),
                (
                    "http://id.example.org:80 ",
                    format!("http://localhost:{plain} "),
                ),
                (
                    "https://id.example.org:443 ",
                    format!("https://localhost:{main} "),
                ),
                (
                    "https://id.example.org:8443 ",
                    format!("https://localhost:{mtls} "),
                ),
            ]),
            // No ACME server can check this host name.
            Self::CaddyForOne => all.push((
                "id.example.org {\n",
                format!(
                    "{{\nadmin off\nauto_https disable_redirects\n}}\nhttps://localhost:{main} {{\n\
                     tls {place}/certificate.pem {place}/key.pem\n"
                ),
            )),
        }
        all
    }

    /// Starts the program. Returns the process and the file with its errors.
    fn start(self, folder: &Path, ports: [u16; 3], instances: [&Path; 2]) -> (Child, PathBuf) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/proxies");
        let mut text = read_file(root.join(self.file()));
        for (from, to) in self.replacements(folder, ports, instances) {
            assert!(text.contains(from), "{from} is not in {}", self.file());
            text = text.replace(from, &to);
        }
        let file = folder.join(self.file());
        write_file(&file, text);
        let mut command = match self {
            Self::Nginx => {
                let mut command = Command::new(target().join("proxies/usr/sbin/nginx"));
                let user = match is_root() {
                    // A single process, which ends with the test.
                    true => "daemon off; master_process off; user root;",
                    false => "daemon off; master_process off;",
                };
                command
                    .arg("-p")
                    .arg(folder)
                    .args(["-g", user, "-e", "stderr", "-c"]);
                command
            }
            Self::Caddy | Self::CaddyForOne => {
                let mut command = Command::new(target().join("proxies/usr/bin/caddy"));
                command.args(["run", "--adapter", "caddyfile", "--config"]);
                command
            }
        };
        let log = folder.join("errors.log");
        let errors = fs::File::create(&log).expect("a file");
        command
            .arg(&file)
            .env("HOME", folder)
            .env("XDG_DATA_HOME", folder)
            .env("XDG_CONFIG_HOME", folder)
            .stdout(Stdio::null())
            .stderr(errors)
            .kill_on_drop(true);
        let process = command
            .spawn()
            .unwrap_or_else(|error| panic!("{self:?}: {error}; run `make test`, which unpacks it"));
        (process, log)
    }
}
