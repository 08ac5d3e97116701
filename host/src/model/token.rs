//! What an application is handed: authorization codes and access tokens. Administrators' tokens are here as well.

use serde_json::{Map, Value};

use crate::clock::Timestamp;
use crate::id::{AccountId, CodeId, Did, SessionId, TokenId, UserId};
use crate::model::login::CodeChallenge;
use crate::model::redirect::CheckedRedirect;
use crate::model::scope::Scopes;
use crate::secret::Digest;

/// The prefixes of the tokens, each of its own kind.
pub mod prefix {
    /// An authorization code.
    pub const CODE: &str = "ac";
    /// An access token.
    pub const ACCESS: &str = "at";
    /// An administrator's token.
    pub const ADMIN: &str = "am";
    /// A session's cookie.
    pub const SESSION: &str = "se";
    /// The token in an enrolment link.
    pub const ENROLMENT: &str = "en";
}

/// What an authorization code stands for.
#[derive(Clone, Debug)]
pub struct CodeGrant {
    /// The row's id.
    pub id: CodeId,
    /// The digest of the code.
    pub digest: Digest,
    /// The client that it was issued to.
    pub application: Did,
    /// The `redirect_uri` of the authorization request, which the exchange must repeat.
    pub redirect_uri: CheckedRedirect,
    /// The PKCE challenge.
    pub code_challenge: Option<CodeChallenge>,
    /// The granted scopes.
    pub scopes: Scopes,
    /// The person, the account and the session.
    pub subject: GrantSubject,
    /// The ID token's claims as they were made at sign-in, all but those that the exchange itself determines.
    pub claims: Map<String, Value>,
    /// Until when it can be exchanged.
    pub expires_at: Timestamp,
}

/// On whose behalf a token acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantSubject {
    /// The person.
    pub user_id: UserId,
    /// The person's account in the application.
    pub account_id: AccountId,
    /// The session in which it was granted.
    pub session_id: SessionId,
}

/// What an access token stands for.
#[derive(Clone, Debug)]
pub struct AccessGrant {
    /// The row's id.
    pub id: TokenId,
    /// The digest of the token.
    pub digest: Digest,
    /// The client that it was issued to.
    pub application: Did,
    /// On whose behalf it acts.
    pub subject: GrantSubject,
    /// The code that it came from: a second use of the code revokes it.
    pub code_id: CodeId,
    /// The granted scopes.
    pub scopes: Scopes,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// Until when it is good.
    pub expires_at: Timestamp,
}
