//! What an administrator does: applications, users, accounts, enrolments.

mod applications;
mod approval_addresses;
mod claims_preview;
mod service_providers;

pub use applications::{
    ApplicationChange, AuthenticationChange, application, applications, change_application, create_application,
    create_secret, delete_application, registered,
};
pub use approval_addresses::{approval_addresses, remove_approval_address, set_approval_address};
pub use claims_preview::{Preview, PreviewRequest, Stopped, Told, preview, show as show_told};
pub use service_providers::{
    AcsChange, ServiceProviderChange, SingleLogoutChange, change_service_provider, changed_service_provider,
    create_service_provider, renew_saml_certificate, replace_service_provider, saml_certificates, service_provider,
    use_saml_certificate, withdraw_saml_certificate,
};

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::signals::Signal;
use super::{Broken, Host, device, seconds};
use crate::clock::Timestamp;
use crate::id::{AccountId, DeviceId, Did, TokenId, UserId};
use crate::keys::fresh_ed25519_public_key;
use crate::model::account::Account;
use crate::model::device::Device;
use crate::model::name::{LoginName, display_text};
use crate::model::token::prefix;
use crate::model::user::{ConsoleRole, LifeState, Profile, User};
use crate::secret::Token;
use crate::store::{StoreError, UserSummary};

/// Why an administrator's request was not done. The message says what would do.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// A value does not fit.
    #[error("{field}: {expected}")]
    Invalid {
        /// The field.
        field: &'static str,
        /// What is expected of it.
        expected: String,
    },
    /// There is no such thing.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// It is there already.
    #[error("{0} is taken")]
    Taken(&'static str),
    /// The host broke.
    #[error(transparent)]
    Broken(#[from] Broken),
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Taken(what) => Self::Taken(what),
            error => Self::Broken(error.into()),
        }
    }
}

type Result<T> = std::result::Result<T, Refused>;

fn invalid(field: &'static str, expected: impl Into<String>) -> Refused {
    Refused::Invalid { field, expected: expected.into() }
}

/// A fresh token for the admin API, and until when it is good.
pub async fn issue_admin_token(host: &Host) -> std::result::Result<(Token, Timestamp), Broken> {
    issue_admin_token_for(host, seconds(host.settings.lifetimes.admin_token)).await
}

/// A token for the admin API that is good for so long.
pub async fn issue_admin_token_for(host: &Host, life: Duration) -> std::result::Result<(Token, Timestamp), Broken> {
    let now = host.now();
    let id = TokenId::new(now, &*host.entropy);
    let token = Token::new(prefix::ADMIN, id.as_bytes(), &*host.entropy);
    let until = now + life;
    host.store.insert_admin_token(id, token.digest(), now, until).await?;
    Ok((token, until))
}

/// Whether a text is a token for the admin API that is still good.
pub async fn is_admin_token(host: &Host, text: &str) -> std::result::Result<bool, Broken> {
    let Some(token) = Token::parse(prefix::ADMIN, text) else { return Ok(false) };
    let kept = host.store.open_admin_token(TokenId::from_bytes(token.id()), host.now()).await?;
    Ok(kept.is_some_and(|digest| digest == token.digest()))
}

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

/// Makes a user.
pub async fn create_user(host: &Host, change: UserChange) -> Result<User> {
    let name = change.name.clone().ok_or_else(|| invalid("name", "expected a name"))?;
    let mut user = new_user(host, login_name("name", &name)?)?;
    apply_to_user(&mut user, change)?;
    host.store.insert_user(user.clone()).await?;
    tracing::info!(user = %user.id, "user created");
    Ok(user)
}

/// A user with nothing but a name, not yet kept.
pub fn new_user(host: &Host, name: LoginName) -> Result<User> {
    let now = host.now();
    Ok(User {
        id: UserId::new(now, &*host.entropy),
        did: fresh_did()?,
        subject: URL_SAFE_NO_PAD.encode(host.entropy.bytes::<24>()),
        name,
        email: None,
        profile: Profile::default(),
        console_role: None,
        state: LifeState::Active,
        version: 1,
        created_at: now,
        updated_at: now,
    })
}

