//! A network with a round trip of half a millisecond in front of PostgreSQL's socket.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// The delay in each direction.
const ONE_WAY: Duration = Duration::from_micros(250);

/// Forwards connections to the socket from now on, and returns the port that accepts them. Threads do the work, because
/// the timers of an asynchronous runtime are not precise enough.
pub fn start(socket: PathBuf) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            carry(client, &socket);
        }
    });
    port
}

fn carry(client: TcpStream, socket: &Path) {
    client.set_nodelay(true).expect("a socket");
    let server = UnixStream::connect(socket).expect("PostgreSQL");
    let (from_client, to_client) = (client.try_clone().expect("a socket"), client);
    let (from_server, to_server) = (server.try_clone().expect("a socket"), server);
    delay(from_client, to_server, |server| {
        server.shutdown(Shutdown::Both)
    });
    delay(from_server, to_client, |client| {
        client.shutdown(Shutdown::Both)
    });
}

fn delay<R, W>(mut from: R, mut to: W, end: impl FnOnce(&W) -> std::io::Result<()> + Send + 'static)
where
    R: Read + Send + 'static,
    W: Write + Send + 'static,
{
    let (sent, arriving) = mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            if sent
                .send((Instant::now(), buffer[..count].to_vec()))
                .is_err()
            {
                return;
            }
        }
    });
    thread::spawn(move || {
        for (sent, bytes) in arriving {
            thread::sleep((sent + ONE_WAY).saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        // The peer may have closed it already.
        let _ = end(&to);
    });
}
