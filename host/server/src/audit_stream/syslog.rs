//! Syslog over UDP (RFC 5426), TCP with octet counting (RFC 6587 section 3.4.1), or a Unix domain socket.
//!
//! Syslog has no acknowledgements. The stream therefore sends its last messages again if the connection was closed in
//! the meantime.

use std::io::{Error, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpStream, UdpSocket, UnixDatagram, UnixStream, lookup_host};

use crate::audit_stream::error::StreamError;
use assent_model::audit::chain::Record;
use assent_model::syslog::{LONGEST_DATAGRAM, SyslogAddress, message};

/// The largest message that receivers can be expected to accept from a stream, in bytes.
const LONGEST: usize = 1 << 20;

/// The connection to the receiver.
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
    /// The name of this server in the messages.
    host: String,
    connection: Option<Connection>,
    /// The messages that were sent last.
    last: Vec<String>,
}

impl SyslogStream {
    /// Returns the stream to the receiver at this address. The messages name `host` as their origin.
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
                let mut fresh = Connection::open(&self.address).await?;
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
    async fn open(address: &SyslogAddress) -> Result<Self, Error> {
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

    /// Returns `false` if the receiver is known to have closed the connection. Ignores the data that it sends.
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
            Self::Tcp(stream) => stream.write_all(&with_octet_counts(messages)).await,
            Self::Stream(stream) => stream.write_all(&with_octet_counts(messages)).await,
        }
    }
}

/// Connects to the local daemon, which accepts either datagrams or connections.
async fn unix(path: &Path) -> Result<Connection, Error> {
    let socket = UnixDatagram::unbound()?;
    match socket.connect(path) {
        Ok(()) => Ok(Connection::Datagrams(socket)),
        Err(_) => Ok(Connection::Stream(UnixStream::connect(path).await?)),
    }
}

/// Returns the messages with octet counting: the length before each message.
fn with_octet_counts(messages: &[String]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for message in messages {
        bytes.extend_from_slice(format!("{} ", message.len()).as_bytes());
        bytes.extend_from_slice(message.as_bytes());
    }
    bytes
}
