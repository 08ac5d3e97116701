//! Test sign-ins: an administrator signs in to an application on its behalf, to see each step and the data that the
//! application would receive.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Timestamp;
use crate::id::{Did, LoginId, SessionId, TestSignInId, UserId};
use crate::name::LoginName;
use crate::secret::Digest;

/// A test sign-in.
#[derive(Clone, Debug)]
pub struct TestSignIn {
    /// The row's id. The address for the answer contains it.
    pub id: TestSignInId,
    /// The application.
    pub application: Did,
    /// The administrator who started it. No other user may complete it.
    pub user: UserId,
    /// The session of the console that started it.
    pub session: SessionId,
    /// The digest of the cookie of the console's browser.
    pub browser: Digest,
    /// The sign-in that may answer it.
    pub login: Option<LoginId>,
    /// The time at which it started.
    pub created_at: Timestamp,
    /// The expiry of the test sign-in, and of its stored data.
    pub expires_at: Timestamp,
    /// The time at which its answer arrived.
    pub claimed_at: Option<Timestamp>,
    /// The stage.
    pub stage: TestSignInStage,
}

/// The stage of a test sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestSignInStage {
    /// Waits for an answer.
    Open,
    /// The answer arrived, and is processed.
    Claimed,
    /// The result is available.
    Finished(TestSignInOutcome),
}

/// The result of a test sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum TestSignInOutcome {
    /// The application would have signed the user in.
    Completed,
    /// The application would not have signed the user in.
    Failed,
}
crate::enum_texts!(TestSignInOutcome);

/// A browser, and the user who is signed in there.
#[derive(Clone, Copy, Debug)]
pub struct Visitor {
    /// The digest of the cookie that identifies the browser.
    pub browser: Digest,
    /// The session.
    pub session: SessionId,
    /// The signed-in user.
    pub user: UserId,
}

impl TestSignIn {
    /// Whether the test sign-in belongs to this visitor.
    pub fn is_of(&self, visitor: Visitor) -> bool {
        self.browser == visitor.browser
            && self.session == visitor.session
            && self.user == visitor.user
    }
}

/// An open test sign-in, in the same browser and session that started it.
///
/// Without it, the server sends no answer to the address of a test sign-in.
#[derive(Clone, Debug)]
pub struct OpenTestSignIn {
    test_sign_in: TestSignIn,
    request: RequestMarks,
}

/// The identifiers of the request that the server creates for a test sign-in.
#[derive(Clone, Debug)]
pub struct RequestMarks {
    /// The address for the answer, which is one of this server.
    pub address: String,
    /// The ID of the AuthnRequest.
    pub request_id: String,
    /// The name of the user who started the test sign-in.
    pub login_hint: LoginName,
}

impl OpenTestSignIn {
    /// Returns the test sign-in if it is open and belongs to this visitor.
    pub fn for_visitor(
        test_sign_in: TestSignIn,
        visitor: Visitor,
        request: RequestMarks,
        now: Timestamp,
    ) -> Option<Self> {
        let is_open = test_sign_in.stage == TestSignInStage::Open && now < test_sign_in.expires_at;
        (is_open && test_sign_in.is_of(visitor)).then_some(Self {
            test_sign_in,
            request,
        })
    }

    /// Returns the test sign-in.
    pub const fn test_sign_in(&self) -> &TestSignIn {
        &self.test_sign_in
    }

    /// Returns the address for the answer of this application's sign-in, if the test sign-in belongs to it.
    pub fn address_for(&self, application: &Did) -> Option<&str> {
        (self.test_sign_in.application == *application).then_some(self.request.address.as_str())
    }

    /// Returns the ID of the server's AuthnRequest.
    pub fn request_id(&self) -> &str {
        &self.request.request_id
    }

    /// Returns the name of the user who may complete it.
    pub const fn login_hint(&self) -> &LoginName {
        &self.request.login_hint
    }
}

/// A step of a test sign-in. The values are in the order of the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TestSignInStep {
    /// The server created the request.
    Request,
    /// The endpoint accepted the request.
    Validation,
    /// The user identified themselves.
    Identification,
    /// A device received the approval request.
    ApprovalRequest,
    /// The user approved.
    Approval,
    /// The check of the user's account.
    Account,
    /// The check of the user's consent.
    Consent,
    /// The NameID of an assertion.
    NameId,
    /// The claims of the plugins.
    Claims,
    /// The answer was received.
    Response,
    /// The code was exchanged.
    TokenExchange,
    /// The UserInfo endpoint was called.
    Userinfo,
}
crate::enum_texts!(TestSignInStep);

impl TestSignInStep {
    /// Returns the title for the console.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Request => "Request",
            Self::Validation => "Validation of the request",
            Self::Identification => "Identification",
            Self::ApprovalRequest => "Approval request",
            Self::Approval => "Decision on the device",
            Self::Account => "Account",
            Self::Consent => "Consent",
            Self::NameId => "NameID",
            Self::Claims => "Claims",
            Self::Response => "Response",
            Self::TokenExchange => "Token exchange",
            Self::Userinfo => "UserInfo",
        }
    }
}

/// The recorded result of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepNote {
    /// Whether it succeeded.
    pub succeeded: bool,
    /// The result, in a sentence.
    pub detail: String,
    /// Further data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl StepNote {
    /// Returns the result of a successful step.
    pub fn good(detail: impl Into<String>) -> Self {
        Self {
            succeeded: true,
            detail: detail.into(),
            data: None,
        }
    }

    /// Returns the result of a step that ended the sign-in.
    pub fn bad(detail: impl Into<String>) -> Self {
        Self {
            succeeded: false,
            detail: detail.into(),
            data: None,
        }
    }

    /// Returns the result with further data.
    #[must_use]
    pub fn with(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}
