//! What an application is handed: authorization codes and access tokens. Administrators' tokens are here as well.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::administration::AdminScopes;
use crate::claims_request::ClaimsRequest;
use crate::clock::Timestamp;
use crate::id::{AccountId, Did, FamilyId, SessionId, TokenId, UserId};
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
/// authorization, and revoking it ends them all.
#[derive(Clone, Debug)]
pub struct CodeGrant {
    /// The row's id.
    pub id: FamilyId,
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

/// What an access token stands for. The token itself is this, sealed; the database has no row for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessGrant {
    /// Identifies the token in the list of revoked tokens.
    pub id: TokenId,
    /// The client that it was issued to.
    pub application: Did,
    /// What it was issued for.
    pub source: TokenSource,
    /// What it permits.
    pub scopes: TokenScopes,
    /// The certificate that its bearer must present.
    pub certificate: Option<CertificateDigest>,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
}

/// What an access token was issued for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenSource {
    /// A token family: the token acts for a user.
    Family(FamilyTokenSource),
    /// The application itself (`client_credentials`), whose settings had this version.
    Application {
        /// The version of the settings.
        version: i64,
    },
}

/// The place of an access token in its family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FamilyTokenSource {
    /// The family.
    pub family: FamilyId,
    /// The number of the refresh that issued the token; 0 for the exchange of the code.
    pub counter: u32,
    /// Until when its first use is recorded: while the refresh may be retried.
    pub track_use_until: Option<Timestamp>,
}

impl AccessGrant {
    /// The place in a family; `None` for an application's own token.
    pub const fn family(&self) -> Option<FamilyTokenSource> {
        match self.source {
            TokenSource::Family(source) => Some(source),
            TokenSource::Application { .. } => None,
        }
    }
}

/// What a refresh token stands for. Application, scopes, user and sign-in are those of its family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefreshGrant {
    /// The family.
    pub family: FamilyId,
    /// The number of the refresh that issued the token; 0 for the exchange of the code. Only the newest one is valid.
    pub counter: u32,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
}
