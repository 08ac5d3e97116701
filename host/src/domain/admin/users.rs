//! Users, and what they enrol.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

use super::{Caller, Guard, Refused, Result, fresh_did, invalid};
use crate::clock::Timestamp;
use crate::domain::device::OwnDevice;
use crate::domain::signals::Signal;
use crate::domain::{Host, audit, device, news};
use crate::id::{DeviceId, Did, UserId};
use crate::model::administration::Permission;
use crate::model::audit::{By, Entry, Event};
use crate::model::name::LoginName;
use crate::model::recovery::CodesOfDevice;
use crate::model::user::{ConsoleRole, LifeState, Profile, User};
use crate::store::{StoreError, UserKept};

/// What an administrator says of a user. `None` leaves a value as it is.
#[derive(Clone, Debug, Default)]
pub struct UserChange {
    /// What the person types at sign-in.
    pub name: Option<String>,
    /// The e-mail address; an empty text takes it away.
    pub email: Option<String>,
    /// What applications may be told: each member replaces the profile's, and null takes it away (RFC 7396).
    pub profile: Option<Map<String, Value>>,
    /// The role in the console; `Some(None)` takes it away.
    pub console_role: Option<Option<ConsoleRole>>,
    /// Whether the person may sign in.
    pub state: Option<LifeState>,
}

/// Why somebody may not say that an address or a number is a person's.
pub(super) const NO_VOUCHING: &str = "you may not vouch for an address or a number";

impl UserChange {
    /// The first member that this caller may not say of a user, who is known or new, and why.
    pub fn beyond(&self, caller: &Caller, known: bool) -> Option<(&'static str, &'static str)> {
        let vouches = |profile: &Map<String, Value>| profile.keys().any(|member| member.ends_with("_verified"));
        let role = "only an owner may give or take a role";
        // A SAML application may know the person by it.
        let email = "you may not change an address that applications may know a person by";
        let name = "you may not change a name that applications may know a person by";
        let state = "you may suspend a user, and not close it for good";
        let members = [
            ("console_role", self.console_role.is_some(), Permission::RolesWrite, role),
            ("profile", self.profile.as_ref().is_some_and(vouches), Permission::UsersManage, NO_VOUCHING),
            ("email", known && self.email.is_some(), Permission::UsersManage, email),
            ("name", known && self.name.is_some(), Permission::UsersManage, name),
            ("state", self.state == Some(LifeState::Terminated), Permission::UsersManage, state),
        ];
        let mut members = members.into_iter();
        let beyond = members.find(|(_, is_said, permission, _)| *is_said && !caller.may(*permission));
        beyond.map(|(member, .., why)| (member, why))
    }
}

/// Nobody could undo that, but for whoever holds the machine.
const LAST_OWNER: Refused = Refused::Conflict(
    "the user is the last owner that can sign in; give another active user the role of an owner first",
);

/// Makes a user. Without another state the user is invited, until there is something to approve with.
pub async fn create_user(host: &Host, change: UserChange, by: &By) -> Result<User> {
    let user = made(host, change)?;
    // Who takes it between this and the next is refused there.
    must_be_free(host, &user).await?;
    host.store.insert_user(user.clone(), vec![creation(host, &user, by)]).await?;
    tracing::info!(user = %user.id, "user created");
    Ok(user)
}

/// Refuses what a new user or a change can't be made of, and does nothing: for whoever asks somebody before it is done. `id` is whose
/// change it is, with what has to be so of them.
pub async fn foresee_user(host: &Host, known: Option<(UserId, Guard<'_, User>)>, change: UserChange) -> Result<()> {
    let user = match known {
        None => made(host, change)?,
        Some((id, guard)) => {
            let mut user = user(host, id).await?;
            guard(&user)?;
            apply_to_user(&mut user, change)?;
            user
        }
    };
    must_be_free(host, &user).await
}

/// Refuses what somebody else signs in with, and says which of the two it is.
async fn must_be_free(host: &Host, user: &User) -> Result<()> {
    for (field, name) in std::iter::once(("name", &user.name)).chain(user.email.as_ref().map(|email| ("email", email)))
    {
        if host.store.user_by_login(name).await?.is_some_and(|other| other.id != user.id) {
            return Err(Refused::TakenAt(field, "another user signs in with it; choose another"));
        }
    }
    Ok(())
}

/// A new user, not yet kept.
fn made(host: &Host, change: UserChange) -> Result<User> {
    let name = change.name.clone().ok_or_else(|| invalid("name", "expected a name"))?;
    let mut user = new_user(host, login_name("name", &name)?)?;
    apply_to_user(&mut user, change)?;
    if user.state == LifeState::Terminated {
        return Err(invalid("state", "a new user is invited, active or suspended"));
    }
    Ok(user)
}

/// What the audit log is told of a new user.
pub(super) fn creation(host: &Host, user: &User, by: &By) -> Entry {
    let entry = audit::entry(host, Event::UserCreated, by).about(user.id).with("state", user.state.as_str());
    let entry = match user.console_role {
        Some(role) => entry.with("console_role", role.as_str()),
        None => entry,
    };
    entry.personal("after", Value::Object(shown(user)))
}

/// A user with nothing but a name, not yet kept.
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
        state: LifeState::Invited,
        version: 1,
        created_at: now,
        updated_at: now,
    }
}

/// Changes a user. Where the state changes, what was begun in the person's name is over.
pub async fn change_user(host: &Host, id: UserId, change: UserChange, by: &By, guard: Guard<'_, User>) -> Result<User> {
    loop {
        let before = user(host, id).await?;
        guard(&before)?;
        let mut user = before.clone();
        apply_to_user(&mut user, change.clone())?;
        user.updated_at = host.now();
        let entries = differences(host, &before, &user, by);
        match host.store.update_user(user.clone(), before.state, entries).await? {
            UserKept::Done => {}
            UserKept::LastOwner => return Err(LAST_OWNER),
            UserKept::Stale => continue,
        }
        tracing::info!(user = %id, state = ?user.state, "user changed");
        host.signals.send(Signal::LoggedOut);
        user.version += 1;
        return Ok(user);
    }
}

