//! Replies of SMTP servers without text, in the encoding of a language, and without a code.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use assent::domain::operations::wakeups::Wakeup;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::{invitation_in, invitation_once, invite};
use crate::harness::{TestHost, Text};

/// The replies of a server.
#[derive(Clone, Copy)]
struct Replies {
    greeting: &'static [u8],
    hello: &'static [u8],
    command: &'static [u8],
    data: &'static [u8],
    message: &'static [u8],
}

const USUAL: Replies = Replies {
    greeting: b"220 mail.example\r\n",
    hello: b"250-mail.example\r\n250 8BITMIME\r\n",
    command: b"250 OK\r\n",
    data: b"354 go on\r\n",
    message: b"250 accepted\r\n",
};

/// A server with constant replies.
struct Server {
    port: u16,
    messages: Arc<AtomicUsize>,
}

impl Server {
    async fn start(replies: Replies) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let messages = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&messages);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // The client may close the connection at any time.
                let _ = serve(stream, replies, &counted).await;
            }
        });
        Self { port, messages }
    }

    fn settings(&self) -> String {
        format!(
            "[mail]\nserver = \"127.0.0.1:{}\"\nsecurity = \"none\"\nfrom = \"id@example.org\"\n[lifetimes]\n\
             admin_token = \"1d\"\n",
            self.port
        )
    }

    fn messages(&self) -> usize {
        self.messages.load(Ordering::SeqCst)
    }
}

async fn serve(stream: TcpStream, replies: Replies, messages: &AtomicUsize) -> std::io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines();
    writer.write_all(replies.greeting).await?;
    while let Some(line) = lines.next_line().await? {
        let reply = match line.split(' ').next().unwrap_or_default() {
            "EHLO" => replies.hello,
            "QUIT" => return writer.write_all(b"221 bye\r\n").await,
            "DATA" => {
                writer.write_all(replies.data).await?;
                while lines.next_line().await?.is_some_and(|line| line != ".") {}
                messages.fetch_add(1, Ordering::SeqCst);
                replies.message
            }
            _ => replies.command,
        };
        writer.write_all(reply).await?;
    }
    Ok(())
}

/// Moves the clock, and wakes the outbox.
fn later(host: &TestHost, seconds: u64) {
    host.advance(seconds);
    host.host.wakeups.send(Wakeup::MailQueued);
}

#[tokio::test]
async fn replies_without_text_or_space_or_in_latin_1_are_read_by_their_code() {
    for replies in [
        Replies {
            greeting: b"220\r\n",
            hello: b"250-\r\n250-8BITMIME\r\n250\r\n",
            command: b"250\r\n",
            data: b"354\r\n",
            message: b"250\r\n",
        },
        Replies {
            greeting: b"220 Willkommen f\xfcr Post\r\n",
            hello: b"250-f\xfcr\r\n250 8BITMIME\r\n",
            command: b"250 zul\xe4ssig\r\n",
            data: b"354 n\xe4chste Zeile\r\n",
            message: b"250-f\xfcr uns\r\n250 angenommen f\xfcr\r\n",
        },
        Replies {
            message: b"250\n",
            ..USUAL
        },
        Replies {
            greeting: b"220mail.example\r\n",
            hello: b"250-mail.example\r\n250SIZE\r\n",
            command: b"250OK\r\n",
            data: b"354go on\r\n",
            message: b"250OK\r\n",
        },
    ] {
        let server = Server::start(replies).await;
        let host = TestHost::start_with_settings(&server.settings()).await;
        let ada = host.user("ada").await;
        invite(&host, &[&ada]).await;
        let sent = invitation_in(&host, &ada, "sent").await;
        assert_eq!(sent["delivery_error"], Value::Null);
        assert_eq!(server.messages(), 1);
    }
}

/// The server has no SMTPUTF8 (RFC 6531), so the domain of a recipient is written in A-labels (RFC 5890).
#[tokio::test]
async fn an_address_with_a_domain_in_unicode_needs_no_smtputf8() {
    let server = Server::start(USUAL).await;
    let host = TestHost::start_with_settings(&server.settings()).await;
    let user = json!({"name": "ada", "email": "ada@exämple.test"});
    let ada = host.admin_ok(Method::POST, "/users", user).await;
    invite(&host, &[&ada]).await;
    let sent = invitation_in(&host, &ada, "sent").await;
    assert_eq!(sent["email"], "ada@xn--exmple-cua.test");
    let test = json!({"to": "ada@exämple.test"});
    host.admin_ok(Method::POST, "/mail/test", test).await;
    assert_eq!(server.messages(), 2);
}

#[tokio::test]
async fn a_rejection_in_latin_1_is_permanent_by_its_code() {
    let server = Server::start(Replies {
        message: b"550 unzul\xe4ssig\r\n",
        ..USUAL
    })
    .await;
    let host = TestHost::start_with_settings(&server.settings()).await;
    let ada = host.user("ada").await;
    invite(&host, &[&ada]).await;
    let failed = invitation_in(&host, &ada, "failed").await;
    let why = failed["delivery_error"].text();
    assert!(why.contains("unzulässig"), "{why}");
    assert_eq!(server.messages(), 1);
}

#[tokio::test]
async fn a_message_with_an_unreadable_reply_is_not_sent_again_at_once() {
    let server = Server::start(Replies {
        message: b"accepted\r\n",
        ..USUAL
    })
    .await;
    let host = TestHost::start_with_settings(&server.settings()).await;
    let ada = host.user("ada").await;
    invite(&host, &[&ada]).await;
    let shown = invitation_once(&host, &ada, |one| one["delivery_error"].is_string()).await;
    assert_eq!(shown["state"], "queued");
    // Another invitation shows that the outbox was read in between.
    later(&host, 59 * 60);
    let grace = host.user("grace").await;
    invite(&host, &[&grace]).await;
    invitation_once(&host, &grace, |one| one["delivery_error"].is_string()).await;
    assert_eq!(server.messages(), 2, "one message for each user");
    later(&host, 2 * 60);
    crate::harness::in_time(async {
        while server.messages() < 3 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
