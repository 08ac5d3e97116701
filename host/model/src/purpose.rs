//! What a sign-in is for: an application, or an administrator's test of it.

use serde::{Deserialize, Serialize};

use crate::id::TestSignInId;

/// What a sign-in, and all that is granted by it, is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignInPurpose {
    /// The application receives the answer.
    #[default]
    Application,
    /// The server itself receives the answer, in the application's place, for this test sign-in. Only the server may
    /// exchange the code.
    TestSignIn(TestSignInId),
}

impl SignInPurpose {
    /// Whether the application itself receives the answer.
    pub const fn is_application(&self) -> bool {
        matches!(self, Self::Application)
    }

    /// The test sign-in, if it is one.
    pub const fn test_sign_in(self) -> Option<TestSignInId> {
        match self {
            Self::Application => None,
            Self::TestSignIn(id) => Some(id),
        }
    }
}
