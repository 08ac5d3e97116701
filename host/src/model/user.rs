//! A person, with the profile that applications may be told about.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::{Did, UserId};
use crate::model::name::LoginName;

/// How far a user, or an account, has come in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LifeState {
    /// Is known, and not there yet: a user has nothing to approve with, an account was never signed in to.
    Invited,
    /// May sign in.
    Active,
    /// May not sign in until an administrator lifts it.
    Suspended,
    /// Will not sign in again.
    Terminated,
}

/// A state that does not follow on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", if *.from == LifeState::Terminated {
    "who is terminated cannot be brought back; make a new one".to_owned()
} else {
    format!("{} does not follow on {}", .to.as_str(), .from.as_str())
})]
pub struct NoTransition {
    from: LifeState,
    to: LifeState,
}

impl LifeState {
    /// Every state there is.
    pub const ALL: [Self; 4] = [Self::Invited, Self::Active, Self::Suspended, Self::Terminated];

    /// The state's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invited => "invited",
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Terminated => "terminated",
        }
    }

    /// The next state. To stay is always allowed; nobody is invited twice, and a termination is final.
    pub const fn to(self, next: Self) -> Result<Self, NoTransition> {
        match (self, next) {
            (Self::Invited, Self::Invited | Self::Active | Self::Suspended | Self::Terminated)
            | (Self::Active, Self::Active | Self::Suspended | Self::Terminated)
            | (Self::Suspended, Self::Suspended | Self::Active | Self::Terminated)
            | (Self::Terminated, Self::Terminated) => Ok(next),
            (from, to) => Err(NoTransition { from, to }),
        }
    }

    /// Whether it may come to be active by itself: by a device, or by a sign-in.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Invited | Self::Active)
    }
}

/// What a user may do in the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConsoleRole {
    /// Everything.
    Owner,
    /// Everything but owners.
    Admin,
    /// Users and devices only.
    Support,
    /// Reads.
    Auditor,
}

impl ConsoleRole {
    /// The role's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Admin => "admin",
            Self::Support => "support",
            Self::Auditor => "auditor",
        }
    }
}

/// A person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The row's id.
    pub id: UserId,
    /// The person's decentralized identifier: the `user_did` claim.
    pub did: Did,
    /// The `sub` claim: random, and the same in every application.
    pub subject: String,
    /// What the person types at sign-in.
    pub name: LoginName,
    /// The e-mail address, which may be typed at sign-in as well.
    pub email: Option<LoginName>,
    /// What applications may be told.
    pub profile: Profile,
    /// The role in the console, if any.
    pub console_role: Option<ConsoleRole>,
    /// Whether the person may sign in.
    pub state: LifeState,
    /// How often it was changed: a change counts only if it was made to the newest version.
    pub version: i64,
    /// When the user was made.
    pub created_at: Timestamp,
    /// When the user was last changed.
    pub updated_at: Timestamp,
}

impl User {
    /// What a page calls the person.
    pub fn display_name(&self) -> &str {
        self.profile.name.as_deref().unwrap_or(self.name.as_str())
    }
}

/// The claims of OpenID Connect Core 1.0 section 5.1 that are kept about a person, under their own names.
///
/// `preferred_username`, `email` and `updated_at` are not here: they follow from the user itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs, reason = "the fields are the claims of the OpenID Connect specification")]
pub struct Profile {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub middle_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nickname: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gender: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub birthdate: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zoneinfo: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone_number: Option<String>,
    pub phone_number_verified: bool,
    pub email_verified: bool,
}

impl Profile {
    /// The first field that is longer than 1,024 characters or holds a control character, by its name.
    pub fn unfit_field(&self) -> Option<&'static str> {
        let fields = [
            ("name", &self.name),
            ("given_name", &self.given_name),
            ("family_name", &self.family_name),
            ("middle_name", &self.middle_name),
            ("nickname", &self.nickname),
            ("picture", &self.picture),
            ("profile", &self.profile),
            ("website", &self.website),
            ("gender", &self.gender),
            ("birthdate", &self.birthdate),
            ("zoneinfo", &self.zoneinfo),
            ("locale", &self.locale),
            ("phone_number", &self.phone_number),
        ];
        let unfit = |text: &String| text.chars().count() > 1024 || text.chars().any(char::is_control);
        fields.into_iter().find(|(_, value)| value.as_ref().is_some_and(unfit)).map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::LifeState::{Active, Invited, Suspended, Terminated};

    #[test]
    fn a_life_goes_on_and_never_back_from_its_end() {
        let all = [Invited, Active, Suspended, Terminated];
        let allowed =
            |from: super::LifeState| all.into_iter().filter(move |to| from.to(*to).is_ok()).collect::<Vec<_>>();
        assert_eq!(allowed(Invited), all);
        assert_eq!(allowed(Active), [Active, Suspended, Terminated]);
        assert_eq!(allowed(Suspended), [Active, Suspended, Terminated]);
        assert_eq!(allowed(Terminated), [Terminated]);
        assert_eq!(Active.to(Invited).unwrap_err().to_string(), "invited does not follow on active");
    }
}
