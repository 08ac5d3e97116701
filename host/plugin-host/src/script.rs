//! Scripts that answer a plugin's requests in place of the network.

use std::sync::{Mutex, PoisonError};

use crate::bindings::approval::assent::host::http;

/// A request that a plugin sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptedRequest {
    /// Its method.
    pub method: ScriptedMethod,
    /// Its URL.
    pub url: String,
    /// Names and values.
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

/// What a request is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptedResponse {
    /// The status code.
    pub status: u16,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptedError {
    /// The host does not allow it.
    Refused(String),
    /// It can't be sent as it is.
    Invalid(String),
    /// Nobody answers.
    Unreachable(String),
    /// No complete answer in time.
    TimedOut,
    /// The answer is larger than the host takes in.
    TooLarge,
}

/// Answers a plugin's requests in place of the network.
pub type Script = Box<dyn FnMut(ScriptedRequest) -> Result<ScriptedResponse, ScriptedError> + Send>;

/// A script that calls of one plugin share.
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
