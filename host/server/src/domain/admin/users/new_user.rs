//! New users.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::domain::Services;
use crate::domain::admin::Result;
use crate::keys::fresh_did;
use assent_model::id::{Did, UserId};
use assent_model::name::LoginName;
use assent_model::user::profile::Profile;
use assent_model::user::{LifecycleState, User};

/// Returns a user with only a name. The user is not stored yet.
pub fn new_user(services: &Services, name: LoginName) -> Result<User> {
    Ok(user_with(services, name, fresh_did()?))
}

/// Returns a user with only a name and this identifier. The user is not stored yet.
pub(in crate::domain::admin) fn user_with(services: &Services, name: LoginName, did: Did) -> User {
    let now = services.now();
    User {
        id: UserId::new(now, &*services.entropy),
        did,
        subject: URL_SAFE_NO_PAD.encode(services.entropy.bytes::<24>()),
        name,
        email: None,
        email_confirmed: false,
        profile: Profile::default(),
        console_role: None,
        state: LifecycleState::Invited,
        was_active: false,
        version: 1,
        created_at: now,
        updated_at: now,
    }
}
