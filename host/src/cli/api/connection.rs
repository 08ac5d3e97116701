//! The way to a host's admin API, and what it says there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use reqwest::header::{CONTENT_TYPE, ETAG, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, ClientBuilder, Method, RequestBuilder, Response};
use serde_json::Value;
use url::Url;

use super::listener;
use crate::cli::failure::{Failure, Kind};
use crate::cli::{ConfigFile, host_without_plugins};
use crate::config::Settings;
use crate::domain::admin;
use crate::model::audit::By;
use crate::secret::Secret;

/// How long the host may be silent: it may have every plugin to compile and try out.
const PATIENCE: Duration = Duration::from_secs(300);
/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);
/// Where the token is, beside a file.
const TOKEN: &str = "ASSENT_ADMIN_TOKEN";

/// Which host, and as whom.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "The host")]
pub struct Connection {
    /// The host's address, such as https://id.example.org. Without it, the host on this machine that the settings describe.
    #[arg(long, value_name = "URL", env = "ASSENT_SERVER")]
    server: Option<String>,
    /// A file with the token to show; - is standard input. Without it, the variable ASSENT_ADMIN_TOKEN; for the host on this
    /// machine also without that, as `assent admin token` makes one.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A file with the certificates of an authority of your own (PEM), which the host's may be of.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigFile,
}

/// A host's admin API.
pub(super) struct Api {
    client: Client,
    base: Url,
    /// What messages call it.
    name: String,
    token: Secret,
}

impl Api {
    /// The API that is meant, with a token for it.
    ///
    /// # Errors
    /// [`Failure`] if what was given does not do.
    pub(super) async fn of(connection: &Connection) -> anyhow::Result<Self> {
        let token = connection.token()?;
        let client = Client::builder().redirect(Policy::none()).connect_timeout(CONNECT).read_timeout(PATIENCE);
        let client = match &connection.ca {
            Some(file) => client.tls_certs_merge(certificates(file)?),
            None => client,
        };
        let (client, base, token) = match (&connection.server, token) {
            (Some(server), Some(token)) => {
                let base = address(server)?;
                let client = if is_loopback(&base) { client.no_proxy() } else { client };
                (client, base, token)
            }
            (Some(_), None) => {
                return Err(Failure::usage(format!(
                    "a token is needed: of `assent admin token` on the host's machine, or of a service account, in {TOKEN} or \
                     --token-file"
                )));
            }
            (None, token) => here(client.no_proxy(), &connection.config.config, token).await?,
        };
        if base.scheme() == "http" {
            listener::must_be_trusted(&base)?;
        }
        let name = base.origin().ascii_serialization();
        Ok(Self { client: client.build()?, base, name, token })
    }

    /// A request for a path of which each part is given by itself.
    pub(super) fn request(&self, method: Method, parts: &[String], query: &[(String, String)]) -> RequestBuilder {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["admin", "api", "v1"]).extend(parts);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        self.client.request(method, url).bearer_auth(self.token.expose())
    }

    /// Sends a request; the answer says that it is done.
    ///
    /// # Errors
    /// [`Failure`] if it is not done, with what the host says. `flag` says how a member of the body is called here.
    pub(super) async fn send(
        &self,
        request: RequestBuilder,
        flag: impl Fn(&str) -> Option<String>,
    ) -> anyhow::Result<Response> {
        let answer = request.send().await.map_err(|error| self.unreachable(&error))?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let status = answer.status();
        if media_type(&answer) != "application/problem+json" {
            let kind = if status.is_server_error() { Kind::Refused } else { Kind::Unreachable };
            return Err(Failure::error(kind, format!("what answers at {} is no admin API: {status}", self.name)));
        }
        let problem: Value = answer.json().await.map_err(|error| self.unreachable(&error))?;
        let kind = match status.as_u16() {
            401 | 403 => Kind::NotAllowed,
            404 => Kind::NotFound,
            _ => Kind::Refused,
        };
        Err(Failure::error(kind, in_words(&problem, flag)))
    }

    /// What an answer holds.
    ///
    /// # Errors
    /// [`Failure`] if the connection breaks.
    pub(super) async fn bytes(&self, answer: Response) -> anyhow::Result<Vec<u8>> {
        answer.bytes().await.map(Vec::from).map_err(|error| self.unreachable(&error))
    }

    /// The JSON at a path, with its version.
    ///
    /// # Errors
    /// [`Failure`] if it can't be read.
    pub(super) async fn read(
        &self,
        parts: &[String],
        query: &[(String, String)],
    ) -> anyhow::Result<(Value, Option<HeaderValue>)> {
        let answer = self.send(self.request(Method::GET, parts, query), |_| None).await?;
        let version = answer.headers().get(ETAG).cloned();
        Ok((self.parse(&self.bytes(answer).await?)?, version))
    }

    /// The JSON that an answer is.
    ///
    /// # Errors
    /// [`Failure`] if it is none.
    pub(super) fn parse<'a, T: serde::Deserialize<'a>>(&self, bytes: &'a [u8]) -> anyhow::Result<T> {
        serde_json::from_slice(bytes)
            .map_err(|_| Failure::error(Kind::Unreachable, format!("what answers at {} is no admin API", self.name)))
    }

    /// Why the host can't be reached.
    pub(super) fn unreachable(&self, error: &reqwest::Error) -> anyhow::Error {
        let mut cause: &dyn std::error::Error = error;
        while let Some(next) = cause.source() {
            cause = next;
        }
        let (name, cause) = (&self.name, cause.to_string());
        let message = match error.is_connect() {
            true if cause.contains("certificate") => {
                format!("what answers at {name} is not trusted: {cause}; --ca names an authority of your own")
            }
            true => format!("no server answers at {name}: {cause}. Is `assent serve` running there?"),
            false => format!("the connection to {name} broke: {cause}"),
        };
        Failure::error(Kind::Unreachable, message)
    }
}

