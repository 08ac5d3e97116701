//! Connections that send the next request as soon as the response arrives. A client library would use as much CPU as
//! the server does. So this client writes prepared bytes, and reads only the status, length and body of a response.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::ops::AddAssign;
use std::rc::Rc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The number of answers, and the time that they took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    pub answers: u64,
    pub took: Duration,
    pub server_cpu: Duration,
}

impl Load {
    pub fn per_second(&self) -> f64 {
        self.answers as f64 / self.took.as_secs_f64()
    }

    /// The time of an answer if there is one connection, in milliseconds.
    pub fn millis_each(&self) -> f64 {
        1e3 * self.took.as_secs_f64() / self.answers as f64
    }
}

impl AddAssign for Load {
    fn add_assign(&mut self, other: Self) {
        self.answers += other.answers;
        self.took += other.took;
        self.server_cpu += other.server_cpu;
    }
}

/// The source of the requests of one connection, which sends one request after the other.
pub trait Caller {
    /// Returns the next request, or `None` at the end.
    fn next(&mut self) -> Option<Rc<str>>;
    /// Receives the response. Returns whether it completes a counted unit.
    fn answered(&mut self, _response: Response<'_>) -> bool {
        true
    }
}

/// The response to a request.
#[derive(Clone, Copy)]
pub struct Response<'r> {
    pub head: &'r str,
    pub body: &'r [u8],
}

impl Response<'_> {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

/// A caller that repeats one request.
#[derive(Clone)]
pub struct Same(pub Rc<str>);

impl Caller for Same {
    fn next(&mut self) -> Option<Rc<str>> {
        Some(Rc::clone(&self.0))
    }
}

/// Requests that are each sent once, by the next free connection.
#[derive(Clone)]
pub struct Requests(Rc<RefCell<Vec<String>>>);

impl Requests {
    pub fn new(requests: Vec<String>) -> Self {
        Self(Rc::new(RefCell::new(requests)))
    }
}

impl Caller for Requests {
    fn next(&mut self) -> Option<Rc<str>> {
        self.0.borrow_mut().pop().map(Rc::from)
    }
}

/// Exchanges codes, and stores the access tokens.
#[derive(Clone)]
pub struct Exchanging {
    requests: Requests,
    pub tokens: Vec<String>,
}

impl Exchanging {
    pub fn new(requests: Requests) -> Self {
        Self {
            requests,
            tokens: Vec::new(),
        }
    }
}

impl Caller for Exchanging {
    fn next(&mut self) -> Option<Rc<str>> {
        self.requests.next()
    }

    fn answered(&mut self, response: Response<'_>) -> bool {
        let answer: serde_json::Value = serde_json::from_slice(response.body).expect("JSON");
        let token = answer["access_token"].as_str().expect("a token");
        self.tokens.push(token.to_owned());
        true
    }
}

/// Uses the refresh token of the last response.
pub struct Refreshing {
    pub token: String,
    pub post: Post,
}

impl Refreshing {
    /// Returns the next request, with an additional header line.
    pub fn request(&self, header: &str) -> Rc<str> {
        let form = format!("grant_type=refresh_token&refresh_token={}", self.token);
        self.post.with_header(header, &form).into()
    }
}

impl Caller for Refreshing {
    fn next(&mut self) -> Option<Rc<str>> {
        Some(self.request(""))
    }

    fn answered(&mut self, response: Response<'_>) -> bool {
        let answer: serde_json::Value = serde_json::from_slice(response.body).expect("JSON");
        self.token = answer["refresh_token"]
            .as_str()
            .expect("a token")
            .to_owned();
        true
    }
}

/// The head of an application's request that posts a form.
pub struct Post(String);

