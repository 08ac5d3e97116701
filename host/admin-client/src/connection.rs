//! A connection to the admin API of a running server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use reqwest::header::{CONTENT_TYPE, ETAG, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, ClientBuilder, Method, RequestBuilder, Response, StatusCode};
use serde_json::Value;
use url::Url;

use assent_model::secret::Secret;
use assent_model::text::{to_utf8, without_mark};
use assent_model::token::prefix;
use assent_model::token_text;

use crate::error::{CommandError, ErrorKind};
use crate::listener;

/// The read timeout. It is long, because the server may have to compile and try every plugin.
pub const PATIENCE: Duration = Duration::from_secs(300);
/// The timeout for opening a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// The environment variable that contains the token.
const TOKEN: &str = "ASSENT_ADMIN_TOKEN";

/// The server and the token of a command.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "The server")]
pub struct ServerConnection {
    /// The server's address, such as https://id.example.org. Without it, the instance on this machine.
    #[arg(long, value_name = "URL", env = "ASSENT_SERVER")]
    pub server: Option<String>,
    /// A file with the token; - is standard input. Without it, the variable ASSENT_ADMIN_TOKEN. `assent admin token`
    /// issues one.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// A file with the certificates of your own certificate authority (PEM), for the server's certificate.
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
}

/// The admin API of a server.
#[derive(Debug)]
pub struct Api {
    client: Client,
    base: Url,
    /// The server's name in messages.
    name: String,
    token: Secret,
}

impl Api {
    /// Connects to the API at the address of the connection, or at `default` if the connection has no address.
    ///
    /// # Errors
    /// [`CommandError`] if the address, the token or the certificates cannot be used, or the token is missing.
    pub fn at_server(connection: &ServerConnection, default: &str) -> anyhow::Result<Self> {
        let Some(token) = connection.token()? else {
            return Err(CommandError::usage(format!(
                "a token is required in {TOKEN} or --token-file: from `assent admin token` on the server's machine, or \
                 of a service account"
            )));
        };
        let base = address(connection.server.as_deref().unwrap_or(default))?;
        let client = connection.client()?;
        let client = if is_loopback(&base) {
            client.no_proxy()
        } else {
            client
        };
        Self::connect(client, base, token)
    }

    /// Connects to the API at this address.
    ///
    /// # Errors
    /// [`CommandError`] if a program of another user listens at an address of this machine.
    pub fn connect(client: ClientBuilder, base: Url, token: Secret) -> anyhow::Result<Self> {
        if base.scheme() == "http" {
            listener::must_be_trusted(&base)?;
        }
        let name = base.origin().ascii_serialization();
        Ok(Self {
            client: client.build()?,
            base,
            name,
            token,
        })
    }

    /// Connects to the instance on this machine through its Unix socket.
    ///
    /// # Errors
    /// [`CommandError`] if the socket belongs to another user.
    pub fn at_socket(
        client: ClientBuilder,
        socket: &Path,
        base: Url,
        token: Secret,
    ) -> anyhow::Result<Self> {
        listener::socket_must_be_trusted(socket)?;
        Ok(Self {
            client: client.build()?,
            base,
            name: socket.display().to_string(),
            token,
        })
    }

    /// Returns a request for a path. Each part is one path segment, which is then percent-encoded.
    pub fn request(
        &self,
        method: Method,
        parts: &[String],
        query: &[(String, String)],
    ) -> RequestBuilder {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty()
                .extend(["admin", "api", "v1"])
                .extend(parts);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        self.client
            .request(method, url)
            .bearer_auth(self.token.expose())
    }

    /// Sends a request and returns the response if the request succeeded.
    ///
    /// # Errors
    /// [`CommandError`] with the server's message, if the request failed. `flag` maps a member of the body to the name
    /// of its command-line flag.
    pub async fn send(
        &self,
        request: RequestBuilder,
        flag: impl Fn(&str) -> Option<String>,
    ) -> anyhow::Result<Response> {
        self.answer(request)
            .await?
            .map_err(|problem| problem.into_error(flag))
    }

