//! The audit stream to files and syslog receivers that fail and recover.

use assent_test_macros::both_databases;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use assent::domain::audit::verify::verify_export;
use assent_model::audit::jsonl;
use assent_store::{Retention, Store};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::{TcpListener, UdpSocket, UnixDatagram, UnixListener};

use super::all_records;
use crate::harness::{
    Body, Database, HostOptions, PATIENCE, Parsed, Respond, TestHost, http_client, in_time,
    read_file, temp_folder, utf8,
};

/// Waits until `look` returns a value.
async fn wait_until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, looking)
        .await
        .unwrap_or_else(|_| panic!("in time: {what}"))
}

/// Returns the position of the last entry. Consecutive writes use one lane.
async fn last_seq(store: &Store) -> i64 {
    assert_eq!(store.audit_lanes().await.expect("read"), [1]);
    let head = store.audit_head(1).await.expect("read");
    head.map_or(0, |head| head.mark.seq)
}

async fn head(host: &TestHost) -> i64 {
    last_seq(&host.host.store).await
}

fn lines(file: &Path) -> usize {
    std::fs::read_to_string(file).map_or(0, |text| text.lines().count())
}

/// Waits until a file has `count` lines.
async fn wait_for_lines(file: &Path, count: i64) {
    let count = usize::try_from(count).expect("few");
    wait_until("lines", async || (lines(file) >= count).then_some(())).await;
}

/// Waits until the stream's stored position is the last entry.
async fn wait_for_entry(host: &TestHost, stream: &str) {
    wait_until("the last entry is sent", async || {
        let positions = host.host.store.audit_stream(stream).await.expect("read");
        (positions?.get(1) == head(host).await).then_some(())
    })
    .await;
}

/// Returns the position in a syslog message. The text of the message is a line of an export.
fn seq_of(message: &str) -> i64 {
    assert!(message.starts_with("<110>1 20"), "{message}");
    let (_, line) = message.split_once('\u{feff}').expect("a text");
    let record = jsonl::read(line).expect("an entry");
    let (lane, seq) = (record.lane, record.seq);
    assert!(
        message.contains(&format!("[assent@32473 lane=\"{lane}\" seq=\"{seq}\" ")),
        "{message}"
    );
    seq
}

/// Checks that the entries are complete and in order, except for repetitions.
fn assert_whole(seqs: &[i64], last: i64) {
    let mut next = 1;
    for seq in seqs {
        assert!(*seq <= next, "{next} is missing before {seq}: {seqs:?}");
        next = next.max(seq + 1);
    }
    assert_eq!(next, last + 1, "{seqs:?}");
}

#[both_databases]
async fn a_stream_file_has_each_entry_and_may_be_rotated(database: Database) {
    let folder = temp_folder();
    let file = folder.path().join("audit.jsonl");
    let settings = format!("[audit.stream]\nfile = \"{}\"", file.display());
    let mut host = TestHost::start_on_with(database, &settings).await;
    for name in ["a", "b", "c"] {
        host.user(name).await;
    }
    let first = head(&host).await;
    wait_for_lines(&file, first).await;
    assert_eq!(
        std::fs::metadata(&file)
            .expect("a file")
            .permissions()
            .mode()
            & 0o777,
        0o600
    );
    let moved = folder.path().join("audit.jsonl.1");
    std::fs::rename(&file, &moved).expect("moved");
    host.user("d").await;
    wait_for_lines(&file, head(&host).await - first).await;

    // The stream continues after a restart. It would repeat entries that were sent but not yet recorded as sent.
    host.user("e").await;
    wait_for_lines(&file, head(&host).await - first).await;
    wait_for_entry(&host, "file").await;
    let (_, running, base) = {
        host.stop().await;
        host.advance(31);
        host.second(HostOptions {
            database,
            settings: &settings,
            ..HostOptions::default()
        })
        .await
    };
    let user = http_client()
        .post(format!("{base}/admin/api/v1/users"))
        .bearer_auth(&host.token);
    assert!(
        user.json(&serde_json::json!({"name": "f"}))
            .response()
            .await
            .status()
            .is_success()
    );
    let last = last_seq(&running.services.store).await;
    wait_for_lines(&file, last - first).await;
    let all = read_file(&moved) + &read_file(&file);
    let verdict = verify_export(all.as_bytes()).expect("readable");
    assert_eq!(
        (verdict.broken, verdict.heads.seq(1)),
        (None, last),
        "{database:?}"
    );
    assert_eq!(
        all.lines().count(),
        usize::try_from(last).expect("few"),
        "{database:?}: each once"
    );
    running.stop().await;
}

