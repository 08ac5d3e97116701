//! The streams of the audit log, to real files and real receivers, which go away and come back.

use assent_test_macros::both_databases;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use assent::domain::audit::verify_export;
use assent_model::audit::jsonl;
use assent_store::Retention;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::{TcpListener, UdpSocket, UnixDatagram, UnixListener};

use crate::harness::{Database, HostOptions, PATIENCE, TestHost, http_client};

/// Waits until something is so.
async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
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

/// The position of the last entry.
async fn head(host: &TestHost) -> i64 {
    host.host.store.audit_stream("any").await.expect("read").1
}

fn lines(file: &Path) -> usize {
    std::fs::read_to_string(file).map_or(0, |text| text.lines().count())
}

/// Waits until a file has so many lines.
async fn until_lines(file: &Path, count: i64) {
    let count = usize::try_from(count).expect("few");
    until("lines", async || (lines(file) >= count).then_some(())).await;
}

/// Waits until it is noted that a stream has come to the last entry.
async fn until_noted(host: &TestHost, stream: &str) {
    until("noted", async || {
        let (seq, head) = host.host.store.audit_stream(stream).await.expect("read");
        (seq == Some(head)).then_some(())
    })
    .await;
}

/// The position in a syslog message, whose text is a line of an export.
fn seq_of(message: &str) -> i64 {
    assert!(message.starts_with("<110>1 20"), "{message}");
    let (_, line) = message.split_once('\u{feff}').expect("a text");
    let seq = jsonl::read(line).expect("an entry").seq;
    assert!(
        message.contains(&format!("[assent@32473 seq=\"{seq}\" ")),
        "{message}"
    );
    seq
}

/// What came is in order, but for repetitions, and nothing is missing.
fn assert_whole(seqs: &[i64], last: i64) {
    let mut next = 1;
    for seq in seqs {
        assert!(*seq <= next, "{next} is missing before {seq}: {seqs:?}");
        next = next.max(seq + 1);
    }
    assert_eq!(next, last + 1, "{seqs:?}");
}

#[both_databases]
async fn a_file_has_each_entry_and_may_be_moved_away(database: Database) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("audit.jsonl");
    let settings = format!("[audit.stream]\nfile = \"{}\"", file.display());
    let mut host = TestHost::start_with(HostOptions {
        database,
        settings: &settings,
        ..HostOptions::default()
    })
    .await;
    for name in ["a", "b", "c"] {
        host.user(name).await;
    }
    let first = head(&host).await;
    until_lines(&file, first).await;
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
    until_lines(&file, head(&host).await - first).await;

    // It goes on after a restart, where it was; what it has told but not yet noted it would tell again.
    host.user("e").await;
    until_lines(&file, head(&host).await - first).await;
    until_noted(&host, "file").await;
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
            .send()
            .await
            .expect("sent")
            .status()
            .is_success()
    );
    let last = running
        .host
        .store
        .audit_stream("any")
        .await
        .expect("read")
        .1;
    until_lines(&file, last - first).await;
    let all = std::fs::read_to_string(&moved).expect("text")
        + &std::fs::read_to_string(&file).expect("text");
    let verdict = verify_export(all.as_bytes()).expect("readable");
    assert_eq!(
        (verdict.broken, verdict.last.seq),
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
async fn one_host_at_a_time_tells_and_another_goes_on_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("audit.jsonl");
    let settings = format!("[audit.stream]\nfile = \"{}\"", file.display());
    let wish = HostOptions {
        database: Database::Postgres,
        settings: &settings,
        ..HostOptions::default()
    };
    let mut host = TestHost::start_with(wish).await;
    let (_, running, base) = host.second(wish).await;
    for number in 0..20 {
        host.user(&format!("user{number}")).await;
    }
    let first = head(&host).await;
    until_lines(&file, first).await;
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
            .send()
            .await
            .expect("sent")
            .status()
            .is_success()
    );
    until_lines(&file, first + 1).await;
    running.stop().await;
}

#[tokio::test]
async fn syslog_by_udp_gets_each_entry_also_after_an_outage() {
    let mut receiver = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    let address = receiver.local_addr().expect("an address");
    let settings = format!("[audit.stream]\nsyslog = \"udp://{address}\"");
    let host = TestHost::start_with(HostOptions {
        settings: &settings,
        ..HostOptions::default()
    })
    .await;
    host.user("a").await;
    let mut seqs = Vec::new();
    let mut buffer = vec![0; 70_000];
    let mut first = async |receiver: &mut UdpSocket, seqs: &mut Vec<i64>, last: i64| {
        while seqs.last() != Some(&last) {
            let length = tokio::time::timeout(PATIENCE, receiver.recv(&mut buffer))
                .await
                .expect("in time");
            seqs.push(seq_of(
                std::str::from_utf8(&buffer[..length.expect("a message")]).expect("UTF-8"),
            ));
        }
    };
    first(&mut receiver, &mut seqs, head(&host).await).await;
    drop(receiver);
    // Nobody is told that the first of these is lost; it is found when the second is sent.
    host.user("b").await;
    until_noted(&host, "syslog").await;
    host.user("c").await;
    until("it is noticed", async || {
        (host.host.audit_streams.faring()["syslog"].up == Some(false)).then_some(())
    })
    .await;
    let mut receiver = UdpSocket::bind(address).await.expect("the port");
    first(&mut receiver, &mut seqs, head(&host).await).await;
    assert_whole(&seqs, head(&host).await);
    let back = async || (host.host.audit_streams.faring()["syslog"].up == Some(true)).then_some(());
    until("it is up again", back).await;
}

