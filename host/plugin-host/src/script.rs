//! Scripts that replace the network for a plugin's requests.

use std::sync::{Mutex, PoisonError};

use crate::bindings::approval::assent::host::http;

/// An HTTP request of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptedRequest {
    /// Its method.
    pub method: ScriptedMethod,
    /// Its URL.
    pub url: String,
    /// The headers, as names and values.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
}

/// The method of a request (RFC 9110, section 9.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptedMethod {
    /// `GET`
    Get,
    /// `POST`
    Post,
    /// `PUT`
    Put,
    /// `DELETE`
    Delete,
}

/// The response to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptedResponse {
    /// The status code.
    pub status: u16,
    /// The headers, as names in lower case and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// The reason why a request has no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptedError {
    /// The host does not permit the request.
    Refused(String),
    /// The request is invalid.
    Invalid(String),
    /// The server of the URL is not reachable.
    Unreachable(String),
    /// The response was not complete in time.
    TimedOut,
    /// The response is larger than the limit of the host.
    TooLarge,
}

/// Returns the response to a plugin's request, in place of the network.
pub type Script = Box<dyn FnMut(ScriptedRequest) -> Result<ScriptedResponse, ScriptedError> + Send>;

/// A script that the calls of one plugin share.
pub(crate) struct SharedScript(Mutex<Script>);

impl SharedScript {
    pub(crate) fn new(script: Script) -> Self {
        Self(Mutex::new(script))
    }

    pub(crate) fn answer(&self, request: http::Request) -> Result<http::Response, http::Error> {
        let request = ScriptedRequest {
            method: match request.method {
                http::Method::Get => ScriptedMethod::Get,
                http::Method::Post => ScriptedMethod::Post,
                http::Method::Put => ScriptedMethod::Put,
                http::Method::Delete => ScriptedMethod::Delete,
            },
            url: request.url,
            headers: request.headers,
            body: request.body,
        };
        let mut script = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match script(request) {
            Ok(ScriptedResponse {
                status,
                headers,
                body,
            }) => Ok(http::Response {
                status,
                headers,
                body,
            }),
            Err(ScriptedError::Refused(why)) => Err(http::Error::Refused(why)),
            Err(ScriptedError::Invalid(why)) => Err(http::Error::Invalid(why)),
            Err(ScriptedError::Unreachable(why)) => Err(http::Error::Unreachable(why)),
            Err(ScriptedError::TimedOut) => Err(http::Error::TimedOut),
            Err(ScriptedError::TooLarge) => Err(http::Error::TooLarge),
        }
    }
}
