//! Users, and what they enrol.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::command::{AdminCommand, AdminContext, ApprovedPlan, Execution, Planned};
use super::{AdminError, Result, fresh_did, invalid};
use crate::domain::devices::device::OwnDevice;
use crate::domain::devices::{account_notifications, device};
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::protected_actions::{Authenticators, ProtectedAction, ProtectedUserChange};
use crate::domain::{Host, audit};
use assent_model::administration::Permission;
use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::caller::Authorization;
use assent_model::caller::Caller;
use assent_model::clock::Timestamp;
use assent_model::device::Device;
use assent_model::id::{DeviceId, Did, UserId};
use assent_model::name::LoginName;
use assent_model::recovery::CodesOfDevice;
use assent_model::user::{ConsoleRole, LifecycleState, Profile, User};
use assent_store::{UserUpdateOutcome, VersionedWrite};

assent_model::admin_command! {
    /// What makes or changes a user. Where a user is changed, what is missing stays as it is.
    #[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
    #[serde(deny_unknown_fields)]
    pub struct UserChange, protected ProtectedUserMembers {
        /// What the person types at sign-in. A new user must have one.
        protected name: Option<String>,
        /// The e-mail address; an empty text takes it away.
        protected email: Option<String>,
        /// Each member replaces the profile's, and null takes it away.
        #[schema(value_type = Option<Profile>)]
        harmless profile: Option<Map<String, Value>>,
        /// The role in the console; null takes it away. Only an owner may give or take one.
        #[serde(default, deserialize_with = "present")]
        protected console_role: Option<Option<ConsoleRole>>,
        /// Whether the person may sign in.
        protected state: Option<LifecycleState>,
    }
}

/// Distinguishes `null` from a missing member.
fn present<'de, D: Deserializer<'de>>(
    value: D,
) -> std::result::Result<Option<Option<ConsoleRole>>, D::Error> {
    Option::deserialize(value).map(Some)
}

/// A member of a change, and why the caller may not change it.
pub(super) struct DeniedMember {
    /// The member.
    pub(super) member: &'static str,
    /// Why.
    pub(super) why: &'static str,
}

/// Defines what a caller needs a permission for, with the whole sentence beside the member's own.
macro_rules! forbidden {
    ($($name:ident = $member:literal, $why:literal;)*) => {
        $(pub(super) const $name: (DeniedMember, &str) =
            (DeniedMember { member: $member, why: $why }, concat!($member, ": ", $why));)*
    };
}

forbidden! {
    ROLE = "console_role", "only an owner may give or take a role";
    VOUCHING = "profile", "you may not vouch for an address or a number";
    // A SAML application may know the user by these.
    EMAIL = "email", "you may not change an address that applications may know a person by";
    NAME = "name", "you may not change a name that applications may know a person by";
    STATE = "state", "you may suspend a user, and not close it for good";
}

impl UserChange {
    /// Authorizes the caller to say this of a user, who is known or new.
    ///
    /// # Errors
    /// [`AdminError::Forbidden`].
    fn authorize(&self, caller: &Caller, known: bool) -> Result<Authorization> {
        let (permission, why) = self.needed(caller, known).map_or(
            (Permission::UsersWrite, "you may not change users"),
            |(permission, (_, why))| (permission, why),
        );
        Ok(caller.authorize(permission, why)?)
    }

    /// The first member that this caller may not say of a user, who is known or new.
    pub(super) fn beyond(&self, caller: &Caller, known: bool) -> Option<DeniedMember> {
        self.needed(caller, known)
            .map(|(_, (forbidden, _))| forbidden)
    }

