//! The HTTP requests of plugins: only to granted hosts, and never to a private address.
//!
//! The client in `egress` checks each address before it connects. So a request fails also if a granted name resolves to
//! a private address. The host adds credentials last, so the plugin cannot read them. A response that repeats a
//! credential does not reach the plugin.

mod credentials;
mod host;

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{
    AUTHORIZATION, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, HeaderValue, LOCATION,
};
use tracing::Instrument;
use tracing::field::Empty;
use url::{Host, Url};

use self::credentials::Keychain;
use self::host::{HOST_HEADERS, HostPattern};
use super::bindings::approval::assent::host::http::{Error, Method, Request, Response};
use super::spec::{Credentials, HttpGrant};
use crate::egress::{self, EgressError};
use assent_model::clock::SharedClock;
use assent_telemetry::{SPANS, field};

/// The largest number of redirects.
const REDIRECTS: u32 = 5;
/// The largest body of a request, in bytes.
const REQUEST_BODY: usize = 64 << 10;
/// The largest body of a response, in bytes.
const RESPONSE_BODY: usize = 256 << 10;
/// The largest headers of a response that reach the plugin, in bytes.
const RESPONSE_HEADERS: usize = 32 << 10;
/// The largest number of a request's headers.
const REQUEST_HEADERS: usize = 32;
/// The HTTP client of one plugin.
pub(super) struct PluginEgress {
    grants: Vec<HostPattern>,
    allow_private: bool,
    follow_redirects: bool,
    keychain: Keychain,
    timeout: Duration,
    client: egress::HttpClient,
}

impl PluginEgress {
    /// Creates a client with the permissions of `grant`. The error is the end of a sentence about the plugin.
    pub(super) fn new(
        grant: &HttpGrant,
        timeout: Duration,
        credentials: Arc<dyn Credentials>,
        clock: SharedClock,
    ) -> Result<Self, String> {
        let grants = grant
            .hosts
            .iter()
            .map(|text| HostPattern::parse(text))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            grants,
            allow_private: grant.allow_private,
            follow_redirects: grant.follow_redirects,
            keychain: Keychain::new(&grant.credentials, credentials, clock)?,
            timeout,
            client: egress::HttpClient::new(grant.allow_private, timeout),
        })
    }

    /// Sends a request, and follows granted redirects.
    pub(super) async fn send(&self, request: Request) -> Result<Response, Error> {
        let span =
            tracing::info_span!(target: SPANS, "http.client", caller = "plugin", status = Empty);
        let sending = self.send_with_redirects(request).instrument(span.clone());
        let sent = tokio::time::timeout(self.timeout, sending).await;
        let sent = sent.unwrap_or(Err(Error::TimedOut));
        if let Ok(response) = &sent {
            span.record("status", field(response.status));
        }
        sent
    }

    async fn send_with_redirects(&self, request: Request) -> Result<Response, Error> {
        if request.body.len() > REQUEST_BODY {
            return Err(Error::Invalid(format!(
                "the body is larger than {REQUEST_BODY} bytes"
            )));
        }
        let mut headers = headers(&request.headers)?;
        let mut url = self.check_url(&request.url)?;
        let mut method = method(request.method);
        let mut body = request.body;
        let mut elsewhere = false;
        for _ in 0..=REDIRECTS {
            let response = self
                .once(&method, &url, headers.clone(), body.clone(), elsewhere)
                .await?;
            let target = response
                .headers()
                .get(LOCATION)
                .filter(|_| self.follow_redirects);
            let preserves_method = match response.status().as_u16() {
                // RFC 9110, section 15.4: these two codes preserve the method and the body.
                307 | 308 => true,
                301..=303 => false,
                _ => return self.answer(response).await,
            };
            let Some(target) = target else {
                return self.answer(response).await;
            };
            let target = target
                .to_str()
                .ok()
                .and_then(|target| url.join(target).ok());
            let target = target.ok_or_else(|| {
                Error::Refused("the target of the redirect is not a URL".to_owned())
            })?;
            let target = self.check_url(target.as_str())?;
            if target.origin() != url.origin() {
                elsewhere = true;
                headers.remove(AUTHORIZATION);
                headers.remove(COOKIE);
            }
            url = target;
            if !preserves_method && method != reqwest::Method::GET {
                method = reqwest::Method::GET;
                body.clear();
                headers.remove(CONTENT_TYPE);
            }
        }
        Err(Error::Refused(format!(
            "it was redirected more than {REDIRECTS} times"
        )))
    }

    async fn once(
        &self,
        method: &reqwest::Method,
        url: &Url,
        mut headers: HeaderMap,
        body: Vec<u8>,
        elsewhere: bool,
    ) -> Result<reqwest::Response, Error> {
        self.keychain
            .add(&mut headers, method, url, &body, elsewhere)
            .map_err(Error::Refused)?;
        let client = self
            .client
            .ready()
            .await
            .map_err(|failure| Error::Unreachable(failure.to_string()))?;
        let sent = client
            .request(method.clone(), url.clone())
            .headers(headers)
            .body(body)
            .send()
            .await;
        sent.map_err(failure)
    }

    /// Reads a response up to the limits. Rejects a response that repeats a secret.
    async fn answer(&self, response: reqwest::Response) -> Result<Response, Error> {
        let answer = answer(response).await?;
        let repeats = |text: &[u8]| self.keychain.is_repeated_in(text);
        if answer
            .headers
            .iter()
            .any(|(_, value)| repeats(value.as_bytes()))
            || repeats(&answer.body)
        {
            return Err(Error::Refused(
                "the answer repeats a credential of this host".to_owned(),
            ));
        }
        Ok(answer)
    }

    /// Parses the URL and checks that the plugin may call it.
    fn check_url(&self, url: &str) -> Result<Url, Error> {
        let url = Url::parse(url)
            .map_err(|error| Error::Invalid(format!("the URL cannot be read: {error}")))?;
        let plain = url.scheme() == "http" && self.allow_private;
        if url.scheme() != "https" && !plain {
            return Err(Error::Refused(format!(
                "the scheme `{}` is not allowed, only `https` (`allow_private_addresses` of the plugin allows `http`, \
                 for tests)",
                url.scheme()
            )));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Error::Refused(
                "a URL with a user name or password is not allowed".to_owned(),
            ));
        }
        let host = match url.host() {
            Some(Host::Domain(host)) => host,
            Some(Host::Ipv4(_) | Host::Ipv6(_)) => {
                return Err(Error::Refused(
                    "an IP address in place of a host name is not allowed".to_owned(),
                ));
            }
            None => return Err(Error::Invalid("the URL has no host".to_owned())),
        };
        if !self.grants.iter().any(|grant| grant.matches(host, &url)) {
            let port = url
                .port()
                .map(|port| format!(":{port}"))
                .unwrap_or_default();
            return Err(Error::Refused(format!(
                "the host `{host}{port}` was not granted"
            )));
        }
        Ok(url)
    }
}

