//! The changes that create or update a user.

use serde_json::{Map, Value, json};

use super::document::UserChange;
use crate::domain::admin::{AdminError, Result, invalid};
use assent_model::administration::Permission;
use assent_model::caller::{Authorization, Caller};
use assent_model::name::{LoginName, LoginNameError};
use assent_model::user::profile::Profile;
use assent_model::user::{LifecycleState, User};

/// A member of a change that the caller may not change, and the reason.
pub(in crate::domain::admin) struct DeniedMember {
    /// The member.
    pub(in crate::domain::admin) member: &'static str,
    /// The reason.
    pub(in crate::domain::admin) why: &'static str,
}

/// Defines the errors for missing permissions: the reason for a member, and the complete sentence.
macro_rules! forbidden {
    ($($name:ident = $member:literal, $why:literal;)*) => {
        $(pub(in crate::domain::admin) const $name: (DeniedMember, &str) =
            (DeniedMember { member: $member, why: $why }, concat!($member, ": ", $why));)*
    };
}

forbidden! {
    ROLE = "console_role", "only an owner may grant or revoke a role";
    CONFIRMATION = "email_confirmed", "you may not confirm an email address";
    ACTIVATION = "state", "you may not activate a user that has no device yet; enrolling a device activates the user";
    VOUCHING = "profile", "you may not mark an email address or a telephone number as verified";
    // A SAML application may identify the user by these members.
    EMAIL = "email", "you may not change an email address that may identify a user to applications";
    NAME = "name", "you may not change a name that may identify a user to applications";
    FOREIGN_NAME = "name", "you may not choose a name that is an address, unless it is the user's email address";
    STATE = "state", "you may suspend a user but not terminate it";
}

impl UserChange {
    /// Authorizes the caller to make this change of an existing or new user.
    ///
    /// # Errors
    /// [`AdminError::Forbidden`].
    pub(super) fn authorize(&self, caller: &Caller, known: Option<&User>) -> Result<Authorization> {
        let (permission, why) = self.needed_permission(caller, known).map_or(
            (Permission::UsersWrite, "you may not change users"),
            |(permission, (_, why))| (permission, why),
        );
        Ok(caller.authorize(permission, why)?)
    }

    /// Returns the first member that this caller may not change, for an existing or new user.
    pub(in crate::domain::admin) fn beyond(
        &self,
        caller: &Caller,
        known: Option<&User>,
    ) -> Option<DeniedMember> {
        self.needed_permission(caller, known)
            .map(|(_, (forbidden, _))| forbidden)
    }