    fn needed(
        &self,
        caller: &Caller,
        known: bool,
    ) -> Option<(Permission, (DeniedMember, &'static str))> {
        let vouches = |profile: &Map<String, Value>| {
            profile.keys().any(|member| member.ends_with("_verified"))
        };
        let members = [
            (self.console_role.is_some(), Permission::RolesWrite, ROLE),
            (
                self.profile.as_ref().is_some_and(vouches),
                Permission::UsersManage,
                VOUCHING,
            ),
            (
                known && self.email.is_some(),
                Permission::UsersManage,
                EMAIL,
            ),
            (known && self.name.is_some(), Permission::UsersManage, NAME),
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

/// Nobody could undo that, but for whoever holds the machine.
const LAST_OWNER: AdminError = AdminError::Conflict(
    "the user is the last owner that can sign in; give another active user the role of an owner first",
);

/// Creates a user. Without another state the user is invited, until there is something to approve with.
#[derive(Clone, Debug, serde::Serialize)]
pub struct CreateUser(pub UserChange);

impl AdminCommand for CreateUser {
    type Plan = User;
    type Outcome = User;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<User>> {
        let Self(change) = self;
        let authorization = change.authorize(&context.caller, false)?;
        let user = made(&context.host, change.clone())?;
        // Who takes it between this and the write is refused there.
        must_be_free(&context.host, &user).await?;
        // A new user has no other name, address or state that somebody could lose.
        let ProtectedUserMembers {
            name: _,
            email: _,
            console_role,
            state: _,
        } = change.protected();
        let action = console_role
            .flatten()
            .map(|console_role| ProtectedAction::CreateUser {
                name: user.name.clone(),
                email: user.email.clone(),
                console_role,
            });
        Ok(Planned::new(authorization, user, action))
    }

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<User>,
        by: &AuditContext,
    ) -> Result<Execution<User>> {
        let user = approved.into_plan();
        let host = &context.host;
        let entries = vec![creation(host, &user, by)];
        host.store.insert_user(user.clone(), entries).await?;
        tracing::info!(user = %user.id, "user created");
        Ok(Execution::Done(user))
    }
}

/// Rejects what would take the last owner away, before an approval is requested. The write checks it again under a lock.
async fn must_not_be_last_owner(host: &Host, user: &User) -> Result<()> {
    let is_owner = user.console_role == Some(ConsoleRole::Owner);
    match is_owner && host.store.is_last_owner(user.id).await? {
        true => Err(LAST_OWNER),
        false => Ok(()),
    }
}

/// Refuses what somebody else signs in with, and says which of the two it is.
async fn must_be_free(host: &Host, user: &User) -> Result<()> {
    for (field, name) in std::iter::once(("name", &user.name))
        .chain(user.email.as_ref().map(|email| ("email", email)))
    {
        if host
            .store
            .user_by_login(name)
            .await?
            .is_some_and(|other| other.id != user.id)
        {
            return Err(AdminError::TakenAt(
                field,
                "another user signs in with it; choose another",
            ));
        }
    }
    Ok(())
}

/// A new user, not yet kept.
fn made(host: &Host, change: UserChange) -> Result<User> {
    let name = change
        .name
        .clone()
        .ok_or_else(|| invalid("name", "expected a name"))?;
    let mut user = new_user(host, login_name("name", &name)?)?;
    apply_to_user(&mut user, change)?;
    if user.state == LifecycleState::Terminated {
        return Err(invalid(
            "state",
            "a new user is invited, active or suspended",
        ));
    }
    Ok(user)
}

/// What the audit log is told of a new user.
pub(super) fn creation(host: &Host, user: &User, by: &AuditContext) -> Entry {
    let entry = audit::entry(host, Event::UserCreated, by)
        .about(user.id)
        .with("state", user.state.as_str());
    let entry = match user.console_role {
        Some(role) => entry.with("console_role", role.as_str()),
        None => entry,
    };
    entry.personal("after", Value::Object(shown(user)))
}

/// A user with nothing but a name, not yet kept.
///
/// # Errors
/// If the cryptographic library fails.
pub fn new_user(host: &Host, name: LoginName) -> Result<User> {
    Ok(user_with(host, name, fresh_did()?))
}

/// The same, with this identifier.
pub(super) fn user_with(host: &Host, name: LoginName, did: Did) -> User {
    let now = host.now();
    User {
        id: UserId::new(now, &*host.entropy),
        did,
        subject: URL_SAFE_NO_PAD.encode(host.entropy.bytes::<24>()),
        name,
        email: None,
        profile: Profile::default(),
        console_role: None,
        state: LifecycleState::Invited,
        version: 1,
        created_at: now,
        updated_at: now,
    }
}

/// Updates a user. Where the state changes, what was begun in the person's name is over.
#[derive(Clone, Debug, serde::Serialize)]
pub struct UpdateUser {
    /// The user.
    pub user: UserId,
    /// What changes.
    pub change: UserChange,
}

impl UpdateUser {
    /// The changes that need an approval: those that differ from what is there.
    async fn action(
        &self,
        host: &Host,
        before: &User,
        after: &User,
    ) -> Result<Option<ProtectedAction>> {
        let ProtectedUserMembers {
            name,
            email,
            console_role,
            state,
        } = self.change.protected();
        let mut changes = Vec::new();
        if *state == Some(LifecycleState::Terminated) {
            changes.push(ProtectedUserChange::Terminate);
        }
        if name.is_some() && after.name != before.name {
            changes.push(ProtectedUserChange::Name(after.name.clone()));
        }
        if email.is_some() && after.email != before.email {
            changes.push(ProtectedUserChange::Email(after.email.clone()));
        }
        // The role last, since what follows it in the summary is about the role.
        match console_role {
            Some(Some(role)) => changes.push(ProtectedUserChange::GrantRole {
                role: *role,
                authenticators: Authenticators {
                    devices: host.store.devices_of(before.id).await?.len() as u64,
                    external: host.store.external_authenticators(before.id).await?.len() as u64,
                },
            }),
            Some(None) => changes.push(ProtectedUserChange::RemoveRole),
            None => {}
        }
        Ok(
            (!changes.is_empty()).then_some(ProtectedAction::UpdateUser {
                user: before.id,
                changes,
            }),
        )
    }
}

/// The user before and after an update.
#[derive(Clone, Debug)]
pub struct UserUpdate {
    before: User,
    after: User,
}

impl AdminCommand for UpdateUser {
    type Plan = UserUpdate;
    type Outcome = User;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<UserUpdate>> {
        let host = &context.host;
        let before = user(host, self.user).await?;
        let caller = &context.caller;
        let authorization = caller
            .authorize_user_access(&before)?
            .and(self.change.authorize(caller, true)?);
        context.expected.check(before.version)?;
        let mut after = before.clone();
        apply_to_user(&mut after, self.change.clone())?;
        must_be_free(host, &after).await?;
        let stays_owner = after.console_role == Some(ConsoleRole::Owner) && after.state.is_open();
        if !stays_owner {
            must_not_be_last_owner(host, &before).await?;
        }
        let action = self.action(host, &before, &after).await?;
        Ok(Planned::new(
            authorization,
            UserUpdate { before, after },
            action,
        ))
    }

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<UserUpdate>,
        by: &AuditContext,
    ) -> Result<Execution<User>> {
        let UserUpdate { before, mut after } = approved.into_plan();
        let host = &context.host;
        after.updated_at = host.now();
        let entries = differences(host, &before, &after, by);
        match host
            .store
            .update_user(after.clone(), before.state, entries)
            .await?
        {
            UserUpdateOutcome::Done => {}
            UserUpdateOutcome::LastOwner => return Err(LAST_OWNER),
            UserUpdateOutcome::Stale => return Ok(Execution::Overtaken),
        }
        tracing::info!(user = %after.id, state = ?after.state, "user changed");
        host.wakeups.send(Wakeup::LoggedOut);
        after.version += 1;
        Ok(Execution::Done(after))
    }
}

/// What the audit log is told of a change: what was there before and what is there now, of what is not as it was.
pub(super) fn differences(
    host: &Host,
    before: &User,
    after: &User,
    by: &AuditContext,
) -> Vec<Entry> {
    let entry = |event| audit::entry(host, event, by).about(after.id);
    let mut entries = Vec::new();
    let (was, is) = changed(shown(before), shown(after));
    let role = |user: &User| user.console_role.map(ConsoleRole::as_str);
    if !is.is_empty() || !was.is_empty() || role(before) != role(after) {
        let mut changed = entry(Event::UserChanged);
        if role(before) != role(after) {
            changed = changed
                .with("before", json!({"console_role": role(before)}))
                .with("after", json!({"console_role": role(after)}));
        }
        entries.push(
            changed
                .personal("before", Value::Object(was))
                .personal("after", Value::Object(is)),
        );
    }
    if before.state != after.state {
        entries.push(audit::of_state(
            entry(Event::UserLifecycleChanged),
            before.state,
            after.state,
        ));
    }
    entries
}

/// What says who a user is.
fn shown(user: &User) -> Map<String, Value> {
    let mut shown = match serde_json::to_value(&user.profile) {
        Ok(Value::Object(profile)) => profile,
        _ => Map::new(),
    };
    shown.insert("login_name".to_owned(), json!(user.name));
    shown.insert("email".to_owned(), json!(user.email));
    shown
}

/// The members that are not the same in both.
pub(super) fn changed(
    mut before: Map<String, Value>,
    mut after: Map<String, Value>,
) -> (Map<String, Value>, Map<String, Value>) {
    before.retain(|name, value| {
        let same = after.get(name) == Some(value);
        if same {
            after.remove(name);
        }
        !same
    });
    (before, after)
}

pub(super) fn apply_to_user(user: &mut User, change: UserChange) -> Result<()> {
    // What says who they were may have been erased, and shall not come back.
    if user.state == LifecycleState::Terminated
        && (change.name.is_some()
            || change.email.is_some()
            || change.profile.is_some()
            || change.console_role.is_some())
    {
        return Err(AdminError::Conflict(
            "a terminated user can't be changed any more; make a new one",
        ));
    }
    if let Some(name) = change.name {
        user.name = login_name("name", &name)?;
    }
    let before = (user.email.clone(), user.profile.phone_number.clone());
    if let Some(email) = change.email {
        user.email = if email.is_empty() {
            None
        } else {
            Some(email_address(&email)?)
        };
    }
    let vouched = |name| {
        change
            .profile
            .as_ref()
            .is_some_and(|members| members.contains_key(name))
    };
    let (email_vouched, phone_vouched) =
        (vouched("email_verified"), vouched("phone_number_verified"));
    if let Some(members) = change.profile {
        user.profile = merged(&user.profile, members)?;
    }
    // Nobody has verified a new address or number, unless the administrator says so with it.
    user.profile.email_verified &= user.email == before.0 || email_vouched;
    user.profile.phone_number_verified &= user.profile.phone_number == before.1 || phone_vouched;
    if let Some(role) = change.console_role {
        user.console_role = role;
    }
    if let Some(state) = change.state {
        user.state = user
            .state
            .to(state)
            .map_err(|error| invalid("state", error.to_string()))?;
    }
    Ok(())
}

/// The members of a record, some of them changed: null takes one away, and a record within changes member by member (RFC 7396).
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

fn merged(profile: &Profile, members: Map<String, Value>) -> Result<Profile> {
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

fn login_name(field: &'static str, text: &str) -> Result<LoginName> {
    text.parse()
        .map_err(|error: assent_model::name::LoginNameError| invalid(field, error.to_string()))
}

pub(super) fn email_address(text: &str) -> Result<LoginName> {
    let expected = || invalid("email", "expected an address such as ada@example.org");
    // As HTML's e-mail fields see it, but for letters of other alphabets.
    let is_of_host = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-');
    let is_good = text.trim().split_once('@').is_some_and(|(local, host)| {
        !local.is_empty()
            && !host.is_empty()
            && host.chars().all(is_of_host)
            && host.split('.').all(|label| !label.is_empty())
            && !local.contains(['"', ',', ';', '\\'])
    });
    if is_good {
        text.parse().map_err(|_| expected())
    } else {
        Err(expected())
    }
}

/// The user with this id.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such user. Otherwise if the database fails.
pub async fn user(host: &Host, id: UserId) -> Result<User> {
    host.store
        .user(id)
        .await?
        .ok_or(AdminError::NotFound("user"))
}

/// Deletes a user with its accounts and devices.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct DeleteUser(pub UserId);

impl AdminCommand for DeleteUser {
    type Plan = User;
    type Outcome = ();

    async fn plan(&self, context: &AdminContext) -> Result<Planned<User>> {
        let known = user(&context.host, self.0).await?;
        let authorization = context.caller.authorize_user_access(&known)?;
        context.expected.check(known.version)?;
        must_not_be_last_owner(&context.host, &known).await?;
        let action = ProtectedAction::DeleteUser(known.id);
        Ok(Planned::protected(authorization, known, action))
    }

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<User>,
        by: &AuditContext,
    ) -> Result<Execution<()>> {
        let known = approved.into_plan();
        let host = &context.host;
        let entry = audit::entry(host, Event::UserDeleted, by).about(known.id);
        match host
            .store
            .delete_user(known.id, known.version, vec![entry], host.now())
            .await?
        {
            UserUpdateOutcome::Done => {}
            UserUpdateOutcome::LastOwner => return Err(LAST_OWNER),
            UserUpdateOutcome::Stale => return Ok(Execution::Overtaken),
        }
        host.wakeups.send(Wakeup::LoggedOut);
        tracing::info!(user = %known.id, "user deleted");
        Ok(Execution::Done(()))
    }
}

/// Erases the personal data of a terminated user, and what belonged to them. The user stays, under an erased name, so that
/// its `did` and `sub` are never another's; so does the audit log, without what is personal in it.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct EraseUser(pub UserId);

impl AdminCommand for EraseUser {
    type Plan = (User, LoginName);
    type Outcome = User;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<(User, LoginName)>> {
        let id = self.0;
        let known = user(&context.host, id).await?;
        let authorization = context.caller.authorize_user_access(&known)?;
        context.expected.check(known.version)?;
        if known.state != LifecycleState::Terminated {
            return Err(AdminError::Conflict(
                "only a terminated user can be erased; set the state to \"terminated\" first",
            ));
        }
        let name = login_name("name", &known.erased_name())?;
        let action = ProtectedAction::EraseUser(id);
        Ok(Planned::protected(authorization, (known, name), action))
    }

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<(User, LoginName)>,
        by: &AuditContext,
    ) -> Result<Execution<User>> {
        let (known, name) = approved.into_plan();
        let host = &context.host;
        let id = known.id;
        let entry = audit::entry(host, Event::UserErased, by).about(id);
        let written = host
            .store
            .erase_user((id, known.version), name, vec![entry], host.now())
            .await?;
        if written == VersionedWrite::Stale {
            return Ok(Execution::Overtaken);
        }
        host.wakeups.send(Wakeup::LoggedOut);
        tracing::info!(user = %id, "user erased");
        Ok(Execution::Done(user(host, id).await?))
    }
}

/// Creates a link by which a person enrols one authenticator.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct EnrolDevice(pub UserId);

/// A link that enrols one authenticator.
#[derive(Clone, Debug)]
pub struct EnrolmentLink {
    /// The link.
    pub link: String,
    /// Until when it is valid.
    pub expires_at: Timestamp,
}

impl AdminCommand for EnrolDevice {
    type Plan = User;
    type Outcome = EnrolmentLink;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<User>> {
        let user = user(&context.host, self.0).await?;
        let authorization = context.caller.authorize_user_access(&user)?;
        if !user.state.is_open() {
            return Err(invalid(
                "state",
                "only an invited or active user can enrol an authenticator",
            ));
        }
        // Nobody could sign in as an invited user yet.
        let action = (!user.is_only_invited()).then_some(ProtectedAction::EnrolDevice(user.id));
        Ok(Planned::new(authorization, user, action))
    }

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<User>,
        by: &AuditContext,
    ) -> Result<Execution<EnrolmentLink>> {
        let user = approved.into_plan();
        let host = &context.host;
        let (enrolment, token) = device::prepare_enrolment(host, user.id);
        let expires_at = enrolment.expires_at;
        let entry = audit::entry(host, Event::EnrolmentLinkCreated, by)
            .about(user.id)
            .with("enrolment", enrolment.id.to_string());
        let inserted = host
            .store
            .insert_enrolment(enrolment, &user, vec![entry], host.now())
            .await;
        let Execution::Done(()) = Execution::of(inserted)? else {
            return Ok(Execution::Overtaken);
        };
        tracing::info!(user = %user.id, "enrolment link made");
        account_notifications::notify(host, user.id, None);
        Ok(Execution::Done(EnrolmentLink {
            link: device::enrolment_link(host, &token),
            expires_at,
        }))
    }
}

