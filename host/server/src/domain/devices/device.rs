//! Devices: enrolling one, knowing its calls, where it can be woken.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::devices::account_notifications;
use crate::domain::devices::push::seal;
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::{Host, InternalError, audit, seconds};
use assent_model::approval::Approval;
use assent_model::audit::{Actor, AuditContext, Entry, Event, Origin};
use assent_model::clock::Timestamp;
use assent_model::device::{Device, DeviceKey, Enrolment, LinkMaker, PushSubscription};
use assent_model::id::{ApprovalId, AuditId, DeviceId, EnrolmentId, UserId};
use assent_model::name::display_text;
use assent_model::recovery::CodesOfDevice;
use assent_model::saml::SessionEnd;
use assent_model::secret::Token;
use assent_model::statement::{CallStatement, EnrolmentStatement};
use assent_model::token::prefix;
use assent_model::user::{LifecycleState, User};
use assent_store::{StoreError, UserGuard};

/// How many devices a person may have: each is told of each request and of news.
const MOST_DEVICES: usize = 20;
/// How long a device's name may be, in characters.
const LONGEST_NAME: usize = 80;
/// How far a device's clock may be from ours, in seconds.
const CLOCK_TOLERANCE: i64 = 60;

/// A fresh right to enrol an authenticator for a person, and the token of its link.
pub fn prepare_enrolment(host: &Host, user: UserId) -> (Enrolment, Token) {
    let now = host.now();
    let id = EnrolmentId::new(now, &*host.entropy);
    let token = Token::new(prefix::ENROLMENT, id.as_bytes(), &*host.entropy);
    let expires_at = now + host.settings.lifetimes.enrolment.get();
    (
        Enrolment {
            id,
            user_id: user,
            digest: token.digest(),
            expires_at,
            made_by: None,
        },
        token,
    )
}

/// The link that enrols an authenticator. The token is in the fragment, which browsers do not send and nobody logs.
pub fn enrolment_link(host: &Host, token: &Token) -> String {
    format!("{}{}", host.settings.origin(), enrolment_path(token))
}

/// The same link, for a page of this host.
pub fn enrolment_path(token: &Token) -> String {
    format!("/authenticator#enrol={}", token.expose())
}

/// How long a link is good at most that a device makes: whoever wants it is at hand.
const LINK_OF_DEVICE: Duration = Duration::from_secs(15 * 60);

/// A link by which the owner of a device enrols another, and until when it is good. `None` if they may not sign in.
///
/// # Errors
/// If the database or the cryptographic library fails.
pub async fn link_another(
    host: &Arc<Host>,
    device: &Device,
    by: &AuditContext,
) -> Result<Option<(String, Timestamp)>, InternalError> {
    let (mut enrolment, token) = prepare_enrolment(host, device.user_id);
    enrolment.made_by = Some(LinkMaker::Device(device.id));
    enrolment.expires_at = enrolment.expires_at.min(host.now() + LINK_OF_DEVICE);
    let until = enrolment.expires_at;
    let entry = audit::entry(host, Event::EnrolmentLinkCreated, by).about(device.user_id);
    let entry = entry.with("enrolment", enrolment.id.to_string());
    if !host
        .store
        .insert_enrolment_by_device(enrolment, device.id, entry, host.now())
        .await?
    {
        return Ok(None);
    }
    tracing::info!(user = %device.user_id, device = %device.id, "enrolment link made by a device");
    account_notifications::notify(host, device.user_id, Some(device.id));
    Ok(Some((enrolment_link(host, &token), until)))
}

/// The right that a link's token gives, with the person it is for.
///
/// # Errors
/// If the database fails.
pub async fn find_enrolment(
    host: &Host,
    token: &str,
) -> Result<Option<(Enrolment, User)>, InternalError> {
    let Some(token) = Token::parse(prefix::ENROLMENT, token) else {
        return Ok(None);
    };
    let found = host
        .store
        .open_enrolment(EnrolmentId::from_bytes(token.id()), host.now())
        .await?;
    let Some(enrolment) = found.filter(|enrolment| enrolment.digest == token.digest()) else {
        return Ok(None);
    };
    let user = host
        .store
        .user(enrolment.user_id)
        .await?
        .filter(|user| user.state.is_open());
    Ok(user.map(|user| (enrolment, user)))
}

