//! The user's devices. Only the authenticator adds a new one.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;

use super::forms::PortalForm;
use super::pages::{DeviceCard, DevicesPage, OnPhonePage, PhonePart, RevokeDevicePage, Tab};
use super::sign_out::{repeated_sign_out, sign_out_response};
use super::words::PageTime;
use crate::domain::InternalError;
use crate::domain::devices::device;
use crate::domain::devices::device::{OwnDevice, RenameOutcome};
use crate::domain::devices::passkey_agreement;
use crate::domain::portal::{self, EndForm, Revocation};
use crate::http::page_error::PageError;
use crate::http::pages::login::Scan;
use crate::http::portal::form_outcome::FormResult;
use crate::http::portal::owner::{Owner, sign_in_url};
use crate::http::reply::{page, see_other};
use crate::http::sign_in::session_end::ended_with_device;
use assent_model::audit::{Actor, AuditContext};
use assent_model::id::DeviceId;
use assent_model::login::LocalPage;
use assent_model::recovery::CodesOfDevice;

/// `GET /devices`
pub(super) async fn list(owner: Owner) -> Result<Response, PageError> {
    Ok(page(&devices_page(&owner, None).await?, None))
}

/// `GET /devices/add`: the way to set up another device.
pub(super) async fn add(owner: Owner) -> Result<Response, PageError> {
    Ok(page(&on_phone(&owner, PhonePart::Add)?, None))
}

/// `GET /devices/protection`: the way to the protection by face, finger or PIN.
pub(super) async fn protection(owner: Owner) -> Result<Response, PageError> {
    Ok(page(&on_phone(&owner, PhonePart::Protection)?, None))
}

fn on_phone(owner: &Owner, part: PhonePart) -> Result<OnPhonePage, InternalError> {
    Ok(OnPhonePage {
        layout: owner.layout(),
        frame: owner.frame(Tab::Devices)?,
        part,
        scan: Scan::new(&owner.services.settings.origin(), part.address().to_owned()),
    })
}

/// The page of the devices. `unfit` is the device with an invalid new name.
async fn devices_page(
    owner: &Owner,
    unfit: Option<DeviceId>,
) -> Result<DevicesPage, InternalError> {
    let devices = device::all_of(&owner.services, owner.signed_in.user.id).await?;
    Ok(DevicesPage {
        layout: owner.layout(),
        frame: owner.frame(Tab::Devices)?,
        devices: devices
            .into_iter()
            .map(|device| card(owner, device, unfit))
            .collect::<Result<_, _>>()?,
    })
}

fn card(
    owner: &Owner,
    OwnDevice {
        device,
        used_at,
        has_passkey,
        passkey_sign_in,
        origin: _,
    }: OwnDevice,
    unfit: Option<DeviceId>,
) -> Result<DeviceCard, InternalError> {
    let rename = owner.form(&format!("/devices/{}/name", device.id))?;
    Ok(DeviceCard {
        id: device.id.to_string(),
        name: device.name,
        added: PageTime::new(device.created_at),
        used: used_at.map(PageTime::new),
        is_protected: has_passkey,
        rename,
        passkey_sign_in: match passkey_sign_in {
            true => Some(owner.form(&format!("/devices/{}/passkey-sign-in", device.id))?),
            false => None,
        },
        unfit: unfit == Some(device.id),
        revoke: LocalPage::RevokeDevice(device.id).path().into_owned(),
    })
}

/// `POST /devices/{id}/name`
pub(super) async fn rename(posted: PortalForm) -> Result<Response, PageError> {
    let owner = &posted.owner;
    let id: DeviceId = Tab::Devices.parse_id(&posted.id)?;
    let user = owner.signed_in.user.id;
    let by = AuditContext::new(Actor::User(user), owner.browser.origin());
    match device::rename(&owner.services, user, id, posted.field("name"), &by).await? {
        RenameOutcome::Done => owner.redirect_with_result(LocalPage::Devices, FormResult::Renamed),
        RenameOutcome::Unknown => Err(Tab::Devices.nothing_here()),
        RenameOutcome::BadName => {
            let mut response = page(&devices_page(owner, Some(id)).await?, None);
            *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
            Ok(response)
        }
    }
}

