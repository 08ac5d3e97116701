//! A TCP proxy in front of PostgreSQL that injects faults of networks and servers.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::watch;

use super::listen;

/// What all connections have in common.
struct Faults {
    /// The socket of the server.
    server: PathBuf,
    frozen: watch::Sender<bool>,
    /// Counts the resets.
    resets: watch::Sender<u64>,
    /// A part of the transaction whose commit the client shall not hear of.
    lost_commit: Mutex<Option<Vec<u8>>>,
    /// Counts the commits whose reply was dropped.
    dropped: watch::Sender<u64>,
}

/// The proxy. It ends with the test's runtime.
pub struct FaultProxy {
    port: u16,
    faults: Arc<Faults>,
}

impl FaultProxy {
    /// A proxy that carries everything to the server at this socket.
    pub async fn start(server: PathBuf) -> Self {
        let (listener, port) = listen().await;
        let faults = Arc::new(Faults {
            server,
            frozen: watch::Sender::new(false),
            resets: watch::Sender::new(0),
            lost_commit: Mutex::new(None),
            dropped: watch::Sender::new(0),
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

    /// Carries nothing any more, in neither direction; connections stay open, and new ones are taken.
    pub fn freeze(&self) {
        self.faults.frozen.send_replace(true);
    }

    /// Carries what came meanwhile, and all that follows.
    pub fn thaw(&self) {
        self.faults.frozen.send_replace(false);
    }

    /// Ends all connections.
    pub fn reset(&self) {
        self.faults.resets.send_modify(|count| *count += 1);
    }

    /// Lets the server commit the next transaction in which the client sends `part`, and ends the connection in place
    /// of its reply.
    pub fn drop_reply_to_commit_of(&self, part: &str) {
        *self.faults.lost_commit.lock().expect("a lock") = Some(part.as_bytes().to_vec());
    }

    /// How many replies were dropped.
    pub fn dropped(&self) -> u64 {
        *self.faults.dropped.borrow()
    }
}

async fn carry(client: TcpStream, faults: Arc<Faults>) {
    let mut resets = faults.resets.subscribe();
    resets.mark_unchanged();
    let Ok(server) = UnixStream::connect(&faults.server).await else {
        return;
    };
    let committing = AtomicBool::new(false);
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    // Whatever ends first ends the connection.
    tokio::select! {
        () = requests(from_client, to_server, &faults, &committing) => {}
        () = replies(from_server, to_client, &faults, &committing) => {}
        _ = resets.changed() => {}
    }
}

async fn requests(
    mut client: impl AsyncRead + Unpin,
    mut server: impl AsyncWrite + Unpin,
    faults: &Faults,
    committing: &AtomicBool,
) {
    let mut frozen = faults.frozen.subscribe();
    let mut transaction = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = client.read(&mut buffer).await {
        let sent = &buffer[..length];
        transaction.extend_from_slice(sent);
        if frozen.wait_for(|frozen| !frozen).await.is_err() {
            return;
        }
        if holds(sent, b"COMMIT") {
            let mut lost = faults.lost_commit.lock().expect("a lock");
            if lost.as_ref().is_some_and(|part| holds(&transaction, part)) {
                *lost = None;
                committing.store(true, Ordering::SeqCst);
            }
            transaction.clear();
        }
        if server.write_all(sent).await.is_err() {
            return;
        }
    }
}

async fn replies(
    mut server: impl AsyncRead + Unpin,
    mut client: impl AsyncWrite + Unpin,
    faults: &Faults,
    committing: &AtomicBool,
) {
    let mut frozen = faults.frozen.subscribe();
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = server.read(&mut buffer).await {
        if frozen.wait_for(|frozen| !frozen).await.is_err() {
            return;
        }
        if committing.load(Ordering::SeqCst) {
            faults.dropped.send_modify(|count| *count += 1);
            return;
        }
        if client.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}

fn holds(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
