//! Approvals of protected actions: an administrator's action in the console, which their own device approves first.

use serde::{Deserialize, Serialize};

use crate::administration::ProtectedActionKind;
use crate::clock::Timestamp;
use crate::id::{ActionApprovalId, SessionId, UserId};
use crate::name::LoginName;
use crate::secret::Digest;

/// The summary of a protected action, which the administrator approves.
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
        Self {
            text,
            mentions: None,
        }
    }
}

/// The member of an audit entry with the user who is named in a summary.
pub const MENTIONS: &str = "mentions";

/// A user who is named in a summary. The summary is stored with the administrator's request; an erasure of the user finds it by this.
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

/// The protected action that a device shows and signs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownAction {
    /// The kind of action.
    pub kind: ProtectedActionKind,
    /// The summary: "Delete the user ada".
    pub words: String,
}

/// The approval of one protected action in the console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionApproval {
    /// The row's id.
    pub id: ActionApprovalId,
    /// The administrator, whose devices receive the request.
    pub actor: UserId,
    /// The console session in which the action was requested. No other session can use the approval.
    pub session: SessionId,
    /// The digest of the cookie of the console's browser.
    pub browser: Digest,
    /// The digest of the action in its command. The approval permits no other command.
    pub action_digest: Digest,
    /// When the action was requested.
    pub requested_at: Timestamp,
    /// Until when the approval can be used, if it is given.
    pub expires_at: Timestamp,
    /// When it was used. It can be used once.
    pub claimed_at: Option<Timestamp>,
}
