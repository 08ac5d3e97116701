//! The server as a systemd service.

use tokio::net::UnixDatagram;

use crate::harness::{ServerProcess, in_time, temp_folder};

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
