//! The settings of the listeners.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use super::{HumanDuration, IpNetwork, ListenAddress};

/// The listeners.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Http {
    /// The address and port to listen on, or `unix:` and the path of a socket for a proxy on this machine. Programs
    /// that may connect to the socket count as `trusted_proxies`.
    pub listen: ListenAddress,
    /// The group whose users may connect to the sockets of `listen` and `[http.mtls]`; by default the group of the
    /// server. The user of the server must be in this group.
    pub socket_group: Option<String>,
    /// The addresses or networks of proxies whose `X-Forwarded-For` header the server trusts.
    pub trusted_proxies: Vec<IpNetwork>,
    /// The maximum number of connections from one IPv4 address, or from the first 64 bits of an IPv6 address, at each
    /// listener. A /56 may have four times as many, a /48 sixteen times. None of them may have more than a quarter of
    /// the listener's connections. The server closes further ones at once. The `trusted_proxies` have no limit.
    pub connections_per_network: u32,
    /// The timeout of the TLS handshake of a new connection, and then of the head of its first request. For the
    /// `trusted_proxies` it is `head_timeout`, because they may open connections in advance.
    pub first_request_timeout: HumanDuration,
    /// The timeout of a request's head, and of an idle connection. It should be longer than the idle timeout of a proxy
    /// in front.
    pub head_timeout: HumanDuration,
    /// The timeout of writes to a client that does not read the response.
    pub write_timeout: HumanDuration,
    /// How long the server still accepts requests after SIGTERM, while `/readyz` returns 503: the time that a load
    /// balancer needs to notice. Then the listeners close. `0s` closes them at once.
    pub drain_time: HumanDuration,
    /// TLS for `listen`. Without this table it is http, and a proxy in front terminates TLS.
    pub tls: Option<Tls>,
    /// Client certificates of applications: a second listener that requests them, and the authorities that may issue
    /// them.
    pub mtls: Option<Mtls>,
    /// The URL by which applications reach the listener of `[http.mtls]`, such as `https://mtls.id.example.org`,
    /// without a path or query. It may also be the URL of a proxy that requests their certificate.
    pub mtls_url: Option<Url>,
    /// Trusts the headers `Client-Cert` and `Client-Cert-Chain` (RFC 9440) of the `trusted_proxies` in place of a
    /// certificate of the connection. The proxy must remove these headers from requests of clients.
    pub client_cert_header: bool,
}

/// A certificate and its key. The server reads changed files within a minute.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// The certificate in PEM form, followed by those of the authorities between it and the root.
    pub certificate_file: PathBuf,
    /// The certificate's private key in PEM form, without a passphrase.
    pub key_file: PathBuf,
}

/// The client certificates of applications. The listener requests a certificate, and serves only the token, pushed
/// request, introspection, revocation and UserInfo endpoints. It accepts each certificate whose key the client has.
/// Client authentication then compares it with the registered certificate, or verifies it with the authorities. Without
/// `listen` a proxy forwards certificates (`http.client_cert_header`).
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Mtls {
    /// The address and port to listen on, or `unix:` and the path of a socket. It needs `certificate_file` and
    /// `key_file`.
    pub listen: Option<ListenAddress>,
    /// The listener's own certificate in PEM form, followed by those of the authorities between it and the root.
    pub certificate_file: Option<PathBuf>,
    /// The private key of the listener's certificate in PEM form, without a passphrase.
    pub key_file: Option<PathBuf>,
    /// The root authorities in PEM form whose client certificates are accepted for applications that are registered
    /// with a name (`tls_client_auth`, RFC 8705 section 2.1). Intermediate authorities in the file complete the chains
    /// of clients that do not send them. The server reads the changed file within a minute. It checks no revocation.
    pub authorities_file: Option<PathBuf>,
}

/// The listener of `[http.mtls]`.
#[derive(Clone, Debug)]
pub struct MtlsListener {
    /// The address.
    pub listen: ListenAddress,
    /// The listener's own certificate and key.
    pub tls: Tls,
}

impl Mtls {
    /// Returns the listener, if there is one.
    fn listener(&self) -> Option<MtlsListener> {
        Some(MtlsListener {
            listen: self.listen.clone()?,
            tls: Tls {
                certificate_file: self.certificate_file.clone()?,
                key_file: self.key_file.clone()?,
            },
        })
    }
}

impl Http {
    /// Returns the listener that requests client certificates, if there is one.
    pub fn mtls_listener(&self) -> Option<MtlsListener> {
        self.mtls.as_ref()?.listener()
    }

    /// Returns the file of the authorities whose client certificates are accepted, if there is one.
    pub fn authorities_file(&self) -> Option<&Path> {
        self.mtls.as_ref()?.authorities_file.as_deref()
    }

    /// Whether a client can present a certificate: to the listener of `[http.mtls]`, or to a proxy that forwards it.
    pub fn receives_certificates(&self) -> bool {
        self.mtls_listener().is_some() || (self.client_cert_header && self.trusts_proxy())
    }

