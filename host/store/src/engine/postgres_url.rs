//! The settings in a URL of PostgreSQL, as libpq understands them. Neither the environment nor a file of passwords adds
//! to them.

use std::path::PathBuf;
use std::time::Duration;

use openssl::pkey::PKey;
use openssl::x509::X509;

use crate::engine::database_url::PostgresUrl;

/// The port of a server whose URL names none.
const PORT: u16 = 5432;

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// A name or an IP address, and the port.
    Tcp(String, u16),
    /// The folder of a socket, and the port that is a part of its name.
    Socket(PathBuf, u16),
}

impl Host {
    /// The name, the address or the folder.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Tcp(name, _) => name.clone(),
            Self::Socket(folder, _) => folder.display().to_string(),
        }
    }

    pub(crate) const fn port(&self) -> u16 {
        match self {
            Self::Tcp(_, port) | Self::Socket(_, port) => *port,
        }
    }
}

/// The sessions that a connection may have (`target_session_attrs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TargetSession {
    /// Those of each server.
    #[default]
    Any,
    /// Those of a primary.
    ReadWrite,
    /// Those of a standby.
    ReadOnly,
}

/// Whether the connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TlsMode {
    Disable,
    /// If the server offers it.
    Prefer,
    /// With any certificate.
    Require,
    /// With a certificate for the name of the host, of a trusted authority.
    Verify,
}

/// How the connection is encrypted, and the files for that.
#[derive(Clone)]
pub(crate) struct Tls {
    pub(crate) mode: TlsMode,
    /// The authorities of which one issued the server's certificate, as PEM. Empty for those of the system.
    pub(crate) roots: Vec<Vec<u8>>,
    /// The client's certificate with its chain, and its key in PKCS #8, as PEM.
    pub(crate) identity: Option<(Vec<u8>, Vec<u8>)>,
}

/// The texts of `sslmode` and of the names of files, for PostgreSQL's own programs.
#[derive(Clone, Debug, Default)]
pub(crate) struct TlsTexts {
    pub(crate) mode: Option<String>,
    pub(crate) root: Option<String>,
    pub(crate) certificate: Option<String>,
    pub(crate) key: Option<String>,
}

/// The settings in a URL.
#[derive(Clone)]
pub(crate) struct PostgresSettings {
    /// The servers, which are tried in turn.
    pub(crate) hosts: Vec<Host>,
    pub(crate) user: String,
    pub(crate) password: Option<String>,
    pub(crate) database: String,
    /// Settings of the session.
    pub(crate) options: String,
    /// The time limit for each host.
    pub(crate) connect_timeout: Option<Duration>,
    pub(crate) session: TargetSession,
    pub(crate) tls: Tls,
    pub(crate) tls_texts: TlsTexts,
}

impl PostgresSettings {
    /// Parses a URL, and reads the certificates that it names.
    ///
    /// # Errors
    /// The fault, without a value that may be secret.
    pub(crate) fn parse(url: &str) -> Result<Self, String> {
        let url = PostgresUrl::split(url)?;
        let (mut user, mut password) = url.credentials()?;
        let mut database = url.database()?;
        let (mut hosts, mut ports) = url.hosts()?;
        let mut options = String::new();
        let mut connect_timeout = None;
        let mut session = TargetSession::Any;
        let mut texts = TlsTexts::default();
        for (name, value) in url.parameters {
            match name.as_str() {
                "user" => user = Some(value),
                "password" => password = Some(value),
                "dbname" => database = Some(value),
                "host" => hosts = value.split(',').map(str::to_owned).collect(),
                "port" => ports = value.split(',').map(str::to_owned).collect(),
                "options" => options = value,
                "connect_timeout" => connect_timeout = parse_timeout(&value)?,
                "target_session_attrs" => session = parse_session(&value)?,
                "sslmode" => texts.mode = Some(value),
                "sslrootcert" => texts.root = Some(value),
                "sslcert" => texts.certificate = Some(value),
                "sslkey" => texts.key = Some(value),
                "channel_binding" => reject_channel_binding(&value)?,
                other => return Err(format!("the parameter {other} is unknown")),
            }
        }
        let user = user.ok_or("the URL names no user")?;
        Ok(Self {
            hosts: join_hosts(&hosts, &ports)?,
            database: database.unwrap_or_else(|| user.clone()),
            user,
            password,
            options,
            connect_timeout,
            session,
            tls: read_tls(&texts)?,
            tls_texts: texts,
        })
    }
}

