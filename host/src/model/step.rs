//! A dangerous step of an administrator's in the console, which their phone is asked about first.

use serde::{Deserialize, Serialize};

use super::administration::Danger;
use super::name::LoginName;
use crate::id::{SessionId, UserId};
use crate::secret::Digest;

/// What a step would do, for whoever takes it to approve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// What happens, and to whom: "Delete the user ada".
    pub text: String,
    /// The person mentioned in it, if one is.
    pub mentions: Option<Mentioned>,
}

impl Words {
    /// These words, which mention nobody.
    pub fn of_nobody(text: String) -> Self {
        Self { text, mentions: None }
    }
}

/// Where an entry of the audit log says who is mentioned in the words of a step.
pub const MENTIONS: &str = "mentions";

/// A person whom the words of a step mention. The words are kept with whoever takes the step; who erases the person finds them by this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mentioned {
    /// A user.
    User(UserId),
    /// Nobody yet: the digest of the name that somebody would have.
    Nobody(Digest),
}

impl Mentioned {
    /// Nobody, by the name that somebody would have.
    pub fn nobody(name: &LoginName) -> Self {
        Self::Nobody(Digest::of(name.as_str().as_bytes()))
    }

    /// As it is kept. The two kinds can't be taken for each other: a user's id is no digest.
    pub fn to_text(&self) -> String {
        match self {
            Self::User(id) => id.to_string(),
            Self::Nobody(name) => name.to_text(),
        }
    }

    /// What [`Mentioned::to_text`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let user = || text.parse().ok().map(Self::User);
        user().or_else(|| Digest::from_text(text).map(Self::Nobody))
    }
}

/// What a person is asked to let happen, in place of a sign-in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownStep {
    /// What kind of step it is.
    pub danger: Danger,
    /// What happens, and to whom, in words: "Delete the user ada". The device signs them.
    pub words: String,
}

/// A step that waits for the phone of whoever takes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRequest {
    /// Who takes it.
    pub user: UserId,
    /// The session of the console in which they do. No other may go on with it.
    pub session: SessionId,
    /// The digest of the very request of the admin API that is allowed: method, address and body.
    pub request: String,
    /// What the person is shown.
    pub shown: ShownStep,
}
