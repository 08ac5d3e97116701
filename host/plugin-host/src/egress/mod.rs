//! Egress: HTTP requests to URLs that others choose, such as the `jwks_uri` of an application.
//!
//! The author of such a URL could make the server call a service that only the server can reach (SSRF). So the server
//! resolves each name itself and checks each address before it connects. It follows no redirects and uses no proxy.

mod address;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use tokio::sync::{OnceCell, Semaphore};
use tracing::Instrument;
use tracing::field::Empty;
use url::{Host, Url};

use assent_telemetry::{SPANS, field};

use address::reachable;

/// The time limit of a call, from the name resolution to the last byte of the response.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The time limit of the connection. It is part of the time limit of the call.
const CONNECT: Duration = Duration::from_secs(5);
/// The largest number of concurrent name resolutions of one client.
const LOOKUPS: usize = 16;
/// The largest part of the response to a posted form or document that is read, in bytes.
const FORM_ANSWER: usize = 4 << 10;

/// The HTTP client for the server's own requests.
#[derive(Debug)]
pub struct Egress {
    client: HttpClient,
    allow_private: bool,
}

/// The response, with any status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EgressResponse {
    /// The HTTP status. It may be a redirect, because redirects are not followed.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

/// The reason why a call has no response. The message is the end of a sentence and may be logged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    /// The server does not call this URL.
    #[error("{0}")]
    Refused(String),
    /// The response was not complete in time.
    #[error("there was no answer in time")]
    TimedOut,
    /// The response is larger than the caller's limit.
    #[error("the answer is too large")]
    TooLarge,
    /// The connection failed or broke.
    #[error("the request failed: {0}")]
    Unreachable(String),
    /// The TLS configuration of this machine is not usable.
    #[error("the HTTP client cannot be set up: {0}")]
    Setup(String),
}

impl Egress {
    /// Creates a client for the public internet with https. With `allow_private`, it also permits http, this machine
    /// and private networks.
    pub fn new(allow_private: bool) -> Self {
        Self {
            client: HttpClient::new(allow_private, TIMEOUT),
            allow_private,
        }
    }

    /// Sends a GET request to `url` with `accept` as the `Accept` header.
    ///
    /// # Errors
    /// [`EgressError::TooLarge`] if the response is longer than `most_bytes`. Otherwise the URL is not permitted, or
    /// the connection fails.
    pub async fn get(
        &self,
        url: &Url,
        accept: &str,
        most_bytes: usize,
    ) -> Result<EgressResponse, EgressError> {
        self.judge(url)?;
        let request = self.client.ready().await?.get(url.clone());
        let mut response = send(request.header(ACCEPT, accept)).await?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            if body.len().saturating_add(chunk.len()) > most_bytes {
                return Err(EgressError::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(EgressResponse {
            status: response.status().as_u16(),
            body,
        })
    }

    /// Posts a form to `url`. The result has the status and at most the first 4 KiB of the body. If the connection
    /// breaks, the body ends there.
    ///
    /// # Errors
    /// The URL is not permitted, or the connection fails.
    pub async fn post_form(
        &self,
        url: &Url,
        form: &[(&str, &str)],
    ) -> Result<EgressResponse, EgressError> {
        self.judge(url)?;
        let request = self.client.ready().await?.post(url.clone());
        beginning_of_response(request.form(form)).await
    }

    /// Posts a JSON document to `url`, with `token` as the bearer token (RFC 6750 section 2.1). The result is that of
    /// [`Self::post_form`].
    ///
    /// # Errors
    /// The URL is not permitted, or the connection fails.
    pub async fn post_json(
        &self,
        url: &Url,
        token: &str,
        document: String,
    ) -> Result<EgressResponse, EgressError> {
        self.judge(url)?;
        let request = self.client.ready().await?.post(url.clone());
        let request = request
            .bearer_auth(token)
            .header(CONTENT_TYPE, "application/json")
            .body(document);
        beginning_of_response(request).await
    }

    /// Checks a URL before its name is resolved. An IP address in place of a name is never resolved, so it is checked
    /// here.
    ///
    /// # Errors
    /// [`EgressError::Refused`] if the server never calls this URL.
    pub fn judge(&self, url: &Url) -> Result<(), EgressError> {
        let plain = url.scheme() == "http" && self.allow_private;
        if url.scheme() != "https" && !plain {
            return Err(EgressError::Refused(format!(
                "the scheme `{}` is not allowed, only `https`",
                url.scheme()
            )));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(EgressError::Refused(
                "a URL with a user name or password is not allowed".to_owned(),
            ));
        }
        let address = match url.host() {
            Some(Host::Ipv4(v4)) => IpAddr::V4(v4),
            Some(Host::Ipv6(v6)) => IpAddr::V6(v6),
            Some(Host::Domain(_)) => return Ok(()),
            None => return Err(EgressError::Refused("the URL has no host".to_owned())),
        };
        if reachable(address, self.allow_private) {
            Ok(())
        } else {
            Err(AddressError(address.to_string()).into())
        }
    }
}

/// Sends a request, and returns the status with the beginning of the body.
async fn beginning_of_response(
    request: reqwest::RequestBuilder,
) -> Result<EgressResponse, EgressError> {
    let mut response = send(request).await?;
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = FORM_ANSWER.saturating_sub(body.len());
        body.extend(chunk.into_iter().take(room));
        if body.len() >= FORM_ANSWER {
            break;
        }
    }
    Ok(EgressResponse {
        status: response.status().as_u16(),
        body,
    })
}

/// Sends a request of the server itself.
async fn send(request: reqwest::RequestBuilder) -> Result<reqwest::Response, reqwest::Error> {
    let span = tracing::info_span!(target: SPANS, "http.client", caller = "server", status = Empty);
    let response = request.send().instrument(span.clone()).await?;
    span.record("status", field(response.status().as_u16()));
    Ok(response)
}

/// An HTTP client that connects only to public addresses, or with `allow_private` also to private ones and by plain
/// http. It follows no redirects and uses no proxy. The client cannot check an IP address in place of a name, because
/// it resolves nothing. The caller must check it.
///
/// The client is created at its first use. It reads the certificate authorities of this machine, which would take a
/// third of the server's start.
#[derive(Debug)]
pub struct HttpClient {
    allow_private: bool,
    timeout: Duration,
    made: OnceCell<reqwest::Client>,
}

impl HttpClient {
    /// Creates a client. `timeout` is the time limit of each call.
    pub fn new(allow_private: bool, timeout: Duration) -> Self {
        Self {
            allow_private,
            timeout,
            made: OnceCell::new(),
        }
    }

