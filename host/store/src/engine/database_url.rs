//! The URLs of databases: `sqlite://path/to/file`, and those of PostgreSQL as libpq accepts them, with several hosts
//! and with sockets.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;

/// What a URL of an SQLite database must be.
const EXPECTED_FILE: &str = "expected sqlite://path/to/file, with no parameters, and with %, ? and # in the path as \
                             %25, %3F and %23";

/// Why a URL cannot be parsed whose user name or password contains a delimiter.
const ENCODE: &str = "the user name or the password contains /, ?, # or @; percent-encode these characters as %2F, \
                      %3F, %23 and %40";

/// Returns the file of an SQLite URL; `None` for other and for invalid URLs.
pub(crate) fn sqlite_file(url: &str) -> Option<PathBuf> {
    sqlite_path(url).ok()
}

/// Returns the file of an SQLite URL.
///
/// # Errors
/// The expected form.
pub(crate) fn sqlite_path(url: &str) -> Result<PathBuf, String> {
    let path = url.strip_prefix("sqlite:").unwrap_or_default();
    let path = path.strip_prefix("//").unwrap_or(path);
    let has_only_escapes = path.split('%').skip(1).all(|rest| {
        let digits = rest.bytes().take(2).filter(u8::is_ascii_hexdigit);
        digits.count() == 2
    });
    let decoded = percent_decode_str(path).decode_utf8();
    match decoded {
        Ok(decoded) if has_only_escapes && !path.is_empty() && !path.contains(['?', '#']) => {
            Ok(PathBuf::from(decoded.into_owned()))
        }
        _ => Err(EXPECTED_FILE.to_owned()),
    }
}

/// Returns a URL for display: without a password, and without parameters, since one of them may be a password.
pub(crate) fn without_password(url: &str) -> String {
    const HIDDEN: &str = "with this URL";
    if url.starts_with("sqlite:") {
        return url.to_owned();
    }
    let Ok(PostgresUrl {
        scheme,
        credentials,
        hosts,
        path,
        ..
    }) = PostgresUrl::split(url)
    else {
        return HIDDEN.to_owned();
    };
    let user = match credentials.map(|text| text.split_once(':').unwrap_or((text, ""))) {
        None => String::new(),
        Some((user, "")) => format!("{user}@"),
        Some((user, _)) => format!("{user}:***@"),
    };
    format!("{scheme}://{user}{hosts}{path}")
}

/// The parts of a URL of PostgreSQL.
#[derive(Debug)]
pub(crate) struct PostgresUrl<'u> {
    scheme: &'u str,
    credentials: Option<&'u str>,
    /// The hosts with their ports, separated by commas. Empty for the default socket, and for hosts in the query.
    hosts: &'u str,
    /// The name of the database after a slash; may be empty.
    path: &'u str,
    /// The parameters of the query.
    pub(crate) parameters: Vec<(String, String)>,
}

impl<'u> PostgresUrl<'u> {
    /// Divides a URL into its parts.
    ///
    /// # Errors
    /// The reason why it is not a URL.
    pub(crate) fn split(url: &'u str) -> Result<Self, String> {
        let expected = || "expected postgres://user:password@host:port/database".to_owned();
        let (scheme, rest) = url.split_once("://").ok_or_else(expected)?;
        if rest.contains(char::is_whitespace) {
            return Err("a URL contains no white space; percent-encode it as %20".to_owned());
        }
        let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
        let authority_end = before.find('/').unwrap_or(before.len());
        let (authority, path) = before.split_at(authority_end);
        let credentials = authority.rsplit_once('@');
        let pairs = || query.split('&').filter(|pair| !pair.is_empty());
        let has_ports = authority.split(',').map(port_of).all(is_port);
        let is_cut = path.contains('@')
            || pairs().any(|pair| is_end_of_credentials(pair, path))
            || (credentials.is_none() && !has_ports && query.contains('@'));
        if is_cut || rest.contains('#') {
            return Err(ENCODE.to_owned());
        }
        // Without a host, the text after the colon is a password.
        if credentials.is_none() && !has_ports {
            return Err(expected());
        }
        if let Some(pair) = pairs().find(|pair| !pair.contains('=')) {
            // The text may be a part of a password.
            let what = match pair.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
                true => pair,
                false => "a parameter",
            };
            return Err(format!("{what} has no value; expected NAME=VALUE"));
        }
        let parameters = form_urlencoded(query);
        let (credentials, hosts) = match credentials {
            Some((credentials, hosts)) => (Some(credentials), hosts),
            None => (None, authority),
        };
        // The text after the colon may be a password in the wrong place.
        if !hosts.split(',').map(port_of).all(is_port) {
            return Err(expected());
        }
        Ok(Self {
            scheme,
            credentials,
            hosts,
            path,
            parameters,
        })
    }

    /// The user and the password.
    pub(crate) fn credentials(&self) -> Result<(Option<String>, Option<String>), String> {
        let Some(text) = self.credentials else {
            return Ok((None, None));
        };
        let (user, password) = match text.split_once(':') {
            Some((user, password)) => (user, Some(decode(password)?)),
            None => (text, None),
        };
        let user = Some(decode(user)?).filter(|user| !user.is_empty());
        Ok((user, password))
    }

    /// The name of the database.
    pub(crate) fn database(&self) -> Result<Option<String>, String> {
        let name = decode(self.path.strip_prefix('/').unwrap_or_default())?;
        Ok(Some(name).filter(|name| !name.is_empty()))
    }

    /// The hosts before the path, and their ports.
    pub(crate) fn hosts(&self) -> Result<(Vec<String>, Vec<String>), String> {
        let mut hosts = Vec::new();
        let mut ports = Vec::new();
        for host in self.hosts.split(',') {
            let port = port_of(host);
            let name = match port {
                "" => host.strip_suffix(':').unwrap_or(host),
                port => host
                    .strip_suffix(port)
                    .and_then(|host| host.strip_suffix(':'))
                    .unwrap_or(host),
            };
            let address = name
                .strip_prefix('[')
                .and_then(|name| name.strip_suffix(']'));
            hosts.push(decode(address.unwrap_or(name))?);
            ports.push(port.to_owned());
        }
        Ok((hosts, ports))
    }
}

