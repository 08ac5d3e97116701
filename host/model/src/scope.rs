//! Scopes: the permissions that an application may request.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// An OpenID Connect scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Scope {
    /// Required in every authentication request.
    #[serde(rename = "openid")]
    #[strum(serialize = "openid")]
    OpenId,
    /// The user's profile and account.
    Profile,
    /// The email address.
    Email,
    /// The telephone number.
    Phone,
    /// The postal address.
    Address,
    /// The groups that are assigned to the application.
    Groups,
    /// A refresh token, so that the application can act in the user's absence (OpenID Connect Core section 11).
    OfflineAccess,
}
crate::enum_texts!(Scope);

impl Scope {
    /// The default scopes of a new application: all except `address`, because it reveals where users live, and
    /// `groups`, because few applications use them.
    pub const DEFAULT: [Self; 5] = [
        Self::OpenId,
        Self::Profile,
        Self::Email,
        Self::Phone,
        Self::OfflineAccess,
    ];

    /// Returns the claims of the scope (OpenID Connect Core section 5.4, and Assent's own), except the claims of every
    /// ID token.
    pub const fn claims(self) -> &'static [&'static str] {
        match self {
            Self::OpenId | Self::OfflineAccess => &[],
            Self::Profile => &[
                "name",
                "given_name",
                "family_name",
                "middle_name",
                "nickname",
                "preferred_username",
                "picture",
                "profile",
                "website",
                "gender",
                "birthdate",
                "zoneinfo",
                "locale",
                "updated_at",
                "upn",
                "user_did",
                "user_short_code",
                "account",
            ],
            Self::Email => &["email", "email_verified"],
            Self::Phone => &["phone_number", "phone_number_verified"],
            Self::Address => &["address"],
            Self::Groups => &["groups"],
        }
    }

    /// Returns the scope of this claim.
    pub fn of_claim(claim: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|scope| scope.claims().contains(&claim))
    }
}

/// A set of scopes. On the wire: names, separated by one space (RFC 6749 section 3.3).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scopes(BTreeSet<Scope>);

impl Scopes {
    /// Parses the known scopes of a request. Unknown names are ignored.
    pub fn parse_known(text: &str) -> Self {
        text.split(' ').filter_map(Scope::parse).collect()
    }

    /// Whether the set contains `scope`.
    pub fn has(&self, scope: Scope) -> bool {
        self.0.contains(&scope)
    }

    /// Returns the intersection of both sets.
    pub fn both(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }

    /// Parses the scopes of a request. Returns `None` if a name is unknown.
    pub fn parse(text: &str) -> Option<Self> {
        let named = text.split(' ').filter(|name| !name.is_empty());
        named.map(Scope::parse).collect()
    }

    /// Returns the set without `scope`.
    pub fn without(mut self, scope: Scope) -> Self {
        self.0.remove(&scope);
        self
    }

    /// Whether the other set contains every scope of this set.
    pub fn within(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }

    /// Returns the union of both sets.
    pub fn either(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).copied().collect())
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the scopes in their order.
    pub fn iter(&self) -> impl Iterator<Item = Scope> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().collect())
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|scope| scope.as_str()).collect();
        f.write_str(&names.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_scopes_are_left_out() {
        let scopes = Scopes::parse_known("profile  openid admin openid");
        assert_eq!(scopes.to_string(), "openid profile");
    }
}