    /// Sends a request. Returns the response, or the problem with which the server rejected the request.
    ///
    /// # Errors
    /// [`CommandError`] if the response is not one of the admin API.
    pub async fn answer(
        &self,
        request: RequestBuilder,
    ) -> anyhow::Result<Result<Response, Problem>> {
        let answer = request
            .send()
            .await
            .map_err(|error| self.unreachable(&error))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(Ok(answer));
        }
        if media_type(&answer) != "application/problem+json" {
            let kind = if status.is_server_error() {
                ErrorKind::Refused
            } else {
                ErrorKind::Unreachable
            };
            return Err(CommandError::with_kind(
                kind,
                format!("the server at {} has no admin API: {status}", self.name),
            ));
        }
        let members = answer
            .json()
            .await
            .map_err(|error| self.unreachable(&error))?;
        Ok(Err(Problem { status, members }))
    }

    /// Reads the body of a response.
    ///
    /// # Errors
    /// [`CommandError`] if the connection breaks.
    pub async fn bytes(&self, answer: Response) -> anyhow::Result<Vec<u8>> {
        answer
            .bytes()
            .await
            .map(Vec::from)
            .map_err(|error| self.unreachable(&error))
    }

    /// Reads the JSON at a path, with its version (`ETag`).
    ///
    /// # Errors
    /// [`CommandError`] if the request fails or the body is not JSON.
    pub async fn read(
        &self,
        parts: &[String],
        query: &[(String, String)],
    ) -> anyhow::Result<(Value, Option<HeaderValue>)> {
        let answer = self
            .send(self.request(Method::GET, parts, query), |_| None)
            .await?;
        let version = answer.headers().get(ETAG).cloned();
        Ok((self.parse(&self.bytes(answer).await?)?, version))
    }

    /// Parses the JSON body of a response.
    ///
    /// # Errors
    /// [`CommandError`] if the body is not valid JSON of this type.
    pub fn parse<'a, T: serde::Deserialize<'a>>(&self, bytes: &'a [u8]) -> anyhow::Result<T> {
        serde_json::from_slice(bytes).map_err(|_| {
            CommandError::with_kind(
                ErrorKind::Unreachable,
                format!("the server at {} has no admin API", self.name),
            )
        })
    }

    /// Returns the error for an unreachable server, with the cause.
    pub fn unreachable(&self, error: &reqwest::Error) -> anyhow::Error {
        let mut cause: &dyn std::error::Error = error;
        while let Some(next) = cause.source() {
            cause = next;
        }
        let (name, cause) = (&self.name, cause.to_string());
        let message = match error.is_connect() {
            true if cause.contains("certificate") => {
                format!(
                    "the certificate of {name} is not trusted: {cause}; use --ca for your own certificate authority"
                )
            }
            true => {
                format!("no server answers at {name}: {cause}. Is `assent serve` running there?")
            }
            false => format!("the connection to {name} broke: {cause}"),
        };
        CommandError::with_kind(ErrorKind::Unreachable, message)
    }
}

/// A problem (RFC 9457): the reason why the server rejected a request.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    /// The members of the problem object.
    pub members: Value,
}

impl Problem {
    /// Returns the problem type.
    pub fn kind(&self) -> &str {
        self.members
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// Converts the problem to the failure of the command. `flag` maps a member of the body to the name of its
    /// command-line flag.
    pub fn into_error(self, flag: impl Fn(&str) -> Option<String>) -> anyhow::Error {
        let kind = match self.status.as_u16() {
            401 | 403 => ErrorKind::NotAllowed,
            404 => ErrorKind::NotFound,
            _ => ErrorKind::Refused,
        };
        CommandError::with_kind(kind, in_words(&self.members, flag))
    }
}

impl ServerConnection {
    /// Returns a client that trusts the certificates of the connection.
    ///
    /// # Errors
    /// [`CommandError`] if the certificates cannot be read.
    pub fn client(&self) -> anyhow::Result<ClientBuilder> {
        let client = Client::builder()
            .redirect(Policy::none())
            .connect_timeout(CONNECT)
            .read_timeout(PATIENCE);
        Ok(match &self.ca {
            Some(file) => client.tls_certs_merge(certificates(file)?),
            None => client,
        })
    }

    /// Whether the token comes from standard input, which can be read once.
    pub fn reads_standard_input(&self) -> bool {
        self.token_file
            .as_deref()
            .is_some_and(|file| file.as_os_str() == "-")
    }

