//! A TCP proxy in front of an instance that loses responses: it closes the connection in place of the first bytes of a
//! response, when the instance has executed the request.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{listen, locked};

/// The requests whose responses are lost.
#[derive(Default)]
struct Losses {
    /// The beginning of the request line, and the number of responses.
    pending: Mutex<Option<(String, usize)>>,
    lost: AtomicUsize,
}

impl Losses {
    /// Whether the response to a request that begins like this is lost.
    fn takes(&self, request: &[u8]) -> bool {
        let mut pending = locked(&self.pending);
        let is_lost = match pending.as_mut() {
            Some((begin, left)) if *left > 0 && request.starts_with(begin.as_bytes()) => {
                *left -= 1;
                true
            }
            _ => false,
        };
        self.lost.fetch_add(usize::from(is_lost), Ordering::Relaxed);
        is_lost
    }
}

/// The proxy, for clients that open a connection for each request. It ends with the test's runtime.
pub struct LossyProxy {
    port: u16,
    losses: Arc<Losses>,
}

impl LossyProxy {
    /// Starts a proxy to the instance at this address.
    pub async fn start(base: &str) -> Self {
        let server = url::Url::parse(base).ok().and_then(|base| base.port());
        let server = server.unwrap_or_else(|| panic!("expected a port in {base}"));
        let (listener, port) = listen().await;
        let losses = Arc::<Losses>::default();
        let shared = Arc::clone(&losses);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, server, Arc::clone(&shared)));
            }
        });
        Self { port, losses }
    }

    /// Returns a URL of the instance at the address of the proxy.
    pub fn through(&self, url: &str) -> String {
        let (start, rest) = url.split_once("://").expect("a URL");
        let path = rest.find('/').map_or("", |at| &rest[at..]);
        format!("{start}://127.0.0.1:{}{path}", self.port)
    }

    /// Loses the responses to the next requests that begin like this.
    pub fn lose(&self, request: &str, times: usize) {
        *locked(&self.losses.pending) = Some((request.to_owned(), times));
    }

    /// Returns the number of lost responses.
    pub fn lost(&self) -> usize {
        self.losses.lost.load(Ordering::Relaxed)
    }
}

async fn carry(mut client: TcpStream, server: u16, losses: Arc<Losses>) -> Option<()> {
    let mut server = TcpStream::connect(("127.0.0.1", server)).await.ok()?;
    let mut request = vec![0; 64 * 1024];
    let length = client.read(&mut request).await.ok()?;
    request.truncate(length);
    server.write_all(&request).await.ok()?;
    let is_lost = losses.takes(&request);
    if !is_lost {
        tokio::io::copy_bidirectional(&mut client, &mut server)
            .await
            .ok()?;
        return None;
    }
    // The head and the body may arrive in several pieces.
    let (mut from_client, _to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let mut answer = [0; 1];
    tokio::select! {
        _ = tokio::io::copy(&mut from_client, &mut to_server) => {}
        _ = from_server.read(&mut answer) => {}
    }
    None
}
