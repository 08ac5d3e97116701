//! Authorization codes and tokens of applications, and tokens of administrators.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::administration::AdminScopes;
use crate::authorization_details::granted::{DetailsSelection, GrantedDetails};
use crate::claims_request::ClaimsRequest;
use crate::clock::Timestamp;
use crate::id::{AccountId, Did, FamilyId, SessionId, TokenId, UserId};
use crate::login::CodeChallenge;
use crate::purpose::SignInPurpose;
use crate::redirect::CheckedRedirect;
use crate::scope::Scopes;
use crate::secret::Digest;
use crate::session::Authentication;
use crate::token_binding::{KeyThumbprint, TokenBinding};

/// The prefixes of tokens, one for each kind.
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
    /// The reference to a pushed authorization request.
    pub const PUSHED_REQUEST: &str = "pr";
    /// The `auth_req_id` of a back-channel authentication request.
    pub const BACKCHANNEL_REQUEST: &str = "br";
    /// The `device_code` of a device authorization request.
    pub const DEVICE_CODE: &str = "dc";
    /// An initial access token, with which applications register themselves.
    pub const INITIAL_ACCESS: &str = "ia";
    /// The registration access token of an application that registered itself.
    pub const REGISTRATION_ACCESS: &str = "ra";
    /// The token in the QR code of a login page.
    pub const LOGIN_CODE: &str = "lc";
}

/// The data of an authorization code. Its row outlives the code. The row is the token family of the authorization, and
/// its revocation revokes all tokens of the family.
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
    /// The user, the account and the session.
    pub subject: GrantSubject,
    /// The data of the sign-in that later ID tokens repeat.
    pub context: GrantContext,
    /// The claims of the ID token at sign-in, except those that the exchange determines.
    pub claims: Map<String, Value>,
    /// The time of the grant.
    pub created_at: Timestamp,
    /// The expiry of the code.
    pub expires_at: Timestamp,
}

/// The user that a token acts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantSubject {
    /// The user.
    pub user_id: UserId,
    /// The user's account in the application.
    pub account_id: AccountId,
    /// The session of the grant.
    pub session_id: SessionId,
}

/// The common data of the ID tokens and UserInfo responses of one grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantContext {
    /// The `sid` claim.
    pub sid: String,
    /// The `auth_time` and `amr` claims.
    pub authentication: Authentication,
    /// The claims that the `claims` parameter of the authorization request requested.
    #[serde(default, skip_serializing_if = "ClaimsRequest::is_empty")]
    pub claims: ClaimsRequest,
    /// The purpose of the sign-in.
    #[serde(default, skip_serializing_if = "SignInPurpose::is_application")]
    pub purpose: SignInPurpose,
    /// The DPoP key that the client must prove to hold when it exchanges the code (RFC 9449 section 10).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dpop_key: Option<KeyThumbprint>,
    /// The authorization details that the user granted (RFC 9396).
    #[serde(default, skip_serializing_if = "GrantedDetails::is_empty")]
    pub authorization_details: GrantedDetails,
}

/// The permissions of an access token. A token for the admin API is valid nowhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenScopes {
    /// The scopes that a user granted, or that an application has as itself at other resource servers.
    Oidc(Scopes),
    /// The scopes of an application that acts as itself in the admin API.
    Admin(AdminScopes),
}

impl TokenScopes {
    /// Parses a `scope` text. Unknown names are ignored.
    pub fn parse_known(text: &str) -> Self {
        let admin = AdminScopes::parse_known(text);
        if admin.is_empty() {
            Self::Oidc(Scopes::parse_known(text))
        } else {
            Self::Admin(admin)
        }
    }

    /// Returns the scopes, unless they are those of the admin API.
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

/// The data of an access token. The token itself is this data, sealed; the database has no row for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessGrant {
    /// The id of the token in the list of revoked tokens.
    pub id: TokenId,
    /// The client that it was issued to.
    pub application: Did,
    /// The source of the token.
    pub source: TokenSource,
    /// The permissions.
    pub scopes: TokenScopes,
    /// The elements of its family's authorization details that it has.
    pub details: DetailsSelection,
    /// The key that its bearer must prove to hold.
    pub binding: Option<TokenBinding>,
    /// The time of issue.
    pub issued_at: Timestamp,
    /// The expiry.
    pub expires_at: Timestamp,
}

/// The source of an access token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenSource {
    /// A token family: the token acts for a user.
    Family(FamilyTokenSource),
    /// The application itself (`client_credentials`), with this version of its settings.
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
    /// The time until which its first use is recorded: while the client may retry the refresh.
    pub track_use_until: Option<Timestamp>,
}

impl AccessGrant {
    /// Returns the place in a family; `None` for an application's own token.
    pub const fn family(&self) -> Option<FamilyTokenSource> {
        match self.source {
            TokenSource::Family(source) => Some(source),
            TokenSource::Application { .. } => None,
        }
    }
}

/// The data of a refresh token. Its family has the application, scopes, user and sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefreshGrant {
    /// The family.
    pub family: FamilyId,
    /// The DPoP key of a public client. The refresh token of another client is bound to its authentication (RFC 9449
    /// section 5).
    pub dpop_key: Option<KeyThumbprint>,
    /// The number of the refresh that issued the token; 0 for the exchange of the code. Only the newest one is valid.
    pub counter: u32,
    /// The time of issue.
    pub issued_at: Timestamp,
    /// The expiry.
    pub expires_at: Timestamp,
}
