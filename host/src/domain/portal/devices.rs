//! A person's own devices. A new one is not made here: a browser's session must never be worth a key.

use std::sync::Arc;

use crate::clock::Timestamp;
use crate::domain::session::SignedIn;
use crate::domain::{Broken, Host, audit, seconds};
use crate::id::DeviceId;
use crate::model::audit::{Actor, By, Event, Origin};
use crate::model::device::Device;
use crate::model::name::display_text;
use crate::model::recovery::CodesOfDevice;
use crate::model::saml::SessionEnd;
use crate::model::user::User;

/// How long ago a sign-in may be for what only a sign-in of a moment ago allows, in seconds.
const RECENT: u32 = 10 * 60;
/// How long a device's name may be, in characters.
const LONGEST_NAME: usize = 80;

/// A device of a person's that is not revoked.
#[derive(Clone, Debug)]
pub struct OwnDevice {
    /// The device.
    pub device: Device,
    /// When it last decided something, if it ever did since that is noted.
    pub used_at: Option<Timestamp>,
    /// Whether it approves only after face, finger or PIN.
    pub has_passkey: bool,
}

/// A person's devices, in the order in which they were enrolled.
pub async fn devices(host: &Host, user: &User) -> Result<Vec<OwnDevice>, Broken> {
    let uses = host.store.device_uses(user.id).await?;
    let passkeys = host.store.devices_with_passkey(user.id).await?;
    let devices = host.store.devices_of(user.id).await?.into_iter();
    Ok(devices
        .map(|device| OwnDevice {
            used_at: uses.get(&device.id).copied(),
            has_passkey: passkeys.contains(&device.id),
            device,
        })
        .collect())
}

/// A device of this person's, and whether it is their last.
pub async fn device(host: &Host, user: &User, id: DeviceId) -> Result<Option<(Device, bool)>, Broken> {
    let devices = host.store.devices_of(user.id).await?;
    let last = devices.len() == 1;
    Ok(devices.into_iter().find(|device| device.id == id).map(|device| (device, last)))
}

/// Whether the person signed in a moment ago.
pub fn is_recent(host: &Host, signed_in: &SignedIn) -> bool {
    host.now() <= signed_in.session.authentication.at + seconds(RECENT)
}

/// When the recovery codes were made that a device of this person's made and that are good, if there are any.
pub async fn codes_of(host: &Host, device: &Device) -> Result<Option<Timestamp>, Broken> {
    Ok(host.store.recovery_codes_made_by(device.user_id, device.id).await?)
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

/// Gives a device another name.
pub async fn rename(host: &Host, user: &User, id: DeviceId, name: &str, from: Origin) -> Result<Renaming, Broken> {
    let Some((device, _)) = device(host, user, id).await? else { return Ok(Renaming::Unknown) };
    let Some(name) = display_text(name, LONGEST_NAME) else { return Ok(Renaming::BadName) };
    let entry = audit::entry(host, Event::DeviceRenamed, &By::new(Actor::Person(user.id), from))
        .about(user.id)
        .with("device", id.to_string())
        .personal("name", device.name.as_str())
        .personal("new_name", name.as_str());
    let renamed = host.store.rename_device_of(user.id, id, name, entry).await?;
    Ok(if renamed { Renaming::Done } else { Renaming::Unknown })
}

/// What came of revoking a device.
#[derive(Clone, Debug)]
pub enum Revocation {
    /// It is revoked, and the sessions that it approved have ended.
    Done {
        /// What is left to do where the session that asks was one of them.
        here: Option<SessionEnd>,
        /// Whether service providers took part in the others, which only their own browsers could have told.
        untold: bool,
    },
    /// The sign-in was too long ago: who only found an open browser takes nobody's phone away.
    NotRecent,
    /// The person has no such device.
    Unknown,
}

/// Revokes a device, and signs out the browsers that it signed in.
pub async fn revoke(
    host: &Arc<Host>,
    signed_in: &SignedIn,
    id: DeviceId,
    codes: CodesOfDevice,
    from: Origin,
) -> Result<Revocation, Broken> {
    if !is_recent(host, signed_in) {
        return Ok(Revocation::NotRecent);
    }
    let user = &signed_in.user;
    let Some((device, _)) = device(host, user, id).await? else { return Ok(Revocation::Unknown) };
    let by = By::new(Actor::Person(user.id), from);
    let ended = crate::domain::device::revoke(host, &device, codes, &by).await?;
    let Some(ended) = ended else { return Ok(Revocation::Unknown) };
    let SessionEnd { participants, holders } = ended;
    let own = &signed_in.session.sid;
    let (here, elsewhere): (Vec<_>, Vec<_>) = participants.into_iter().partition(|one| one.sid == *own);
    let is_own = holders.iter().any(|holder| holder.sid == *own);
    let here = is_own.then(|| SessionEnd { participants: here, holders: Vec::new() });
    Ok(Revocation::Done { here, untold: !elsewhere.is_empty() })
}