/// A request to enrol, as it came.
#[derive(Clone, Debug)]
pub struct EnrolmentRequest {
    /// The token of the link.
    pub token: String,
    /// What the person calls the device.
    pub device_name: String,
    /// The device's public key.
    pub key: DeviceKey,
    /// The signature of the [`EnrolmentStatement`].
    pub signature: Vec<u8>,
}

/// What came of a request to enrol.
#[derive(Debug)]
pub enum Enrolled {
    /// It is enrolled.
    Done {
        /// The device, whose name may differ from the one asked for: another device of the person's may have that.
        device: Box<Device>,
        /// Its owner.
        user: Box<User>,
        /// Whether the link came of a recovery code, so that a device was lost.
        recovered: bool,
    },
    /// The link was used, is over, or never was.
    NoSuchLink,
    /// The signature does not show that the device has the key.
    BadProof,
    /// The name is blank, too long or has control characters.
    BadName,
    /// The key is enrolled already.
    KeyTaken,
    /// The person has as many devices as there may be.
    TooMany,
}

/// Enrols a device: the link is used up and the device added, both or neither. Who was invited is active from then on.
///
/// # Errors
/// If the database or the cryptographic library fails.
pub async fn enrol(
    host: &Arc<Host>,
    request: &EnrolmentRequest,
    from: Origin,
) -> Result<Enrolled, InternalError> {
    let Some((enrolment, user)) = find_enrolment(host, &request.token).await? else {
        return Ok(Enrolled::NoSuchLink);
    };
    let Some(name) = display_text(&request.device_name, LONGEST_NAME) else {
        return Ok(Enrolled::BadName);
    };
    let thumbprint = request.key.thumbprint();
    let statement = EnrolmentStatement {
        issuer: &host.issuer,
        token: &request.token,
        device_name: &request.device_name,
        key_thumbprint: &thumbprint,
    };
    if !request.key.verifies(&statement.text(), &request.signature) {
        return Ok(Enrolled::BadProof);
    }
    let others = host.store.devices_of(user.id).await?;
    if others.len() >= MOST_DEVICES {
        return Ok(Enrolled::TooMany);
    }
    let now = host.now();
    let device = Device {
        id: DeviceId::new(now, &*host.entropy),
        user_id: user.id,
        name: own_name(name, &others),
        key: request.key.clone(),
        push: None,
        created_at: now,
        revoked_at: None,
    };
    let by = AuditContext::new(Actor::Device(device.id), from);
    let entry = |event| audit::entry(host, event, &by).about(user.id);
    let enrolled = entry(Event::DeviceEnrolled)
        .with("device", device.id.to_string())
        .with("enrolment", enrolment.id.to_string())
        .personal("name", device.name.as_str());
    let activated = audit::of_state(
        entry(Event::UserLifecycleChanged),
        LifecycleState::Invited,
        LifecycleState::Active,
    );
    match host
        .store
        .enrol_device(
            enrolment.id,
            device.clone(),
            vec![enrolled],
            Some(activated),
        )
        .await
    {
        Ok(true) => {
            tracing::info!(user = %user.id, device = %device.id, "authenticator enrolled");
            account_notifications::notify(host, user.id, Some(device.id));
            let recovered = enrolment.made_by == Some(LinkMaker::Code);
            Ok(Enrolled::Done {
                device: Box::new(device),
                user: Box::new(user),
                recovered,
            })
        }
        Ok(false) => Ok(Enrolled::NoSuchLink),
        Err(StoreError::Taken(_)) => Ok(Enrolled::KeyTaken),
        Err(error) => Err(error.into()),
    }
}

/// The name with a number behind it where another device has it already: who removes a lost one must be able to tell them apart.
fn own_name(name: String, others: &[Device]) -> String {
    let taken = |name: &str| others.iter().any(|other| other.name == name);
    let numbered = |number: usize| {
        let number = format!(" {number}");
        let kept: String = name.chars().take(LONGEST_NAME - number.len()).collect();
        kept + &number
    };
    if taken(&name) {
        (2..)
            .map(numbered)
            .find(|name| !taken(name))
            .unwrap_or(name)
    } else {
        name
    }
}

/// What came of naming a device anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renaming {
    /// It has the name.
    Done,
    /// The name is blank, too long or has control characters.
    BadName,
    /// The person has no such device.
    Unknown,
}

