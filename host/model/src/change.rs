//! Changes that waiting requests are notified of.

use std::fmt;
use std::str::FromStr;

use crate::id::{ApprovalId, IdError, LoginId, TestSignInId, UserId};

/// A change that a request may wait for, on any instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// An approval request ended.
    Approval(ApprovalId),
    /// The devices of a user must update: the user has another request or notification, or may no longer sign in.
    Inbox(UserId),
    /// A login has an authenticated user, or was answered.
    Login(LoginId),
    /// A test sign-in made progress.
    TestSignIn(TestSignInId),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Approval(id) => write!(f, "approval:{id}"),
            Self::Inbox(id) => write!(f, "inbox:{id}"),
            Self::Login(id) => write!(f, "login:{id}"),
            Self::TestSignIn(id) => write!(f, "test-sign-in:{id}"),
        }
    }
}

impl FromStr for Change {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        match text.split_once(':').ok_or(IdError)? {
            ("approval", id) => id.parse().map(Self::Approval),
            ("inbox", id) => id.parse().map(Self::Inbox),
            ("login", id) => id.parse().map(Self::Login),
            ("test-sign-in", id) => id.parse().map(Self::TestSignIn),
            _ => Err(IdError),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::entropy::SystemEntropy;

    #[test]
    fn a_change_round_trips_through_text() {
        let now = Timestamp::from_millis(1_700_000_000_000);
        let changes = [
            Change::Approval(ApprovalId::new(now, &SystemEntropy)),
            Change::Inbox(UserId::new(now, &SystemEntropy)),
            Change::Login(LoginId::new(now, &SystemEntropy)),
            Change::TestSignIn(TestSignInId::new(now, &SystemEntropy)),
        ];
        for change in changes {
            assert_eq!(change.to_string().parse(), Ok(change));
        }
        for other in [
            "",
            "approval",
            "approval:1",
            "other:018f0000000070008000000000000001",
        ] {
            assert_eq!(other.parse::<Change>(), Err(IdError));
        }
    }
}
