//! A user's own devices. The portal cannot enrol a device, because a browser session must never be sufficient to obtain
//! a key.

use std::time::Duration;

use std::sync::Arc;

use crate::domain::sessions::session::BrowserSession;
use crate::domain::{InternalError, Services};
use assent_model::audit::{Actor, AuditContext, Origin};
use assent_model::clock::Timestamp;
use assent_model::device::Device;
use assent_model::id::DeviceId;
use assent_model::recovery::CodesOfDevice;
use assent_model::saml::SessionEnd;
use assent_model::user::User;

/// The largest age of a sign-in for actions that require a recent sign-in, in seconds.
const RECENT: u32 = 10 * 60;

/// Returns a device of this user, and whether it is the last one.
pub async fn device(
    services: &Services,
    user: &User,
    id: DeviceId,
) -> Result<Option<(Device, bool)>, InternalError> {
    let devices = services.store.devices_of(user.id).await?;
    let last = devices.len() == 1;
    Ok(devices
        .into_iter()
        .find(|device| device.id == id)
        .map(|device| (device, last)))
}

/// Returns whether the sign-in is recent.
pub fn is_recent(services: &Services, signed_in: &BrowserSession) -> bool {
    services.now() <= signed_in.session.authentication.at + Duration::from_secs(RECENT.into())
}

/// Returns the time of creation of this user's valid recovery codes, if there are any. They include only codes that a
/// device of the user created.
pub async fn codes_of(
    services: &Services,
    device: &Device,
) -> Result<Option<Timestamp>, InternalError> {
    Ok(services
        .store
        .recovery_codes_made_by(device.user_id, device.id)
        .await?)
}

/// The outcome of the revocation of a device.
#[derive(Clone, Debug)]
pub enum Revocation {
    /// The device is revoked, and the sessions that it approved have ended.
    Done {
        /// The remaining steps of the sign-out, if the current session was one of them.
        here: Option<SessionEnd>,
        /// Whether service providers took part in the other sessions. Only those browsers could have notified the
        /// service providers.
        not_notified: bool,
    },
    /// The sign-in is not recent. An attacker with an unattended browser must not be able to revoke a device.
    NotRecent,
    /// The user has no such device.
    Unknown,
}

/// Revokes a device, and signs out the browsers that it signed in.
pub async fn revoke(
    services: &Arc<Services>,
    signed_in: &BrowserSession,
    id: DeviceId,
    codes: CodesOfDevice,
    from: Origin,
) -> Result<Revocation, InternalError> {
    if !is_recent(services, signed_in) {
        return Ok(Revocation::NotRecent);
    }
    let user = &signed_in.user;
    let Some((device, _)) = device(services, user, id).await? else {
        return Ok(Revocation::Unknown);
    };
    let by = AuditContext::new(Actor::User(user.id), from);
    let ended = crate::domain::devices::device::revoke(services, &device, codes, &by).await?;
    let Some(ended) = ended else {
        return Ok(Revocation::Unknown);
    };
    let own = &signed_in.session.sid;
    let is_own = ended.browsers.iter().any(|holder| holder.sid == *own);
    let (here, elsewhere) = ended.split(own);
    Ok(Revocation::Done {
        here: is_own.then_some(here),
        not_notified: elsewhere.only_browser_notifies(),
    })
}