/// Gives a person's device another name.
///
/// # Errors
/// If the database fails.
pub async fn rename(
    host: &Host,
    owner: UserId,
    id: DeviceId,
    name: &str,
    by: &AuditContext,
) -> Result<Renaming, InternalError> {
    let Some(device) = of_owner(host, owner, id).await? else {
        return Ok(Renaming::Unknown);
    };
    let Some(name) = display_text(name, LONGEST_NAME) else {
        return Ok(Renaming::BadName);
    };
    let entry = audit::entry(host, Event::DeviceRenamed, by)
        .about(owner)
        .with("device", id.to_string())
        .personal("name", device.name.as_str())
        .personal("new_name", name.as_str());
    let renamed = host.store.rename_device_of(owner, id, name, entry).await?;
    Ok(if renamed {
        Renaming::Done
    } else {
        Renaming::Unknown
    })
}

/// A call of the authenticator's interface, as it came.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The device that it says it is of.
    pub device: DeviceId,
    /// The device's idea of the time, in seconds since the epoch.
    pub time: i64,
    /// The signature of the [`CallStatement`].
    pub signature: &'a [u8],
    /// The HTTP method, in capitals.
    pub method: &'a str,
    /// The path, without the query.
    pub path: &'a str,
    /// The body.
    pub body: &'a [u8],
}

/// Whose call it is.
#[derive(Debug)]
pub enum Caller {
    /// This device's.
    Device(Box<Device>),
    /// Nobody's that we know: no such device, a revoked one, or a signature of another key.
    Unknown,
    /// A device's whose clock is too far off, which is told ours.
    WrongClock(Timestamp),
}

/// Finds out which device a call is of.
///
/// # Errors
/// If the database fails.
pub async fn caller(host: &Host, call: Call<'_>) -> Result<Caller, InternalError> {
    let found = host
        .store
        .device(call.device)
        .await?
        .filter(|device| device.revoked_at.is_none());
    let Some(device) = found else {
        return Ok(Caller::Unknown);
    };
    let statement = CallStatement {
        issuer: &host.issuer,
        device: call.device,
        time: call.time,
        method: call.method,
        path: call.path,
        body: call.body,
    };
    if !device.key.verifies(&statement.text(), call.signature) {
        return Ok(Caller::Unknown);
    }
    let now = host.now();
    if (now.seconds().saturating_sub(call.time)).saturating_abs() > CLOCK_TOLERANCE {
        return Ok(Caller::WrongClock(now));
    }
    Ok(Caller::Device(Box::new(device)))
}

/// What waits for a device's owner.
#[derive(Debug)]
pub struct Waiting {
    /// The owner.
    pub user: User,
    /// The pending requests, the oldest first, each with the digest of the logo of its application, where that has one.
    pub pending: Vec<(Approval, Option<String>)>,
    /// What they have not seen yet, the oldest first.
    pub news: Vec<Entry>,
    /// Until when none reaches their phones, if they denied one a moment ago.
    pub cooldown_until: Option<Timestamp>,
}

/// The pending requests of a device's owner, and the news. While the pending requests are those that the device shows,
/// `seen`, and there are no news after `known`, it waits up to `patience` seconds. `None` if the device was revoked meanwhile.
///
/// # Errors
/// If the database fails.
pub async fn request(
    host: &Host,
    device: &Device,
    patience: u32,
    (seen, known): (&HashSet<ApprovalId>, Option<AuditId>),
) -> Result<Option<Waiting>, InternalError> {
    let mut listener = host.wakeups.listen();
    // Counted by the machine's clock, not the host's: a test that stops the one must not stop the other.
    let deadline = tokio::time::Instant::now() + seconds(patience);
    loop {
        let user = host.store.user(device.user_id).await?;
        let user = user.ok_or(StoreError::Internal("a device has no user"))?;
        let pending = host
            .store
            .pending_approvals(device.user_id, host.now())
            .await?;
        let changed = pending.len() != seen.len()
            || pending.iter().any(|approval| !seen.contains(&approval.id));
        let news = account_notifications::unread_notifications(host, device).await?;
        let told = news
            .last()
            .is_some_and(|last| known.is_none_or(|known| last.id > known));
        let over = user.state != LifecycleState::Active || tokio::time::Instant::now() >= deadline;
        if changed || told || over {
            if host
                .store
                .device(device.id)
                .await?
                .is_none_or(|device| device.revoked_at.is_some())
            {
                return Ok(None);
            }
            let cooldown_until = host
                .store
                .cooldown_until(device.user_id, host.now())
                .await?;
            let pending = with_logos(host, pending).await?;
            return Ok(Some(Waiting {
                user,
                pending,
                news,
                cooldown_until,
            }));
        }
        listener
            .next_of([Wakeup::Asked(device.user_id), Wakeup::News(device.user_id)])
            .await;
    }
}

