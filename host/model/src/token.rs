//! What an application is handed: authorization codes and access tokens. Administrators' tokens are here as well.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::administration::AdminScopes;
use crate::claims_request::ClaimsRequest;
use crate::clock::Timestamp;
use crate::id::{AccountId, CodeId, Did, SessionId, TokenId, UserId};
use crate::login::CodeChallenge;
use crate::purpose::SignInPurpose;
use crate::redirect::CheckedRedirect;
use crate::scope::Scopes;
use crate::secret::Digest;
use crate::session::Authentication;

/// The prefixes of the tokens, each of its own kind.
pub mod prefix {
    /// An authorization code.
    pub const CODE: &str = "ac";
    /// An access token.
    pub const ACCESS: &str = "at";
    /// A refresh token.
    pub const REFRESH: &str = "rt";
    /// An administrator's token.
    pub const ADMIN: &str = "am";
    /// A session's cookie.
    pub const SESSION: &str = "se";
    /// The token in an enrolment link.
    pub const ENROLMENT: &str = "en";
}

/// What an authorization code stands for. Its row outlives the code: it is the family of all tokens that come of one
/// sign-in, and revoking it ends them all.
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
    /// What later ID tokens repeat of the sign-in.
    pub context: GrantContext,
    /// The ID token's claims as they were made at sign-in, all but those that the exchange itself determines.
    pub claims: Map<String, Value>,
    /// When the person granted it.
    pub created_at: Timestamp,
    /// Until when it can be exchanged.
    pub expires_at: Timestamp,
}

/// On whose behalf a token acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantSubject {
    /// The user.
    pub user_id: UserId,
    /// The person's account in the application.
    pub account_id: AccountId,
    /// The session in which it was granted.
    pub session_id: SessionId,
}

/// What the ID tokens and UserInfo answers of one grant have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantContext {
    /// The `sid` claim.
    pub sid: String,
    /// The `auth_time` and `amr` claims.
    pub authentication: Authentication,
    /// What the `claims` parameter of the authorization request asked for.
    #[serde(default, skip_serializing_if = "ClaimsRequest::is_empty")]
    pub claims: ClaimsRequest,
    /// What it is for.
    #[serde(default, skip_serializing_if = "SignInPurpose::is_application")]
    pub purpose: SignInPurpose,
}

/// The SHA-256 of a client certificate in DER form: what a token is bound to (the `x5t#S256` of RFC 8705 section 3.1).
pub type CertificateDigest = Digest;

/// What an access token permits. No token is good for the admin API and elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenScopes {
    /// The scopes that a user granted, or that an application has as itself at other resource servers.
    Oidc(Scopes),
    /// What an application may do in the admin API as itself.
    Admin(AdminScopes),
}

impl TokenScopes {
    /// The scopes of a `scope` text. Unknown names are left out.
    pub fn known(text: &str) -> Self {
        let admin = AdminScopes::known(text);
        if admin.is_empty() {
            Self::Oidc(Scopes::known(text))
        } else {
            Self::Admin(admin)
        }
    }

    /// The scopes, unless they are those of the admin API.
    pub const fn oidc(&self) -> Option<&Scopes> {
        match self {
            Self::Oidc(scopes) => Some(scopes),
            Self::Admin(_) => None,
        }
    }
}

impl fmt::Display for TokenScopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Oidc(scopes) => scopes.fmt(f),
            Self::Admin(scopes) => scopes.fmt(f),
        }
    }
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
    /// The code that it came from: a second use of the code revokes it. `None` for an application's own token.
    pub family: Option<CodeId>,
    /// What it permits.
    pub scopes: TokenScopes,
    /// The certificate that its bearer must show.
    pub certificate: Option<CertificateDigest>,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// Until when it is good.
    pub expires_at: Timestamp,
    /// Until when its first use is noted: while the refresh that gave it may be repeated.
    pub track_use_until: Option<Timestamp>,
}

/// What a refresh token stands for. Scopes, person and sign-in are its family's.
#[derive(Clone, Debug)]
pub struct RefreshGrant {
    /// The row's id.
    pub id: TokenId,
    /// The digest of the token.
    pub digest: Digest,
    /// The client that it was issued to.
    pub application: Did,
    /// The code that it came from.
    pub family: CodeId,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// Until when it is good.
    pub expires_at: Timestamp,
}

/// An access token and, where the grant has one, a refresh token that are issued together.
#[derive(Clone, Debug)]
pub struct IssuedPair {
    /// The access token.
    pub access: AccessGrant,
    /// The refresh token.
    pub refresh: Option<RefreshGrant>,
}