/// What the audit log is told of a change: what was there before and what is there now, of what is not as it was.
pub(super) fn differences(host: &Host, before: &User, after: &User, by: &By) -> Vec<Entry> {
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
        entries.push(changed.personal("before", Value::Object(was)).personal("after", Value::Object(is)));
    }
    if before.state != after.state {
        entries.push(audit::of_state(entry(Event::UserStateChanged), before.state, after.state));
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
    if user.state == LifeState::Terminated
        && (change.name.is_some()
            || change.email.is_some()
            || change.profile.is_some()
            || change.console_role.is_some())
    {
        return Err(Refused::Conflict("a terminated user can't be changed any more; make a new one"));
    }
    if let Some(name) = change.name {
        user.name = login_name("name", &name)?;
    }
    let before = (user.email.clone(), user.profile.phone_number.clone());
    if let Some(email) = change.email {
        user.email = if email.is_empty() { None } else { Some(email_address(&email)?) };
    }
    let vouched = |name| change.profile.as_ref().is_some_and(|members| members.contains_key(name));
    let (email_vouched, phone_vouched) = (vouched("email_verified"), vouched("phone_number_verified"));
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
        user.state = user.state.to(state).map_err(|error| invalid("state", error.to_string()))?;
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
    let profile: Profile =
        serde_path_to_error::deserialize(merged).map_err(|error| invalid("profile", error.to_string()))?;
    match profile.unfit_field() {
        None => Ok(profile),
        Some((field, expected)) => Err(invalid("profile", format!("{field}: {expected}"))),
    }
}

fn login_name(field: &'static str, text: &str) -> Result<LoginName> {
    text.parse().map_err(|error: crate::model::name::InvalidName| invalid(field, error.to_string()))
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
    if is_good { text.parse().map_err(|_| expected()) } else { Err(expected()) }
}

/// The user with this id.
pub async fn user(host: &Host, id: UserId) -> Result<User> {
    host.store.user(id).await?.ok_or(Refused::NotFound("user"))
}

/// Deletes a user with its accounts and devices.
pub async fn delete_user(host: &Host, id: UserId, by: &By, guard: Guard<'_, User>) -> Result<()> {
    loop {
        let known = user(host, id).await?;
        guard(&known)?;
        let entry = audit::entry(host, Event::UserDeleted, by).about(id);
        match host.store.delete_user(id, known.version, vec![entry], host.now()).await? {
            UserKept::Done => break,
            UserKept::LastOwner => return Err(LAST_OWNER),
            UserKept::Stale => {}
        }
    }
    host.signals.send(Signal::LoggedOut);
    tracing::info!(user = %id, "user deleted");
    Ok(())
}

/// Erases what says who a terminated user was, and what belonged to them. The user stays, under an erased name, so that
/// its `did` and `sub` are never another's; so does the audit log, without what is personal in it.
pub async fn erase_user(host: &Host, id: UserId, by: &By, guard: Guard<'_, User>) -> Result<User> {
    let known = user(host, id).await?;
    guard(&known)?;
    if known.state != LifeState::Terminated {
        return Err(Refused::Conflict("only a terminated user can be erased; set the state to \"terminated\" first"));
    }
    let name = login_name("name", &format!("erased-{id}"))?;
    let entry = audit::entry(host, Event::UserErased, by).about(id);
    if !host.store.erase_user(id, name, vec![entry], host.now()).await? {
        return Err(Refused::NotFound("user"));
    }
    host.signals.send(Signal::LoggedOut);
    tracing::info!(user = %id, "user erased");
    user(host, id).await
}

/// A link by which a person enrols one authenticator, and until when it is good.
pub async fn create_enrolment(
    host: &Arc<Host>,
    id: UserId,
    by: &By,
    guard: Guard<'_, User>,
) -> Result<(String, Timestamp)> {
    let (enrolment, token) = device::prepare_enrolment(host, id);
    let until = enrolment.expires_at;
    let entry = audit::entry(host, Event::EnrolmentLinkMade, by).about(id).with("enrolment", enrolment.id.to_string());
    loop {
        let user = user(host, id).await?;
        guard(&user)?;
        if !user.state.is_open() {
            return Err(invalid("state", "only an invited or active user can enrol an authenticator"));
        }
        match host.store.insert_enrolment(enrolment.clone(), &user, vec![entry.clone()], host.now()).await {
            Err(StoreError::Stale) => {}
            kept => break kept?,
        }
    }
    tracing::info!(user = %id, "enrolment link made");
    news::tell(host, id, None);
    Ok((device::enrolment_link(host, &token), until))
}

/// A person's devices that are not revoked.
pub async fn devices(host: &Host, id: UserId) -> Result<Vec<OwnDevice>> {
    Ok(device::all_of(host, user(host, id).await?.id).await?)
}

/// Revokes a device.
pub async fn revoke_device(host: &Arc<Host>, id: DeviceId, by: &By, guard: Guard<'_, User>) -> Result<()> {
    let found = host.store.device(id).await?.ok_or(Refused::NotFound("device"))?;
    loop {
        let owner = user(host, found.user_id).await?;
        guard(&owner)?;
        match device::revoke_of(host, &found, &owner, CodesOfDevice::End, by).await {
            Err(StoreError::Stale) => {}
            ended => return ended?.map(drop).ok_or(Refused::NotFound("device")),
        }
    }
}