/// A person's devices that are not revoked.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such user. Otherwise if the database fails.
pub async fn devices(host: &Host, id: UserId) -> Result<Vec<OwnDevice>> {
    Ok(device::all_of(host, user(host, id).await?.id).await?)
}

/// Revokes a device.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct RevokeDevice(pub DeviceId);

impl AdminCommand for RevokeDevice {
    type Plan = (Device, User);
    type Outcome = ();

    async fn plan(&self, context: &AdminContext) -> Result<Planned<(Device, User)>> {
        let host = &context.host;
        let found = host.store.device(self.0).await?;
        let found = found.ok_or(AdminError::NotFound("device"))?;
        let owner = user(host, found.user_id).await?;
        let authorization = context.caller.authorize_user_access(&owner)?;
        let has_role = owner.console_role.is_some();
        let action = has_role.then_some(ProtectedAction::RevokeDevice(found.id));
        Ok(Planned::new(authorization, (found, owner), action))
    }

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<(Device, User)>,
        by: &AuditContext,
    ) -> Result<Execution<()>> {
        let (device, owner) = approved.into_plan();
        let revoked =
            device::revoke_of(&context.host, &device, &owner, CodesOfDevice::End, by).await;
        match Execution::of(revoked)? {
            Execution::Done(Some(_)) => Ok(Execution::Done(())),
            Execution::Done(None) => Err(AdminError::NotFound("device")),
            Execution::Overtaken => Ok(Execution::Overtaken),
        }
    }
}
