//! A TCP proxy in front of PostgreSQL that injects faults of networks and servers. It reads the messages, so that a
//! fault can hit a certain COMMIT.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{oneshot, watch};

use super::postgres_messages::{Commit, Messages, Transactions, ends_commit, requests_encryption};
use super::{listen, locked};

/// The common state of all connections.
struct Faults {
    /// The socket of the server.
    server: Mutex<PathBuf>,
    frozen: watch::Sender<bool>,
    /// The number of resets.
    resets: watch::Sender<u64>,
    /// The number of silences.
    silences: watch::Sender<u64>,
    /// The fault that waits for its COMMIT.
    pending: Mutex<Option<Pending>>,
    /// The commits since the start of the recording, if there is one.
    recorded: Mutex<Option<Vec<Commit>>>,
    /// The number of commits with a dropped reply.
    dropped: watch::Sender<u64>,
    /// The number of statements.
    executed: AtomicU64,
}

struct Pending {
    matches: Box<dyn Fn(&Commit) -> bool + Send>,
    /// The number of matching commits that pass before the fault.
    skipped: usize,
    /// The receiver of the COMMIT, which decides. Without a receiver, the proxy drops the reply.
    holder: Option<oneshot::Sender<HeldCommit>>,
}

/// The decision about a COMMIT.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Release {
    Forward,
    Refuse,
    DropReply,
}

/// A COMMIT that the client sent and the server has not received. If this value is dropped, the proxy forwards the
/// COMMIT.
pub struct HeldCommit {
    /// The transaction.
    pub commit: Commit,
    release: oneshot::Sender<Release>,
}

impl HeldCommit {
    /// Sends the COMMIT to the server, and the reply to the client.
    pub fn forward(self) {
        self.release(Release::Forward);
    }

    /// Closes the connection without the COMMIT.
    pub fn refuse(self) {
        self.release(Release::Refuse);
    }

    /// Sends the COMMIT to the server, and closes the connection in place of the reply.
    pub fn drop_reply(self) {
        self.release(Release::DropReply);
    }

    fn release(self, release: Release) {
        // The connection may have ended.
        let _ = self.release.send(release);
    }
}

/// The proxy. It ends with the test's runtime.
pub struct FaultProxy {
    port: u16,
    faults: Arc<Faults>,
}

impl FaultProxy {
    /// Starts a proxy that forwards everything to the server at this socket.
    pub async fn start(server: PathBuf) -> Self {
        let (listener, port) = listen().await;
        let faults = Arc::new(Faults {
            server: Mutex::new(server),
            frozen: watch::Sender::new(false),
            resets: watch::Sender::new(0),
            silences: watch::Sender::new(0),
            pending: Mutex::new(None),
            recorded: Mutex::new(None),
            dropped: watch::Sender::new(0),
            executed: AtomicU64::new(0),
        });
        let shared = Arc::clone(&faults);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, Arc::clone(&shared)));
            }
        });
        Self { port, faults }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Stops all traffic in both directions. Connections stay open, and the proxy accepts new ones.
    pub fn freeze(&self) {
        self.faults.frozen.send_replace(true);
    }

    /// Forwards the traffic that arrived meanwhile, and resumes.
    pub fn thaw(&self) {
        self.faults.frozen.send_replace(false);
    }

    /// Carries nothing over the connections that are open now, for ever. They stay open, as after a firewall forgot
    /// them.
    pub fn silence(&self) {
        self.faults.silences.send_modify(|count| *count += 1);
    }

    /// Closes all connections.
    pub fn reset(&self) {
        self.faults.resets.send_modify(|count| *count += 1);
    }

    /// Closes all connections, and forwards new ones to another server.
    pub fn redirect(&self, server: PathBuf) {
        *locked(&self.faults.server) = server;
        self.reset();
    }

    /// Drops the reply to the COMMIT of the next transaction in which the client sends `part`: the server commits, and
    /// the proxy closes the connection in place of the reply.
    pub fn drop_reply_to_commit_of(&self, part: &str) {
        let part = part.as_bytes().to_vec();
        *locked(&self.faults.pending) = Some(Pending {
            matches: Box::new(move |commit| {
                commit.sent.windows(part.len()).any(|window| window == part)
            }),
            skipped: 0,
            holder: None,
        });
    }

    /// Holds the COMMIT of a transaction with this statement, after `skipped` others with it.
    pub fn hold_commit_of(&self, statement: &str, skipped: usize) -> oneshot::Receiver<HeldCommit> {
        let (holder, held) = oneshot::channel();
        let statement = statement.to_owned();
        *locked(&self.faults.pending) = Some(Pending {
            matches: Box::new(move |commit| commit.statements.contains(&statement)),
            skipped,
            holder: Some(holder),
        });
        held
    }

    /// Starts a recording of the commits.
    pub fn record(&self) {
        *locked(&self.faults.recorded) = Some(Vec::new());
    }

    /// Ends the recording. Returns the transactions with a COMMIT of the client, in order.
    pub fn recorded(&self) -> Vec<Commit> {
        locked(&self.faults.recorded).take().unwrap_or_default()
    }

    /// Returns the number of dropped replies.
    pub fn dropped(&self) -> u64 {
        *self.faults.dropped.borrow()
    }

    /// Returns the number of executed statements.
    pub fn executed(&self) -> u64 {
        self.faults.executed.load(Ordering::Relaxed)
    }
}

