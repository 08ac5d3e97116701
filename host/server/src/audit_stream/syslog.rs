//! Syslog: by UDP (RFC 5426), by TCP with the length before each message (RFC 6587 section 3.4.1), or by a socket of
//! this machine.
//!
//! Syslog has no receipts. What was handed over last is therefore sent again where the connection turns out to have
//! been closed since.

use std::io::{Error, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpStream, UdpSocket, UnixDatagram, UnixStream, lookup_host};

use super::StreamError;
use assent_model::audit::chain::Record;
use assent_model::syslog::{LONGEST_DATAGRAM, SyslogAddress, message};

/// What receivers may be expected to take in a stream, in bytes.
const LONGEST: usize = 1 << 20;

/// What messages are sent by.
#[derive(Debug)]
enum Connection {
    Udp(UdpSocket),
    Tcp(TcpStream),
    Datagrams(UnixDatagram),
    Stream(UnixStream),
}

/// A receiver of syslog messages.
#[derive(Debug)]
pub struct SyslogStream {
    address: SyslogAddress,
    /// What this server calls itself.
    host: String,
    connection: Option<Connection>,
    /// The messages that were handed over last.
    last: Vec<String>,
}

impl SyslogStream {
    /// The receiver at this address, which is told that the messages come from `host`.
    pub fn new(address: SyslogAddress, host: String) -> Self {
        Self {
            address,
            host,
            connection: None,
            last: Vec::new(),
        }
    }

    pub(super) async fn send(&mut self, records: &[Record]) -> Result<(), StreamError> {
        let longest = if matches!(self.address, SyslogAddress::Udp(..)) {
            LONGEST_DATAGRAM
        } else {
            LONGEST
        };
        let messages = records
            .iter()
            .map(|record| message(record, &self.host, longest));
        let messages = messages.collect::<Result<Vec<_>, _>>()?;
        let mut connection = match self.connection.take().filter(Connection::is_open) {
            Some(open) => open,
            None => {
                let mut fresh = Connection::to(&self.address).await?;
                fresh.send(&self.last).await?;
                fresh
            }
        };
        connection.send(&messages).await?;
        self.connection = Some(connection);
        self.last = messages;
        Ok(())
    }
}

impl Connection {
    async fn to(address: &SyslogAddress) -> Result<Self, Error> {
        match address {
            SyslogAddress::Udp(host, port) => {
                let mut resolved = lookup_host((host.as_str(), *port)).await?;
                let to = resolved
                    .next()
                    .ok_or_else(|| Error::new(ErrorKind::NotFound, "the name has no address"))?;
                let own: SocketAddr = match to {
                    SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
                    SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
                };
                let socket = UdpSocket::bind(own).await?;
                socket.connect(to).await?;
                Ok(Self::Udp(socket))
            }
            SyslogAddress::Tcp(host, port) => {
                Ok(Self::Tcp(TcpStream::connect((host.as_str(), *port)).await?))
            }
            SyslogAddress::Unix(path) => unix(path).await,
        }
    }

    /// Whether the receiver has not closed it, as far as is known. What it sends is of no interest.
    fn is_open(&self) -> bool {
        let mut nothing = [0; 256];
        let read = match self {
            Self::Udp(_) | Self::Datagrams(_) => return true,
            Self::Tcp(stream) => stream.try_read(&mut nothing),
            Self::Stream(stream) => stream.try_read(&mut nothing),
        };
        match read {
            Ok(length) => length > 0,
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        }
    }

    async fn send(&mut self, messages: &[String]) -> Result<(), Error> {
        match self {
            Self::Udp(socket) => {
                for message in messages {
                    socket.send(message.as_bytes()).await?;
                }
                Ok(())
            }
            Self::Datagrams(socket) => {
                for message in messages {
                    socket.send(message.as_bytes()).await?;
                }
                Ok(())
            }
            Self::Tcp(stream) => stream.write_all(&counted(messages)).await,
            Self::Stream(stream) => stream.write_all(&counted(messages)).await,
        }
    }
}

/// The machine's own daemon listens for datagrams, or for connections.
async fn unix(path: &Path) -> Result<Connection, Error> {
    let socket = UnixDatagram::unbound()?;
    match socket.connect(path) {
        Ok(()) => Ok(Connection::Datagrams(socket)),
        Err(_) => Ok(Connection::Stream(UnixStream::connect(path).await?)),
    }
}

/// The messages, each after its length.
fn counted(messages: &[String]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for message in messages {
        bytes.extend_from_slice(format!("{} ", message.len()).as_bytes());
        bytes.extend_from_slice(message.as_bytes());
    }
    bytes
}