#[tokio::test]
async fn one_instance_streams_at_a_time_and_another_takes_over() {
    let folder = temp_folder();
    let file = folder.path().join("audit.jsonl");
    let settings = format!("[audit.stream]\nfile = \"{}\"", file.display());
    let options = HostOptions {
        database: Database::Postgres,
        settings: &settings,
        ..HostOptions::default()
    };
    let mut host = TestHost::start_with(options).await;
    let (_, running, base) = host.second(options).await;
    for number in 0..20 {
        host.user(&format!("user{number}")).await;
    }
    let first = head(&host).await;
    wait_for_lines(&file, first).await;
    assert_eq!(
        lines(&file),
        usize::try_from(first).expect("few"),
        "each once"
    );
    host.stop().await;
    host.advance(31);
    let user = http_client()
        .post(format!("{base}/admin/api/v1/users"))
        .bearer_auth(&host.token);
    assert!(
        user.json(&serde_json::json!({"name": "later"}))
            .response()
            .await
            .status()
            .is_success()
    );
    wait_for_lines(&file, first + 1).await;
    running.stop().await;
}

#[tokio::test]
async fn syslog_over_udp_receives_each_entry_after_an_outage() {
    let mut receiver = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    let address = receiver.local_addr().expect("an address");
    let settings = format!("[audit.stream]\nsyslog = \"udp://{address}\"");
    let host = TestHost::start_with_settings(&settings).await;
    host.user("a").await;
    let mut seqs = Vec::new();
    let mut buffer = vec![0; 70_000];
    let mut first = async |receiver: &mut UdpSocket, seqs: &mut Vec<i64>, last: i64| {
        while seqs.last() != Some(&last) {
            let length = in_time(receiver.recv(&mut buffer)).await;
            seqs.push(seq_of(
                std::str::from_utf8(&buffer[..length.expect("a message")]).expect("UTF-8"),
            ));
        }
    };
    first(&mut receiver, &mut seqs, head(&host).await).await;
    drop(receiver);
    // The instance detects the loss of the first entry when it sends the second.
    host.user("b").await;
    wait_for_entry(&host, "syslog").await;
    host.user("c").await;
    wait_until("the outage is detected", async || {
        (host.host.audit_streams.statuses()["syslog"].up == Some(false)).then_some(())
    })
    .await;
    let mut receiver = UdpSocket::bind(address).await.expect("the port");
    first(&mut receiver, &mut seqs, head(&host).await).await;
    assert_whole(&seqs, head(&host).await);
    let back =
        async || (host.host.audit_streams.statuses()["syslog"].up == Some(true)).then_some(());
    wait_until("the stream is up again", back).await;
}

/// Reads the messages of one connection, each with its length before it.
async fn counted(stream: impl tokio::io::AsyncRead + Unpin, seqs: &mut Vec<i64>, last: i64) {
    let mut reader = BufReader::new(stream);
    while seqs.last() != Some(&last) {
        let message = async {
            let mut length = Vec::new();
            reader
                .read_until(b' ', &mut length)
                .await
                .expect("a length");
            let length = std::str::from_utf8(&length)
                .expect("digits")
                .trim_end()
                .parsed();
            let mut message = vec![0; length];
            reader.read_exact(&mut message).await.expect("a message");
            utf8(message)
        };
        seqs.push(seq_of(&in_time(message).await));
    }
}

