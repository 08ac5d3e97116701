//! Enrolment: links, and the devices that they enrol.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::devices::account_notifications;
use crate::domain::{InternalError, Services, audit};
use assent_model::audit::{Actor, AuditContext, Event, Origin};
use assent_model::clock::Timestamp;
use assent_model::device::{Device, DeviceKey, Enrolment, LinkMaker, LinkState};
use assent_model::id::{DeviceId, EnrolmentId, UserId};
use assent_model::name::display_text;
use assent_model::secret::Token;
use assent_model::statement::EnrolmentStatement;
use assent_model::token::prefix;
use assent_model::token_text::TokenTextError;
use assent_model::user::{LifecycleState, User};
use assent_store::{DeviceWrite, StoreError, Transition};

/// The largest length of a device's name, in characters.
pub(super) const LONGEST_NAME: usize = 80;
/// The largest number of devices of a user, because each receives every request and notification.
const MOST_DEVICES: usize = 20;

/// Returns a new enrolment for a user, and the token of its link.
pub fn prepare_enrolment(services: &Services, user: UserId) -> (Enrolment, Token) {
    let now = services.now();
    let id = EnrolmentId::new(now, &*services.entropy);
    let token = Token::for_people(prefix::ENROLMENT, id.as_bytes(), &*services.entropy);
    let expires_at = now + services.settings.lifetimes.enrolment.get();
    (
        Enrolment {
            id,
            user_id: user,
            digest: token.digest(),
            expires_at,
            created_by: None,
        },
        token,
    )
}

/// Returns the link that enrols a device. The token is in the fragment, which browsers do not send and which no server
/// logs.
pub fn enrolment_link(services: &Services, token: &Token) -> String {
    format!("{}{}", services.settings.origin(), enrolment_path(token))
}

/// Returns the path of the link, for a page of this server.
pub fn enrolment_path(token: &Token) -> String {
    format!("/authenticator#enrol={}", token.expose())
}

/// The largest lifetime of a link that a device creates. It is short, because the user is present.
const LINK_OF_DEVICE: Duration = Duration::from_secs(15 * 60);

/// Creates a link with which the owner of a device enrols another device. Returns the link and its expiry, or `None` if
/// the owner may not sign in.
pub async fn link_another(
    services: &Arc<Services>,
    device: &Device,
    by: &AuditContext,
) -> Result<Option<(String, Timestamp)>, InternalError> {
    let (mut enrolment, token) = prepare_enrolment(services, device.user_id);
    enrolment.created_by = Some(LinkMaker::Device(device.id));
    enrolment.expires_at = enrolment.expires_at.min(services.now() + LINK_OF_DEVICE);
    let until = enrolment.expires_at;
    let entry = audit::entry(services, Event::EnrolmentLinkCreated, by).about(device.user_id);
    let entry = entry.with("enrolment", enrolment.id.to_string());
    let written = services
        .store
        .insert_enrolment_by_device(enrolment, device.id, entry, services.now())
        .await?;
    if written == DeviceWrite::Inactive {
        return Ok(None);
    }
    tracing::info!(user = %device.user_id, device = %device.id, "enrolment link created by a device");
    account_notifications::notify(services, device.user_id, Some(device.id));
    Ok(Some((enrolment_link(services, &token), until)))
}

/// The reason why a link cannot enrol a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkRejection {
    /// A part of the token is missing or was changed.
    Damaged,
    /// There is no such link.
    Unknown,
    /// The link enrolled a device.
    Used,
    /// The link expired unused.
    Expired,
    /// The link was withdrawn or replaced, or its user may not sign in any more.
    Withdrawn,
}

