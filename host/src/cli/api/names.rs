//! What the commands are called: a noun and a verb, mostly by rule.

use reqwest::Method;

use super::document::Operation;
use crate::id::{AccountId, Did, UserId};

/// The commands whose names the rule does not make well.
const NAMED: [(&str, &[&str]); 22] = [
    ("GET /me", &["me"]),
    ("GET /overview", &["overview"]),
    ("POST /users/{id}/enrolments", &["users", "enrol"]),
    ("GET /users/{id}/activity", &["users", "activity"]),
    ("GET /users/{id}/accounts", &["users", "accounts"]),
    ("GET /users/{id}/recovery-codes", &["users", "recovery-codes"]),
    ("DELETE /devices/{id}", &["devices", "revoke"]),
    ("DELETE /users/{id}/sessions", &["sessions", "end-all"]),
    ("DELETE /users/{id}/sessions/{session}", &["sessions", "end"]),
    ("DELETE /users/{id}/consents/{application}", &["consents", "withdraw"]),
    ("GET /applications/{id}/logo", &["logos", "show"]),
    ("PUT /applications/{id}/logo", &["logos", "set"]),
    ("DELETE /applications/{id}/logo", &["logos", "delete"]),
    ("GET /applications/{id}/claims-preview", &["claims", "preview"]),
    ("POST /applications/{id}/claims-preview", &["claims", "compare"]),
    ("GET /claim-traces", &["claims", "traces"]),
    ("GET /claim-traces/{token}", &["claims", "trace"]),
    ("GET /plugins", &["plugins", "list"]),
    ("GET /audit/verification", &["audit", "verify-latest"]),
    ("DELETE /steps/{id}", &["steps", "give-up"]),
    ("GET /checks/redirect-uri", &["applications", "check-redirect-uri"]),
    ("POST /applications/{id}/trials", &["trials", "begin"]),
];

/// What the nouns are about.
const NOUNS: [(&str, &str); 16] = [
    ("accounts", "Accounts: people in applications, and their roles there."),
    ("applications", "Applications: OpenID Connect clients and SAML service providers."),
    ("approval-addresses", "What vendors of authenticators know people by."),
    ("audit", "The audit log."),
    ("certificates", "What the assertions of a SAML application are signed with."),
    ("claims", "What applications are told about people, and why."),
    ("consents", "What people let applications know."),
    ("devices", "People's phones."),
    ("keys", "The keys that ID tokens are signed with."),
    ("logos", "The pictures of applications."),
    ("plugins", "Plugins."),
    ("sessions", "Where people are signed in."),
    ("settings", "The settings in force."),
    ("steps", "Dangerous steps in the console."),
    ("trials", "Sign-ins that somebody tries in the console."),
    ("users", "People."),
];

/// The words of an operation's command.
///
/// Of a path the last fixed part is the noun and the method the verb, as in `users list`. Where the path goes on below a thing
/// that it names and can only be posted to, that part is the verb, as in `keys revoke`; as in `plugins reload`, where it goes on
/// without naming one.
pub(super) fn of(operation: &Operation, all: &[Operation]) -> Vec<String> {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    if let Some((_, words)) = NAMED.iter().find(|(title, _)| *title == operation.title()) {
        return owned(words);
    }
    let parts: Vec<&str> = operation.path.split('/').filter(|part| !part.is_empty()).collect();
    let fixed: Vec<&str> = parts.iter().filter(|part| !part.starts_with('{')).copied().collect();
    let names_one = parts.last().is_some_and(|part| part.starts_with('{'));
    let goes_on = parts.len() > 1 && parts.iter().rev().take(2).all(|part| !part.starts_with('{'));
    let noun = fixed.last().copied().unwrap_or_default();
    let above = fixed.iter().rev().nth(1).copied();
    let can_be_read = all.iter().any(|other| other.path == operation.path && other.method == Method::GET);
    if let (Some(above), true) = (above, goes_on || (!names_one && !can_be_read)) {
        return owned(&[above, noun]);
    }
    let verb = match operation.method {
        Method::GET if operation.is_paged() || operation.answer.items.is_some() => "list",
        Method::GET => "show",
        Method::POST => "create",
        Method::PUT => "set",
        Method::PATCH => "change",
        _ => "delete",
    };
    owned(&[noun, verb])
}

/// What a noun is about.
pub(super) fn about(noun: &str) -> Option<&'static str> {
    NOUNS.iter().find(|(known, _)| *known == noun).map(|(_, about)| *about)
}

/// Things that may be named by something else than their id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A user, by name or e-mail address.
    User,
    /// An application, by name.
    Application,
    /// An account, by its user, where the application is known.
    Account,
}

impl Kind {
    /// What a parameter or a member of this name names.
    pub(super) fn of(name: &str) -> Option<Self> {
        match name {
            "user" | "user_id" => Some(Self::User),
            "application" | "application_id" => Some(Self::Application),
            "account" | "account_id" => Some(Self::Account),
            _ => None,
        }
    }

    /// What help and messages call it.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Application => "application",
            Self::Account => "account",
        }
    }

    /// Whether a text is an id.
    pub(super) fn is_id(self, text: &str) -> bool {
        match self {
            Self::User => text.parse::<UserId>().is_ok(),
            Self::Application => text.parse::<Did>().is_ok(),
            Self::Account => text.parse::<AccountId>().is_ok(),
        }
    }
}

/// What a parameter of the path is called: `{id}` by what it is an id of.
pub(super) fn parameter(path: &str, name: &str) -> String {
    if name != "id" {
        return name.to_owned();
    }
    let before = path.split("/{id}").next().and_then(|before| before.rsplit('/').next()).unwrap_or_default();
    before.strip_suffix('s').unwrap_or(before).to_owned()
}
