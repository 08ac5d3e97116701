//! Replies of the SMTP server in the form that the client parses.
//!
//! The code of a reply decides (RFC 5321 section 4.2). Its text is for people: servers leave it out, write it in the
//! encoding of their language, or put no space before it. The client would reject these replies, even if the server has
//! accepted the message.

use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The largest length of a line that is converted, in bytes. Longer ones are passed on in parts.
const LONGEST_LINE: usize = 4096;
/// The text of a line without one. The client takes the first word of a greeting as the name of the server.
const NO_TEXT: &str = "(no text)";

/// A stream whose lines are UTF-8, and have a text after the code.
#[derive(Debug)]
pub(super) struct ReplyLines<S> {
    stream: S,
    peer: SocketAddr,
    /// The received part of the next line.
    received: Vec<u8>,
    /// Converted lines that were not read yet.
    converted: Vec<u8>,
}

impl<S> ReplyLines<S> {
    /// Returns the stream of this peer. The client reads the greeting before the lines of the server.
    pub(super) const fn new(stream: S, peer: SocketAddr, greeting: Vec<u8>) -> Self {
        Self {
            stream,
            peer,
            received: Vec::new(),
            converted: greeting,
        }
    }

    /// Converts the complete lines, and a line that is too long.
    fn convert(&mut self) {
        while let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.received.drain(..=end).collect();
            self.converted.extend(convert_line(&line).into_bytes());
        }
        if self.received.len() > LONGEST_LINE {
            let part = std::mem::take(&mut self.received);
            self.converted.extend(text_of(&part).into_bytes());
        }
    }
}

/// Converts a line with its end.
fn convert_line(line: &[u8]) -> String {
    let text = text_of(line);
    let text = text.trim_end_matches(['\r', '\n']);
    let (code, rest) = text.split_at_checked(3).unwrap_or((text, ""));
    let is_code = code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_digit());
    match rest {
        "" | " " if is_code => format!("{code} {NO_TEXT}\r\n"),
        "-" if is_code => format!("{code}-{NO_TEXT}\r\n"),
        // A fourth digit belongs to a number that is no code.
        _ if is_code && !rest.starts_with([' ', '-']) && !rest.starts_with(char::is_numeric) => {
            [code, rest].join(" ") + "\r\n"
        }
        _ => format!("{text}\r\n"),
    }
}

/// Decodes UTF-8, or else Latin-1, which has a character for each byte.
fn text_of(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().copied().map(char::from).collect(),
    }
}

impl<S: AsyncRead + AsyncWrite + Debug + Send + Sync + Unpin> AsyncTokioStream for ReplyLines<S> {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.peer)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ReplyLines<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.converted.is_empty() {
            let mut bytes = [0; 1024];
            let mut part = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut part))?;
            if part.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            self.received.extend_from_slice(part.filled());
            self.convert();
        }
        let length = self.converted.len().min(buffer.remaining());
        let now: Vec<u8> = self.converted.drain(..length).collect();
        buffer.put_slice(&now);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ReplyLines<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_decides_whatever_the_text_is() {
        for (line, expected) in [
            (&b"250 OK\r\n"[..], "250 OK\r\n"),
            (b"250\r\n", "250 (no text)\r\n"),
            (b"250 \r\n", "250 (no text)\r\n"),
            (b"250\n", "250 (no text)\r\n"),
            (b"250-\r\n", "250-(no text)\r\n"),
            (b"550 unzul\xe4ssig\r\n", "550 unzulässig\r\n"),
            (b"550 unzul\xc3\xa4ssig\r\n", "550 unzulässig\r\n"),
            (b"250-SIZE 10\r\n", "250-SIZE 10\r\n"),
            (b"250OK\r\n", "250 OK\r\n"),
            (b"354\tgo on\r\n", "354 \tgo on\r\n"),
            (b"550unzul\xe4ssig\r\n", "550 unzulässig\r\n"),
            (b"2500 OK\r\n", "2500 OK\r\n"),
            (b"25OK\r\n", "25OK\r\n"),
            (b"nonsense\r\n", "nonsense\r\n"),
            (b"\xe4\r\n", "ä\r\n"),
            (b"\r\n", "\r\n"),
        ] {
            assert_eq!(convert_line(line), expected, "{line:?}");
        }
    }
}