async fn with_logos(
    host: &Host,
    pending: Vec<Approval>,
) -> Result<Vec<(Approval, Option<String>)>, InternalError> {
    let mut shown = Vec::with_capacity(pending.len());
    for approval in pending {
        let logo = match &approval.shown.application {
            Some(application) => host.store.logo_digest(application).await?,
            None => None,
        };
        shown.push((approval, logo));
    }
    Ok(shown)
}

/// Says where a device can be woken, or that it can't. `false` if the subscription is none that can be used.
///
/// # Errors
/// If the database fails.
pub async fn set_push(
    host: &Host,
    device: &Device,
    push: Option<PushSubscription>,
) -> Result<bool, InternalError> {
    if let Some(push) = &push {
        let fits = push.endpoint.len() <= 2000
            && url::Url::parse(&push.endpoint).is_ok_and(|url| url.has_host());
        if !fits || seal(push, b"{}").is_none() {
            return Ok(false);
        }
    }
    host.store.set_push(device.id, push).await?;
    Ok(true)
}

/// A device of a person's that is not revoked.
#[derive(Clone, Debug)]
pub struct OwnDevice {
    /// The device.
    pub device: Device,
    /// When it last decided something, if it ever did.
    pub used_at: Option<Timestamp>,
    /// Whether it approves only after face, finger or PIN.
    pub has_passkey: bool,
}

/// A person's devices, the one that was enrolled last first.
///
/// # Errors
/// If the database fails.
pub async fn all_of(host: &Host, user: UserId) -> Result<Vec<OwnDevice>, InternalError> {
    let uses = host.store.device_uses(user).await?;
    let passkeys = host.store.devices_with_passkey(user).await?;
    let devices = host.store.devices_of(user).await?.into_iter().rev();
    Ok(devices
        .map(|device| OwnDevice {
            used_at: uses.get(&device.id).copied(),
            has_passkey: passkeys.contains(&device.id),
            device,
        })
        .collect())
}

/// The device with this id, if it is this person's and not revoked.
///
/// # Errors
/// If the database fails.
pub async fn of_owner(
    host: &Host,
    user: UserId,
    id: DeviceId,
) -> Result<Option<Device>, InternalError> {
    let found = host.store.device(id).await?;
    Ok(found.filter(|device| device.user_id == user && device.revoked_at.is_none()))
}

/// Revokes a device, and signs out the browsers that it signed in. `None` if it was revoked before.
///
/// # Errors
/// If the database or the cryptographic library fails.
pub async fn revoke(
    host: &Arc<Host>,
    device: &Device,
    codes: CodesOfDevice,
    by: &AuditContext,
) -> Result<Option<SessionEnd>, InternalError> {
    Ok(revoke_of(host, device, device.user_id, codes, by).await?)
}

/// The same, of an owner who is as they were seen.
///
/// # Errors
/// [`StoreError::Stale`] if they are not.
pub async fn revoke_of(
    host: &Arc<Host>,
    device: &Device,
    owner: impl Into<UserGuard>,
    codes: CodesOfDevice,
    by: &AuditContext,
) -> Result<Option<SessionEnd>, StoreError> {
    let entry = audit::entry(host, Event::DeviceRevoked, by)
        .about(device.user_id)
        .with("device", device.id.to_string())
        .personal("name", device.name.as_str());
    let ended = host
        .store
        .revoke_device_of(owner, device.id, codes, entry, host.now())
        .await?;
    if ended.is_some() {
        tracing::info!(device = %device.id, "authenticator revoked");
        host.wakeups.send(Wakeup::LoggedOut);
        account_notifications::notify(host, device.user_id, Some(device.id));
    }
    Ok(ended)
}