/// Changes a user. A terminated user stays so. The sessions of one who is no longer active end.
pub async fn change_user(host: &Host, id: UserId, change: UserChange) -> Result<User> {
    loop {
        let mut user = user(host, id).await?;
        if user.state == LifeState::Terminated && change.state.is_some_and(|state| state != LifeState::Terminated) {
            return Err(invalid("state", "a terminated user cannot be brought back; make a new one"));
        }
        apply_to_user(&mut user, change.clone())?;
        user.updated_at = host.now();
        if host.store.update_user(user.clone()).await? {
            tracing::info!(user = %id, state = ?user.state, "user changed");
            host.signals.send(Signal::LoggedOut);
            return Ok(user);
        }
    }
}

fn apply_to_user(user: &mut User, change: UserChange) -> Result<()> {
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
        user.state = state;
    }
    Ok(())
}

fn merged(profile: &Profile, members: Map<String, Value>) -> Result<Profile> {
    let mut merged = serde_json::to_value(profile).unwrap_or_default();
    if let Some(merged) = merged.as_object_mut() {
        for (name, value) in members {
            if value.is_null() {
                merged.remove(&name)
            } else {
                merged.insert(name, value)
            };
        }
    }
    let profile: Profile =
        serde_path_to_error::deserialize(merged).map_err(|error| invalid("profile", error.to_string()))?;
    match profile.unfit_field() {
        None => Ok(profile),
        Some(field) => {
            Err(invalid("profile", format!("{field}: expected at most 1,024 characters, no control characters")))
        }
    }
}

fn login_name(field: &'static str, text: &str) -> Result<LoginName> {
    text.parse().map_err(|error: crate::model::name::InvalidName| invalid(field, error.to_string()))
}

fn email_address(text: &str) -> Result<LoginName> {
    let has_both_sides = text.split_once('@').is_some_and(|(local, host)| !local.is_empty() && !host.is_empty());
    if !has_both_sides {
        return Err(invalid("email", "expected an address such as ada@example.org"));
    }
    login_name("email", text)
}

/// The user with this id.
pub async fn user(host: &Host, id: UserId) -> Result<User> {
    host.store.user(id).await?.ok_or(Refused::NotFound("user"))
}

/// Up to `limit` users after `after`.
pub async fn users(host: &Host, after: Option<UserId>, limit: u32) -> Result<Vec<UserSummary>> {
    Ok(host.store.users(after, limit).await?)
}

/// Deletes a user with its accounts and devices.
pub async fn delete_user(host: &Host, id: UserId) -> Result<()> {
    if !host.store.delete_user(id, host.now()).await? {
        return Err(Refused::NotFound("user"));
    }
    host.signals.send(Signal::LoggedOut);
    tracing::info!(user = %id, "user deleted");
    Ok(())
}

/// A link by which a person enrols one authenticator, and until when it is good.
pub async fn create_enrolment(host: &Host, id: UserId) -> Result<(String, Timestamp)> {
    let user = user(host, id).await?;
    if user.state != LifeState::Active {
        return Err(invalid("state", "only an active user can enrol an authenticator"));
    }
    let (enrolment, token) = device::prepare_enrolment(host, user.id);
    let until = enrolment.expires_at;
    host.store.insert_enrolment(enrolment, host.now()).await?;
    tracing::info!(user = %id, "enrolment link made");
    Ok((device::enrolment_link(host, &token), until))
}

/// A person's devices that are not revoked.
pub async fn devices(host: &Host, id: UserId) -> Result<Vec<Device>> {
    user(host, id).await?;
    Ok(host.store.devices_of(id).await?)
}

/// Revokes a device.
pub async fn revoke_device(host: &Host, id: DeviceId) -> Result<()> {
    if device::revoke(host, id).await? { Ok(()) } else { Err(Refused::NotFound("device")) }
}