impl Connection {
    /// Whether the token comes from standard input, which can be read once.
    pub(super) fn reads_standard_input(&self) -> bool {
        self.token_file.as_deref().is_some_and(|file| file.as_os_str() == "-")
    }

    /// The token that was given.
    fn token(&self) -> anyhow::Result<Option<Secret>> {
        let text = match &self.token_file {
            Some(file) if file.as_os_str() == "-" => {
                let mut line = String::new();
                std::io::stdin().read_line(&mut line).context("--token-file -")?;
                Some(line)
            }
            Some(file) => Some(
                std::fs::read_to_string(file)
                    .map_err(|error| Failure::usage(format!("--token-file {}: {error}", file.display())))?,
            ),
            None => std::env::var(TOKEN).ok(),
        };
        let text = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        if text.as_deref().is_some_and(|text| !text.bytes().all(|byte| byte.is_ascii_graphic())) {
            return Err(Failure::usage("the token is none: there are characters in it that no token has"));
        }
        Ok(text.map(Secret::new))
    }
}

/// The address of a host: nothing secret goes there without encryption, but to this machine.
fn address(text: &str) -> anyhow::Result<Url> {
    let expected = "expected an address such as https://id.example.org; http is for this machine alone";
    let url = Url::parse(text).map_err(|error| Failure::usage(format!("--server {text}: {error}; {expected}")))?;
    let is_bare =
        url.username().is_empty() && url.password().is_none() && url.query().is_none() && url.fragment().is_none();
    let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url));
    match is_bare && is_safe && url.path() == "/" {
        true => Ok(url),
        false => Err(Failure::usage(format!("--server {text}: {expected}"))),
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
    let wrong = |error: &dyn std::fmt::Display| Failure::usage(format!("--ca {}: {error}", file.display()));
    let pem = std::fs::read(file).map_err(|error| wrong(&error))?;
    let found = Certificate::from_pem_bundle(&pem).map_err(|error| wrong(&error))?;
    if found.is_empty() { Err(wrong(&"there is no certificate in it")) } else { Ok(found) }
}

/// The way to the listener of this machine, whatever stands before it, with a token of its database where none was given.
async fn here(
    client: ClientBuilder,
    file: &Path,
    token: Option<Secret>,
) -> anyhow::Result<(ClientBuilder, Url, Secret)> {
    if !file.exists() {
        return Err(Failure::usage(format!(
            "there are no settings at {}; name the file with --config, or a host with --server",
            file.display()
        )));
    }
    let settings = crate::cli::settings(file)?;
    let (client, address) = reach(client, &settings);
    let token = match token {
        Some(token) => token,
        None => {
            let host = host_without_plugins(file).await?;
            // It goes to whatever listens there, though that is no other user's, so it is good for a short time.
            let (token, _) = admin::issue_admin_token_for(&host, PATIENCE, &By::HOST).await?;
            host.store.close().await;
            Secret::new(token.expose())
        }
    };
    Ok((client, Url::parse(&address).context("the address of the listener")?, token))
}

/// A client and the address to call.
fn reach(client: ClientBuilder, settings: &Settings) -> (ClientBuilder, String) {
    let listen = settings.http.listen;
    let address = match listen.ip() {
        IpAddr::V4(any) if any.is_unspecified() => SocketAddr::from((Ipv4Addr::LOCALHOST, listen.port())),
        IpAddr::V6(any) if any.is_unspecified() => SocketAddr::from((Ipv6Addr::LOCALHOST, listen.port())),
        _ => listen,
    };
    match (&settings.http.tls, settings.base_url.host_str()) {
        // The certificate is for the name that people use.
        (Some(_), Some(name)) => (client.resolve(name, address), format!("https://{name}:{}", address.port())),
        _ => (client, format!("http://{address}")),
    }
}

/// The media type of an answer, without parameters.
fn media_type(answer: &Response) -> String {
    let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// A problem (RFC 9457) for people: what is wrong, and each value that does not fit under the name of its flag.
fn in_words(problem: &Value, flag: impl Fn(&str) -> Option<String>) -> String {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (title, detail) = (text(problem, "title"), text(problem, "detail"));
    let errors: Vec<&Value> = problem.get("errors").and_then(Value::as_array).into_iter().flatten().collect();
    // The title of 422 is about values of the request; without any, the sentence is about something else.
    let unfit = problem.get("status").and_then(Value::as_u64) == Some(422);
    let mut words = match errors.is_empty() {
        true if unfit && !detail.is_empty() => detail,
        true => format!("{title}: {detail}"),
        false => title,
    };
    for unfit in &errors {
        let pointer = text(unfit, "pointer");
        let mut parts = pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~"));
        let first = parts.next().unwrap_or_default();
        let named = flag(&first).map_or(first, |flag| format!("--{flag}"));
        let place = parts.fold(named, |place, part| format!("{place} {part}"));
        let said = text(unfit, "detail");
        words.push_str(&if place.is_empty() { format!("\n  {said}") } else { format!("\n  {place}: {said}") });
    }
    if words.is_empty() { "the host did not say why".to_owned() } else { words }
}