#[both_databases]
async fn syslog_over_tcp_receives_each_entry_after_an_outage_without_delaying_requests(
    database: Database,
) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address: SocketAddr = listener.local_addr().expect("an address");
    let settings = format!("[audit.stream]\nsyslog = \"tcp://{address}\"");
    let host = TestHost::start_on_with(database, &settings).await;
    host.user("a").await;
    let mut seqs = Vec::new();
    let (stream, _) = listener.accept().await.expect("a connection");
    counted(stream, &mut seqs, head(&host).await).await;
    drop(listener);

    // No receiver listens, and no request waits for it.
    for name in ["b", "c", "d"] {
        in_time(host.user(name)).await;
    }
    wait_until("the outage is detected", async || {
        (host.host.audit_streams.statuses()["syslog"].up == Some(false)).then_some(())
    })
    .await;
    // Retention keeps entries that the stream has not received.
    let year = Duration::from_secs(86_400 * 365);
    let retention = Retention {
        logins: year,
        sessions: year,
        enrolments: year,
        admin_tokens: year,
        traces: year,
        receipts: year,
        audit: Duration::from_secs(60),
        streams: &["syslog"],
        denials: year,
    };
    // On PostgreSQL, retention drops a partition of one week at once.
    let later = host.host.now() + Duration::from_secs(20 * 86_400);
    host.host
        .store
        .apply_retention(retention, later)
        .await
        .expect("swept");
    let stored = all_records(&host.host.store).await;
    assert!(stored.len() >= 3, "{database:?}: {}", stored.len());

    let listener = TcpListener::bind(address).await.expect("the port");
    let (stream, _) = in_time(listener.accept()).await.expect("a connection");
    counted(stream, &mut seqs, head(&host).await).await;
    assert_whole(&seqs, head(&host).await);
    wait_for_entry(&host, "syslog").await;
    host.host
        .store
        .apply_retention(retention, later)
        .await
        .expect("swept");
    assert_eq!(
        all_records(&host.host.store).await.len(),
        0,
        "{database:?}: streamed entries may be deleted"
    );
}

#[tokio::test]
async fn syslog_over_local_stream_and_datagram_sockets() {
    let folder = temp_folder();
    let path = folder.path().join("log");
    let settings = format!("[audit.stream]\nsyslog = \"unix://{}\"", path.display());
    let receiver = UnixDatagram::bind(&path).expect("a socket");
    let host = TestHost::start_with_settings(&settings).await;
    host.user("a").await;
    let mut seqs = Vec::new();
    let mut buffer = vec![0; 70_000];
    while seqs.last() != Some(&head(&host).await) {
        let length = in_time(receiver.recv(&mut buffer)).await.expect("one");
        seqs.push(seq_of(
            std::str::from_utf8(&buffer[..length]).expect("UTF-8"),
        ));
    }
    drop(receiver);
    std::fs::remove_file(&path).expect("removed");
    host.user("b").await;
    wait_until("the outage is detected", async || {
        (host.host.audit_streams.statuses()["syslog"].up == Some(false)).then_some(())
    })
    .await;
    let listener = UnixListener::bind(&path).expect("a socket");
    let (stream, _) = in_time(listener.accept()).await.expect("a connection");
    counted(stream, &mut seqs, head(&host).await).await;
    assert_whole(&seqs, head(&host).await);
}

#[tokio::test]
async fn an_unreachable_receiver_appears_in_the_metrics() {
    let folder = temp_folder();
    let settings = format!(
        "[metrics]\nlisten = \"127.0.0.1:0\"\n[audit.stream]\nsyslog = \"unix://{}\"",
        folder.path().join("nobody").display()
    );
    let host = TestHost::start_with_settings(&settings).await;
    host.user("ada").await;
    wait_until("the metrics show the outage", async || {
        let answer = http_client().get(host.metrics_url()).response().await;
        let text = answer.read_text().await;
        let seen = text.contains("assent_audit_stream_up{stream=\"syslog\"} 0.0\n")
            && text.contains("assent_audit_stream_sent_entries_total{stream=\"syslog\"} 0\n")
            && text.contains("assent_audit_stream_lag_entries{stream=\"syslog\"} 2.0\n");
        seen.then_some(())
    })
    .await;
}
