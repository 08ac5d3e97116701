//! The texts that devices sign, as a receipt has them: the inverse of [`ApprovalStatement::text`].
//!
//! [`ApprovalStatement::text`]: crate::statement::ApprovalStatement::text

use serde_json::Value;

use super::content::{ReceiptContent, ReceiptDevice, ReceiptSubject};
use crate::statement::{Decision, application_identifier};

/// The names that a text may have more than once: each scope and each authorization detail has a line.
const REPEATED: [&str; 2] = ["scope", "detail"];

/// The reason why a signed text does not belong to its receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatementError {
    /// The text has not the form `purpose`, followed by lines `name: value`.
    #[error("it is malformed")]
    Malformed,
    /// The first line is not the purpose of an answer to a request of this kind.
    #[error("its first line is not the purpose of an answer to such a request")]
    Purpose,
    /// A value is missing, or not the one of the receipt.
    #[error("its {0} is not that of the receipt")]
    Differs(&'static str),
    /// The server received the answer after the request expired.
    #[error("the server received it after the request expired")]
    Expired,
}

/// A signed text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedStatement {
    /// The purpose and version.
    pub purpose: String,
    /// The values with their names, in the order of the text.
    pub values: Vec<(String, Value)>,
}

impl SignedStatement {
    /// Parses a text.
    ///
    /// # Errors
    /// [`StatementError::Malformed`] if it has another form, or twice a name that may occur once.
    pub fn parse(text: &str) -> Result<Self, StatementError> {
        let mut lines = text.split('\n');
        let purpose = lines.next().unwrap_or_default().to_owned();
        let mut values: Vec<(String, Value)> = Vec::new();
        for line in lines {
            let (name, value) = line.split_once(": ").ok_or(StatementError::Malformed)?;
            let value: Value = serde_json::from_str(value)
                .ok()
                .filter(|value: &Value| value.is_string() || value.is_i64())
                .ok_or(StatementError::Malformed)?;
            let may_repeat = REPEATED.contains(&name);
            if !may_repeat && values.iter().any(|(known, _)| known == name) {
                return Err(StatementError::Malformed);
            }
            values.push((name.to_owned(), value));
        }
        Ok(Self { purpose, values })
    }

    fn value(&self, name: &str) -> Option<&Value> {
        let found = self.values.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value)
    }

    fn expect(&self, name: &'static str, expected: &str) -> Result<(), StatementError> {
        match self.value(name).and_then(Value::as_str) {
            Some(value) if value == expected => Ok(()),
            _ => Err(StatementError::Differs(name)),
        }
    }

    /// Compares the text with the receipt's content.
    ///
    /// # Errors
    /// The first difference.
    pub(super) fn check(
        &self,
        content: &ReceiptContent,
        device: &ReceiptDevice,
    ) -> Result<(), StatementError> {
        let (decision, request) = (content.decision, &content.request);
        let fits = match (self.purpose.as_str(), request.kind) {
            ("assent-report-v1", _) => decision == Decision::Report,
            ("assent-approval-v1", ReceiptSubject::SignIn)
            | ("assent-action-v1", ReceiptSubject::Action)
            | ("assent-backchannel-v1", ReceiptSubject::Backchannel) => {
                decision != Decision::Report
            }
            ("assent-same-browser-v1", ReceiptSubject::SignIn) => decision == Decision::Approve,
            _ => false,
        };
        if !fits {
            return Err(StatementError::Purpose);
        }
        let application = application_identifier(request.application.as_ref(), &content.iss);
        self.expect("issuer", &content.iss)?;
        self.expect("request", &request.id.to_string())?;
        self.expect("device", &device.id.to_string())?;
        self.expect("application", application)?;
        if decision != Decision::Report {
            self.expect("decision", decision.as_str())?;
        }
        let expires = self.value("expires").and_then(Value::as_i64);
        let expires = expires.ok_or(StatementError::Differs("expires"))?;
        match content.decided_at <= expires {
            true => Ok(()),
            false => Err(StatementError::Expired),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scopes_and_details_may_occur_more_than_once() {
        let text =
            "assent-backchannel-v1\nscope: \"a\"\nscope: \"b\"\ndetail: \"c\"\ndetail: \"d\"";
        let parsed = SignedStatement::parse(text).expect("a text");
        assert_eq!(parsed.values.len(), 4);
        for name in ["decision", "request", "message"] {
            let text = format!("assent-backchannel-v1\n{name}: \"a\"\n{name}: \"a\"");
            assert_eq!(
                SignedStatement::parse(&text),
                Err(StatementError::Malformed),
                "{name}"
            );
        }
    }
}
