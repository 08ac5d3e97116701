//! Approval channels: carrying a request to where the person is, and taking what is called back.
//!
//! A channel carries to a device of this host, whose proof is verified, or puts the question to a vendor, whose word the
//! operator trusts. The first that serves the application is tried first, the next where one fails to begin. Nothing of
//! it delays the browser's page, and a device finds the request by asking, whatever becomes of the channels.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::join_all;
use subtle::ConstantTimeEq;

use crate::domain::approvals::channel_proofs;
use crate::domain::devices::device;
use crate::domain::operations::wakeups::Wakeup;
use crate::domain::{Host, InternalError};
use assent_model::approval::{Approval, ApprovalStage};
use assent_model::delivery::{Delivery, Recipient};
use assent_model::device::{Device, PushSubscription};
use assent_model::id::{ApprovalId, DeliveryId, DeviceId, Did, UserId};
use assent_model::login::LoginRequest;
use assent_model::session::{Acr, Authentication};
use assent_plugin_host::{
    Begun, Callback, CallbackContent, ChannelFailure, ChannelFailureKind, ChannelInfo, Notice,
    Opening, Question, Trust,
};

/// Letters that are not taken for one another, nor make words (RFC 8628 section 6.1).
const BINDING_LETTERS: &str = "BCDFGHJKLMNPQRSTVWXZ";
/// How many of them bind a request to its browser: one guess in 160,000 is right.
const BINDING_LENGTH: usize = 4;
/// Of how many requests one callback may tell.
const MOST_IN_CALLBACK: usize = 32;

/// Whether an authentication is good enough for an application, or without one for the host's own pages: a vendor's word
/// counts only where the operator lets that very vendor's channel serve, now.
pub fn is_enough(host: &Host, application: Option<&Did>, authentication: &Authentication) -> bool {
    let serves = |name: &String| {
        let serving = host.plugins.channels_for(application);
        serving
            .iter()
            .any(|channel| channel.trust == Trust::Delegated && channel.name == *name)
    };
    match authentication.acr() {
        Acr::Device => true,
        Acr::Delegated => authentication.channel.as_ref().is_some_and(serves),
    }
}

/// The same for what a login asks for: where only a device will do, no vendor's word does.
pub fn is_enough_for(host: &Host, request: &LoginRequest, authentication: &Authentication) -> bool {
    let strong = !request.needs_device() || authentication.acr() == Acr::Device;
    strong && is_enough(host, request.application(), authentication)
}

/// Whether a delegated channel serves this application, or without one the host's own pages.
pub fn are_delegated(host: &Host, application: Option<&Did>) -> bool {
    host.plugins
        .channels_for(application)
        .iter()
        .any(|channel| channel.trust == Trust::Delegated)
}

/// The display abilities of the vendors' authenticators that may carry the approval of a sign-in. They depend on the
/// settings and the application, never on the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delegation {
    /// At least one delegated channel serves the application, and the sign-in does not require a device.
    pub possible: bool,
    /// At least one of them shows the letters of the waiting page.
    pub with_letters: bool,
    /// At least one of them does not, so its user can't see which browser the request belongs to.
    pub without_letters: bool,
}

/// Which vendors' authenticators may be asked for the approval of a sign-in.
pub fn delegation(host: &Host, request: &LoginRequest) -> Delegation {
    let mut delegation = Delegation::default();
    if trusted(request).contains(&Trust::Delegated) {
        let serving = host.plugins.channels_for(request.application());
        for channel in serving
            .iter()
            .filter(|channel| channel.trust == Trust::Delegated)
        {
            delegation.possible = true;
            delegation.with_letters |= channel.shows_letters;
            delegation.without_letters |= !channel.shows_letters;
        }
    }
    delegation
}

/// Whether any delegated channel shows no letters, whichever applications it serves.
pub fn are_letterless(host: &Host) -> bool {
    host.plugins
        .channels()
        .iter()
        .any(|channel| channel.trust == Trust::Delegated && !channel.shows_letters)
}

/// What kinds of channels may carry the approval of a login.
pub fn trusted(request: &LoginRequest) -> &'static [Trust] {
    if request.needs_device() {
        &[Trust::Verified]
    } else {
        &[Trust::Verified, Trust::Delegated]
    }
}

