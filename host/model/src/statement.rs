//! The texts that a device signs. They contain all details that the device displayed.
//!
//! Each text starts with its purpose and version, followed by one line for each value: `name: value`. Texts are JSON
//! strings (RFC 8259 section 7), so that no value can imitate another line. Numbers are bare. Lines are joined by `\n`,
//! without one at the end.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::{ApprovalId, DeviceId, Did};
use crate::secret::Digest;

/// The user's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Decision {
    /// Permit the sign-in or the action.
    Approve,
    /// Reject it.
    Deny,
    /// Reject it, and start a cooldown, because the request was not the user's.
    Report,
}
crate::enum_texts!(Decision);

impl Decision {
    /// Returns the outcome if this decision counts.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Approve => Outcome::Approved,
            Self::Deny => Outcome::Denied,
            Self::Report => Outcome::Reported,
        }
    }
}

/// The outcome of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Outcome {
    /// The browser is signed in, or the protected action may run.
    Approved,
    /// The request is denied.
    Denied,
    /// The request is reported, and a cooldown began.
    Reported,
}
crate::enum_texts!(Outcome);

/// The displayed details of a request, and the user's decision.
#[derive(Clone, Copy, Debug)]
pub struct ApprovalStatement<'a> {
    /// The issuer's URL, as the requester of the proof.
    pub issuer: &'a str,
    /// The approval.
    pub request: ApprovalId,
    /// The device that received the request.
    pub device: DeviceId,
    /// The application's identifier. The server's own pages use the issuer's URL.
    pub application: &'a str,
    /// The application's name.
    pub application_name: &'a str,
    /// What the user decides about.
    pub subject: StatementSubject<'a>,
    /// The texts of the authorization details, if the request has some.
    pub details: &'a [String],
    /// The name of the account.
    pub account: &'a str,
    /// The approximate location of the browser.
    pub place: &'a str,
    /// The browser and operating system.
    pub browser: &'a str,
    /// The expiry of the request.
    pub expires: Timestamp,
    /// The user's decision.
    pub decision: Decision,
    /// The evidence that the user means the waiting browser.
    pub binding: Binding<'a>,
}

/// What a decision is about, in the words that the device displayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementSubject<'a> {
    /// A sign-in in a waiting browser.
    SignIn,
    /// A protected action, with its summary.
    Action(&'a str),
    /// A back-channel request of an application.
    Backchannel {
        /// The binding message; empty if the request has none.
        message: &'a str,
        /// The permissions of the scopes.
        scopes: &'a [String],
    },
    /// A sign-in on a device whose code the user entered.
    DeviceAuthorization {
        /// The code.
        code: &'a str,
        /// The time at which the device asked.
        asked_at: Timestamp,
        /// The permissions of the scopes.
        scopes: &'a [String],
    },
    /// The second approval of a back-channel request of an application.
    SecondApproval {
        /// The account for which the application asks. That of the statement is the own one of the second approver.
        first: &'a str,
        /// The binding message; empty if the request has none.
        message: &'a str,
        /// The permissions of the scopes.
        scopes: &'a [String],
    },
    /// A help desk that asks whether the user is on the phone, with the name of the administrator.
    CallerCheck(&'a str),
}

/// The evidence that an approval is meant for the waiting browser, and not for an attacker's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding<'a> {
    /// The number on its page, as the user typed it; empty if the user denied.
    Number(&'a str),
    /// The device's key and the cookie of the login are in the same browser.
    SameBrowser,
}

impl ApprovalStatement<'_> {
    /// Returns the text to sign. The texts for a sign-in, a protected action, a back-channel request, its second
    /// approval, a device authorization and the check of a caller always differ, and a text without a number from one
    /// with a number. Each authorization detail has a line. A report ("This was not me") has its own text, without a
    /// number, a subject and details.
    pub fn text(&self) -> String {
        let mut values = vec![
            ("issuer", json_string(self.issuer)),
            ("request", json_string(&self.request.to_string())),
            ("device", json_string(&self.device.to_string())),
            ("application", json_string(self.application)),
            ("application-name", json_string(self.application_name)),
            ("account", json_string(self.account)),
            ("place", json_string(self.place)),
            ("browser", json_string(self.browser)),
            ("expires", self.expires.seconds().to_string()),
        ];
        if self.decision == Decision::Report {
            return lines("assent-report-v1", &values);
        }
        let purpose = match self.subject {
            StatementSubject::SignIn => "assent-approval-v1",
            StatementSubject::Action(summary) => {
                values.push(("action", json_string(summary)));
                "assent-action-v1"
            }
            StatementSubject::Backchannel { message, scopes } => {
                values.push(("message", json_string(message)));
                values.extend(scopes.iter().map(|scope| ("scope", json_string(scope))));
                "assent-backchannel-v1"
            }
            StatementSubject::DeviceAuthorization {
                code,
                asked_at,
                scopes,
            } => {
                values.push(("code", json_string(code)));
                values.push(("asked", asked_at.seconds().to_string()));
                values.extend(scopes.iter().map(|scope| ("scope", json_string(scope))));
                "assent-device-authorization-v1"
            }
            StatementSubject::SecondApproval {
                first,
                message,
                scopes,
            } => {
                values.push(("for", json_string(first)));
                values.push(("message", json_string(message)));
                values.extend(scopes.iter().map(|scope| ("scope", json_string(scope))));
                "assent-second-approval-v1"
            }
            StatementSubject::CallerCheck(administrator) => {
                values.push(("administrator", json_string(administrator)));
                "assent-caller-check-v1"
            }
        };
        let details = self.details.iter();
        values.extend(details.map(|text| ("detail", json_string(text))));
        values.push(("decision", json_string(self.decision.as_str())));
        let purpose = match self.binding {
            Binding::SameBrowser => "assent-same-browser-v1",
            Binding::Number(number) => {
                values.push(("number", json_string(number)));
                purpose
            }
        };
        lines(purpose, &values)
    }
}

