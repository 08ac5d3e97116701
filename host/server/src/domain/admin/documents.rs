//! Parts of several documents of the admin API.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::audit::moment_text;
use assent_model::client_registration::RegistrationSource;
use assent_model::management::Management;

/// How an application is used.
#[derive(Serialize, ToSchema)]
#[schema(as = ApplicationUsage)]
pub struct UsageView {
    /// The URL of its logo.
    pub logo_url: Option<String>,
    /// The number of users who can open it, by an own account, by a group or because it is assigned to everyone; up to
    /// 1,000.
    pub users: u32,
    /// Whether more than 1,000 users can open it.
    pub more_users: bool,
    /// When a user last signed in to it, with an accuracy of ten minutes.
    #[schema(format = DateTime)]
    pub last_sign_in_at: Option<String>,
}

/// The manifest that manages an object.
#[derive(Serialize, ToSchema)]
#[schema(as = Management)]
pub struct ManagementView {
    /// The owner of the manifest.
    owner: String,
    /// The key of the object in the manifest.
    key: String,
}

impl From<Management> for ManagementView {
    fn from(Management { owner, key }: Management) -> Self {
        Self {
            owner: owner.to_string(),
            key: key.to_string(),
        }
    }
}

/// The initial access token with which an application registered itself.
#[derive(Serialize, ToSchema)]
#[schema(as = RegistrationSource)]
pub struct RegistrationSourceView {
    /// The id of the token, which may be deleted.
    token_id: String,
    /// The name of the token at that time.
    token_name: String,
    #[schema(format = DateTime)]
    registered_at: String,
}

impl From<RegistrationSource> for RegistrationSourceView {
    fn from(source: RegistrationSource) -> Self {
        let RegistrationSource {
            token,
            token_name,
            registered_at,
        } = source;
        Self {
            token_id: token.to_string(),
            token_name,
            registered_at: moment_text(registered_at),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::admin::{
        AccountChange, ClientChange, GroupUpdate, ServiceProviderChange, UserChange,
    };
    use assent_model::command::{Change, MemberClass};

    /// The use case of an update rejects the callers of an owner-only member. So a new one needs its own check first.
    #[test]
    fn each_owner_only_member_is_known() {
        let members = [
            UserChange::MEMBERS,
            AccountChange::MEMBERS,
            GroupUpdate::MEMBERS,
            ClientChange::MEMBERS,
            ServiceProviderChange::MEMBERS,
        ];
        let owner_only = members.into_iter().flatten();
        let owner_only = owner_only.filter(|member| member.class == MemberClass::OwnerOnly);
        let names: Vec<&str> = owner_only.map(|member| member.name).collect();
        assert_eq!(names, ["console_role", "admin_scopes"]);
    }
}