    /// Reads the token from the file or the environment variable.
    ///
    /// # Errors
    /// [`CommandError`] if the file cannot be read, or the text cannot be a token.
    pub fn token(&self) -> anyhow::Result<Option<Secret>> {
        let text = match &self.token_file {
            Some(file) if file.as_os_str() == "-" => {
                let mut line = String::new();
                std::io::stdin()
                    .read_line(&mut line)
                    .context("--token-file -")?;
                Some(line)
            }
            Some(file) => Some(std::fs::read(file).and_then(to_utf8).map_err(|error| {
                CommandError::usage(format!("--token-file {}: {error}", file.display()))
            })?),
            None => std::env::var(TOKEN).ok(),
        };
        let text = text
            .map(|text| without_mark(&text).trim().to_owned())
            .filter(|text| !text.is_empty());
        // A token of `assent admin token` shows damage itself. Quotes and line breaks that were copied with it do not
        // count.
        let bare = |text: &str| {
            text.trim_matches(|sign: char| !sign.is_alphanumeric())
                .to_owned()
        };
        let text = match text.as_deref().map(bare) {
            Some(bare) if bare.starts_with(prefix::ADMIN) => {
                let found = token_text::find::<48>(prefix::ADMIN, &bare);
                Some(found.map_err(|error| CommandError::usage(error.to_string()))?)
            }
            _ => text,
        };
        if text
            .as_deref()
            .is_some_and(|text| !text.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            return Err(CommandError::usage(
                "the token is invalid: it contains characters that no token has",
            ));
        }
        Ok(text.map(Secret::new))
    }
}

/// Parses the address of a server. Only loopback addresses may use `http`, because secrets require encryption.
fn address(text: &str) -> anyhow::Result<Url> {
    let expected = "expected a URL such as https://id.example.org; http is only for this machine";
    let url = Url::parse(text)
        .map_err(|error| CommandError::usage(format!("--server {text}: {error}; {expected}")))?;
    let is_bare = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url));
    match is_bare && is_safe && url.path() == "/" {
        true => Ok(url),
        false => Err(CommandError::usage(format!("--server {text}: {expected}"))),
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn certificates(file: &Path) -> anyhow::Result<Vec<Certificate>> {
    let wrong = |error: &dyn std::fmt::Display| {
        CommandError::usage(format!("--ca {}: {error}", file.display()))
    };
    let pem = std::fs::read(file).map_err(|error| wrong(&error))?;
    let found = Certificate::from_pem_bundle(&pem).map_err(|error| wrong(&error))?;
    if found.is_empty() {
        Err(wrong(&"there is no certificate in it"))
    } else {
        Ok(found)
    }
}

/// Returns the media type of a response, without parameters.
pub fn media_type(answer: &Response) -> String {
    let kind = answer
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default();
    kind.split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase()
}

/// Formats a problem (RFC 9457) as text: the reason, and each rejected value under the name of its flag.
fn in_words(problem: &Value, flag: impl Fn(&str) -> Option<String>) -> String {
    let text = |value: &Value, name: &str| {
        value
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (title, detail) = (text(problem, "title"), text(problem, "detail"));
    let errors: Vec<&Value> = problem
        .get("errors")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .collect();
    // The title of status 422 refers to values of the request. Without such values, only the detail describes the
    // problem.
    let unfit = problem.get("status").and_then(Value::as_u64) == Some(422);
    let mut words = match errors.is_empty() {
        true if unfit && !detail.is_empty() => detail,
        true => format!("{title}: {detail}"),
        false => title,
    };
    for unfit in &errors {
        let pointer = text(unfit, "pointer");
        let mut parts = pointer
            .split('/')
            .skip(1)
            .map(|part| part.replace("~1", "/").replace("~0", "~"));
        let first = parts.next().unwrap_or_default();
        let named = flag(&first).map_or(first, |flag| format!("--{flag}"));
        let place = parts.fold(named, |place, part| format!("{place} {part}"));
        let reason = text(unfit, "detail");
        words.push_str(&if place.is_empty() {
            format!("\n  {reason}")
        } else {
            format!("\n  {place}: {reason}")
        });
    }
    if words.is_empty() {
        "the server returned no reason".to_owned()
    } else {
        words
    }
}
