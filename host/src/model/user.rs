//! A person, with the profile that applications may be told about.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::{Did, UserId};
use crate::model::name::LoginName;

/// Whether a user, or an account, may sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LifeState {
    /// May sign in.
    Active,
    /// May not sign in until an administrator lifts it.
    Suspended,
    /// Will not sign in again.
    Terminated,
}

/// What a user may do in the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