/// Carries an approval that was asked for to whoever was asked, through the first channel that begins.
pub async fn carry(host: Arc<Host>, user: UserId, approval: Approval, trusted: &'static [Trust]) {
    let id = approval.id;
    let mut failed = Vec::new();
    for channel in host
        .plugins
        .channels_for(approval.shown.application.as_ref())
    {
        if !trusted.contains(&channel.trust) {
            continue;
        }
        // The one before may have taken its time.
        match is_open(&host, id).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                return tracing::warn!(approval = %id, %error, "the request could not be carried");
            }
        }
        match begin(&host, user, &approval, &channel).await {
            Ok(Began::Carried) => return,
            Ok(Began::NoAddress) => {
                failed.push(format!("`{}` has no address for the person", channel.name));
            }
            Ok(Began::Failed(why)) => failed.push(why),
            Err(error) => failed.push(format!("channel `{}`: {error}", channel.name)),
        }
    }
    if !failed.is_empty() {
        let why = failed.join("; ");
        tracing::warn!(approval = %id, why, "no channel carries the request; devices find it by asking alone");
    }
}

async fn is_open(host: &Host, id: ApprovalId) -> Result<bool, InternalError> {
    let found = host.store.approval(id).await?;
    Ok(found.is_some_and(|approval| approval.stage_at(host.now()) == ApprovalStage::Requested))
}

/// What came of trying one channel.
enum Began {
    /// The request is on its way.
    Carried,
    /// The channel knows of nowhere to carry it to.
    NoAddress,
    /// It failed; the end of a sentence says how.
    Failed(String),
}

async fn begin(
    host: &Host,
    user: UserId,
    approval: &Approval,
    channel: &ChannelInfo,
) -> Result<Began, InternalError> {
    match channel.trust {
        Trust::Verified => notify(host, user, approval, channel).await,
        Trust::Delegated => question(host, user, approval, channel).await,
    }
}

/// Sends a notice to each of the person's devices that can be woken.
async fn notify(
    host: &Host,
    user: UserId,
    approval: &Approval,
    channel: &ChannelInfo,
) -> Result<Began, InternalError> {
    let devices = host.store.devices_of(user).await?;
    let woken = devices
        .iter()
        .filter_map(|device| Some((device, device.push.as_ref()?)));
    let callback_url = callback_url(host, &channel.name)?;
    let began = join_all(
        woken.map(|(device, push)| wake(host, approval, channel, device, push, &callback_url)),
    )
    .await;
    let mut outcome = Began::NoAddress;
    for one in began {
        match one? {
            Began::Carried => outcome = Began::Carried,
            failed @ Began::Failed(_) if matches!(outcome, Began::NoAddress) => outcome = failed,
            Began::Failed(_) | Began::NoAddress => {}
        }
    }
    Ok(outcome)
}

/// How long a push message about an account notification is worth delivering.
const NOTIFICATION_FRESH: Duration = Duration::from_secs(24 * 60 * 60);

/// Wakes the person's devices for account notifications, except the device that caused them. The channels are tried in the
/// operator's order; each device that one does not reach goes to the next. A channel that is restricted to applications
/// never learns of them: they belong to no application. The devices pull the notifications themselves from this server.
pub(crate) async fn send_account_notifications(
    host: Arc<Host>,
    user: UserId,
    but: Option<DeviceId>,
) {
    let devices = match host.store.devices_of(user).await {
        Ok(devices) => devices,
        Err(error) => return tracing::warn!(%user, %error, "the devices were not notified"),
    };
    let told = devices.iter().filter(|device| Some(device.id) != but);
    let mut left: Vec<_> = told
        .filter_map(|device| Some((device, device.push.as_ref()?)))
        .collect();
    for channel in host
        .plugins
        .channels_for(None)
        .iter()
        .filter(|channel| channel.trust == Trust::Verified)
    {
        let began = join_all(
            left.iter()
                .map(|(device, push)| notify_device(&host, channel, device, push)),
        )
        .await;
        left = left
            .into_iter()
            .zip(began)
            .filter_map(|(device, began)| (!began).then_some(device))
            .collect();
        if left.is_empty() {
            return;
        }
    }
}