impl Post {
    pub fn new(address: SocketAddr, path: &str, client_id: &str, secret: &str) -> Self {
        let credentials = STANDARD.encode(format!("{}:{secret}", client_id.replace(':', "%3A")));
        Self(format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Basic {credentials}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\n"
        ))
    }

    /// Returns the request with this body.
    pub fn with(&self, body: &str) -> String {
        self.with_header("", body)
    }

    /// Returns the request with this body and an additional header line.
    pub fn with_header(&self, header: &str, body: &str) -> String {
        let (head, length) = (&self.0, body.len());
        format!("{head}{header}Content-Length: {length}\r\n\r\n{body}")
    }
}

/// Returns a browser's request.
pub fn get(address: SocketAddr, path: &str, cookies: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nCookie: {cookies}\r\n\r\n")
}

/// A server that receives the requests.
pub struct Drive<'a> {
    pub address: SocketAddr,
    /// The CPU time that the server has used so far on its core.
    pub cpu: &'a dyn Fn() -> Duration,
    /// The number of callers that send requests; the others stay idle.
    pub connections: usize,
}

impl Drive<'_> {
    /// Runs each caller on its own connection, until `length` has passed or no request is left. Returns the load and
    /// the callers.
    pub async fn run<C: Caller>(&self, mut callers: Vec<C>, length: Duration) -> (Load, Vec<C>) {
        let idle = callers.split_off(self.connections.min(callers.len()));
        let connections = join_all(callers.iter().map(|_| Connection::open(self.address))).await;
        let (start, cpu) = (Instant::now(), (self.cpu)());
        let finished = join_all(callers.into_iter().zip(connections).map(
            async |(mut caller, mut connection)| {
                let mut answers = 0;
                while start.elapsed() < length {
                    let Some(request) = caller.next() else { break };
                    let complete = caller.answered(connection.call(&request).await);
                    answers += u64::from(complete);
                }
                (answers, caller)
            },
        ))
        .await;
        let (took, server_cpu) = (start.elapsed(), (self.cpu)() - cpu);
        let (answers, mut callers): (Vec<u64>, Vec<C>) = finished.into_iter().unzip();
        callers.extend(idle);
        (
            Load {
                answers: answers.into_iter().sum(),
                took,
                server_cpu,
            },
            callers,
        )
    }
}

/// A connection that sends one request after the other.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        Self {
            stream,
            buffer: Vec::with_capacity(8192),
        }
    }

    /// Sends a request, and returns the response, which must be a success or a redirect.
    async fn call(&mut self, request: &str) -> Response<'_> {
        let response = self.exchange(request).await;
        let expected = ["HTTP/1.1 200 ", "HTTP/1.1 201 ", "HTTP/1.1 303 "];
        assert!(
            expected.iter().any(|line| response.head.starts_with(line)),
            "{}{}",
            response.head,
            String::from_utf8_lossy(response.body)
        );
        response
    }

    /// Sends a request, and returns the response.
    pub async fn exchange(&mut self, request: &str) -> Response<'_> {
        self.stream
            .write_all(request.as_bytes())
            .await
            .expect("sent");
        self.buffer.clear();
        let (head, length) = loop {
            self.read().await;
            if let Some(end) = self
                .buffer
                .windows(4)
                .position(|bytes| bytes == b"\r\n\r\n")
            {
                let head = std::str::from_utf8(&self.buffer[..end]).expect("a head");
                let response = Response { head, body: b"" };
                let length = response.header("content-length").expect("a length");
                break (end + 4, length.parse::<usize>().expect("a length"));
            }
        };
        while self.buffer.len() < head + length {
            self.read().await;
        }
        Response {
            head: std::str::from_utf8(&self.buffer[..head]).expect("a head"),
            body: &self.buffer[head..],
        }
    }

    async fn read(&mut self) {
        let count = self
            .stream
            .read_buf(&mut self.buffer)
            .await
            .expect("an answer");
        assert!(
            count > 0,
            "the server closed the connection: {}",
            String::from_utf8_lossy(&self.buffer)
        );
    }
}