/// What an administrator says of an account. `None` leaves a value as it is.
#[derive(Clone, Debug, Default)]
pub struct AccountChange {
    /// What the application calls the person.
    pub name: Option<String>,
    /// The person's roles there.
    pub roles: Option<Vec<String>>,
    /// Whether the account may be used.
    pub state: Option<LifeState>,
}

/// Gives a person an account in an application.
pub async fn create_account(
    host: &Host,
    user_id: UserId,
    application_id: &Did,
    change: AccountChange,
) -> Result<Account> {
    registered(host, application_id).await?;
    let user = user(host, user_id).await?;
    let mut account = new_account(host, &user, application_id.clone());
    apply_to_account(&mut account, change)?;
    host.store.insert_account(account.clone()).await?;
    tracing::info!(account = %account.id, user = %user_id, application = %application_id, "account created");
    Ok(account)
}

/// An account without roles, named as the user is, not yet kept.
pub fn new_account(host: &Host, user: &User, application: Did) -> Account {
    let now = host.now();
    Account {
        id: AccountId::new(now, &*host.entropy),
        user_id: user.id,
        application_id: application,
        name: user.name.to_string(),
        roles: Vec::new(),
        short_code: short_code(host),
        state: LifeState::Active,
        version: 1,
        created_at: now,
    }
}

/// Ten characters that can't be mistaken for each other.
fn short_code(host: &Host) -> String {
    const ALPHABET: [char; 31] = [
        '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'J', 'K', 'L', 'M', 'N', 'P',
        'Q', 'R', 'S', 'T', 'U', 'V', 'W', 'X', 'Y',
    ];
    let draw = |_| ALPHABET.get(host.entropy.below(31) as usize).copied().unwrap_or('2');
    (0..10).map(draw).collect()
}

/// The account with this id.
pub async fn account(host: &Host, id: AccountId) -> Result<Account> {
    host.store.account(id).await?.ok_or(Refused::NotFound("account"))
}

/// Up to `limit` accounts of an application after `after`.
pub async fn accounts(host: &Host, id: &Did, after: Option<AccountId>, limit: u32) -> Result<Vec<Account>> {
    registered(host, id).await?;
    Ok(host.store.accounts_of(id, after, limit).await?)
}

/// Changes an account. A terminated account stays so. What was granted with one that is no longer active ends.
pub async fn change_account(host: &Host, id: AccountId, change: AccountChange) -> Result<Account> {
    loop {
        let mut account = account(host, id).await?;
        if account.state == LifeState::Terminated && change.state.is_some_and(|state| state != LifeState::Terminated) {
            return Err(invalid("state", "a terminated account cannot be brought back; delete it and make a new one"));
        }
        apply_to_account(&mut account, change.clone())?;
        if host.store.update_account(account.clone(), host.now()).await? {
            tracing::info!(account = %id, state = ?account.state, "account changed");
            host.signals.send(Signal::LoggedOut);
            return Ok(account);
        }
    }
}

fn apply_to_account(account: &mut Account, change: AccountChange) -> Result<()> {
    if let Some(name) = change.name {
        account.name = display_text(&name, 128)
            .ok_or_else(|| invalid("name", "expected 1 to 128 characters, none of them control characters"))?;
    }
    if let Some(roles) = change.roles {
        if roles.len() > 500 || roles.iter().any(|role| display_text(role, 128).as_deref() != Some(role.as_str())) {
            return Err(invalid("roles", "expected at most 500 roles of 1 to 128 characters, no blanks around them"));
        }
        account.roles = roles;
    }
    if let Some(state) = change.state {
        account.state = state;
    }
    Ok(())
}

/// Deletes an account.
pub async fn delete_account(host: &Host, id: AccountId) -> Result<()> {
    if !host.store.delete_account(id, host.now()).await? {
        return Err(Refused::NotFound("account"));
    }
    host.signals.send(Signal::LoggedOut);
    tracing::info!(account = %id, "account deleted");
    Ok(())
}

/// A fresh decentralized identifier.
pub(super) fn fresh_did() -> Result<Did> {
    let key = fresh_ed25519_public_key().map_err(Broken::from)?;
    Ok(Did::from_ed25519(&key))
}
