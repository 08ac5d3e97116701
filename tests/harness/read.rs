//! Values, answers and files that a test reads. Each function panics with the unexpected value.

use std::any::type_name;
use std::ffi::OsStr;
use std::fmt::{Debug, Display};
use std::future::Future;
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::header::HeaderValue;
use reqwest::{RequestBuilder, Response};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tempfile::TempDir;
use tokio::net::TcpListener;

/// A value that should be text.
pub trait Text {
    fn text(&self) -> &str;
}

impl Text for Value {
    #[track_caller]
    fn text(&self) -> &str {
        let text = self.as_str();
        text.unwrap_or_else(|| panic!("expected a text, found {self}"))
    }
}

impl Text for HeaderValue {
    #[track_caller]
    fn text(&self) -> &str {
        let text = self.to_str();
        text.unwrap_or_else(|_| panic!("expected a header of visible ASCII, found {self:?}"))
    }
}

impl Text for OsStr {
    #[track_caller]
    fn text(&self) -> &str {
        let text = self.to_str();
        text.unwrap_or_else(|| panic!("expected UTF-8, found {self:?}"))
    }
}

impl Text for Path {
    #[track_caller]
    fn text(&self) -> &str {
        self.as_os_str().text()
    }
}

/// JSON of a certain type.
pub trait Json {
    fn items(&self) -> &Vec<Value>;
    fn members(&self) -> &Map<String, Value>;
    fn members_mut(&mut self) -> &mut Map<String, Value>;
    fn integer(&self) -> i64;
    fn unsigned(&self) -> u64;
}

impl Json for Value {
    #[track_caller]
    fn items(&self) -> &Vec<Value> {
        let items = self.as_array();
        items.unwrap_or_else(|| panic!("expected an array, found {self}"))
    }

    #[track_caller]
    fn members(&self) -> &Map<String, Value> {
        let members = self.as_object();
        members.unwrap_or_else(|| panic!("expected an object, found {self}"))
    }

    #[track_caller]
    fn members_mut(&mut self) -> &mut Map<String, Value> {
        match self {
            Value::Object(members) => members,
            other => panic!("expected an object, found {other}"),
        }
    }

    #[track_caller]
    fn integer(&self) -> i64 {
        let number = self.as_i64();
        number.unwrap_or_else(|| panic!("expected an integer, found {self}"))
    }

    #[track_caller]
    fn unsigned(&self) -> u64 {
        let number = self.as_u64();
        number.unwrap_or_else(|| panic!("expected an integer from 0, found {self}"))
    }
}

/// A text that should be valid.
pub trait Parsed {
    fn parsed<T: FromStr<Err: Debug>>(&self) -> T;
}

impl Parsed for str {
    #[track_caller]
    fn parsed<T: FromStr<Err: Debug>>(&self) -> T {
        let value = self.parse();
        value.unwrap_or_else(|error| {
            panic!("expected {}, found {self:?}: {error:?}", type_name::<T>())
        })
    }
}

/// Parses the JSON in these bytes.
#[track_caller]
pub fn parse_json<T: DeserializeOwned>(bytes: impl AsRef<[u8]>) -> T {
    let bytes = bytes.as_ref();
    let value = serde_json::from_slice(bytes);
    value.unwrap_or_else(|error| {
        let text = String::from_utf8_lossy(bytes);
        panic!("expected JSON of {}: {error}: {text}", type_name::<T>())
    })
}

/// Returns the text in these bytes.
#[track_caller]
pub fn utf8(bytes: impl Into<Vec<u8>>) -> String {
    let text = String::from_utf8(bytes.into());
    text.unwrap_or_else(|error| {
        panic!(
            "expected UTF-8: {}",
            String::from_utf8_lossy(error.as_bytes())
        )
    })
}

/// Decodes a base64url text without padding.
#[track_caller]
pub fn base64url(text: impl AsRef<[u8]>) -> Vec<u8> {
    let text = text.as_ref();
    let bytes = URL_SAFE_NO_PAD.decode(text);
    bytes.unwrap_or_else(|error| {
        panic!(
            "expected base64url: {error}: {}",
            String::from_utf8_lossy(text)
        )
    })
}

/// Returns the header of a JWT, without a verification of the signature.
#[track_caller]
pub fn jwt_header(token: &str) -> Value {
    parse_json(jwt_part(token, 0))
}

/// Returns the claims of a JWT, without a verification of the signature.
#[track_caller]
pub fn jwt_claims(token: &str) -> Value {
    parse_json(jwt_part(token, 1))
}