impl Faults {
    /// Decides about a COMMIT.
    async fn release(&self, commit: Commit) -> Release {
        if let Some(recorded) = locked(&self.recorded).as_mut() {
            recorded.push(commit.clone());
        }
        let Some(pending) = self.take_pending(&commit) else {
            return Release::Forward;
        };
        let Some(holder) = pending.holder else {
            return Release::DropReply;
        };
        let (release, released) = oneshot::channel();
        // If the test waits for it no longer, the held COMMIT is dropped here.
        let _ = holder.send(HeldCommit { commit, release });
        released.await.unwrap_or(Release::Forward)
    }

    fn take_pending(&self, commit: &Commit) -> Option<Pending> {
        let mut pending = locked(&self.pending);
        let waiting = pending.as_mut()?;
        if !(waiting.matches)(commit) {
            return None;
        }
        if waiting.skipped > 0 {
            waiting.skipped -= 1;
            return None;
        }
        pending.take()
    }
}

/// The common state of the two directions of a connection.
#[derive(Default)]
struct Direction {
    /// Whether the server's next byte answers a request for encryption.
    is_byte_expected: AtomicBool,
    /// Whether the proxy must drop the reply to the COMMIT.
    is_reply_dropped: AtomicBool,
}

async fn carry(client: TcpStream, faults: Arc<Faults>) {
    let (mut resets, mut silences) = (faults.resets.subscribe(), faults.silences.subscribe());
    resets.mark_unchanged();
    silences.mark_unchanged();
    let server = locked(&faults.server).clone();
    let Ok(server) = UnixStream::connect(server).await else {
        return;
    };
    let shared = Direction::default();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    // The first of these that ends closes the connection.
    let mut carrying = pin!(async {
        tokio::select! {
            () = requests(from_client, to_server, &faults, &shared) => {}
            () = replies(from_server, to_client, &faults, &shared) => {}
        }
    });
    tokio::select! {
        () = &mut carrying => {}
        _ = resets.changed() => {}
        // The sockets stay open, but are not read.
        _ = silences.changed() => std::future::pending().await,
    }
}

async fn requests(
    mut client: impl AsyncRead + Unpin,
    mut server: impl AsyncWrite + Unpin,
    faults: &Faults,
    shared: &Direction,
) {
    let mut frozen = faults.frozen.subscribe();
    let (mut messages, mut transactions) = (Messages::from_client(), Transactions::default());
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = client.read(&mut buffer).await {
        messages.add(&buffer[..length]);
        let mut sent = Vec::new();
        while let Some(message) = messages.next_message() {
            if requests_encryption(&message) {
                shared.is_byte_expected.store(true, Ordering::SeqCst);
            }
            let before = transactions.executed;
            let commit = transactions.follow(&message);
            let executed = transactions.executed - before;
            faults.executed.fetch_add(executed, Ordering::Relaxed);
            if let Some(commit) = commit {
                // The server has received all earlier messages, and holds their locks.
                if frozen.wait_for(|frozen| !frozen).await.is_err()
                    || server.write_all(&std::mem::take(&mut sent)).await.is_err()
                {
                    return;
                }
                match faults.release(commit).await {
                    Release::Forward => {}
                    Release::Refuse => return,
                    Release::DropReply => shared.is_reply_dropped.store(true, Ordering::SeqCst),
                }
            }
            sent.extend(message);
        }
        if frozen.wait_for(|frozen| !frozen).await.is_err()
            || server.write_all(&sent).await.is_err()
        {
            return;
        }
    }
}

async fn replies(
    mut server: impl AsyncRead + Unpin,
    mut client: impl AsyncWrite + Unpin,
    faults: &Faults,
    shared: &Direction,
) {
    let mut frozen = faults.frozen.subscribe();
    let mut messages = Messages::from_server();
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = server.read(&mut buffer).await {
        messages.add(&buffer[..length]);
        let mut sent = Vec::new();
        if shared.is_byte_expected.swap(false, Ordering::SeqCst) {
            sent.extend(messages.take_byte().unwrap_or_default());
        }
        while let Some(message) = messages.next_message() {
            if ends_commit(&message) && shared.is_reply_dropped.load(Ordering::SeqCst) {
                faults.dropped.send_modify(|count| *count += 1);
                return;
            }
            sent.extend(message);
        }
        if frozen.wait_for(|frozen| !frozen).await.is_err()
            || client.write_all(&sent).await.is_err()
        {
            return;
        }
    }
}