    fn needed_permission(
        &self,
        caller: &Caller,
        known: Option<&User>,
    ) -> Option<(Permission, (DeniedMember, &'static str))> {
        let vouches = |profile: &Map<String, Value>| {
            profile.keys().any(|member| member.ends_with("_verified"))
        };
        let members = [
            (self.console_role.is_some(), Permission::RolesWrite, ROLE),
            (
                self.profile.iter().flatten().any(vouches),
                Permission::UsersManage,
                VOUCHING,
            ),
            (
                known.is_some() && self.email.is_some(),
                Permission::UsersManage,
                EMAIL,
            ),
            (
                self.email_confirmed.is_some(),
                Permission::UsersManage,
                CONFIRMATION,
            ),
            (
                known.is_some() && self.name.is_some(),
                Permission::UsersManage,
                NAME,
            ),
            // An active user looks as if there had been a device. Support may give such a user another one.
            (
                self.state == Some(LifecycleState::Active)
                    && known.is_none_or(|user| user.state == LifecycleState::Invited),
                Permission::AccountsWrite,
                ACTIVATION,
            ),
            (
                self.state == Some(LifecycleState::Terminated),
                Permission::UsersManage,
                STATE,
            ),
        ];
        members
            .into_iter()
            .find(|(is_said, permission, _)| *is_said && !caller.may(*permission))
            .map(|(_, permission, forbidden)| (permission, forbidden))
    }
}

/// Rejects a new user whose name is the address of another mailbox. Applications receive the name too, and it has no
/// sign whether the address was confirmed.
///
/// # Errors
/// [`AdminError::Forbidden`] without the permission to set addresses.
pub(in crate::domain::admin) fn check_new_name(user: &User, caller: &Caller) -> Result<()> {
    if user.is_named_by_other_address() && !caller.may(Permission::UsersManage) {
        return Err(AdminError::Forbidden(FOREIGN_NAME.1));
    }
    Ok(())
}

/// Applies a change of a caller to a user.
///
/// # Errors
/// [`AdminError::Invalid`] if a value is invalid, [`AdminError::Conflict`] if the user is terminated.
pub(in crate::domain::admin) fn apply_to_user(
    user: &mut User,
    change: UserChange,
    caller: &Caller,
) -> Result<()> {
    let UserChange {
        name,
        email,
        email_confirmed,
        profile,
        console_role,
        state,
    } = change;
    // The personal data may have been erased, and must not be added again.
    if user.state == LifecycleState::Terminated
        && (name.is_some()
            || email.is_some()
            || email_confirmed.is_some()
            || profile.is_some()
            || console_role.is_some())
    {
        return Err(AdminError::Conflict(
            "a terminated user cannot be updated; create a new one",
        ));
    }
    let name_before = user.name.clone();
    if let Some(name) = name {
        user.name = login_name("name", &name)?;
    }
    let before = (user.email.clone(), user.profile.phone_number.clone());
    if let Some(email) = email {
        user.email = if email.is_empty() {
            None
        } else {
            Some(email_address(&email)?)
        };
    }
    let vouched = |name| {
        let mut members = profile.iter().flatten();
        members.any(|members| members.contains_key(name))
    };
    let (email_vouched, phone_vouched) =
        (vouched("email_verified"), vouched("phone_number_verified"));
    match profile {
        None => {}
        Some(None) => user.profile = Profile::default(),
        Some(Some(members)) => user.profile = merged_profile(&user.profile, members)?,
    }
    // A new address or number is not verified, unless the administrator states it in the same change.
    user.profile.email_verified &= user.email == before.0 || email_vouched;
    user.profile.phone_number_verified &= user.profile.phone_number == before.1 || phone_vouched;
    if user.email != before.0 {
        // A new address does not confirm an older name that is another address: support may have chosen it.
        let is_name_confirmed =
            user.email_confirmed || user.name != name_before || !user.is_named_by_other_address();
        user.email_confirmed = is_name_confirmed && caller.may(Permission::UsersManage);
    }
    if email_vouched && user.profile.email_verified {
        user.confirm_email();
    }
    if let Some(confirmed) = email_confirmed {
        user.email_confirmed = confirmed;
        user.profile.email_verified &= confirmed;
    }
    if let Some(role) = console_role {
        user.console_role = role;
    }
    if let Some(state) = state {
        let is_lifted = user.state == LifecycleState::Suspended
            && (state == LifecycleState::Active || state == user.state_after_suspension());
        user.state = match is_lifted {
            true => user.state_after_suspension(),
            false => user
                .state
                .transition_to(state)
                .map_err(|error| invalid("state", error.to_string()))?,
        };
        user.was_active |= user.state == LifecycleState::Active;
    }
    Ok(())
}

/// Merges members into a record: null removes a member, and an inner record is merged in the same way (RFC 7396).
fn merge(record: &mut Map<String, Value>, members: Map<String, Value>) {
    for (name, value) in members {
        match (record.get_mut(&name), value) {
            (_, Value::Null) => {
                record.remove(&name);
            }
            (Some(Value::Object(known)), Value::Object(members)) => merge(known, members),
            (_, Value::Object(members)) => {
                let mut fresh = Map::new();
                merge(&mut fresh, members);
                record.insert(name, Value::Object(fresh));
            }
            (_, value) => {
                record.insert(name, value);
            }
        }
    }
}

/// Returns the first member that null would remove, but that a profile does not have.
fn unknown_member(members: &Map<String, Value>) -> Option<String> {
    let is_known = |profile: Value| serde_json::from_value::<Profile>(profile).is_ok();
    let has_member = |name: &str| {
        let empty_values = [json!(null), json!(false), json!({})];
        empty_values
            .into_iter()
            .any(|value| is_known(json!({ name: value })))
    };
    members.iter().find_map(|(name, value)| match value {
        Value::Null => (!has_member(name)).then(|| name.clone()),
        Value::Object(inner) => inner
            .iter()
            .filter(|(_, value)| value.is_null())
            .map(|(inner, _)| inner)
            .find(|inner| !is_known(json!({ name: { *inner: null } })))
            .map(|inner| format!("{name}.{inner}")),
        _ => None,
    })
}

fn merged_profile(profile: &Profile, members: Map<String, Value>) -> Result<Profile> {
    if let Some(name) = unknown_member(&members) {
        return Err(invalid(
            "profile",
            format!("a profile has no member {name}"),
        ));
    }
    let mut merged = serde_json::to_value(profile).unwrap_or_default();
    if let Some(merged) = merged.as_object_mut() {
        merge(merged, members);
    }
    let profile: Profile = serde_path_to_error::deserialize(merged)
        .map_err(|error| invalid("profile", error.to_string()))?;
    match profile.unfit_field() {
        None => Ok(profile),
        Some((field, expected)) => Err(invalid("profile", format!("{field}: {expected}"))),
    }
}

pub(super) fn login_name(field: &'static str, text: &str) -> Result<LoginName> {
    text.parse()
        .map_err(|error: LoginNameError| invalid(field, error.to_string()))
}

pub(in crate::domain::admin) fn email_address(text: &str) -> Result<LoginName> {
    let expected = || invalid("email", "expected an address such as ada@example.org");
    let address: LoginName = text.parse().map_err(|error| match error {
        // A text without this sign is no address, so an example helps more than the name of a wrong character.
        LoginNameError::Length => expected(),
        _ if !text.contains('@') => expected(),
        error => invalid("email", error.to_string()),
    })?;
    // As HTML's email fields validate an address, but with letters of all alphabets before the @. The domain consists
    // of A-labels (RFC 5890), each of at most 63 characters (RFC 1035 section 2.3.4).
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let is_valid = address
        .as_str()
        .split_once('@')
        .is_some_and(|(local, domain)| {
            !local.is_empty()
                && domain.split('.').all(is_label)
                && !local.contains(['"', ',', ';', '\\'])
        });
    if is_valid {
        Ok(address)
    } else {
        Err(expected())
    }
}