/// Returns the open link of a token, and its user. Only the holder of the token learns why there is none.
pub async fn find_enrolment(
    services: &Services,
    token: &str,
) -> Result<Result<(Enrolment, User), LinkRejection>, InternalError> {
    let (enrolment, state) = match stored_link(services, token).await? {
        Ok(found) => found,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let user = owner_of(services, &enrolment).await?;
    Ok(match (state, user) {
        (LinkState::Open, Some(user)) => Ok((enrolment, user)),
        (state, _) => Err(rejection_of(state)),
    })
}

/// Returns the link of a token, whatever its state.
async fn stored_link(
    services: &Services,
    token: &str,
) -> Result<Result<(Enrolment, LinkState), LinkRejection>, InternalError> {
    let token = match Token::parse_for_people(prefix::ENROLMENT, token) {
        Ok(token) => token,
        Err(TokenTextError::Damaged | TokenTextError::OtherKind) => {
            return Ok(Err(LinkRejection::Damaged));
        }
    };
    let id = EnrolmentId::from_bytes(token.id());
    let found = services.store.enrolment(id, services.now()).await?;
    let own = found.filter(|(enrolment, _)| enrolment.digest == token.digest());
    Ok(own.ok_or(LinkRejection::Unknown))
}

/// Returns the user of a link, who must be invited or active.
async fn owner_of(
    services: &Services,
    enrolment: &Enrolment,
) -> Result<Option<User>, InternalError> {
    let user = services.store.user(enrolment.user_id).await?;
    Ok(user.filter(|user| user.state.is_open()))
}

const fn rejection_of(state: LinkState) -> LinkRejection {
    match state {
        // The link is open, but its user may not sign in.
        LinkState::Open | LinkState::Withdrawn => LinkRejection::Withdrawn,
        LinkState::Used => LinkRejection::Used,
        LinkState::Expired => LinkRejection::Expired,
    }
}

/// A received request to enrol a device.
#[derive(Clone, Debug)]
pub struct EnrolmentRequest {
    /// The token of the link.
    pub token: String,
    /// The user's name for the device.
    pub device_name: String,
    /// The device's public key.
    pub key: DeviceKey,
    /// The signature of the [`EnrolmentStatement`].
    pub signature: Vec<u8>,
}

/// The outcome of a request to enrol a device.
#[derive(Debug)]
pub enum EnrolOutcome {
    /// The device is enrolled.
    Done {
        /// The device. Its name may differ from the requested one, which another device of the user may have.
        device: Box<Device>,
        /// The owner of the device.
        user: Box<User>,
        /// Whether the link was issued for a recovery code, so that a device was lost.
        recovered: bool,
    },
    /// The link cannot enrol a device.
    Rejected(LinkRejection),
    /// The signature does not prove that the device has the key.
    BadProof,
    /// The name is blank, too long or has control characters.
    BadName,
    /// The key is enrolled already.
    KeyTaken,
    /// The user has the largest number of devices already.
    TooMany,
}

/// Enrols a device. The link is used up and the device is added in one transaction. An invited user becomes active.
///
/// The response to the request may be lost, so the device that used the link receives the same result again: it proves
/// that it has the same key. Another key learns that the link was used.
pub async fn enrol(
    services: &Arc<Services>,
    request: &EnrolmentRequest,
    from: Origin,
) -> Result<EnrolOutcome, InternalError> {
    let (enrolment, state) = match stored_link(services, &request.token).await? {
        Ok(found) => found,
        Err(rejection) => return Ok(EnrolOutcome::Rejected(rejection)),
    };
    let user = match (state, owner_of(services, &enrolment).await?) {
        (LinkState::Open | LinkState::Used, Some(user)) => user,
        (state, _) => return Ok(EnrolOutcome::Rejected(rejection_of(state))),
    };
    let Some(name) = display_text(&request.device_name, LONGEST_NAME) else {
        return Ok(EnrolOutcome::BadName);
    };
    let thumbprint = request.key.thumbprint();
    let statement = EnrolmentStatement {
        issuer: &services.issuer,
        token: &request.token,
        device_name: &request.device_name,
        key_thumbprint: &thumbprint,
    };
    if !request.key.verifies(&statement.text(), &request.signature) {
        return Ok(EnrolOutcome::BadProof);
    }
    if state == LinkState::Used {
        return repeat_enrolment(services, request, &enrolment, user).await;
    }
    let others = services.store.devices_of(user.id).await?;
    if others.len() >= MOST_DEVICES {
        return Ok(EnrolOutcome::TooMany);
    }
    let now = services.now();
    let device = Device {
        id: DeviceId::new(now, &*services.entropy),
        user_id: user.id,
        name: own_name(name, &others),
        key: request.key.clone(),
        push: None,
        created_at: now,
        revoked_at: None,
    };
    let by = AuditContext::new(Actor::Device(device.id), from);
    let entry = |event| audit::entry(services, event, &by).about(user.id);
    let enrolled = entry(Event::DeviceEnrolled)
        .with("device", device.id.to_string())
        .with("enrolment", enrolment.id.to_string())
        .personal("name", device.name.as_str());
    let activated = audit::of_state(
        entry(Event::UserLifecycleChanged),
        LifecycleState::Invited,
        LifecycleState::Active,
    );
    match services
        .store
        .enrol_device(
            enrolment.id,
            (device.clone(), by.origin.address),
            vec![enrolled],
            Some(activated),
        )
        .await
    {
        Ok(Transition::Done) => {
            tracing::info!(user = %user.id, device = %device.id, "device enrolled");
            account_notifications::notify(services, user.id, Some(device.id));
            let recovered = enrolment.created_by == Some(LinkMaker::Code);
            Ok(EnrolOutcome::Done {
                device: Box::new(device),
                user: Box::new(user),
                recovered,
            })
        }
        // A concurrent request used the link, perhaps with the same key.
        Ok(Transition::NotOpen) => repeat_enrolment(services, request, &enrolment, user).await,
        Err(StoreError::Taken(_)) => Ok(EnrolOutcome::KeyTaken),
        Err(error) => Err(error.into()),
    }
}

/// Returns the device that a link enrolled, if the request has the key of that device.
async fn repeat_enrolment(
    services: &Services,
    request: &EnrolmentRequest,
    enrolment: &Enrolment,
    user: User,
) -> Result<EnrolOutcome, InternalError> {
    let device = services
        .store
        .device_of_link(user.id, enrolment.id)
        .await?
        .filter(|device| device.revoked_at.is_none() && device.key == request.key);
    let Some(device) = device else {
        return Ok(EnrolOutcome::Rejected(LinkRejection::Used));
    };
    tracing::info!(user = %user.id, device = %device.id, "enrolment repeated");
    Ok(EnrolOutcome::Done {
        device: Box::new(device),
        user: Box::new(user),
        recovered: enrolment.created_by == Some(LinkMaker::Code),
    })
}

/// Returns the name, with a number after it if another device has the name. A user who removes a lost device must be
/// able to distinguish it from the others.
fn own_name(name: String, others: &[Device]) -> String {
    let taken = |name: &str| others.iter().any(|other| other.name == name);
    let numbered = |number: usize| {
        let number = format!(" {number}");
        let base: String = name.chars().take(LONGEST_NAME - number.len()).collect();
        base + &number
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
