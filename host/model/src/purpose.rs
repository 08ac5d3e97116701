//! The purpose of a sign-in: an application, or an administrator's test of it.

use serde::{Deserialize, Serialize};

use crate::id::TestSignInId;

/// The purpose of a sign-in, and of everything that it grants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignInPurpose {
    /// The application receives the answer.
    #[default]
    Application,
    /// The server itself receives the answer instead of the application, for this test sign-in. Only the server may
    /// exchange the code.
    TestSignIn(TestSignInId),
}

impl SignInPurpose {
    /// Whether the application itself receives the answer.
    pub const fn is_application(&self) -> bool {
        matches!(self, Self::Application)
    }

    /// Returns the test sign-in, if the sign-in is one.
    pub const fn test_sign_in(self) -> Option<TestSignInId> {
        match self {
            Self::Application => None,
            Self::TestSignIn(id) => Some(id),
        }
    }
}
