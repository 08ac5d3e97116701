//! The server on a Unix socket: permissions, restarts, the headers of a proxy, the commands of the machine, and a real
//! Caddy in front.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openssl::x509::X509;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::harness::tls::{certificate_of, client_builder, files};
use crate::harness::{
    Body, EncodedCertificate, Respond, Run, ServerProcess, Text, binary, free_port, id, in_time,
    read_file, temp_folder, utf8, write_file,
};
use crate::programs::target;

/// Writes settings with a socket. Returns its path.
fn settings(folder: &Path) -> PathBuf {
    settings_with(folder, "")
}

/// Does the same with additional lines of the table `[http]`.
fn settings_with(folder: &Path, http: &str) -> PathBuf {
    let socket = folder.join("run/assent.sock");
    let port = free_port();
    let text = format!(
        "base_url = \"http://localhost:{port}\"\n[http]\nlisten = \"unix:{}\"\n{http}[bootstrap]\n\
         administrator = \"admin\"\n\
         [rate_limits]\nlogin_pages_per_ip = {{ per_minute = 1, burst = 2 }}\n",
        socket.display()
    );
    write_file(folder.join("assent.toml"), text);
    socket
}

async fn start(folder: &Path) -> ServerProcess {
    let mut command = Command::new(binary("assent"));
    command
        .args(["serve", "--config", "assent.toml"])
        .current_dir(folder)
        .stderr(Stdio::null());
    ServerProcess::start_by(&mut command, String::new()).await
}

fn client(socket: &Path) -> Client {
    let client = Client::builder().no_proxy().unix_socket(socket);
    client.build().expect("a client")
}

async fn connection(client: &Client, forwarded: Option<&str>) -> Value {
    let mut request = client.get("http://localhost/connection");
    if let Some(forwarded) = forwarded {
        request = request.header("x-forwarded-for", forwarded);
    }
    request.response().await.read_json().await
}

async fn assent(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(binary("assent"));
    command
        .args(arguments)
        .args(["--config", "assent.toml"])
        .current_dir(folder)
        .kill_on_drop(true);
    command.finish().await
}

#[tokio::test]
async fn a_socket_admits_its_group_and_trusts_its_peers() {
    let folder = temp_folder();
    let folder = folder.path();
    let socket = settings(folder);
    let server = start(folder).await;
    let metadata = socket.symlink_metadata().expect("a socket");
    assert!(metadata.file_type().is_socket());
    assert_eq!(metadata.mode() & 0o777, 0o660);
    let client = client(&socket);
    // The proxy names the client. A part that the client itself sent comes before.
    let named = connection(&client, Some("198.51.100.1, 203.0.113.9")).await;
    assert_eq!(named["client_address"], "203.0.113.9");
    assert_eq!(named["forwarded_for"], "used");
    let unknown = connection(&client, None).await;
    assert_eq!(unknown["client_address"], Value::Null);
    assert_eq!(unknown["forwarded_for"], "absent");

    // Requests without an address share limits of their own.
    let page = async |forwarded: Option<&str>| -> StatusCode {
        let mut request = client.get("http://localhost/sign-in");
        if let Some(forwarded) = forwarded {
            request = request.header("x-forwarded-for", forwarded);
        }
        request.response().await.status()
    };
    let mut limited = false;
    for _ in 0..4 {
        limited |= page(None).await == StatusCode::TOO_MANY_REQUESTS;
    }
    assert!(limited, "they have a limit");
    let other = page(Some("203.0.113.9")).await;
    assert_ne!(other, StatusCode::TOO_MANY_REQUESTS);

    // The commands of this machine use the socket.
    let health = assent(folder, &["health"]).await;
    assert!(health.status.success(), "{health:?}");
    let users = assent(folder, &["users", "list", "--quiet"]).await;
    assert!(users.status.success(), "{users:?}");
    let doctor = assent(folder, &["doctor"]).await;
    let findings = String::from_utf8_lossy(&doctor.stdout).into_owned();
    let expected = format!(
        "ok       socket: the server listens at {}",
        socket.display()
    );
    assert!(findings.contains(&expected), "{findings}");

    // Another server does not take the socket of a running one. A stopped one leaves a file, which is replaced.
    let second = assent(folder, &["serve"]).await;
    assert_eq!(second.status.code(), Some(1));
    let message = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(message.contains("cannot listen on unix:"), "{message}");
    server.signal("KILL").await;
    server.ended().await;
    assert!(socket.exists(), "the file of the ended server");
    let third = start(folder).await;
    assert_eq!(connection(&client, None).await["forwarded_for"], "absent");
    drop(third);
}