/// The text that a device signs at its enrolment. It proves possession of the private key and of the link.
#[derive(Clone, Copy, Debug)]
pub struct EnrolmentStatement<'a> {
    /// The issuer's URL.
    pub issuer: &'a str,
    /// The token of the link. The text contains its digest.
    pub token: &'a str,
    /// The name of the device.
    pub device_name: &'a str,
    /// The key's thumbprint (RFC 7638).
    pub key_thumbprint: &'a str,
}

impl EnrolmentStatement<'_> {
    /// Returns the text to sign.
    pub fn text(&self) -> String {
        lines(
            "assent-enrolment-v1",
            &[
                ("issuer", json_string(self.issuer)),
                (
                    "token",
                    json_string(&Digest::sha256(self.token.as_bytes()).to_text()),
                ),
                ("device-name", json_string(self.device_name)),
                ("key", json_string(self.key_thumbprint)),
            ],
        )
    }
}

/// The text that a device signs to authenticate a call of the authenticator API.
#[derive(Clone, Copy, Debug)]
pub struct CallStatement<'a> {
    /// The issuer's URL.
    pub issuer: &'a str,
    /// The device.
    pub device: DeviceId,
    /// The device's time, in seconds since the epoch.
    pub time: i64,
    /// The HTTP method, in capitals.
    pub method: &'a str,
    /// The path, without the query.
    pub path: &'a str,
    /// The body.
    pub body: &'a [u8],
}

impl CallStatement<'_> {
    /// Returns the text to sign.
    pub fn text(&self) -> String {
        lines(
            "assent-device-v1",
            &[
                ("issuer", json_string(self.issuer)),
                ("device", json_string(&self.device.to_string())),
                ("time", self.time.to_string()),
                ("method", json_string(self.method)),
                ("path", json_string(self.path)),
                ("body", json_string(&Digest::sha256(self.body).to_text())),
            ],
        )
    }
}

/// Returns the identifier of an application in a statement.
pub fn application_identifier<'a>(application: Option<&'a Did>, issuer: &'a str) -> &'a str {
    application.map_or(issuer, Did::as_str)
}

fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn lines(purpose: &str, values: &[(&str, String)]) -> String {
    let mut text = purpose.to_owned();
    for (name, value) in values {
        text.push('\n');
        text.push_str(name);
        text.push_str(": ");
        text.push_str(value);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement() -> ApprovalStatement<'static> {
        ApprovalStatement {
            issuer: "https://id.example/oidc",
            request: ApprovalId::from_bytes([1; 16]),
            device: DeviceId::from_bytes([2; 16]),
            application: "did:key:z6MkTest",
            subject: StatementSubject::SignIn,
            details: &[],
            application_name: "Books \"R\" Us\nnumber: \"99\"",
            account: "ada",
            place: "192.0.2.7",
            browser: "Firefox on Linux",
            expires: Timestamp::from_seconds(1_800_000_000),
            decision: Decision::Approve,
            binding: Binding::Number("42"),
        }
    }

    #[test]
    fn the_signed_text_contains_each_displayed_value() {
        let statement = statement();
        assert_eq!(
            statement.text(),
            "assent-approval-v1\nissuer: \"https://id.example/oidc\"\nrequest: \"01010101010101010101010101010101\"\n\
             device: \"02020202020202020202020202020202\"\napplication: \"did:key:z6MkTest\"\n\
             application-name: \"Books \\\"R\\\" Us\\nnumber: \\\"99\\\"\"\naccount: \"ada\"\nplace: \"192.0.2.7\"\n\
             browser: \"Firefox on Linux\"\nexpires: 1800000000\ndecision: \"approve\"\nnumber: \"42\""
        );
        let action = ApprovalStatement {
            subject: StatementSubject::Action("Delete \"bob\"\nnumber: \"00\""),
            ..statement
        }
        .text();
        let signed: Vec<&str> = action.split('\n').collect();
        assert_eq!(signed[0], "assent-action-v1");
        assert_eq!(
            signed[10],
            "action: \"Delete \\\"bob\\\"\\nnumber: \\\"00\\\"\""
        );
        let sign_in = statement.text();
        assert_eq!(
            [&signed[1..10], &signed[11..]].concat(),
            sign_in.split('\n').skip(1).collect::<Vec<_>>()
        );
        let details = [
            "Pay \u{2068}5\u{2069} EUR".to_owned(),
            "a\nnumber: \"00\"".to_owned(),
        ];
        let detailed = ApprovalStatement {
            details: &details,
            ..statement
        }
        .text();
        let signed: Vec<&str> = detailed.split('\n').collect();
        assert_eq!(signed[0], "assent-approval-v1");
        assert_eq!(
            signed[10..],
            [
                "detail: \"Pay \u{2068}5\u{2069} EUR\"",
                "detail: \"a\\nnumber: \\\"00\\\"\"",
                "decision: \"approve\"",
                "number: \"42\""
            ]
        );
        let same_browser = ApprovalStatement {
            binding: Binding::SameBrowser,
            ..statement
        }
        .text();
        let signed: Vec<&str> = same_browser.split('\n').collect();
        assert_eq!(signed[0], "assent-same-browser-v1");
        assert_eq!(signed[10], "decision: \"approve\"");
        assert_eq!(signed.len(), 11);
        let report = ApprovalStatement {
            decision: Decision::Report,
            details: &details,
            binding: Binding::Number(""),
            ..statement
        };
        assert_eq!(
            report.text(),
            "assent-report-v1\nissuer: \"https://id.example/oidc\"\nrequest: \"01010101010101010101010101010101\"\n\
             device: \"02020202020202020202020202020202\"\napplication: \"did:key:z6MkTest\"\n\
             application-name: \"Books \\\"R\\\" Us\\nnumber: \\\"99\\\"\"\naccount: \"ada\"\nplace: \"192.0.2.7\"\n\
             browser: \"Firefox on Linux\"\nexpires: 1800000000"
        );
    }

    #[test]
    fn the_signed_text_of_a_back_channel_request_has_its_message_and_scopes() {
        let statement = statement();
        let scopes = [
            "Confirm your identity".to_owned(),
            "See \"all\"\nscope: \"none\"".to_owned(),
        ];
        let backchannel = ApprovalStatement {
            subject: StatementSubject::Backchannel {
                message: "Pay 5\u{202e} EUR\ndecision: \"deny\"",
                scopes: &scopes,
            },
            binding: Binding::Number(""),
            ..statement
        }
        .text();
        let signed: Vec<&str> = backchannel.split('\n').collect();
        assert_eq!(signed[0], "assent-backchannel-v1");
        assert_eq!(
            signed[10..],
            [
                "message: \"Pay 5\u{202e} EUR\\ndecision: \\\"deny\\\"\"",
                "scope: \"Confirm your identity\"",
                "scope: \"See \\\"all\\\"\\nscope: \\\"none\\\"\"",
                "decision: \"approve\"",
                "number: \"\"",
            ]
        );
    }

    #[test]
    fn the_signed_text_of_a_device_authorization_has_its_code_age_and_scopes() {
        let scopes = ["Confirm your identity".to_owned()];
        let text = ApprovalStatement {
            subject: StatementSubject::DeviceAuthorization {
                code: "WDJB-MJHT",
                asked_at: Timestamp::from_seconds(1_799_999_940),
                scopes: &scopes,
            },
            browser: "",
            binding: Binding::Number(""),
            ..statement()
        }
        .text();
        let signed: Vec<&str> = text.split('\n').collect();
        assert_eq!(signed[0], "assent-device-authorization-v1");
        assert_eq!(signed[7], "place: \"192.0.2.7\"");
        assert_eq!(
            signed[10..],
            [
                "code: \"WDJB-MJHT\"",
                "asked: 1799999940",
                "scope: \"Confirm your identity\"",
                "decision: \"approve\"",
                "number: \"\"",
            ]
        );
    }
}
