//! Why an email was not sent.

/// The step at which the SMTP server was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmtpStep {
    /// The connection, with its greeting.
    Connect,
    /// TLS.
    Tls,
    /// The authentication with user and password.
    Authentication,
    /// The message, with its sender and recipient.
    Message,
}

impl SmtpStep {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connection",
            Self::Tls => "TLS",
            Self::Authentication => "authentication",
            Self::Message => "message",
        }
    }
}

/// Why an email was not sent. The message has the answer of the SMTP server, in one line, and no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} failed at {server}: {detail}", .step.as_str())]
pub struct SmtpError {
    /// The step.
    pub step: SmtpStep,
    /// Host and port.
    pub server: String,
    /// What the server answered, or what went wrong.
    pub detail: String,
    /// Whether the server rejected this message for good (a reply of 5xx), so that a repetition fails as well.
    pub is_permanent: bool,
}

/// The longest answer that an error has.
const LONGEST: usize = 300;

/// A text in one line, without control characters. It is shown, logged and stored.
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
    fn an_answer_becomes_one_short_line() {
        assert_eq!(
            one_line("550 5.1.1\r\n no\u{1b}[2Jsuch  user"),
            "550 5.1.1 no [2Jsuch user"
        );
        assert_eq!(one_line(&"x".repeat(1000)).len(), LONGEST);
    }
}
