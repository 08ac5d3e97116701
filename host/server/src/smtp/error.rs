//! The reasons why an email was not sent.

/// The step at which the exchange with the SMTP server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum SmtpStep {
    /// The connection, with its greeting.
    #[strum(serialize = "connection")]
    Connect,
    /// TLS.
    #[strum(serialize = "TLS")]
    Tls,
    /// The authentication with user and password.
    Authentication,
    /// The message, with its sender and recipient.
    Message,
}

/// The reason why an email was not sent. The message has the response of the SMTP server, in one line, and no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{step} failed at {server}: {detail}")]
pub struct SmtpError {
    /// The step.
    pub step: SmtpStep,
    /// The host and port.
    pub server: String,
    /// The response of the server, or another reason.
    pub detail: String,
    /// Whether the server rejected this message permanently (a reply of 5xx), so that a retry would fail too.
    pub is_permanent: bool,
    /// Whether the server may have accepted the message, because its reply could not be parsed.
    pub may_have_arrived: bool,
}

/// The largest length of a response in an error.
const LONGEST: usize = 300;

/// Returns a text in one line, without control characters, because it is shown, logged and stored.
pub(super) fn one_line(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(LONGEST)
        .collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_becomes_one_short_line() {
        assert_eq!(
            one_line("550 5.1.1\r\n no\u{1b}[2Jsuch  user"),
            "550 5.1.1 no [2Jsuch user"
        );
        assert_eq!(one_line(&"x".repeat(1000)).len(), LONGEST);
    }
}