/// Joins the hosts with their ports. A single port is that of all hosts, and an empty one is the usual one.
fn join_hosts(hosts: &[String], ports: &[String]) -> Result<Vec<Host>, String> {
    let port = |text: &str| match text {
        "" => Ok(PORT),
        text => text.parse().map_err(|_| "a port is no number".to_owned()),
    };
    let ports: Vec<u16> = ports
        .iter()
        .map(|text| port(text))
        .collect::<Result<_, _>>()?;
    let port_of = |place: usize| match ports.as_slice() {
        [] => Ok(PORT),
        [port] => Ok(*port),
        ports => ports
            .get(place)
            .copied()
            .ok_or_else(|| format!("there are {} hosts and {} ports", hosts.len(), ports.len())),
    };
    if ports.len() > hosts.len().max(1) {
        return Err(format!(
            "there are {} hosts and {} ports",
            hosts.len(),
            ports.len()
        ));
    }
    let host = |(place, name): (usize, &String)| {
        let port = port_of(place)?;
        match name.as_str() {
            "" => {
                Err("name the host, or the folder of its socket as host=/run/postgresql".to_owned())
            }
            folder if folder.starts_with('/') => Ok(Host::Socket(folder.into(), port)),
            name => Ok(Host::Tcp(name.to_owned(), port)),
        }
    };
    hosts.iter().enumerate().map(host).collect()
}

fn parse_timeout(text: &str) -> Result<Option<Duration>, String> {
    let seconds: i64 = text
        .parse()
        .map_err(|_| "connect_timeout must be a number of seconds".to_owned())?;
    // As in libpq, there is no limit below one second.
    Ok(u64::try_from(seconds)
        .ok()
        .filter(|seconds| *seconds > 0)
        .map(Duration::from_secs))
}

fn parse_session(text: &str) -> Result<TargetSession, String> {
    match text {
        "any" => Ok(TargetSession::Any),
        "read-write" | "primary" => Ok(TargetSession::ReadWrite),
        "read-only" | "standby" => Ok(TargetSession::ReadOnly),
        other => Err(format!(
            "target_session_attrs must be any, read-write or read-only, not {other:?}"
        )),
    }
}

fn reject_channel_binding(text: &str) -> Result<(), String> {
    match text {
        "disable" | "prefer" => Ok(()),
        _ => Err("channel_binding=require is not possible; remove it, and set sslmode=verify-full, so that nobody \
                  between Assent and the server can read or change the connection"
            .to_owned()),
    }
}

fn read_tls(texts: &TlsTexts) -> Result<Tls, String> {
    let mode = match texts.mode.as_deref().unwrap_or("prefer") {
        "disable" => TlsMode::Disable,
        "prefer" => TlsMode::Prefer,
        "require" if texts.root.is_none() => TlsMode::Require,
        // In libpq these do not verify the name. The driver trusts the authorities of the system too, so any holder of
        // a public certificate would be accepted.
        "require" | "verify-ca" | "verify-full" => TlsMode::Verify,
        other => {
            return Err(format!(
                "sslmode must be disable, prefer, require, verify-ca or verify-full, not {other:?}"
            ));
        }
    };
    let roots = texts.root.as_deref().map(read_roots).transpose()?;
    let identity = match (&texts.certificate, &texts.key) {
        (Some(certificate), Some(key)) => Some(read_identity(certificate, key)?),
        (None, None) => None,
        _ => return Err("sslcert and sslkey belong together; name both".to_owned()),
    };
    Ok(Tls {
        mode,
        roots: roots.unwrap_or_default(),
        identity,
    })
}

fn read(file: &str) -> Result<Vec<u8>, String> {
    std::fs::read(file).map_err(|error| format!("cannot use {file}: {error}"))
}

fn read_roots(file: &str) -> Result<Vec<Vec<u8>>, String> {
    let unusable = |error| format!("cannot use {file}: {error}");
    let roots = X509::stack_from_pem(&read(file)?).map_err(unusable)?;
    if roots.is_empty() {
        return Err(format!("cannot use {file}: it has no certificate"));
    }
    let texts = roots.iter().map(|root| root.to_pem().map_err(unusable));
    texts.collect()
}

