//! The description of a user in the admin API.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::domain::audit::moment_text;
use assent_model::user::profile::Profile;
use assent_model::user::{ConsoleRole, LifecycleState, User};

assent_model::resource! {
    /// A user.
    #[derive(Serialize, ToSchema)]
    #[schema(as = User)]
    pub struct UserDocument;

    /// A new user, or an update. A missing member leaves its value unchanged.
    #[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
    #[serde(deny_unknown_fields)]
    pub struct UserChange, protected ProtectedUserMembers;

    /// The identifier.
    shown id: String,
    /// The decentralized identifier: the claim `user_did`.
    shown did: String,
    /// The claim `sub`, except for applications with a pairwise one.
    shown sub: String,
    /// The user name. Required for a new user.
    protected plain name: String,
    /// The email address; null or an empty text removes it.
    protected emptied email: String => Option<String>,
    /// Whether the address is confirmed as the user's own. A new address is confirmed if the caller has the permission
    /// `users:manage`, unless the user name is another address that is not confirmed.
    protected plain email_confirmed: bool,
    /// The changes of the profile. Each member replaces the member of the profile, and null removes it. Null in place
    /// of the profile removes all members.
    harmless reset profile: Map<String, Value> => Profile as Profile,
    /// The role in the console; null removes it. Only an owner may change it.
    owner removable console_role: ConsoleRole,
    /// The lifecycle state.
    protected plain state: LifecycleState,
    /// When it was created.
    #[schema(format = DateTime)]
    shown created_at: String,
    /// When it was last changed.
    #[schema(format = DateTime)]
    shown updated_at: String,
}

impl UserDocument {
    /// Describes a user as it is stored.
    pub fn new(user: User) -> Self {
        Self {
            id: user.id.to_string(),
            did: user.did.to_string(),
            sub: user.subject,
            name: user.name.to_string(),
            email_confirmed: user.email_confirmed && user.email.is_some(),
            email: user.email.map(Into::into),
            profile: user.profile,
            console_role: user.console_role,
            state: user.state,
            created_at: moment_text(user.created_at),
            updated_at: moment_text(user.updated_at),
        }
    }
}