/// The messages that come by one connection, each after its length.
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
                .parse()
                .expect("a length");
            let mut message = vec![0; length];
            reader.read_exact(&mut message).await.expect("a message");
            String::from_utf8(message).expect("UTF-8")
        };
        seqs.push(seq_of(
            &tokio::time::timeout(PATIENCE, message)
                .await
                .expect("in time"),
        ));
    }
}

#[both_databases]
async fn syslog_by_tcp_gets_each_entry_also_after_an_outage_and_delays_nobody(database: Database) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address: SocketAddr = listener.local_addr().expect("an address");
    let settings = format!("[audit.stream]\nsyslog = \"tcp://{address}\"");
    let host = TestHost::start_with(HostOptions {
        database,
        settings: &settings,
        ..HostOptions::default()
    })
    .await;
    host.user("a").await;
    let mut seqs = Vec::new();
    let (stream, _) = listener.accept().await.expect("a connection");
    counted(stream, &mut seqs, head(&host).await).await;
    drop(listener);

    // Nobody listens, and nobody waits for it.
    for name in ["b", "c", "d"] {
        tokio::time::timeout(PATIENCE, host.user(name))
            .await
            .expect("it waits for no receiver");
    }
    until("it is noticed", async || {
        (host.host.audit_streams.faring()["syslog"].up == Some(false)).then_some(())
    })
    .await;
    // Retention leaves what the stream has not had.
    let year = Duration::from_secs(86_400 * 365);
    let retention = Retention {
        logins: year,
        access_tokens: year,
        refresh_tokens: year,
        sessions: year,
        enrolments: year,
        admin_tokens: year,
        traces: year,
        audit: Duration::from_secs(60),
        streams: &["syslog"],
        denials: year,
    };
    let later = host.host.now() + Duration::from_secs(3600);
    host.host
        .store
        .apply_retention(retention, later)
        .await
        .expect("swept");
    let kept = host.host.store.audit_records(0, 100).await.expect("read");
    assert!(kept.len() >= 3, "{database:?}: {}", kept.len());

    let listener = TcpListener::bind(address).await.expect("the port");
    let (stream, _) = tokio::time::timeout(PATIENCE, listener.accept())
        .await
        .expect("in time")
        .expect("a connection");
    counted(stream, &mut seqs, head(&host).await).await;
    assert_whole(&seqs, head(&host).await);
    until_noted(&host, "syslog").await;
    host.host
        .store
        .apply_retention(retention, later)
        .await
        .expect("swept");
    assert_eq!(
        host.host
            .store
            .audit_records(0, 100)
            .await
            .expect("read")
            .len(),
        0,
        "{database:?}: now they may go"
    );
}

#[tokio::test]
async fn syslog_by_a_socket_of_this_machine_of_either_kind() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    let settings = format!("[audit.stream]\nsyslog = \"unix://{}\"", path.display());
    let receiver = UnixDatagram::bind(&path).expect("a socket");
    let host = TestHost::start_with(HostOptions {
        settings: &settings,
        ..HostOptions::default()
    })
    .await;
    host.user("a").await;
    let mut seqs = Vec::new();
    let mut buffer = vec![0; 70_000];
    while seqs.last() != Some(&head(&host).await) {
        let length = tokio::time::timeout(PATIENCE, receiver.recv(&mut buffer))
            .await
            .expect("in time")
            .expect("one");
        seqs.push(seq_of(
            std::str::from_utf8(&buffer[..length]).expect("UTF-8"),
        ));
    }
    drop(receiver);
    std::fs::remove_file(&path).expect("removed");
    host.user("b").await;
    until("it is noticed", async || {
        (host.host.audit_streams.faring()["syslog"].up == Some(false)).then_some(())
    })
    .await;
    let listener = UnixListener::bind(&path).expect("a socket");
    let (stream, _) = tokio::time::timeout(PATIENCE, listener.accept())
        .await
        .expect("in time")
        .expect("a connection");
    counted(stream, &mut seqs, head(&host).await).await;
    assert_whole(&seqs, head(&host).await);
}

#[tokio::test]
async fn a_receiver_that_is_down_is_seen_in_the_metrics() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "a-secret-of-the-operator\n").expect("written");
    let settings = format!(
        "[http]\nmetrics_secret_file = \"{}\"\n[audit.stream]\nsyslog = \"unix://{}\"",
        secret.display(),
        folder.path().join("nobody").display()
    );
    let host = TestHost::start_with(HostOptions {
        settings: &settings,
        ..HostOptions::default()
    })
    .await;
    host.user("ada").await;
    until("it is seen", async || {
        let request = http_client().get(format!("{}/metrics", host.base));
        let answer = request
            .bearer_auth("a-secret-of-the-operator")
            .send()
            .await
            .expect("an answer");
        let text = answer.text().await.expect("text");
        let seen = text.contains("assent_audit_stream_up{stream=\"syslog\"} 0\n")
            && text.contains("assent_audit_stream_sent_entries_total{stream=\"syslog\"} 0\n")
            && text.contains("assent_audit_stream_lag_entries{stream=\"syslog\"} 2\n");
        seen.then_some(())
    })
    .await;
}
