//! The settings of email.

use std::net::IpAddr;
use std::path::PathBuf;

use lettre::message::Mailbox;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::HumanDuration;

/// How the connection to the SMTP server is protected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MailSecurity {
    /// The connection begins without TLS and must continue with it (STARTTLS, RFC 3207).
    #[default]
    Starttls,
    /// The connection begins with TLS (RFC 8314).
    Implicit,
    /// No TLS. Only for a server on the same machine.
    None,
}

impl MailSecurity {
    const fn default_port(self) -> u16 {
        match self {
            Self::Starttls => 587,
            Self::Implicit => 465,
            Self::None => 25,
        }
    }
}

/// Email: the SMTP server that sends invitations. Without this table the server sends no email.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mail {
    /// The SMTP server, such as `smtp.example.org` or `smtp.example.org:2525`. Without a port: 587 for `starttls`, 465
    /// for `implicit`, 25 for `none`.
    pub server: String,
    /// How the connection is protected. `starttls`: TLS is required after the first greeting. `implicit`: TLS from the
    /// beginning. `none`: only for a server on the same machine.
    #[serde(default)]
    pub security: MailSecurity,
    /// The user name at the SMTP server. Without it the server does not authenticate.
    #[serde(default)]
    pub user: Option<String>,
    /// The file with the password of that user.
    #[serde(default)]
    pub password_file: Option<PathBuf>,
    /// The password itself, in place of the file. Intended for the environment: `ASSENT__MAIL__PASSWORD`.
    #[serde(default)]
    pub password: Option<String>,
    /// The sender of the email, such as `id@example.org` or `Example <id@example.org>`.
    pub from: String,
    /// The name that this server has for the SMTP server (EHLO). Default: the host name of `base_url`.
    #[serde(default)]
    pub hello_name: Option<String>,
    /// The maximum time to send one email, with the connection: `1s` to `2m`.
    #[serde(default = "default_timeout")]
    pub timeout: HumanDuration,
    /// A file in PEM with the certificates of authorities to trust, in place of those of the system.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
}

fn default_timeout() -> HumanDuration {
    HumanDuration::seconds(30)
}

impl Mail {
    /// Returns the host and the port of the SMTP server. `None` if the setting has another form.
    pub fn server(&self) -> Option<(String, u16)> {
        let address = url::Url::parse(&format!("smtp://{}", self.server)).ok()?;
        let is_bare = address.username().is_empty()
            && address.password().is_none()
            && address.path().is_empty()
            && address.query().is_none()
            && address.fragment().is_none();
        let host = address.host_str().filter(|host| is_bare && is_host(host))?;
        let port = address.port().unwrap_or(self.security.default_port());
        Some((
            host.trim_matches(['[', ']']).to_owned(),
            (port > 0).then_some(port)?,
        ))
    }

    /// Returns the sender. `None` if the setting has another form.
    pub fn sender(&self) -> Option<Mailbox> {
        let is_one_line = !self.from.chars().any(char::is_control);
        is_one_line.then(|| self.from.parse().ok())?
    }

    fn is_loopback(&self) -> bool {
        self.server().is_some_and(|(host, _)| {
            host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
        })
    }
}

fn is_host(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
    !text.is_empty() && text.len() <= 255 && text.chars().all(fits)
}

impl std::fmt::Debug for Mail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mail")
            .field("server", &self.server)
            .field("security", &self.security)
            .field("from", &self.from)
            .finish_non_exhaustive()
    }
}

/// Checks the rules that the types cannot express.
pub(super) fn check(mail: &Mail, expect: &mut impl FnMut(bool, &str, &str)) {
    expect(
        mail.server().is_some(),
        "mail.server",
        "expected a host name, with a port if it is not the usual one, such as smtp.example.org:587",
    );
    expect(
        mail.security != MailSecurity::None || mail.is_loopback(),
        "mail.security",
        "expected starttls or implicit; none is only for localhost and loopback addresses",
    );
    expect(
        mail.user.is_some() == (mail.password.is_some() || mail.password_file.is_some()),
        "mail.user",
        "expected user with password_file or password, or none of them",
    );
    expect(
        mail.password.is_none() || mail.password_file.is_none(),
        "mail.password",
        "expected either password or password_file",
    );
    expect(
        mail.sender().is_some(),
        "mail.from",
        "expected an address such as id@example.org or Example <id@example.org>",
    );
    expect(
        mail.hello_name.as_deref().is_none_or(is_host),
        "mail.hello_name",
        "expected a host name such as id.example.org",
    );
    mail.timeout.check(
        "mail.timeout",
        HumanDuration::seconds(1)..=HumanDuration::minutes(2),
        expect,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(toml: &str) -> Vec<String> {
        let mail: Mail = toml::from_str(toml).expect("of the right kind");
        let mut problems = Vec::new();
        check(&mail, &mut |good, key, _| {
            if !good {
                problems.push(key.to_owned());
            }
        });
        problems
    }

    #[test]
    fn the_port_follows_from_the_security() {
        for (toml, host, port) in [
            ("server = 'smtp.example.org'", "smtp.example.org", 587),
            (
                "server = 'smtp.example.org'\nsecurity = 'implicit'",
                "smtp.example.org",
                465,
            ),
            ("server = 'smtp.example.org:2525'", "smtp.example.org", 2525),
            ("server = '[::1]'\nsecurity = 'none'", "::1", 25),
        ] {
            let toml = format!("{toml}\nfrom = 'id@example.org'");
            let mail: Mail = toml::from_str(&toml).unwrap();
            assert_eq!(mail.server(), Some((host.to_owned(), port)), "{toml}");
            assert!(problems(&toml).is_empty(), "{toml}");
        }
    }

    #[test]
    fn unusable_mail_settings_are_rejected() {
        let from = "from = 'id@example.org'";
        for (toml, key) in [
            (
                format!("server = 'smtp.example.org/x'\n{from}"),
                "mail.server",
            ),
            (
                format!("server = 'ada@smtp.example.org'\n{from}"),
                "mail.server",
            ),
            (
                format!("server = 'smtp.example.org:0'\n{from}"),
                "mail.server",
            ),
            (
                format!("server = 'smtp.example.org'\nsecurity = 'none'\n{from}"),
                "mail.security",
            ),
            (
                format!("server = 'localhost.example.org'\nsecurity = 'none'\n{from}"),
                "mail.security",
            ),
            (
                format!("server = 'smtp.example.org'\nuser = 'assent'\n{from}"),
                "mail.user",
            ),
            (
                format!("server = 'smtp.example.org'\npassword = 'x'\n{from}"),
                "mail.user",
            ),
            (
                "server = 'smtp.example.org'\nfrom = 'Assent'".to_owned(),
                "mail.from",
            ),
            (
                "server = 'smtp.example.org'\nfrom = \"id@example.org\\r\\nBcc: eve@example.org\""
                    .to_owned(),
                "mail.from",
            ),
            (
                format!("server = 'smtp.example.org'\nhello_name = \"a\\r\\nb\"\n{from}"),
                "mail.hello_name",
            ),
            (
                format!("server = 'smtp.example.org'\ntimeout = '1h'\n{from}"),
                "mail.timeout",
            ),
        ] {
            assert_eq!(problems(&toml), [key], "{toml}");
        }
    }

    #[test]
    fn the_password_does_not_print() {
        let mail: Mail = toml::from_str(
            "server = 'smtp.example.org'\nfrom = 'id@example.org'\nuser = 'a'\npassword = 'hunter2'",
        )
        .unwrap();
        assert!(!format!("{mail:?}").contains("hunter2"));
    }
}