/// Whether a pair of the query is the end of credentials with a `?`, and contains the host. If the path is empty, libpq
/// and the driver take all text before an `@` as credentials.
fn is_end_of_credentials(pair: &str, path: &str) -> bool {
    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
    let host = value.split_once('@').map(|(_, after)| after);
    name.contains('@') || host.is_some_and(|host| path.is_empty() || host.contains('/'))
}

/// Whether a text is a port, or empty.
fn is_port(text: &str) -> bool {
    text.is_empty() || text.parse::<u16>().is_ok()
}

/// Returns the port of a host in a list; empty if it has none.
fn port_of(host: &str) -> &str {
    // The address of IPv6 is in brackets, and contains colons.
    let after = host.rsplit_once(']').map_or(host, |(_, after)| after);
    after.rsplit_once(':').map_or("", |(_, port)| port)
}

/// Decodes a part of a URL.
fn decode(text: &str) -> Result<String, String> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| "the URL is not UTF-8".to_owned())
}

fn form_urlencoded(query: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(query.as_bytes())
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn an_error_names_percent_encoding_and_no_password() {
        for url in [
            "postgres://u:hunter2/x@h/d",
            "postgres://u:12/hunter2@h/d",
            "postgres://u:hunter2?x@h/d",
            "postgres://u:hunter2#x@h/d",
            "postgres://u:12#hunter2@h/d",
            "postgres://u:hunter2?x@h/d?sslmode=require",
            "postgres://u:hunter2?x=y@h/d",
            "postgres://u:hunter2?x=y@h:5432",
            "postgres://u:a@hunter2/x@h/d",
            "postgres://u:a@hunter2?x=y@h/d",
            "postgres://u:hunter2?a=b&c=d@h/d?sslmode=require",
            "postgres://u:hunter2/x?y=z@h/d",
            "postgres://u:12/hunter2?x=y@h/d",
            "postgres://hunter2?x=y:pw@h/d",
        ] {
            let error = PostgresUrl::split(url).unwrap_err();
            assert!(error.contains("percent-encode"), "{url}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
            assert_eq!(without_password(url), "with this URL", "{url}");
        }
        assert!(PostgresUrl::split("postgres://u:a b@h/d").is_err());
        assert!(PostgresUrl::split("postgres://u@h/d?sslmode").is_err());
    }

    #[test]
    fn a_password_is_not_shown() {
        for (url, shown) in [
            ("postgres://u:hunter2@h/d", "postgres://u:***@h/d"),
            ("postgres://u@h/d?password=hunter2", "postgres://u@h/d"),
            (
                "postgres://u:hunter2@h1:1,h2:2/d",
                "postgres://u:***@h1:1,h2:2/d",
            ),
            ("postgres://u:hunter2@/d?host=/dir", "postgres://u:***@/d"),
            ("postgres://u:hun@ter2@h/d", "postgres://u:***@h/d"),
            ("sqlite://a%3Fb.db", "sqlite://a%3Fb.db"),
            ("hunter2", "with this URL"),
            // The host is missing.
            ("postgres://u:hunter2", "with this URL"),
            ("postgres://u:hunter2/d?sslmode=require", "with this URL"),
            ("postgres://h:5432/d?user=a@b", "postgres://h:5432/d"),
        ] {
            assert_eq!(without_password(url), shown, "{url}");
        }
    }

    #[test]
    fn each_path_of_a_file_can_be_named() {
        for (url, path) in [
            ("sqlite://data/assent.db", "data/assent.db"),
            ("sqlite:///var/lib/assent.db", "/var/lib/assent.db"),
            ("sqlite:assent.db", "assent.db"),
            ("sqlite://100%25/a%3Fb%23c.db", "100%/a?b#c.db"),
            ("sqlite://a b/Zo%C3%AB.db", "a b/Zoë.db"),
        ] {
            assert_eq!(sqlite_file(url).as_deref(), Some(Path::new(path)), "{url}");
        }
        for url in [
            "sqlite:",
            "sqlite://",
            "sqlite://a?b",
            "sqlite://a#b",
            "sqlite://100%",
            "sqlite://a%zz",
            "sqlite://a%+1",
            "postgres://h/d",
        ] {
            assert_eq!(sqlite_file(url), None, "{url}");
        }
    }
}
