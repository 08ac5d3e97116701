//! What the host lends to channels: the time, and outgoing HTTP.

use serde::Deserialize;

#[cfg(feature = "approval-channel")]
use crate::bindings::approval::assent::host;
#[cfg(all(
    feature = "delegated-approval-channel",
    not(feature = "approval-channel")
))]
use crate::bindings::delegated::assent::host;

/// What the host lends to a channel.
pub trait Host {
    /// Seconds since the Unix epoch.
    fn now(&self) -> u64;

    /// Sends one request and waits for the answer, to granted hosts only.
    fn send(&self, request: Request) -> Result<Response, HttpError>;
}

/// A request's method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// RFC 9110, section 9.3.1.
    Get,
    /// RFC 9110, section 9.3.3.
    Post,
    /// RFC 9110, section 9.3.4.
    Put,
    /// RFC 9110, section 9.3.5.
    Delete,
}

/// An outgoing request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// An absolute `https` URL with a host name.
    pub url: String,
    /// Names and values. Where the operator configured a credential, the host adds it.
    pub headers: Vec<(String, String)>,
    /// At most 64 KiB.
    pub body: Vec<u8>,
}

/// The answer to a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// At most 256 KiB.
    pub body: Vec<u8>,
}

impl Response {
    /// The first value of a header; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HttpError {
    /// The host does not allow this request.
    Refused(String),
    /// The request can't be sent as it is.
    Invalid(String),
    /// The name did not resolve, or the connection failed.
    Unreachable(String),
    /// No complete answer in time.
    TimedOut,
    /// The answer is larger than the host takes in.
    TooLarge,
}

impl std::fmt::Display for HttpError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(why) => write!(f, "the host refused the request: {why}"),
            Self::Invalid(why) => write!(f, "the request is not valid: {why}"),
            Self::Unreachable(why) => write!(f, "no answer: {why}"),
            Self::TimedOut => f.write_str("no answer in time"),
            Self::TooLarge => f.write_str("the answer is too large"),
        }
    }
}

/// The host as the component's imports reach it.
#[cfg(any(feature = "approval-channel", feature = "delegated-approval-channel"))]
pub(crate) struct ComponentHost;

impl Host for ComponentHost {
    fn now(&self) -> u64 {
        host::clock::now()
    }

    fn send(&self, request: Request) -> Result<Response, HttpError> {
        use host::http;

        let request = http::Request {
            method: match request.method {
                Method::Get => http::Method::Get,
                Method::Post => http::Method::Post,
                Method::Put => http::Method::Put,
                Method::Delete => http::Method::Delete,
            },
            url: request.url,
            headers: request.headers,
            body: request.body,
        };
        match http::send(&request) {
            Ok(http::Response {
                status,
                headers,
                body,
            }) => Ok(Response {
                status,
                headers,
                body,
            }),
            Err(http::Error::Refused(why)) => Err(HttpError::Refused(why)),
            Err(http::Error::Invalid(why)) => Err(HttpError::Invalid(why)),
            Err(http::Error::Unreachable(why)) => Err(HttpError::Unreachable(why)),
            Err(http::Error::TimedOut) => Err(HttpError::TimedOut),
            Err(http::Error::TooLarge) => Err(HttpError::TooLarge),
        }
    }
}