    /// Returns the client.
    ///
    /// # Errors
    /// [`EgressError::Setup`] if the TLS configuration of this machine is not usable.
    pub async fn ready(&self) -> Result<&reqwest::Client, EgressError> {
        let (allow_private, timeout) = (self.allow_private, self.timeout);
        let build = async || {
            let building =
                tokio::task::spawn_blocking(move || build_client(allow_private, timeout));
            building
                .await
                .map_err(|error| EgressError::Setup(error.to_string()))?
        };
        self.made.get_or_try_init(build).await
    }
}

fn build_client(allow_private: bool, timeout: Duration) -> Result<reqwest::Client, EgressError> {
    reqwest::Client::builder()
        .user_agent(concat!("assent/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .https_only(!allow_private)
        .dns_resolver(Arc::new(Resolver {
            allow_private,
            turns: Arc::new(Semaphore::new(LOOKUPS)),
        }))
        .connect_timeout(CONNECT.min(timeout))
        .timeout(timeout)
        .build()
        .map_err(|error| EgressError::Setup(error.to_string()))
}

impl From<reqwest::Error> for EgressError {
    fn from(error: reqwest::Error) -> Self {
        let causes =
            || std::iter::successors(std::error::Error::source(&error), |cause| cause.source());
        if let Some(refused) = causes().find_map(|cause| cause.downcast_ref::<AddressError>()) {
            return Self::Refused(refused.to_string());
        }
        if error.is_timeout() {
            return Self::TimedOut;
        }
        Self::Unreachable(
            causes()
                .last()
                .map_or_else(|| "it could not be sent".to_owned(), ToString::to_string),
        )
    }
}

/// Resolves names and omits forbidden addresses.
struct Resolver {
    allow_private: bool,
    /// Limits the concurrent name resolutions. Each of them holds a thread, and signatures need these threads too. So a
    /// slow name server cannot block all of them.
    turns: Arc<Semaphore>,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (allow_private, turns) = (self.allow_private, Arc::clone(&self.turns));
        Box::pin(async move {
            let turn = turns.acquire_owned().await?;
            // A cancelled request does not end the name resolution, so it keeps its permit until the resolution ends.
            let found = tokio::spawn(async move {
                let found = tokio::net::lookup_host((name.as_str(), 0))
                    .await
                    .map(Vec::from_iter);
                drop(turn);
                (name, found)
            });
            let (name, found) = found.await?;
            let found = found?.into_iter();
            let allowed: Vec<SocketAddr> = found
                .filter(|address| reachable(address.ip(), allow_private))
                .collect();
            if allowed.is_empty() {
                return Err(AddressError(name.as_str().to_owned()).into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

/// A host name that has only forbidden addresses.
#[derive(Debug)]
struct AddressError(String);

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the host `{}` has no address on the public internet",
            self.0
        )
    }
}

impl std::error::Error for AddressError {}

impl From<AddressError> for EgressError {
    fn from(refused: AddressError) -> Self {
        Self::Refused(refused.to_string())
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    /// Starts a server on loopback that sends this response once. Returns its address.
    async fn server(answer: &'static str) -> (SocketAddr, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let served = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut request = vec![0; 4096];
            let read = stream.read(&mut request).await.expect("a request");
            stream
                .write_all(answer.as_bytes())
                .await
                .expect("an answer");
            String::from_utf8_lossy(&request[..read]).into_owned()
        });
        (address, served)
    }

    #[tokio::test]
    async fn internal_addresses_and_unsafe_urls_are_rejected() {
        let egress = Egress::new(false);
        for inside in [
            "http://example.com/",
            "ftp://example.com/",
            "https://user@example.com/",
            "https://127.0.0.1/",
            "https://2130706433/",
            "https://10.0.0.1/",
            "https://169.254.169.254/latest/meta-data",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[fd00:ec2::254]/",
            // This name has only loopback addresses.
            "https://localhost/",
        ] {
            let got = egress.get(&url(inside), "*/*", 10).await;
            assert!(
                matches!(got, Err(EgressError::Refused(_))),
                "{inside}: {got:?}"
            );
            let got = egress.post_form(&url(inside), &[]).await;
            assert!(
                matches!(got, Err(EgressError::Refused(_))),
                "{inside}: {got:?}"
            );
        }
    }

    #[tokio::test]
    async fn private_addresses_are_reachable_with_the_setting_but_metadata_never_is() {
        let egress = Egress::new(true);
        let (address, served) = server("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine").await;
        let got = egress
            .get(
                &url(&format!("http://{address}/keys")),
                "application/json",
                4,
            )
            .await;
        assert_eq!(
            got,
            Ok(EgressResponse {
                status: 200,
                body: b"fine".to_vec()
            })
        );
        let request = served.await.expect("served").to_lowercase();
        assert!(
            request.starts_with("get /keys ") && request.contains("accept: application/json"),
            "{request}"
        );
        let got = egress.get(&url("http://169.254.169.254/"), "*/*", 10).await;
        assert!(matches!(got, Err(EgressError::Refused(_))), "{got:?}");
    }

    #[tokio::test]
    async fn a_redirect_is_returned_and_an_oversized_response_is_an_error() {
        let egress = Egress::new(true);
        let (address, _) =
            server("HTTP/1.1 302 Found\r\nlocation: /other\r\ncontent-length: 0\r\n\r\n").await;
        let got = egress
            .get(&url(&format!("http://{address}/")), "*/*", 10)
            .await;
        assert_eq!(got.map(|answer| answer.status), Ok(302));
        let (address, _) = server("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n12345").await;
        assert_eq!(
            egress
                .get(&url(&format!("http://{address}/")), "*/*", 4)
                .await,
            Err(EgressError::TooLarge)
        );
    }

    #[tokio::test]
    async fn a_document_is_posted_with_a_bearer_token() {
        let egress = Egress::new(true);
        let (address, served) = server("HTTP/1.1 204 No Content\r\n\r\n").await;
        let address = url(&format!("http://{address}/"));
        let got = egress
            .post_json(&address, "abc", "{\"a\":1}".to_owned())
            .await;
        assert_eq!(got.map(|answer| answer.status), Ok(204));
        let request = served.await.expect("served");
        assert!(request.ends_with("{\"a\":1}"), "{request}");
        let head = request.to_lowercase();
        assert!(head.contains("authorization: bearer abc"), "{head}");
        assert!(head.contains("content-type: application/json"), "{head}");
        let got = Egress::new(false)
            .post_json(&address, "abc", String::new())
            .await;
        assert!(matches!(got, Err(EgressError::Refused(_))), "{got:?}");
    }

    #[tokio::test]
    async fn a_form_is_posted() {
        let egress = Egress::new(true);
        let (address, served) =
            server("HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\nno").await;
        let got = egress
            .post_form(&url(&format!("http://{address}/")), &[("a", "b c")])
            .await;
        assert_eq!(
            got,
            Ok(EgressResponse {
                status: 400,
                body: b"no".to_vec()
            })
        );
        assert!(served.await.expect("served").ends_with("a=b+c"));
    }
}