fn read_identity(certificate: &str, key: &str) -> Result<(Vec<u8>, Vec<u8>), String> {
    let chain = read(certificate)?;
    X509::from_pem(&chain).map_err(|error| format!("cannot use {certificate}: {error}"))?;
    let unusable = |error| format!("cannot use {key}: {error}");
    // The driver accepts PKCS #8 only.
    let key = PKey::private_key_from_pem(&read(key)?)
        .and_then(|key| key.private_key_to_pem_pkcs8())
        .map_err(unusable)?;
    Ok((chain, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> PostgresSettings {
        PostgresSettings::parse(url).unwrap_or_else(|reason| panic!("{url}: {reason}"))
    }

    fn tcp(name: &str, port: u16) -> Host {
        Host::Tcp(name.to_owned(), port)
    }

    fn socket(folder: &str, port: u16) -> Host {
        Host::Socket(folder.into(), port)
    }

    #[test]
    fn hosts_and_ports_are_those_of_libpq() {
        for (url, hosts) in [
            ("postgres://u@h/d", vec![tcp("h", 5432)]),
            ("postgres://u@h1:1,h2:2/d", vec![tcp("h1", 1), tcp("h2", 2)]),
            (
                "postgres://u@h1:7,h2/d",
                vec![tcp("h1", 7), tcp("h2", 5432)],
            ),
            (
                "postgres://u@[::1]:7,[::2]/d",
                vec![tcp("::1", 7), tcp("::2", 5432)],
            ),
            (
                "postgres://u@%2Frun%2Fpostgresql/d",
                vec![socket("/run/postgresql", 5432)],
            ),
            // A parameter replaces the hosts, and keeps their ports.
            (
                "postgres://u@h:5433/d?host=/dir",
                vec![socket("/dir", 5433)],
            ),
            ("postgres://u@h:5433/d?host=a&port=1", vec![tcp("a", 1)]),
            (
                "postgres://u@/d?host=h1,h2&port=1,2",
                vec![tcp("h1", 1), tcp("h2", 2)],
            ),
            (
                "postgres://u@/d?host=h1%2Ch2&port=7",
                vec![tcp("h1", 7), tcp("h2", 7)],
            ),
            (
                "postgres://u@/d?host=/a,/b",
                vec![socket("/a", 5432), socket("/b", 5432)],
            ),
        ] {
            assert_eq!(parse(url).hosts, hosts, "{url}");
        }
    }

    #[test]
    fn names_and_passwords_are_decoded() {
        let url = parse("postgres://ad%40a:p%2Fw%3F%23%40@h/my%20db");
        assert_eq!(
            (url.user.as_str(), url.database.as_str()),
            ("ad@a", "my db")
        );
        assert_eq!(url.password.as_deref(), Some("p/w?#@"));
        // Without a name, the database is that of the user.
        assert_eq!(parse("postgres://ada@h").database, "ada");
        let url = parse("postgres://h/d?user=a@b&password=p@ss&dbname=other");
        assert_eq!((url.user.as_str(), url.database.as_str()), ("a@b", "other"));
        assert_eq!(url.password.as_deref(), Some("p@ss"));
    }

    #[test]
    fn each_parameter_has_its_effect() {
        let url = parse(
            "postgres://u@h/d?connect_timeout=7&target_session_attrs=read-write&sslmode=require\
             &options=-c%20geqo%3Doff&channel_binding=prefer",
        );
        assert_eq!(url.connect_timeout, Some(Duration::from_secs(7)));
        assert_eq!(url.session, TargetSession::ReadWrite);
        assert_eq!(url.options, "-c geqo=off");
        assert_eq!(url.tls.mode, TlsMode::Require);
        assert_eq!(
            parse("postgres://u@h/d?connect_timeout=0").connect_timeout,
            None
        );
    }

    #[test]
    fn nothing_is_ignored() {
        for (url, reason) in [
            ("postgres://h/d", "names no user"),
            ("postgres:///d?user=u", "name the host"),
            (
                "postgres://u@h/d?nonsense=hunter2",
                "the parameter nonsense is unknown",
            ),
            ("postgres://u@h/d?keepalives=1", "keepalives"),
            (
                "postgres://u@h/d?channel_binding=require",
                "sslmode=verify-full",
            ),
            ("postgres://u@h/d?sslmode=allow", "sslmode must be"),
            ("postgres://u@h/d?connect_timeout=soon", "connect_timeout"),
            (
                "postgres://u@h/d?target_session_attrs=best",
                "target_session_attrs",
            ),
            (
                "postgres://u@h/d?sslrootcert=/no/such&sslmode=verify-full",
                "cannot use /no/such",
            ),
            (
                "postgres://u@h/d?sslcert=/no/such",
                "sslcert and sslkey belong together",
            ),
            ("postgres://u@/d?host=a&port=1,2", "1 hosts and 2 ports"),
            ("postgres://u@/d?host=a&port=hunter2", "a port is no number"),
            ("postgres://u@h:hunter2/d", "expected postgres://"),
        ] {
            let error = PostgresSettings::parse(url).err().unwrap_or_default();
            assert!(error.contains(reason), "{url}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
