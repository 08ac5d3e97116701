//! Full disks: of PostgreSQL's tables, and of SQLite's file. A small file system in memory serves as the disk.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assent_tests::flows::cluster::RECOVERY;
use assent_tests::flows::load::add;
use assent_tests::flows::postgres_server::{is_root, succeed};
use assent_tests::flows::{Cluster, PostgresServer, new_name};
use assent_tests::harness::{
    Admin, DatabaseUrl, Json, Run, ServerProcess, binary, temp_folder, utf8,
};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::sleep;

/// A file system of 64 MiB.
struct Disk {
    folder: TempDir,
}

impl Disk {
    fn mount() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("assent-disk.")
            .tempdir_in("/tmp")
            .expect("a folder");
        let mut mount = as_root("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64m,mode=0777", "none"]);
        succeed(mount.arg(folder.path()));
        Self { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn ballast(&self) -> PathBuf {
        self.path().join("ballast")
    }

    /// Fills the disk completely.
    fn fill(&self) {
        // `dd` ends with an error when the disk is full.
        let _ = Command::new("dd")
            .args(["if=/dev/zero", "bs=4k", "status=none"])
            .arg(format!("of={}", self.ballast().display()))
            .stderr(Stdio::null())
            .status();
    }

    fn free(&self) {
        std::fs::remove_file(self.ballast()).expect("the ballast");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = as_root("umount").arg("--lazy").arg(self.path()).status();
    }
}

fn as_root(program: &str) -> Command {
    match is_root() {
        true => Command::new(program),
        false => {
            let mut command = Command::new("sudo");
            command.args(["-n", program]);
            command
        }
    }
}

/// Adds users until one is not acknowledged, and returns the acknowledged ones.
async fn add_until_full(add: impl AsyncFn(&str) -> bool) -> Vec<String> {
    let mut added = Vec::new();
    for _ in 0..20_000 {
        let name = new_name();
        if !add(&name).await {
            return added;
        }
        added.push(name);
    }
    panic!("the disk does not get full");
}

/// Adds users until one is acknowledged. Then asserts that all acknowledged users exist.
async fn recover(
    admin: &Admin,
    mut added: Vec<String>,
    add: impl AsyncFn(&str) -> bool,
) -> Duration {
    let began = Instant::now();
    loop {
        let name = new_name();
        if add(&name).await {
            added.push(name);
            break;
        }
        assert!(began.elapsed() < RECOVERY, "no write succeeds");
        sleep(Duration::from_millis(100)).await;
    }
    let took = began.elapsed();
    for name in added {
        let path = format!("/users?q={name}&limit=200");
        let users = admin.admin_ok(Method::GET, &path, Value::Null).await;
        let is_there = |user: &Value| user["name"] == name.as_str();
        assert!(
            users["items"].items().iter().any(is_there),
            "{name} was acknowledged"
        );
    }
    took
}

pub async fn postgres() -> String {
    let disk = Disk::mount();
    let server = PostgresServer::start();
    let tables = disk.path().join("tables");
    std::fs::create_dir(&tables).expect("a folder");
    if is_root() {
        succeed(Command::new("chown").arg("postgres:").arg(&tables));
    }
    server.execute(&format!(
        "CREATE TABLESPACE small LOCATION '{}'",
        tables.display()
    ));
    let database = DatabaseUrl::create_at(&server.url(), "TABLESPACE small").await;
    let cluster = Cluster::start_on(temp_folder(), database).await;
    cluster.route_to_both();
    disk.fill();
    let added = add_until_full(async |name: &str| add(&cluster, name).await).await;
    let count = added.len();
    // The server still reads.
    cluster.admin_ok(Method::GET, "/users", Value::Null).await;
    disk.free();
    let took = recover(&cluster, added, async |name: &str| {
        add(&cluster, name).await
    })
    .await;
    cluster.expect_service(Instant::now()).await;
    cluster.verify_audit_log().await;
    format!(
        "{count} users acknowledged before, a write after {:.1} s",
        took.as_secs_f64()
    )
}

pub async fn sqlite() -> String {
    let disk = Disk::mount();
    let folder = disk.path().join("data");
    std::fs::create_dir(&folder).expect("a folder");
    let settings =
        "[database]\nurl = \"sqlite://assent.db\"\n[keys]\nmaster_key_file = \"master.key\"\n";
    let server = ServerProcess::start(&folder, "", settings, Stdio::null()).await;
    let assent = async |arguments: &[&str]| {
        let mut command = tokio::process::Command::new(binary("assent"));
        command.args(arguments).args(["--config", "assent.toml"]);
        let output = command.current_dir(&folder).finish().await;
        assert!(output.status.success(), "{output:?}");
        utf8(output.stdout)
    };
    let admin = Admin {
        base: server.base.clone(),
        token: assent(&["admin", "token"]).await.trim().to_owned(),
    };
    let add = async |name: &str| {
        let body = json!({"name": name, "email": format!("{name}@example.org"), "profile": {"name": "Grace"}});
        let (status, answer) = admin.admin(Method::POST, "/users", body).await;
        let is_expected =
            status == StatusCode::CREATED || status == StatusCode::SERVICE_UNAVAILABLE;
        assert!(is_expected, "{status} {answer}");
        status == StatusCode::CREATED
    };
    disk.fill();
    let added = add_until_full(add).await;
    let count = added.len();
    admin.admin_ok(Method::GET, "/users", Value::Null).await;
    disk.free();
    let took = recover(&admin, added, add).await;
    assent(&["audit", "verify"]).await;
    format!(
        "{count} users acknowledged before, a write after {:.1} s",
        took.as_secs_f64()
    )
}
