//! What an approval channel receives and returns.

use std::time::Duration;

use crate::fault::Fault;
use crate::spec::Trust;
use assent_model::clock::Timestamp;

/// Bytes of a handle.
const HANDLE: usize = 4 << 10;

/// What is sent to a device. The number that the person types is not in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Names the approval; a channel is idempotent on it.
    pub request_id: String,
    /// After this the notice is of no use; channels see whole seconds.
    pub expires_at: Timestamp,
    /// Where the device is reached, in the terms of the channel.
    pub address: String,
    /// For the device alone to open.
    pub sealed: Vec<u8>,
    /// A later notice with the same key takes the place of this one. At most 32 characters of base64url are carried
    /// by every channel.
    pub collapse_key: String,
    /// Where this host takes callbacks for the channel.
    pub callback_url: String,
}

/// What is put to a vendor's authenticator, in plain words. The number that the person types is not in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Names the approval; a channel is idempotent on it.
    pub request_id: String,
    /// After this nobody waits for the answer; channels see whole seconds.
    pub expires_at: Timestamp,
    /// What the vendor knows the person by.
    pub address: String,
    /// What the person signs in to.
    pub application: String,
    /// The name that was typed.
    pub account: String,
    /// Where the browser seems to be.
    pub place: String,
    /// The browser and operating system.
    pub browser: String,
    /// A few letters that the waiting page shows as well.
    pub binding: String,
    /// Where this host takes callbacks for the channel.
    pub callback_url: String,
}

/// What a channel is given to begin with, by its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelRequest {
    /// For a channel that carries to a device of this host.
    Notice(Notice),
    /// For a channel that carries to a vendor.
    Question(Question),
}

/// What there is to know of a channel before it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelInfo {
    /// The plugin's name in the settings.
    pub name: String,
    /// Whether what it says can be verified.
    pub trust: Trust,
    /// Whether a vendor's app shows the letters of the waiting page, so that users compare them.
    pub shows_letters: bool,
}

/// A request that is on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedRequest {
    /// What the channel needs to find the request again; at most 4 KiB.
    pub handle: Vec<u8>,
    /// When to poll first; `None` if there is nothing to poll for.
    pub poll_after: Option<Duration>,
}

impl StartedRequest {
    /// Itself, if the host can keep its handle.
    pub(crate) fn checked(self) -> Result<Self, Fault> {
        if self.handle.len() > HANDLE {
            return Err(Fault::Answer(format!(
                "its handle is larger than {HANDLE} bytes"
            )));
        }
        Ok(self)
    }
}

/// What a device sent back: bytes from outside, until they have been verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The approval that it claims to be for.
    pub request_id: String,
    /// What the device signed.
    pub proof: Vec<u8>,
}

/// How a request stands, as the channel tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelState {
    /// Nothing yet; poll again after this.
    Pending(Duration),
    /// The device answered.
    Evidence(Evidence),
    /// The vendor says that the person approved. Only a delegated channel can say so.
    Approved,
    /// The channel says that the person denied.
    Denied,
    /// The channel gave up.
    Expired,
}

/// A request that arrived at the channel's callback address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callback {
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// What a channel made of a callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallbackContent {
    /// What devices sent back.
    Evidence(Vec<Evidence>),
    /// Requests that are worth a poll.
    Requests(Vec<String>),
}

/// Why a channel did not do what it was asked. A login need not fail for it: the device can pull the request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("channel `{channel}` {kind}")]
pub struct ChannelFailure {
    /// The channel.
    pub channel: String,
    /// What went wrong.
    pub kind: ChannelFailureKind,
}

/// What went wrong with a channel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChannelFailureKind {
    /// No plugin has this name.
    #[error("is not configured")]
    Unknown,
    /// It is of the other kind: of those that take the question in plain words, or of those that do not.
    #[error("is of the wrong kind")]
    WrongKind,
    /// The address is no longer valid: forget it.
    #[error("says that the address is gone")]
    Gone,
    /// Try again after this.
    #[error("asks to try again after {0:?}")]
    RetryAfter(Duration),
    /// It will not work this way; the text is for the log.
    #[error("rejects the request: {0}")]
    Rejected(String),
    /// The plugin failed, or broke its contract.
    #[error("{0}")]
    Fault(Fault),
}