/// `POST /devices/{id}/passkey-sign-in`: stops the sign-in with the device's passkey. This reduces access, so any
/// session of the user may do it.
pub(super) async fn stop_passkey(posted: PortalForm) -> Result<Response, PageError> {
    let owner = &posted.owner;
    let id: DeviceId = Tab::Devices.parse_id(&posted.id)?;
    let user = &owner.signed_in.user;
    let Some((device, _)) = portal::device(&owner.services, user, id).await? else {
        return Err(Tab::Devices.nothing_here());
    };
    let by = AuditContext::new(Actor::User(user.id), owner.browser.origin());
    passkey_agreement::withdraw(&owner.services, user.id, &device, None, &by).await?;
    owner.redirect_with_result(LocalPage::Devices, FormResult::PasskeyStopped)
}

/// `GET /devices/{id}/revoke`: the confirmation page, for users who signed in a moment ago. Other users must sign in
/// again first.
pub(super) async fn question(owner: Owner, Path(id): Path<String>) -> Result<Response, PageError> {
    let id: DeviceId = Tab::Devices.parse_id(&id)?;
    let found = portal::device(&owner.services, &owner.signed_in.user, id).await?;
    let Some((device, last)) = found else {
        return Err(Tab::Devices.nothing_here());
    };
    let asked = LocalPage::RevokeDevice(id);
    if !portal::is_recent(&owner.services, &owner.signed_in) {
        return Ok(see_other(&sign_in_url(asked)));
    }
    let codes = portal::codes_of(&owner.services, &device).await?;
    let question = RevokeDevicePage {
        layout: owner.layout(),
        frame: owner.frame(Tab::Devices)?,
        name: device.name,
        last,
        codes: codes.map(PageTime::new),
        form: owner.form(&asked.path())?,
    };
    Ok(page(&question, None))
}

/// `POST /devices/{id}/revoke`
pub(super) async fn revoke(posted: PortalForm) -> Result<Response, PageError> {
    let owner = &posted.owner;
    let id: DeviceId = Tab::Devices.parse_id(&posted.id)?;
    let codes = if posted.field("codes") == "keep" {
        CodesOfDevice::Keep
    } else {
        CodesOfDevice::End
    };
    let revocation = portal::revoke(
        &owner.services,
        &owner.signed_in,
        id,
        codes,
        owner.browser.origin(),
    )
    .await?;
    match revocation {
        Revocation::Done {
            here: Some(ended), ..
        } => {
            sign_out_response(
                owner,
                ended,
                &ended_with_device(&owner.services, &owner.browser)?,
            )
            .await
        }
        Revocation::Done {
            here: None,
            not_notified,
        } => owner.redirect_with_result(
            LocalPage::Devices,
            if not_notified {
                FormResult::RevokedNotNotified
            } else {
                FormResult::Revoked
            },
        ),
        Revocation::NotRecent => Ok(see_other(&sign_in_url(LocalPage::RevokeDevice(id)))),
        Revocation::Unknown if owner.sent_before(EndForm::Device(id)).await? => {
            revoked_before(owner).await
        }
        Revocation::Unknown => Err(Tab::Devices.nothing_here()),
    }
}

/// Responds to a form that revoked its device before, in this session or in one that the device approved.
async fn revoked_before(owner: &Owner) -> Result<Response, PageError> {
    let Owner {
        services, browser, ..
    } = owner;
    match browser.signed_in(services).await? {
        Some(_) => owner.redirect_with_result(LocalPage::Devices, FormResult::Revoked),
        None => {
            let afterwards = ended_with_device(services, browser)?;
            repeated_sign_out(services, browser, &afterwards, true).await
        }
    }
}
