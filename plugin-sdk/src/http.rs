//! The environment of approval channels: the time and HTTP.

use serde::Deserialize;

#[cfg(feature = "approval-channel")]
use crate::bindings::approval::assent::host;
#[cfg(all(
    feature = "delegated-approval-channel",
    not(feature = "approval-channel")
))]
use crate::bindings::delegated::assent::host;

/// The environment that the host provides to a channel.
pub trait Host {
    /// Returns the time in seconds since the Unix epoch.
    fn now(&self) -> u64;

    /// Sends a request to a granted host and waits for the response.
    fn send(&self, request: Request) -> Result<Response, HttpError>;
}

/// The method of a request.
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

/// An HTTP request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// An absolute `https` URL with a host name.
    pub url: String,
    /// The headers, as names and values. If the operator configured a credential, the host adds it.
    pub headers: Vec<(String, String)>,
    /// The body, of at most 64 KiB.
    pub body: Vec<u8>,
}

/// The response to a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The headers, as names in lower case and values.
    pub headers: Vec<(String, String)>,
    /// The body, of at most 256 KiB.
    pub body: Vec<u8>,
}

impl Response {
    /// Returns the first value of a header. `name` must be in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

/// The reason for a missing response.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HttpError {
    /// The host does not permit this request.
    Refused(String),
    /// The request is invalid.
    Invalid(String),
    /// The name did not resolve, or the connection failed.
    Unreachable(String),
    /// The response was not complete in time.
    TimedOut,
    /// The response is larger than the limit of the host.
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

/// The host behind the component's imports.
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
