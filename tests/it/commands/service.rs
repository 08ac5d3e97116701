//! The server as a systemd service.

use std::path::Path;

use serde_json::Value;
use tokio::net::UnixDatagram;

use crate::harness::{ServerProcess, Text, in_time, read_file, temp_folder};

#[tokio::test]
async fn systemd_is_notified_when_the_server_serves_and_stops() {
    let folder = temp_folder();
    let socket = folder.path().join("notify");
    let systemd = UnixDatagram::bind(&socket).expect("a socket");
    let notification = async || {
        let mut text = [0; 64];
        let length = in_time(systemd.recv(&mut text)).await.expect("a message");
        String::from_utf8_lossy(&text[..length]).trim().to_owned()
    };
    let settings = "[database]\nurl = \"sqlite://assent.db\"\n";
    let variable = ("NOTIFY_SOCKET", socket.as_path());
    let server = ServerProcess::start_with(folder.path(), settings, variable).await;
    assert_eq!(notification().await, "READY=1");
    server.signal("TERM").await;
    assert_eq!(notification().await, "STOPPING=1");
    assert!(server.ended().await.success());
}

/// Returns a file of the Debian package.
fn packaged(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    read_file(root.join("packaging/debian").join(name))
}

/// Returns the values of an option of the unit, in their order.
fn options<'a>(unit: &'a str, name: &str) -> Vec<&'a str> {
    unit.lines()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix('='))
        .collect()
}

/// Returns whether the filter permits chown(2): each line adds system calls to the permitted ones, or removes them
/// (systemd.exec(5)). These groups contain chown.
fn permits_chown(unit: &str) -> bool {
    let mut is_permitted = false;
    for line in options(unit, "SystemCallFilter") {
        let (adds, names) = match line.strip_prefix('~') {
            Some(names) => (false, names),
            None => (true, line),
        };
        let mut names = names.split_whitespace();
        if names.any(|name| ["@system-service", "@privileged", "@chown", "chown"].contains(&name)) {
            is_permitted = adds;
        }
    }
    is_permitted
}

/// The server creates its socket below `/run`, and gives it to the group of the proxy.
#[test]
fn the_unit_permits_the_socket_of_the_shipped_settings() {
    let unit = packaged("assent.service");
    let settings: Value = toml::from_str(&packaged("assent.toml")).expect("settings");
    let listen = settings["http"]["listen"].text();
    let group = settings["http"]["socket_group"].text();
    let [folder] = options(&unit, "RuntimeDirectory")[..] else {
        panic!("one folder below /run");
    };
    assert!(
        listen.starts_with(&format!("unix:/run/{folder}/")),
        "{listen}"
    );
    assert!(
        permits_chown(&unit),
        "the server cannot give its socket to {group}"
    );
    let before = "SystemCallFilter=@system-service\nSystemCallFilter=~@privileged";
    assert!(!permits_chown(before), "@privileged contains chown");
    // Without a capability, the server can choose only a group of its user.
    let [user] = options(&unit, "User")[..] else {
        panic!("one user");
    };
    let member = format!("m {user} {group}");
    let users = packaged("assent.sysusers");
    assert!(users.lines().any(|line| line == member), "{member}");
}