/// Whether the channel takes the message to this device that there is an account notification.
async fn notify_device(
    host: &Host,
    channel: &ChannelInfo,
    device: &Device,
    push: &PushSubscription,
) -> bool {
    let message = serde_json::json!({"version": 1, "kind": "account-notification"});
    let Some(sealed) = device::seal(push, message.to_string().as_bytes()) else {
        return false;
    };
    let id = DeliveryId::new(host.now(), &*host.entropy).to_string();
    let Ok(callback_url) = callback_url(host, &channel.name) else {
        return false;
    };
    let notice = Notice {
        expires_at: host.now() + NOTIFICATION_FRESH,
        address: push.endpoint.clone(),
        sealed,
        // One message that there are some takes the place of another, and not that of a request.
        collapse_key: format!("n{}", device.id).chars().take(32).collect(),
        callback_url,
        request_id: id,
    };
    match host
        .plugins
        .begin(&channel.name, Opening::Notice(notice))
        .await
    {
        Ok(_) => true,
        Err(failure) => {
            tracing::info!(device = %device.id, %failure, "a device was not notified");
            false
        }
    }
}

async fn wake(
    host: &Host,
    approval: &Approval,
    channel: &ChannelInfo,
    device: &Device,
    push: &PushSubscription,
    callback_url: &str,
) -> Result<Began, InternalError> {
    let message = serde_json::json!({
        "version": 1,
        "kind": "approval",
        "request": approval.id,
        "application": approval.shown.application_name,
        "expires": approval.expires_at.seconds(),
    });
    let Some(sealed) = device::seal(push, message.to_string().as_bytes()) else {
        return Ok(Began::NoAddress);
    };
    let notice = Notice {
        request_id: approval.id.to_string(),
        expires_at: approval.expires_at,
        address: push.endpoint.clone(),
        sealed,
        collapse_key: device.id.to_string(),
        callback_url: callback_url.to_owned(),
    };
    match host
        .plugins
        .begin(&channel.name, Opening::Notice(notice))
        .await
    {
        Ok(begun) => {
            tracing::info!(approval = %approval.id, channel = channel.name, device = %device.id, "authenticator notified");
            keep(host, approval, channel, Recipient::Device(device.id), begun).await?;
            Ok(Began::Carried)
        }
        Err(failure) => {
            if matches!(failure.kind, ChannelFailureKind::Gone) {
                // The device may have another subscription by now, which this channel did not try.
                let removed = host.store.remove_push(device.id, push.clone()).await?;
                tracing::info!(device = %device.id, removed, "push subscription gone");
            }
            Ok(not_begun(approval, &failure))
        }
    }
}

/// Puts the question to the vendor, if an administrator said what it knows the person by.
async fn question(
    host: &Host,
    user: UserId,
    approval: &Approval,
    channel: &ChannelInfo,
) -> Result<Began, InternalError> {
    let addresses = host.store.external_authenticators(user).await?;
    let Some(known) = addresses
        .into_iter()
        .find(|known| known.channel == channel.name)
    else {
        return Ok(Began::NoAddress);
    };
    let shown = &approval.shown;
    let question = Question {
        request_id: approval.id.to_string(),
        expires_at: approval.expires_at,
        address: known.address.clone(),
        application: shown.application_name.clone(),
        account: shown.account.clone(),
        place: shown.place.clone(),
        browser: shown.browser.clone(),
        binding: binding(host, approval.id)?,
        callback_url: callback_url(host, &channel.name)?,
    };
    match host
        .plugins
        .begin(&channel.name, Opening::Question(question))
        .await
    {
        Ok(begun) => {
            tracing::info!(approval = %approval.id, channel = channel.name, "the vendor was asked");
            keep(
                host,
                approval,
                channel,
                Recipient::Vendor {
                    address: known.address,
                },
                begun,
            )
            .await?;
            Ok(Began::Carried)
        }
        Err(failure) => Ok(not_begun(approval, &failure)),
    }
}

fn not_begun(approval: &Approval, failure: &ChannelFailure) -> Began {
    tracing::info!(approval = %approval.id, channel = failure.channel, why = %failure.kind, "a channel did not begin");
    Began::Failed(failure.to_string())
}