fn method(method: Method) -> reqwest::Method {
    match method {
        Method::Get => reqwest::Method::GET,
        Method::Post => reqwest::Method::POST,
        Method::Put => reqwest::Method::PUT,
        Method::Delete => reqwest::Method::DELETE,
    }
}

/// Returns the plugin's headers if it may set all of them.
fn headers(requested: &[(String, String)]) -> Result<HeaderMap, Error> {
    if requested.len() > REQUEST_HEADERS {
        return Err(Error::Invalid(format!(
            "there are more than {REQUEST_HEADERS} headers"
        )));
    }
    let mut headers = HeaderMap::new();
    for (name, value) in requested {
        let name = HeaderName::try_from(name)
            .map_err(|_| Error::Invalid(format!("`{name}` is not a header name")))?;
        if HOST_HEADERS.contains(&name.as_str()) {
            return Err(Error::Invalid(format!(
                "the header `{name}` is set by the host"
            )));
        }
        let value = HeaderValue::try_from(value).map_err(|_| {
            Error::Invalid(format!("the value of the header `{name}` is not valid"))
        })?;
        headers.append(name, value);
    }
    Ok(headers)
}

/// Reads a response up to the limits.
async fn answer(mut response: reqwest::Response) -> Result<Response, Error> {
    let mut headers = Vec::new();
    let mut size = 0_usize;
    for (name, value) in response.headers() {
        if let Ok(value) = value.to_str() {
            size = size
                .saturating_add(name.as_str().len())
                .saturating_add(value.len());
            headers.push((name.as_str().to_owned(), value.to_owned()));
        }
    }
    if size > RESPONSE_HEADERS {
        return Err(Error::TooLarge);
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(failure)? {
        if body.len().saturating_add(chunk.len()) > RESPONSE_BODY {
            return Err(Error::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Response {
        status: response.status().as_u16(),
        headers,
        body,
    })
}

/// Translates an error of the HTTP client to the plugin's contract.
fn failure(error: reqwest::Error) -> Error {
    match EgressError::from(error) {
        EgressError::Refused(why) => Error::Refused(why),
        EgressError::TimedOut => Error::TimedOut,
        EgressError::TooLarge => Error::TooLarge,
        EgressError::Unreachable(why) | EgressError::Setup(why) => Error::Unreachable(why),
    }
}

#[cfg(test)]
mod tests;
