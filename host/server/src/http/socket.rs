//! The sockets of listeners: TCP, or a Unix socket, whose permissions admit only the proxy of this machine.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use crate::config::ListenAddress;

/// A socket that accepts connections.
#[derive(Debug)]
pub enum ListenSocket {
    /// A TCP socket.
    Tcp(TcpListener),
    /// A Unix socket, with its path.
    Unix(UnixListener, PathBuf),
}

/// A connection, with the address of its peer. Peers of a Unix socket have none.
pub(super) type Accepted = (SocketStream, Option<SocketAddr>);

impl ListenSocket {
    /// Returns the address, with the port that the system chose.
    ///
    /// # Errors
    /// If the system does not return it.
    pub fn local_address(&self) -> io::Result<ListenAddress> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(ListenAddress::Tcp),
            Self::Unix(_, path) => Ok(ListenAddress::Unix(path.clone())),
        }
    }

    pub(super) async fn accept(&self) -> io::Result<Accepted> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                Ok((SocketStream::Tcp(stream), Some(peer)))
            }
            Self::Unix(listener, _) => {
                let (stream, _) = listener.accept().await?;
                Ok((SocketStream::Unix(stream), None))
            }
        }
    }

    /// Stops waiting for connections. Those in the queue of the socket can still be accepted.
    pub(super) fn into_queue(self) -> io::Result<ConnectionQueue> {
        Ok(match self {
            Self::Tcp(listener) => ConnectionQueue::Tcp(listener.into_std()?),
            Self::Unix(listener, _) => ConnectionQueue::Unix(listener.into_std()?),
        })
    }
}

impl From<TcpListener> for ListenSocket {
    fn from(listener: TcpListener) -> Self {
        Self::Tcp(listener)
    }
}

/// The connections in the queue of a socket.
pub(super) enum ConnectionQueue {
    Tcp(std::net::TcpListener),
    Unix(std::os::unix::net::UnixListener),
}

impl ConnectionQueue {
    /// Accepts the next connection. The error is `WouldBlock` if there is none.
    pub(super) fn accept(&self) -> io::Result<Accepted> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Ok((SocketStream::Tcp(TcpStream::from_std(stream)?), Some(peer)))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Ok((SocketStream::Unix(UnixStream::from_std(stream)?), None))
            }
        }
    }
}

/// The stream of a connection.
#[derive(Debug)]
pub(super) enum SocketStream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl SocketStream {
    /// Sends each write at once. A response is written as a whole, so holding it back to fill a packet only delays it.
    pub(super) fn send_at_once(&self) {
        if let Self::Tcp(stream) = self {
            let _ = stream.set_nodelay(true);
        }
    }
}

impl AsyncRead for SocketStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for SocketStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Self::Unix(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write_vectored(context, parts),
            Self::Unix(stream) => Pin::new(stream).poll_write_vectored(context, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Tcp(stream) => stream.is_write_vectored(),
            Self::Unix(stream) => stream.is_write_vectored(),
        }
    }
}
