//! Syslog messages for the entries of the audit log (RFC 5424), and their destinations.

use std::fmt::Write;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::audit::chain::Record;
use crate::audit::jsonl;

/// Facility 13 ("log audit"), severity 6 ("informational"): RFC 5424 section 6.2.1.
const PRIORITY: u32 = 13 * 8 + 6;
/// The name of the server's structured data. The enterprise number (RFC 5424 section 7.2.2) is the one for
/// documentation (RFC 5612), because Assent has none of its own.
const STRUCTURED: &str = "assent@32473";
/// The maximum length of a datagram in bytes: the maximum of UDP, minus the size of headers.
pub const LONGEST_DATAGRAM: usize = 65_000;

/// The destination of syslog messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum SyslogAddress {
    /// A datagram for each message (RFC 5426): host and port.
    Udp(String, u16),
    /// A connection, in which the length precedes each message (RFC 6587 section 3.4.1): host and port.
    Tcp(String, u16),
    /// A local socket.
    Unix(PathBuf),
}

/// A text that is not an address for syslog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected udp://HOST:PORT, tcp://HOST:PORT or unix:///PATH")]
pub struct SyslogAddressError;

impl FromStr for SyslogAddress {
    type Err = SyslogAddressError;

    fn from_str(text: &str) -> Result<Self, SyslogAddressError> {
        let url = Url::parse(text).map_err(|_| SyslogAddressError)?;
        let plain = url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        let host = url
            .host_str()
            .map(|host| host.trim_matches(['[', ']']).to_owned())
            .filter(|host| !host.is_empty());
        match (url.scheme(), host, url.port(), url.path()) {
            ("udp", Some(host), Some(port), "" | "/") if plain && port > 0 => {
                Ok(Self::Udp(host, port))
            }
            ("tcp", Some(host), Some(port), "" | "/") if plain && port > 0 => {
                Ok(Self::Tcp(host, port))
            }
            ("unix", None, None, path) if plain && path.len() > 1 => {
                Ok(Self::Unix(PathBuf::from(path)))
            }
            _ => Err(SyslogAddressError),
        }
    }
}

impl std::fmt::Display for SyslogAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let authority = |host: &str| {
            if host.contains(':') {
                format!("[{host}]")
            } else {
                host.to_owned()
            }
        };
        match self {
            Self::Udp(host, port) => write!(f, "udp://{}:{port}", authority(host)),
            Self::Tcp(host, port) => write!(f, "tcp://{}:{port}", authority(host)),
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
        }
    }
}

impl TryFrom<String> for SyslogAddress {
    type Error = SyslogAddressError;

    fn try_from(text: String) -> Result<Self, SyslogAddressError> {
        text.parse()
    }
}

impl From<SyslogAddress> for String {
    fn from(address: SyslogAddress) -> Self {
        address.to_string()
    }
}

/// Returns the message for an entry, with this host name. The structured data contains the values for searches. The
/// text is the complete entry, as in an export. It is omitted if the message would exceed `longest` bytes.
///
/// # Errors
/// If the entry cannot be written as JSON.
pub fn message(record: &Record, host: &str, longest: usize) -> Result<String, serde_json::Error> {
    let at = jiff::Timestamp::from_millisecond(record.at)
        .map_or_else(|_| "-".to_owned(), |at| at.to_string());
    let mut message = format!(
        "<{PRIORITY}>1 {at} {} assent - {} ",
        name(host, 255),
        name(&record.event, 32)
    );
    let (lane, seq) = (record.lane.to_string(), record.seq.to_string());
    let _ = write!(message, "[{STRUCTURED}");
    let values = [
        ("lane", Some(lane.as_str())),
        ("seq", Some(seq.as_str())),
        ("id", Some(&record.id)),
        ("event", Some(&record.event)),
        ("actorKind", Some(&record.actor_kind)),
        ("actor", record.actor.as_deref()),
        ("user", record.user.as_deref()),
        ("application", record.application.as_deref()),
        ("approval", record.approval.as_deref()),
        ("digest", Some(&record.digest)),
    ];
    for (name, value) in values {
        if let Some(value) = value {
            let _ = write!(message, " {name}=\"{}\"", escape_value(value));
        }
    }
    message.push(']');
    let line = jsonl::write(record)?;
    if message.len() + line.len() + 4 <= longest {
        // The text after the byte order mark is UTF-8 (section 6.4).
        message.push_str(" \u{feff}");
        message.push_str(&line);
    }
    Ok(message)
}