/// The proxy performs the handshake, so its header is the proof of the client's key.
#[tokio::test]
async fn a_proxy_at_the_socket_forwards_the_certificate_of_the_client() {
    const SETTING: &str = "client_cert_header = true\n";
    let folder = temp_folder();
    let folder = folder.path();
    let socket = settings_with(folder, SETTING);
    let server = start(folder).await;
    let [books, stranger] = ["books", "stranger"].map(|name| certificate_of(name).0);
    let token = assent(folder, &["admin", "token"]).await;
    assert!(token.status.success(), "{token:?}");
    let body = json!({
        "name": "Books", "application_type": "web", "redirect_uris": ["https://rp.example/cb"],
        "token_endpoint_auth_method": "tls_client_certificate", "certificate": books.pem(),
    });
    let created = client(&socket)
        .post("http://localhost/admin/api/v1/applications")
        .bearer_auth(utf8(token.stdout).trim())
        .json(&body);
    let application: Value = created.response().await.read_json().await;
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", id(&application)),
        ("scope", "openid"),
    ];
    let ask = async |certificate: Option<&X509>| {
        let mut request = client(&socket)
            .post("http://localhost/oidc/token")
            .header("x-forwarded-for", "203.0.113.9")
            .form(&form);
        if let Some(certificate) = certificate {
            let header = format!(":{}:", STANDARD.encode(certificate.der()));
            request = request.header("client-cert", header);
        }
        request.response().await.status()
    };
    let methods = async || {
        let url = "http://localhost/oidc/.well-known/openid-configuration";
        let document: Value = client(&socket).get(url).response().await.read_json().await;
        document["token_endpoint_auth_methods_supported"].to_string()
    };
    assert_eq!(ask(None).await, StatusCode::UNAUTHORIZED);
    assert_eq!(ask(Some(&stranger)).await, StatusCode::UNAUTHORIZED);
    assert_eq!(ask(Some(&books)).await, StatusCode::OK);
    let listed = methods().await;
    assert!(listed.contains("tls_client_certificate"), "{listed}");

    // Without the setting the server ignores the header.
    server.signal("INT").await;
    server.ended().await;
    let file = folder.join("assent.toml");
    let without = read_file(&file).replace(SETTING, "");
    write_file(&file, without);
    let server = start(folder).await;
    assert_eq!(ask(Some(&books)).await, StatusCode::UNAUTHORIZED);
    let listed = methods().await;
    assert!(!listed.contains("tls_client_certificate"), "{listed}");
    drop(server);
}

#[tokio::test]
async fn the_doctor_reports_secrets_that_others_can_read() {
    use std::os::unix::fs::PermissionsExt;

    let folder = temp_folder();
    let folder = folder.path();
    settings(folder);
    let file = folder.join("environment");
    write_file(&file, "ASSENT__MAIL__PASSWORD=x\n");
    for (mode, level) in [(0o644, "problem"), (0o640, "problem"), (0o600, "ok")] {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&file, permissions).expect("permissions");
        let doctor = assent(folder, &["doctor", "--json"]).await;
        let findings: Value = serde_json::from_slice(&doctor.stdout).expect("JSON");
        let found = findings.as_array().expect("a list").iter();
        let found: Vec<&str> = found
            .filter(|one| one["check"] == "environment")
            .map(|one| one["level"].text())
            .collect();
        assert_eq!(found, [level], "{mode:o}");
    }
}

#[tokio::test]
async fn caddy_forwards_to_the_socket() {
    let folder = temp_folder();
    let folder = folder.path();
    let socket = settings(folder);
    let server = start(folder).await;
    let (certificate, key) = certificate_of("localhost");
    files(folder, &certificate, &key);
    let port = free_port();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/proxies");
    let text = read_file(root.join("Caddyfile.one-instance"));
    let place = folder.display();
    let text = text
        .replace("/run/assent/assent.sock", &socket.display().to_string())
        .replace(
            "id.example.org {\n",
            &format!(
                "{{\nadmin off\nauto_https disable_redirects\n}}\nhttps://localhost:{port} {{\n\
                 tls {place}/certificate.pem {place}/key.pem\n"
            ),
        );
    let file = folder.join("Caddyfile");
    write_file(&file, text);
    let mut caddy = Command::new(target().join("proxies/usr/bin/caddy"));
    caddy
        .args(["run", "--adapter", "caddyfile", "--config"])
        .arg(&file)
        .env("HOME", folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let caddy = caddy.start();
    let client = client_builder(&certificate, None)
        .build()
        .expect("a client");
    let url = format!("https://localhost:{port}/connection");
    let shown = in_time(async {
        loop {
            let sent = client
                .get(&url)
                .header("x-forwarded-for", "192.0.2.77")
                .send()
                .await;
            match sent {
                Ok(answer) if answer.status() == StatusCode::OK => break answer,
                _ => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
            }
        }
    })
    .await;
    let shown: Value = shown.read_json().await;
    let address = shown["client_address"].text();
    assert!(["127.0.0.1", "::1"].contains(&address), "{shown}");
    assert_eq!(shown["forwarded_for"], "used");
    drop((caddy, server));
}