#[track_caller]
fn jwt_part(token: &str, index: usize) -> Vec<u8> {
    let part = token.split('.').nth(index);
    base64url(part.unwrap_or_else(|| panic!("expected a JWT, found {token:?}")))
}

/// A request with a required response.
pub trait Respond {
    fn response(self) -> impl Future<Output = Response> + Send;
}

impl Respond for RequestBuilder {
    async fn response(self) -> Response {
        let response = self.send().await;
        response.unwrap_or_else(|error| panic!("expected a response: {}", chain(&error)))
    }
}

/// A response with a required body.
pub trait Body {
    fn read_text(self) -> impl Future<Output = String> + Send;
    fn read_json<T: DeserializeOwned>(self) -> impl Future<Output = T> + Send;
}

impl Body for Response {
    async fn read_text(self) -> String {
        let origin = format!("{} of {}", self.status(), self.url());
        let text = self.text().await;
        text.unwrap_or_else(|error| panic!("expected a body, {origin}: {}", chain(&error)))
    }

    async fn read_json<T: DeserializeOwned>(self) -> T {
        let origin = format!("{} of {}", self.status(), self.url());
        let text = self.read_text().await;
        let value = serde_json::from_str(&text);
        value.unwrap_or_else(|error| panic!("expected JSON, {origin}: {error}: {text}"))
    }
}

/// Returns the response to a GET request of a new client.
pub async fn get(url: impl AsRef<str>) -> Response {
    super::http_client().get(url.as_ref()).response().await
}

/// Returns the text of an error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source())
        .map(ToString::to_string)
        .collect::<Vec<String>>()
        .join(": ")
}

/// Creates a folder that is deleted when the value is dropped.
#[track_caller]
pub fn temp_folder() -> TempDir {
    expect_success("create", "a temporary folder", tempfile::tempdir())
}

#[track_caller]
pub fn write_file(path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
    let path = path.as_ref();
    expect_success("write", path.display(), std::fs::write(path, content));
}

#[track_caller]
pub fn read_file(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    expect_success("read", path.display(), std::fs::read_to_string(path))
}

#[track_caller]
pub fn read_bytes(path: impl AsRef<Path>) -> Vec<u8> {
    let path = path.as_ref();
    expect_success("read", path.display(), std::fs::read(path))
}

#[track_caller]
fn expect_success<T>(action: &str, object: impl Display, result: std::io::Result<T>) -> T {
    result.unwrap_or_else(|error| panic!("cannot {action} {object}: {error}"))
}

/// Returns a listener on a free port of this machine, and the port.
pub async fn listen() -> (TcpListener, u16) {
    let bound = TcpListener::bind("127.0.0.1:0").await;
    let listener = bound.unwrap_or_else(|error| panic!("expected a free port: {error}"));
    match listener.local_addr() {
        Ok(address) => (listener, address.port()),
        Err(error) => panic!("expected the address of {listener:?}: {error}"),
    }
}

/// Returns a port for another program. No other test of this process gets it, and it is below the ports that the
/// operating system chooses for connections and listeners, so it stays free until the program listens.
#[track_caller]
pub fn free_port() -> u16 {
    static TRIED: AtomicU16 = AtomicU16::new(0);
    // Two processes at the same time begin with different ports.
    let first = u16::try_from(std::process::id().wrapping_mul(997) % 20_000).expect("below 20,000");
    let mut ports = (0..20_000).map(|_| {
        let tried = TRIED.fetch_add(1, Ordering::Relaxed) % 20_000;
        10_000 + (first + tried) % 20_000
    });
    let free = ports.find(|port| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.unwrap_or_else(|| panic!("expected a free port"))
}

/// Returns the text after the first `start`.
#[track_caller]
pub fn after<'a>(text: &'a str, start: &str) -> &'a str {
    match text.split_once(start) {
        Some((_, rest)) => rest,
        None => panic!("expected {start:?} in {text}"),
    }
}

/// Returns the text between the first `start` and the next `end`.
#[track_caller]
pub fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    match after(text, start).split_once(end) {
        Some((found, _)) => found,
        None => panic!("expected {end:?} after {start:?} in {text}"),
    }
}

/// Returns the value of a mutex, which no thread of the test holds while it panics.
#[track_caller]
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    let guard = mutex.lock();
    guard.unwrap_or_else(|_| panic!("a thread panicked while it held this mutex"))
}
