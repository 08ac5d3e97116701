//! The measured endpoints and flows, and their bounds.

/// A measured endpoint or flow.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subject {
    SessionSignIn,
    CodeExchange,
    Refresh,
    SamlSignOn,
    SamlMetadata,
    Introspection,
    UserInfo,
    FirstUserInfo,
    ClientCredentials,
    Discovery,
    KeySet,
}

/// The bound of an endpoint on the same core.
#[derive(Clone, Copy, PartialEq)]
pub enum Bound {
    /// The cost of this number of RSA-2048 signatures.
    Signatures(f64),
    /// A trivial form POST.
    Post,
    /// A trivial GET.
    Get,
}

impl Subject {
    pub const ALL: [Self; 11] = [
        Self::SessionSignIn,
        Self::CodeExchange,
        Self::Refresh,
        Self::SamlSignOn,
        Self::SamlMetadata,
        Self::Introspection,
        Self::UserInfo,
        Self::FirstUserInfo,
        Self::ClientCredentials,
        Self::Discovery,
        Self::KeySet,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::SessionSignIn => "sign-in with a session",
            Self::CodeExchange => "code exchange, RS256",
            Self::Refresh => "refresh",
            Self::SamlSignOn => "SAML sign-on",
            Self::SamlMetadata => "SAML metadata",
            Self::Introspection => "introspection",
            Self::UserInfo => "UserInfo",
            Self::FirstUserInfo => "UserInfo, asked once",
            Self::ClientCredentials => "client_credentials",
            Self::Discovery => "discovery",
            Self::KeySet => "JWKS",
        }
    }

    pub const fn bound(self) -> Bound {
        match self {
            Self::SessionSignIn | Self::CodeExchange | Self::Refresh => Bound::Signatures(1.0),
            Self::SamlSignOn => Bound::Signatures(2.0),
            Self::Introspection
            | Self::UserInfo
            | Self::FirstUserInfo
            | Self::ClientCredentials => Bound::Post,
            Self::SamlMetadata | Self::Discovery | Self::KeySet => Bound::Get,
        }
    }

    /// Returns the goal, if there is one: the share of the bound, in percent.
    pub const fn goal(self) -> Option<f64> {
        Some(match self {
            Self::SessionSignIn => 40.0,
            Self::Refresh => 55.0,
            Self::SamlSignOn => 50.0,
            Self::Introspection => 27.0,
            Self::UserInfo => 30.0,
            Self::ClientCredentials => 28.0,
            Self::SamlMetadata => 70.0,
            Self::Discovery | Self::KeySet => 74.0,
            Self::CodeExchange | Self::FirstUserInfo => return None,
        })
    }
}
