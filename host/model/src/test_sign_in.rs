//! A test sign-in: an administrator signs in to an application in its place, to see each step and what it would be
//! told.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock::Timestamp;
use crate::id::{Did, LoginId, SessionId, TestSignInId, UserId};
use crate::name::LoginName;
use crate::secret::Digest;

/// A test sign-in.
#[derive(Clone, Debug)]
pub struct TestSignIn {
    /// The row's id; it stands in the address where its answer goes.
    pub id: TestSignInId,
    /// The application.
    pub application: Did,
    /// Who began it. Nobody else may complete it.
    pub user: UserId,
    /// The session of the console that began it.
    pub session: SessionId,
    /// The digest of the cookie of that browser.
    pub browser: Digest,
    /// The login that may answer it.
    pub login: Option<LoginId>,
    /// The start of the hour or day.
    pub created_at: Timestamp,
    /// Until when it is good, and what is known of it is kept.
    pub expires_at: Timestamp,
    /// How far it has come.
    pub stage: TestSignInStage,
}

/// How far a test sign-in has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestSignInStage {
    /// It may be answered.
    Open,
    /// Its answer came, and is looked at.
    Claimed,
    /// There is a result.
    Finished(TestSignInOutcome),
}

/// How a test sign-in ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestSignInOutcome {
    /// The application would have signed the person in.
    Completed,
    /// It would not.
    Failed,
}

impl TestSignInOutcome {
    /// Its stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

/// The browser that asks, and who is signed in there.
#[derive(Clone, Copy, Debug)]
pub struct Visitor {
    /// The digest of the cookie that tells browsers apart.
    pub browser: Digest,
    /// The session.
    pub session: SessionId,
    /// Who is signed in by it.
    pub user: UserId,
}

impl TestSignIn {
    /// Whether it is this visitor's own.
    pub fn is_of(&self, visitor: Visitor) -> bool {
        self.browser == visitor.browser
            && self.session == visitor.session
            && self.user == visitor.user
    }
}

/// A test sign-in that is open, in the very browser and session that began it.
///
/// Without one no answer goes to a test sign-in's address.
#[derive(Clone, Debug)]
pub struct OpenTestSignIn {
    test_sign_in: TestSignIn,
    request: RequestMarks,
}

/// What identifies the request that the server makes for a test sign-in.
#[derive(Clone, Debug)]
pub struct RequestMarks {
    /// Where the answer goes: an address of this server.
    pub address: String,
    /// The ID of the AuthnRequest.
    pub request_id: String,
    /// The name of the user who started the test sign-in.
    pub login_hint: LoginName,
}

impl OpenTestSignIn {
    /// The test sign-in as an open one of this visitor, with the address where its answer goes.
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

    /// The test sign-in.
    pub const fn test_sign_in(&self) -> &TestSignIn {
        &self.test_sign_in
    }

    /// Where the answer of this application's sign-in goes, if the test sign-in is of it.
    pub fn address_for(&self, application: &Did) -> Option<&str> {
        (self.test_sign_in.application == *application).then_some(self.request.address.as_str())
    }

    /// The ID of the server's AuthnRequest.
    pub fn request_id(&self) -> &str {
        &self.request.request_id
    }

    /// The name of the user who may complete it.
    pub const fn login_hint(&self) -> &LoginName {
        &self.request.login_hint
    }
}

/// A step of a test sign-in, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TestSignInStep {
    /// The request was made.
    Request,
    /// The endpoint accepted it.
    Validation,
    /// The person said who they are.
    Identification,
    /// The phone was asked.
    ApprovalRequest,
    /// The person approved.
    Approval,
    /// The person's account was looked at.
    Account,
    /// Whether the person agreed to what the application wants to know.
    Consent,
    /// What an assertion calls the person.
    NameId,
    /// What the plugins made.
    Claims,
    /// The answer came back.
    Response,
    /// The code was exchanged.
    TokenExchange,
    /// UserInfo was asked.
    Userinfo,
}

impl TestSignInStep {
    /// All of them, in their order.
    pub const ALL: [Self; 12] = [
        Self::Request,
        Self::Validation,
        Self::Identification,
        Self::ApprovalRequest,
        Self::Approval,
        Self::Account,
        Self::Consent,
        Self::NameId,
        Self::Claims,
        Self::Response,
        Self::TokenExchange,
        Self::Userinfo,
    ];

    /// Its stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Validation => "validation",
            Self::Identification => "identification",
            Self::ApprovalRequest => "approval_request",
            Self::Approval => "approval",
            Self::Account => "account",
            Self::Consent => "consent",
            Self::NameId => "name_id",
            Self::Claims => "claims",
            Self::Response => "response",
            Self::TokenExchange => "token_exchange",
            Self::Userinfo => "userinfo",
        }
    }

    /// What it is, in a few words of the console.
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

/// What is known of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepNote {
    /// Whether it succeeded.
    pub succeeded: bool,
    /// The result, in a sentence.
    pub detail: String,
    /// More of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl StepNote {
    /// A step that went well.
    pub fn good(detail: impl Into<String>) -> Self {
        Self {
            succeeded: true,
            detail: detail.into(),
            data: None,
        }
    }

    /// A step that ended the sign-in.
    pub fn bad(detail: impl Into<String>) -> Self {
        Self {
            succeeded: false,
            detail: detail.into(),
            data: None,
        }
    }

    /// The same, with more of it.
    #[must_use]
    pub fn with(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}