    /// Whether a proxy can send headers that the server trusts: one at the socket, or one of the `trusted_proxies`.
    fn trusts_proxy(&self) -> bool {
        self.listen.socket().is_some() || !self.trusted_proxies.is_empty()
    }
}

impl Default for Http {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)).into(),
            socket_group: None,
            trusted_proxies: Vec::new(),
            connections_per_network: 1000,
            first_request_timeout: HumanDuration::seconds(15),
            head_timeout: HumanDuration::seconds(75),
            write_timeout: HumanDuration::seconds(30),
            drain_time: HumanDuration::seconds(5),
            tls: None,
            mtls: None,
            mtls_url: None,
            client_cert_header: false,
        }
    }
}

/// Returns notes on settings that are valid, but may surprise an operator.
pub(super) fn notes(http: &Http) -> Vec<String> {
    let mut notes = Vec::new();
    if http.client_cert_header && http.mtls_listener().is_some() {
        notes.push(
            "http.client_cert_header: does not apply to the listener of http.mtls, where only the certificate of the \
             connection counts"
                .to_owned(),
        );
    }
    let loopback: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    let trusts_machine =
        |proxy: &IpNetwork| loopback.iter().any(|address| proxy.contains(*address));
    let has_port = http.listen.socket().is_none();
    if http.client_cert_header && has_port && http.trusted_proxies.iter().any(trusts_machine) {
        notes.push(
            "http.client_cert_header: every user of this machine can connect as the proxy, and claim any certificate; \
             listen on a socket, such as unix:/run/assent/assent.sock"
                .to_owned(),
        );
    }
    notes
}

/// Checks the rules that the types cannot express. `is_https` refers to the base URL.
pub(super) fn check(http: &Http, is_https: bool, expect: &mut impl FnMut(bool, &str, &str)) {
    expect(
        (1..=1_000_000).contains(&http.connections_per_network),
        "http.connections_per_network",
        "expected 1 to 1000000 connections",
    );
    expect(
        !http.trusted_proxies.iter().any(IpNetwork::is_everything),
        "http.trusted_proxies",
        "expected the networks of your proxies; a prefix of 0 contains every client",
    );
    for (name, timeout) in [
        ("first_request_timeout", http.first_request_timeout),
        ("head_timeout", http.head_timeout),
        ("write_timeout", http.write_timeout),
    ] {
        timeout.check(
            &format!("http.{name}"),
            HumanDuration::seconds(1)..=HumanDuration::minutes(10),
            expect,
        );
    }
    http.drain_time.check(
        "http.drain_time",
        HumanDuration::ZERO..=HumanDuration::minutes(10),
        expect,
    );
    expect(
        http.tls.is_none() || is_https,
        "base_url",
        "expected https, because http.tls enables TLS",
    );
    check_mtls(http, expect);
    expect(
        http.mtls_listener().is_none() || http.mtls_url.is_some(),
        "http.mtls_url",
        "missing; expected the address of the http.mtls listener for applications, such as https://mtls.id.example.org",
    );
    expect(
        http.mtls_listener()
            .is_none_or(|mtls| mtls.listen != http.listen || is_chosen(&mtls.listen)),
        "http.mtls.listen",
        "expected another address or port than that of http.listen",
    );
    expect(
        http.mtls_url
            .as_ref()
            .is_none_or(|url| url.scheme() == "https" && is_bare(url)),
        "http.mtls_url",
        "expected an https address without path or query, such as https://mtls.id.example.org",
    );
    let has_socket = http.listen.socket().is_some();
    expect(
        http.tls.is_none() || !has_socket,
        "http.tls",
        "expected an address and port in http.listen: a socket is for a proxy, which terminates TLS",
    );
    expect(
        !http.client_cert_header || http.trusts_proxy(),
        "http.client_cert_header",
        "expected the proxy that sends this header in http.trusted_proxies",
    );
}

/// Checks that a listener for client certificates is complete, and that authorities have certificates to verify.
fn check_mtls(http: &Http, expect: &mut impl FnMut(bool, &str, &str)) {
    let Some(mtls) = &http.mtls else {
        return;
    };
    let members = [
        ("http.mtls.listen", mtls.listen.is_some()),
        (
            "http.mtls.certificate_file",
            mtls.certificate_file.is_some(),
        ),
        ("http.mtls.key_file", mtls.key_file.is_some()),
    ];
    let is_listener = mtls.authorities_file.is_none() || members.iter().any(|(_, is_set)| *is_set);
    for (key, is_set) in members {
        expect(
            is_set || !is_listener,
            key,
            "missing; expected listen, certificate_file and key_file together",
        );
    }
    expect(
        is_listener || http.receives_certificates(),
        "http.mtls.authorities_file",
        "expected a listener in http.mtls.listen, or a proxy that sends certificates (http.client_cert_header)",
    );
}

/// Whether the system chooses the port of the address.
fn is_chosen(address: &ListenAddress) -> bool {
    address.socket().is_none() && address.port() == 0
}

/// Returns whether a URL has only a scheme, a host and an optional port.
pub(super) fn is_bare(url: &url::Url) -> bool {
    let nothing_else = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    nothing_else && url.has_host() && url.username().is_empty() && url.password().is_none()
}