/// Keeps what the channel needs to be asked how the request stands, where it wants to be asked. A request whose approval was
/// decided while it began is taken back.
async fn keep(
    host: &Host,
    approval: &Approval,
    channel: &ChannelInfo,
    recipient: Recipient,
    begun: Begun,
) -> Result<(), InternalError> {
    let Some(first) = begun.poll_after else {
        return Ok(());
    };
    let now = host.now();
    let purpose = crate::domain::approvals::deliveries::sealed_for(approval.id, &channel.name);
    let delivery = Delivery {
        id: DeliveryId::new(now, &*host.entropy),
        approval: approval.id,
        channel: channel.name.clone(),
        recipient,
        handle: host
            .master_key
            .seal(&purpose, &begun.handle, &*host.entropy)?,
    };
    let due = crate::domain::approvals::deliveries::next(now, first, approval.expires_at);
    if host.store.add_delivery(delivery, due, now).await? {
        host.wakeups.send(Wakeup::Carried);
    } else if let Err(failure) = host.plugins.cancel(&channel.name, begun.handle).await {
        tracing::info!(approval = %approval.id, %failure, "the request could not be taken back");
    }
    Ok(())
}

/// A few letters that the waiting page and the vendor's app both show, so that the person approves what their own browser asks
/// for (`binding_message`, OpenID Connect CIBA Core section 7.1). They follow from the request, for each host alike, and
/// can't be guessed from its id.
pub fn binding(host: &Host, approval: ApprovalId) -> Result<String, InternalError> {
    let code = host
        .master_key
        .authenticate("approval binding", approval.to_string().as_bytes())?;
    let letter = |byte: &u8| {
        BINDING_LETTERS
            .chars()
            .nth(usize::from(*byte) % BINDING_LETTERS.len())
    };
    Ok(code
        .iter()
        .take(BINDING_LENGTH)
        .filter_map(letter)
        .collect())
}

/// Where a channel's callbacks come in. Its id can't be guessed, and is the same on every host and after a restart.
fn callback_url(host: &Host, channel: &str) -> Result<String, InternalError> {
    Ok(format!(
        "{}/approvals/callbacks/{}",
        host.settings.origin(),
        callback_id(host, channel)?
    ))
}

fn callback_id(host: &Host, channel: &str) -> Result<String, InternalError> {
    Ok(URL_SAFE_NO_PAD.encode(
        host.master_key
            .authenticate("approval callback", channel.as_bytes())?,
    ))
}

/// The channel whose callbacks have this id.
pub fn called_back(host: &Host, id: &str) -> Result<Option<ChannelInfo>, InternalError> {
    for channel in host.plugins.channels() {
        if bool::from(
            callback_id(host, &channel.name)?
                .as_bytes()
                .ct_eq(id.as_bytes()),
        ) {
            return Ok(Some(channel));
        }
    }
    Ok(None)
}

/// Takes what came to a channel's callback address. Anybody may have sent it: a proof is verified as if the device had
/// brought it, and a vendor is asked how the request stands. A failure is in the log.
pub async fn take_callback(
    host: &Host,
    channel: &ChannelInfo,
    callback: Callback,
) -> Result<(), InternalError> {
    let content = match host.plugins.on_callback(&channel.name, callback).await {
        Ok(content) => content,
        Err(failure) => {
            tracing::info!(channel = channel.name, why = %failure.kind, "a callback was of no use");
            return Ok(());
        }
    };
    match content {
        CallbackContent::Evidence(list) if list.len() <= MOST_IN_CALLBACK => {
            for one in list {
                channel_proofs::take(host, &channel.name, &one).await?;
            }
        }
        CallbackContent::Requests(ids) if ids.len() <= MOST_IN_CALLBACK => {
            let approvals: Vec<ApprovalId> = ids.iter().filter_map(|id| id.parse().ok()).collect();
            if host
                .store
                .expedite_deliveries(&channel.name, &approvals, host.now())
                .await?
                > 0
            {
                host.wakeups.send(Wakeup::Carried);
            }
        }
        CallbackContent::Evidence(_) | CallbackContent::Requests(_) => {
            tracing::warn!(
                plugin = channel.name,
                "a callback told of more than {MOST_IN_CALLBACK} requests and was not believed"
            );
        }
    }
    Ok(())
}
