//! The texts that devices sign, as a receipt has them: the inverse of [`ApprovalStatement::text`].
//!
//! [`ApprovalStatement::text`]: crate::statement::ApprovalStatement::text

use serde_json::Value;

use super::content::{ReceiptContent, ReceiptDevice, ReceiptSubject};
use crate::statement::{Decision, application_identifier};

/// The purposes of the texts that have a line for each authorization detail.
const DETAILED: [&str; 5] = [
    "assent-approval-v1",
    "assent-same-browser-v1",
    BACKCHANNEL,
    DEVICE_AUTHORIZATION,
    SECOND_APPROVAL,
];
/// The purposes of the texts that have a line for each scope.
const SCOPED: [&str; 3] = [BACKCHANNEL, DEVICE_AUTHORIZATION, SECOND_APPROVAL];
const BACKCHANNEL: &str = "assent-backchannel-v1";
const DEVICE_AUTHORIZATION: &str = "assent-device-authorization-v1";
const SECOND_APPROVAL: &str = "assent-second-approval-v1";
/// The names of these lines.
const DETAIL: &str = "detail";
const SCOPE: &str = "scope";

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
    /// [`StatementError::Malformed`] if it has another form, or a name twice. Only `scope` and `detail` may occur
    /// several times, in this order directly before `decision`.
    pub fn parse(text: &str) -> Result<Self, StatementError> {
        let mut lines = text.split('\n');
        let purpose = lines.next().unwrap_or_default().to_owned();
        let is_detailed = DETAILED.contains(&purpose.as_str());
        let is_scoped = SCOPED.contains(&purpose.as_str());
        let mut values: Vec<(String, Value)> = Vec::new();
        let mut previous = "";
        for line in lines {
            let (name, value) = line.split_once(": ").ok_or(StatementError::Malformed)?;
            let value: Value = serde_json::from_str(value)
                .ok()
                .filter(|value: &Value| value.is_string() || value.is_i64())
                .ok_or(StatementError::Malformed)?;
            let is_known = values.iter().any(|(known, _)| known == name);
            let repeats = is_known == (previous == name);
            let fits = match name {
                DETAIL => is_detailed && value.is_string() && repeats,
                SCOPE => is_scoped && value.is_string() && repeats,
                "decision" => !is_known,
                _ => !is_known && previous != DETAIL && previous != SCOPE,
            };
            if !fits {
                return Err(StatementError::Malformed);
            }
            previous = name;
            values.push((name.to_owned(), value));
        }
        match previous {
            DETAIL | SCOPE => Err(StatementError::Malformed),
            _ => Ok(Self { purpose, values }),
        }
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
            | (BACKCHANNEL, ReceiptSubject::Backchannel)
            | (DEVICE_AUTHORIZATION, ReceiptSubject::DeviceAuthorization)
            | (SECOND_APPROVAL, ReceiptSubject::SecondApproval)
            | ("assent-caller-check-v1", ReceiptSubject::CallerCheck) => {
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

    const APPROVAL: &str = "assent-approval-v1";

    fn parsed(purpose: &str, lines: &[&str]) -> Result<Vec<String>, StatementError> {
        let text = [&[purpose][..], lines].concat().join("\n");
        let names = |statement: SignedStatement| {
            let values = statement.values.into_iter();
            values.map(|(name, _)| name).collect()
        };
        SignedStatement::parse(&text).map(names)
    }

    #[test]
    fn only_scopes_and_details_before_the_decision_may_repeat() {
        let (detail, decision) = (r#"detail: "a""#, r#"decision: "approve""#);
        for purpose in DETAILED {
            for count in 0..4 {
                let lines = [vec![detail; count], vec![decision]].concat();
                let names = parsed(purpose, &lines).expect("a text");
                assert_eq!(names.len(), count + 1, "{purpose}");
            }
        }
        let scope = r#"scope: "a""#;
        let lines = [scope, scope, detail, detail, decision];
        for purpose in SCOPED {
            assert_eq!(parsed(purpose, &lines).expect("a text").len(), 5);
        }
        let account = r#"account: "ada""#;
        for (purpose, lines) in [
            (APPROVAL, vec![account, account, decision]),
            (APPROVAL, vec![decision, decision]),
            (APPROVAL, vec![detail, account, detail, decision]),
            (APPROVAL, vec![detail, account, decision]),
            (APPROVAL, vec![decision, detail]),
            (APPROVAL, vec![detail, decision, detail]),
            (APPROVAL, vec![detail, detail]),
            (APPROVAL, vec!["detail: 1", decision]),
            (APPROVAL, vec![scope, decision]),
            (BACKCHANNEL, vec![detail, scope, detail, decision]),
            (BACKCHANNEL, vec![scope, account, decision]),
            (BACKCHANNEL, vec![scope, detail, scope, decision]),
            (BACKCHANNEL, vec![scope, scope]),
            (DEVICE_AUTHORIZATION, vec![scope, account, decision]),
            ("assent-action-v1", vec![detail, detail, decision]),
            ("assent-action-v1", vec![detail, decision]),
            ("assent-report-v1", vec![account, detail]),
            ("assent-report-v1", vec![detail, detail, decision]),
        ] {
            assert_eq!(
                parsed(purpose, &lines),
                Err(StatementError::Malformed),
                "{purpose} {lines:?}"
            );
        }
    }
}