/// Returns a name for the header: printable ASCII without spaces, at most `longest` characters.
fn name(text: &str, longest: usize) -> String {
    let name: String = text
        .chars()
        .filter(char::is_ascii_graphic)
        .take(longest)
        .collect();
    if name.is_empty() {
        "-".to_owned()
    } else {
        name
    }
}

/// Escapes a value for structured data (section 6.3.3), and replaces control characters, which could break the line.
fn escape_value(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for character in value.chars() {
        match character {
            '"' | '\\' | ']' => escaped.extend(['\\', character]),
            character if character.is_control() => escaped.push(' '),
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record(event: &str, actor: &str, detail: String) -> Record {
        Record {
            lane: 1,
            seq: 7,
            previous: String::new(),
            digest: "d1".to_owned(),
            id: "01a2".to_owned(),
            at: 1_795_339_800_123,
            event: event.to_owned(),
            actor_kind: "channel".to_owned(),
            actor: Some(actor.to_owned()),
            user: None,
            application: None,
            approval: None,
            detail,
            personal: None,
            salt: None,
            personal_digest: None,
            origin: None,
            origin_salt: None,
            origin_digest: None,
        }
    }

    #[test]
    fn a_message_has_the_format_of_rfc_5424() {
        let text = message(
            &record("session.ended", r#"a"b\c]d"#, "{}".to_owned()),
            "id.example",
            10_000,
        )
        .unwrap();
        let (head, line) = text.split_once('\u{feff}').unwrap();
        assert_eq!(
            head,
            concat!(
                "<110>1 2026-11-22T09:30:00.123Z id.example assent - session.ended ",
                r#"[assent@32473 lane="1" seq="7" id="01a2" event="session.ended" actorKind="channel" actor="a\"b\\c\]d" digest="d1"] "#
            )
        );
        assert_eq!(jsonl::read(line).unwrap().seq, 7);
    }

    #[test]
    fn a_message_too_long_for_a_datagram_omits_its_text() {
        let detail = serde_json::to_string(&"x".repeat(LONGEST_DATAGRAM)).unwrap();
        let text = message(&record("event", "a", detail), "host", LONGEST_DATAGRAM).unwrap();
        assert!(
            text.ends_with(r#"digest="d1"]"#) && text.len() < 500,
            "{text}"
        );
    }

    #[test]
    fn addresses_round_trip_and_malformed_addresses_are_rejected() {
        for text in [
            "udp://logs.example:514",
            "tcp://[::1]:601",
            "tcp://127.0.0.1:601",
            "unix:///dev/log",
        ] {
            assert_eq!(
                text.parse::<SyslogAddress>().map(String::from).as_deref(),
                Ok(text)
            );
        }
        for text in [
            "",
            "logs.example",
            "udp://logs.example",
            "udp://:514",
            "tcp://a:b@h:1",
            "tcp://h:0",
            "unix://",
            "unix://h/p",
            "http://h:1",
            "tcp://h:1/path",
            "tls://h:6514",
        ] {
            assert_eq!(
                text.parse::<SyslogAddress>(),
                Err(SyslogAddressError),
                "{text}"
            );
        }
    }

    proptest! {
        /// For any values, the message has one header, one element of structured data and one text, on one line.
        #[test]
        fn no_value_breaks_the_structure_of_a_message(
            event in ".{0,60}", actor in ".{0,60}", host in ".{0,40}", detail in ".{0,60}",
        ) {
            let detail = serde_json::to_string(&detail).unwrap();
            let text = message(&record(&event, &actor, detail), &host, 100_000).unwrap();
            prop_assert!(!text.contains(['\n', '\r', '\0']));
            let header: Vec<&str> = text.splitn(7, ' ').collect();
            prop_assert!(header[..6].iter().all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_graphic())));
            prop_assert!(header[6].starts_with("[assent@32473 lane=\"1\" seq=\"7\""));
            // The element ends at the first unescaped bracket.
            let mut escaped = false;
            let end = header[6].char_indices().find(|(_, character)| {
                let ends = *character == ']' && !escaped;
                escaped = *character == '\\' && !escaped;
                ends
            });
            let rest = &header[6][end.unwrap().0 + 1..];
            prop_assert_eq!(jsonl::read(rest.strip_prefix(" \u{feff}").unwrap()).unwrap().seq, 7);
        }
    }
}
